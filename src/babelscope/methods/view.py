"""What methods' views are made with: how a view is found, findings and charts of rows, tables side by side."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from babelscope.core.charts import Bar, Chart, Curve, Key, Lines, Unit
from babelscope.core.comparison import (
    SEED,
    Comparison,
    Rest,
    SystemResult,
    but,
    is_number,
    rows_by_figure,
    sort_key,
    told_apart,
)
from babelscope.core.page import (
    CERTAIN,
    FEWEST,
    NOT_RIGHT,
    Answer,
    Caveat,
    Finding,
    Headline,
    Section,
    Tone,
    View,
    count_of,
    point,
    tooltip,
)
from babelscope.core.registry import resolve
from babelscope.core.results import Estimate, Row
from babelscope.core.tables import Sized, Table, in_a_cell, with_sizes
from babelscope.methods.base import find_method, method_names
from babelscope.methods.measuring import grouped
from babelscope.stats.intervals import mean_and_sd
from babelscope.util.errors import BabelscopeError


def find_view(kind: str) -> View | None:
    """How a method is shown; None if it is not installed or says nothing about that."""
    place = find_method(kind).view if kind in method_names() else ""
    if not place:
        return None
    found = resolve(place)
    if not isinstance(found, View):
        raise BabelscopeError(f"the method {kind} offers {found!r} at {place}, not a View")
    return found


def sections_of(groups: Iterable[Comparison]) -> list[dict[str, Any]]:
    """What to store of a run, so that its report needs no plug-in: a section for each method that has a view."""
    return [
        {"method": group.method, "tests": group.tests, "section": section_of(group, view).as_json()}
        for group in groups
        if (view := find_view(group.results[0].kind))
    ]


def section_of(group: Comparison, view: View) -> Section:
    """The section of a view with figures over factors, its findings with the number of items that links show."""
    section = view.section(group)
    pictures = [*section.pictures, *factor_pictures(group, view)]
    caveats = [*section.caveats, *factor_caveats(group)]
    return count_behind(dataclasses.replace(section, pictures=pictures, caveats=caveats), group, view)


def matches(groups: Sequence[str], answer: Answer, query: Mapping[str, str]) -> bool:
    """Whether a finding's filter shows an answer to an item of these groups; `page.js` filters by the same rule."""
    group, verdict = query.get("group"), query.get("verdict")
    if group and group not in groups:
        return False
    if verdict == NOT_RIGHT:
        return answer.tone in ("errors", "some")
    return not verdict or verdict in (answer.verdict, *answer.also)


def count_behind(section: Section, group: Comparison, view: View) -> Section:
    """The section with `behind` of each finding counted by the filter that the page uses."""
    answers = {
        column.name: [
            (view.about(record).groups, view.answer(record, column.settings)) for record in column.records
        ]
        for column in group.results
        if any(finding.query.get("system") == column.name for finding in section.findings)
    }
    counted = [
        dataclasses.replace(
            finding,
            behind=sum(
                matches(groups, answer, finding.query)
                for groups, answer in answers.get(finding.query.get("system", ""), ())
            ),
        )
        for finding in section.findings
    ]
    return dataclasses.replace(section, findings=counted)


# -- from rows to findings and charts --------------------------------------------------------------------


def one(rows: Iterable[Row], name: str, **labels: str | float) -> Row | None:
    """The first row of a name with these labels."""
    return next(
        (
            row
            for row in rows
            if row.name == name and all(row.labels.get(key) == value for key, value in labels.items())
        ),
        None,
    )


def headlines(*found: tuple[str, Row | None, Unit]) -> list[Headline]:
    """Those of the figures that there are."""
    return [Headline(name, row, unit) for name, row, unit in found if row is not None]


def error_finding(system: str, claim: str, errors: Estimate, of: str, **more: Any) -> Finding:
    """A finding whose figure is an error rate; one of fewer than `FEWEST` items says nothing of the system."""
    tone: Tone = "none"
    if errors.n < FEWEST:
        said = "; ".join(filter(None, [more.pop("more", ""), f"fewer than {FEWEST}, so no verdict"]))
        return Finding(system, claim, errors, of, "note", **{"tag": "Too few", **more, "more": said})
    if errors.value > 0:
        tone = "errors" if errors.low >= CERTAIN else "some"
    return Finding(system, claim, errors, of, tone, **more)


def figure_note(group: Comparison, system: str, claim: str, row: Row) -> Finding:
    """A figure that is neither good nor bad by itself, with the sentences that have least of it."""
    query = {"system": system, "tests": group.tests, "sort": "least"}
    return Finding(system, claim, row.estimate, "sentences", "note", query=query, share=False)


def complement(estimate: Estimate) -> Estimate:
    """An error rate from an accuracy."""
    return estimate.converted(lambda share: 1 - share)


def noted(group: Comparison, names: Mapping[str, str]) -> list[Caveat]:
    """Counts in the rows of each system that are not 0, in words: `names` says what each means."""
    return [caveat for column in group.results for caveat in noted_of(column.name, column.rows, names)]


