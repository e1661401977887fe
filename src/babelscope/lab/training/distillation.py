"""Sequence-level knowledge distillation (Kim and Rush, 2016): a student learns its teacher's translations."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from babelscope.lab.training.augmenting import SOURCE, TARGET, Augmentation, Decoding, augment
from babelscope.lab.training.checkpoints import CARD, CONFIGURATION, DATA, read_json, refuse_changes
from babelscope.lab.training.settings import TrainingSettings
from babelscope.lab.training.text import LEAST_PAIRS, read_side
from babelscope.lab.training.train import recipe_options, train
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import locked_folder


def distill(
    teacher: Path,
    source: Path,
    out: Path,
    settings: TrainingSettings,
    *,
    dev_source: Path | None = None,
    dev_target: Path | None = None,
    beam: int = 5,
    own_vocabulary: bool = False,
    translations: Path | None = None,
    max_minutes: float | None = None,
    threads: int = 0,
    device: str = "cpu",
    quiet: bool = False,
    checkpoint_seconds: float = 60.0,
) -> dict[str, Any]:
    """Translate the source file with the model in folder `teacher`, train a student on that, return its card.

    The development text is `dev_source` with `dev_target`, or with the teacher's translation, or else held out.
    The student has its teacher's vocabulary unless `own_vocabulary`. Translation and training resume after a kill;
    students may share the folder `translations`.
    """
    if dev_target and not dev_source:
        raise BabelscopeError("a development target needs its source as well")
    digest = read_side(source, least=LEAST_PAIRS)[1]
    if dev_source:
        read_side(dev_source, least=1)
    _check_settings(out, settings)
    files = {"teacher": teacher, "source": source, "dev-source": dev_source, "dev-target": dev_target}
    recipe = recipe_options(settings, vocabulary=own_vocabulary)
    command = _command(files, ["--set", f"beam={beam}", *recipe], threads, device)
    how: dict[str, Any] = {"threads": threads, "device": device, "quiet": quiet}

    with locked_folder(out):
        _check_settings(out, settings)  # another process may have used the folder before we had the lock
        data = translations if translations and not (out / DATA).exists() else out / DATA
        made = _translate(source, data, teacher, beam, **how)
        known = made["models"]["forward"]
        distilled = {"teacher": str(teacher), "teacher_fingerprint": known, "source": str(source)}
        distilled |= {"source_sha256": digest, "beam": beam, "unusable": _count_unusable(made, teacher)}
        dev = (dev_source, dev_target) if dev_source and dev_target else None
        if dev_source and not dev:
            _translate(dev_source, data / "dev", teacher, beam, **how)
            dev = (data / "dev" / SOURCE, data / "dev" / TARGET)
        return train(
            data / SOURCE,
            data / TARGET,
            out,
            settings,
            dev=dev,
            tokenizer=None if own_vocabulary else teacher,
            max_minutes=max_minutes,
            checkpoint_seconds=checkpoint_seconds,
            **how,
            locked=True,
            origin={"command": command, "distilled": distilled},
        )


def _translate(text: Path, folder: Path, teacher: Path, beam: int, **how: Any) -> dict[str, Any]:
    plan = Augmentation(source=text, forward=teacher, real=False, decoding=Decoding(beam))
    return augment(plan, folder, **how)


def _count_unusable(made: Mapping[str, Any], teacher: Path) -> int:
    """Translations that no student is trained on; refused if too few others are left."""
    unusable = sum(made["origins"]["forward"]["left_out"].values())
    if made["pairs"] < LEAST_PAIRS:
        raise BabelscopeError(
            f"{unusable:,} of {made['pairs'] + unusable:,} translations by {teacher} are unfinished, empty or "
            f"have special tokens, and a student needs {LEAST_PAIRS}; has the teacher learned enough?"
        )
    return int(unusable)


def _command(files: Mapping[str, Path | None], words: Sequence[str], threads: int, device: str) -> str:
    """The shell command that distills this model again."""
    named = [word for name, path in files.items() if path for word in (f"--{name}", str(path))]
    where = [
        *(["--set", f"threads={threads}"] if threads else []),
        *(["--set", f"device={device}"] if device != "cpu" else []),
    ]
    return shlex.join(["babelscope", "lab", "train", *named, *words, *where, "--out", "NEW_FOLDER"])


def _check_settings(out: Path, settings: TrainingSettings) -> None:
    """Refuse a folder with other settings now, before hours of translation."""
    card, configuration = read_json(out / CARD), read_json(out / CONFIGURATION)
    earlier = (card["configuration"] if card else configuration) or {}
    now = settings.as_json()
    then = earlier.get("settings", now)
    refuse_changes(out, {**then, "vocabulary": ""}, {**now, "vocabulary": ""})
    if out.is_dir() and not earlier and any(path.name != DATA for path in out.iterdir()):
        raise BabelscopeError(f"{out} is not empty; a model needs a folder of its own")
