"""The state of a training run, and the training loop."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from babelscope.core.results import Estimate
from babelscope.core.tokenizers import chosen_tokenizer
from babelscope.decoding.beam import beam_search
from babelscope.decoding.model import OpenModel, Vocabulary
from babelscope.lab.training.checkpoints import save_checkpoint
from babelscope.lab.training.networks import (
    POSITIONS,
    PlainNetwork,
    hidden_states,
    load_weights,
    network_weights,
    new_network,
    output_weight,
    torch_seed,
)
from babelscope.lab.training.ranking import find_candidates, ranking_loss
from babelscope.lab.training.settings import TrainingSettings
from babelscope.lab.training.text import EOS, Batch, Corpus, ParallelText, Pieces
from babelscope.metrics.base import Metric, find_metric
from babelscope.metrics.corpus import corpus_estimate
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.progress import Advance
from babelscope.util.seeds import stream

# Rows of logits computed together: few enough to stay in the processor's cache, or to leave room in a GPU's memory.
_ROWS = {"cpu": 512, "cuda": 4096}


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Computes the gradient in `forward`, because loss and gradient need the same probabilities.

    With probabilities p = softmax(hidden @ weight.T) and the smoothed truth
    q = (1 - smoothing) * one_hot(label) + smoothing / vocabulary,
    the loss of a token is -sum(q * log p), and its gradient with respect to the logits is p - q.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, labels: Tensor, smoothing: float, narrow: torch.dtype
    ) -> Tensor:
        count, vocabulary = len(hidden), len(weight)
        most = _ROWS.get(hidden.device.type, 512)
        hidden_gradient, weight_gradient = torch.empty_like(hidden), torch.zeros_like(weight)
        buffer = hidden.new_empty((min(most, count), vocabulary))
        mean_weight = weight.mean(0)
        total = hidden.new_zeros(())
        for start in range(0, count, most):
            rows, label = hidden[start : start + most], labels[start : start + most, None]
            logits = _product(rows, weight.t(), buffer[: len(rows)], narrow)
            right, mean = logits.gather(1, label), (rows @ mean_weight)[:, None]
            top = logits.amax(1, keepdim=True)
            p = logits.sub_(top).exp_()
            norm = p.sum(1, keepdim=True)
            total += (norm.log() + top - (1 - smoothing) * right - smoothing * mean).sum()
            difference = p.div_(norm).sub_(smoothing / vocabulary)
            difference.scatter_add_(1, label, torch.full_like(right, smoothing - 1))
            _product(difference, weight, hidden_gradient[start : start + most], narrow)
            if narrow == rows.dtype:
                weight_gradient.addmm_(difference.t(), rows)
            else:
                weight_gradient += difference.t().to(narrow) @ rows.to(narrow)
        ctx.save_for_backward(hidden_gradient.div_(count), weight_gradient.div_(count))
        return total / count

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        (gradient,) = gradients
        hidden_gradient, weight_gradient = ctx.saved_tensors
        return hidden_gradient * gradient, weight_gradient * gradient, None, None, None


def _product(one: Tensor, other: Tensor, out: Tensor, narrow: torch.dtype) -> Tensor:
    """The matrix product in `out`, computed from factors in `narrow`."""
    if narrow == one.dtype:
        return torch.mm(one, other, out=out)
    return out.copy_(one.to(narrow) @ other.to(narrow))


def smoothed_cross_entropy(
    hidden: Tensor, weight: Tensor, labels: Tensor, smoothing: float, narrow: torch.dtype | None = None
) -> Tensor:
    """Mean loss in nats a token of hidden states [tokens, width] under output rows [vocabulary, width].

    Matrix products are of factors rounded to `narrow`; probabilities and sums are in the type of `hidden`. Leave
    padding out of all three tensors, so that pad is no output and smoothing gives it no probability.
    """
    return _SmoothedCrossEntropy.apply(hidden, weight, labels, smoothing, narrow or hidden.dtype)  # type: ignore[no-any-return,no-untyped-call]


# Coefficients of a polynomial of degree 5 that drives singular values toward 1, and how often it is applied. Five
# rounds are usual; with three a control learned about as well (one run each), and steps are faster.
_A, _B, _C = 3.4445, -4.7750, 2.0315
_ROUNDS = 3


def orthogonal(matrices: Tensor) -> Tensor:
    """Matrices [many, rows, columns] with all but the smallest singular values moved near 1, by Newton-Schulz."""
    if matrices.shape[1] > matrices.shape[2]:
        return orthogonal(matrices.mT).mT
    x: Tensor = matrices / (matrices.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(_ROUNDS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=_B, alpha=_C), x, beta=_A)
    return x


class Muon(torch.optim.Optimizer):
    """Nesterov momentum with orthogonalized steps, scaled to the usual size of Adam's steps at the same rate.

    As torch.optim.Muon with `adjust_lr_fn="match_rms_adamw"` and without decay; but that computes in bfloat16, one
    matrix after the other, which is slow on a processor.
    """

    def __init__(self, weights: Iterable[Tensor]) -> None:
        super().__init__(weights, {"lr": 0.0, "momentum": 0.95})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Update every matrix; those of one shape together, their averages in the state of the first."""
        for group in self.param_groups:
            by_shape = defaultdict(list)
            for weight in group["params"]:
                by_shape[weight.shape].append(weight)
            for shape, weights in by_shape.items():
                gradients = torch.stack([weight.grad for weight in weights])
                state = self.state[weights[0]]
                if not state:
                    state["averages"] = torch.zeros_like(gradients)
                averages = state["averages"].lerp_(gradients, 1 - group["momentum"])
                steps = orthogonal(gradients.lerp_(averages, group["momentum"]))
                torch._foreach_add_(weights, steps.unbind(), alpha=-group["lr"] * 0.2 * math.sqrt(max(shape)))


