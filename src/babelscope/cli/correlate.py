"""`babelscope correlate`: how far scores of translations go together with human judgments."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from babelscope.cli.agreement import distinct_names
from babelscope.cli.common import AsJson, ToFile, Tokenize, Yes, file_option, write_rows
from babelscope.cli.shell import refuse_unused
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import check_outputs

if TYPE_CHECKING:
    from babelscope.util.text import LocatedRecord


def correlate(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="JSON lines with `system`, `id` and `score`; with --metric, `source`, `translation`, `references`.",
        ),
    ],
    human: Annotated[
        Path,
        file_option("Human scores in the same form, or answers of `babelscope annotate`; the mean counts."),
    ],
    field: Annotated[
        str, typer.Option(metavar="NAME", help="The scores' field, as `top_kqrg` in the records of `space`.")
    ] = "score",
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC", help="Score the translations: chrf, cmd:COMMAND...; may be repeated."),
    ] = None,
    tokenize: Tokenize = "",
    as_json: AsJson = False,
    to: ToFile = None,
    yes: Yes = False,
) -> None:
    """Correlate scores of translations with human scores. Pearson's and Spearman's, over sentences and systems."""
    from babelscope.annotate.agreement import check_lists, read_scores
    from babelscope.annotate.answers import find_answers
    from babelscope.metrics.corpus import prepare_metrics, score_records
    from babelscope.runs.reading import check_if_of_a_run
    from babelscope.stats.correlation import human_correlations, parse_scores
    from babelscope.util.progress import working
    from babelscope.util.text import read_json_lines

    unused = {"field": "scores in the files"} if metric else {"tokenize": "--metric"}
    refuse_unused(context, unused)
    check_outputs({"--to": to}, inputs=[*files, human, *(metric or ()), tokenize])
    chosen = prepare_metrics(metric or (), yes=yes, tokenize=tokenize)
    answers = find_answers([human])
    people, unfinished = read_scores(answers) if answers else ([], 0)
    judged = parse_scores(people or read_json_lines(human), average=True)
    scores = {}
    for name, path in distinct_names(files).items():
        records = list(read_json_lines(check_if_of_a_run(path)))
        for each in chosen:
            rated = score_records(each, records, tokenize)
            scores[each.name if len(files) == 1 else f"{name} {each.name}"] = parse_scores(rated)
        if not chosen:
            check_lists(people, records, field)
            for by, own in _by_metric(records, field).items():
                scores[f"{name} {by}".strip()] = parse_scores(own, field=field)
    with working("correlating"):
        rows = human_correlations(judged, scores)
    write_rows(rows, as_json=as_json, to=to)
    if unfinished:
        print(f"babelscope: {unfinished} unfinished answers are left out", file=sys.stderr)


def _by_metric(records: Sequence[LocatedRecord], field: str) -> dict[str, list[LocatedRecord]]:
    """Records of `space` under several metrics, once per metric (table 4); others as they are."""
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
