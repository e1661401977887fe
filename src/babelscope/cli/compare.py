"""`babelscope compare`: run folders side by side, item by item, over seeds and over many systems."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from babelscope.cli.common import (
    InFormat,
    ToFile,
    as_line,
    draw_chart,
    figures,
    file_option,
    option,
    output,
    setting,
    width_for,
)
from babelscope.cli.shell import refuse_unused
from babelscope.util.errors import BabelscopeError, explain_damage
from babelscope.util.files import check_outputs

if TYPE_CHECKING:
    from babelscope.core.charts import Chart, Dot, Scatter
    from babelscope.core.comparison import Comparison
    from babelscope.core.results import Row
    from babelscope.core.tables import Format, Table
    from babelscope.runs.regression import SystemTable


def compare(
    context: typer.Context,
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN...", help="Run folders, from `run` or --out."),
    ] = None,
    seed_group: Annotated[
        list[str] | None,
        option(
            "Systems that differ only in their seed, such as 'mt-*'; repeatable. [default: x, x-2, x-3]",
            metavar="[NAME=]PATTERN",
        ),
    ] = None,
    on: Annotated[
        list[str] | None,
        option(
            "Regress a figure on this factor of the study or column of --factors; repeatable. "
            "[default with --factors: bleu, distilled]",
            metavar="FACTOR",
        ),
    ] = None,
    factors: Annotated[
        list[Path] | None,
        option(
            "Factors: a table with one line per system (column `system`), or a run of `quality`; repeatable.",
            metavar="FILE.tsv|RUN",
        ),
    ] = None,
    figure: Annotated[
        str,
        option(
            "The figure to regress and rank by, with labels if several have the name: "
            "kqrg,region=samples. Without runs, a column of --factors.",
            metavar="NAME[,LABEL=VALUE...]",
        ),
    ] = "minimum",
    svg: Annotated[
        Path | None,
        file_option("Plot the figure against the first factor: .svg, .pdf or .png."),
    ] = None,
    lines: Annotated[
        str,
        setting("Column of --factors, such as teacher: --svg joins systems with the same value."),
    ] = "",
    summary: Annotated[
        bool,
        option(
            "Compare figures only: test sets and settings may differ, and nothing is paired.", "--summary"
        ),
    ] = False,
    format: InFormat = "text",
    to: ToFile = None,
) -> None:
    """Compare runs: figures side by side and their differences.

    Also wins and losses by item with significance, means over seeds, agreement of evaluators, and regression.
    """
    if not runs and not factors:
        raise BabelscopeError("compare needs run folders or --factors")
    refuse_unused(
        context,
        {
            "seed_group": None if runs else "runs",
            "summary": None if runs else "runs",
            "svg": None if runs and (factors or on) else "runs, and factors of --on or --factors",
            "lines": None if svg is not None else "the chart of --svg",
        },
    )
    check_outputs({"--to": to, "--svg": svg}, inputs=[*(runs or ()), *(factors or ())])
    damage = explain_damage(", ".join(map(str, [*(runs or ()), *(factors or ())])))
    variables = on or (["bleu", "distilled"] if factors else [])
    with contextlib.ExitStack() as after, damage, output(to, figures(format == "json")) as write:
        found = _compare_runs(runs or [], seed_group or [], factors or [], variables, figure, summary)
        if svg is not None:
            chart = _chart(found.groups, found.known, variables[0], figure, lines, seed_group or [])
            after.callback(draw_chart(svg, chart))
        if format == "json":
            for section, rows in found.rows():
                for row in rows:
                    write(as_line({"table": section, **row.as_json()}))
            return
        from babelscope.core.tables import render

        write(render(found.tables(), format, width=width_for(to)))
        if found.signatures:
            write("\n" + "\n".join(found.closing(format, is_whole=to is not None)))


class _Comparison:
    """Everything reported about several runs."""

    def __init__(
        self, groups: list[Comparison], signatures: list[tuple[str, str]], known: SystemTable
    ) -> None:
        self.groups = groups
        self.known = known
        self.signatures = signatures
        self.more: dict[str, list[Row]] = {
            name: [] for name in ("paired", "seeds", "prompts", "evaluators", "regression")
        }

    def rows(self) -> list[tuple[str, list[Row]]]:
        """Everything, by section."""
        from babelscope.core.comparison import with_labels
        from babelscope.core.results import Row

        figures: list[Row] = []
        for group in self.groups:
            for column in group.results:
                own = {**group.labels, "system": column.name, "run": column.run.name}
                rows = (*column.rows, *column.parts)
                labeled = [Row(row.name, row.estimate, {**own, **row.labels}, row.counts) for row in rows]
                figures += with_labels(labeled, column.factors)
        return [("figures", figures), *self.more.items()]

    def closing(self, format: Format, *, is_whole: bool) -> list[str]:
        """The signatures below the tables; complete in files and formats other than text."""
        from babelscope.core.results import shorten_signature
        from babelscope.core.tables import signed

        is_short = format == "text" and not is_whole
        return [
            signed(f"{name}: {shorten_signature(whole) if is_short else whole}", format)
            for name, whole in self.signatures
        ]

    def tables(self) -> list[Table]:
        """The report as tables: figures side by side, then the other sections."""
        from babelscope.core.tables import of_rows
        from babelscope.runs.compare import spread_table

        found = [_side_by_side_table(group) for group in self.groups]
        if rows := self.more["paired"]:
            title = "differences, first system minus second"
            found.append(of_rows(title, rows, shown=("wins", "losses", "ties"), sign=True))
        if rows := [row for row in self.more["seeds"] if row.name != "seed_difference"]:
            found.append(spread_table(rows))
        if rows := [row for row in self.more["seeds"] if row.name == "seed_difference"]:
            found.append(of_rows("between groups of seeds, first minus second", rows, sign=True))
        if rows := self.more["prompts"]:
            found.append(spread_table(rows))
        if rows := self.more["evaluators"]:
            title = "agreement of evaluators, mean Spearman correlation over their pairs [least, greatest]"
            found.append(of_rows(title, rows))
        if rows := self.more["regression"]:
            found.append(of_rows("regression, percentage points for one more of a variable", rows, sign=True))
        return found


def _cautions(group: Comparison) -> list[str]:
    """Why the method's figures must not be compared between systems, if there are several."""
    from babelscope.core.comparison import CAUTIONS

    if len({str(column.fingerprint) for column in group.results}) < 2:
        return []
    names = {row.name for row in group.results[0].rows}
    return [f"{name}: {text}" for name, text in CAUTIONS.items() if name in names]


