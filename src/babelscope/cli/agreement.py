"""`babelscope agreement`: how far annotators agree with each other, and methods with annotators."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from babelscope.cli.common import AsJson, ToFile, file_option, write_rows
from babelscope.cli.shell import refuse_unused
from babelscope.util.errors import BabelscopeError, explain_damage
from babelscope.util.files import check_outputs

if TYPE_CHECKING:
    from babelscope.core.results import Row
    from babelscope.stats.agreement import Annotator, Quirk, Verdict


Task = Literal["mucow", "winomt"]
Weights = Literal["tests", "annotated"]
Protocol = Literal["checked", "paper"]


def agreement(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Answers of `babelscope annotate`, or the file that was annotated; "
            "released annotations as JSON lines, WinoMT's own as .csv.",
        ),
    ],
    task: Annotated[Task | None, typer.Option(help="What was annotated, for released files.")] = None,
    patterns: Annotated[
        Path | None,
        file_option(
            "Pattern matching's verdicts: a run of `patterns`, its --records, or the released log. What it "
            "could not decide is counted, too."
        ),
    ] = None,
    verdicts: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="A method's verdicts or scores: a run folder, or JSON lines with `correct`, perhaps `weight`.",
        ),
    ] = None,
    field: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The number there that human scores are compared with; `score` for assessment, "
            "`top_kqrg` for ranking unless said.",
        ),
    ] = None,
    protocol: Annotated[
        Protocol,
        typer.Option(
            help="paper: count --patterns as table 2 of the conditioning paper does, with both flaws on MuCoW, and "
            "undecided genders as right only."
        ),
    ] = "checked",
    weights: Annotated[
        Weights,
        typer.Option(
            help="Weights of --verdicts on WinoMT: as ranked over the whole test set, or ranked anew among the "
            "annotated items."
        ),
    ] = "tests",
    without_corpus: Annotated[
        str, typer.Option(metavar="NAME", help="A corpus of MuCoW that was not annotated.")
    ] = "opensubs",
    as_json: AsJson = False,
    to: ToFile = None,
) -> None:
    """Measure how far annotators agree, and methods with them. Kappa, alpha for more than two, correlations."""
    from babelscope.annotate.answers import find_answers
    from babelscope.util.progress import working

    check_outputs({"--to": to}, inputs=[*files, patterns, verdicts])
    as_published = protocol == "paper"
    answers = find_answers(files)
    released = None if not answers else "released annotations"
    refuse_unused(
        context,
        {
            "task": released,
            "weights": released
            or (None if task == "winomt" and verdicts is not None else "WinoMT's --verdicts"),
            "field": None if answers else "answers of `babelscope annotate`",
            "protocol": None if patterns is not None else "the verdicts of --patterns",
            "without_corpus": released or (None if patterns is not None else "the verdicts of --patterns"),
        },
    )
    read = [*files, *(path for path in (patterns, verdicts) if path is not None)]
    with explain_damage(", ".join(map(str, read))), working("computing agreement"):
        if answers:
            rows = _answered(answers, patterns, verdicts, field, as_published=as_published)
        elif task is None:
            raise BabelscopeError(
                f"{files[0]} has no answers of `babelscope annotate`; released files need --task"
            )
        else:
            rows = _released(
                files, task, patterns, verdicts, weights, without_corpus, as_published=as_published
            )
    write_rows(rows, as_json=as_json, to=to)


def _answered(
    answers: list[Path],
    patterns: Path | None,
    verdicts: Path | None,
    field: str | None,
    *,
    as_published: bool,
) -> list[Row]:
    """Agreement of answers given on the page."""
    from babelscope.annotate.agreement import (
        agreement_between_people,
        agreement_with_method,
        agreement_with_patterns,
        precision_of_extraction,
    )
    from babelscope.annotate.answers import items_of, read_annotators

    said = read_annotators(answers)
    tasks = items_of(answers)
    # One annotator alone can still be compared with a method.
    alone = len(said) == 1 and (patterns is not None or verdicts is not None)
    rows = precision_of_extraction(said, tasks)
    rows += [] if alone or (rows and len(said) == 1) else agreement_between_people(said, tasks)
    of = {str(task.get("tests")) for task in tasks.values()}
    matched = None
    if patterns is not None:
        (name, matched), *others = _by_method(patterns, of).items()
        if others:
            raise BabelscopeError(f"{patterns} has several methods; --patterns takes a run of one")
        rows += agreement_with_patterns(said, tasks, matched, name=name, as_published=as_published)
    if verdicts is not None:
        for name, records in _by_method(verdicts, of).items():
            rows += agreement_with_method(said, tasks, records, name=name, field=field, patterns=matched)
    elif field is not None:
        raise BabelscopeError("--field is about the records of --verdicts")
    return rows


def _by_method(path: Path, tests: set[str]) -> dict[str, list[tuple[str, Mapping[str, Any]]]]:
    """The records of a run folder by method, or those of a file under its name.

    If it has some of `tests`, which the items that were judged are from, those of its other test sets are left out:
    they may have items of the same ids.
    """
    found: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    rows = _records_of(path)
    known = any(str(record.get("tests")) in tests for _, record in rows if "tests" in record)
    for place, record in rows:
        if known and str(record.get("tests")) not in tests:
            continue
        found.setdefault(str(record.get("method", path.stem)), []).append((place, record))
    return found


def _records_of(path: Path) -> list[tuple[str, Mapping[str, Any]]]:
    """(place, record) of each item: of a run folder with what depends on all of its records, such as weights."""
    from babelscope.runs.reading import check_if_of_a_run, read_run, results_of_run
    from babelscope.systems.translation_files import renamed
    from babelscope.testsets.pattern_files import read_verdicts

    if not (path / "manifest.json").is_file():
        return list(read_verdicts(check_if_of_a_run(path)))
    return [
        (f"{path}, item {record['id']}", renamed(record))
        for result in results_of_run(read_run(path))
        for record in result.records
    ]


def _released(
    files: list[Path],
    task: Task,
    patterns: Path | None,
    verdicts: Path | None,
    weights: Weights,
    without_corpus: str,
    *,
    as_published: bool,
) -> list[Row]:
    """Agreement of annotations as the conditioning paper has released them."""
    from babelscope.stats.agreement import compare, compare_with_earlier

    annotators, earlier = _read(files, task)
    if len(annotators) + len(earlier) < 2 or not annotators:
        raise BabelscopeError("agreement needs the files of two annotators")
    rows = compare(annotators, task)
    for name, own in annotators.items():
        for other, before in earlier.items():
            rows += compare_with_earlier(name, own, other, before)
    if patterns is not None or verdicts is not None:
        people = list(annotators.values())
        rows += _methods(people, task, patterns, verdicts, weights, without_corpus, as_published=as_published)
    return rows


def _read(files: list[Path], task: Task) -> tuple[dict[str, Annotator], dict[str, Annotator]]:
    """Annotators by file name; WinoMT's own annotations, which know rows only, apart."""
    from babelscope.stats.agreement import parse_earlier, parse_judgments
    from babelscope.util.text import read_json_lines

    annotators: dict[str, Annotator] = {}
    earlier: dict[str, Annotator] = {}
    for path in files:
        # Files of one name in two folders are told apart by their paths.
        name = path.stem if [each.stem for each in files].count(path.stem) == 1 else str(path)
        if path.suffix == ".csv" and task == "winomt":
            earlier[name] = parse_earlier(_table(path), str(path))
        else:
            annotators[name] = parse_judgments(read_json_lines(path), task)
    return annotators, earlier


