"""`babelscope run`: a study from its file into its run folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from babelscope.cli.common import AsJson, as_line, resumable
from babelscope.cli.report import NAME, WithReport


def run(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY.toml", help="Names systems, test sets and methods.")
    ],
    as_json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The run folder; else what the study says.", show_default=False),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of everything random; else the study's.", show_default=False)
    ] = None,
    cache: Annotated[
        bool | None,
        typer.Option(
            "--cache/--no-cache", help="Remember answers; else what the study says.", show_default=False
        ),
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of the named test sets.", show_default=False),
    ] = None,
    report: WithReport = True,
) -> None:
    """Run a study, or go on with it where it was stopped."""
    from babelscope.report.building import write_report
    from babelscope.study import run_study

    with resumable():
        result = run_study(study, out=out, seed=seed, cache=cache, data_dir=data_dir)
        page = write_report([result.folder], result.folder / NAME) if report and result.folder else None
    if as_json:
        for row in result.rows:
            print(as_line(row.as_json()))
    else:
        print(result)
        print(f"run folder: {result.folder}", file=sys.stderr)
        if page:
            print(f"report: {page}", file=sys.stderr)
