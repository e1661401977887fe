"""COMET models (Rei et al. 2020, 2022), out of process: unbabel-comet's pins exclude ours.

It has a Python environment of its own in the user's cache, made of pinned packages, and a worker there
(`comet_worker.py`) that loads a model once. See docs/howto/metrics.md.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from babelscope.metrics.base import Metric, References, Scale, Texts
from babelscope.metrics.external import AT_ONCE, parse_scores, parse_spec, stated_options
from babelscope.util.consent import require_consent
from babelscope.util.digests import digest_file
from babelscope.util.environments import Environment, isolated
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.process import Worker
from babelscope.util.progress import working
from babelscope.util.text import read_bytes, shorten

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
    """A model of unbabel-comet, xCOMET among them; against several references, the best score."""

    model: str
    """Its name on the Hugging Face hub."""
    license: str = "its license is on its page there"
    size: str = "a few GB"

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
        for start in range(0, len(rows), AT_ONCE):
            some = rows[start : start + AT_ONCE]
            found += parse_scores(self.name, self._worker().ask(json.dumps(some)), len(some))
        return found

    def _worker(self) -> Worker:
        """The open worker of the model, opened at its first use."""
        known, checkpoint = self._checkpoint()
        key = (str(known.folder), checkpoint)
        if key not in _open or not _open[key].is_open:
            if digest_file(checkpoint) != known.note(self._note).get("sha256"):
                raise SystemFailure(
                    f"{checkpoint} has changed since it was downloaded for {self.name}; remove "
                    f"{known.folder / self._note} to have the model downloaded again"
                )
            command = [str(known.python), "-I", str(_WORKER), "score", checkpoint]
            with working(f"loading {self.model}"):
                _open[key] = Worker(self.name, command, env=isolated(), timeout=_TIMEOUT)
        if not self.reads_references and json.loads(_open[key].greeting)["references"]:
            raise BabelscopeError(f"{self.model} needs references: leave ?reference=no out of {self.name}")
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
        return f"model-{re.sub('[^A-Za-z0-9.-]', '_', self.name.partition('?')[0])}.json"

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
        print(self._plan(known), file=sys.stderr)
        if not yes:
            require_consent(
                "Continue?",
                instead="nothing was done, since there is no terminal to ask on; agree by "
                f"`babelscope data get {self.name} --yes`",
                refused="nothing was done, since you did not agree",
            )
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
        name, _, options = self.name.partition("?")
        told = f"{name.partition(':')[0]} {self.model.removeprefix(_AUTHORS)} model {checksum[:8]}"
        return " ".join([told, f"packages {packages}", *options.split("&")]).strip()


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


_AUTHORS = "Unbabel/"
"""Where the hub has models that are named without an owner."""
_MODEL = re.compile(r"\w[\w.-]{0,99}(/\w[\w.-]{0,99})?")
_NOTES = {"Unbabel/wmt20-comet-da": ", z-scores: 0 is an average translation, and 1 not the highest"}


def open_comet(spec: str, rest: str) -> Comet:
    """Open `comet:MODEL?bound=NUMBER&reference=yes|no`, any model of unbabel-comet on the Hugging Face hub."""
    named, options = parse_spec(spec, rest)
    if not _MODEL.fullmatch(named):
        raise BabelscopeError(f"{spec} names no model of the Hugging Face hub, such as comet:wmt20-comet-da")
    scale, reads, _ = stated_options(options, bound=1.0)
    model = named if "/" in named else _AUTHORS + named
    note = f"{model.removeprefix(_AUTHORS)}{_NOTES.get(model, '')}"
    return Comet(spec, replace(scale, note=note), model, reads_references=reads, reads_sources=True)


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