def noted_of(system: str, rows: Iterable[Row], names: Mapping[str, str]) -> list[Caveat]:
    """The same of some rows of one system."""
    most: dict[str, int] = {}
    for row in rows:
        for name in names:
            most[name] = max(most.get(name, 0), row.counts.get(name, 0))
    return [Caveat(system, f"{items_that(number, names[name])}.") for name, number in most.items() if number]


_SINGULAR = {"have": "has", "were": "was", "are": "is"}


def items_that(number: int, what: str) -> str:
    """So many items and what they are, said of several: `2 items were cut`, `1 item was cut`."""
    if number == 1:
        what = re.sub(r"(^|\band )(have|were|are)\b", lambda found: found[1] + _SINGULAR[found[2]], what)
    return f"{count_of(number, 'items')} {what}"


def bar(system: str, what: str, estimate: Estimate, unit: Unit = "percent", *, hollow: bool = False) -> Bar:
    """The mark of a figure."""
    return Bar(system, point(estimate), tooltip(f"{system}, {what}", estimate, unit), hollow)


def by_name(bars: Iterable[tuple[str, Bar]]) -> list[tuple[str, list[Bar]]]:
    """Bars of one name together."""
    return list(grouped(bars).items())


def keys(group: Comparison) -> list[Key]:
    """A legend of the systems."""
    return [Key(column.name, column.name) for column in group.results]


# -- tables ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Figures:
    """One column per system: its heading, which rows are of it, and how these are shown."""

    heading: str
    fits: Callable[[Row], bool]
    unit: Unit = "plain"


def pivot(
    group: Comparison,
    title: str,
    labels: Sequence[str],
    figures: Sequence[Figures],
    side_by_side: int = 3,
) -> list[Table]:
    """A line for each combination of labels, a column for each figure and system; none if there is no such row.

    Of more systems than stand `side_by_side`, each has a line of its own.
    """
    cells: dict[tuple[str, ...], dict[tuple[int, int], Estimate]] = {}
    for place, column in enumerate(group.results):
        for row in column.rows:
            for number, figure in enumerate(figures):
                if figure.fits(row):
                    key = tuple(
                        str(row.labels.get(label, "all" if not at else "")) for at, label in enumerate(labels)
                    )
                    cells.setdefault(key, {})[number, place] = row.estimate
    known = sorted({number for own in cells.values() for number, _ in own})
    names = [column.name for column in group.results]
    said = [label.replace("_", " ") for label in labels]
    if len(names) > side_by_side:
        said.append("system")
        lines = [
            ((*key, name), [_sized(own.get((number, place)), figures[number]) for number in known])
            for key, own in cells.items()
            for place, name in enumerate(names)
            if any((number, place) in own for number in known)
        ]
        headings = [_heading(figures[number], "") for number in known]
    else:
        several = len(names) > 1
        headings = [_heading(figures[number], name if several else "") for number in known for name in names]
        lines = [
            (
                key,
                [
                    _sized(own.get((number, place)), figures[number])
                    for number in known
                    for place in range(len(names))
                ],
            )
            for key, own in cells.items()
        ]
    return [Table(f"{title}: {group.tests}", *with_sizes(said, headings, lines), len(said))] if lines else []


def _sized(estimate: Estimate | None, figure: Figures) -> Sized:
    if estimate is None:
        return "", ""
    form = "{:.3g}".format if figure.unit == "plain" else lambda each: f"{100 * each:.1f}"
    return estimate.text(form), str(estimate.n)


def _heading(figure: Figures, system: str) -> str:
    return ", ".join(filter(None, (figure.heading, "%" if figure.unit == "percent" else "", system)))


def every_figure(group: Comparison) -> list[Table]:
    """One line per figure, for methods whose figures we do not know."""
    found = rows_by_figure(group)
    labels = list(dict.fromkeys(name for (_, labeled), _ in found for name, _ in labeled))
    lines = [
        (
            [name, *(str(dict(labeled).get(label, "")) for label in labels)],
            [("", "") if row is None else (in_a_cell(row.estimate), str(row.estimate.n)) for row in rows],
        )
        for (name, labeled), rows in found
    ]
    systems = [column.name for column in group.results]
    made = with_sizes(["figure", *labels], systems, lines)
    return [Table(f"Figures: {group.tests}", *made, 1 + len(labels))]


# --- Figures over a factor of the systems, such as kQRG over width -------------------------------------------------

_Figures = Mapping[str, Sequence[Headline]]
"""SystemResult -> what is drawn of it."""


@dataclass(frozen=True, slots=True)
class _Joined:
    """A line: systems that differ in the factor of the axis, and in their seed, alone."""

    part: str
    evaluator: str
    rest: Rest
    points: Mapping[float, Sequence[tuple[SystemResult, Estimate]]]


