"""How contrastive evaluation is shown: forced choice, what it is worth, and where translations part."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.comparing import Group
from babelscope.methods.contrast_tokens import token_view
from babelscope.report.charts import Bar, Dot, forest, scatter
from babelscope.report.parts import (
    NOT_RIGHT,
    About,
    Answer,
    Caveat,
    Finding,
    Line,
    Picture,
    Series,
    Token,
    Tone,
    View,
    complement,
    error_finding,
    keys,
    noted,
    one,
    point,
    systems,
    told,
)
from babelscope.report.pictures import Key
from babelscope.report.tabling import Figure, pivot
from babelscope.report.words import plain_words
from babelscope.results import Estimate, Record, Row
from babelscope.tables import Table

_VERDICTS: Mapping[str, tuple[str, Tone]] = {
    "correct": ("right", "none"),
    "wrong": ("wrong", "errors"),
    "tie": ("tie", "some"),
}
_FAR = 0.5
"""Nats a token from the model's own translation: beyond this, a pair is called far from it."""


def _types(rows: Sequence[Row]) -> list[Row]:
    """Accuracies by error type and reference kind."""
    return [row for row in rows if row.name == row.labels.get("phenomenon")]


def _name(row: Row, *, kinds: bool) -> str:
    """The error type, with the kind of reference where there are several."""
    return str(row.labels["phenomenon"]) + (f", {row.labels['reference']}" if kinds else "")


def _kinds(group: Group) -> list[str]:
    return list(
        dict.fromkeys(
            str(row.labels["reference"]) for column in group.columns for row in _types(column.cell.rows)
        )
    )


def findings(group: Group) -> list[Finding]:
    found = []
    several = len(_kinds(group)) > 1
    for column in group.columns:
        rows, records = column.cell.rows, column.cell.records
        wrong = [record for record in records if record["verdict"] != "correct"]
        query = {"system": column.name, "tests": group.tests, "verdict": NOT_RIGHT}
        if overall := one(rows, "all"):
            found.append(
                error_finding(
                    column.name,
                    "Pairs in which it prefers a translation with an error to the right one",
                    complement(overall.estimate),
                    "pairs",
                    query=query,
                    behind=len(wrong),
                )
            )
        real = [row for row in _types(rows) if "control" not in row.labels and row.estimate.n]
        if len(real) > 1:
            worst = min(real, key=lambda row: (row.estimate.value, row.estimate.high))
            name, kind = str(worst.labels["phenomenon"]), str(worst.labels["reference"])
            behind = [r for r in wrong if (r["phenomenon"], r["reference"]) == (name, kind)]
            if behind:
                reference = f" ({kind} references)" if several else ""
                found.append(
                    error_finding(
                        column.name,
                        f"Worst of {len(real)} error types, {plain_words(name)}{reference}",
                        complement(worst.estimate),
                        "pairs",
                        query={**query, "group": _group_of(name, kind)},
                        behind=len(behind),
                    )
                )
        found += _made(column.name, rows, records, group.tests)
    return found


def _made(system: str, rows: Sequence[Row], records: Sequence[Record], tests: str) -> list[Finding]:
    """The errors it certainly makes in its own translations; the worst of them."""
    seen = [
        row
        for row in rows
        if row.name == "generated_errors" and row.estimate.n and row.estimate.low > 0 and row.counts["alarms"]
    ]
    if not seen:
        return []
    worst = max(seen, key=lambda row: row.estimate.low)
    name, kind = str(worst.labels["phenomenon"]), str(worst.labels["reference"])
    behind = sum(
        record.get("detected", {}).get("best", False)
        for record in records
        if (record["phenomenon"], record["reference"]) == (name, kind)
    )
    return [
        error_finding(
            system,
            f"Its own translations with an error, found by a detector: {plain_words(name)}",
            worst.estimate,
            "sentences",
            query={
                "system": system,
                "tests": tests,
                "group": _group_of(name, kind),
                "search": "its own translation has it",
            },
            behind=behind,
        )
    ]


def _group_of(phenomenon: str, reference: str) -> str:
    return f"{phenomenon}, {reference} reference"


