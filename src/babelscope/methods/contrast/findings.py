"""What stands out in minimal pairs, by error type."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from babelscope.core.columns import Group
from babelscope.core.page import CONTROLS, NOT_RIGHT, Finding, Tone, count_of
from babelscope.core.results import Row
from babelscope.methods.contrast.by_type import READINGS, TypeFigures, figures_by_type, leading, with_interval
from babelscope.methods.contrast.provenance import own_words
from babelscope.methods.errors.view import worst_finding
from babelscope.methods.view import complement, error_finding

DETECTED = "error in its own translation, says the detector"
_SEEN = ("real", "beyond")
_TAGS = {
    "false": "False",
    "as controls": "Not shown",
    **dict.fromkeys(("few controls", "forced only", "not seen"), "Forced"),
}
"""Tags of error types that are not shown to be real."""


def findings(group: Group, labels: Mapping[str, str]) -> list[Finding]:
    """Each error type that is preferred, machine references before human ones; then the alarms on controls."""
    found = []
    for column in group.columns:
        rows, settings = column.cell.rows, column.cell.settings
        query = {"system": column.name, "tests": group.tests}
        for each in leading(figures_by_type(rows)):
            if not each.is_control:
                found.append(_of_type(column.name, each, query, labels, settings))
        for row in by_reference(rows, "controls"):
            kind = str(row.labels["reference"])
            found.append(
                Finding(
                    column.name,
                    f"Controls, which nobody gets wrong, in which it prefers the error ({kind} references)",
                    complement(row.estimate),
                    "pairs",
                    "note",
                    query={**query, "verdict": false_alarm_on(kind)},
                    tag=CONTROLS,
                    more=_told_ties(row, settings),
                )
            )
        found += worst_finding(column.name, rows, functools.partial(_alarms, query), labels)
    return found


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
