"""`babelscope patterns flow`: how senses or genders shift from data to distilled data to student."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Annotated

import typer

from babelscope.cli.common import (
    AsJson,
    Form,
    FormerSeed,
    ToFile,
    as_line,
    figures,
    output,
    width_for,
    write_file,
)
from babelscope.cli.shell import formerly
from babelscope.util.errors import BabelscopeError
from babelscope.util.outputs import check_outputs

# Of the middle of the scale, so that they can be told from a light and from a dark ground.
_COLOURS = ("#3f7fbf", "#c8622f")


@formerly({"out": "to"})
def flow(
    source: Annotated[Path, typer.Option(metavar="FILE", help="Sources, one a line.")],
    data: Annotated[Path, typer.Option(metavar="FILE", help="Their translations in the training data.")],
    words: Annotated[
        str,
        typer.Option(
            metavar="QUERIES",
            help="Words to look for: lab:occupations, lab:senses, or a file "
            "{word: {src_forms: [...], tgt_forms_CLASS: [...], ...}}.",
        ),
    ],
    distilled: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="A teacher's translations; may be repeated, one a seed.", show_default=False
        ),
    ] = None,
    student: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Its student's translations, as many and in the same order.",
            show_default=False,
        ),
    ] = None,
    flows: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write rows [from, to, count] there, as JSON.", show_default=False),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw a Sankey diagram there.", show_default=False)
    ] = None,
    as_json: AsJson = False,
    to: ToFile = None,
    seed: FormerSeed = None,  # noqa: ARG001
) -> None:
    """Count known forms in translations of the same sources (appendix A, figure 4 of the conditioning paper)."""
    from babelscope.core.results import render
    from babelscope.methods.patterns.flow import find_occurrences, mean_flows, read_queries, shift_rows
    from babelscope.util.progress import progress

    teachers, students = distilled or [], student or []
    if students and len(students) != len(teachers):
        raise BabelscopeError(
            f"each student needs its teacher's data: there are {len(teachers)} --distilled "
            f"and {len(students)} --student"
        )
    stages = ["data", *(["distilled"] if teachers else []), *(["student"] if students else [])]
    if svg is not None and len(stages) == 1:
        raise BabelscopeError("a Sankey diagram needs --distilled, or --distilled and --student")
    check_outputs(
        {"--flows": flows, "--svg": svg, "--to": to}, inputs=[source, data, words, *teachers, *students]
    )
    queries = read_queries(words)
    versions: list[tuple[Path, ...]] = (
        list(zip(teachers, students, strict=True)) if students else [(each,) for each in teachers]
    )
    models = []
    with progress("counting words", len(versions) or 1) as advance:
        for rest in versions or [()]:
            models.append(find_occurrences(source, dict(zip(stages, (data, *rest), strict=True)), queries))
            advance(1)
    found = mean_flows(models, stages)
    rows = shift_rows(models, stages)
    with contextlib.ExitStack() as after, output(to, figures(as_json)) as write:
        if flows is not None:
            lines = [json.dumps(found, ensure_ascii=False, indent=1)]
            after.callback(write_file, flows, Form.JSON, lines)
        if svg is not None:
            after.callback(write_file, svg, Form.LINES, [_picture(found, stages, len(models[0]))])
        for row in rows if as_json else ():
            write(as_line(row.as_json()))
        if not as_json:
            write(render(rows, width_for(to)))


def _picture(flows: list[tuple[str, str, float]], stages: list[str], total: int) -> str:
    from babelscope.methods.patterns.flow import merge_words
    from babelscope.report.sankey import sankey

    moved = merge_words(flows, stages)
    nodes = dict.fromkeys(name for start, end, _ in moved for name in (start, end))
    classes = list(dict.fromkeys(name.partition("_")[2] for name in nodes))
    coloured = [name for name in classes if name not in ("neutral", "other")]
    colours = dict(zip(coloured, _COLOURS, strict=False))
    shares = "; ".join(f"{start} to {end}: {count / total:.1%}" for start, end, count in moved)
    return sankey(
        moved,
        title=f"{', '.join(coloured)}: from {' to '.join(stages)}",
        description=f"Of {total:,} occurrences, {shares}",
        labels={name: name.partition("_")[2] for name in nodes},
        colours={name: colours.get(name.partition("_")[2], "currentColor") for name in nodes},
        headings=stages,
    )
