"""`babelscope agreement`: agreement of annotators with each other, and of methods and metrics with them."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from babelscope.cli.common import ABOUT_TOKENIZERS, AsJson, ToFile, file_option, option, setting, write_rows
from babelscope.cli.shell import refuse_unused
from babelscope.util.errors import BabelscopeError, explain_damage
from babelscope.util.files import check_outputs

if TYPE_CHECKING:
    from babelscope.core.results import Row
    from babelscope.stats.agreement import Annotator, Quirk
    from babelscope.util.text import LocatedRecord

# A corpus of MuCoW from which the paper's annotators saw nothing.
_NOT_ANNOTATED = "opensubs"

Task = Literal["mucow", "winomt"]
Protocol = Literal["checked", "paper"]


def agreement(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Answers of `babelscope annotate`, or the annotated file; or released annotations (JSON "
            "lines; of WinoMT also .csv). With --human: JSON lines with `system`, `id` and `score`; "
            "with --metric: `source`, `translation`, `references`.",
        ),
    ],
    task: Annotated[Task | None, option("Task of released annotations.")] = None,
    patterns: Annotated[
        Path | None,
        file_option(
            "Verdicts of pattern matching, undecided ones included: a run, its records, or the released log."
        ),
    ] = None,
    verdicts: Annotated[
        Path | None,
        file_option(
            "Verdicts or scores of a method: a run, or JSON lines with `correct` and optionally `weight`."
        ),
    ] = None,
    human: Annotated[
        Path | None,
        file_option(
            "Correlate the scores in FILE... with the mean of these human scores or answers of "
            "`babelscope annotate`."
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        option("Score the translations by this metric; repeatable.", metavar="METRIC"),
    ] = None,
    tokenize: Annotated[str, setting(ABOUT_TOKENIZERS)] = "",
    field: Annotated[
        str | None,
        setting("Field of the scores. [default: score; of lists top_kqrg]"),
    ] = None,
    protocol: Annotated[
        Protocol,
        setting("paper: as table 2 of the conditioning paper, with both of its flaws on MuCoW."),
    ] = "checked",
    weights: Annotated[
        Literal["tests", "annotated"],
        setting("Rank the weights of WinoMT's --verdicts within the test set or the annotated items."),
    ] = "tests",
    as_json: AsJson = False,
    to: ToFile = None,
) -> None:
    """Measure how well annotators agree, and methods or metrics with them.

    Prints Cohen's kappa, and Krippendorff's alpha for more than two; with --human, Pearson's and Spearman's
    correlation over sentences and systems.
    """
    from babelscope.annotate.answers import find_answers
    from babelscope.util.progress import working

    check_outputs({"--to": to}, inputs=[*files, human, patterns, verdicts, *(metric or ()), tokenize])
    verdicts_only = ("task", "patterns", "verdicts", "protocol", "weights")
    refuse_unused(
        context,
        {
            **dict.fromkeys(verdicts_only, None if human is None else "annotators, not scores (--human)"),
            "metric": None if human is not None else "--human",
            "tokenize": None if metric else "--metric",
            "field": "scores in the files, not --metric" if metric else None,
        },
    )
    if human is not None:
        write_rows(
            _correlated(files, human, field or "score", metric or [], tokenize), as_json=as_json, to=to
        )
        return
    answers = find_answers(files)
    released = "released annotations" if answers else None
    of_patterns = None if patterns is not None else "the verdicts of --patterns"
    of_winomt = None if task == "winomt" and verdicts is not None else "WinoMT's --verdicts"
    refuse_unused(
        context,
        {
            "task": released,
            "weights": released or of_winomt,
            "field": None if answers else "answers of `babelscope annotate`",
            "protocol": of_patterns,
        },
    )
    read = [*files, *(path for path in (patterns, verdicts) if path is not None)]
    with explain_damage(", ".join(map(str, read))), working("computing agreement"):
        if answers:
            rows = _answered(answers, patterns, verdicts, field, protocol)
        elif task is None:
            raise BabelscopeError(
                f"{files[0]} has no answers of `babelscope annotate`; released files need --task"
            )
        else:
            people, rows = _released(files, task)
            rows += _methods(people, task, patterns, verdicts, weights, protocol)
    write_rows(rows, as_json=as_json, to=to)


def _answered(
    answers: list[Path], patterns: Path | None, verdicts: Path | None, field: str | None, protocol: Protocol
) -> list[Row]:
    """Agreement of answers given on the annotation page."""
    from babelscope.annotate import agreement as annotated
    from babelscope.annotate.answers import items_of, read_annotators

    if field is not None and verdicts is None:
        raise BabelscopeError("--field only applies to the records of --verdicts")
    people, tasks = read_annotators(answers), items_of(answers)
    rows = annotated.precision_of_extraction(people, tasks)
    # One annotator alone can still be compared with a method.
    if len(people) > 1 or not (rows or patterns or verdicts):
        rows += annotated.agreement_between_people(people, tasks)
    of = {str(task.get("tests")) for task in tasks.values()}
    matched = None
    if patterns is not None:
        (name, matched), *others = _by_method(patterns, of).items()
        if others:
            raise BabelscopeError(f"{patterns} has several methods; --patterns takes a run of one")
        published = protocol == "paper"
        rows += annotated.agreement_with_patterns(people, tasks, matched, name=name, as_published=published)
    for name, records in _by_method(verdicts, of).items() if verdicts is not None else ():
        rows += annotated.agreement_with_method(
            people, tasks, records, name=name, field=field, patterns=matched
        )
    return rows


def _by_method(path: Path, tests: set[str]) -> dict[str, list[LocatedRecord]]:
    """The records of a run folder by method, or those of a file by its name.

    Records of test sets other than `tests` are left out if there are any of `tests`, because ids may repeat.
    """
    found: dict[str, list[LocatedRecord]] = {}
    rows = _records_of(path)
    known = any(str(record.get("tests")) in tests for _, record in rows if "tests" in record)
    for place, record in rows:
        if not known or str(record.get("tests")) in tests:
            found.setdefault(str(record.get("method", path.stem)), []).append((place, record))
    return found or {path.stem: []}


def _records_of(path: Path) -> list[LocatedRecord]:
    """(place, record) per item; of a run folder with what depends on all of its records, such as weights."""
    from babelscope.runs.reading import check_if_of_a_run, read_run, results_of_run
    from babelscope.systems.stored.formats import renamed
    from babelscope.testsets.pattern_files import read_verdicts

    if not (path / "manifest.json").is_file():
        return list(read_verdicts(check_if_of_a_run(path)))
    return [
        (f"{path}, item {record['id']}", renamed(record))
        for result in results_of_run(read_run(path))
        for record in result.records
    ]


def _released(files: list[Path], task: Task) -> tuple[list[Annotator], list[Row]]:
    """Annotations in the format released with the conditioning paper, and their agreement."""
    from babelscope.stats.agreement import compare, compare_with_earlier, parse_earlier, parse_judgments
    from babelscope.util.text import read_json_lines

    annotators: dict[str, Annotator] = {}
    earlier: dict[str, Annotator] = {}  # WinoMT's own annotations, which know rows only
    for name, path in _distinct_names(files).items():
        if path.suffix == ".csv" and task == "winomt":
            earlier[name] = parse_earlier(_table(path), str(path))
        else:
            annotators[name] = parse_judgments(read_json_lines(path), task)
    if len(annotators) + len(earlier) < 2 or not annotators:
        raise BabelscopeError("agreement needs files of at least two annotators")
    rows = compare(annotators, task)
    for name, own in annotators.items():
        for other, before in earlier.items():
            rows += compare_with_earlier(name, own, other, before)
    return list(annotators.values()), rows


def _distinct_names(files: list[Path]) -> dict[str, Path]:
    """Files by their names without suffix, or by their paths where names repeat."""
    stems = [path.stem for path in files]
    return {path.stem if stems.count(path.stem) == 1 else str(path): path for path in files}


def _table(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a CSV file; lines may end in CR LF, cells may contain line breaks."""
    from babelscope.util.text import read_bytes

    try:
        text = read_bytes(path).decode("utf-8-sig")
        yield from csv.DictReader(io.StringIO(text, newline=""))
    except UnicodeDecodeError as error:
        raise BabelscopeError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None
    except csv.Error as error:
        raise BabelscopeError(f"{path} is no CSV table: {error}") from None