def caveats(group: Group) -> list[Caveat]:
    found: list[Caveat] = []
    for column in group.columns:
        name, rows = column.name, column.cell.rows
        far = next(
            (row for row in rows if row.name == "discrepancy" and "phenomenon" not in row.labels), None
        )
        if far is None:
            found.append(
                (
                    name,
                    "how far the pairs are from what it would write itself is not known, so errors in forced "
                    "choice may be ones that it never makes.",
                )
            )
        elif far.estimate.value >= _FAR:
            found.append(
                (
                    name,
                    f"the pairs are {_figure(far.estimate)} nats a token less likely than what it would write "
                    "itself. So far from its own output, errors in forced choice say little about errors in "
                    "free translation.",
                )
            )
        for row in _types(rows):
            if "control" in row.labels and row.estimate.value < 1:
                found.append(
                    (
                        name,
                        f"forced choice reports {_figure(complement(row.estimate), 100)} % errors of a kind that "
                        f"no system is known to make ({plain_words(row.name)}). They are false, and so may "
                        "others be.",
                    )
                )
        found += noted(
            name,
            rows,
            {
                "truncated": "were too long and were cut",
                "changed": "have a text that does not survive tokenisation",
                "unfinished": "have a translation that was not finished",
                "infinite": "have a text that the system holds to be impossible",
            },
        )
    return found


def _figure(estimate: Estimate, factor: float = 1) -> str:
    value, low, high = (f"{factor * each:.2g}" for each in (estimate.value, estimate.low, estimate.high))
    return f"{value} [{low}, {high}]"


def pictures(group: Group, series: Series) -> list[Picture]:
    return [*_accuracy(group, series), *_against_discrepancy(group, series), *_forced_and_free(group, series)]


def _accuracy(group: Group, series: Series) -> list[Picture]:
    several = len(_kinds(group)) > 1
    by_name: dict[str, list[Bar]] = {}
    for system, number, rows in systems(group, series):
        for row in _types(rows):
            shown = told(f"{system}, {row.name}, {row.labels['reference']} reference", row.estimate)
            by_name.setdefault(_name(row, kinds=several), []).append(Bar(number, point(row.estimate), shown))
    if not by_name:
        return []
    title = "How often the right translation is preferred, by error type"
    picture = forest(
        list(by_name.items()),
        title=title,
        label="accuracy in forced choice",
        keys=keys(group, series),
    )
    return [
        Picture(
            title,
            picture,
            "Each mark is an accuracy, each line through it its 95 % interval. 50 % is what chance would give.",
        )
    ]


def _against_discrepancy(group: Group, series: Series) -> list[Picture]:
    kinds = _kinds(group)
    points = []
    for system, number, rows in systems(group, series):
        own = [
            (row, far)
            for row in _types(rows)
            if (
                far := one(
                    rows,
                    "discrepancy",
                    phenomenon=row.labels["phenomenon"],
                    reference=row.labels["reference"],
                )
            )
            and row.estimate.n
        ]
        lowest = sorted(own, key=lambda pair: pair[0].estimate.value)[:2]
        for row, far in own:
            points.append(
                Dot(
                    point(far.estimate),
                    point(row.estimate),
                    number,
                    shape=kinds.index(str(row.labels["reference"])),
                    name=row.name
                    if any(row is each for each, _ in lowest) and row.estimate.value < 1
                    else "",
                    told=f"{told(f'{system}, {_name(row, kinds=True)} reference', row.estimate)}; "
                    f"discrepancy {_figure(far.estimate)}",
                )
            )
    if not points:
        return []
    legend = [
        Key(f"{column.name}, {kind}", series[column.name], shape=number)
        for column in group.columns
        for number, kind in enumerate(kinds)
    ]
    title = "Accuracy against discrepancy"
    picture = scatter(
        points,
        title=title,
        x_label="discrepancy, nats a token",
        y_label="accuracy in forced choice",
        keys=legend,
        y_most=1.0,
    )
    return [
        Picture(
            title,
            picture,
            "Each mark is an error type. The farther right, the less likely the pair is compared with what the "
            "system would write itself, and the less its accuracy says about free translation. "
            f"Shapes tell whose references the pairs were made from: {', '.join(kinds)}.",
        )
    ]


def _forced_and_free(group: Group, series: Series) -> list[Picture]:
    several = len(_kinds(group)) > 1
    by_name: dict[str, list[Bar]] = {}
    for system, number, rows in systems(group, series):
        for row in rows:
            if row.name in ("forced_errors", "generated_errors") and row.estimate.n:
                free = row.name == "generated_errors"
                shown = told(f"{system}, {'own translations' if free else 'forced choice'}", row.estimate)
                by_name.setdefault(_name(row, kinds=several), []).append(
                    Bar(number, point(row.estimate), shown, hollow=not free)
                )
    if not by_name:
        return []
    title = "Errors in forced choice, and in its own translations"
    legend = [
        Key(f"{column.name}, {what}", series[column.name], hollow=hollow)
        for column in group.columns
        for what, hollow in (("forced choice", True), ("own translations", False))
    ]
    picture = forest(list(by_name.items()), title=title, label="error rate", keys=legend, zero=0.0)
    return [
        Picture(
            title,
            picture,
            "Hollow: how often the error is preferred. Filled: how often a detector finds it in free "
            "translations, corrected for what the detector misses and for its false alarms. Where the filled "
            "interval reaches 0, the error was not shown to happen at all.",
        )
    ]


