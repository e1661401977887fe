"""The report section of contrastive evaluation: forced choice, its limits, and pairs token by token."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from babelscope.core.columns import Group
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
from babelscope.core.results import Record, Row, minus_inf_if_none
from babelscope.core.tables import Table
from babelscope.language.registry import error_label
from babelscope.methods.contrast.pictures import accuracy_rows, pictures, reference_kinds, with_interval
from babelscope.methods.contrast.tokens import token_view
from babelscope.methods.errors.view import language_caveats, worst_finding
from babelscope.methods.view import Figures, complement, error_finding, headlines, noted_of, one, pivot

_VERDICTS: Mapping[str, tuple[str, Tone]] = {
    "correct": ("right", "none"),
    "wrong": ("wrong", "errors"),
    "tie": ("tie", "some"),
}
_SHARED_TOKENS_SHOWN = 5
"""Tokens of a long shared prefix that are shown before the first that differs."""
_FAR_FROM_OUTPUT = 0.5
"""Discrepancy in nats a token from which a caveat is shown."""


def findings(group: Group) -> list[Finding]:
    found = []
    several = len(reference_kinds(group)) > 1
    labels = names(group)
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
        real = [row for row in accuracy_rows(rows) if "control" not in row.labels and row.estimate.n]
        if len(real) > 1:
            worst = min(real, key=lambda row: (row.estimate.value, row.estimate.high))
            name, kind = str(worst.labels["phenomenon"]), str(worst.labels["reference"])
            behind = [r for r in wrong if (r["phenomenon"], r["reference"]) == (name, kind)]
            if behind:
                reference = f" ({kind} references)" if several else ""
                found.append(
                    error_finding(
                        column.name,
                        f"Worst of {len(real)} error types, {labels[name]}{reference}",
                        complement(worst.estimate),
                        "pairs",
                        query={**query, "group": _group_name(name, kind)},
                        behind=len(behind),
                    )
                )
        found += worst_finding(
            column.name, rows, _items_with_alarm(column.name, records, group.tests), labels
        )
    return found


def _items_with_alarm(
    system: str, records: Sequence[Record], tests: str
) -> Callable[[Row], tuple[Mapping[str, str], int]]:
    def items(row: Row) -> tuple[Mapping[str, str], int]:
        name, kind = str(row.labels["phenomenon"]), str(row.labels["reference"])
        behind = sum(
            record.get("detected", {}).get("best", False)
            for record in records
            if (record["phenomenon"], record["reference"]) == (name, kind)
        )
        shown = {"group": _group_name(name, kind), "search": "its own translation has it"}
        return {"system": system, "tests": tests, **shown}, behind

    return items


def _group_name(phenomenon: str, reference: str) -> str:
    return f"{phenomenon}, {reference} reference"


def caveats(group: Group) -> list[Caveat]:
    found: list[Caveat] = []
    labels = names(group)
    for column in group.columns:
        name, rows = column.name, column.cell.rows
        far = _overall_discrepancy(rows)
        if far is None:
            found.append(
                Caveat(
                    name,
                    "how far the pairs are from what it would write itself is not known, so errors in forced "
                    "choice may be ones that it never makes.",
                )
            )
        elif far.estimate.value >= _FAR_FROM_OUTPUT:
            found.append(
                Caveat(
                    name,
                    f"the pairs are {with_interval(far.estimate)} nats a token less likely than what it would write "
                    "itself. So far from its own output, errors in forced choice say little about errors in "
                    "free translation.",
                )
            )
        for row in accuracy_rows(rows):
            if "control" in row.labels and row.estimate.value < 1:
                found.append(
                    Caveat(
                        name,
                        f"forced choice reports {with_interval(complement(row.estimate), 100)} % errors of a kind "
                        f"that no system is known to make ({labels[row.name]}). They are false, and so may "
                        "others be.",
                    )
                )
        found += language_caveats(name, rows)
        found += noted_of(
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


def _overall_discrepancy(rows: Sequence[Row]) -> Row | None:
    return next((row for row in rows if row.name == "discrepancy" and "phenomenon" not in row.labels), None)


def headline(rows: Sequence[Row]) -> list[Headline]:
    """How often the right one of a pair is preferred, and how far pairs are from the system's own output."""
    return headlines(
        ("right one preferred", one(rows, "all"), "percent"),
        ("discrepancy", _overall_discrepancy(rows), "plain"),
    )


def tables(group: Group) -> list[Table]:
    figures = (
        Figures("accuracy", lambda row: row.name in ("all", row.labels.get("phenomenon")), "percent"),
        Figures("discrepancy", lambda row: row.name == "discrepancy"),
        Figures("errors in own translations", lambda row: row.name == "generated_errors", "percent"),
    )
    return pivot(group, "By error type", ("phenomenon", "reference"), figures)


def names(group: Group) -> dict[str, str]:
    """The labels of all error types of a group."""
    rows = [row for column in group.columns for row in column.cell.rows if "phenomenon" in row.labels]
    types = dict.fromkeys(str(row.labels["phenomenon"]) for row in rows)
    stored = _stored_names(group)
    return {name: error_label(name, stored) for name in types}


def _stored_names(group: Group) -> dict[str, str]:
    """The names that the group's runs have stored: they may be of plug-ins that are not installed here."""
    found: dict[str, str] = {}
    for cell in (column.cell for column in group.columns):
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
    lines: list[Line] = []
    if "correct" in record:
        lines.append(("right", record["correct"]["text"]))
        lines += [("with the error", each["text"]) for each in record["contrastive"]]
    elif texts := record.get("texts"):  # of stored scores
        lines = [("right", texts["correct"]), *(("with the error", each) for each in texts["contrastive"])]
    phenomenon, reference = record["phenomenon"], record["reference"]
    specific = _group_name(phenomenon, reference)
    return About(record["source"] or "(empty)", (phenomenon, specific), specific, lines)


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
        scores = [minus_inf_if_none(each) for each in record["scores"]["contrastive"]]
        ours, theirs = colour_tokens(record, scores.index(max(scores)))
        lines += [("right", ours), ("with the error", theirs)]
    if "best" in record:
        lines.append(("its own translation", record["best"]["text"]))
    return lines


def colour_tokens(record: Record, variant: int) -> tuple[list[Token], list[Token]]:
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
    """Clamp to 100 nats: JSON has no infinity, and colours do not go beyond."""
    return 0.0 if math.isnan(number) else max(-100.0, min(100.0, number))


_READING = (
    "A minimal pair is a right translation and a copy with one error (a “not” left out, a wrong article). "
    "The system is not asked to translate: it says which of the two it finds more likely. Accuracy is the share "
    "of pairs in which that is the right one.",
    "Discrepancy is by how much the system finds its own translation more likely than the preferred one of the "
    "pair, in nats (natural-log units) a token. Where it is large, the pair is not what the system would write, "
    "and what it prefers there says little about what it does when it translates.",
    "Controls are errors that no system is known to make. What forced choice reports for them is false, so "
    "they measure how far to believe the rest: “excess errors” are those beyond what controls predict.",
)
_MEASURE = (
    "margin: log-probability of the right translation minus that of the wrong one; below 0 the error wins"
)


def section(group: Group) -> Section:
    """The report section of one test set."""
    return Section(
        title="Minimal pairs: forced to choose",
        question="Does the system find the right translation more likely than one with a small error in it?",
        reading=_READING,
        measure=_MEASURE,
        group="error type",
        colours="difference",
        order=10,
        findings=findings(group),
        caveats=caveats(group),
        pictures=pictures(group),
        tables=tables(group),
        names=names(group),
    )


VIEW = View(section, about, answer, headline)