def _methods(
    annotators: list[Annotator],
    task: Task,
    patterns: Path | None,
    verdicts: Path | None,
    weights: str,
    protocol: Protocol,
) -> list[Row]:
    """Agreement of pattern matching and of another method with released annotations (table 2)."""
    from babelscope.language.cues import find_form
    from babelscope.stats import agreement as stats

    paths = [path for path in (patterns, verdicts) if path is not None]
    given = {path: stats.parse_verdicts(_records_of(path), task) for path in paths}
    if verdicts is not None and task == "mucow" and patterns is None:
        raise BabelscopeError(
            "agreement on MuCoW needs --patterns: annotators judged what pattern matching left undecided"
        )
    if verdicts is not None and weights == "annotated":
        given[verdicts] = stats.rank_among_annotated(annotators, given[verdicts])
    # Words that can take a cue, since only they could be judged by conditioning as well.
    drawn_from = [
        each
        for each in (given[patterns] if patterns is not None and task == "mucow" else ())
        if each.corpus != _NOT_ANNOTATED and find_form(each.word, each.source) is not None
    ]
    quirks: list[Quirk] = ["shared-labels", "inflated-coverage"] if protocol == "paper" else []
    labels = {"quirks": ", ".join(quirks) or "none"} if task == "mucow" else {}
    rows = []
    for path, found in given.items():
        unweighted = [replace(each, weight=1.0) for each in found]
        for weighting, own in {"none": unweighted, "category": found}.items():
            if weighting == "category" and found == unweighted:
                continue
            if task == "winomt":
                row = stats.winomt_agreement(annotators, own)
            else:
                asked = None if path == patterns else own
                row = stats.mucow_agreement(annotators, drawn_from, verdicts=asked, quirks=quirks)
            names = {**row.labels, "verdicts": path.stem, "weighting": weighting, **labels}
            rows.append(replace(row, labels=names))
    return rows