# --- Which weights a training run ends with: of its best or its last measurements ----------------------------------


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
    """The metric that selects, by the tokenizer of the target language; refuses what it cannot split into words."""
    found = find_metric(name)
    if found.is_tokenized:
        found = found.tokenized(chosen_tokenizer("", languages.partition("-")[2]))
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
    target = pieces.target_side
    vocabulary = Vocabulary(target.size, (target.pad,), EOS, (target.pad,), POSITIONS, POSITIONS)
    if isinstance(network, PlainNetwork):
        from babelscope.decoding.stepwise import Stepwise

        return Stepwise(network, vocabulary, device=network.target.weight.device)
    from babelscope.decoding.generic import open_transformer

    return open_transformer(network, vocabulary)


def find_device(name: str) -> torch.device:
    """The device called `cpu`, `cuda` or `cuda:1`; refuses one that is not here."""
    kind, _, number = name.partition(":")
    if kind == "cpu" and not number:
        return torch.device("cpu")
    if kind != "cuda" or not (number.isdigit() or name == "cuda"):
        raise BabelscopeError(f"there is no device {name!r} to train on; there are cpu, cuda and cuda:NUMBER")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(number or 0) >= count:
        raise BabelscopeError(
            f"torch finds {count} CUDA devices here, so there is no {name}; leave device out"
        )
    return torch.device("cuda", int(number or 0))


