"""`babelscope lab locality`: does an architecture expect neighbours to stay neighbours?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from babelscope.cli.common import AsJson, Seed, file_option, folder_option, write_rows
from babelscope.cli.lab_augment import Quiet
from babelscope.cli.shell import telling_what_is_kept, work_kept_in
from babelscope.util.errors import BabelscopeError

Model = StrEnum("Model", ["learned", "sine", "bilstm"])
Setting = StrEnum("Setting", ["regular", "permuted", "reversed", "positions"])


def locality(
    out: Annotated[Path, folder_option("Where data and figures are kept.")],
    model: Annotated[list[Model] | None, typer.Option(help="May be repeated; else all.")] = None,
    setting: Annotated[list[Setting] | None, typer.Option(help="May be repeated; else all.")] = None,
    length: Annotated[int | None, typer.Option(min=3, help="Words or pieces of every source [18].")] = None,
    permutation: Annotated[
        str,
        typer.Option(
            metavar="NUMBERS",
            help="Where the token at each place goes, from 0; else the paper's for 18, or one by the seed.",
        ),
    ] = "",
    source: Annotated[Path | None, file_option("Learn from text of your own, not the lab's.")] = None,
    target: Annotated[Path | None, file_option("Its translation.")] = None,
    pieces: Annotated[int, typer.Option(min=0, help="BPE pieces of each language of it; 0: words.")] = 0,
    layers: Annotated[
        int | None, typer.Option(min=1, max=100, help="Of a Transformer, each side [2].")
    ] = None,
    width: Annotated[int | None, typer.Option(min=2, help="Of all layers [96].")] = None,
    heads: Annotated[int | None, typer.Option(min=1, help="Of attention [4].")] = None,
    sentences: Annotated[int | None, typer.Option(min=10, help="To train on [4000; own text: all].")] = None,
    dev: Annotated[
        int | None, typer.Option(min=0, help="To choose the epoch by [0, the last; own text: 500].")
    ] = None,
    test: Annotated[int | None, typer.Option(min=1, help="To test on [1000].")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Of training [10].")] = None,
    repetitions: Annotated[int | None, typer.Option(min=1, help="Networks of each kind [3].")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Networks trained at once, a core each.")] = 2,
    quick: Annotated[
        bool, typer.Option("--quick", help="Tiny sizes, to see how it goes: says nothing about a bias.")
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    seed: Seed = 1,
) -> None:
    """Train on sources in another order, the same for all, and compare BLEU; after a kill, run again to go on."""
    from babelscope.lab.experiments.locality import MODELS, SETTINGS, Plan, quick_plan
    from babelscope.lab.experiments.locality import locality as experiment

    options = {
        "length": length,
        "sentences": sentences,
        "epochs": epochs,
        "repetitions": repetitions,
        "layers": layers,
        "width": width,
        "heads": heads,
        "dev": dev,
        "test": test,
    }
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    given |= {"permutation": _numbers(permutation), "seed": seed}
    if (source is None) != (target is None):
        raise BabelscopeError("text of your own needs both --source and --target")
    own = None
    if source and target:
        from babelscope.lab.experiments.locality_text import plan_for, read_own_text

        usual = (quick_plan() if quick else Plan()).length
        own = read_own_text(source, target, length=length or usual, pieces=pieces)
        plan = plan_for(own, pieces=pieces, quick=quick, given=given)
    elif pieces:
        raise BabelscopeError(
            "--pieces is for text of your own (--source, --target); the lab's tokens are words"
        )
    else:
        plan = (quick_plan if quick else Plan)(**given)
    models = [name for name in MODELS if not model or name in model]
    settings = [name for name in SETTINGS if not setting or name in setting]
    with telling_what_is_kept(work_kept_in(out)):
        rows = experiment(out, plan, models=models, settings=settings, workers=workers, quiet=quiet, own=own)
    write_rows(rows, as_json=as_json)


def _numbers(text: str) -> tuple[int, ...]:
    words = text.replace(",", " ").split()
    if not all(word.isdecimal() for word in words):
        raise BabelscopeError(f"--permutation {text!r} must be numbers with spaces between, such as 2 0 1")
    return tuple(int(word) for word in words)
