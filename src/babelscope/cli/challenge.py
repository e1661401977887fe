"""`babelscope challenge`: quality by phenomenon and distance, its controls, and what people say of it."""

from __future__ import annotations

import contextlib
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from babelscope.cli.common import (
    AsJson,
    Cache,
    Form,
    Records,
    Seed,
    Systems,
    as_line,
    print_json,
    study_of,
    then_records,
    write_file,
)
from babelscope.util.errors import BabelscopeError
from babelscope.util.outputs import check_outputs
from babelscope.util.terminal import visible

if TYPE_CHECKING:
    from babelscope.core.results import Result, Row


class Metric(StrEnum):
    """How quality is measured; all cased, on 13a tokens."""

    bleu = "bleu"
    chrf = "chrf"
    ribes = "ribes"


def challenge(
    system: Systems,
    tests: Annotated[
        str, typer.Option(metavar="TESTS", help="A test set of `babelscope make challenge`, or ldd:...")
    ],
    metric: Annotated[
        list[Metric] | None, typer.Option(help="May be repeated; all if not given.", show_default=False)
    ] = None,
    distance: Annotated[
        list[int] | None,
        typer.Option(
            min=0,
            metavar="N",
            help="A set of at least N words between; may be repeated. Else 0 to 6.",
            show_default=False,
        ),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Sets of exactly N words between, too.", show_default=False)
    ] = False,
    draws: Annotated[int, typer.Option(min=2, help="Length-matched random corpora a set.")] = 100,
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples.")] = 1000,
    beam: Annotated[int, typer.Option(min=1, help="Of the translations.")] = 5,
    annotate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a blind queue for annotators there: was the dependency translated right?",
            show_default=False,
        ),
    ] = None,
    per_phenomenon: Annotated[
        int, typer.Option(min=1, metavar="N", help="Instances of each phenomenon in the queue.")
    ] = 30,
    annotate_distance: Annotated[
        list[int] | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Only instances with exactly N words between in the queue; may be repeated.",
            show_default=False,
        ),
    ] = None,
    answers: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="A queue that was answered; one for each annotator.", show_default=False
        ),
    ] = None,
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
    """BLEU, chrF and RIBES by phenomenon and distance, against the whole and length-matched controls."""
    if annotate is not None and annotate.exists():
        raise BabelscopeError(f"{annotate} exists, and may have answers; choose another file for --annotate")
    if annotate_distance and annotate is None:
        raise BabelscopeError("--annotate-distance is about the queue that --annotate writes")
    read = [tests, *(answers or ()), *system]
    check_outputs({"--records": records, "--annotate": annotate}, folder=out, inputs=read)
    settings: dict[str, Any] = {"exact": exact, "draws": draws, "resamples": resamples, "beam": beam}
    if metric:
        settings["metrics"] = tuple(each.value for each in metric)
    if distance:
        settings["distances"] = tuple(distance)
    result = _run(system, tests, settings, out, seed=seed, cache=cache, data_dir=data_dir)
    with contextlib.ExitStack() as after:
        if annotate is not None:
            drawn = {"per_phenomenon": per_phenomenon, "distances": annotate_distance or (), "seed": seed}
            after.callback(_write_queue, annotate, result, drawn)
        after.enter_context(then_records(records, [*result.records, *result.unanswered]))
        _print(result, _answered(result, answers or []), as_json=as_json)


def _print(result: Result, said: list[Row], *, as_json: bool) -> None:
    if as_json:
        for row in [*result.rows, *said]:
            whole = row.labels.get("phenomenon") == "all" and "metric" not in row.labels
            mark = {"signature": result.signature} if whole and row not in said else {}
            print_json({**row.as_json(), **mark})
        return
    from babelscope.cli.challenge_table import tables

    print(tables(result.rows, said))
    print(result.signature)
    if result.folder is not None:
        print(f"run folder: {visible(str(result.folder))}", file=sys.stderr)


def _run(
    systems: list[str],
    tests: str,
    settings: dict[str, Any],
    out: Path | None,
    *,
    seed: int,
    cache: bool | None,
    data_dir: Path | None,
) -> Result:
    """The same as a study, so that it can be stopped and gone on with."""
    from babelscope.runs.study import judge_study

    study = study_of(
        {
            "study": {"name": "challenge", "seed": seed},
            "systems": [{"spec": spec} for spec in systems],
            "tests": [{"spec": tests}],
            "methods": [{"name": "challenge", **settings}],
            "run": {"data_dir": data_dir},
        }
    )
    return judge_study(study, out=out, cache=cache)


def _write_queue(path: Path, result: Result, drawn: dict[str, Any]) -> None:
    from babelscope.methods.challenge.annotation import queue

    write_file(path, Form.JSON, map(as_line, queue(result.records, **drawn)))


def _answered(result: Result, files: list[Path]) -> list[Row]:
    """What annotators say, each told apart by the name of the file."""
    if not files:
        return []
    from babelscope.methods.challenge.annotation import answer_rows
    from babelscope.methods.challenge.annotation import answers as read
    from babelscope.util.json_lines import read_json_lines

    names = [path.stem for path in files]
    annotators = {
        path.stem if names.count(path.stem) == 1 else str(path): read(read_json_lines(path)) for path in files
    }
    return answer_rows(result.records, annotators)
