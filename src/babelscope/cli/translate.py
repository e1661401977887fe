"""`babelscope translate`: lines in, translations out."""

from __future__ import annotations

import functools
import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    file_option,
    open_systems,
    output,
    read_sources,
)
from babelscope.cli.shell import answers_kept, refuse_unused, telling_what_is_kept, typed_options
from babelscope.systems.mbr import SAMPLES_AT_ONCE, Decision, Sources, Weights, decoding_by, result_of
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import check_outputs
from babelscope.util.text import shorten, text_fault

if TYPE_CHECKING:
    from babelscope.core.system import Scored
    from babelscope.metrics.base import Metric

_Answer = tuple[str, "list[Scored] | str", Mapping[str, Any]]
"""A source, its translations or why there are none, and what JSON has beside them."""
_Find = Callable[[Any, Sequence[str], Path], Iterator[_Answer]]


_OF_RISK = ("metric", "tokenize", "samples", "epsilon", "aggregate", "seed", "yes")


def translate(
    context: typer.Context,
    system: Systems,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Sources, one per line; - is stdin.")] = Path(
        "-"
    ),
    beam: Annotated[int, typer.Option(min=1, help="Size of the beam.")] = 5,
    n_best: Annotated[int, typer.Option(min=1, help="Translations per source, separated by tabs.")] = 1,
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
    from babelscope.systems.registry import find_scheme

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
    _write_answers(
        opened, sources, file, find, "translations", ("translating", "translated"), to, cache, as_json=as_json
    )


def _write_answers(
    opened: Mapping[str, Any],
    sources: Sequence[str],
    file: Path,
    find: _Find,
    kind: str,
    doing: tuple[str, str],
    to: Path | None,
    cache: bool | None,
    *,
    as_json: bool,
) -> None:
    """Ask each system about each source and write a line of answers; then report notes and missing answers."""
    from babelscope.util.progress import progress

    notes: Counter[str] = Counter()
    unanswered = 0
    with (
        telling_what_is_kept(answers_kept(cache)),
        output(to, Form.JSON if as_json else Form.LINES) as write,
        progress(doing[0], len(opened) * len(sources)) as advance,
    ):
        for name, each in opened.items():
            leading = [name] if len(opened) > 1 else []
            for source, answers, more in find(each, sources, file):
                told = {"system": name, "source": source}
                if isinstance(answers, str):
                    unanswered += 1
                    row: dict[str, Any] = {**told, kind: [], "unanswered": answers}
                    write(as_line(row) if as_json else "\t".join([*leading, ""]))
                else:
                    notes.update(note for answer in answers for note in answer.notes)
                    row = {**told, kind: [described(own) for own in answers], **more} if as_json else {}
                    write(as_line(row) if as_json else "\t".join([*leading, *map(one_line, answers)]))
                advance(1)
    tell_notes(kind, notes)
    if sys.stderr.isatty():
        lines = f"{len(sources):,} {'line' if len(sources) == 1 else 'lines'}"
        missing = f"; {unanswered:,} answers are missing" if unanswered else ""
        print(f"babelscope: {lines} {doing[1]} by {', '.join(opened)}{missing}", file=sys.stderr)


def _by_beam(system: Any, sources: Sequence[str], file: Path, *, beam: int, n_best: int) -> Iterator[_Answer]:
    from babelscope.systems.contract import ask_translate
    from babelscope.systems.registry import require
    from babelscope.systems.stored.alignment import align_to_sources

    require(system, "translate", what_for="translate")
    held = align_to_sources(system, str(file), sources)
    ask = functools.partial(ask_translate, held, beam=beam, n_best=n_best)
    for source, answers in ask_lines(sources, ask, {"source": file}):
        yield source, answers, {}


def _by_risk(
    metric: str, n: int, *, seed: int, epsilon: float, parts: int, yes: bool, tokenize: str
) -> _Find:
    """Translations of least Bayes risk, with their expected utilities for JSON."""
    from babelscope.core.system import Drawing

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
    from babelscope.systems.contract import scored_as_json

    sums = {"total": answer.total, "mean": answer.mean} if answer.has_total else {}
    return {**scored_as_json(answer), **{key: finite_or_none(value) for key, value in sums.items()}}


