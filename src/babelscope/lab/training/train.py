"""Trains a translation model from scratch on parallel text; resumable, on a laptop."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from babelscope.lab.training.cards import make_card, write_card
from babelscope.lab.training.checkpoints import (
    CHECKPOINT,
    CONFIGURATION,
    load_checkpoint,
    open_folder,
    save_checkpoint,
)
from babelscope.lab.training.decoder_only import PromptPieces
from babelscope.lab.training.loss import smoothed_cross_entropy
from babelscope.lab.training.muon import Muon
from babelscope.lab.training.networks import (
    hidden_states,
    network_weights,
    new_network,
    output_weight,
    save_network,
    torch_seed,
)
from babelscope.lab.training.parallel import Batch, Corpus, ParallelText, hold_out, read_parallel
from babelscope.lab.training.progress import Progress
from babelscope.lab.training.settings import TrainingSettings
from babelscope.lab.training.tokenizer import (
    Pieces,
    copy_tokenizer,
    load_pieces,
    save_tokenizer,
    train_both,
    train_pieces,
)
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.locks import locked_folder
from babelscope.util.seeds import stream


def train(
    source: Path,
    target: Path,
    out: Path,
    settings: TrainingSettings,
    *,
    dev: tuple[Path, Path] | None = None,
    tokenizer: Path | None = None,
    max_minutes: float | None = None,
    threads: int = 0,
    device: str = "cpu",
    quiet: bool = False,
    checkpoint_seconds: float = 60.0,
    origin: dict[str, Any] | None = None,
    locked: bool = False,
) -> dict[str, Any]:
    """Train a model on two line-parallel files, write it to the folder `out`, and return its card.

    After a kill, the same call resumes from the last checkpoint and ends with the same weights as a run that was
    never killed (on the same machine with as many threads). Without `dev`, some pairs are held out; with
    `tokenizer`, the vocabulary of that model folder is used. `origin` goes on the card of a distilled model. One
    process at a time works in a folder; pass `locked` if the caller holds its lock.
    """
    text = read_parallel(source, target)
    held = read_parallel(*dev, least=1) if dev else None
    training, development = (text, held) if held else hold_out(text, settings.seed)
    shared = load_pieces(tokenizer) if tokenizer else None
    if shared:
        settings = dataclasses.replace(settings, vocabulary=shared.pad)
        _check_vocabularies(settings, shared, tokenizer)
    configuration = {
        "settings": settings.as_json(),
        "data": _digests(text),
        "dev": _digests(held) if held else "held out",
        "tokenizer": _pieces_digest(shared) if shared else "new",
    }
    with (
        contextlib.nullcontext() if locked else locked_folder(out),
        contextlib.closing(Progress(f"training {out.name}", quiet=quiet)) as progress,
    ):
        if earlier := open_folder(out, configuration):
            progress.say(f"already trained: {out}")
            return earlier
        with training_numerics(threads):
            run = _open_run(out, settings, shared, training, development, device, progress)
            if isinstance(run.pieces, PromptPieces):
                run.pieces.save(out)
            elif tokenizer:
                copy_tokenizer(tokenizer, out)
            else:  # before training, so that other models can use it while this one trains
                save_tokenizer(run.pieces, out, languages=settings.languages)
            stopped = run.train(out, progress, max_minutes=max_minutes, checkpoint_seconds=checkpoint_seconds)
            save_network(run.finished_network(), out, half=settings.half)
            made: dict[str, Any] = {"stopped": stopped, "tokenizer": tokenizer, "origin": origin}
            card = make_card(run, configuration, text, held, **made)
            write_card(card, out)
        if stopped != "time":  # a run that ran out of time can be resumed with more
            (out / CHECKPOINT).unlink(missing_ok=True)
        (out / CONFIGURATION).unlink(missing_ok=True)
        return card


# The attributes in a checkpoint, besides network, optimizer and random state.
_PLAIN_STATE = (
    *("step", "epoch", "position", "tokens", "seconds", "loss"),
    *("best", "best_step", "best_loss", "stale", "history"),
)


class TrainingRun:
    """The state of one training run, and the training loop."""

    def __init__(
        self,
        settings: TrainingSettings,
        pieces: Pieces,
        text: ParallelText,
        dev: ParallelText,
        *,
        device: str,
    ) -> None:
        self.settings = settings
        self.pieces = pieces
        self.device = torch.device(device)
        self.corpus = Corpus(text, pieces, longest=settings.longest)
        self.dev = Corpus(dev, pieces, longest=settings.longest)
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
        self.best: dict[str, Tensor] = {}
        self.best_step = 0
        self.best_loss = math.inf
        """Lowest development loss, in nats a token without label smoothing."""
        self.stale = 0
        self.history: list[list[float]] = []
        """(step, training loss, development loss) at each measurement of the development loss."""

    def state(self) -> dict[str, Any]:
        """The content of a checkpoint: tensors and plain values."""
        return {
            **{name: getattr(self, name) for name in _PLAIN_STATE},
            "network": self.network.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "random": torch.get_rng_state(),
            "pieces": [
                torch.frombuffer(bytearray(proto), dtype=torch.uint8) for proto in _protos(self.pieces)
            ],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        for name in _PLAIN_STATE:
            setattr(self, name, state[name])
        self.network.load_state_dict(state["network"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        torch.set_rng_state(state["random"])

    def train(
        self, out: Path, progress: Progress, *, max_minutes: float | None, checkpoint_seconds: float
    ) -> str:
        """Train to the end; return what ended it: `steps`, `patience` or `time`."""
        settings = self.settings
        began = saved = time.monotonic()
        earlier, first = self.seconds, (self.step, self.tokens)
        for batch in self._batches():
            loss = self._learn(batch)
            self.loss = loss if math.isnan(self.loss) else 0.95 * self.loss + 0.05 * loss
            now = time.monotonic()
            self.seconds = earlier + now - began
            late = max_minutes is not None and now - began > 60 * max_minutes
            last = self.step == settings.steps
            if last or self.step % settings.dev_every == 0:
                self._measure_dev_loss()
            if last or self.stale >= settings.patience:
                return "steps" if last else "patience"
            if late or now - saved >= checkpoint_seconds:
                save_checkpoint(out, self.state())
                saved = now
            if late:
                self._measure_dev_loss()  # after saving: a resumed run must not count it
                return "time"
            rate = (self.tokens - first[1]) / (now - began)
            left = (settings.steps - self.step) * (now - began) / (self.step - first[0])
            if max_minutes is not None:
                left = min(left, 60 * max_minutes - (now - began))
            progress.show(self.step, settings.steps, self._figures(rate), left)
        raise AssertionError("batches never end")

    def _figures(self, rate: float) -> str:
        dev = f", dev {self.history[-1][2]:.3f}" if self.history else ""
        return f"loss {self.loss:.3f}{dev}, {rate:,.0f} tokens/s"

    def _batches(self) -> Iterator[Batch]:
        """Endless batches from the current position."""
        while True:
            order = stream(self.settings.seed, f"lab/epoch {self.epoch}")
            found = self.corpus.batches(self.settings.batch_tokens, order)
            while self.position < len(found):
                self.position += 1
                yield self.corpus.batch(found[self.position - 1])
            self.epoch, self.position = self.epoch + 1, 0

    def _learn(self, batch: Batch) -> float:
        """Take one step; return the loss before it, in nats a token."""
        self.step += 1
        self.network.train()
        hidden, labels = self._hidden(batch)
        loss = smoothed_cross_entropy(hidden, self._output(), labels, self.settings.label_smoothing)
        self.network.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
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
        self.tokens += len(labels)
        return float(loss.detach())

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

    def _measure_dev_loss(self) -> None:
        """Measure the development loss; keep the weights if it is the lowest so far."""
        loss = self.dev_loss(self.network)
        self.history.append([self.step, self.loss, loss])
        if loss < self.best_loss:
            self.best_loss, self.best_step, self.stale = loss, self.step, 0
            self.best = {
                name: tensor.clone() for name, tensor in network_weights(self.network, half=False).items()
            }
        else:
            self.stale += 1

    @torch.no_grad()
    def dev_loss(self, network: Any) -> float:
        """Cross-entropy on the development text in nats a token, without label smoothing."""
        network.eval()
        total, count = 0.0, 0
        for numbers in self.dev.batches(self.settings.batch_tokens):
            hidden, labels = self._hidden(self.dev.batch(numbers))
            total += float(F.cross_entropy(hidden @ self._output().t(), labels, reduction="sum"))
            count += len(labels)
        return total / count

    def finished_network(self) -> Any:
        """The network with its best weights, rounded as they will be saved; measures `best_loss` again."""
        dtype = torch.float16 if self.settings.half else torch.float32
        weights = {
            name: tensor if name == "final_logits_bias" else tensor.to(dtype).float()
            for name, tensor in self.best.items()
        }
        self.network.load_state_dict(weights, strict=False)
        self.best_loss = self.dev_loss(self.network)
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


def _protos(pieces: Pieces) -> list[bytes]:
    return [pieces.proto, *([pieces.own_target.proto] if pieces.own_target else [])]


def _pieces_digest(pieces: Pieces) -> str:
    return hashlib.sha256(b"".join(_protos(pieces))).hexdigest()


def _check_vocabularies(settings: TrainingSettings, shared: Pieces, tokenizer: Path | None) -> None:
    """Refuse another model's vocabulary that is joint where the shape's are separate, or the other way round."""
    found = "separate" if shared.own_target else "joint"
    if found != settings.shape.vocabularies:
        raise BabelscopeError(f"{tokenizer} has {found} vocabularies; say --set vocabularies={found}")


def _digests(text: ParallelText) -> list[str]:
    return [text.files["source_sha256"], text.files["target_sha256"]]


def _open_run(
    out: Path,
    settings: TrainingSettings,
    shared: Pieces | None,
    text: ParallelText,
    dev: ParallelText,
    device: str,
    progress: Progress,
) -> TrainingRun:
    """The run of the last checkpoint, or a new one with the `shared` vocabulary or a new one."""
    saved = load_checkpoint(out)
    if saved:
        stored = saved["pieces"]  # before vocabularies could be separate, a tensor and not a list
        protos = [each.numpy().tobytes() for each in (stored if isinstance(stored, list) else [stored])]
        pieces = Pieces(protos[0], Pieces(protos[1]) if len(protos) > 1 else None)
    elif shared:
        pieces = shared
    elif settings.shape.vocabularies == "separate":
        pieces = train_both(lambda: iter(text.source), lambda: iter(text.target), settings.vocabulary)
    else:
        pieces = train_pieces(iter([*text.source, *text.target]), settings.vocabulary)
    if settings.shape.architecture == "llama":
        pieces = PromptPieces(pieces.proto, settings.languages)
    run = TrainingRun(settings, pieces, text, dev, device=device)
    if saved:
        run.restore(saved)
        progress.say(f"going on from step {run.step:,}")
    return run


@contextlib.contextmanager
def training_numerics(threads: int) -> Iterator[None]:
    """Set threads and flush denormals for training; restore threads and random state afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    torch.set_flush_denormal(True)  # Adam's averages of unused rows decay into denormals, which are slow
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(before)
