"""Trains and tests one network of the locality experiment."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from babelscope.lab.experiments.locality import Pair, Plan, Trial, arrange_source, source_positions
from babelscope.lab.experiments.locality_networks import Network, Recurrent, Transformer, greedy
from babelscope.lab.training.loss import smoothed_cross_entropy
from babelscope.lab.training.networks import torch_seed
from babelscope.lab.training.train import training_numerics
from babelscope.metrics.corpus import corpus_estimate
from babelscope.util.errors import SystemFailure
from babelscope.util.seeds import stream

_START, _END, _UNKNOWN = 0, 1, 2
_EXTRA_WORDS = 10  # a translation may be this much longer than the longest training target
_SENTENCES_AT_ONCE = 250  # sentences translated together


class Vocabulary:
    """Maps words to ids; words not seen in training are unknown."""

    def __init__(self, sentences: Iterable[Sequence[str]]) -> None:
        self.words = ["<s>", "</s>", "<unk>", *sorted({word for words in sentences for word in words})]
        self._numbers = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: Sequence[str]) -> list[int]:
        return [self._numbers.get(word, _UNKNOWN) for word in words]


def train_trial(plan: Plan, trial: Trial, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Train the network of a trial; return its BLEU on the test sentences, losses, sizes and times."""
    began = time.process_time()
    training, test = pairs[: plan.sentences], pairs[plan.sentences :]
    vocabularies = Vocabulary(source for source, _ in training), Vocabulary(target for _, target in training)
    longest = max(len(target) for _, target in training) + _EXTRA_WORDS
    # All settings of a repetition share one seed, so that they differ in nothing but the order.
    seed = torch_seed(plan.seed, f"locality/{trial.model}/{trial.repetition}")
    with training_numerics(1):
        torch.manual_seed(seed)
        network = _network(plan, trial, (len(vocabularies[0]), len(vocabularies[1])), longest)
        sources = _sources(training, plan, trial, vocabularies[0])
        targets = _targets(training, vocabularies[1])
        loss = _train(network, plan, trial, sources, targets)
        trained = time.process_time()
        rows: list[list[int]] = []
        asked = _sources(test, plan, trial, vocabularies[0])
        for start in range(0, len(test), _SENTENCES_AT_ONCE):
            some = asked[start : start + _SENTENCES_AT_ONCE]
            rows += greedy(network, some, begin=_START, end=_END, longest=longest)
    words = [[vocabularies[1].words[number] for number in row] for row in rows]
    references = [[_text(target)] for _, target in test]
    bleu = corpus_estimate("bleu", [_text(row) for row in words], references)
    return {
        **{name: value for name, value in bleu.as_json().items() if name in ("low", "high", "no_interval")},
        "bleu": bleu.value,
        "sentences": bleu.n,
        "unfinished": sum(len(row) == longest for row in rows),
        "unknown_words": int((asked == _UNKNOWN).sum()),
        "parameters": sum(weight.numel() for weight in network.parameters()),
        "loss": loss,
        "seconds": {"training": trained - began, "testing": time.process_time() - trained},
    }


def _text(words: Sequence[str]) -> str:
    """Words as text, as sacreBLEU expects it."""
    return re.sub(r" (?=[.,;:])", "", " ".join(words))


def _network(plan: Plan, trial: Trial, sizes: tuple[int, int], longest: int) -> Network:
    if trial.model == "bilstm":
        return Recurrent(sizes, width=plan.width, dropout=plan.dropout)
    return Transformer(
        sizes,
        source_positions(trial.setting, plan.permutation),
        trial.model,
        width=plan.width,
        heads=plan.heads,
        layers=plan.layers,
        dropout=plan.dropout,
        longest=longest,
    )


def _sources(pairs: Sequence[Pair], plan: Plan, trial: Trial, vocabulary: Vocabulary) -> Tensor:
    """Sources as the encoder reads them [sentences, length]."""
    rows = [vocabulary.encode(arrange_source(source, trial.setting, plan.permutation)) for source, _ in pairs]
    return torch.tensor(rows)


def _targets(pairs: Sequence[Pair], vocabulary: Vocabulary) -> Tensor:
    """Target ids with EOS [sentences, longest], padded with -1."""
    rows = [[*vocabulary.encode(target), _END] for _, target in pairs]
    filled = torch.full((len(rows), max(map(len, rows))), -1)
    for number, row in enumerate(rows):
        filled[number, : len(row)] = torch.tensor(row)
    return filled


def _train(network: Network, plan: Plan, trial: Trial, sources: Tensor, targets: Tensor) -> float:
    """Train for all epochs; return the mean loss of the last, in nats a token with label smoothing."""
    optimizer = torch.optim.Adam(network.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
    order = stream(plan.seed, f"locality/order/{trial.repetition}")
    lengths = (targets >= 0).sum(1)
    an_epoch = -(-len(sources) // plan.batch)
    steps, step = plan.epochs * an_epoch, 0
    network.train()
    losses: list[float] = []
    for _ in range(plan.epochs):
        losses = []
        for rows in np.array_split(order.permutation(len(sources)), an_epoch):
            step += 1
            chosen = torch.from_numpy(rows)
            target = targets[chosen][:, : int(lengths[chosen].max())]
            hidden, labels = _hidden(network, sources[chosen], target)
            loss = smoothed_cross_entropy(hidden, network.target.weight, labels, plan.label_smoothing)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            norm = torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            if not bool(torch.isfinite(norm)):
                raise SystemFailure(f"{trial.file}: the loss is no longer finite at step {step}")
            for group in optimizer.param_groups:
                group["lr"] = _rate(plan, step, steps)
            optimizer.step()
            losses.append(float(loss.detach()))
    return sum(losses) / len(losses)


def _rate(plan: Plan, step: int, steps: int) -> float:
    """Learning rate of a step, counted from 1: linear warm-up, then linear decay to 0."""
    warmup = min(plan.warmup, steps)
    if step <= warmup:
        return plan.learning_rate * step / warmup
    return plan.learning_rate * (steps + 1 - step) / (steps + 1 - warmup)


def _hidden(network: Network, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Decoder states [tokens, width] and labels [tokens], padding left out."""
    start = torch.full((len(target), 1), _START)
    shifted = torch.cat([start, target[:, :-1].clamp(min=_START)], dim=1)
    hidden = network.decode(network.encode(source), shifted).flatten(0, 1)
    labels = target.flatten()
    real = labels >= 0
    return hidden[real], labels[real]