Temperature = Annotated[float, typer.Option(help="Divides log-probabilities; 1 is the model itself.")]
TopK = Annotated[int, typer.Option(help="Draw from the so many most probable tokens; 0: all.")]
TopP = Annotated[float, typer.Option(help="Draw from the most probable tokens of this mass; 1: all.")]
Epsilon = Annotated[float, typer.Option(help="Draw from tokens of at least this probability.")]
MaxLength = Annotated[int, typer.Option(help="Tokens at most; 0: the system's own limit.")]


def sample(
    system: Systems,
    source: Annotated[Path, file_option("Sources, one per line; - is stdin.")],
    n: Annotated[int, typer.Option("--n", min=1, help="Samples per source, separated by tabs.")] = 200,
    seed: Seed = 0,
    temperature: Temperature = 1,
    top_k: TopK = 0,
    top_p: TopP = 1,
    epsilon: Epsilon = 0,
    max_length: MaxLength = 0,
    as_json: AsJson = False,
    to: ToFile = None,
    cache: Cache = None,
) -> None:
    """Draw translations at random, in the order drawn. A source's samples depend on it and the seed only.

    Samples that did not end within the limit are kept and counted. With several systems, each line begins with the
    system and a tab.
    """
    from babelscope.core.system import Drawing
    from babelscope.systems.contract import ask_sample

    drawing = Drawing(temperature, top_k, top_p, epsilon, max_length)
    check_outputs({"--to": to}, inputs=[source, *system])
    sources = read_sources(source)
    opened = open_systems(system, "sample", cache=cache, what_for="sample")

    def find(asked: Any, sources: Sequence[str], file: Path) -> Iterator[_Answer]:
        ask = functools.partial(ask_sample, asked, n=n, seed=seed, drawing=drawing)
        at_once = max(1, SAMPLES_AT_ONCE // n)
        for text, drawn in ask_lines(sources, ask, {"source": file}, at_once=at_once):
            unfinished = sum("unfinished" in each.notes for each in drawn if not isinstance(each, str))
            yield text, drawn, {"n": n, "seed": seed, "unfinished": unfinished}

    _write_answers(
        opened,
        sources,
        source,
        find,
        "samples",
        ("sampling", f"sampled {n} times each"),
        to,
        cache,
        as_json=as_json,
    )


_HEADING = ("utility", "n", "distinct", "translation")

Utilities = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="METRIC",
        help="The utility: chrf, chrf++, bleu, ter, ribes, comet, cmd:COMMAND...; may be repeated, a line each. "
        "(Default: chrf.)",
    ),
]
Aggregate = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="PARTS",
        help="Compare with the mean n-gram counts of so many parts of the candidates, in linear time (chrf, chrf++); "
        "0: with each of them.",
    ),
]


def _sources(file: Path | None, tests: str, metrics: Sequence[Metric]) -> Sources:
    """The lines of a file, or the sources of a test set; they must be known to metrics that read them."""
    from babelscope.testsets import Dependency, load
    from babelscope.testsets.items import NO_SOURCE

    if file is not None and not tests:
        return Sources.of_lines(file, read_sources(file))
    if file is not None or not tests:
        raise BabelscopeError("mbr needs --source FILE or --tests TESTS, one of the two")
    items = [item for item in load(tests) if not isinstance(item, Dependency)]
    read = [metric.name for metric in metrics if metric.reads_sources]
    if read and any(NO_SOURCE in item.extra for item in items):
        raise BabelscopeError(f"{read[0]} may need the sources, and {tests} has none; say --source FILE")
    languages = frozenset(item.target_language or "" for item in items)
    return Sources(Path(tests), [item.source for item in items], [item.id for item in items], languages)


