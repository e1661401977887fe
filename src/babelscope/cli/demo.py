"""`babelscope demo`: the main job on the models that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from babelscope.cli.common import AllRows, AsJson, Seed, folder_option, places_of
from babelscope.cli.report import WithReport
from babelscope.cli.run import tell
from babelscope.cli.shell import telling_what_is_kept, work_kept_in
from babelscope.util.tables import wrap
from babelscope.util.terminal import terminal_width

if TYPE_CHECKING:
    from babelscope.core.results import Result

_HEADING = "What to look at. Words in question stand between asterisks."
_GO_ON = (
    "Then: --all prints every figure, the report shows every item, and README.md (“A real model”) does the same to a "
    "model of yours."
)


def demo(
    out: Annotated[Path, folder_option("The run folder.")] = Path("runs/demo"),
    n: Annotated[int, typer.Option("--n", min=10, help="Items of each test set.")] = 80,
    seed: Seed = 0,
    every: AllRows = False,
    as_json: AsJson = False,
    report: WithReport = True,
) -> None:
    """Evaluate small translation models by every method. Four items of what came out say what to look at."""
    from babelscope.lab.experiments.demo import demo_study, write_flows
    from babelscope.runs.study import run_study

    with telling_what_is_kept(work_kept_in(out)):
        result = run_study(demo_study(n, seed), out=out)
        if report:
            write_flows(out, n)
        instead = "" if as_json or every else _what_to_look_at(result, report=report)
        tell(result, as_json=as_json, report=report, every=every, instead=instead)


def _what_to_look_at(result: Result, *, report: bool) -> str:
    """Four effects, each with its figures and an item, and where to go on."""
    from babelscope.lab.experiments.demo_items import what_to_look_at
    from babelscope.report.examples import draw_examples
    from babelscope.report.summary import frame

    width = terminal_width()
    shown = draw_examples(what_to_look_at(result), width)
    text = "\n".join(["", _HEADING, shown, "", *wrap(_GO_ON, width, hanging="")])
    return frame(result, text, width=width, places=places_of(result.folder, report=report))
