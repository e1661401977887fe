"""`babelscope demo`: the main job on the models that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from babelscope.cli.common import AllRows, AsJson, Seed
from babelscope.cli.report import WithReport
from babelscope.cli.run import tell
from babelscope.cli.shell import telling_what_is_kept, work_kept_in


def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The run folder.")] = Path("runs/demo"),
    n: Annotated[int, typer.Option("--n", min=10, help="Items of each test set.")] = 200,
    seed: Seed = 0,
    every: AllRows = False,
    as_json: AsJson = False,
    report: WithReport = True,
) -> None:
    """Evaluate two small translation models by every method. They are a teacher and its student."""
    from babelscope.lab.experiments.demo import demo_study, write_flows
    from babelscope.runs.study import run_study

    with telling_what_is_kept(work_kept_in(out)):
        result = run_study(demo_study(n, seed), out=out)
        if report:
            write_flows(out, n)
        tell(result, as_json=as_json, report=report, every=every)
