"""Opens the models in the package, and makes the lab's test sets."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from babelscope.core.registry import Options, did_you_mean
from babelscope.lab.grammar import suites
from babelscope.lab.grammar.worlds import EASY, HARD, WORLDS, World
from babelscope.lab.plugin import MODELS
from babelscope.testsets.items import AmbiguousSource, Item, MinimalPair, ParallelSentence, TestSet
from babelscope.util.errors import BabelscopeError

_Maker = Callable[[int, int], list[suites.Item]]


def _sets_of(world: World) -> dict[str, tuple[type[Any], _Maker, int]]:
    """The test sets that every world has: the kind of their items, what makes them, and how many."""
    return {
        "parallel": (ParallelSentence, partial(suites.parallel_items, world=world), 500),
        "challenge": (ParallelSentence, partial(suites.challenge_items, world=world), 500),
        "pairs": (MinimalPair, partial(suites.minimal_pairs, world=world), 100),
        "gender": (AmbiguousSource, partial(suites.gender_items, world=world), 500),
        "senses": (AmbiguousSource, partial(suites.sense_items, world=world), 500),
        "gender-marked": (AmbiguousSource, partial(suites.marked_items, world=world), 500),
        "senses-other": (AmbiguousSource, partial(suites.other_adjective_items, world=world), 500),
    }


_SETS: dict[str, tuple[type[Any], _Maker, int]] = {
    **_sets_of(EASY),
    "gender-inserted": (AmbiguousSource, partial(suites.gender_items, inserted=True), 500),
    "senses-inserted": (AmbiguousSource, partial(suites.sense_items, inserted=True), 500),
    "pronouns": (MinimalPair, suites.pronoun_items, 450),
    **{f"hard-{name}": made for name, made in _sets_of(HARD).items()},
}


PLANTED = "planted"
"""The name of a model with a known fault."""


def model_names(world: World | None = None) -> list[str]:
    """The shipped models, of one world or of all; `teacher` is the first of its seeds, `teacher-2` the second."""
    found = sorted(path.parent.name for path in MODELS.glob("*/model.safetensors"))
    of = {
        name: next((each for each in WORLDS.values() if name.startswith(f"{each.name}-")), EASY)
        for name in found
    }
    return [name for name in found if world is None or of[name] == world]


def read_card(name: str) -> dict[str, Any]:
    """The card of a shipped model: configuration, data, figures, and the command that makes it again."""
    read: dict[str, Any] = json.loads((MODELS / name / "card.json").read_text(encoding="utf-8"))
    return read


def open_lab(rest: str, options: Options) -> Any:
    """Open `lab:NAME`, a folder of the package, by the code of `hf:`; or `lab:FOLDER`, which `lab train` made."""
    from babelscope.systems.models.hf import HuggingFace, read_options

    if rest == PLANTED:
        return _open_planted(options)
    if rest not in (known := model_names()) and Path(rest).expanduser().is_dir():
        from babelscope.lab.training.opening import open_trained

        return open_trained(options.spec, Path(rest).expanduser(), options)
    if rest not in known:
        names = [f"lab:{each}" for each in known]
        hint = did_you_mean(f"lab:{rest}", names, f"there are {', '.join(known)}", cutoff=0.75)
        raise BabelscopeError(f"there is no lab model {rest!r}; {hint}")
    if (MODELS / rest / "tokenizer.json").exists():
        from babelscope.lab.training.opening import open_prompts

        return open_prompts(MODELS / rest, options)
    arguments = read_options(options)
    options.refuse_unused()
    return HuggingFace(options.spec, MODELS / rest, tokenizer=MODELS / "tokenizer", **arguments)


def _open_planted(options: Options) -> Any:
    """Open `lab:planted?share=0.4`: a shipped model with a known fault (`experiments/planted.py`)."""
    from babelscope.lab.experiments.planted import Planted
    from babelscope.systems.registry import open_system

    share, waver = options.number("share", 0.4), options.number("waver", 1.0)
    seed, inside = options.integer("seed", 0, least=0), options.text("model", "student")
    options.refuse_unused()
    if not 0 <= share <= 1 or waver < 0 or inside == PLANTED:
        raise BabelscopeError(f"{options.spec}: share is from 0 to 1, waver at least 0, model a lab model")
    return Planted(options.spec, open_system(f"lab:{inside}"), share=share, waver=waver, seed=seed)


def read_lab(name: str | Path, *, n: int = 0, seed: int = 0) -> TestSet:
    """A lab test set by name (`parallel`, `pairs`, `gender`...) with n items; of `pairs`, n of each error type."""
    if (name := str(name)) not in _SETS:
        raise BabelscopeError(f"there is no lab test set {name!r}; there are {', '.join(_SETS)}")
    kind, make, usual = _SETS[name]
    items: list[Item] = [kind.from_json(record) for record in make(n or usual, seed)]
    return TestSet(f"lab:{name}", tuple(items))