def _compare_runs(
    runs: list[Path],
    patterns: list[str],
    table: list[Path],
    variables: list[str],
    figure: str,
    summary: bool,
) -> _Comparison:
    from babelscope.runs import compare as compare_module
    from babelscope.runs import regression
    from babelscope.runs.reading import read_run
    from babelscope.util.progress import progress

    opened = [read_run(path) for path in runs]
    groups = compare_module.group_runs(opened, summary_only=summary)
    # A run may have methods without this figure.
    with_figure = [each for each in groups if regression.rows_of(each.results[0], figure)]
    if opened and variables and not with_figure:
        raise BabelscopeError(f"no run has the figure {figure!r}; choose one with --figure")
    found = _Comparison(
        groups,
        [(run.name, run.manifest.signature) for run in opened],
        regression.read_systems(table if opened else [], opened),
    )
    with progress("comparing", len(found.groups)) as advance:
        for group in found.groups:
            if not summary:
                found.more["paired"] += compare_module.paired_differences(group)
                found.more["evaluators"] += compare_module.evaluator_agreement(group, figure)
            found.more["seeds"] += compare_module.seed_rows(group, patterns)
            found.more["prompts"] += compare_module.prompt_rows(group)
            if variables and group in with_figure:
                found.more["regression"] += regression.regress_figure(group, found.known, variables, figure)
            advance(1)
    if table and not opened:
        if len(table) > 1 or table[0].is_dir():
            raise BabelscopeError("without runs, --factors must be one table that also has the figure")
        found.more["regression"] += regression.regress_column(table[0], figure, variables)
    return found


