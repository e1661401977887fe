"""`babelscope translate`: lines in, translations out."""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from babelscope.cli.common import (
    AsJson,
    Cache,
    Form,
    Seed,
    Systems,
    ToFile,
    Tokenize,
    Yes,
    as_line,
    ask_lines,
    check_beam,
    open_systems,
    output,
    read_sources,
)
from babelscope.cli.shell import answers_kept, refuse_unused, telling_what_is_kept, typed_options
from babelscope.util.errors import BabelscopeError
from babelscope.util.outputs import check_outputs
from babelscope.util.text import shorten, text_fault

if TYPE_CHECKING:
    from babelscope.core.answers import Scored

_Answer = tuple[str, "list[Scored] | str", Mapping[str, Any]]
"""A source, its translations or why there are none, and what JSON has beside them."""
_Find = Callable[[Any, Sequence[str], Path], Iterator[_Answer]]


_OF_RISK = ("metric", "tokenize", "samples", "epsilon", "aggregate", "seed", "yes")


def translate(
    context: typer.Context,
    system: Systems,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Sources, one a line; - is stdin.")] = Path(
        "-"
    ),
    beam: Annotated[int, typer.Option(min=1, help="Size of the beam.")] = 5,
    n_best: Annotated[int, typer.Option(min=1, help="Translations a source, separated by tabs.")] = 1,
    decode: Annotated[
        Literal["beam", "mbr"],
        typer.Option(help="By beam search, or by minimum Bayes risk among samples."),
    ] = "beam",
    metric: Annotated[str, typer.Option(metavar="METRIC", help="The utility of --decode mbr.")] = "chrf",
    samples: Annotated[int, typer.Option(min=1, help="Samples of --decode mbr.")] = 100,
    epsilon: Annotated[
        float, typer.Option(help="Of --decode mbr: draw from tokens of at least this probability.")
    ] = 0,
    aggregate: Annotated[
        int, typer.Option(min=0, metavar="PARTS", help="Of --decode mbr, see `babelscope mbr`.")
    ] = 0,
    tokenize: Tokenize = "",
    seed: Seed = 0,
    as_json: AsJson = False,
    to: ToFile = None,
    cache: Cache = None,
    yes: Yes = False,
) -> None:
    """Translate lines of text. With several systems, each line begins with the system and a tab."""
    from babelscope.systems.opening import find_scheme
    from babelscope.util.progress import progress

    by_risk = decode == "mbr"
    refuse_unused(
        context,
        dict.fromkeys(_OF_RISK, None if by_risk else "--decode mbr")
        | dict.fromkeys(("beam", "n_best"), "beam search" if by_risk else None),
    )
    if "beam" in typed_options(context):
        check_beam(system)
    if n_best > beam and any(find_scheme(spec).beam for spec in system):
        raise BabelscopeError(f"a beam of {beam} has no {n_best} best translations; say --beam {n_best}")
    check_outputs({"--to": to}, inputs=[file, *system, *([metric, tokenize] if by_risk else [])])
    find: _Find = functools.partial(_by_beam, beam=max(beam, n_best), n_best=n_best)
    if by_risk:
        find = _by_risk(
            metric, samples, seed=seed, epsilon=epsilon, parts=aggregate, yes=yes, tokenize=tokenize
        )
    sources = read_sources(file)
    opened = open_systems(system, cache=cache)
    notes: Counter[str] = Counter()
    unanswered = 0
    with (
        telling_what_is_kept(answers_kept(cache)),
        output(to, Form.JSON if as_json else Form.LINES) as write,
        progress("translating", len(opened) * len(sources)) as advance,
    ):
        for name, each in opened.items():
            leading = [name] if len(opened) > 1 else []
            for source, answers, more in find(each, sources, file):
                told = {"system": name, "source": source}
                if isinstance(answers, str):
                    unanswered += 1
                    row = {**told, "translations": [], "unanswered": answers}
                    write(as_line(row) if as_json else "" if not leading else f"{name}\t")
                elif as_json:
                    write(as_line({**told, "translations": [described(own) for own in answers], **more}))
                else:
                    write("\t".join([*leading, *map(one_line, answers)]))
                if not isinstance(answers, str):
                    notes.update(note for answer in answers for note in answer.notes)
                advance(1)
    tell_notes("translations", notes)
    tell_end("translated", sources, opened, unanswered)


def _by_beam(system: Any, sources: Sequence[str], file: Path, *, beam: int, n_best: int) -> Iterator[_Answer]:
    from babelscope.systems.asking import ask_translate
    from babelscope.systems.holding import hold_sources
    from babelscope.systems.opening import require

    require(system, "translate", what_for="translate")
    held = hold_sources(system, str(file), sources)
    ask = functools.partial(ask_translate, held, beam=beam, n_best=n_best)
    for source, answers in ask_lines(sources, ask, {"source": file}):
        yield source, answers, {}


def _by_risk(
    metric: str, n: int, *, seed: int, epsilon: float, parts: int, yes: bool, tokenize: str
) -> _Find:
    """Translations of least Bayes risk, with their expected utilities for JSON."""
    from babelscope.core.answers import Drawing
    from babelscope.systems.risk import Sources, decoding_by

    drawing = Drawing(epsilon=epsilon)
    decoding = decoding_by([metric], yes=yes, tokenize=tokenize, n=n, seed=seed, drawing=drawing, parts=parts)

    def find(system: Any, sources: Sequence[str], file: Path) -> Iterator[_Answer]:
        ask_batches: Any = functools.partial(ask_lines, files={"source": file})
        for source, candidates in decoding.candidates(system, Sources.of_lines(file, sources), ask_batches):
            if isinstance(candidates, str):
                yield source, candidates, {}
                continue
            [own] = decoding.decide(system, source, candidates).values()
            yield source, [own.answer], {"utility": own.choice.utility, "n": own.choice.n, "metric": metric}

    return find


def tell_end(what: str, sources: Sequence[str], systems: Iterable[str], unanswered: int) -> None:
    """On a terminal, say on stderr what was done, in a line."""
    if sys.stderr.isatty():
        lines = f"{len(sources):,} {'line' if len(sources) == 1 else 'lines'}"
        missing = f"; {unanswered:,} answers are missing" if unanswered else ""
        print(f"babelscope: {lines} {what} by {', '.join(systems)}{missing}", file=sys.stderr)


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

    sums = {"total": answer.total, "mean": answer.mean} if answer.has_total else {}
    return {**scored_as_json(answer), **{key: finite_or_none(value) for key, value in sums.items()}}
