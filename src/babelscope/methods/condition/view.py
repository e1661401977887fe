"""The report section of contrastive conditioning: accuracy by category, and the evaluator's confidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from babelscope.core.charts import Chart, Forest, Histogram
from babelscope.core.comparison import Comparison, SystemResult
from babelscope.core.page import (
    NOT_RIGHT,
    About,
    Answer,
    Caveat,
    Finding,
    Headline,
    Line,
    Section,
    Token,
    Tone,
    View,
)
from babelscope.core.results import Record, Row
from babelscope.core.tables import Table
from babelscope.methods.base import find_method, restore_settings
from babelscope.methods.condition.figures import ConditionSettings
from babelscope.methods.condition.preflight import (
    can_be_shown,
    evaluator_caveats,
    is_test,
    passed_of,
    preflight_of,
)
from babelscope.methods.view import (
    Figures,
    bar,
    by_name,
    complement,
    error_finding,
    headlines,
    keys,
    noted_of,
    one,
    pivot,
)

_VERDICTS: Mapping[str, tuple[str, Tone]] = {
    "correct": ("right", "none"),
    "wrong": ("wrong", "errors"),
    "tie": ("tie", "some"),
    "undecided": ("undecided", "note"),
}
_MANY_UNSURE = 0.2
"""Above this share of unsure verdicts, a caveat is shown."""


def _categories(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if "category" in row.labels and row.labels.get("weighting") == "category"]


def findings(group: Comparison) -> Iterator[Finding]:
    """The errors of each system whose evaluator may judge; where it is untested, that is said."""
    for column in group.results:
        rows = column.rows
        if not can_be_shown(rows):
            continue
        untested = "" if passed_of(rows) == "yes" else "it is not known if the evaluator can judge this"
        query = {"system": column.name, "tests": group.tests, "verdict": NOT_RIGHT}
        lowest = one(rows, "minimum")
        if lowest and "lowest" in lowest.labels and len(_categories(rows)) > 1:
            category = str(lowest.labels["lowest"])
            # The category is chosen by weighted accuracy, so its figure is the weighted one, too.
            own = one(_categories(rows), category, category=category)
            if own and own.estimate.value < 1:
                yield error_finding(
                    column.name,
                    f"Worst of {len(_categories(rows))} categories by weighted accuracy ({group.tests}), "
                    f"{category}: errors, weighted",
                    complement(own.estimate),
                    "sentences",
                    query={**query, "group": category},
                    more="; ".join(
                        filter(None, ["the surer the evaluator, the more a verdict counts", untested])
                    ),
                )
        if overall := one(rows, "all"):
            unsure = overall.counts["within_noise"]
            noise = f"{unsure} of them are within the evaluator’s noise" if unsure else ""
            yield error_finding(
                column.name,
                f"Sentences translated with another meaning than was meant ({group.tests})",
                complement(overall.estimate),
                "sentences",
                query=query,
                more="; ".join(filter(None, [noise, untested])),
            )


def headline(rows: Sequence[Row], *, categories: bool = True) -> list[Headline]:
    """Weighted accuracy of the worst category, by name; then over all; then the unweighted one (section 4.2)."""
    if not can_be_shown(rows):
        return []
    untested = "" if passed_of(rows) == "yes" else ", evaluator untested"
    lowest = one(rows, "minimum")
    ranked = lowest is not None and "lowest" in lowest.labels and len(_categories(rows)) > 1
    worst = (
        f"weighted minimum ({lowest.labels['lowest']})"
        if lowest and ranked and categories
        else "weighted minimum"
    )
    return headlines(
        (f"{worst}{untested}", lowest if ranked else None, "percent"),
        (f"meant meaning, weighted{untested}", one(rows, "weighted"), "percent"),
        ("the same, corrected for the evaluator’s errors", one(rows, "corrected"), "percent"),
        (f"the same, unweighted{untested}", one(rows, "all"), "percent"),
        ("decided by the evaluator", one(rows, "decided"), "percent"),
        (f"male for each female{untested}", one(rows, "male_to_female"), "plain"),
    )


def over(rows: Sequence[Row]) -> list[Headline]:
    """The same over factors of the systems, whose worst categories may differ."""
    return headline(rows, categories=False)


def _about_the_evaluator(column: SystemResult) -> Iterator[Caveat]:
    """Why there is no finding, or why it is to be taken with care."""
    rows = column.rows
    if passed_of(rows) != "yes":
        settings = restore_settings(find_method("condition"), column.settings)
        assert isinstance(settings, ConditionSettings)
        yield from evaluator_caveats(column, preflight_of(column.records, settings).reasons)
    test = one(rows, "preflight")
    unchecked = test.counts.get("unchecked", 0) if test else 0
    if test and unchecked and unchecked > test.counts["known_wrong"] / 2:
        yield Caveat(
            column.name,
            f"no reference bears out {unchecked} of {test.counts['known_wrong']} pairs of translations by the "
            f"{test.labels['known_by']} that the evaluator was tested with.",
        )
    decided, worst, best = (one(rows, name) for name in ("decided", "worst case", "best case"))
    if decided and decided.counts["undecided"]:
        told = (
            f"{decided.counts['undecided']} of {decided.estimate.n} sentences are undecided, within the evaluator’s "
            "noise"
        )
        if worst and best and worst.estimate.n:
            low, high = (f"{100 * (1 - end):.1f} %" for end in (best.estimate.high, worst.estimate.low))
            told += f": {low} to {high} of all are wrong"
        yield Caveat(column.name, f"{told}.")


def caveats(group: Comparison) -> Iterator[Caveat]:
    for column in group.results:
        name, rows = column.name, column.rows
        yield from _about_the_evaluator(column)
        if column.roles.get("evaluator") == column.fingerprint:
            yield Caveat(
                name,
                "it is its own evaluator: what it misunderstands, it may misjudge in the same way.",
            )
        bins = [
            (float(str(row.labels["bin"]).partition("-")[2]), row.counts["items"])
            for row in rows
            if row.name == "confidence"
        ]
        total = sum(count for _, count in bins)
        unsure = sum(count for end, count in bins if end <= 0.01)
        if total and unsure / total > _MANY_UNSURE:
            yield Caveat(
                name,
                f"in {unsure} of {total} sentences the evaluator was hardly surer than a coin (score within "
                "0.01 of 0.5).",
            )
        yield from noted_of(
            name,
            rows,
            {
                "no_cue": "have no cue and were skipped",
                "impossible": "are impossible to the evaluator and were skipped",
                "empty": "have an empty translation",
                "truncated": "were too long and were cut",
                "unfinished": "have a translation that was not finished",
            },
        )


def pictures(group: Comparison) -> Iterator[Chart]:
    bars = by_name(
        (str(row.labels["category"]), bar(column.name, str(row.labels["category"]), row.estimate))
        for column in group.results
        for row in _categories(column.rows)
    )
    if bars:
        yield Chart(
            f"Accuracy by category: {group.tests}",
            Forest(bars, "weighted accuracy", keys(group), domain=(0.0, 1.0), bars=True),
            "The share of sentences whose translation has the meaning that was meant, the evaluator’s surest "
            "verdicts counting most. Lines are 95 % intervals.",
        )
    for column in group.results:
        rows = [row for row in column.rows if row.name == "confidence"]
        bins = [(str(row.labels["bin"]), row.counts["items"], row.counts["correct"]) for row in rows]
        neither = [row.counts.get("ties", 0) + row.counts.get("undecided", 0) for row in rows]
        if bins:
            yield Chart(
                f"How sure the evaluator is: {column.name}, {group.tests}",
                Histogram(column.name, bins, "confidence, from … on", neither),
                "Confidence is the distance of the evaluator’s score from one half, 0.5 at most. Each bar counts "
                "sentences from the number below it to the next. Verdicts far left are little more than guesses.",
            )


def tables(group: Comparison) -> list[Table]:
    figures = (
        Figures("weighted accuracy", lambda row: _is_accuracy(row, "category"), "percent"),
        Figures("unweighted accuracy", lambda row: _is_accuracy(row, "none"), "percent"),
        Figures("corrected accuracy", lambda row: row.name == "corrected", "percent"),
    )
    least = (
        Figures("weighted", lambda row: row.name == "minimum", "percent"),
        Figures("unweighted", lambda row: row.name == "minimum unweighted", "percent"),
    )
    became = (
        Figures("translated as", lambda row: row.name == "translated as", "percent"),
        Figures("male for each female", lambda row: row.name == "male_to_female"),
    )
    tested = (Figures("known translations judged rightly", is_test, "percent"),)
    return [
        *pivot(group, "Accuracy of the worst category", ("lowest",), least),
        *pivot(group, "Accuracy by category", ("category",), figures),
        *pivot(group, "What became of each class", ("category", "as"), became),
        *pivot(group, "Test of the evaluator", ("evaluator", "category", "passed"), tested),
    ]


def _is_accuracy(row: Row, weighting: str) -> bool:
    return row.labels.get("weighting") == weighting and not row.name.startswith("minimum")


def about(record: Record) -> About:
    reference = record.get("extra", {}).get("reference")
    lines: list[Line] = [("meant", record["gold"])] if record["gold"] else []
    if isinstance(reference, str):
        lines.append(("reference", reference))
    return About(record["source"], (record["category"],), record["category"], lines)


def answer(record: Record, _settings: Mapping[str, Any]) -> Answer:
    if record["skipped"]:
        return Answer("skipped", "note", None, record["skipped"], lambda: _lines(record))
    verdict, tone = _VERDICTS[record["verdict"]]
    margin = None
    if record["correct_logprob"] is not None and record["incorrect_logprob"] is not None:
        margin = record["correct_logprob"] - record["incorrect_logprob"]
    return Answer(verdict, tone, margin, f"score {record['score']:.3f}", lambda: _lines(record))


def _lines(record: Record) -> list[Line]:
    text = record["translation"]
    lines: list[Line] = [("translation", "(not known)" if text is None else text or "(empty)")]
    right, wrong = record.get("correct_source"), record.get("incorrect_source")
    if right and wrong:
        lines += [("right cue", mark_difference(right, wrong)), ("wrong cue", mark_difference(wrong, right))]
    return lines


def mark_difference(text: str, other: str) -> list[Token]:
    """The words of a text; marked from the first to the last word in which it differs from `other`."""
    mine, theirs = text.split(" "), other.split(" ")
    start = 0
    while start < min(len(mine), len(theirs)) and mine[start] == theirs[start]:
        start += 1
    end = 0
    while end < min(len(mine), len(theirs)) - start and mine[-1 - end] == theirs[-1 - end]:
        end += 1
    return [
        (word if not place else f" {word}", None, int(start <= place < len(mine) - end))
        for place, word in enumerate(mine)
    ]


_READING = (
    "The system translates an ambiguous sentence. An evaluator, another translation model, is then asked how "
    "likely that translation is if the source said the right meaning outright (a right cue), and how likely if "
    "it said another (a wrong cue). The translation is right if it is likelier with the right cue. No reference "
    "is needed.",
    "Weighted accuracy lets verdicts count the more, the surer the evaluator was. The minimum is the accuracy of "
    "the worst category: a system that always takes the most frequent meaning has a high accuracy and a low "
    "minimum.",
    "Before it is believed, the evaluator is tested on translations whose meaning is known: references, and "
    "translations of sentences that say the right or the wrong meaning outright. Verdicts within its noise, the "
    "size of its mistakes there, are counted; by the strict protocol they are undecided, and accuracy is over the "
    "others. The corrected accuracy allows for what the evaluator misjudges, by its error rates there.",
)
_MEASURE = (
    "margin: log-probability a token with the right cue minus that with the wrong cue; below 0 it is wrong"
)


def section(group: Comparison) -> Section:
    """The report section of one test set."""
    return Section(
        title="Disambiguation: the meaning that was meant",
        question="Does the system translate the sense or the gender that the source means?",
        reading=_READING,
        measure=_MEASURE,
        group="category",
        order=20,
        findings=[*findings(group)],
        caveats=[*caveats(group)],
        pictures=[*pictures(group)],
        tables=tables(group),
    )


VIEW = View(section, about, answer, headline, over)
