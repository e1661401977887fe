"""Which weights a training run ends with: of its best or its last measurements, of one or averaged over several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from babelscope.core.results import Estimate
from babelscope.core.tokenisers import chosen_tokeniser
from babelscope.decoding.beam import beam_search
from babelscope.decoding.model import OpenModel, Vocabulary
from babelscope.lab.training.parallel import Corpus
from babelscope.lab.training.plain import PlainNetwork
from babelscope.lab.training.tokenizer import EOS, Pieces
from babelscope.metrics.base import Metric, find_metric
from babelscope.metrics.corpus import corpus_estimate

Weights = dict[str, Tensor]

# Sources translated together: enough to fill a processor's vector units.
_SENTENCES = 640


@dataclass(slots=True)
class Kept:
    """The weights at one measurement, and its value: lower is better."""

    value: float
    step: int
    weights: Weights


class Selection:
    """The weights of the `count` best or last measurements so far, and how long there was no better one."""

    def __init__(self, count: int, of: Literal["best", "last"]) -> None:
        self.count = count
        self.of = of
        self.kept: list[Kept] = []
        self.best_value = math.inf
        self.best_step = 0
        self.stale = 0
        """Measurements since the best one."""

    def add(self, value: float, step: int, weights: Weights) -> None:
        """Take note of a measurement; `weights` are copied if they are kept."""
        value = math.inf if math.isnan(value) else value
        better = value < self.best_value
        self.stale = 0 if better else self.stale + 1
        if better:
            self.best_value, self.best_step = value, step
        if self.of == "best" and len(self.kept) == self.count and value >= self.kept[-1].value:
            return
        self.kept.append(Kept(value, step, {name: tensor.clone() for name, tensor in weights.items()}))
        if self.of == "best":
            self.kept.sort(key=lambda each: (each.value, each.step))
            del self.kept[self.count :]
        else:
            del self.kept[: -self.count]

    def averaged(self) -> Weights:
        """The mean of the weights that are kept."""
        if len(self.kept) == 1:
            return self.kept[0].weights
        mean = {}
        for name, first in self.kept[0].weights.items():
            total = first.to(torch.float64)
            for each in self.kept[1:]:
                total = total + each.weights[name]
            mean[name] = (total / len(self.kept)).to(first.dtype)
        return mean

    def state(self) -> dict[str, Any]:
        """All of it as tensors and plain values, for a checkpoint."""
        plain = {name: getattr(self, name) for name in ("best_value", "best_step", "stale")}
        return {**plain, "kept": [[each.value, each.step, each.weights] for each in self.kept]}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        for name in ("best_value", "best_step", "stale"):
            setattr(self, name, state[name])
        self.kept = [Kept(*each) for each in state["kept"]]


def development_metric(name: str, languages: str, references: Sequence[str]) -> Metric:
    """The metric that selects, by the tokeniser of the target language; refuses what it cannot split into words."""
    found = find_metric(name)
    if found.is_tokenised:
        found = found.tokenised(chosen_tokeniser("", languages.partition("-")[2]))
    found.require_words(
        references, "name the languages (--set languages=en-zh), or take characters (--set select=chrf)"
    )
    return found


def score_development(metric: Metric, network: Any, pieces: Pieces, dev: Corpus, beam: int) -> Estimate:
    """The metric of the network's translations of the development text, with its interval over sentences."""
    texts = translate_corpus(network, pieces, dev, beam)
    references = [[dev.text.target[number]] for number in dev.kept]
    return corpus_estimate(
        metric, texts, references, sources=[dev.text.source[number] for number in dev.kept]
    )


def translate_corpus(network: Any, pieces: Pieces, corpus: Corpus, beam: int) -> list[str]:
    """Beam search's translations of the corpus's sources, unfinished ones as far as they got."""
    network.eval()
    model = open_network(network, pieces)
    numbers = corpus.kept.tolist()
    order = sorted(range(len(numbers)), key=lambda place: int(corpus.source.lengths[numbers[place]]))
    texts = [""] * len(numbers)
    for start in range(0, len(order), _SENTENCES):
        places = order[start : start + _SENTENCES]
        ids = [corpus.source.ids(numbers[place]) for place in places]
        longest = min(3 * max(map(len, ids)) + 20, model.vocabulary.target_limit or 512)
        found = beam_search(model, ids, beam=beam, max_length=longest)
        decoded = pieces.target_side.decode([best[0] for best in found])
        for place, text in zip(places, decoded, strict=True):
            texts[place] = text
    return texts


def open_network(network: Any, pieces: Pieces) -> OpenModel:
    """A network in training as a model to search in; its weights are not copied."""
    from babelscope.lab.training.networks import POSITIONS

    target = pieces.target_side
    vocabulary = Vocabulary(target.size, (target.pad,), EOS, (target.pad,), POSITIONS, POSITIONS)
    if isinstance(network, PlainNetwork):
        from babelscope.decoding.stepwise import Stepwise

        return Stepwise(network, vocabulary, device=network.target.weight.device)
    from babelscope.decoding.generic import open_transformer

    return open_transformer(network, vocabulary)
