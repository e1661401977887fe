"""Charts of contrastive evaluation: accuracy, discrepancy, and errors in the system's own translations."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.core.columns import Group
from babelscope.core.page import Dot, Forest, Key, Picture, Scatter, point, tooltip
from babelscope.core.results import Row
from babelscope.methods.contrast.by_type import accuracy_rows, with_interval
from babelscope.methods.view import bar, by_name, keys, one


def _name(row: Row, *, kinds: bool) -> str:
    """The error type, with the kind of reference where there are several."""
    return str(row.labels["phenomenon"]) + (f", {row.labels['reference']}" if kinds else "")


def reference_kinds(group: Group) -> list[str]:
    """The kinds of references that occur, such as human and machine."""
    return list(
        dict.fromkeys(
            str(row.labels["reference"])
            for column in group.columns
            for row in accuracy_rows(column.cell.rows)
        )
    )


def pictures(group: Group) -> list[Picture]:
    return [*_accuracy(group), *_against_discrepancy(group), *_forced_and_free(group)]


def _accuracy(group: Group) -> list[Picture]:
    several = len(reference_kinds(group)) > 1
    bars = by_name(
        (
            _name(row, kinds=several),
            bar(column.name, f"{row.name}, {row.labels['reference']} reference", row.estimate),
        )
        for column in group.columns
        for row in accuracy_rows(column.cell.rows)
    )
    if not bars:
        return []
    return [
        Picture(
            "How often the right translation is preferred, by error type",
            Forest(bars, "accuracy in forced choice", keys(group)),
            "Each mark is an accuracy, each line through it its 95 % interval. 50 % is what chance would give.",
        )
    ]


def _against_discrepancy(group: Group) -> list[Picture]:
    kinds = reference_kinds(group)
    dots = [dot for column in group.columns for dot in _dots(column.name, column.cell.rows, kinds)]
    if not dots:
        return []
    legend = [
        Key(f"{column.name}, {kind}", column.name, shape=number)
        for column in group.columns
        for number, kind in enumerate(kinds)
    ]
    return [
        Picture(
            "Accuracy against discrepancy",
            Scatter(dots, "discrepancy, nats a token", "accuracy in forced choice", legend, y_most=1.0),
            "Each mark is an error type. The farther right, the less likely the pair is compared with what the "
            "system would write itself, and the less its accuracy says about free translation. "
            f"Shapes tell whose references the pairs were made from: {', '.join(kinds)}.",
        )
    ]


def _dots(system: str, rows: Sequence[Row], kinds: Sequence[str]) -> list[Dot]:
    """One dot an error type; the two with the lowest accuracy are labelled."""
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


def _forced_and_free(group: Group) -> list[Picture]:
    several = len(reference_kinds(group)) > 1
    sides = {"forced_errors": ("forced choice", True), "generated_errors": ("own translations", False)}
    bars = by_name(
        (_name(row, kinds=several), bar(column.name, what, row.estimate, hollow=hollow))
        for column in group.columns
        for row in column.cell.rows
        if row.name in sides and row.estimate.n
        for what, hollow in [sides[row.name]]
    )
    if not bars:
        return []
    legend = [
        Key(f"{column.name}, {what}", column.name, hollow=hollow)
        for column in group.columns
        for what, hollow in sides.values()
    ]
    return [
        Picture(
            "Errors in forced choice, and in its own translations",
            Forest(bars, "error rate", legend, zero=0.0),
            "Hollow: how often the error is preferred. Filled: how often a detector finds it in free "
            "translations, corrected for what the detector misses and for its false alarms. Where the filled "
            "interval reaches 0, the error was not shown to happen at all.",
        )
    ]
