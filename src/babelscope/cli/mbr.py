"""`babelscope mbr`: the translation of least Bayes risk among samples, or among the hypotheses of a given list."""

from __future__ import annotations

import functools
import itertools
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    file_option,
    open_systems,
    output,
    read_sources,
)
from babelscope.cli.sample import Epsilon, MaxLength, Temperature, TopK, TopP
from babelscope.cli.shell import answers_kept, telling_what_is_kept
from babelscope.cli.translate import described, one_line, tell_notes
from babelscope.systems.risk import Decision, Sources, Weights, decoding_by, result_of
from babelscope.util.errors import BabelscopeError
from babelscope.util.outputs import check_outputs

if TYPE_CHECKING:
    from babelscope.metrics.base import Metric

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
    source: Annotated[Path | None, file_option("Sources, one a line; - is stdin.")] = None,
    tests: Annotated[
        str, typer.Option(metavar="TESTS", help="A test set, whose sources are taken instead.")
    ] = "",
    metric: Utilities = None,
    n: Annotated[int, typer.Option("--n", min=1, help="Samples a source, or hypotheses of a list.")] = 100,
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

    A line a source: the expected utility on the metric's own scale (negated where lower is better), candidates,
    different ones, the translation. It begins with the system and the metric where there are several.
    """
    from babelscope.core.answers import Drawing
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
