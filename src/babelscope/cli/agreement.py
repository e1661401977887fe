"""`babelscope agreement`: how far annotators agree with each other, and methods with annotators."""

from __future__ import annotations

import csv
import io
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from babelscope.cli.common import AsJson, OutFile, Seed, as_line, output
from babelscope.errors import BabelscopeError

if TYPE_CHECKING:
    from babelscope.measures.agreement import Annotator, Verdict
    from babelscope.measures.agreement import Quirk as Published
    from babelscope.results import Row


class Task(StrEnum):
    """What was annotated."""

    mucow = "mucow"
    winomt = "winomt"


class Quirk(StrEnum):
    """What the published agreement on MuCoW rests on."""

    shared_labels = "shared-labels"
    inflated_coverage = "inflated-coverage"


def agreement(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE FILE...", help="Annotations as JSON lines; WinoMT's own as .csv."),
    ],
    task: Annotated[Task, typer.Option(help="What was annotated.")],
    patterns: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Pattern matching's verdicts (from `babelscope patterns --records`, or the released log).",
            show_default=False,
        ),
    ] = None,
    verdicts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Another method's verdicts: JSON lines with `correct`, perhaps `weight`.",
            show_default=False,
        ),
    ] = None,
    quirk: Annotated[
        list[Quirk] | None,
        typer.Option(help="As published on MuCoW rather than sound; may be repeated.", show_default=False),
    ] = None,
    without_corpus: Annotated[
        str, typer.Option(metavar="NAME", help="A corpus of MuCoW that was not annotated.")
    ] = "opensubs",
    as_json: AsJson = False,
    out: OutFile = None,
    seed: Seed = 0,
) -> None:
    """Cohen's kappa of annotators, raw and binary, and the agreement of methods with them."""
    from babelscope.measures.agreement import compare, compare_with_earlier
    from babelscope.results import render

    annotators, earlier = _read(files, task)
    if len(annotators) + len(earlier) < 2 or not annotators:
        raise BabelscopeError("agreement needs the files of two annotators")
    rows = compare(annotators, task.value)
    for name, own in annotators.items():
        for other, before in earlier.items():
            rows += compare_with_earlier(name, own, other, before)
    if patterns is not None or verdicts is not None:
        rows += _methods(
            list(annotators.values()), task, patterns, verdicts, quirk or [], without_corpus, seed
        )
    elif quirk:
        raise BabelscopeError("--quirk is about the agreement of --patterns")
    with output(out) as write:
        for row in rows if as_json else ():
            write(as_line(row.as_json()))
        if not as_json:
            write(render(rows))


def _read(files: list[Path], task: Task) -> tuple[dict[str, Annotator], dict[str, Annotator]]:
    """Annotators by file name; WinoMT's own annotations, which know rows only, apart."""
    from babelscope.measures.agreement import parse_earlier, parse_judgements
    from babelscope.testsets.sets import read_json_lines

    annotators: dict[str, Annotator] = {}
    earlier: dict[str, Annotator] = {}
    for path in files:
        # Files of one name in two folders are told apart by their paths.
        name = path.stem if [each.stem for each in files].count(path.stem) == 1 else str(path)
        if path.suffix == ".csv" and task == Task.winomt:
            earlier[name] = parse_earlier(_table(path), str(path))
        else:
            annotators[name] = parse_judgements(read_json_lines(path), task.value)
    return annotators, earlier


def _table(path: Path) -> csv.DictReader[str]:
    """A CSV file as spreadsheets write it: lines may end in CR LF, cells may have line breaks."""
    from babelscope.text import read_bytes

    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BabelscopeError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None
    return csv.DictReader(io.StringIO(text, newline=""))


def _methods(
    annotators: list[Annotator],
    task: Task,
    patterns: Path | None,
    verdicts: Path | None,
    quirks: list[Quirk],
    without_corpus: str,
    seed: int,
) -> list[Row]:
    from babelscope.measures.agreement import mucow_agreement, winomt_agreement
    from babelscope.results import Row
    from babelscope.seeds import stream

    rng = stream(seed, "agreement")
    given = {path: _verdicts(path, task) for path in (patterns, verdicts) if path is not None}
    rows = []
    if task == Task.winomt:
        if quirks:
            raise BabelscopeError("--quirk is about MuCoW")
        for path, found in given.items():
            rows.append((path, winomt_agreement(annotators, found, rng)))
    elif patterns is None:
        raise BabelscopeError("agreement on MuCoW needs --patterns: annotators saw what it could not decide")
    else:
        drawn_from = _usable(given[patterns], without_corpus)
        named: list[Published] = [each.value for each in quirks]
        for path, found in given.items():
            own = None if path == patterns else found
            rows.append((path, mucow_agreement(annotators, drawn_from, rng, verdicts=own, quirks=named)))
    labels: dict[str, str | int] = {"quirks": ", ".join(quirks) or "none"} if task == Task.mucow else {}
    return [
        Row(row.name, row.estimate, {**row.labels, "verdicts": path.stem, **labels}, row.counts)
        for path, row in rows
    ]


def _verdicts(path: Path, task: Task) -> list[Verdict]:
    from babelscope.measures.agreement import parse_verdicts
    from babelscope.methods.patterns_files import read_verdicts

    return parse_verdicts(read_verdicts(path), task.value)


def _usable(verdicts: list[Verdict], without_corpus: str) -> list[Verdict]:
    """Those whose word can take a cue, since only they could be judged by conditioning as well."""
    from babelscope.making.cues import find_form

    return [
        each
        for each in verdicts
        if each.corpus != without_corpus and find_form(each.word, each.source) is not None
    ]
