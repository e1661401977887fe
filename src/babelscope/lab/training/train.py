"""Trains a translation model from scratch on parallel text; resumable, on a laptop."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from babelscope.lab.training.cards import make_card, write_card
from babelscope.lab.training.checkpoints import CHECKPOINT, CONFIGURATION, load_checkpoint, open_folder
from babelscope.lab.training.decoder_only import PromptPieces, Prompts
from babelscope.lab.training.devices import find_device, training_numerics
from babelscope.lab.training.loop import TrainingRun
from babelscope.lab.training.networks import save_network
from babelscope.lab.training.parallel import ParallelText, hold_out, read_parallel
from babelscope.lab.training.progress import Progress
from babelscope.lab.training.settings import TrainingSettings
from babelscope.lab.training.tokenizer import (
    Pieces,
    copy_tokenizer,
    find_tags,
    load_pieces,
    save_tokenizer,
    train_both,
    train_pieces,
)
from babelscope.util.errors import BabelscopeError
from babelscope.util.locks import locked_folder


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
    where = find_device(device)
    text = read_parallel(source, target)
    held = read_parallel(*dev, least=1) if dev else None
    training, development = (text, held) if held else hold_out(text, settings.seed)
    shared = load_pieces(tokenizer) if tokenizer else None
    if shared:
        settings = dataclasses.replace(settings, vocabulary=shared.pad)
        _check_vocabularies(settings, shared, tokenizer, find_tags(text.source))
    decoder_only = settings.shape.architecture == "llama"
    prompts = Prompts(settings.languages, settings.prompts) if decoder_only else None
    configuration = {
        "settings": settings.as_json(),
        "data": _digests(text),
        "dev": _digests(held) if held else "held out",
        "tokenizer": hashlib.sha256(b"".join(shared.protos())).hexdigest() if shared else "new",
        **({"prompts": prompts.as_json()} if prompts and settings.prompts else {}),
        **({} if where.type == "cpu" else {"device": where.type}),
    }
    with (
        contextlib.nullcontext() if locked else locked_folder(out),
        contextlib.closing(Progress(f"training {out.name}", quiet=quiet)) as progress,
    ):
        if earlier := open_folder(out, configuration):
            progress.say(f"already trained: {out}")
            return earlier
        with training_numerics(threads, where):
            with _free_if_refused(out):
                run = _open_run(out, settings, shared, prompts, training, development, where, progress)
            _save_pieces(run, tokenizer, out)
            stopped = run.train(out, progress, max_minutes=max_minutes, checkpoint_seconds=checkpoint_seconds)
            save_network(run.finish(), out, half=settings.half)
            made: dict[str, Any] = {"stopped": stopped, "tokenizer": tokenizer, "origin": origin}
            card = make_card(run, configuration, text, held, **made)
            write_card(card, out)
        if stopped != "time":  # a run that ran out of time can be resumed with more
            (out / CHECKPOINT).unlink(missing_ok=True)
        (out / CONFIGURATION).unlink(missing_ok=True)
        return card


@contextlib.contextmanager
def _free_if_refused(out: Path) -> Iterator[None]:
    """Leave the folder to other settings where these are refused before anything is trained."""
    try:
        yield
    except BabelscopeError:
        if not (out / CHECKPOINT).exists():
            (out / CONFIGURATION).unlink(missing_ok=True)
        raise


def _save_pieces(run: TrainingRun, tokenizer: Path | None, out: Path) -> None:
    """Write the vocabulary before training, so that other models can use it while this one trains."""
    if isinstance(run.pieces, PromptPieces):
        run.pieces.save(out)
    elif tokenizer:
        copy_tokenizer(tokenizer, out)
    else:
        save_tokenizer(run.pieces, out, languages=run.settings.languages)


def _check_vocabularies(
    settings: TrainingSettings, shared: Pieces, tokenizer: Path | None, tags: Sequence[str]
) -> None:
    """Refuse another model's vocabulary that lacks a tag, or is joint or separate where the shape's is not."""
    if missing := [tag for tag in tags if len(shared.encode([tag])[0]) != 2]:
        raise BabelscopeError(
            f"{tokenizer} has no piece {missing[0]}, which sources begin with; train a new vocabulary (--vocabulary)"
        )
    found = "separate" if shared.own_target else "joint"
    if found != settings.shape.vocabularies:
        raise BabelscopeError(f"{tokenizer} has {found} vocabularies; say --set vocabularies={found}")


def _digests(text: ParallelText) -> list[str]:
    return [text.files["source_sha256"], text.files["target_sha256"]]


def _open_run(
    out: Path,
    settings: TrainingSettings,
    shared: Pieces | None,
    prompts: Prompts | None,
    text: ParallelText,
    dev: ParallelText,
    device: torch.device,
    progress: Progress,
) -> TrainingRun:
    """The run of the last checkpoint, or a new one with the `shared` vocabulary or a new one."""
    saved = load_checkpoint(out)
    tags = find_tags(text.source)
    if saved:
        protos = [each.numpy().tobytes() for each in saved["pieces"]]
        pieces = Pieces(protos[0], Pieces(protos[1]) if len(protos) > 1 else None)
    elif shared:
        pieces = shared
    elif settings.shape.vocabularies == "separate":
        sides = (lambda: iter(text.source)), (lambda: iter(text.target))
        pieces = train_both(*sides, settings.vocabulary, tags=tags)
    else:
        # Several prompts are a good part of what is read; in pieces of a letter they would be most of it.
        shown = map(prompts.text, text.source) if prompts and settings.prompts else text.source
        lines = (line.replace("\n", " ") for line in [*shown, *text.target])
        pieces = train_pieces(lines, settings.vocabulary, tags=tags)
    if prompts:
        pieces = PromptPieces(pieces.proto, prompts)
    run = TrainingRun(settings, pieces, text, dev, device=device)
    if pieces.pad < settings.vocabulary:
        progress.say(f"the text has {pieces.pad:,} pieces, not {settings.vocabulary:,}")
    if saved:
        run.restore(saved)
        progress.say(f"going on from step {run.step:,}")
    return run