def _chart(
    groups: list[Comparison], known: SystemTable, column: str, figure: str, lines: str, patterns: list[str]
) -> Chart:
    """A chart of the figure against a factor of the systems (figure 5)."""
    from babelscope.core.charts import Chart, Dot, Point, point
    from babelscope.runs.compare import seed_groups
    from babelscope.runs.regression import figure_of, rows_of, scale_of, whole_name

    chosen = [group for group in groups if rows_of(group.results[0], figure)]
    if len(chosen) != 1:
        told = ", ".join(f"{group.method} on {group.tests}" for group in chosen)
        raise BabelscopeError(f"--svg draws one method on one test set, and {figure!r} is a figure of {told}")
    (group,) = chosen
    kinds = {
        name: kind
        for kind, names in seed_groups(
            {each.system: each.factors for each in group.results}, patterns
        ).items()
        for name in names
    }
    columns = [each for each in group.results if not known.lacks(each.system, column)]
    if not columns:
        raise BabelscopeError(f"no system of {group.tests} has the factor {column!r}")
    factor, unit = scale_of([figure_of(each, figure).value for each in columns])
    dots: list[Dot] = []
    joined: dict[str, list[tuple[float, float]]] = {}
    for each in columns:
        system = each.system
        own = known.estimates.get((system, column))
        x = Point(known.number(system, column)) if own is None else point(own)
        y = point(figure_of(each, figure).converted(lambda value: factor * value))
        if not math.isfinite(x.value) or not math.isfinite(y.value):
            raise BabelscopeError(f"{each.name} has no {figure} or {column}, and --svg draws both")
        told = f"{each.name}: {x.value:.4g}, {y.value:.4g}"
        dots.append(Dot(kinds.get(system, each.name), x, y, shape=None, told=told))
        if lines and not known.lacks(system, lines):
            joined.setdefault(known.cell(system, lines), []).append((x.value, y.value))
    named = whole_name(columns[0], figure)
    title = f"{column} and {named} of {len(dots)} systems: {group.method} on {group.tests}"
    x_label = f"{column}; lines join systems of one {lines}" if lines else column
    y_label = f"{named} of {group.method}{', percent' if unit == 'percent' else ''}"
    return Chart(title, _with_means(dots, x_label, y_label, joined), "")


def _with_means(
    dots: list[Dot], x_label: str, y_label: str, joined: dict[str, list[tuple[float, float]]]
) -> Scatter:
    """Points of systems, a larger open mark at the mean of each group, and lines from left to right."""
    from babelscope.core.charts import Dot, Key, Point, Scatter

    keys, means = [], []
    for name in dict.fromkeys(dot.system for dot in dots):
        own = [dot for dot in dots if dot.system == name]
        keys.append(Key(name, name))
        if len(own) > 1:
            x, y = (
                math.fsum(each) / len(own)
                for each in zip(*((d.x.value, d.y.value) for d in own), strict=True)
            )
            told = f"{name}, mean of {len(own)}: {x:.4g}, {y:.4g}"
            means.append(Dot(name, Point(x), Point(y), shape=None, told=told, hollow=True))
    keys += [Key("mean over seeds", dot.system, hollow=True) for dot in means[:1]]
    lines = [(name, sorted(places)) for name, places in joined.items() if len(places) > 1]
    return Scatter([*dots, *means], x_label, y_label, keys, y_unit="plain", x_least=None, lines=lines)


def _side_by_side_table(group: Comparison) -> Table:
    """A table of the figures of one method and test set, with one column per system."""
    from babelscope.core.comparison import rows_by_figure
    from babelscope.core.tables import Column, Line, Note, Table
    from babelscope.runs.regression import HISTOGRAMS

    figures = [(figure, rows) for figure, rows in rows_by_figure(group) if figure[0] not in HISTOGRAMS]
    labels = list(dict.fromkeys(name for (_, told), _ in figures for name, _ in told))
    lines = [
        Line(
            [
                name,
                *(str(dict(told).get(label, "")) for label in labels),
                *(None if row is None else row.estimate for row in found),
            ]
        )
        for (name, told), found in figures
    ]
    # A lowest figure is of a group, which may differ between systems.
    notes = [
        Note(f"{', '.join([name, *(str(value) for _, value in told)])}: {row.labels['lowest']}", column.name)
        for (name, told), found in figures
        for column, row in zip(group.results, found, strict=True)
        if row is not None and "lowest" in row.labels
    ]
    notes += map(Note, _cautions(group))
    headings: list[str | Column] = ["figure", *labels]
    headings += [Column("", system=column.name) for column in group.results]
    return Table(f"{group.method} on {group.tests}", headings, lines, 1 + len(labels), notes=notes)