def _table(path: Path) -> Iterator[dict[str, str]]:
    """A CSV file as spreadsheets write it: lines may end in CR LF, cells may have line breaks."""
    from babelscope.util.text import read_bytes

    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BabelscopeError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None
    try:
        yield from csv.DictReader(io.StringIO(text, newline=""))
    except csv.Error as error:
        raise BabelscopeError(f"{path} is no CSV table: {error}") from None


def _methods(
    annotators: list[Annotator],
    task: Task,
    patterns: Path | None,
    verdicts: Path | None,
    weights: Weights,
    without_corpus: str,
    *,
    as_published: bool,
) -> list[Row]:
    from babelscope.core.results import Row
    from babelscope.stats.agreement import (
        mucow_agreement,
        parse_verdicts,
        rank_among_annotated,
        winomt_agreement,
    )

    paths = [path for path in (patterns, verdicts) if path is not None]
    given = {path: parse_verdicts(_records_of(path), task) for path in paths}
    if verdicts is not None and weights == "annotated":
        given[verdicts] = rank_among_annotated(annotators, given[verdicts])
    quirks: list[Quirk] = ["shared-labels", "inflated-coverage"] if as_published else []
    rows: list[tuple[Path, str, Row]] = []
    if task == "winomt":
        for path, found in given.items():
            rows += [(path, each, winomt_agreement(annotators, own)) for each, own in _weightings(found)]
    elif patterns is None:
        raise BabelscopeError("agreement on MuCoW needs --patterns: annotators saw what it could not decide")
    else:
        drawn_from = _usable(given[patterns], without_corpus)
        for path, found in given.items():
            for each, own in _weightings(found):
                method = None if path == patterns else own
                row = mucow_agreement(annotators, drawn_from, verdicts=method, quirks=quirks)
                rows.append((path, each, row))
    labels: dict[str, str | int] = {"quirks": ", ".join(quirks) or "none"} if task == "mucow" else {}
    return [
        Row(
            row.name,
            row.estimate,
            {**row.labels, "verdicts": path.stem, "weighting": weighting, **labels},
            row.counts,
        )
        for path, weighting, row in rows
    ]


def _weightings(verdicts: list[Verdict]) -> list[tuple[str, list[Verdict]]]:
    """Verdicts without their weights, and with them if they have any (table 2: both)."""
    plain = [replace(each, weight=1.0) for each in verdicts]
    return [("none", plain), *([("category", verdicts)] if verdicts != plain else [])]


def _usable(verdicts: list[Verdict], without_corpus: str) -> list[Verdict]:
    """Those whose word can take a cue, since only they could be judged by conditioning as well."""
    from babelscope.language.cues import find_form

    return [
        each
        for each in verdicts
        if each.corpus != without_corpus and find_form(each.word, each.source) is not None
    ]