def _correlated(files: list[Path], human: Path, field: str, metrics: list[str], tokenize: str) -> list[Row]:
    """Correlations of scores, or of translations scored here, with human scores."""
    from babelscope.annotate.agreement import check_lists, read_scores
    from babelscope.annotate.answers import find_answers
    from babelscope.metrics.corpus import prepare_metrics, score_records
    from babelscope.runs.reading import check_if_of_a_run
    from babelscope.stats.correlation import human_correlations, parse_scores
    from babelscope.util.progress import working
    from babelscope.util.text import read_json_lines

    chosen = prepare_metrics(metrics, tokenize=tokenize)
    answers = find_answers([human])
    people, unfinished = read_scores(answers) if answers else ([], 0)
    judged = parse_scores(people or read_json_lines(human), average=True)
    scores = {}
    for name, path in _distinct_names(files).items():
        records = list(read_json_lines(check_if_of_a_run(path)))
        for each in chosen:
            rated = score_records(each, records, tokenize)
            scores[each.name if len(files) == 1 else f"{name} {each.name}"] = parse_scores(rated)
        if not chosen:
            check_lists(people, records, field)
            for by, own in _by_metric(records, field).items():
                scores[f"{name} {by}".strip()] = parse_scores(own, field=field)
    if unfinished:
        print(f"babelscope: {unfinished} unfinished answers are left out", file=sys.stderr)
    with working("correlating"):
        return human_correlations(judged, scores)


def _by_metric(records: Sequence[LocatedRecord], field: str) -> dict[str, list[LocatedRecord]]:
    """Records of `space` under several metrics, separately per metric (table 4); others unchanged."""
    first = next((record for _, record in records), {})
    gains, metrics = first.get("gains"), first.get("metrics")
    if not (isinstance(gains, dict) and isinstance(metrics, dict) and field in first):
        return {"": list(records)}
    found = {name: list(records) for name in metrics if name not in gains}
    for name in gains:
        found[name] = []
        for place, record in records:
            by_metric = record.get("gains")
            own = by_metric.get(name) if isinstance(by_metric, dict) else None
            if not isinstance(own, dict):
                raise BabelscopeError(f"{place} has no gains by {name}, unlike the first record")
            found[name].append((place, {**record, **own}))
    return found
