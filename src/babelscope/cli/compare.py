"""`babelscope compare`: run folders side by side, item by item, over seeds and over many systems."""

from __future__ import annotations

import contextlib
import functools
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from babelscope.cli.common import (
    AsJson,
    ToFile,
    as_line,
    draw_chart,
    figures,
    file_option,
    output,
    paragraph,
    width_for,
)
from babelscope.cli.shell import refuse_unused
from babelscope.util.errors import BabelscopeError, explain_damage
from babelscope.util.files import check_outputs
from babelscope.util.terminal import visible

if TYPE_CHECKING:
    from babelscope.core.charts import Chart, Dot, Scatter
    from babelscope.core.comparison import Group
    from babelscope.core.results import Row
    from babelscope.core.tables import Table
    from babelscope.runs.regression import SystemTable


def compare(
    context: typer.Context,
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN...", help="Run folders, of `run` or of a command's --out."),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]PATTERN",
            help="Systems that differ by their seed only; may be repeated. Else x, x-2, x-3.",
        ),
    ] = None,
    table: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE.tsv|RUN",
            help="Regress a figure of the systems on columns of this table, one line per system (column `system`), "
            "or on figures of a run of `quality`; may be repeated.",
        ),
    ] = None,
    covariate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="A column of --table, or a factor that the study names of its systems, that may explain the figure; "
            "may be repeated. (Default: bleu and distilled, with --table.)",
        ),
    ] = None,
    figure: Annotated[
        str,
        typer.Option(
            metavar="NAME[,LABEL=VALUE...]",
            help="The figure that systems are regressed on and ranked by, with labels where several have its name: "
            "kqrg,region=samples. Without runs, a column of the table.",
        ),
    ] = "minimum",
    svg: Annotated[
        Path | None,
        file_option(
            "Draw the figure against the first covariate there, one point per system: .svg, .pdf or .png."
        ),
    ] = None,
    lines: Annotated[
        str,
        typer.Option(
            metavar="COLUMN",
            help="A column of --table for that chart, such as teacher: systems alike in it are joined by a line.",
        ),
    ] = "",
    summary: Annotated[
        bool,
        typer.Option("--summary", help="Figures only: test sets and settings may differ, nothing is paired."),
    ] = False,
    as_json: AsJson = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Tables in Markdown.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Tables in LaTeX, for papers (booktabs).")] = False,
    to: ToFile = None,
) -> None:
    """Compare runs: figures side by side, and their differences.

    Wins and losses item by item with significance, means over seeds, agreement of evaluators, regression.
    """
    if as_json + markdown + latex > 1:
        raise BabelscopeError("--json, --markdown and --latex exclude each other")
    if not runs and not table:
        raise BabelscopeError("compare needs run folders, or a --table")
    refuse_unused(
        context,
        {
            "group": None if runs else "runs",
            "summary": None if runs else "runs",
            "svg": None if runs and (table or covariate) else "runs and a --table or --covariate",
            "lines": None if svg is not None else "the chart of --svg",
        },
    )
    check_outputs({"--to": to, "--svg": svg}, inputs=[*(runs or ()), *(table or ())])
    damage = explain_damage(", ".join(map(str, [*(runs or ()), *(table or ())])))
    variables = covariate or (["bleu", "distilled"] if table else [])
    with contextlib.ExitStack() as after, damage, output(to, figures(as_json)) as write:
        found = _compare_runs(runs or [], group or [], table or [], variables, figure, summary)
        if svg is not None:
            chart = _chart(found.groups, found.known, variables[0], figure, lines, group or [])
            after.callback(draw_chart(svg, chart))
        if as_json:
            for section, rows in found.rows():
                for row in rows:
                    write(as_line({"table": section, **row.as_json()}))
            return
        from babelscope.core import tables
        from babelscope.core.results import shorten_signature

        text = functools.partial(tables.as_text, width=width_for(to))
        show = tables.as_markdown if markdown else tables.for_paper if latex else text
        write("\n\n".join(show(each) for each in found.tables(even=latex)))
        for told in found.cautions():
            write(f"\n{'% ' if latex else ''}{visible(told) if latex else paragraph(told)}")
        if found.signatures and not markdown:
            mark, is_whole = ("% ", True) if latex else ("", to is not None)
            signatures = [
                f"{mark}{name}: {whole if is_whole else shorten_signature(whole)}"
                for name, whole in found.signatures
            ]
            write("\n" + "\n".join(map(visible, signatures)))


class _Comparison:
    """What there is to say about some runs."""

    def __init__(self, groups: list[Group], signatures: list[tuple[str, str]], known: SystemTable) -> None:
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
            for column in group.columns:
                own = {**group.labels, "system": column.name, "run": column.cell.run.name}
                rows = (*column.cell.rows, *column.cell.parts)
                labeled = [Row(row.name, row.estimate, {**own, **row.labels}, row.counts) for row in rows]
                figures += with_labels(labeled, column.cell.factors)
        return [("figures", figures), *self.more.items()]

    def cautions(self) -> list[str]:
        """What must be said about figures of several systems beside each other, each once."""
        return list(dict.fromkeys(told for group in self.groups for told in _cautions(group)))

    def tables(self, *, even: bool) -> list[Table]:
        """What people read: figures side by side, then the other sections; `even`: as many decimals in a column."""
        from babelscope.core import tables
        from babelscope.runs.compare import prompts_table

        of_rows = functools.partial(tables.of_rows, even=even)
        found = [_side_by_side_table(group, even=even) for group in self.groups]
        if rows := self.more["paired"]:
            title = "differences, first system minus second"
            found.append(of_rows(title, rows, shown=("wins", "losses", "ties")))
        if rows := [row for row in self.more["seeds"] if row.name != "seed_difference"]:
            found.append(_seeds_table(rows, even=even))
        if rows := [row for row in self.more["seeds"] if row.name == "seed_difference"]:
            found.append(of_rows("between groups of seeds, first minus second", rows))
        if rows := self.more["prompts"]:
            found.append(prompts_table(rows))
        if rows := self.more["evaluators"]:
            title = "agreement of evaluators, mean Spearman correlation over their pairs"
            found.append(of_rows(title, rows, interval="least, greatest"))
        if rows := self.more["regression"]:
            found.append(of_rows("regression, percentage points for one more of a variable", rows))
        return found


