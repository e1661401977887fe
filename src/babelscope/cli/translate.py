"""`babelscope translate`: lines in, translations out."""

from __future__ import annotations

import functools
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from babelscope.cli.common import (
    AsJson,
    Cache,
    Form,
    Systems,
    ToFile,
    as_line,
    ask_lines,
    check_beam,
    open_systems,
    output,
    read_sources,
)
from babelscope.cli.shell import answers_kept, formerly, telling_what_is_kept, typed_options
from babelscope.util.errors import BabelscopeError
from babelscope.util.outputs import check_outputs
from babelscope.util.text import shorten, text_fault

if TYPE_CHECKING:
    from babelscope.core.answers import Scored


@formerly({"out": "to"})
def translate(
    context: typer.Context,
    system: Systems,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Sources, one a line; - is stdin.", show_default=False)
    ] = Path("-"),
    beam: Annotated[int, typer.Option(min=1, help="Size of the beam.")] = 5,
    n_best: Annotated[int, typer.Option(min=1, help="Translations a source, separated by tabs.")] = 1,
    as_json: AsJson = False,
    to: ToFile = None,
    cache: Cache = None,
) -> None:
    """Translate lines of text. With several systems, each line begins with the system and a tab."""
    from babelscope.systems.asking import ask_translate
    from babelscope.systems.holding import hold_sources
    from babelscope.systems.opening import find_scheme, require
    from babelscope.util.progress import progress

    if "beam" in typed_options(context):
        check_beam(system)
    if n_best > beam and any(find_scheme(spec).beam for spec in system):
        raise BabelscopeError(f"a beam of {beam} has no {n_best} best translations; say --beam {n_best}")
    check_outputs({"--to": to}, inputs=[file, *system])
    sources = read_sources(file)
    opened = open_systems(system, cache=cache)
    for each in opened.values():
        require(each, "translate", what_for="translate")
    notes: Counter[str] = Counter()
    form = Form.JSON if as_json else Form.LINES
    with (
        telling_what_is_kept(answers_kept(cache)),
        output(to, form) as write,
        progress("translating", len(opened) * len(sources)) as advance,
    ):
        for name, each in opened.items():
            held = hold_sources(each, str(file), sources)
            ask = functools.partial(ask_translate, held, beam=max(beam, n_best), n_best=n_best)
            for source, answers in ask_lines(sources, ask, {"source": file}):
                if isinstance(answers, str):
                    empty = "" if len(opened) == 1 else f"{name}\t"
                    row = {"system": name, "source": source, "translations": [], "unanswered": answers}
                    write(as_line(row) if as_json else empty)
                    advance(1)
                    continue
                notes.update(note for answer in answers for note in answer.notes)
                if as_json:
                    rows = [described(answer) for answer in answers]
                    write(as_line({"system": name, "source": source, "translations": rows}))
                else:
                    write("\t".join([*([name] if len(opened) > 1 else []), *map(one_line, answers)]))
                advance(1)
    tell_notes("translations", notes)


def tell_notes(what: str, notes: Counter[str]) -> None:
    """Say on stderr how many answers came with which note."""
    if notes:
        told = ", ".join(f"{count} {note}" for note, count in sorted(notes.items()))
        print(f"babelscope: {what} with notes: {told}", file=sys.stderr)


def one_line(answer: Scored) -> str:
    """A translation as a line; one that is none would shift all lines after it."""
    if fault := text_fault(answer.text):
        raise BabelscopeError(f"a translation {fault}: {shorten(answer.text)}; use --json")
    return answer.text


def described(answer: Scored) -> dict[str, Any]:
    """An answer as JSON, with the sum and the mean of its log-probabilities."""
    from babelscope.core.results import finite_or_none
    from babelscope.systems.asking import scored_as_json

    sums = {"total": answer.total, "mean": answer.mean} if answer.has_scores else {}
    return {**scored_as_json(answer), **{key: finite_or_none(value) for key, value in sums.items()}}
