"""`babelscope correlate`: how far scores of translations go together with human judgements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from babelscope.cli.common import AsJson, FormerSeed, ToFile, Yes, as_line, figures, output, width_for
from babelscope.cli.shell import formerly, refuse_unused
from babelscope.util.outputs import check_outputs


@formerly({"out": "to"})
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
        typer.Option(
            metavar="FILE", help="Human scores, in the same form; several of one answer are averaged."
        ),
    ],
    field: Annotated[
        str, typer.Option(metavar="NAME", help="The scores' field, as `top_kqrg` in the records of `space`.")
    ] = "score",
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC",
            help="Score the files' translations by it: chrf, bleu, cmd:COMMAND...; may be repeated.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    to: ToFile = None,
    yes: Yes = False,
    seed: FormerSeed = None,  # noqa: ARG001
) -> None:
    """Correlate scores of translations with human scores. Pearson's and Spearman's, over sentences and systems."""
    from babelscope.core.results import render
    from babelscope.metrics.base import score_records
    from babelscope.metrics.preparing import prepare_metrics
    from babelscope.runs.reading import check_if_of_a_run
    from babelscope.stats.correlation import human_correlations, parse_scores
    from babelscope.util.json_lines import read_json_lines
    from babelscope.util.progress import working

    refuse_unused(context, {"field": "scores in the files" if metric else None})
    check_outputs({"--to": to}, inputs=[*files, human, *(metric or ())])
    chosen = prepare_metrics(metric or (), yes=yes)
    judged = parse_scores(read_json_lines(human), average=True)
    stems = [path.stem for path in files]
    # Files of one name in two folders are told apart by their paths.
    names = [path.stem if stems.count(path.stem) == 1 else str(path) for path in files]
    scores = {}
    for name, path in zip(names, map(check_if_of_a_run, files), strict=True):
        for each in chosen:
            rated = score_records(each, list(read_json_lines(path)))
            scores[each.name if len(files) == 1 else f"{name} {each.name}"] = parse_scores(rated)
        if not chosen:
            scores[name] = parse_scores(read_json_lines(path), field=field)
    with working("correlating"):
        rows = human_correlations(judged, scores)
    with output(to, figures(as_json)) as write:
        for row in rows if as_json else ():
            write(as_line(row.as_json()))
        if not as_json:
            write(render(rows, width_for(to)))
