"""The report section of contrastive evaluation: forced choice, its limits, and pairs token by token."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from babelscope.core.charts import Chart, Dot, Forest, Key, Scatter
from babelscope.core.comparison import Comparison
from babelscope.core.page import (
    CONTROLS,
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
    count_of,
    point,
    tooltip,
)
from babelscope.core.results import Record, Row, minus_inf_if_none
from babelscope.core.tables import Table
from babelscope.language.registry import error_label
from babelscope.methods.contrast.figures import (
    READINGS,
    TypeFigures,
    accuracy_rows,
    figures_by_type,
    leading,
    overview,
    own_words,
    provenance_caveats,
    with_interval,
)
from babelscope.methods.contrast.method import CAUTION, discrepancy_caveats, token_view
from babelscope.methods.errors.view import language_caveats, pair_lines, worst_finding
from babelscope.methods.view import (
    Figures,
    bar,
    by_name,
    complement,
    error_finding,
    keys,
    noted_of,
    one,
    pivot,
)

DETECTED = "error in its own translation, says the detector"
_SEEN = ("real", "beyond")
_TAGS = {
    "false": "False",
    "as controls": "Not shown",
    **dict.fromkeys(("few controls", "forced only", "not seen"), "Forced"),
}
"""Tags of error types that are not shown to be real."""


def findings(group: Comparison, labels: Mapping[str, str]) -> Iterator[Finding]:
    """Each error type that is preferred, machine references before human ones; then the alarms on controls."""
    for column in group.results:
        rows, settings = column.rows, column.settings
        query = {"system": column.name, "tests": group.tests}
        for each in leading(figures_by_type(rows)):
            if not each.is_control:
                yield _of_type(column.name, each, query, labels, settings)
        for row in by_reference(rows, "controls"):
            kind = str(row.labels["reference"])
            yield Finding(
                column.name,
                f"Controls, which nobody gets wrong, in which it prefers the error ({kind} references)",
                complement(row.estimate),
                "pairs",
                "note",
                query={**query, "verdict": false_alarm_on(kind)},
                tag=CONTROLS,
                more=_told_ties(row, settings),
            )
        yield from worst_finding(column.name, rows, functools.partial(_alarms, query), labels)


def _of_type(
    system: str,
    each: TypeFigures,
    query: Mapping[str, str],
    labels: Mapping[str, str],
    settings: Mapping[str, Any],
) -> Finding:
    """How often the error is preferred, and how much of that is more than a false alarm."""
    more = [_told_ties(each.forced, settings)]
    for row, words in ((each.excess, "excess over controls"), (each.free, "in its own translations")):
        if row is not None and row.estimate.n:
            more.append(f"{words}: {with_interval(row.estimate, 100)} %")
    if each.is_own:
        more.append(own_words(each))
    if each.reading not in ("too few", "none"):
        more.append(READINGS[each.reading])
    tag = {"tag": tag} if (tag := _TAGS.get(each.reading, "")) else {}
    found = error_finding(
        system,
        f"Prefers the error, {labels.get(each.name, each.name)} ({each.reference} references)",
        each.forced.estimate,
        "pairs",
        query={**query, "verdict": NOT_RIGHT, "group": group_name(each.name, each.reference)},
        more="; ".join(filter(None, more)),
        **tag,
    )
    if each.reading in _SEEN or found.tone in ("note", "none"):
        return found
    # What controls or free translations explain away is no weakness; what nothing speaks for or against may be one.
    tone: Tone = "note" if each.reading in ("as controls", "false") else "some"
    return replace(found, tone=tone)


def by_reference(rows: Sequence[Row], name: str) -> list[Row]:
    """Accuracies over all types of one kind of reference; machine references, nearer to free output, first."""
    found = [row for row in rows if row.name == name and "phenomenon" not in row.labels and row.estimate.n]
    return sorted(found, key=lambda row: row.labels["reference"] != "machine")


def false_alarm_on(kind: str) -> str:
    """The verdict of an error that is preferred on a control with references of this kind."""
    return f"false alarm, {kind} references"


def group_name(phenomenon: str, reference: str) -> str:
    """What a report calls the items of one error type and kind of reference."""
    return f"{phenomenon}, {reference} reference"


def _told_ties(row: Row, settings: Mapping[str, Any]) -> str:
    """The ties among the pairs behind a figure, where each is half an error."""
    ties = row.counts.get("ties", 0)
    return f"{count_of(ties, 'ties')} counted half" if ties and settings.get("ties", "half") == "half" else ""


def _alarms(query: Mapping[str, str], row: Row) -> Mapping[str, str]:
    """The filter of the items with an alarm, for a row of errors in own translations."""
    group = group_name(str(row.labels["phenomenon"]), str(row.labels["reference"]))
    return {**query, "verdict": DETECTED, "group": group}


def _name(row: Row, *, kinds: bool) -> str:
    """The error type, with the kind of reference where there are several."""
    return str(row.labels["phenomenon"]) + (f", {row.labels['reference']}" if kinds else "")


def reference_kinds(group: Comparison) -> list[str]:
    """The kinds of references that occur, such as human and machine."""
    return list(
        dict.fromkeys(
            str(row.labels["reference"]) for column in group.results for row in accuracy_rows(column.rows)
        )
    )


def pictures(group: Comparison) -> list[Chart]:
    return [*_accuracy(group), *_against_discrepancy(group), *_forced_and_free(group)]


def _accuracy(group: Comparison) -> list[Chart]:
    several = len(reference_kinds(group)) > 1
    bars = by_name(
        (
            _name(row, kinds=several),
            bar(column.name, f"{row.name}, {row.labels['reference']} reference", row.estimate),
        )
        for column in group.results
        for row in accuracy_rows(column.rows)
    )
    if not bars:
        return []
    return [
        Chart(
            "How often the right translation is preferred, by error type",
            Forest(bars, "accuracy in forced choice", keys(group)),
            "Each mark is an accuracy, each line through it its 95 % interval. 50 % is what chance would give.",
        )
    ]


def _against_discrepancy(group: Comparison) -> list[Chart]:
    kinds = reference_kinds(group)
    dots = [dot for column in group.results for dot in _dots(column.name, column.rows, kinds)]
    if not dots:
        return []
    legend = [
        Key(f"{column.name}, {kind}", column.name, shape=number)
        for column in group.results
        for number, kind in enumerate(kinds)
    ]
    return [
        Chart(
            "Accuracy against discrepancy",
            Scatter(dots, "discrepancy, nats per token", "accuracy in forced choice", legend, y_most=1.0),
            "Each mark is an error type. The farther right, the less likely the pair is compared with what the "
            "system would write itself, and the less its accuracy says about free translation. "
            f"Shapes tell whose references the pairs were made from: {', '.join(kinds)}.",
        )
    ]


def _dots(system: str, rows: Sequence[Row], kinds: Sequence[str]) -> list[Dot]:
    """One dot an error type; the two with the lowest accuracy are labeled."""
    own = []
    for row in accuracy_rows(rows):
        told_apart = {label: row.labels[label] for label in ("phenomenon", "reference")}
        if (far := one(rows, "discrepancy", **told_apart)) and row.estimate.n:
            own.append((row, far))
    lowest = sorted(own, key=lambda pair: pair[0].estimate.value)[:2]
    return [
        Dot(
            system,
            point(far.estimate),
            point(row.estimate),
            kinds.index(str(row.labels["reference"])),
            row.name if any(row is each for each, _ in lowest) and row.estimate.value < 1 else "",
            f"{tooltip(f'{system}, {_name(row, kinds=True)} reference', row.estimate)}; "
            f"discrepancy {with_interval(far.estimate)}",
        )
        for row, far in own
    ]


def _forced_and_free(group: Comparison) -> list[Chart]:
    several = len(reference_kinds(group)) > 1
    sides = {"forced_errors": ("forced choice", True), "generated_errors": ("own translations", False)}
    bars = by_name(
        (_name(row, kinds=several), bar(column.name, what, row.estimate, hollow=hollow))
        for column in group.results
        for row in column.rows
        if row.name in sides and row.estimate.n
        for what, hollow in [sides[row.name]]
    )
    if not bars:
        return []
    legend = [
        Key(f"{column.name}, {what}", column.name, hollow=hollow)
        for column in group.results
        for what, hollow in sides.values()
    ]
    return [
        Chart(
            "Errors in forced choice, and in its own translations",
            Forest(bars, "error rate", legend, zero=0.0),
            "Hollow: how often the error is preferred. Filled: how often a detector finds it in free "
            "translations, corrected for what the detector misses and for its false alarms. Where the filled "
            "interval reaches 0, the error was not shown to happen at all.",
        )
    ]


_VERDICTS: Mapping[str, tuple[str, Tone]] = {
    "correct": ("right", "none"),
    "wrong": ("wrong", "errors"),
}
_TIES: Mapping[str, Tone] = {"half": "some", "correct": "none", "wrong": "errors"}
"""Policy for ties -> tone of a tie."""
_SHARED_TOKENS_SHOWN = 5
"""Tokens of a long shared prefix that are shown before the first that differs."""


def caveats(group: Comparison) -> Iterator[Caveat]:
    labels = names(group)
    for column in group.results:
        name, rows = column.name, column.rows
        if alike := sum(_reads_alike(record) for record in column.records):
            pairs = count_of(len(column.records), "pairs")
            said = "a right and a wrong translation are the same tokens to it: these ties tell nothing."
            yield Caveat(name, f"in {alike} of {pairs} {said}")
        yield from provenance_caveats(name, rows)
        yield from discrepancy_caveats(name, rows)
        for row in accuracy_rows(rows):
            if "control" in row.labels and row.estimate.value < 1:
                yield Caveat(
                    name,
                    f"it prefers an error that nobody makes ({labels[row.name]}): so may other errors be false.",
                )
        yield from language_caveats(name, rows)
        yield from noted_of(
            name,
            rows,
            {
                "truncated": "were too long and were cut",
                "changed": "have a text that does not survive tokenization",
                "unfinished": "have a translation that was not finished",
                "infinite": "have a text that the system holds to be impossible",
            },
        )
    if len(group.results) > 1 and any(row.name == "discrepancy" for row in group.results[0].rows):
        yield Caveat("discrepancy", f"{CAUTION}.")


def _reads_alike(record: Record) -> bool:
    """Whether a contrastive translation has the tokens of the correct one; of stored scores nobody knows."""
    if "correct" not in record:
        return False
    own = record["correct"]["tokens"]
    return any(
        own and variant["at"] == len(own) and not variant["tokens"] for variant in record["contrastive"]
    )


def headline(rows: Sequence[Row]) -> list[Headline]:
    """How often the error is preferred, by error type, worst first; then the alarms on controls."""
    types = leading(figures_by_type(rows))
    return [
        Headline(
            f"error preferred: {'control ' if each.is_control else ''}{each.name} ({each.reference} refs)",
            each.forced,
            "percent",
        )
        for each in types
    ]


def over(rows: Sequence[Row]) -> list[Headline]:
    """The same over factors of the systems, in an order that no figure changes."""
    return sorted(headline(rows), key=lambda each: each.name)


def tables(group: Comparison) -> list[Table]:
    figures = (
        Figures("accuracy", lambda row: row.name == row.labels.get("phenomenon"), "percent"),
        Figures("discrepancy", lambda row: row.name == "discrepancy" and "phenomenon" in row.labels),
    )
    apart = Figures(
        "below its own translation",
        lambda row: row.name in ("discrepancy", "spread") and "phenomenon" not in row.labels,
    )
    return [
        overview(group, lead=False),
        *pivot(group, "By error type", ("phenomenon", "reference"), figures),
        *pivot(group, "Distance of pairs and of its alternatives", ("reference", "of"), (apart,)),
    ]


def names(group: Comparison) -> dict[str, str]:
    """The labels of all error types of a group."""
    rows = [row for column in group.results for row in column.rows if "phenomenon" in row.labels]
    types = dict.fromkeys(str(row.labels["phenomenon"]) for row in rows)
    stored = _stored_names(group)
    return {name: error_label(name, stored) for name in types}


def _stored_names(group: Comparison) -> dict[str, str]:
    """The names that the group's runs have stored: they may be of plug-ins that are not installed here."""
    found: dict[str, str] = {}
    for cell in (column.cell for column in group.results):
        for each in cell.run.sections:
            section = each.get("section") if each.get("method") == cell.method else None
            own = section.get("names") if isinstance(section, Mapping) else None
            found |= {name: str(text) for name, text in own.items()} if isinstance(own, Mapping) else {}
    return found


