"""COMET-22 and CometKiwi-22 (Rei et al. 2022), out of process: unbabel-comet's pins exclude ours.

It has a Python environment of its own in the user's cache, made of pinned packages, and a worker there
(`comet_worker.py`) that loads a model once. See docs/howto/metrics.md.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from babelscope.metrics.base import Metric, References, Scale, Texts
from babelscope.util.digests import digest_file
from babelscope.util.environments import Environment, isolated, require_consent
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.process import Worker
from babelscope.util.progress import working
from babelscope.util.text import json_number, read_bytes, shorten

_AT_ONCE = 1024
"""Segments asked for in one line."""
_TIMEOUT = 24 * 3600.0
"""Seconds for one line; on a processor a thousand segments take many minutes."""
_WORKER = Path(__file__).with_name("comet_worker.py")
_OWN = "BABELSCOPE_COMET_REQUIREMENTS"
_open: dict[tuple[str, str], Worker] = {}


def environment() -> Environment:
    """That of unbabel-comet, with our pinned packages or those of the file in $BABELSCOPE_COMET_REQUIREMENTS."""
    if stated := os.environ.get(_OWN):
        requirements = read_bytes(Path(stated))
    else:
        requirements = (resources.files("babelscope.metrics") / "comet-requirements.txt").read_bytes()
    return Environment("unbabel-comet", requirements, "comet")


@dataclass(frozen=True)
class Comet(Metric):
    """A model of unbabel-comet; against several references, the best score."""

    model: str
    """Its name on the Hugging Face hub."""
    license: str
    size: str

    def sentence(self, hypotheses: Texts, references: References, sources: Texts = ()) -> list[float]:
        """The model's score of each hypothesis; an error unless there is one finite number for each."""
        if len(sources) != len(hypotheses):
            raise BabelscopeError(f"{self.name} needs the source of every translation")
        rows: list[dict[str, str]] = []
        owner: list[int] = []
        for number, (source, text, own) in enumerate(zip(sources, hypotheses, references, strict=True)):
            if self.reads_references and not own:
                raise BabelscopeError(f"{self.name} needs a reference of {shorten(source)}")
            for reference in own if self.reads_references else [""]:
                rows.append({"src": source, "mt": text})
                owner.append(number)
                if self.reads_references:
                    rows[-1]["ref"] = reference
        best = [-math.inf] * len(hypotheses)
        for number, score in zip(owner, self._scores(rows), strict=True):
            best[number] = max(best[number], score)
        return best

    def _scores(self, rows: Sequence[dict[str, str]]) -> list[float]:
        found: list[float] = []
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            found += _parse_scores(self.name, self._worker().ask(json.dumps(some)), len(some))
        return found

    def _worker(self) -> Worker:
        """The open worker of the model, opened at its first use."""
        known, checkpoint = self._checkpoint()
        key = (str(known.folder), checkpoint)
        if key not in _open or not _open[key].is_open:
            if digest_file(checkpoint) != known.note(self._note).get("sha256"):
                raise SystemFailure(
                    f"{checkpoint} is not the file any more that was downloaded for {self.name}; remove "
                    f"{known.folder / self._note} to have the model downloaded again"
                )
            command = [str(known.python), "-I", str(_WORKER), "score", checkpoint]
            with working(f"loading {self.model}"):
                _open[key] = Worker(self.name, command, env=isolated(), timeout=_TIMEOUT)
        return _open[key]

    def _checkpoint(self) -> tuple[Environment, str]:
        """The environment, and the model's file; an error if they have not been made ready."""
        known = environment()
        checkpoint = known.note(self._note).get("checkpoint") if known.is_ready else None
        if not isinstance(checkpoint, str) or not os.path.isfile(checkpoint):
            raise BabelscopeError(
                f"{self.name} has no environment or no model yet; make them with: babelscope data get {self.name}"
            )
        return known, checkpoint

    @property
    def _note(self) -> str:
        return f"model-{self.name}.json"

    def prepare(self, *, yes: bool = False) -> None:
        """Make the environment and download the model, unless they are there; told first, and allowed."""
        known = environment()
        if known.is_ready and os.path.isfile(str(known.note(self._note).get("checkpoint"))):
            return
        if sys.version_info >= (3, 13) and _OWN not in os.environ:
            raise BabelscopeError(
                f"{self.name} needs numpy below 2, which has no build for Python {sys.version_info.minor}: run "
                f"Babelscope with Python 3.11 or 3.12, or name requirements of your own in {_OWN}"
            )
        require_consent(self._plan(known), yes=yes)
        known.make()
        with working(f"downloading {self.model}"):
            checkpoint = _fetch(self.name, known, self.model)
        known.keep_note(self._note, {"checkpoint": checkpoint, "sha256": digest_file(checkpoint)})

    def _plan(self, known: Environment) -> str:
        packages = sum(line[:1].isalnum() for line in known.requirements.split(b"\n"))
        there = " (there already)" if known.is_ready else ""
        return (
            f"{self.name} runs in a Python environment of its own, since unbabel-comet needs other versions of numpy "
            f"and transformers than Babelscope; yours is not changed. It takes\n"
            f"  packages: {packages}, unbabel-comet and torch among them, 5 GB on disk as we pin them, "
            f"from the index that uv is set to, each held to its SHA-256{there}\n"
            f"  into:     {known.folder}\n"
            f"  model:    {self.model} ({self.size}, {self.license}), from the Hugging Face hub into its own cache. "
            "Its checkpoint is a pickle, which runs code of its authors when it is loaded"
        )

    @property
    def identity(self) -> str:
        """What goes into a signature: the name, the model's file and the packages."""
        known, _ = self._checkpoint()
        checksum = str(known.note(self._note).get("sha256"))
        packages = known.digest[:8]
        return f"{super().identity} {self.model.rpartition('/')[2]} model {checksum[:8]} packages {packages}"