def tables(group: Group) -> list[Table]:
    figures = (
        Figure("accuracy", lambda row: row.name in ("all", row.labels.get("phenomenon")), "percent"),
        Figure("discrepancy", lambda row: row.name == "discrepancy"),
        Figure("errors in own translations", lambda row: row.name == "generated_errors", "percent"),
    )
    return pivot(group, "By error type", ("phenomenon", "reference"), figures)


def names(group: Group) -> dict[str, str]:
    types = dict.fromkeys(str(row.labels["phenomenon"]) for row in _types(group.columns[0].cell.rows))
    return {name: plain_words(name) for name in types}


def margin(record: Record) -> float | None:
    """By how much the right translation is ahead of the best wrong one."""
    scores = record["scores"]
    known = [each for each in scores["contrastive"] if each is not None]
    if scores["correct"] is None or not known:
        return None
    return float(scores["correct"] - max(known))


def about(record: Record) -> About:
    lines: list[Line] = []
    if "correct" in record:
        lines.append(("right", record["correct"]["text"]))
        lines += [("with the error", each["text"]) for each in record["contrastive"]]
    phenomenon, reference = record["phenomenon"], record["reference"]
    return About(record["source"], (phenomenon, _group_of(phenomenon, reference)), lines)


def answer(record: Record, _settings: Mapping[str, Any]) -> Answer:
    verdict, tone = _VERDICTS[record["verdict"]]
    facts = []
    if record.get("discrepancy") is not None:
        facts.append(f"discrepancy {record['discrepancy']:.2f}")
    if record.get("detected", {}).get("best"):
        facts.append("its own translation has it, says the detector")
    return Answer(verdict, tone, margin(record), ", ".join(facts), lambda: _lines(record))


def _lines(record: Record) -> list[Line]:
    """The right translation and the strongest wrong one, token by token, and what it would write itself."""
    lines: list[Line] = []
    if record.get("correct", {}).get("tokens"):
        scores = [-math.inf if each is None else each for each in record["scores"]["contrastive"]]
        ours, theirs = coloured(record, scores.index(max(scores)))
        lines += [("right", ours), ("with the error", theirs)]
    if "best" in record:
        lines.append(("would write", record["best"]["text"]))
    return lines


def coloured(record: Record, variant: int) -> tuple[list[Token], list[Token]]:
    """Both translations' tokens with what they add to the difference of their log-probabilities.

    The stretch in which they differ counts as one: its tokens have no partner, so each has the sum of all.
    """
    steps = token_view(record, variant)
    parted = [step for step in steps if (step.correct is None) != (step.contrastive is None)]
    net = _finite(sum(step.difference for step in parted)) if parted else 0.0
    ours: list[Token] = []
    theirs: list[Token] = []
    for step in steps:
        if step.correct is not None and step.contrastive is not None:
            token: Token = (step.correct, _finite(step.difference) if step.difference else None)
            ours.append(token)
            theirs.append(token)
        elif step.correct is not None:
            ours.append((step.correct, net, 1))
        elif step.contrastive is not None:
            theirs.append((step.contrastive, net, 1))
    return ours, theirs


def _finite(number: float) -> float:
    """Impossible tokens count as a hundred nats: JSON has no infinity, and no colour shows more."""
    return 0.0 if math.isnan(number) else max(-100.0, min(100.0, number))


VIEW = View(
    title="Minimal pairs: forced to choose",
    question="Does the system find the right translation more likely than one with a small error in it?",
    reading=(
        "A minimal pair is a right translation and a copy with one error (a “not” left out, a wrong article). "
        "The system is not asked to translate: it says which of the two it finds more likely. Accuracy is the share "
        "of pairs in which that is the right one.",
        "Discrepancy is by how much the system finds its own translation more likely than the preferred one of the "
        "pair, in nats (natural-log units) a token. Where it is large, the pair is not what the system would write, "
        "and what it prefers there says little about what it does when it translates.",
        "Controls are errors that no system is known to make. What forced choice reports for them is false, so "
        "they measure how far to believe the rest: “excess errors” are those beyond what controls lead one to expect.",
    ),
    measure="margin: log-probability of the right translation minus that of the wrong one; below 0 the error wins",
    about=about,
    answer=answer,
    group="error type",
    colours="difference",
    findings=findings,
    caveats=caveats,
    pictures=pictures,
    tables=tables,
    names=names,
)