def random_states(device: torch.device) -> dict[str, Tensor]:
    """The states of all random numbers that training on `device` draws."""
    own = {"random_cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {}
    return {"random": torch.get_rng_state(), **own}


def restore_random_states(device: torch.device, states: dict[str, Tensor]) -> None:
    """Restore what `random_states` returned."""
    torch.set_rng_state(states["random"])
    if device.type == "cuda":
        torch.cuda.set_rng_state(states["random_cuda"], device)


@contextlib.contextmanager
def training_numerics(threads: int, device: torch.device | None = None) -> Iterator[None]:
    """Set threads and flush denormals for training; restore threads and random state afterwards.

    On a GPU, deterministic kernels are used where there are any; torch warns of others.
    """
    before, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    gpu = device is not None and device.type == "cuda"
    torch.set_num_threads(threads or before)
    torch.set_flush_denormal(True)  # Adam's averages of unused rows decay into denormals, which are slow
    if gpu:
        # Else matrix products are not deterministic.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with torch.random.fork_rng(devices=[device] if gpu else []):
            yield
    finally:
        if gpu:
            torch.use_deterministic_algorithms(deterministic)
        torch.set_flush_denormal(False)
        torch.set_num_threads(before)


# The attributes in a checkpoint, besides network, optimizer, random state and the weights that are kept.
_PLAIN_STATE = ("step", "epoch", "position", "tokens", "seconds", "loss", "history")


class TrainingRun:
    """The state of one training run, and the training loop."""

    def __init__(
        self,
        settings: TrainingSettings,
        pieces: Pieces,
        text: ParallelText,
        dev: ParallelText,
        *,
        device: torch.device,
    ) -> None:
        self.settings = settings
        self.pieces = pieces
        self.device = device
        self.corpus = Corpus(text, pieces, longest=settings.longest)
        self.dev = Corpus(dev, pieces, longest=settings.longest)
        self.metric = (
            None
            if settings.select == "loss"
            else development_metric(settings.select, settings.languages, dev.target)
        )
        """What selects, if it is not the loss."""
        self.network = new_network(settings.shape, pieces, dropout=settings.dropout, seed=settings.seed)
        if settings.weights:
            load_weights(self.network, Path(settings.weights), pieces)
        self.network.to(self.device)
        self.weights = [weight for weight in self.network.parameters() if weight.requires_grad]
        self.optimizers = _optimizers(self.network, settings)
        torch.manual_seed(torch_seed(settings.seed, "lab/dropout"))
        self.step = 0
        self.epoch = 0
        self.position = 0
        """Index of the next batch in the epoch."""
        self.tokens = 0
        """Target tokens seen."""
        self.seconds = 0.0
        self.loss = math.nan
        """Moving average of the training loss: nats a token with label smoothing, plus what ranking adds."""
        self.selection = Selection(settings.average, settings.average_of)
        self.history: list[list[float]] = []
        """(step, training loss, development loss, and the metric that selects, if any) at each measurement."""
        self.dev_loss = math.nan
        """Development loss of the finished network, in nats per token without label smoothing."""
        self.dev_score: Estimate | None = None
        """The metric of the finished network that selected it, if it was not the loss."""

    def state(self) -> dict[str, Any]:
        """The content of a checkpoint: tensors and plain values."""
        return {
            **{name: getattr(self, name) for name in _PLAIN_STATE},
            **self.selection.state(),
            "network": self.network.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            **random_states(self.device),
            "pieces": [
                torch.frombuffer(bytearray(proto), dtype=torch.uint8) for proto in self.pieces.protos()
            ],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        for name in _PLAIN_STATE:
            setattr(self, name, state[name])
        self.selection.restore(state)
        self.network.load_state_dict(state["network"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        restore_random_states(self.device, state)

    def train(
        self, out: Path, advance: Advance, *, max_minutes: float | None, checkpoint_seconds: float
    ) -> str:
        """Train to the end; return what ended it: `steps`, `patience` or `time`."""
        settings = self.settings
        began = saved = time.monotonic()
        earlier, first = self.seconds, self.tokens
        for batches in self._groups():
            loss = self._learn(batches)
            self.loss = loss if math.isnan(self.loss) else 0.95 * self.loss + 0.05 * loss
            now = time.monotonic()
            self.seconds = earlier + now - began
            late = max_minutes is not None and now - began > 60 * max_minutes
            last = self.step == settings.steps
            if last or self.step % settings.dev_every == 0:
                self._measure()
            if last or self.selection.stale >= settings.patience:
                return "steps" if last else "patience"
            if late or now - saved >= checkpoint_seconds:
                save_checkpoint(out, self.state())
                saved = now
            if late:
                self._measure()  # after saving: a resumed run must not count it
                return "time"
            rate = (self.tokens - first) / (now - began)
            advance(1, self._figures(rate))
        raise AssertionError("batches never end")

    def _figures(self, rate: float) -> str:
        names = ("dev", self.settings.select)
        dev = "".join(
            f", {name} {value:.3f}"
            for name, value in zip(names, (self.history or [[]])[-1][2:], strict=False)
        )
        return f"loss {self.loss:.3f}{dev}, {rate:,.0f} tokens/s"

    def _groups(self) -> Iterator[list[Batch]]:
        """The batches of each step."""
        batches = self._batches()
        while True:
            yield list(itertools.islice(batches, self.settings.accumulate))

    def _batches(self) -> Iterator[Batch]:
        """Endless batches from the current position."""
        while True:
            order = stream(self.settings.seed, f"lab/epoch {self.epoch}")
            found = self.corpus.batches(self.settings.batch_tokens, order)
            while self.position < len(found):
                self.position += 1
                yield self.corpus.batch(found[self.position - 1])
            self.epoch, self.position = self.epoch + 1, 0

    def _learn(self, batches: Sequence[Batch]) -> float:
        """Take one step on all tokens of some batches; return the loss before it, in nats per token."""
        self.step += 1
        self.network.train()
        self.network.zero_grad()
        counts = [int(np.count_nonzero(batch.target != self.corpus.pad)) for batch in batches]
        loss = sum(
            self._add_gradient(batch, count / sum(counts))
            for batch, count in zip(batches, counts, strict=True)
        )
        norm = torch.nn.utils.clip_grad_norm_(self.weights, self.settings.clip)
        if not bool(torch.isfinite(norm)):
            raise SystemFailure(
                f"the loss is no longer finite at step {self.step:,}; try a lower learning rate than "
                f"{self.settings.learning_rate:g}, or a longer warm-up than {self.settings.warmup} steps"
            )
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = self.settings.rate(self.step)
            optimizer.step()
        self.tokens += sum(counts)
        return loss

    def _add_gradient(self, batch: Batch, share: float) -> float:
        """Add a batch's share to the gradient; return its share of the loss."""
        narrow = torch.bfloat16 if self.settings.precision == "bfloat16" else torch.float32
        hidden, labels = self._mixed_hidden(batch, narrow)
        loss = smoothed_cross_entropy(hidden, self._output(), labels, self.settings.label_smoothing, narrow)
        if self.settings.ranking and self.step > self.settings.steps - self.settings.ranking_steps:
            loss = loss + self.settings.ranking * self._ranking_loss(batch, narrow)
        (loss * share).backward()  # type: ignore[no-untyped-call]
        return float(loss.detach()) * share

    def _ranking_loss(self, batch: Batch, narrow: torch.dtype) -> Tensor:
        """How badly the network ranks its own translations of some of the batch's sources; 0 if none differ."""
        self.network.eval()
        model = open_network(self.network, self.pieces)
        found = find_candidates(model, self.pieces, batch, self.settings.ranking_candidates)
        self.network.train()
        if found is None:
            return self._output().new_zeros(())
        hidden, labels = self._mixed_hidden(found.batch, narrow)
        logprobs = -F.cross_entropy(hidden @ self._output().t(), labels, reduction="none")
        return ranking_loss(logprobs, np.nonzero(found.batch.target != self.corpus.pad)[0], found)

    def _mixed_hidden(self, batch: Batch, narrow: torch.dtype) -> tuple[Tensor, Tensor]:
        """Decoder states and labels as in `_hidden`, computed in `narrow` where autocast allows it."""
        mixed = (
            torch.autocast(self.device.type, narrow) if narrow != torch.float32 else contextlib.nullcontext()
        )
        with mixed:
            hidden, labels = self._hidden(batch)
        return hidden.float(), labels

    def _hidden(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Decoder states [tokens, width] and labels [tokens] of a batch, padding left out."""
        source, shifted, target = (
            torch.from_numpy(ids).to(self.device) for ids in (batch.source, batch.shifted, batch.target)
        )
        real = source != self.corpus.pad
        hidden = hidden_states(self.network, source, real, shifted).flatten(0, 1)
        labels = target.flatten()
        kept = np.flatnonzero(batch.target != self.corpus.pad)
        if len(kept) < len(labels):
            rows = torch.from_numpy(kept).to(self.device)
            hidden, labels = hidden.index_select(0, rows), labels.index_select(0, rows)
        return hidden, labels

    def _output(self) -> Tensor:
        """The output layer [vocabulary without pad, width]; pad is the last id and never predicted."""
        return output_weight(self.network)[: self.corpus.pad]

    def _measure(self) -> None:
        """Measure the development loss, and the metric that selects; keep the weights if they are selected."""
        if self.history and self.history[-1][0] == self.step:
            return
        loss = self.measure_loss()
        found = [loss, self.measure_score(self.metric).value] if self.metric else [loss]
        self.history.append([self.step, self.loss, *found])
        value = -found[-1] if self.metric else loss
        self.selection.add(value, self.step, network_weights(self.network, half=False))

    def measure_score(self, metric: Metric) -> Estimate:
        """A metric of the network's translations of the development text."""
        return score_development(metric, self.network, self.pieces, self.dev, self.settings.dev_beam)

    @torch.no_grad()
    def measure_loss(self) -> float:
        """Cross-entropy on the development text in nats per token, without label smoothing, in float32."""
        self.network.eval()
        total, count = 0.0, 0
        for numbers in self.dev.batches(self.settings.batch_tokens):
            hidden, labels = self._hidden(self.dev.batch(numbers))
            total += float(F.cross_entropy(hidden @ self._output().t(), labels, reduction="sum"))
            count += len(labels)
        return total / count

    def finish(self) -> Any:
        """The network with the weights that were selected, rounded as they will be saved; measures them again."""
        dtype = torch.float16 if self.settings.half else torch.float32
        weights = {
            name: tensor if name == "final_logits_bias" else tensor.to(dtype).float()
            for name, tensor in self.selection.averaged().items()
        }
        self.network.load_state_dict(weights, strict=False)
        self.dev_loss = self.measure_loss()
        self.dev_score = self.measure_score(self.metric) if self.metric else None
        return self.network


def _optimizers(network: Any, settings: TrainingSettings) -> list[torch.optim.Optimizer]:
    """Adam for all weights, or Muon for the matrices of the layers and Adam for the rest."""
    matrices: list[Tensor] = []
    rest: list[Tensor] = []
    for name, weight in network.named_parameters():
        if weight.requires_grad:
            of_a_layer = weight.ndim == 2 and ".layers." in name
            (matrices if of_a_layer and settings.optimizer == "muon" else rest).append(weight)
    adam = torch.optim.Adam(rest, betas=settings.betas, eps=1e-9, fused=True)
    return [adam, Muon(matrices)] if matrices else [adam]
