"""The card of a trained model: configuration, data, figures, and the command that makes it again."""

from __future__ import annotations

import dataclasses
import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from babelscope.lab.training.checkpoints import CARD, write_json
from babelscope.lab.training.parallel import ParallelText, count_shared
from babelscope.lab.training.plain import PLAIN
from babelscope.lab.training.progress import clock
from babelscope.lab.training.settings import SETTABLE, TrainingSettings
from babelscope.lab.training.shapes import PARTS, SHAPES
from babelscope.util.version import __version__

if TYPE_CHECKING:
    from babelscope.lab.training.loop import TrainingRun


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
    import torch
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
    for name in ("label_smoothing", "steps", "seed"):
        options += [f"--{name.replace('_', '-')}", str(getattr(settings, name))]
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
    """Which steps the weights are of, and the metric that selected them."""
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
    words += ["--device", device] if device != "cpu" else []
    return shlex.join([*words, "--threads", str(threads), "--out", "NEW_FOLDER"])


def _how_to_open(card: dict[str, Any], folder: Path) -> str:
    settings = card["configuration"]["settings"]
    if settings["shape"]["architecture"] == "llama":
        source, _, target = settings["languages"].partition("-")
        first = settings["prompts"].split(",")[0]
        asked = f"&prompt={quote(first)}" if first else ""
        spec = f"llm:FOLDER?source={quote(source)}&target={quote(target)}{asked}"
        return f"'{spec}'`, or with AutoModelForCausalLM and AutoTokenizer of transformers"
    plain = (folder / PLAIN).exists()
    return (
        "lab:FOLDER`"
        if plain
        else "hf:FOLDER`, or with AutoModelForSeq2SeqLM and AutoTokenizer of transformers"
    )


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
            f"{card['dev_loss']:.4f} nats a token on {card['dev_pairs']:,} pairs, "
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
