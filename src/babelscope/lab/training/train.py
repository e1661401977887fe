"""Trains a translation model from scratch on parallel text; resumable, on a laptop."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import math
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import torch

from babelscope.lab.training.checkpoints import (
    CARD,
    CHECKPOINT,
    CONFIGURATION,
    clock,
    load_checkpoint,
    open_folder,
    write_json,
)
from babelscope.lab.training.decoder_only import PromptPieces, Prompts
from babelscope.lab.training.loop import TrainingRun, find_device, training_numerics
from babelscope.lab.training.networks import PLAIN, save_network
from babelscope.lab.training.settings import PARTS, SETTABLE, SHAPES, TrainingSettings
from babelscope.lab.training.text import (
    ParallelText,
    Pieces,
    copy_tokenizer,
    count_shared,
    find_tags,
    hold_out,
    load_pieces,
    read_parallel,
    save_tokenizer,
    train_both,
    train_pieces,
)
from babelscope.util.digests import digest_file
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import locked_folder
from babelscope.util.progress import progress
from babelscope.util.version import __version__


def make_card(
    run: TrainingRun,
    configuration: dict[str, Any],
    text: ParallelText,
    dev: ParallelText | None,
    *,
    stopped: str,
    tokenizer: Path | None,
    origin: dict[str, Any] | None,
) -> dict[str, Any]:
    """The card of a finished run, as JSON."""
    import transformers

    settings = run.settings
    threads = torch.get_num_threads()
    command = (
        origin["command"]
        if origin
        else train_command(settings, text, dev, tokenizer, threads, run.device.type)
    )
    return {
        "shape": settings.shape.name,
        "parameters": sum(weight.numel() for weight in run.weights),
        "vocabulary": run.pieces.size,
        "label_smoothing": settings.label_smoothing,
        "seed": settings.seed,
        "dev_loss": run.dev_loss,
        "dev_perplexity": math.exp(min(run.dev_loss, 700.0)),  # beyond, no float is large enough
        **_selected(run),
        "steps": run.step,
        "epochs": run.epoch + 1,
        "tokens": run.tokens,
        "stopped_by": stopped,
        "seconds": round(run.seconds, 1),
        "tokens_per_second": round(run.tokens / run.seconds, 1) if run.seconds else 0.0,
        "threads": threads,
        **({} if run.device.type == "cpu" else {"device": torch.cuda.get_device_name(run.device)}),
        "pairs": len(run.corpus.kept),
        "dropped": run.corpus.dropped,
        "dev_pairs": len(run.dev.kept),
        "dev_pairs_in_training": count_shared(run.corpus.text, run.dev.text),
        "data": _portable_paths(text.files),
        "dev": _portable_paths(dev.files) if dev else "held out",
        "versions": {
            "babelscope": __version__,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
        **({"distilled": origin["distilled"]} if origin else {}),
        "command": command,
        "history": [[int(step), *(round(value, 4) for value in values)] for step, *values in run.history],
        "configuration": configuration,
    }


def _portable_paths(files: dict[str, str]) -> dict[str, str]:
    """Relative paths as given, absolute ones by name only: a card is copied to other machines."""
    return {key: Path(value).name if Path(value).is_absolute() else value for key, value in files.items()}


def recipe_options(settings: TrainingSettings, *, vocabulary: bool) -> list[str]:
    """The command-line options for these settings; the vocabulary size only if a new vocabulary is trained."""
    options = ["--shape", settings.shape.name]
    options += ["--vocabulary", str(settings.vocabulary)] if vocabulary else []
    options += ["--set", f"label_smoothing={settings.label_smoothing}"]
    options += ["--steps", str(settings.steps), "--seed", str(settings.seed)]
    named = SHAPES.get(settings.shape.name)
    defaults = {field.name: field.default for field in dataclasses.fields(settings)}
    for name in SETTABLE:
        if name in defaults and getattr(settings, name) == defaults[name]:
            continue
        if name not in PARTS:
            options += ["--set", f"{name}={getattr(settings, name)}"]
        elif named is None or getattr(named, name) != getattr(settings.shape, name):
            options += ["--set", f"{name}={getattr(settings.shape, name)}"]
    return options


def _selected(run: TrainingRun) -> dict[str, Any]:
    """The steps that the weights come from, and the metric that selected them."""
    found: dict[str, Any] = {"best_step": run.selection.best_step}
    if run.settings.average > 1:
        found["averaged_steps"] = sorted(each.step for each in run.selection.kept)
    if run.dev_score is not None and run.metric is not None:
        found["dev_score"] = {
            "metric": run.metric.identity,
            "beam": run.settings.dev_beam,
            **run.dev_score.as_json(),
        }
    return found


def train_command(
    settings: TrainingSettings,
    text: ParallelText,
    dev: ParallelText | None,
    tokenizer: Path | None,
    threads: int,
    device: str,
) -> str:
    """The shell command that trains this model again."""
    words = ["babelscope", "lab", "train", "--source", text.files["source"], "--target", text.files["target"]]
    if dev:
        words += ["--dev-source", dev.files["source"], "--dev-target", dev.files["target"]]
    words += recipe_options(settings, vocabulary=tokenizer is None)
    if tokenizer:
        words += ["--tokenizer", str(tokenizer)]
    words += ["--set", f"device={device}"] if device != "cpu" else []
    return shlex.join([*words, "--set", f"threads={threads}", "--out", "NEW_FOLDER"])


def _how_to_open(card: dict[str, Any], folder: Path) -> str:
    settings = card["configuration"]["settings"]
    if settings["shape"]["architecture"] == "llama":
        source, _, target = settings["languages"].partition("-")
        first = settings["prompts"].split(",")[0]
        asked = f"&prompt={quote(first)}" if first else ""
        spec = f"llm:FOLDER?source={quote(source)}&target={quote(target)}{asked}"
        return f"'{spec}'`, or with AutoModelForCausalLM and AutoTokenizer of transformers"
    if (folder / PLAIN).exists():
        return "lab:FOLDER`"
    return "hf:FOLDER`, or with AutoModelForSeq2SeqLM and AutoTokenizer of transformers"


def write_card(card: dict[str, Any], folder: Path) -> None:
    """Write README.md, then card.json, which marks the folder as complete."""
    opened = _how_to_open(card, folder)
    made = "distilled from a teacher" if "distilled" in card else "trained"
    figures = [
        ("shape", f"{card['shape']}, {card['parameters']:,} parameters, {card['vocabulary']:,} pieces"),
        ("label smoothing", card["label_smoothing"]),
        ("seed", card["seed"]),
        ("training pairs", f"{card['pairs']:,} ({card['dropped']:,} left out as too long)"),
        ("steps", f"{card['steps']:,} (best: {card['best_step']:,}; ended by {card['stopped_by']})"),
        ("target tokens seen", f"{card['tokens']:,} in {card['epochs']} epochs"),
        (
            "dev loss",
            f"{card['dev_loss']:.4f} nats per token on {card['dev_pairs']:,} pairs, "
            f"{card['dev_pairs_in_training']:,} of them in the training text, too",
        ),
        ("time", f"{clock(card['seconds'])} with {card['threads']} threads"),
        ("versions", ", ".join(f"{name} {version}" for name, version in card["versions"].items())),
    ]
    if isinstance(card["data"], dict):
        figures += [
            ("SHA-256", f"source {card['data']['source_sha256']}, target {card['data']['target_sha256']}")
        ]
    table = "\n".join(f"| {name} | {value} |" for name, value in figures)
    (folder / "README.md").write_text(
        f"# A translation model {made} with Babelscope\n\n"
        f"Open it with `babelscope ... --system {opened}.\n\n| | |\n|---|---|\n{table}\n\n"
        f"Made again by\n\n```sh\n{card['command']}\n```\n",
        encoding="utf-8",
    )
    write_json(folder / CARD, card)


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

    After a kill, the same call resumes from the last checkpoint and ends with the same weights (on the same machine
    with as many threads). Without `dev`, some pairs are held out; with `tokenizer`, the vocabulary of that model
    folder is used. `origin` goes on the card of a distilled model. Pass `locked` if the caller has the lock.
    """
    where = find_device(device)
    text = read_parallel(source, target)
    held = read_parallel(*dev, least=1) if dev else None
    training, development = (text, held) if held else hold_out(text, settings.seed)
    shared = load_pieces(tokenizer) if tokenizer else None
    if shared:
        settings = dataclasses.replace(settings, vocabulary=shared.pad)
        _check_vocabularies(settings, shared, tokenizer, find_tags(text.source))
    elif settings.weights:
        raise BabelscopeError(
            f"weights={settings.weights} need the vocabulary of that model: --tokenizer FOLDER"
        )
    is_llama = settings.shape.architecture == "llama"
    prompts = Prompts(settings.languages, settings.prompts) if is_llama else None
    configuration = _configuration(settings, text, held, shared, prompts, where)
    with contextlib.nullcontext() if locked else locked_folder(out):
        if earlier := open_folder(out, configuration):
            _say(f"already trained: {out}", quiet=quiet)
            return earlier
        with training_numerics(threads, where):
            with _free_if_refused(out):
                run = _open_run(out, settings, shared, prompts, training, development, where, quiet=quiet)
            _save_pieces(run, tokenizer, out)
            with progress(f"training {out.name}", settings.steps, done=run.step, quiet=quiet) as advance:
                stopped = run.train(
                    out, advance, max_minutes=max_minutes, checkpoint_seconds=checkpoint_seconds
                )
            save_network(run.finish(), out, half=settings.half)
            made: dict[str, Any] = {"stopped": stopped, "tokenizer": tokenizer, "origin": origin}
            card = make_card(run, configuration, text, held, **made)
            write_card(card, out)
        if stopped != "time":  # a run that ran out of time can be resumed with more
            (out / CHECKPOINT).unlink(missing_ok=True)
        (out / CONFIGURATION).unlink(missing_ok=True)
        return card


def _say(text: str, *, quiet: bool) -> None:
    if not quiet:
        print(text, file=sys.stderr, flush=True)


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


def _configuration(
    settings: TrainingSettings,
    text: ParallelText,
    held: ParallelText | None,
    shared: Pieces | None,
    prompts: Prompts | None,
    device: torch.device,
) -> dict[str, Any]:
    """What must be the same for a run to be resumed."""
    first = Path(settings.weights) / "model.safetensors" if settings.weights else None
    return {
        "settings": settings.as_json(),
        "data": _digests(text),
        "dev": _digests(held) if held else "held out",
        "tokenizer": hashlib.sha256(b"".join(shared.protos())).hexdigest() if shared else "new",
        **({"weights": digest_file(first)} if first and first.is_file() else {}),
        **({"prompts": prompts.as_json()} if prompts and settings.prompts else {}),
        **({} if device.type == "cpu" else {"device": device.type}),
    }


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
    *,
    quiet: bool,
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
        _say(f"the text has {pieces.pad:,} pieces, not {settings.vocabulary:,}", quiet=quiet)
    if saved:
        run.restore(saved)
        _say(f"going on from step {run.step:,}", quiet=quiet)
    return run
