"""`babelscope run`, `report` and `demo`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from babelscope.cli.common import (
    ALL,
    AsJson,
    Format,
    InFormat,
    Seed,
    Tables,
    folder_option,
    option,
    place_of,
    places_of,
    print_json,
    result_text,
    setting,
)
from babelscope.cli.init import write_study
from babelscope.cli.shell import refuse_unused, telling_what_is_kept, work_kept_in
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import check_folder, check_outputs
from babelscope.util.terminal import terminal_width, visible, wrap

if TYPE_CHECKING:
    from babelscope.core.results import Result


NAME = "report.html"

WithReport = Annotated[bool, option(f"Write {NAME} into the run folder.", "--report/--no-report")]


def report(
    context: typer.Context,
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders, from `run` or --out.")],
    to: Annotated[
        Path | None,
        option(
            f"The page; an earlier one is replaced. [default: {NAME}, which must not exist]",
            "--to",
            "-o",
            metavar="FILE.html",
        ),
    ] = None,
    items: Annotated[int, option("Items per method on the page; a sample if there are more.", min=1)] = 5000,
    figures: Annotated[
        Path | None, folder_option("Write every chart there at paper size: METHOD-TESTS-NAME.pdf.")
    ] = None,
    figure_format: Annotated[Literal["pdf", "svg", "png"], option("Format of --figures.")] = "pdf",
) -> None:
    """Write a report of runs as one page: findings, tables, charts, every item. One file that needs no network."""
    from babelscope.report.page import write_report

    if to is None and os.path.lexists(NAME):
        raise BabelscopeError(f"{NAME} exists; name another page with --to, or replace it with --to {NAME}")
    page = to or Path(NAME)
    refuse_unused(context, {"figure_format": None if figures is not None else "the charts of --figures"})
    check_outputs({"--to": page}, inputs=runs)
    if figures is not None:
        check_folder(figures)
    told = write_report(runs, page, cap=items, figures=figures, figure_format=figure_format)
    print(visible(str(told)))


def run(
    context: typer.Context,
    study: Annotated[
        list[Path],
        typer.Argument(
            metavar="STUDY.toml",
            help="The study; with --merge, the run folders of all shards.",
        ),
    ],
    init: Annotated[
        bool,
        option("Write a study, with all settings as comments, instead of running one.", "--init"),
    ] = False,
    system: Annotated[
        list[str] | None, option("With --init: a system; repeatable.", metavar="SYSTEM")
    ] = None,
    tests: Annotated[
        list[str] | None, option("With --init: a test set; repeatable.", metavar="TESTS")
    ] = None,
    method: Annotated[
        list[str] | None,
        option("With --init: a method; repeatable. [default: all that fit the tests]", metavar="METHOD"),
    ] = None,
    merge: Annotated[bool, option("Merge the shards of a study into one run, --out.", "--merge")] = False,
    table: Tables = None,
    format: InFormat = "text",
    out: Annotated[Path | None, folder_option("Run folder. [default: as in the study]")] = None,
    seed: Annotated[int | None, option("Random seed. [default: as in the study]")] = None,
    cache: Annotated[
        bool | None, option("Cache answers. [default: as in the study]", "--cache/--no-cache")
    ] = None,
    shard: Annotated[
        str | None,
        option("Run only this share of the items, such as 3/16, to be merged by --merge.", metavar="N/OF"),
    ] = None,
    ray: Annotated[
        str | None,
        option(
            "Run systems in Ray workers, on this machine or the cluster at HOST:PORT.",
            metavar="[ADDRESS]",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        setting("Number of Ray workers. [default: as many as fit]", min=1),
    ] = None,
    trust: Annotated[
        bool,
        option("Start the study's programs and contact its servers without asking.", "--trust"),
    ] = False,
    report: WithReport = True,
) -> None:
    """Run a study, or resume it where it was stopped. `--init` writes one first.

    Merged shards are the same run as one without shards; merging asks no system.
    """
    from babelscope.runs import shards
    from babelscope.runs.study import run_study
    from babelscope.runs.trust import ask_permission

    if len(study) > 1 and not merge:
        raise BabelscopeError("run takes one study; only --merge takes several folders")
    _check_way(context, init=init, merge=merge, shard=shard, report=report)
    if init:
        write_study(study[0], system or [], tests or [], method or [])
        return
    with telling_what_is_kept(work_kept_in(out)):
        if merge:
            if out is None:
                raise BabelscopeError("--merge needs --out FOLDER, the merged run")
            result = shards.merge(study, out)
        else:
            result = run_study(
                ask_permission(study[0], ray=ray, trusted=trust),
                file=study[0],
                out=out,
                seed=seed,
                cache=cache,
                shard=shard,
                ray=ray,
                workers=workers,
            )
        if shard is not None:
            _show_shard(shard, result, as_json=format == "json")
            return
        show_result(result, report=report, format=format, tables=table)


def _check_way(context: typer.Context, *, init: bool, merge: bool, shard: str | None, report: bool) -> None:
    """Refuse options that have no effect with --init, --merge or --shard."""
    shared = None if shard is None else "a whole run, not a shard"
    shown = "a run, not --init" if init else shared
    asked = "a run, not --init" if init else "a run, not --merge" if merge else None
    refuse_unused(
        context,
        {
            **dict.fromkeys(("system", "tests", "method"), None if init else "--init"),
            "merge": "a run, not --init" if init else None,
            "table": shown,
            **dict.fromkeys(("format", "out"), "a run, not --init" if init else None),
            "report": shown if report or init else None,
            **dict.fromkeys(("seed", "cache", "shard", "ray", "workers", "trust"), asked),
        },
    )


def show_result(
    result: Result,
    *,
    report: bool,
    format: Format = "text",
    tables: Sequence[str] | None = None,
    instead: str = "",
) -> None:
    """Print a result, or another text, and write its report."""
    if format == "json":
        for row in result.rows:
            print_json(row.as_json())
    else:
        places = places_of(result.folder, report=report)
        print(instead or result_text(result, format=format, tables=tables, places=places))
    if report and result.folder:
        from babelscope.report.page import write_report

        page = write_report([result.folder], result.folder / NAME)
        if format == "text":
            print(f"report, for a browser: {place_of(page)}")


def _show_shard(shard: str, result: Result, *, as_json: bool) -> None:
    from babelscope.runs.manifest import Shard

    parsed = Shard.parse(shard)
    if as_json:
        told = {"name": "shard", "shard": parsed.number, "of": parsed.of, "records": len(result.records)}
        print_json({**told, "folder": str(result.folder)})
    else:
        where = place_of(result.folder or Path())
        print(
            f"shard {parsed.number} of {parsed.of}: {len(result.records)} records in {where}", file=sys.stderr
        )


_HEADING = "What to look at. Words in question stand between asterisks."
_GO_ON = (
    "Then: --all prints every figure, the report shows every item, and README.md (“Four recipes”) does the "
    "same to a model of yours."
)


def demo(
    out: Annotated[Path, folder_option("The run folder.")] = Path("runs/demo"),
    n: Annotated[int, option("Items per test set.", "--n", min=10)] = 80,
    seed: Seed = 0,
    every: Annotated[bool, option("Print all tables and every row.", "--all")] = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate small translation models by every method. Show four items of interest."""
    from babelscope.lab.experiments.demo import demo_study, write_flows
    from babelscope.runs.study import run_study

    with telling_what_is_kept(work_kept_in(out)):
        result = run_study(demo_study(n, seed), out=out)
        write_flows(out, n)
        instead = "" if as_json or every else _what_to_look_at(result)
        tables = [ALL] if every else None
        show_result(result, report=True, format="json" if as_json else "text", tables=tables, instead=instead)


def _what_to_look_at(result: Result) -> str:
    """Four effects, each with its figures and an item, and the next commands."""
    from babelscope.lab.experiments.demo import what_to_look_at
    from babelscope.report.examples import draw_examples
    from babelscope.report.summary import frame

    width = terminal_width()
    shown = draw_examples(what_to_look_at(result), width)
    text = "\n".join(["", _HEADING, shown, "", *wrap(_GO_ON, width, hanging="")])
    return frame(result, text, width=width, places=places_of(result.folder, report=True))
