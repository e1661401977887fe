"""`babelscope contrast`: do systems prefer correct translations to ones with an error?"""

from __future__ import annotations

import sys
from enum import Enum, StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from babelscope.cli.common import (
    AsJson,
    Cache,
    Records,
    Seed,
    print_json,
    study_of,
    then_records,
)
from babelscope.core.ties import TiesOption
from babelscope.util.outputs import check_outputs
from babelscope.util.terminal import visible

if TYPE_CHECKING:
    from babelscope.core.results import Result


class Score(StrEnum):
    """mean: log-probability a token (eq. 2). total: of the whole sentence (eq. 1)."""

    mean = "mean"
    total = "total"


class Discrepancy(StrEnum):
    """clipped: as in the released code, never below 0. auto: as in the paper, if it can be had."""

    auto = "auto"
    paper = "paper"
    clipped = "clipped"
    none = "none"


class Free(StrEnum):
    """auto: if the system translates and German analysis is installed."""

    auto = "auto"
    yes = "yes"
    no = "no"


class Direction(Enum):  # a string has a method `lower` already
    """Which scores in a file are better."""

    higher = "higher"
    lower = "lower"


class Layout(StrEnum):
    """How a score file is laid out."""

    auto = "auto"
    blocks = "blocks"
    interleaved = "interleaved"
    columns = "columns"


def contrast(
    tests: Annotated[str, typer.Option(metavar="TESTS", help="A test set of minimal pairs.")],
    system: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SYSTEM", help="A system, see `babelscope systems`; may be repeated.", show_default=False
        ),
    ] = None,
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="Stored scores instead of a system; may be repeated.", show_default=False
        ),
    ] = None,
    direction: Annotated[Direction, typer.Option(help="Which scores are better.")] = Direction.higher,
    layout: Annotated[
        Layout,
        typer.Option(
            help="Of the score file. blocks: all correct targets, then all contrastive (DistilLingEval's). "
            "interleaved: item by item (MuCoW's). columns: correct, contrastive and 1-best, tabs between."
        ),
    ] = Layout.auto,
    score: Annotated[
        Score, typer.Option(help="mean: log-probability a token. total: of the sentence.")
    ] = Score.mean,
    ties: Annotated[TiesOption, typer.Option(help="What a tie is worth.")] = TiesOption.half,
    discrepancy: Annotated[
        Discrepancy,
        typer.Option(help="From the 1-best to the preferred variant; clipped: never below 0."),
    ] = Discrepancy.auto,
    beam: Annotated[int, typer.Option(min=1, help="Of the 1-best translation.")] = 5,
    free: Annotated[
        Free,
        typer.Option(help="Look for the German error types in the 1-best, too. auto: if it can be done."),
    ] = Free.auto,
    control: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TYPE",
            help="An implausible error type; may be repeated. Else placeholder_ding and hypercorrect_genitive.",
            show_default=False,
        ),
    ] = None,
    seed_group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Systems that differ by their seed only, as in 'lab:teacher-*'; may be repeated.",
            show_default=False,
        ),
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="Print the layout of the paper's table 1, as Markdown.")
    ] = False,
    as_json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="A run folder, to keep and resume a run.", show_default=False),
    ] = None,
    records: Records = None,
    seed: Seed = 0,
    cache: Cache = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of the named test sets.", show_default=False),
    ] = None,
) -> None:
    """Contrastive evaluation on minimal pairs, by systems or from stored scores."""
    from babelscope.util.errors import BabelscopeError

    if bool(system) == bool(scores):
        raise BabelscopeError("contrast needs --system or --scores, one of the two")
    if table and as_json:
        raise BabelscopeError("--table and --json print different things; say one of the two")
    if scores and out is not None:
        raise BabelscopeError("--out keeps what systems answer; with --scores, say --records FILE")
    check_outputs({"--records": records}, folder=out, inputs=[tests, *(system or scores or ())])
    settings: dict[str, Any] = {"ties": ties.value, "discrepancy": discrepancy.value, "free": free.value}
    if control:
        settings["controls"] = tuple(control)
    shared: dict[str, Any] = {"seed": seed, "seed_groups": seed_group or ()}
    if scores:
        from babelscope.runs.stored_scores import contrast_scores

        result = contrast_scores(
            tests,
            scores,
            direction=direction.value,
            layout=layout.value,
            data_dir=data_dir,
            **shared,
            **settings,
        )
    else:
        settings |= {"score": score.value, "beam": beam}
        result = _run(system or [], tests, settings, shared, out, cache=cache, data_dir=data_dir)
    with then_records(records, [*result.records, *result.unanswered]):
        _print(result, as_json=as_json, table=seed_group or [] if table else None)


def _run(
    systems: list[str],
    tests: str,
    settings: dict[str, Any],
    shared: dict[str, Any],
    out: Path | None,
    *,
    cache: bool | None,
    data_dir: Path | None,
) -> Result:
    """As a study, which can be stopped and gone on with."""
    from babelscope.runs.study import judge_study

    study = study_of(
        {
            "study": {"name": "contrast", "seed": shared["seed"], "seed_groups": list(shared["seed_groups"])},
            "systems": [{"spec": spec} for spec in systems],
            "tests": [{"spec": tests}],
            "methods": [{"name": "contrast", **settings}],
            "run": {"data_dir": data_dir},
        }
    )
    return judge_study(study, out=out, cache=cache)


def _print(result: Result, *, as_json: bool, table: list[str] | None) -> None:
    """To stdout: rows as JSON, the paper's table with these seed groups, or all rows."""
    if as_json:
        for row in result.rows:
            whole = {"signature": result.signature} if row.name == "all" else {}
            print_json({**row.as_json(), **whole})
        return
    if table is None:
        print(result)
    else:
        from babelscope.methods.contrast.table import table as as_table

        print(f"{as_table(result.rows, table)}\n{result.signature}")
    if result.folder is not None:
        print(f"run folder: {visible(str(result.folder))}", file=sys.stderr)
