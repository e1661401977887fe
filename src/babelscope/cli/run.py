"""`babelscope run`: a study from its file into its run folder."""

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

WithReport = Annotated[bool, option(f"Write {NAME} into the run folder, for people.", "--report/--no-report")]


def report(
    context: typer.Context,
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run folders, of `run` or of a command's --out.")
    ],
    to: Annotated[
        Path | None,
        option(
            f"The page, in one file; an earlier one is replaced. Else {NAME}, which must not exist.",
            "--to",
            "-o",
            metavar="FILE.html",
        ),
    ] = None,
    items: Annotated[
        int, option("Single items of a method in the page; of more, a sample is taken.", min=1)
    ] = 5000,
    figures: Annotated[
        Path | None, folder_option("Write every chart there, at paper size: METHOD-TESTS-NAME.pdf.")
    ] = None,
    figure_format: Annotated[Literal["pdf", "svg", "png"], option("Format of --figures.")] = "pdf",
) -> None:
    """Show runs on one page: findings, tables, charts, every item. Plain words, one file, no network."""
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
            help="Names systems, test sets and methods. With --merge, the run folders of all shards.",
        ),
    ],
    init: Annotated[
        bool,
        option("Write the study, with all settings as comments, instead of running it.", "--init"),
    ] = False,
    system: Annotated[
        list[str] | None, option("With --init: a system; may be repeated.", metavar="SYSTEM")
    ] = None,
    tests: Annotated[
        list[str] | None, option("With --init: a test set; may be repeated.", metavar="TESTS")
    ] = None,
    method: Annotated[
        list[str] | None,
        option("With --init; may be repeated. Else what fits the tests.", metavar="METHOD"),
    ] = None,
    merge: Annotated[
        bool, option("Put the shards of a study together into one run, --out.", "--merge")
    ] = False,
    table: Tables = None,
    format: InFormat = "text",
    out: Annotated[Path | None, folder_option("The run folder; else what the study says.")] = None,
    seed: Annotated[int | None, option("Seed of everything random; else the study's.")] = None,
    cache: Annotated[
        bool | None, option("Remember answers; else what the study says.", "--cache/--no-cache")
    ] = None,
    shard: Annotated[
        str | None,
        option("Only this share of the items, such as 3/16; then --merge all of them.", metavar="N/OF"),
    ] = None,
    ray: Annotated[
        str | None,
        option(
            "Ask systems in Ray workers: of the cluster at HOST:PORT, else of this machine.",
            metavar="[ADDRESS]",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        setting("How many Ray workers; else as many as there is room for.", min=1),
    ] = None,
    trust: Annotated[
        bool,
        option("Start programs and send texts to servers that the study names, unasked.", "--trust"),
    ] = False,
    report: WithReport = True,
) -> None:
    """Run a study, or resume it where it was stopped. `--init` writes one first.

    Shards that were run apart are the same run as without shards once they are merged; no system is asked.
    """
    from babelscope.runs import shards
    from babelscope.runs.study import run_study
    from babelscope.runs.trust import ask_permission

    if len(study) > 1 and not merge:
        raise BabelscopeError("run takes one study; --merge takes the run folders of its shards")
    _check_way(context, init=init, merge=merge, shard=shard, report=report)
    if init:
        write_study(study[0], system or [], tests or [], method or [])
        return
    with telling_what_is_kept(work_kept_in(out)):
        if merge:
            if out is None:
                raise BabelscopeError("--merge needs --out FOLDER, the run that is made of the shards")
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
    """Refuse options that have no effect on a study that is written, run or merged."""
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
    """Print what came out and where it is, or another text; then write a report beside it if wanted."""
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
    "Then: --all prints every figure, the report shows every item, and README.md (“Three recipes”) does the same to "
    "a model of yours."
)


def demo(
    out: Annotated[Path, folder_option("The run folder.")] = Path("runs/demo"),
    n: Annotated[int, option("Items of each test set.", "--n", min=10)] = 80,
    seed: Seed = 0,
    every: Annotated[bool, option("Print all tables and every row, not only a summary.", "--all")] = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate small translation models by every method. Four items of what came out say what to look at."""
    from babelscope.lab.experiments.demo import demo_study, write_flows
    from babelscope.runs.study import run_study

    with telling_what_is_kept(work_kept_in(out)):
        result = run_study(demo_study(n, seed), out=out)
        write_flows(out, n)
        instead = "" if as_json or every else _what_to_look_at(result)
        tables = [ALL] if every else None
        show_result(result, report=True, format="json" if as_json else "text", tables=tables, instead=instead)


def _what_to_look_at(result: Result) -> str:
    """Four effects, each with its figures and an item, and where to go on."""
    from babelscope.lab.experiments.demo import what_to_look_at
    from babelscope.report.examples import draw_examples
    from babelscope.report.summary import frame

    width = terminal_width()
    shown = draw_examples(what_to_look_at(result), width)
    text = "\n".join(["", _HEADING, shown, "", *wrap(_GO_ON, width, hanging="")])
    return frame(result, text, width=width, places=places_of(result.folder, report=True))
