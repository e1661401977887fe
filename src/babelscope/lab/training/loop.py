"""The state of a training run, and the training loop."""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from babelscope.core.results import Estimate
from babelscope.lab.training.checkpoints import save_checkpoint
from babelscope.lab.training.devices import random_states, restore_random_states
from babelscope.lab.training.loss import smoothed_cross_entropy
from babelscope.lab.training.muon import Muon
from babelscope.lab.training.networks import (
    hidden_states,
    network_weights,
    new_network,
    output_weight,
    torch_seed,
)
from babelscope.lab.training.parallel import Batch, Corpus, ParallelText
from babelscope.lab.training.progress import Progress
from babelscope.lab.training.selecting import Selection, development_metric, score_development
from babelscope.lab.training.settings import TrainingSettings
from babelscope.lab.training.tokenizer import Pieces
from babelscope.metrics.base import Metric
from babelscope.util.errors import SystemFailure
from babelscope.util.seeds import stream

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
        self.network = new_network(settings.shape, pieces, dropout=settings.dropout, seed=settings.seed).to(
            self.device
        )
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
        """Moving average of the training loss, in nats a token with label smoothing."""
        self.selection = Selection(settings.average, settings.average_of)
        self.history: list[list[float]] = []
        """(step, training loss, development loss, and the metric that selects, if any) at each measurement."""
        self.dev_loss = math.nan
        """Development loss of the finished network, in nats a token without label smoothing."""
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
        self, out: Path, progress: Progress, *, max_minutes: float | None, checkpoint_seconds: float
    ) -> str:
        """Train to the end; return what ended it: `steps`, `patience` or `time`."""
        settings = self.settings
        began = saved = time.monotonic()
        earlier, first = self.seconds, (self.step, self.tokens)
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
            rate = (self.tokens - first[1]) / (now - began)
            left = (settings.steps - self.step) * (now - began) / (self.step - first[0])
            if max_minutes is not None:
                left = min(left, 60 * max_minutes - (now - began))
            progress.show(self.step, settings.steps, self._figures(rate), left)
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
        """Take one step on all tokens of some batches; return the loss before it, in nats a token."""
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
        mixed = (
            torch.autocast(self.device.type, narrow) if narrow != torch.float32 else contextlib.nullcontext()
        )
        with mixed:
            hidden, labels = self._hidden(batch)
        loss = smoothed_cross_entropy(
            hidden.float(), self._output(), labels, self.settings.label_smoothing, narrow
        )
        (loss * share).backward()  # type: ignore[no-untyped-call]
        return float(loss.detach()) * share

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
        """Cross-entropy on the development text in nats a token, without label smoothing, in float32."""
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