def mbr(
    system: Systems,
    source: Annotated[Path | None, file_option("Sources, one per line; - is stdin.")] = None,
    tests: Annotated[
        str, typer.Option(metavar="TESTS", help="A test set, whose sources are taken instead.")
    ] = "",
    metric: Utilities = None,
    n: Annotated[int, typer.Option("--n", min=1, help="Samples per source, or hypotheses of a list.")] = 100,
    tokenize: Tokenize = "",
    aggregate: Aggregate = 0,
    weights: Annotated[
        Weights | None,
        typer.Option(
            help="What a candidate counts as reference: as often as it is there (samples), or its probability "
            "within the list (lists that have log-probabilities)."
        ),
    ] = None,
    seed: Seed = 0,
    temperature: Temperature = 1,
    top_k: TopK = 0,
    top_p: TopP = 1,
    epsilon: Epsilon = 0,
    max_length: MaxLength = 0,
    as_json: AsJson = False,
    to: ToFile = None,
    cache: Cache = None,
    yes: Yes = False,
) -> None:
    """Choose the translation of least Bayes risk. Among samples, or among a list made elsewhere (lists:, file:).

    One line per source: the expected utility on the metric's own scale (negated where lower is better), candidates,
    different ones, the translation. It begins with the system and the metric where there are several.
    """
    from babelscope.core.system import Drawing
    from babelscope.util.progress import progress

    names = list(dict.fromkeys(metric or ["chrf"]))
    check_outputs({"--to": to}, inputs=[source, tests, *system, *names, tokenize])
    drawing = Drawing(temperature, top_k, top_p, epsilon, max_length)
    decoding = decoding_by(
        names, yes=yes, tokenize=tokenize, n=n, seed=seed, drawing=drawing, parts=aggregate, weights=weights
    )
    asked_about = _sources(source, tests, decoding.metrics)
    if not tokenize:
        decoding = decoding.for_languages(asked_about.languages)
    opened = open_systems(system, cache=cache)
    several = (len(opened) > 1, len(decoding.metrics) > 1)
    notes: Counter[str] = Counter()
    decided: dict[str, list[tuple[str, Mapping[str, Decision]]]] = {name: [] for name in opened}
    ask_batches: Any = functools.partial(ask_lines, files={"source": asked_about.path})
    with (
        telling_what_is_kept(answers_kept(cache)),
        output(to, Form.JSON if as_json else Form.LINES) as write,
        progress("decoding", len(opened) * len(asked_about.texts)) as advance,
    ):
        heading = (
            [] if as_json else ["\t".join([*itertools.compress(("system", "metric"), several), *_HEADING])]
        )
        for name, each in opened.items():
            for asked, candidates in decoding.candidates(each, asked_about, ask_batches):
                while heading:  # not before the first system is known to have candidates
                    write(heading.pop())
                found: Mapping[str, Decision] = {}
                if not isinstance(candidates, str):
                    notes.update(note for own in candidates for note in own.notes if note != "whole")
                    found = decoding.decide(each, asked, candidates)
                    decided[name].append((asked, found))
                for by in (own.name for own in decoding.metrics):
                    told = {"system": name, "source": asked, "metric": by}
                    leading = list(itertools.compress((name, by), several))
                    write(_line(told, found.get(by) or str(candidates), aggregate, leading, as_json))
                advance(1)
        result = result_of(decoding, opened, asked_about.texts, decided)
        for row in result.rows if as_json else ():
            write(as_line({**row.as_json(), "signature": result.signature}))
    tell_notes("candidates", notes)
    _tell_single(decided)
    if not as_json:
        print(result, file=sys.stderr)


def _tell_single(decided: Mapping[str, Sequence[tuple[str, Mapping[str, Decision]]]]) -> None:
    """Say how many sources had nothing to choose among: a candidate alone is compared with itself."""
    for name, answers in decided.items():
        alone = sum(any(found.choice.n == 1 for found in own.values()) for _, own in answers)
        if alone:
            print(
                f"babelscope: {name} has a single candidate for {alone} of {len(answers)} sources: nothing is chosen "
                "there, and its expected utility is that of a text compared with itself",
                file=sys.stderr,
            )


def _line(told: dict[str, Any], found: Decision | str, parts: int, leading: list[str], as_json: bool) -> str:
    """What was chosen for a source, or why nothing was, after what is told of it."""
    if isinstance(found, str):
        missing = {**told, "translation": None, "unanswered": found}
        return as_line(missing) if as_json else "\t".join([*leading, *"---", ""])
    choice = found.choice
    if not as_json:
        figures = [f"{choice.utility:.4f}", str(choice.n), str(choice.distinct)]
        return "\t".join([*leading, *figures, one_line(found.answer)])
    told |= {"translation": described(found.answer), "utility": choice.utility, "n": choice.n}
    how = {"tied": choice.tied, "weights": found.weights.value, "aggregate": parts}
    return as_line({**told, "distinct": choice.distinct, **how})