def margin(record: Record) -> float | None:
    """Score of the right translation minus that of the best wrong one; None if one is infinite."""
    scores = record["scores"]
    known = [each for each in scores["contrastive"] if each is not None]
    if scores["correct"] is None or not known:
        return None
    return float(scores["correct"] - max(known))


def about(record: Record) -> About:
    specific = group_name(record["phenomenon"], record["reference"])
    groups = (record["phenomenon"], specific)
    return About(record["source"] or "(empty)", groups, specific, pair_lines(record))


def answer(record: Record, settings: Mapping[str, Any]) -> Answer:
    verdict, tone = _VERDICTS.get(record["verdict"]) or ("tie", _TIES[settings.get("ties", "half")])
    facts, also = [], []
    if tone != "none" and record["phenomenon"] in settings.get("controls", ()):
        also.append(false_alarm_on(record["reference"]))
    if record.get("discrepancy") is not None:
        facts.append(f"discrepancy {record['discrepancy']:.2f}")
    if record.get("detected", {}).get("best"):
        facts.append(DETECTED)
        also.append(DETECTED)
    return Answer(verdict, tone, margin(record), ", ".join(facts), lambda: _lines(record), also)


def _lines(record: Record) -> list[Line]:
    """The right translation and the strongest wrong one, token by token, and what it would write itself."""
    lines: list[Line] = []
    if record.get("correct", {}).get("tokens"):
        scores = [minus_inf_if_none(each) for each in record["scores"]["contrastive"]]
        ours, theirs = color_tokens(record, scores.index(max(scores)))
        lines += [("right", ours), ("with the error", theirs)]
    if "best" in record:
        lines.append(("its own translation", record["best"]["text"]))
    return lines


