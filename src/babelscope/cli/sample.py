"""`babelscope sample`: what a system would say if asked again and again."""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from babelscope.cli.common import (
    AsJson,
    Cache,
    Form,
    Seed,
    Systems,
    ToFile,
    as_line,
    ask_lines,
    file_option,
    open_systems,
    output,
    read_sources,
)
from babelscope.cli.shell import answers_kept, telling_what_is_kept
from babelscope.cli.translate import described, one_line, tell_end, tell_notes
from babelscope.systems.risk import SAMPLES_AT_ONCE
from babelscope.util.outputs import check_outputs

Temperature = Annotated[float, typer.Option(help="Divides log-probabilities; 1 is the model itself.")]
TopK = Annotated[int, typer.Option(help="Draw from the so many most probable tokens; 0: all.")]
TopP = Annotated[float, typer.Option(help="Draw from the most probable tokens of this mass; 1: all.")]
Epsilon = Annotated[float, typer.Option(help="Draw from tokens of at least this probability.")]
MaxLength = Annotated[int, typer.Option(help="Tokens at most; 0: the system's own limit.")]


def sample(
    system: Systems,
    source: Annotated[Path, file_option("Sources, one a line; - is stdin.")],
    n: Annotated[int, typer.Option("--n", min=1, help="Samples a source, separated by tabs.")] = 200,
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
    from babelscope.core.answers import Drawing
    from babelscope.systems.asking import ask_sample
    from babelscope.util.progress import progress

    drawing = Drawing(temperature, top_k, top_p, epsilon, max_length)
    check_outputs({"--to": to}, inputs=[source, *system])
    sources = read_sources(source)
    opened = open_systems(system, "sample", cache=cache, what_for="sample")
    notes: Counter[str] = Counter()
    unanswered = 0
    form = Form.JSON if as_json else Form.LINES
    with (
        telling_what_is_kept(answers_kept(cache)),
        output(to, form) as write,
        progress("sampling", len(opened) * len(sources)) as advance,
    ):
        for name, each in opened.items():
            ask = functools.partial(ask_sample, each, n=n, seed=seed, drawing=drawing)
            at_once = max(1, SAMPLES_AT_ONCE // n)
            for asked, drawn in ask_lines(sources, ask, {"source": source}, at_once=at_once):
                if isinstance(drawn, str):
                    unanswered += 1
                    told = {"system": name, "source": asked, "samples": [], "unanswered": drawn}
                    write(as_line(told) if as_json else "" if len(opened) == 1 else f"{name}\t")
                    advance(1)
                    continue
                notes.update(note for answer in drawn for note in answer.notes)
                if as_json:
                    row: dict[str, Any] = {"system": name, "source": asked, "n": n, "seed": seed}
                    row["unfinished"] = sum("unfinished" in answer.notes for answer in drawn)
                    row["samples"] = [described(answer) for answer in drawn]
                    write(as_line(row))
                else:
                    write("\t".join([*([name] if len(opened) > 1 else []), *map(one_line, drawn)]))
                advance(1)
    tell_notes("samples", notes)
    tell_end(f"sampled {n} times each", sources, opened, unanswered)
