"""`babelscope demo`: the main job on the models that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from babelscope.cli.common import AsJson, Seed, as_line, resumable


def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The run folder.")] = Path("runs/demo"),
    n: Annotated[int, typer.Option("--n", min=10, help="Items of each test set.")] = 200,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Evaluate two small translation models, a teacher and its student, by every method there is."""
    from babelscope.lab.demo import demo_study, tell
    from babelscope.study import run_study

    with resumable():
        result = run_study(demo_study(n, seed), out=out)
    if as_json:
        for row in result.rows:
            print(as_line(row.as_json()))
        return
    print(f"{tell(result)}\n\n{result.signature}\nall figures and every single item: {result.folder}")