def factor_pictures(group: Comparison, view: View) -> list[Chart]:
    """A picture for each figure that matters and each quantity in which the systems differ, but for their seed."""
    twins = _twins(group.results)
    columns = [column for column in group.results if column.name not in twins]
    figures = {column.name: list((view.over or view.headline)(column.rows)) for column in columns}
    named = dict.fromkeys((each.name, each.unit) for own in figures.values() for each in own)
    found = [
        _over(columns, factor, name, unit, figures) for factor in _quantities(columns) for name, unit in named
    ]
    return [picture for picture in found if picture is not None]


def factor_caveats(group: Comparison) -> list[Caveat]:
    """Which systems are in no picture over a factor, since nothing that the study says tells them apart."""
    if not _quantities(group.results):
        return []
    return [
        Caveat(
            name,
            f"has the same factors as {other}: neither is in pictures over a factor (name what differs, or seeds).",
        )
        for name, other in _twins(group.results).items()
    ]


def _twins(columns: Sequence[SystemResult]) -> dict[str, str]:
    """SystemResult -> another with the very same factors, seed included, under the same evaluator."""
    alike = grouped(
        ((but(column.factors), column.evaluator), column.name) for column in columns if column.factors
    )
    return {
        name: next(other for other in names if other != name)
        for names in alike.values()
        if len(names) > 1
        for name in names
    }


def _quantities(columns: Sequence[SystemResult]) -> list[str]:
    """Factors that are numbers and have two values or more."""
    names = dict.fromkeys(name for column in columns for name in column.factors if name != SEED)
    values = {name: [column.factors[name] for column in columns if name in column.factors] for name in names}
    return [name for name, own in values.items() if is_number(own) and len(set(own)) > 1]


def _over(
    columns: Sequence[SystemResult], factor: str, name: str, unit: Unit, figures: _Figures
) -> Chart | None:
    """The picture of one figure; None where no two systems differ in the factor, and perhaps their seed, alone."""
    found = _joined(columns, factor, name, figures)
    drawn = [own for own in found if len(own.points) > 1]
    if not drawn:
        return None
    parts = list(dict.fromkeys(own.part for own in drawn))
    drawn.sort(key=lambda own: (parts.index(own.part), own.evaluator, sort_key(own.rest)))
    judges = {own.evaluator for own in drawn}
    curves = []
    for number, (own, words) in enumerate(zip(drawn, told_apart([own.rest for own in drawn]), strict=True)):
        part = own.part if len(parts) > 1 else ""
        judge = f"by {own.evaluator}" if len(judges) > 1 else ""
        told = ", ".join(filter(None, (part, words, judge))) or "all systems"
        points = []
        for x in sorted(own.points):
            values = [each for _, each in own.points[x]]
            several = mean_over_seeds([each.value for each in values], unit) if len(values) > 1 else None
            points.append((x, point(several or values[0])))
        curves.append(Curve(next(iter(own.points.values()))[0][0].name, told, points, series=number))
    label = name if len(parts) > 1 else ", ".join(filter(None, (name, parts[0])))
    return Chart(f"{name} over {factor}", Lines(curves, factor, label, unit), _reading(factor, found, drawn))


def _joined(columns: Sequence[SystemResult], factor: str, name: str, figures: _Figures) -> list[_Joined]:
    """The systems that have the factor and the figure, those of one line together."""
    found: dict[tuple[str, str, Rest], dict[float, list[tuple[SystemResult, Estimate]]]] = {}
    for column in columns:
        if factor not in column.factors:
            continue
        at = float(column.factors[factor])
        rest = but(column.factors, factor, SEED)
        for each in figures[column.name]:
            estimate = each.row.estimate
            if each.name == name and estimate.n and math.isfinite(estimate.value):
                own = found.setdefault((each.part, column.evaluator, rest), {})
                own.setdefault(at, []).append((column, estimate))
    return [_Joined(*key, own) for key, own in found.items()]


def _reading(factor: str, found: Sequence[_Joined], drawn: Sequence[_Joined]) -> str:
    """What points and lines are, how many seeds stand behind a point, and who is not drawn."""
    sizes = sorted({len(own) for line in drawn for own in line.points.values()})
    seeds = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(sizes[0])
    said = [
        "A point is a system, with its 95 % interval over items."
        if sizes[-1] == 1
        else f"A point is the mean of {seeds} seeds, with its 95 % interval over seeds"
        + (" (of one seed: over items)." if sizes[0] == 1 else "."),
        f"A line joins systems that differ in {factor} alone.",
    ]
    shown = {column.name for line in drawn for own in line.points.values() for column, _ in own}
    all_of_them = {column.name for line in found for own in line.points.values() for column, _ in own}
    if left := len(all_of_them - shown):
        said.append(f"Not drawn: {count_of(left, 'systems')} without another that differs in {factor} alone.")
    return " ".join(said)


def mean_over_seeds(values: Sequence[float], unit: Unit) -> Estimate:
    """The mean with its interval over seeds; a share's ends at 0 and 1."""
    within = (-math.inf, math.inf) if unit == "plain" else (0.0, 1.0)
    return mean_and_sd(values, "seeds", within)[0]
