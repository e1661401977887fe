"""The report sections of forced choices by answer."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from babelscope.core.charts import Chart, Forest
from babelscope.core.comparison import Comparison
from babelscope.core.page import FEWEST, About, Answer, Caveat, Finding, Headline, Line, Section, Tone, View
from babelscope.core.results import Record, Row
from babelscope.methods.condition.preflight import can_be_shown, evaluator_caveats, is_test
from babelscope.methods.prompted_choice.method import preflight_of, worth_of
from babelscope.methods.view import (
    Figures,
    bar,
    complement,
    error_finding,
    headlines,
    keys,
    noted,
    one,
    pivot,
)

_NOT_LIKELIHOOD = (
    "The figures are shares of answers in words, not likelihoods. A system may write what it would not choose, and "
    "choose what it would not write: do not compare them with figures of contrast or condition, nor answers to one "
    "question with answers to another."
)
_NOT_LIKELIHOODS = (
    "shares of answers, not likelihoods: not comparable with contrast, condition or other questions."
)
_READING = (
    "Each choice is asked twice, with the right one first and with the right one second. It counts as made if both "
    "answers name the same one; else, or if an answer is not A or B alone, it is undecided.",
    "Position bias is the share of choices in which the first is named in both orders, minus that of the second: 0 "
    "if the order does not matter, 1 if always the first is named.",
    _NOT_LIKELIHOOD,
)
_TONES: Mapping[float, Tone] = {0.0: "errors", 0.5: "some", 1.0: "none"}
_NEITHER = {
    "neither": "questions answered otherwise than by A or B alone",
    "cut": "answers cut off at the length limit",
    "refused": "questions that got no answer",
}


def _findings(group: Comparison, claim: str, of: str) -> Iterator[Finding]:
    for column in group.results:
        query = {"system": column.name, "tests": group.tests}
        accuracy, passed = one(column.rows, "answer_accuracy_decided"), _passed(column.rows)
        worst, which = _worst(column.rows, "answer_accuracy_decided")
        shown = worst or accuracy
        if shown and shown.estimate.n and can_be_shown(column.rows):
            errors = complement(shown.estimate)
            left = shown.counts["undecided"]
            more = [f"{left:,} {of} are undecided"] if left else []
            more += ["it is not known if the evaluator can judge this"] if passed == "unknown" else []
            wrong = {**query, "verdict": "wrong", **({"group": which} if which else {})}
            said = f"{claim} (the worst: {which})" if which else claim
            yield error_finding(column.name, said, errors, f"decided {of}", query=wrong, more="; ".join(more))
        bias = one(column.rows, "position_bias")
        # Whether 0 is outside the interval; choices that are all alike have none.
        if (
            bias
            and bias.estimate.n
            and bias.estimate.value
            and not bias.estimate.low <= 0 <= bias.estimate.high
        ):
            which = "first" if bias.estimate.value > 0 else "second"
            said = f"Position bias of its answers (1 at most): it favors the {which} of two, whatever it is"
            tone: Tone = "some" if bias.estimate.n >= FEWEST else "note"
            yield Finding(column.name, said, bias.estimate, "choices", tone, query=query, share=False)


def _worst(rows: Sequence[Row], figure: str) -> tuple[Row | None, str]:
    """The phenomenon or category with the most errors, where there are several; of those with enough items."""
    parts = [
        (row, str(row.labels[name]))
        for row in rows
        for name in ("phenomenon", "category")
        if row.name == figure and name in row.labels and row.estimate.n
    ]
    if len(parts) < 2:
        return None, ""
    return min(parts, key=lambda part: (part[0].estimate.n < FEWEST, part[0].estimate.value))


def _passed(rows: Sequence[Row]) -> str:
    """Whether the evaluator passed its test; "" where a system is asked about its own translations."""
    row = one(rows, "preflight")
    return str(row.labels["passed"]) if row else ""


def _caveats(group: Comparison) -> list[Caveat]:
    return [
        *(
            caveat
            for column in group.results
            if _passed(column.rows) not in ("", "yes")
            for caveat in evaluator_caveats(column, preflight_of(column.records).reasons)
        ),
        *(Caveat(column.name, _NOT_LIKELIHOODS) for column in group.results),
        *noted(
            group,
            {"undecided": "without a decision: the order of the two changes the answer, or it names neither"},
        ),
        *(
            Caveat(column.name, f"{row.counts[name]} {said}.")
            for column in group.results
            if (row := one(column.rows, "answer_given"))
            for name, said in _NEITHER.items()
            if row.counts[name]
        ),
    ]


def _pictures(group: Comparison, title: str) -> list[Chart]:
    lines = [
        (column.name, [bar(column.name, "accuracy by answer", row.estimate)])
        for column in group.results
        if (row := one(column.rows, "answer_accuracy")) and row.estimate.n
        if can_be_shown(column.rows)
    ]
    if not lines:
        return []
    chart = Forest(lines, "accuracy by answer", keys(group), domain=(0.0, 1.0), zero=0.5)
    return [Chart(f"{title}: {group.tests}", chart, "Lines are 95 % intervals. 50 % is chance between two.")]


def _section(
    group: Comparison, *, title: str, question: str, claim: str, of: str, label: str, order: int
) -> Section:
    shown = [
        Figures("accuracy by answer", lambda row: row.name == "answer_accuracy", "percent"),
        Figures("of what is decided", lambda row: row.name == "answer_accuracy_decided", "percent"),
        Figures("undecided", lambda row: row.name == "answer_undecided", "percent"),
        Figures("position bias", lambda row: row.name == "position_bias"),
        Figures("answered A or B", lambda row: row.name == "answer_given", "percent"),
    ]
    tested = [Figures("known translations judged rightly", is_test, "percent")]
    return Section(
        title=title,
        question=question,
        reading=_READING,
        group=label,
        order=order,
        findings=[*_findings(group, claim, of)],
        caveats=_caveats(group),
        pictures=_pictures(group, title),
        tables=[
            *pivot(group, title, [label], shown),
            *pivot(group, "Test of the evaluator", ("evaluator", "category", "passed"), tested),
        ],
    )


def _about(label: str, record: Record) -> About:
    return About(record["source"], groups=[record[label]], kind=record[label])


def _answer(record: Record, settings: Mapping[str, Any]) -> Answer:
    worth = worth_of(settings.get("undecided", "half"))[record["verdict"]]
    facts = ", ".join(_TOLD[each] for each in dict.fromkeys(record["choices"]))
    return Answer(record["verdict"], _TONES[worth], worth, facts, lambda: _lines(record))


_TOLD = {
    "right": "right in both orders",
    "wrong": "wrong in both orders",
    "first": "the first in both orders",
    "second": "the second in both orders",
    "none": "no answer in one order",
}


def _lines(record: Record) -> list[Line]:
    lines: list[Line] = [("translation", record["translation"])] if "translation" in record else []
    for each in record["asked"]:
        lines += [("right", each["right"]), ("wrong", each["wrong"])]
        places = ("right one first", "right one second")
        lines += [
            (f"answer, {place}", reply["text"] or f"({reply['ended']})")
            for place, reply in zip(places, each["replies"], strict=True)
        ]
    return lines


def _headline(rows: Sequence[Row]) -> list[Headline]:
    """Accuracy, if the evaluator may judge; what is undecided, and position bias; over all items."""
    whole = [row for row in rows if not {"phenomenon", "category"} & row.labels.keys()]
    if not can_be_shown(rows):
        whole = [row for row in whole if row.name != "answer_accuracy"]
    untested = ", evaluator untested" if _passed(rows) == "unknown" else ""
    worst, which = _worst(rows, "answer_accuracy") if can_be_shown(rows) else (None, "")
    return headlines(
        (f"accuracy by answer, worst ({which}){untested}", worst, "percent"),
        (f"accuracy by answer{untested}", one(whole, "answer_accuracy"), "percent"),
        ("undecided", one(whole, "answer_undecided"), "percent"),
        ("position bias", one(whole, "position_bias"), "plain"),
    )


def _over(rows: Sequence[Row]) -> list[Headline]:
    """The same over factors of the systems, whose worst phenomena may differ."""
    return [each for each in _headline(rows) if not {"phenomenon", "category"} & each.row.labels.keys()]


PAIRS = View(
    functools.partial(
        _section,
        title="Choice by answer: the right translation or one with an error",
        question="Asked in words, does the system choose the right translation?",
        claim="Asked which of two translations is better, it chooses the wrong one in both orders",
        of="pairs",
        label="phenomenon",
        order=11,
    ),
    functools.partial(_about, "phenomenon"),
    _answer,
    _headline,
    _over,
)
SENSES = View(
    functools.partial(
        _section,
        title="Choice by answer: which sense a translation has",
        question="Asked in words, does an evaluator find the sense meant in the translations?",
        claim="Asked which of two sources a translation renders, the evaluator chooses the wrong one in both orders",
        of="items",
        label="category",
        order=31,
    ),
    functools.partial(_about, "category"),
    _answer,
    _headline,
    _over,
)
