"""`babelscope flow`: translations of words in training data, by a teacher and by its students."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from babelscope.cli.common import (
    AsJson,
    Form,
    draw_chart,
    file_option,
    option,
    setting,
    write_file,
    write_rows,
)
from babelscope.cli.shell import refuse_unused
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import check_outputs

if TYPE_CHECKING:
    from babelscope.core.charts import Chart
    from babelscope.core.results import Row
    from babelscope.making.counts import Flow as Counted


def flow(
    context: typer.Context,
    source: Annotated[Path | None, file_option("Sources, one per line.")] = None,
    target: Annotated[Path | None, file_option("Their translations in the training data.")] = None,
    words: Annotated[
        str,
        option(
            "Words to count: lab:occupations, lab:senses, or a JSON file {word: {src_forms: [...], "
            "tgt_forms_CLASS: [...], ...}}.",
            metavar="QUERIES",
        ),
    ] = "",
    distilled: Annotated[
        list[Path] | None, file_option("A teacher's translations; repeatable, one per seed.")
    ] = None,
    student: Annotated[
        list[Path] | None, file_option("A student's translations; one per --distilled, in the same order.")
    ] = None,
    counts: Annotated[
        Path | None,
        option(
            "Read rows [from, to, count] (released, or written by --flows) instead of text.",
            metavar="FILE.json",
        ),
    ] = None,
    word: Annotated[
        list[str] | None,
        setting(
            "Only this word; repeatable. figure-4: the 24 occupations of the paper's figure.",
            metavar="NAME",
        ),
    ] = None,
    by_word: Annotated[
        bool,
        setting("Draw the words as a column of --svg."),
    ] = False,
    flows: Annotated[Path | None, file_option("Write rows [from, to, count] as JSON.")] = None,
    svg: Annotated[Path | None, file_option("Draw a Sankey diagram: .svg, .pdf or .png.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show how words are translated in training data, by a teacher and by its students.

    Counts known forms in translations of the same sources (conditioning paper, appendix A and figure 4).
    """
    from babelscope.making.flows import choose_words, read_counts, share_rows

    _check_inputs(context, source, target, words, counts)
    refuse_unused(context, {"by_word": None if svg is not None else "the diagram of --svg"})
    teachers, students = distilled or [], student or []
    check_outputs(
        {"--flows": flows, "--svg": svg},
        inputs=[source, target, words, counts, *teachers, *students],
    )
    if counts is not None:
        every, stages = read_counts(counts)
        found = choose_words(every, word or [])
        rows = share_rows(found, stages)
    else:
        found, rows, stages = _of_text(
            source or Path(), target or Path(), words, teachers, students, word or []
        )
    if svg is not None and len(stages) == 1 and not by_word:
        raise BabelscopeError(
            "a Sankey diagram needs --distilled, or --distilled and --student, or --set by_word=yes"
        )
    with contextlib.ExitStack() as after:
        if flows is not None:
            lines = [json.dumps(found, ensure_ascii=False, indent=1)]
            after.callback(write_file, flows, Form.JSON, lines)
        if svg is not None:
            after.callback(draw_chart(svg, _chart(found, stages, by_word=by_word)))
        write_rows(rows, as_json=as_json)


def _check_inputs(
    context: typer.Context, source: Path | None, target: Path | None, words: str, counts: Path | None
) -> None:
    """Refuse anything but either text to count or counts."""
    if (counts is None) == (source is None or target is None or not words):
        raise BabelscopeError("flow needs --source, --target and --words, or --counts")
    of_text = ("source", "target", "words", "distilled", "student")
    refuse_unused(context, dict.fromkeys(of_text, None if counts is None else "text, not --counts"))


def _of_text(
    source: Path, target: Path, words: str, teachers: list[Path], students: list[Path], chosen: list[str]
) -> tuple[list[Counted], list[Row], list[str]]:
    """Mean flows, rows (shares and changes) and stages, counted in line-parallel text."""
    from babelscope.making.flows import (
        choose_words,
        find_occurrences,
        mean_flows,
        read_queries,
        shift_rows,
    )
    from babelscope.util.progress import progress

    if students and len(students) != len(teachers):
        raise BabelscopeError(
            f"each student needs its teacher's data: there are {len(teachers)} --distilled "
            f"and {len(students)} --student"
        )
    stages = ["data", *(["distilled"] if teachers else []), *(["student"] if students else [])]
    queries = read_queries(words)
    versions: list[tuple[Path, ...]] = (
        list(zip(teachers, students, strict=True)) if students else [(each,) for each in teachers]
    )
    models = []
    with progress("counting words", len(versions) or 1) as advance:
        for rest in versions or [()]:
            models.append(find_occurrences(source, dict(zip(stages, (target, *rest), strict=True)), queries))
            advance(1)
    found = choose_words(mean_flows(models, stages), chosen)
    known = {start for start, *_ in found}
    kept = [[each for each in own if each.word in known] for own in models]
    return found, shift_rows(kept, stages), stages


def _chart(flows: list[Counted], stages: list[str], *, by_word: bool) -> Chart:
    """A Sankey diagram of the classes from stage to stage, with "other" in the middle."""
    from babelscope.core.charts import Chart, Flow
    from babelscope.making.flows import WORD_NODE, flows_by_word, merge_words

    moved = flows_by_word(flows, stages) if by_word else merge_words(flows, stages)
    in_words = {start: start.removeprefix(WORD_NODE) for start, *_ in moved if start.startswith(WORD_NODE)}
    nodes = dict.fromkeys(name for start, end, _ in moved for name in (start, end))
    classes = sorted({_class(name) for name in nodes if name not in in_words})
    colored = [name for name in classes if name != "other"]
    ordered = [*colored[:1], *(name for name in classes if name == "other"), *colored[1:]]
    drawing = Flow(
        moved,
        {name: in_words.get(name, _class(name)) for name in nodes},
        {
            name: colored.index(_class(name))
            for name in nodes
            if name not in in_words and _class(name) in colored
        },
        [*([""] if by_word else []), *stages],
        [*in_words, *(f"{stage}_{name}" for stage in stages for name in ordered)],
    )
    return Chart(f"{', '.join(colored)}: from {' to '.join(stages)}", drawing, "")


def _class(node: str) -> str:
    return node.partition("_")[2]
