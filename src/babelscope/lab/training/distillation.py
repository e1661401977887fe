"""Sequence-level knowledge distillation (Kim and Rush, 2016): a student learns its teacher's translations."""

from __future__ import annotations

import contextlib
import itertools
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from babelscope.lab.training.cards import recipe_options
from babelscope.lab.training.checkpoints import (
    CARD,
    CONFIGURATION,
    DATA,
    open_folder,
    read_json,
    refuse_changes,
)
from babelscope.lab.training.devices import find_device, training_numerics
from babelscope.lab.training.parallel import LEAST_PAIRS, read_side
from babelscope.lab.training.progress import Progress
from babelscope.lab.training.settings import TrainingSettings
from babelscope.lab.training.train import train
from babelscope.lab.training.translating import (
    Decoding,
    open_teacher,
    translate_ids,
    why_unusable,
)
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.journal import Journal
from babelscope.util.locks import locked_folder

# Sentences translated between two writes to disk: a kill loses at most these.
_CHUNK = 640


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
    lines, digest = read_side(source, least=LEAST_PAIRS)
    dev_lines = read_side(dev_source, least=1)[0] if dev_source else []
    _check_settings(out, settings)
    where = find_device(device)
    model = open_teacher(teacher, device=str(where))
    files = {"teacher": teacher, "source": source, "dev-source": dev_source, "dev-target": dev_target}
    recipe = recipe_options(settings, vocabulary=own_vocabulary)
    command = _command(files, ["--beam", str(beam), *recipe], threads, device)
    asked = {"source_sha256": digest, "beam": beam, "length_penalty": model.length_penalty}
    known = model.fingerprint
    names = {"teacher": str(teacher), "teacher_fingerprint": known.as_json(), "source": str(source), **asked}
    with locked_folder(out):
        _check_settings(out, settings)  # another process may have used the folder before we had the lock
        with _data_folder(out, translations) as data, training_numerics(threads, where):
            open_folder(data, {"teacher": known.digest, **asked})
            unusable = _write_pairs(model, lines, data, "train", beam=beam, quiet=quiet)
            dev = (dev_source, dev_target) if dev_source and dev_target else None
            if dev_source and not dev:
                _write_pairs(model, dev_lines, data, "dev", beam=beam, quiet=quiet)
                dev = (data / "dev.source", data / "dev.target")
        return train(
            data / "train.source",
            data / "train.target",
            out,
            settings,
            dev=dev,
            tokenizer=None if own_vocabulary else teacher,
            max_minutes=max_minutes,
            threads=threads,
            device=device,
            quiet=quiet,
            checkpoint_seconds=checkpoint_seconds,
            locked=True,
            origin={"command": command, "distilled": {**names, "unusable": unusable}},
        )


@contextlib.contextmanager
def _data_folder(out: Path, shared: Path | None) -> Iterator[Path]:
    """Where translations are: in `out`, whose lock is held, or in a folder that several students share."""
    if shared is None or (out / DATA).exists():
        yield out / DATA
        return
    with locked_folder(shared):
        yield shared


def _command(files: Mapping[str, Path | None], words: Sequence[str], threads: int, device: str) -> str:
    """The shell command that distills this model again."""
    named = [word for name, path in files.items() if path for word in (f"--{name}", str(path))]
    where = [
        *(["--threads", str(threads)] if threads else []),
        *(["--device", device] if device != "cpu" else []),
    ]
    return shlex.join(["babelscope", "lab", "distill", *named, *words, *where, "--out", "NEW_FOLDER"])


def translate_all(
    teacher: Any, sources: Sequence[str], stored: Path, *, beam: int, quiet: bool = False
) -> list[str]:
    """The teacher's translation of each source, "" if it is unfinished; `stored` is the journal to resume from.

    Each distinct source is translated once. Chunks depend on the sources alone, so that an interrupted run has
    the same result as one that was not, ties included.
    """
    distinct = list(dict.fromkeys(sources))
    ids = teacher.tokens.encode_sources(distinct)
    limit = teacher.vocabulary.source_limit
    for number, row in enumerate(ids):
        if limit is not None and len(row) > limit:
            line = sources.index(distinct[number]) + 1
            raise BabelscopeError(f"source line {line} has {len(row)} tokens, but the teacher takes {limit}")
    order = sorted(range(len(distinct)), key=lambda i: (len(ids[i]), i))
    chunks = [order[start : start + _CHUNK] for start in range(0, len(order), _CHUNK)]
    asked = {"teacher": teacher.fingerprint.digest, "sources": digest_json(distinct)}
    asked |= {"beam": beam, "chunk": _CHUNK, "length_penalty": teacher.length_penalty}
    texts: list[list[str]] = []
    progress = Progress("translating", quiet=quiet)
    began = time.monotonic()
    with Journal(stored, asked, lasting=True) as journal:
        first = min(journal.stored * _CHUNK, len(distinct))
        for number, chunk in enumerate(chunks, 1):
            texts.append(
                journal.part(
                    f"sentences {digest_json([distinct[i] for i in chunk])[:16]}",
                    lambda chunk=chunk: _translate(teacher, [ids[i] for i in chunk], beam),  # type: ignore[misc]
                )
            )
            done = min(number * _CHUNK, len(distinct))
            if done > first:
                rate = (done - first) / (time.monotonic() - began)
                progress.show(done, len(distinct), f"{rate:,.0f} sentences/s", (len(distinct) - done) / rate)
    progress.close()
    translations = itertools.chain.from_iterable(texts)
    by_source = {distinct[i]: text for i, text in zip(order, translations, strict=True)}
    return [by_source[source] for source in sources]


def _translate(teacher: Any, ids: list[list[int]], beam: int) -> list[str]:
    """The teacher's best translation of each source, "" if it is unfinished."""
    return [text or "" for text in translate_ids(teacher, ids, Decoding(beam))]


def _write_pairs(
    teacher: Any, sources: Sequence[str], folder: Path, name: str, *, beam: int, quiet: bool
) -> int:
    """Write NAME.source and its translation NAME.target; return how many unusable translations were left out."""
    stored = folder / ("translations.jsonl" if name == "train" else f"{name}-translations.jsonl")
    targets = translate_all(teacher, sources, stored, beam=beam, quiet=quiet)
    kept = [
        (source, target) for source, target in zip(sources, targets, strict=True) if not why_unusable(target)
    ]
    if name == "train" and len(kept) < LEAST_PAIRS:
        raise BabelscopeError(
            f"{len(sources) - len(kept):,} of {len(sources):,} translations by {teacher.name} are unfinished, empty "
            f"or have special tokens, and a student needs {LEAST_PAIRS}; has the teacher learned enough?"
        )
    for side, suffix in enumerate(("source", "target")):
        text = "".join(pair[side] + "\n" for pair in kept)
        (folder / f"{name}.{suffix}").write_text(text, encoding="utf-8", newline="\n")
    return len(sources) - len(kept)


def _check_settings(out: Path, settings: TrainingSettings) -> None:
    """Refuse a folder with other settings now, before hours of translation."""
    card, configuration = read_json(out / CARD), read_json(out / CONFIGURATION)
    earlier = (card["configuration"] if card else configuration) or {}
    now = settings.as_json()
    then = earlier.get("settings", now)
    different = sorted(name for name in now if name != "vocabulary" and then.get(name) != now[name])
    refuse_changes(out, [(name, then.get(name), now[name]) for name in different])
    if out.is_dir() and not earlier and any(path.name != DATA for path in out.iterdir()):
        raise BabelscopeError(f"{out} is not empty; a model needs a folder of its own")
