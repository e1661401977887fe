"""Trains and tests one network of the locality experiment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from babelscope.core.results import Estimate
from babelscope.lab.experiments.locality import Pair, Plan, Trial, arrange_source, source_positions
from babelscope.lab.experiments.locality_networks import Network, Recurrent, Transformer, greedy
from babelscope.lab.experiments.locality_text import joined
from babelscope.lab.training.devices import training_numerics
from babelscope.lab.training.loss import smoothed_cross_entropy
from babelscope.lab.training.networks import torch_seed
from babelscope.metrics.corpus import corpus_estimate
from babelscope.util.errors import SystemFailure
from babelscope.util.seeds import stream

START, END, UNKNOWN = 0, 1, 2
_EXTRA_WORDS = 10  # a translation may be this much longer than the longest training target
_SENTENCES_AT_ONCE = 250  # sentences translated together


class WordList:
    """Maps words to ids; words not seen in training are unknown."""

    def __init__(self, words: list[str]) -> None:
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words) or len(words) < 3:
            raise ValueError("its list of words is none")
        self.words = words
        self._numbers = {word: number for number, word in enumerate(words)}

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]]) -> WordList:
        """The words of some sentences."""
        return cls(["<s>", "</s>", "<unk>", *sorted({word for words in sentences for word in words})])

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: Sequence[str]) -> list[int]:
        return [self._numbers.get(word, UNKNOWN) for word in words]


def train_trial(plan: Plan, trial: Trial, pairs: Sequence[Pair], keep: Path | None = None) -> dict[str, Any]:
    """Train the network of a trial; return its BLEU on the test sentences, losses, sizes and times.

    The network is kept in the folder `keep`.
    """
    began = time.process_time()
    training, dev = pairs[: plan.sentences], pairs[plan.sentences : plan.sentences + plan.dev]
    test = pairs[plan.sentences + plan.dev :]
    lists = WordList.of(source for source, _ in training), WordList.of(target for _, target in training)
    longest = max(len(target) for _, target in training) + _EXTRA_WORDS
    # All settings of a repetition share one seed, so that they differ in nothing but the order.
    seed = torch_seed(plan.seed, f"locality/{trial.model}/{trial.repetition}")

    def translated(network: Network, asked: Sequence[Pair]) -> list[list[int]]:
        rows: list[list[int]] = []
        sources = _sources(asked, plan, trial, lists[0])
        for start in range(0, len(asked), _SENTENCES_AT_ONCE):
            some = sources[start : start + _SENTENCES_AT_ONCE]
            rows += greedy(network, some, begin=START, end=END, longest=longest)
        return rows

    def bleu(rows: Sequence[Sequence[int]], asked: Sequence[Pair]) -> Estimate:
        words = [[lists[1].words[number] for number in row] for row in rows]
        references = [[joined(target, plan.pieces)] for _, target in asked]
        return corpus_estimate("bleu", [joined(row, plan.pieces) for row in words], references)

    with training_numerics(1):
        torch.manual_seed(seed)
        network = new_network(plan, trial, (len(lists[0]), len(lists[1])), longest)
        sources = _sources(training, plan, trial, lists[0])
        best = Best((lambda: bleu(translated(network, dev), dev).value) if dev else None, network)
        loss = _train(network, plan, trial, sources, _targets(training, lists[1]), best.measure)
        best.restore()
        trained = time.process_time()
        rows = translated(network, test)
    if keep:
        from babelscope.lab.experiments.locality_systems import save_trial

        save_trial(keep, plan, trial, network, lists, longest)
    found = bleu(rows, test)
    return {
        **{name: value for name, value in found.as_json().items() if name in ("low", "high", "no_interval")},
        "bleu": found.value,
        "sentences": found.n,
        "unfinished": sum(len(row) == longest for row in rows),
        "unknown_words": int((_sources(test, plan, trial, lists[0]) == UNKNOWN).sum()),
        "parameters": sum(weight.numel() for weight in network.parameters()),
        "loss": loss,
        **({"dev_bleu": best.scores, "best_epoch": best.epoch} if dev else {}),
        "seconds": {"training": trained - began, "testing": time.process_time() - trained},
    }


class Best:
    """Keeps the weights of the epoch with the highest development score, the first of equal ones."""

    def __init__(self, score: Callable[[], float] | None, network: Network) -> None:
        self._score, self._network = score, network
        self._weights: dict[str, Tensor] = {}
        self.scores: list[float] = []
        self.epoch = 0

    def measure(self) -> None:
        """After an epoch."""
        if self._score is None:
            return
        self.scores.append(self._score())
        if self.scores[-1] > max(self.scores[:-1], default=-1.0):
            self.epoch = len(self.scores)
            self._weights = {name: each.clone() for name, each in self._network.state_dict().items()}

    def restore(self) -> None:
        if self._weights:
            self._network.load_state_dict(self._weights)


def new_network(plan: Plan, trial: Trial, sizes: tuple[int, int], longest: int) -> Network:
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


def _sources(pairs: Sequence[Pair], plan: Plan, trial: Trial, vocabulary: WordList) -> Tensor:
    """Sources as the encoder reads them [sentences, length]."""
    rows = [vocabulary.encode(arrange_source(source, trial.setting, plan.permutation)) for source, _ in pairs]
    return torch.tensor(rows)


def _targets(pairs: Sequence[Pair], vocabulary: WordList) -> Tensor:
    """Target ids with EOS [sentences, longest], padded with -1."""
    rows = [[*vocabulary.encode(target), END] for _, target in pairs]
    filled = torch.full((len(rows), max(map(len, rows))), -1)
    for number, row in enumerate(rows):
        filled[number, : len(row)] = torch.tensor(row)
    return filled


def _train(
    network: Network,
    plan: Plan,
    trial: Trial,
    sources: Tensor,
    targets: Tensor,
    after_epoch: Callable[[], None],
) -> float:
    """Train for all epochs; return the mean loss of the last, in nats a token with label smoothing."""
    optimizer = torch.optim.Adam(network.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
    order = stream(plan.seed, f"locality/order/{trial.repetition}")
    lengths = (targets >= 0).sum(1)
    an_epoch = -(-len(sources) // plan.batch)
    steps, step = plan.epochs * an_epoch, 0
    losses: list[float] = []
    for _ in range(plan.epochs):
        network.train()
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
        after_epoch()
    return sum(losses) / len(losses)


def _rate(plan: Plan, step: int, steps: int) -> float:
    """Learning rate of a step, counted from 1: linear warm-up, then linear decay to 0."""
    warmup = min(plan.warmup, steps)
    if step <= warmup:
        return plan.learning_rate * step / warmup
    return plan.learning_rate * (steps + 1 - step) / (steps + 1 - warmup)


def _hidden(network: Network, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Decoder states [tokens, width] and labels [tokens], padding left out."""
    start = torch.full((len(target), 1), START)
    shifted = torch.cat([start, target[:, :-1].clamp(min=START)], dim=1)
    hidden = network.decode(network.encode(source), shifted).flatten(0, 1)
    labels = target.flatten()
    real = labels >= 0
    return hidden[real], labels[real]
