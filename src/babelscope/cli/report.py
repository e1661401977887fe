"""`babelscope report`: run folders as one HTML page that needs no network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from babelscope.cli.common import Seed
from babelscope.util.errors import BabelscopeError
from babelscope.util.outputs import check_outputs
from babelscope.util.terminal import visible

NAME = "report.html"

WithReport = Annotated[
    bool, typer.Option("--report/--no-report", help=f"Write {NAME} into the run folder, for people.")
]


def report(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run folders, of `run` or of a command's --out.")
    ],
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            "-o",
            metavar="FILE.html",
            help=f"The page, in one file; an earlier one is replaced. Else {NAME}, which must not exist.",
        ),
    ] = None,
    items: Annotated[
        int, typer.Option(min=1, help="Single items of a method in the page; of more, a sample is taken.")
    ] = 5000,
    seed: Seed = 0,
) -> None:
    """Show runs on one page: findings, tables, pictures, every item. Plain words, one file, no network."""
    from babelscope.report.building import write_report

    if to is None and os.path.lexists(NAME):
        raise BabelscopeError(f"{NAME} exists; name another page with --to, or replace it with --to {NAME}")
    page = to or Path(NAME)
    check_outputs({"--to": page}, inputs=runs)
    print(visible(str(write_report(runs, page, cap=items, seed=seed))))