def _cautions(group: Group) -> list[str]:
    """What the method says against comparing figures of its own between systems, where several stand beside."""
    from babelscope.methods.base import find_method, method_names

    first = group.columns[0].cell
    if (
        len({str(column.cell.fingerprint) for column in group.columns}) < 2
        or first.kind not in method_names()
    ):
        return []
    names = {row.name for row in first.rows}
    return [f"{name}: {text}" for name, text in find_method(first.kind).cautions.items() if name in names]


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
    with_figure = [each for each in groups if regression.rows_of(each.columns[0], figure)]
    if opened and variables and not with_figure:
        raise BabelscopeError(f"no run has the figure {figure!r} to be regressed; see --figure")
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
            raise BabelscopeError("without runs, --table is one table that has the figure, too")
        found.more["regression"] += regression.regress_column(table[0], figure, variables)
    return found


def _chart(
    groups: list[Group], known: SystemTable, column: str, figure: str, lines: str, patterns: list[str]
) -> Chart:
    """The systems of the one method and test set that has the figure, against what is known of them (figure 5)."""
    from babelscope.core.charts import Chart, Dot, Point
    from babelscope.core.page import point
    from babelscope.runs.compare import seed_groups
    from babelscope.runs.regression import figure_of, rows_of, scale_of, whole_name

    chosen = [group for group in groups if rows_of(group.columns[0], figure)]
    if len(chosen) != 1:
        told = ", ".join(f"{group.method} on {group.tests}" for group in chosen)
        raise BabelscopeError(f"--svg draws one method on one test set, and {figure!r} is a figure of {told}")
    (group,) = chosen
    kinds = {
        name: kind
        for kind, names in seed_groups(
            {each.cell.system: each.cell.factors for each in group.columns}, patterns
        ).items()
        for name in names
    }
    columns = [each for each in group.columns if not known.lacks(each.cell.system, column)]
    if not columns:
        raise BabelscopeError(f"no system of {group.tests} has the factor {column!r}")
    factor, unit = scale_of([figure_of(each, figure).value for each in columns])
    dots: list[Dot] = []
    joined: dict[str, list[tuple[float, float]]] = {}
    for each in columns:
        system = each.cell.system
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
    """Systems, a larger mark without fill at the mean of each group of several, and lines from left to right."""
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


def _side_by_side_table(group: Group, *, even: bool) -> Table:
    """Figures of one method and test set, one column per system."""
    from babelscope.core.comparison import rows_by_figure
    from babelscope.core.results import even_decimals
    from babelscope.core.tables import Table, in_a_cell
    from babelscope.runs.regression import HISTOGRAMS

    figures = [(figure, rows) for figure, rows in rows_by_figure(group) if figure[0] not in HISTOGRAMS]
    labels = list(dict.fromkeys(name for (_, told), _ in figures for name, _ in told))
    columns = [[row for _, found in figures if (row := found[place])] for place in range(len(group.columns))]
    digits = [even_decimals(row.estimate.value for row in own) if even else None for own in columns]
    rows: list[list[Any]] = []
    for (name, told), found in figures:
        sizes = {row.estimate.n for row in found if row is not None}
        rows.append(
            [
                name,
                *(str(dict(told).get(label, "")) for label in labels),
                "/".join(map(str, sorted(sizes))),
                *(
                    # A lowest figure is of a group, which may differ between systems.
                    ""
                    if row is None
                    else in_a_cell(row.estimate, own)
                    + (f" ({row.labels['lowest']})" if "lowest" in row.labels else "")
                    for row, own in zip(found, digits, strict=True)
                ),
            ]
        )
    headings = ["figure", *labels, "n", *(column.name for column in group.columns)]
    return Table(f"{group.method} on {group.tests}", headings, rows, 1 + len(labels))


def _seeds_table(rows: list[Row], *, even: bool) -> Table:
    """Mean and standard deviation in one cell."""
    from babelscope.core.results import even_decimals, number
    from babelscope.core.tables import Table

    pairs = [(mean, sd) for mean, sd in zip(rows[::2], rows[1::2], strict=True)]
    labels = list(dict.fromkeys(label for mean, _ in pairs for label in mean.labels))
    digits = even_decimals(mean.estimate.value for mean, _ in pairs) if even else None
    return Table(
        "over seeds",
        [*labels, "mean ± sd", "95 % interval of the mean", "systems"],
        [
            [
                *(str(mean.labels.get(label, "")) for label in labels),
                f"{number(mean.estimate.value, digits)} ± {number(sd.estimate.value, digits)}",
                mean.estimate.interval(lambda each: number(each, digits)),
                str(mean.estimate.n),
            ]
            for mean, sd in pairs
        ],
        len(labels),
    )