def color_tokens(record: Record, variant: int) -> tuple[list[Token], list[Token]]:
    """The tokens of both translations with what they add to the difference of log-probabilities, in nats.

    The tokens that differ have no partner, so each gets the sum over all of them. Of a long shared prefix only
    the end is kept.
    """
    steps = token_view(record, variant)
    parted = [step for step in steps if (step.correct is None) != (step.contrastive is None)]
    net = _finite(sum(step.difference for step in parted)) if parted else 0.0
    shared = next((place for place, step in enumerate(steps) if step.contrastive != step.correct), 0)
    left_out = shared - _SHARED_TOKENS_SHOWN if shared > 2 * _SHARED_TOKENS_SHOWN else 0
    ours: list[Token] = [("…", None)] if left_out else []
    theirs: list[Token] = list(ours)
    for step in steps[left_out:]:
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
    """Clamp to 100 nats: JSON has no infinity, and colors do not go beyond."""
    return 0.0 if math.isnan(number) else max(-100.0, min(100.0, number))


_READING = (
    "A minimal pair is a right translation and a copy with one error (a “not” left out, a wrong article). "
    "The system is not asked to translate: it says which of the two it finds more likely. Accuracy is the share "
    "of pairs in which that is the right one.",
    "Discrepancy is by how much the system finds its own translation more likely than the preferred one of the "
    "pair, in nats (natural-log units) a token. Where it is large, the pair is not what the system would write, "
    "and what it prefers there says little about what it does when it translates. It compares test sets under one "
    "system, not systems.",
    "Controls are errors that no system is known to make. What forced choice reports for them is false, so "
    "they measure how far to believe the rest: “excess errors” are those beyond what controls predict.",
    "How the figures of an error type are read together: "
    + "; ".join(f"{name}: {words}" for name, words in READINGS.items())
    + ".",
)
_MEASURE = (
    "margin: log-probability of the right translation minus that of the wrong one; below 0 the error wins"
)


