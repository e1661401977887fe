"""The folder of a training run: its configuration first, then checkpoints, its card at the end."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from babelscope.core.results import differences
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.files import replacing

CHECKPOINT, CONFIGURATION, CARD = "checkpoint.pt", "training.json", "card.json"
DATA = "distilled"
"""Subfolder of a student's folder with its teacher's translations."""


def open_folder(out: Path, configuration: dict[str, Any]) -> dict[str, Any] | None:
    """Prepare a locked folder for a run of this configuration; return its card if the run is already finished.

    Refuses a folder that has anything but this run.
    """
    held = sorted(path.name for path in out.iterdir())
    card: dict[str, Any] | None = read_json(out / CARD)
    earlier = card["configuration"] if card else read_json(out / CONFIGURATION)
    if earlier is None and set(held) - {DATA}:
        raise BabelscopeError(
            f"{out} is not empty ({', '.join(held[:3])}...); a model needs a folder of its own"
        )
    if earlier is not None:
        refuse_changes(out, earlier, configuration)
    if card and not (out / CHECKPOINT).exists():
        return card
    write_json(out / CONFIGURATION, configuration)
    return None


def refuse_changes(out: Path, earlier: dict[str, Any], now: dict[str, Any]) -> None:
    """Refuse the folder of another configuration."""
    if found := differences(earlier, now):
        raise BabelscopeError(
            f"{out} belongs to a run of another configuration: {', '.join(found)}; use another folder"
        )


def read_json(path: Path) -> Any:
    """The JSON in a file; None if there is no such file."""
    if not path.exists():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError):
        raise BabelscopeError(f"{path} cannot be read as JSON; remove the folder to start anew") from None


def write_json(path: Path, value: Any) -> None:
    """Replace a file atomically: a kill leaves the old or the new file."""
    with replacing(path) as file:
        file.write((json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode("utf-8"))


def save_checkpoint(out: Path, state: dict[str, Any]) -> None:
    """Replace the checkpoint of a run atomically."""
    import torch

    beside = out / (CHECKPOINT + ".new")
    try:
        with open(beside, "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, out / CHECKPOINT)
    except (OSError, RuntimeError) as error:
        raise SystemFailure(f"{beside} cannot be written: {error}") from error


def load_checkpoint(out: Path) -> dict[str, Any] | None:
    """The last saved state, or None; unpickles only tensors and plain values."""
    import pickle

    import torch

    path = out / CHECKPOINT
    if not path.exists():
        return None
    try:
        state: dict[str, Any] = torch.load(path, weights_only=True, map_location="cpu")
    except (RuntimeError, EOFError, OSError, pickle.UnpicklingError) as error:
        reason = str(error).strip().split("\n")[0]
        raise BabelscopeError(f"{path} cannot be read: {reason}; remove it to start anew") from error
    return state


def clock(seconds: float) -> str:
    """A duration as 1:02:03 or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
