"""`babelscope merge`: the shards of a study become one run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from babelscope.cli.common import AllRows, AsJson, folder_option
from babelscope.cli.report import WithReport
from babelscope.cli.run import tell
from babelscope.cli.shell import telling_what_is_kept, work_kept_in


def merge(
    shards: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="The folders of all shards, in any order."),
    ],
    out: Annotated[Path, folder_option("The run folder that is made of them.")],
    every: AllRows = False,
    as_json: AsJson = False,
    report: WithReport = True,
) -> None:
    """Put the shards of a study together into one run. It is the same as without shards; no system is asked."""
    from babelscope.runs.shards import merge

    with telling_what_is_kept(work_kept_in(out)):
        tell(merge(shards, out), as_json=as_json, report=report, every=every)
