"""The networks of the locality experiment, kept in folders and opened as systems."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from babelscope.core.answers import Scored
from babelscope.core.specs import Options
from babelscope.decoding.model import Vocabulary
from babelscope.decoding.stepwise import Encoded, States, Stepwise
from babelscope.lab.experiments.locality import MODELS, SETTINGS, Plan, Trial, arrange_source, read_plan
from babelscope.lab.experiments.locality_networks import Network
from babelscope.lab.experiments.locality_text import joined, splitter
from babelscope.lab.experiments.locality_training import END, START, UNKNOWN, WordList, new_network
from babelscope.lab.training.checkpoints import write_json
from babelscope.systems.own import OwnSystem
from babelscope.util.errors import BabelscopeError, RefusedText
from babelscope.util.sealed_files import SealedFiles
from babelscope.util.text import shorten

KEPT = "locality.json"
_WEIGHTS = "model.safetensors"
_MODELS = ("source.spm", "target.spm")
_MOST_JSON = 64_000_000


class Prefixes:
    """`encode` and `step` of a network that reads whole prefixes; a state is the prefix itself."""

    def __init__(self, network: Network, longest: int) -> None:
        self._network, self._longest = network, longest

    def encode(self, source: Tensor, real: Tensor) -> tuple[Encoded, States]:  # noqa: ARG002
        prefix = torch.full((len(source), self._longest), START)
        return (self._network.encode(source),), (prefix, torch.zeros((len(source), 1), dtype=torch.int64))

    def step(self, encoded: Encoded, states: States, tokens: Tensor) -> tuple[Tensor, States]:
        prefix, place = states
        prefix = prefix.scatter(1, place, tokens[:, None])
        read = prefix[:, : int(place.max()) + 1]  # what comes after a place changes nothing there
        hidden = self._network.decode(encoded[0], read)[torch.arange(len(read)), place[:, 0]]
        return hidden @ self._network.target.weight.t(), (prefix, place + 1)


class WordTokens:
    """The tokenizer of such a network: words or pieces, a list of them a side, the source arranged as in training."""

    target_language_id = None

    def __init__(self, files: SealedFiles, plan: Plan, trial: Trial, lists: Sequence[WordList]) -> None:
        self.files = files
        self._plan, self._trial = plan, trial
        self._source, self._target = lists
        models = [files.paths[name].read_bytes() if plan.pieces else None for name in _MODELS]
        self._split = [splitter(model) for model in models]

    @property
    def digest(self) -> str:
        return self.files.digest()

    def encode_sources(self, texts: Sequence[str]) -> list[list[int]]:
        rows = []
        for number, text in enumerate(texts, 1):
            words = self._split[0](text)
            if len(words) != self._plan.length:
                reason = f"has {len(words)} tokens, but this network reads sources of {self._plan.length}"
                raise RefusedText("source", number, f"{reason}: {shorten(text)}")
            arranged = arrange_source(words, self._trial.setting, self._plan.permutation)
            rows.append(self._source.encode(arranged))
        return rows

    def encode_targets(self, texts: Sequence[str], *, eos: int) -> list[list[int]]:
        return [[*self._target.encode(self._split[1](text)), eos] for text in texts]

    def source_tokens(self, ids: Sequence[int]) -> list[str]:
        return [self._source.words[number] for number in ids]

    def tokens(self, ids: Sequence[int]) -> tuple[str, ...]:
        return tuple(self._target.words[number] for number in ids)

    def has_unnamed(self, _ids: Sequence[int]) -> bool:
        return False  # every output is a word of the list

    def ids_of(self, scored: Scored) -> list[int]:
        ids = self._target.encode(scored.tokens)
        if not scored.tokens or self.tokens(ids) != scored.tokens:
            raise BabelscopeError(
                f"{shorten(scored.text)} has other tokens than this network; score its text"
            )
        return ids

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        special = (START, END, UNKNOWN)
        kept = [[self._target.words[number] for number in row if number not in special] for row in rows]
        return [joined(words, self._plan.pieces) for words in kept]


def save_trial(
    folder: Path, plan: Plan, trial: Trial, network: Network, lists: Sequence[WordList], longest: int
) -> None:
    """Keep a network in a folder of its own; the experiment's sentencepiece models are copied beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
    (folder / _WEIGHTS).write_bytes(save(weights, metadata={"format": "pt"}))
    for name in _MODELS if plan.pieces else ():
        (folder / name).write_bytes((folder.parent.parent / name).read_bytes())
    words = {"source": lists[0].words, "target": lists[1].words}
    made = {"repetition": trial.repetition, "model": trial.model, "setting": trial.setting}
    write_json(folder / KEPT, {"plan": plan.as_json(), **made, "longest": longest, "words": words})


def open_locality(name: str, folder: Path, options: Options | None) -> OwnSystem:
    """The system in a folder that `save_trial` wrote."""
    if options:
        options.refuse_unused()
    told = SealedFiles(folder, [KEPT]).read_json(KEPT, most=_MOST_JSON)
    try:
        plan = read_plan(told["plan"])
        trial = Trial(int(told["repetition"]), told["model"], told["setting"])
        lists = [WordList(told["words"][side]) for side in ("source", "target")]
        longest = int(told["longest"])
        bounds = {"width": 16_384, "heads": 256, "layers": 100, "length": 10_000}
        sizes = [(longest, 10_000), *((getattr(plan, name), most) for name, most in bounds.items())]
        if not all(type(size) is int and 1 <= size <= most for size, most in sizes):
            raise ValueError("its numbers are out of bounds")
        if trial.model not in MODELS or trial.setting not in SETTINGS:
            raise ValueError("its model or its setting is unknown")
        with torch.device("meta"):
            expected = new_network(plan, trial, (len(lists[0]), len(lists[1])), longest).state_dict()
        files = SealedFiles(folder, [KEPT, _WEIGHTS, *(_MODELS if plan.pieces else ())])
        tensors = load_file(files.paths[_WEIGHTS])
        if {key: each.shape for key, each in tensors.items()} != {
            k: each.shape for k, each in expected.items()
        }:
            raise ValueError(f"{_WEIGHTS} has other tensors")
    except (KeyError, TypeError, ValueError, SafetensorError, json.JSONDecodeError) as error:
        raise BabelscopeError(f"{folder} has no network of `lab locality`: {error}") from None
    network = new_network(plan, trial, (len(lists[0]), len(lists[1])), longest)
    network.load_state_dict(tensors)
    vocabulary = Vocabulary(len(lists[1]), (START,), END, (START,), plan.length, longest)
    model = Stepwise(Prefixes(network.eval().requires_grad_(False), longest), vocabulary)
    try:
        tokens: Any = WordTokens(files, plan, trial, lists)
    except RuntimeError as error:  # sentencepiece's word for a file that is no model
        raise BabelscopeError(f"{folder}: its sentencepiece models cannot be read: {error}") from None
    return OwnSystem(
        *(name, model, tokens),
        digest=files.digest(),
        source_size=len(lists[0]),
        source_length=model.vocabulary.source_limit or 0,
        files=files,
    )
