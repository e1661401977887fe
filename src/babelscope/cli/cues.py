"""`babelscope make cues`: words that tell the senses of ambiguous words apart, put into their sources."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from babelscope.cli.common import (
    Form,
    Seed,
    ToFile,
    as_line,
    file_option,
    open_systems,
    output,
    paragraph,
    write_file,
)
from babelscope.cli.going_on import going_on
from babelscope.cli.shell import formerly, refuse_unused
from babelscope.util.outputs import check_outputs

if TYPE_CHECKING:
    from babelscope.making.cue_search import CuedTestSet


@formerly({"out": "to"})
def cues(
    context: typer.Context,
    tests: Annotated[
        str,
        typer.Option(
            metavar="TESTS", help="Ambiguous sources, each with `word`, `gold` (its sense) and `reference`."
        ),
    ],
    evaluator: Annotated[
        str, typer.Option(metavar="SYSTEM", help="Scores references under sources with candidates.")
    ],
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="A masked language model of transformers: a folder, or a name such as roberta-large.",
        ),
    ] = None,
    candidates: Annotated[
        Path | None, file_option("Candidates instead of a model, as in the released file.")
    ] = None,
    select_on: Annotated[
        str | None,
        typer.Option(
            metavar="TESTS", help="Find and select cues on this test set, and test all of the other."
        ),
    ] = None,
    share: Annotated[
        float, typer.Option(min=0.01, max=0.99, help="Share of sentences to select on, which are not tested.")
    ] = 0.5,
    protocol: Annotated[
        Literal["checked", "paper"],
        typer.Option(help="paper: as the conditioning paper's code, which selects on what it tests."),
    ] = "checked",
    criterion: Annotated[
        Literal["difference", "reference"],
        typer.Option(
            help="difference: tells references of the senses apart. reference: right references score well under "
            "correct cues and badly under incorrect ones (appendix D; always so with --protocol paper)."
        ),
    ] = "difference",
    seed: Seed = 0,
    save_cues: Annotated[
        Path | None, file_option("Write the cues of every item there, as the released file has them.")
    ] = None,
    save_candidates: Annotated[Path | None, file_option("Write the candidates there.")] = None,
    to: ToFile = None,
) -> None:
    """Find disambiguation cues with a masked language model; items with them as JSON, one a line."""
    from babelscope.language.cues import read_candidates, write_cues
    from babelscope.making.cue_search import make_cues, write_candidates
    from babelscope.making.masked import MaskedModel
    from babelscope.testsets.loading import load
    from babelscope.util.digests import digest_json
    from babelscope.util.errors import BabelscopeError

    if (model is None) == (candidates is None):
        raise BabelscopeError("make cues needs either --model or --candidates")
    if select_on is not None and protocol == "paper":
        raise BabelscopeError("--protocol paper selects on what it tests: leave --select-on out")
    paper = "--protocol checked" if protocol == "paper" else None
    refuse_unused(
        context,
        {
            "share": paper or (None if select_on is None else "tests without --select-on"),
            "criterion": None if criterion == "reference" else paper,
        },
    )
    check_outputs(
        {"--save-cues": save_cues, "--save-candidates": save_candidates, "--to": to},
        inputs=[tests, candidates, select_on, evaluator],
    )
    loaded = load(tests)
    other = load(select_on) if select_on is not None else None
    given = read_candidates(candidates) if candidates is not None else None
    (scorer,) = open_systems([evaluator], "score", cache=None, what_for="make cues").values()
    masked = MaskedModel(model) if model is not None else None
    mode = "paper" if protocol == "paper" else "words"
    settings: dict[str, Any] = {"mode": mode, "criterion": criterion, "share": share, "seed": seed}
    with going_on(
        "make cues",
        to,
        [scorer],
        tests=digest_json([item.as_json() for item in loaded]),
        select_on=digest_json([item.as_json() for item in other]) if other is not None else None,
        candidates=digest_json(given),
        model=masked.files() if masked is not None else None,
        **settings,
    ) as (keep, asked):
        more: dict[str, Any] = {"candidates": given, "select_on": other, "keep": keep}
        made = make_cues(loaded, asked[0], masked, **more, **settings)
        if save_cues is not None:
            write_file(save_cues, Form.JSON, write_cues(made.by_item))
        if save_candidates is not None:
            write_file(save_candidates, Form.JSON, [write_candidates(made.candidates)])
        with output(to, Form.JSON) as write:
            for item in made.tests:
                write(as_line(item.as_json()))
        print(paragraph(_described(made)), file=sys.stderr)


def _described(made: CuedTestSet) -> str:
    left_out = "".join(f"; left out: {count} {reason}" for reason, count in made.tests.skipped.items())
    return (
        f"babelscope: cues for {len(made.cues)} senses from {made.selected_on} sentences, "
        f"{len(made.tests)} items to test{left_out}"
    )
