"""`babelscope demo`: the main job on the models that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from babelscope.cli.common import AsJson, Seed, print_json
from babelscope.cli.report import NAME, WithReport
from babelscope.cli.shell import telling_what_is_kept, work_kept_in
from babelscope.util.terminal import visible


def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The run folder.")] = Path("runs/demo"),
    n: Annotated[int, typer.Option("--n", min=10, help="Items of each test set.")] = 200,
    seed: Seed = 0,
    as_json: AsJson = False,
    report: WithReport = True,
) -> None:
    """Evaluate two small translation models by every method. They are a teacher and its student."""
    from babelscope.lab.experiments.demo import demo_study, summary_text, write_flows
    from babelscope.report.building import write_report
    from babelscope.runs.study import run_study

    with telling_what_is_kept(work_kept_in(out)):
        result = run_study(demo_study(n, seed), out=out)
        for row in result.rows if as_json else ():
            print_json(row.as_json())
        if not as_json:
            folder = visible(str(result.folder))
            print(
                f"{summary_text(result)}\n\n{result.signature}\nall figures and every single item: {folder}"
            )
        if report:
            write_flows(out, n)
            write_report([out], out / NAME)
            if not as_json:
                print(f"to be read in a browser: {visible(str((out / NAME).absolute()))}")
