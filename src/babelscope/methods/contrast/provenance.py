"""Who wrote the references that a system is judged on, and what is said where that can mislead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from babelscope.core.page import Caveat
from babelscope.core.results import Record, Row
from babelscope.language.registry import OWN_TYPES
from babelscope.methods.contrast.by_type import TypeFigures, figures_by_type, with_interval
from babelscope.methods.view import one


def is_own(record: Record) -> bool:
    """Whether the system wrote the machine reference: by its name, or because it is its own translation."""
    if record["reference"] != "machine":
        return False
    author = record.get("extra", {}).get("system")
    if isinstance(author, str) and author == record.get("system"):
        return True
    best, correct = record.get("best"), record.get("correct")
    if not isinstance(best, Mapping) or not isinstance(correct, Mapping):  # of stored scores
        return False
    return bool(best["text"].strip() == correct["text"].strip())


def own_words(each: TypeFigures) -> str:
    """That a system is judged on its own output."""
    n = each.forced.estimate.n
    return f"{each.own:,} of {n:,} references are its own output, on which it can hardly fail"


def provenance_caveats(system: str, rows: Sequence[Row]) -> list[Caveat]:
    """How machine references came about, whether the system wrote them, and what human ones alone may hide."""
    types = figures_by_type(rows)
    found = [Caveat(system, told) for told in _told_making(rows)]
    machine = [each for each in types if each.reference == "machine"]
    own, n = sum(each.own for each in machine), sum(each.forced.estimate.n for each in machine)
    if 2 * own > n:
        found.append(
            Caveat(
                system,
                f"it is judged on its own output: it wrote {own:,} of {n:,} machine references, on which it can "
                "hardly fail.",
            )
        )
    if types and not any(each.reference == "machine" or each.is_control for each in types):
        skipped = any(row.counts.get("skipped") for row in rows)
        found.append(
            Caveat(
                system,
                f"human references and no controls{' among the items answered' if skipped else ''}: errors in forced "
                f"choice may be ones that it never writes ({_remedies([each.name for each in types])}).",
            )
        )
    return found


def _remedies(phenomena: Sequence[str]) -> str:
    """The options that can add to a test set of these phenomena: variants are made for error types only.

    Only our own error types are looked up, so that a report is the same whichever plug-ins are installed.
    """
    return "--machine-references, --control" if set(phenomena) <= set(OWN_TYPES) else "--control"


def _told_making(rows: Sequence[Row]) -> list[str]:
    """What became of the machine references that were made for the run; nothing if none were."""
    kept = one(rows, "kept", phenomenon="all")
    if kept is None or not kept.estimate.n:
        return []
    n = kept.estimate.n
    parts = [f"{with_interval(kept.estimate, 100)} % of {n:,} human pairs got a validated machine reference"]
    reasons: list[str] = []
    for name, words in (("dropped", "dropped"), ("queued", "left for a person to judge")):
        if (row := one(rows, name, phenomenon="all")) and row.estimate.value:
            parts.append(f"{words}: {_pairs(row):,}")
            reasons += [f"{words}: {told}." for told in [_told_reasons(rows, name)] if told]
    told = ["; ".join(parts) + ".", *reasons]
    choosing, translating = (
        one(rows, "bias_discrepancy", phenomenon="all", shift=shift) for shift in ("selection", "translation")
    )
    if choosing and translating and translating.estimate.n:
        shifts = [with_interval(row.estimate) for row in (choosing, translating)]
        told.append(
            f"choosing machine references shifts the discrepancy by {shifts[0]}, translating by {shifts[1]} nats."
        )
    return told


def _told_reasons(rows: Sequence[Row], verdict: str) -> str:
    """The number of pairs by reason, most first."""
    own = sorted(
        (row for row in rows if row.name == verdict and "reason" in row.labels), key=_pairs, reverse=True
    )
    return ", ".join(f"{_pairs(row):,} {row.labels['reason']}" for row in own)


def _pairs(row: Row) -> int:
    return round(row.estimate.value * row.estimate.n)