def section(group: Comparison) -> Section:
    """The report section of one test set."""
    return Section(
        title="Minimal pairs: forced to choose",
        question="Does the system find the right translation more likely than one with a small error in it?",
        reading=_READING,
        measure=_MEASURE,
        group="error type",
        colors="difference",
        order=10,
        findings=[*findings(group, names(group))],
        caveats=[*caveats(group)],
        pictures=pictures(group),
        tables=tables(group),
        names=names(group),
    )


def detected_in_output(record: Record) -> bool | None:
    """Whether a detector finds the pair's error in the system's own translation; None if nobody looked."""
    found = record.get("detected", {}).get("best")
    return None if found is None else bool(found)


def false_alarms(
    group: Comparison, has_error: Callable[[Record], bool | None] = detected_in_output
) -> list[tuple[str, Record]]:
    """(system, record) of pairs with the error preferred, and not in the system's own translation; clearest first.

    Controls, which no system is known to get wrong, are before all others; then the largest margin is first.
    """
    found = [
        (
            record["phenomenon"] not in column.settings.get("controls", ()),
            margin(record),
            column.name,
            record,
        )
        for column in group.results
        for record in column.records
        if record["verdict"] == "wrong" and "best" in record and has_error(record) is False
    ]
    ranked = sorted(found, key=lambda each: (each[0], each[1] if each[1] is not None else 0.0))
    return [(system, record) for _, _, system, record in ranked]


VIEW = View(section, about, answer, headline, over, overview)
