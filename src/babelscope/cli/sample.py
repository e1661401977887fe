"""`babelscope sample`: what a system would say if asked again and again."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
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
    open_systems,
    output,
    read_sources,
)
from babelscope.cli.shell import answers_kept, formerly, telling_what_is_kept
from babelscope.cli.translate import described, one_line, tell_end, tell_notes
from babelscope.systems.risk import SAMPLES_AT_ONCE
from babelscope.util.outputs import check_outputs

if TYPE_CHECKING:
    from babelscope.core.answers import Scored
    from babelscope.metrics.mbr import MbrChoice

Temperature = Annotated[float, typer.Option(help="Divides log-probabilities; 1 is the model itself.")]
TopK = Annotated[int, typer.Option(help="Draw from the so many most probable tokens; 0: all.")]
TopP = Annotated[float, typer.Option(help="Draw from the most probable tokens of this mass; 1: all.")]
Epsilon = Annotated[float, typer.Option(help="Draw from tokens of at least this probability.")]
MaxLength = Annotated[int, typer.Option(help="Tokens at most; 0: the system's own limit.")]


@formerly({"out": "to"})
def sample(
    system: Systems,
    source: Annotated[Path, typer.Option(metavar="FILE", help="Sources, one a line; - is stdin.")],
    n: Annotated[int, typer.Option("--n", min=1, help="Samples a source, separated by tabs.")] = 200,
    seed: Seed = 0,
    temperature: Temperature = 1,
    top_k: TopK = 0,
    top_p: TopP = 1,
    epsilon: Epsilon = 0,
    max_length: MaxLength = 0,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC",
            help="Write the sample of least Bayes risk by it (chrf, bleu, cmd:COMMAND...) instead; may be repeated.",
        ),
    ] = None,
    tokenize: Tokenize = "",
    as_json: AsJson = False,
    to: ToFile = None,
    cache: Cache = None,
    yes: Yes = False,
) -> None:
    """Draw translations at random, in the order drawn. A source's samples depend on it and the seed only.

    Samples that did not end within the limit are kept and counted. With several systems, each line begins with the
    system and a tab. With --metric, a line has one sample a metric; JSON has all of them, and the choices by metric.
    """
    from babelscope.core.answers import Drawing
    from babelscope.metrics.mbr import expected_utility, mbr_decode
    from babelscope.metrics.preparing import prepare_metrics
    from babelscope.systems.asking import ask_sample
    from babelscope.systems.opening import require
    from babelscope.util.progress import progress

    drawing = Drawing(temperature, top_k, top_p, epsilon, max_length)
    check_outputs({"--to": to}, inputs=[source, *system, *(metric or ()), tokenize])
    metrics = prepare_metrics(metric or (), yes=yes, tokenize=tokenize)
    for by in metrics:
        expected_utility(by)  # what is no utility is told before anything is drawn
    sources = read_sources(source)
    opened = open_systems(system, cache=cache)
    for each in opened.values():
        require(each, "sample", what_for="sample")
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
                texts = [answer.text for answer in drawn]
                chosen = {by.name: mbr_decode(texts, expected_utility(by, source=asked)) for by in metrics}
                if as_json:
                    row = {"system": name, "source": asked, "n": n, "seed": seed}
                    write(as_line({**row, **_as_json(drawn, chosen)}))
                else:
                    shown = [drawn[choice.number] for choice in chosen.values()] if chosen else drawn
                    write("\t".join([*([name] if len(opened) > 1 else []), *map(one_line, shown)]))
                advance(1)
    tell_notes("samples", notes)
    tell_end(f"sampled {n} times each", sources, opened, unanswered)


def _as_json(drawn: Sequence[Scored], chosen: Mapping[str, MbrChoice]) -> dict[str, Any]:
    """The samples of a source, and which of them was chosen by each metric."""
    choices = {"chosen": {metric: asdict(choice) for metric, choice in chosen.items()}} if chosen else {}
    return {
        "unfinished": sum("unfinished" in answer.notes for answer in drawn),
        "samples": [described(answer) for answer in drawn],
        **choices,
    }
