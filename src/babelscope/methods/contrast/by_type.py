"""What a run says about each error type: forced choice, own translations, and what controls explain of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from babelscope.core.columns import Group
from babelscope.core.page import CERTAIN, FEWEST, Caveat
from babelscope.core.results import Estimate, Record, Row
from babelscope.core.tables import Table
from babelscope.language.registry import OWN_TYPES
from babelscope.methods.view import complement, one

READINGS: Mapping[str, str] = {
    "real": "its own translations have the error, too",
    "beyond": "preferred more often than controls explain, but not seen in its own translations",
    "forced only": "neither its own translations nor controls say whether this is more than a false alarm",
    "not seen": "not seen in its own translations; there are too few controls to compare with",
    "few controls": "too few controls to tell whether this is more than false alarms",
    "as controls": "preferred no more often than false alarms on controls explain",
    "false": "its own translations have the error less often than forced choice reports",
    "too few": f"fewer than {FEWEST} pairs",
    "none": "the error was never preferred",
    "control": "an error that no system is known to make: what is preferred here is a false alarm",
}
"""How the figures of an error type are read together; what is most surely an error first."""


@dataclass(frozen=True, slots=True)
class TypeFigures:
    """The figures of one error type and kind of reference."""

    name: str
    reference: str
    is_control: bool
    forced: Row
    """Share of pairs in which the error is preferred."""
    free: Row | None
    """Share of sources whose own translation has the error (`generated_errors`)."""
    excess: Row | None
    """Share of pairs beyond the false positives that controls predict (`excess_errors`)."""

    @property
    def reading(self) -> str:
        """What the figures say together; an interval that covers 0 and an effect that would matter shows nothing."""
        if self.is_control:
            return "control"
        errors, free, excess = self.forced.estimate, _known(self.free), _known(self.excess)
        if errors.n < FEWEST:
            return "too few"
        if free and free.low > 0:
            return "real"
        if not errors.value:
            return "none"
        if free and free.high < errors.low:
            return "false"
        if excess:
            return "beyond" if excess.low > 0 else "few controls" if excess.high >= CERTAIN else "as controls"
        return "not seen" if free else "forced only"

    @property
    def own(self) -> int:
        """Pairs whose machine reference the system wrote itself."""
        return self.forced.counts.get("own", 0)

    @property
    def is_own(self) -> bool:
        """Whether the system wrote most of these references itself."""
        return is_own_output(self.forced)


def is_own_output(row: Row) -> bool:
    """Whether most of the references behind an accuracy or error rate were written by the system itself."""
    return 2 * row.counts.get("own", 0) > row.estimate.n


def _known(row: Row | None) -> Estimate | None:
    """The estimate of a row, if it has an interval."""
    return row.estimate if row is not None and row.estimate.n and not row.estimate.no_interval else None


def accuracy_rows(rows: Iterable[Row]) -> list[Row]:
    """The rows that are accuracies by error type and reference kind."""
    return [row for row in rows if row.name == row.labels.get("phenomenon")]


def figures_by_type(rows: Sequence[Row]) -> list[TypeFigures]:
    """All error types of a system, each kind of reference by itself: machine first, then by their reading."""
    found = []
    for row in accuracy_rows(rows):
        if not row.estimate.n:
            continue
        name, kind = str(row.labels["phenomenon"]), str(row.labels["reference"])
        found.append(
            TypeFigures(
                name,
                kind,
                "control" in row.labels,
                Row(name, complement(row.estimate), row.labels, row.counts),
                one(rows, "generated_errors", phenomenon=name, reference=kind),
                one(rows, "excess_errors", phenomenon=name, reference=kind),
            )
        )
    return sorted(found, key=lambda each: (*_rank(each), -each.forced.estimate.value, each.name))


def leading(types: Iterable[TypeFigures]) -> list[TypeFigures]:
    """Of each error type the figures on machine references, where there are any; else on human ones."""
    types = list(types)
    by_machine = {each.name for each in types if each.reference == "machine"}
    return [each for each in types if each.reference == "machine" or each.name not in by_machine]


def _rank(each: TypeFigures) -> tuple[bool, int]:
    """Sort key: machine references first, then what is most surely an error."""
    return each.reference != "machine", list(READINGS).index(each.reading)


def with_interval(estimate: Estimate, factor: float = 1) -> str:
    """The value and its interval as text, each times `factor`, to two digits."""

    def written(number: float) -> str:
        return f"{number:.0f}" if abs(number) >= 99.5 else f"{number:.2g}"  # not 1e+02

    return estimate.text(lambda each: written(factor * each))


OWN = "†"
"""Mark of figures on references that the system wrote itself."""
_HEADINGS = ("n", "forced %", "own output %", "excess %")


def overview(group: Group, *, lead: bool = True) -> Table:
    """A line an error type: forced choice, own translations, excess errors, and how to read them together."""
    several = len(group.columns) > 1
    found = [
        (column.name, each)
        for column in group.columns
        for types in [figures_by_type(column.cell.rows)]
        for each in (leading(types) if lead else types)
    ]
    # Over all systems, so that where a summary has no room for all lines the worst are kept.
    found.sort(key=lambda pair: (*_rank(pair[1]), -pair[1].forced.estimate.value))
    lines = [
        [
            each.reference,
            each.reading,
            *([system] if several else []),
            f"{'*' if each.is_control else ''}{each.name}",
            *_numbers(each),
        ]
        for system, each in found
    ]
    headings = ["references", "reading", *(["system"] if several else []), "error type"]
    marks = [
        "* a control" if any(line[-5].startswith("*") for line in lines) else "",
        f"{OWN} on references that are its own output" if any(OWN in line[-3] for line in lines) else "",
    ]
    told = "By error type, how often the error is preferred, with its 95 % interval"
    title = "; ".join(filter(None, [told, *marks]))
    return Table(title, [*headings, *_HEADINGS], lines, len(headings))


def _numbers(each: TypeFigures) -> list[str]:
    """n, then forced choice, own translations and excess; these with their own n where it is another."""
    n = each.forced.estimate.n
    shown = [f"{with_interval(each.forced.estimate, 100)}{OWN if each.is_own else ''}"]
    for row in (each.free, each.excess):
        known = row is not None and row.estimate.n
        other = f", n={row.estimate.n}" if row is not None and known and row.estimate.n != n else ""
        shown.append("–" if row is None else with_interval(row.estimate, 100) + other)
    return [str(n), *shown]


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
