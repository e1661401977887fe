"""`babelscope run`: a study from its file into its run folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from babelscope.cli.common import AllRows, AsJson, folder_option, place_of, places_of, print_json, result_text
from babelscope.cli.report import NAME, WithReport
from babelscope.cli.shell import refuse_unused, telling_what_is_kept, work_kept_in

if TYPE_CHECKING:
    from babelscope.core.results import Result


def run(
    context: typer.Context,
    study: Annotated[
        Path, typer.Argument(metavar="STUDY.toml", help="Names systems, test sets and methods.")
    ],
    every: AllRows = False,
    as_json: AsJson = False,
    out: Annotated[Path | None, folder_option("The run folder; else what the study says.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random; else the study's.")] = None,
    cache: Annotated[
        bool | None, typer.Option("--cache/--no-cache", help="Remember answers; else what the study says.")
    ] = None,
    data_dir: Annotated[Path | None, folder_option("Folder of the named test sets.")] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="N/OF",
            help="Only this share of the items, such as 3/16; then `babelscope merge` all of them.",
        ),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="[ADDRESS]",
            help="Ask systems in Ray workers: of the cluster at HOST:PORT, else of this machine.",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="How many Ray workers; else as many as there is room for.")
    ] = None,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Start programs and send texts to servers that the study names, unasked."
        ),
    ] = False,
    report: WithReport = True,
) -> None:
    """Run a study, or go on with it where it was stopped."""
    from babelscope.runs.study import run_study
    from babelscope.runs.trust import ask_permission

    shared = None if shard is None else "a whole run, not a shard"
    refuse_unused(
        context,
        {
            "every": shared,
            "report": shared if report else None,
        },
    )
    with telling_what_is_kept(work_kept_in(out)):
        result = run_study(
            ask_permission(study, ray=ray, trusted=trust),
            file=study,
            out=out,
            seed=seed,
            cache=cache,
            data_dir=data_dir,
            shard=shard,
            ray=ray,
            workers=workers,
        )
        if shard is not None:
            _tell_shard(shard, result, as_json=as_json)
            return
        tell(result, as_json=as_json, report=report, every=every)


def tell(result: Result, *, as_json: bool, report: bool, every: bool, instead: str = "") -> None:
    """Print what came out and where it is, or another text; then write a report beside it if wanted."""
    from babelscope.report.building import write_report

    if as_json:
        for row in result.rows:
            print_json(row.as_json())
    else:
        places = places_of(result.folder, report=report)
        print(instead or result_text(result, every=every, places=places, follow=int(report)))
    if report and result.folder:
        page = write_report([result.folder], result.folder / NAME)
        if not as_json:
            print(f"report, for a browser: {place_of(page)}")


def _tell_shard(shard: str, result: Result, *, as_json: bool) -> None:
    from babelscope.runs.shards import Shard

    parsed = Shard.parse(shard)
    if as_json:
        told = {"name": "shard", "shard": parsed.number, "of": parsed.of, "records": len(result.records)}
        print_json({**told, "folder": str(result.folder)})
    else:
        where = place_of(result.folder or Path())
        print(
            f"shard {parsed.number} of {parsed.of}: {len(result.records)} records in {where}", file=sys.stderr
        )
