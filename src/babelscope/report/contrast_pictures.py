"""The pictures of contrastive evaluation: accuracy, discrepancy, and errors that really happen."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.core.columns import Group
from babelscope.core.results import Estimate, Row
from babelscope.report.charts import Bar, Dot, forest, scatter
from babelscope.report.parts import Picture, Series, keys, one, point, systems, told
from babelscope.report.pictures import Key


def accuracies(rows: Sequence[Row]) -> list[Row]:
    """Accuracies by error type and reference kind."""
    return [row for row in rows if row.name == row.labels.get("phenomenon")]


def _name(row: Row, *, kinds: bool) -> str:
    """The error type, with the kind of reference where there are several."""
    return str(row.labels["phenomenon"]) + (f", {row.labels['reference']}" if kinds else "")


def kinds_of(group: Group) -> list[str]:
    return list(
        dict.fromkeys(
            str(row.labels["reference"]) for column in group.columns for row in accuracies(column.cell.rows)
        )
    )


def figure(estimate: Estimate, factor: float = 1) -> str:
    value, low, high = (f"{factor * each:.2g}" for each in (estimate.value, estimate.low, estimate.high))
    return f"{value} [{low}, {high}]"


def pictures(group: Group, series: Series) -> list[Picture]:
    return [*_accuracy(group, series), *_against_discrepancy(group, series), *_forced_and_free(group, series)]


def _accuracy(group: Group, series: Series) -> list[Picture]:
    several = len(kinds_of(group)) > 1
    by_name: dict[str, list[Bar]] = {}
    for system, number, rows in systems(group, series):
        for row in accuracies(rows):
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
    kinds = kinds_of(group)
    points = []
    for system, number, rows in systems(group, series):
        own = [
            (row, far)
            for row in accuracies(rows)
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
                    f"discrepancy {figure(far.estimate)}",
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
    several = len(kinds_of(group)) > 1
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