def _parse_scores(name: str, line: str, count: int) -> list[float]:
    """The numbers of an answer: as many as asked for, and all finite."""
    try:
        answer: Any = json.loads(line)
    except ValueError:
        answer = None
    if not isinstance(answer, list):
        raise SystemFailure(f"{name} answered {shorten(line)}, which is no list of scores")
    if len(answer) != count:
        raise SystemFailure(f"{name} gave {len(answer)} scores of {count} translations")
    numbers = [json_number(each) for each in answer]
    for number, given in zip(numbers, answer, strict=True):
        if number is None or not math.isfinite(number):
            raise SystemFailure(f"{name} gave {given} as a score; it must be a finite number")
    return [number for number in numbers if number is not None]


def _fetch(name: str, known: Environment, model: str) -> str:
    """The path of a model's checkpoint, downloaded unless it is there."""
    command = [str(known.python), "-I", str(_WORKER), "fetch", model]
    done = subprocess.run(command, env=isolated(), stdin=subprocess.DEVNULL, capture_output=True, check=False)
    try:
        checkpoint = json.loads(done.stdout)["checkpoint"] if done.returncode == 0 else None
    except (ValueError, LookupError, TypeError):
        checkpoint = None
    if not isinstance(checkpoint, str) or not os.path.isfile(checkpoint):
        told = done.stderr.decode(errors="replace").strip().split("\n")[-1]
        raise SystemFailure(
            f"the model {model} of {name} could not be downloaded: {shorten(told, 300)}; see that the hub can be "
            "reached, and if its license must be accepted there, do so and log in"
        )
    return checkpoint


_NOT_Z_SCORES = "about 0 to 1: not the z-scores of wmt20-comet-da, the COMET of Digging Errors in NMT"
COMET = Comet(
    "comet",
    Scale(None, 1.0, note=f"wmt22-comet-da, {_NOT_Z_SCORES}"),
    "Unbabel/wmt22-comet-da",
    "Apache-2.0",
    "2.3 GB",
    reads_sources=True,
)
KIWI = Comet(
    "cometkiwi",
    Scale(None, 1.0, note=f"wmt22-cometkiwi-da, reads no reference; {_NOT_Z_SCORES}"),
    "Unbabel/wmt22-cometkiwi-da",
    "CC BY-NC-SA 4.0, to be accepted on the hub",
    "2.3 GB",
    reads_references=False,
    reads_sources=True,
)
