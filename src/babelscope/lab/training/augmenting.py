"""Pseudo-parallel text: real pairs, forward translations of sources, back-translations of targets, as a stream."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from babelscope.lab.training.checkpoints import CARD, CONFIGURATION, open_folder, write_json
from babelscope.lab.training.loop import find_device, training_numerics
from babelscope.lab.training.text import TAGS, find_special_token
from babelscope.systems.cache import Store, resuming
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.files import locked_folder, replacing
from babelscope.util.progress import progress
from babelscope.util.text import parallel_rows, shorten, stream_lines, text_fault
from babelscope.util.version import __version__

Unusable = Literal["", "source too long", "unfinished", "empty", "special token", "not one line of text"]
"""Why a translation cannot be trained on; "" if it can."""


@dataclass(frozen=True, slots=True)
class Decoding:
    """How translations are found: by a beam of this size, or drawn from the model with this seed."""

    beam: int = 5
    sampling_seed: int | None = None
    """None for beam search."""

    def as_json(self) -> dict[str, Any]:
        if self.sampling_seed is None:
            return {"beam": self.beam}
        return {"sampling_seed": self.sampling_seed}


def open_teacher(folder: Path, *, device: str = "auto") -> Any:
    """Open a model that translates for others: any folder that `hf:` or `lab:` opens without options."""
    from babelscope.lab.training.opening import open_trained

    if not folder.is_dir():
        raise BabelscopeError(
            f"{folder}: no such folder; a teacher is the folder of a trained model, "
            "without hf: or lab: before it"
        )
    opened = open_trained(str(folder), folder, device=device)
    if not hasattr(getattr(opened, "tokens", None), "encode_sources"):
        raise BabelscopeError(
            f"{folder}: translations to train on need a model with an encoder and a decoder"
        )
    return opened


def translate_ids(teacher: Any, ids: Sequence[list[int]], how: Decoding) -> list[str | None]:
    """A translation of each source's ids, None where it did not end."""
    # A translation three times as long as its source does not end.
    longest = 3 * max(map(len, ids)) + 20
    longest = min(longest, teacher.vocabulary.target_limit or longest)
    if how.sampling_seed is None:
        from babelscope.decoding.beam import beam_search

        found = beam_search(
            teacher.model, ids, beam=how.beam, max_length=longest, length_penalty=teacher.length_penalty
        )
        rows = [best[0] for best in found]
    else:
        from babelscope.decoding.sampling import draw_samples

        drawn = draw_samples(teacher.model, ids, n=1, seed=how.sampling_seed, limit=longest)
        rows = [samples[0].ids for samples in drawn]
    ended = [row[-1] == teacher.vocabulary.eos for row in rows]
    return [text if end else None for text, end in zip(teacher.tokens.decode(rows), ended, strict=True)]


def why_unusable(translation: str | None) -> Unusable:
    """Why a translation cannot be trained on, "" if it can."""
    if translation is None:
        return "unfinished"
    if not translation.strip():
        return "empty"
    if find_special_token(translation):
        return "special token"
    return "not one line of text" if text_fault(translation) else ""


Origin = Literal["real", "forward", "backward"]
SOURCE, TARGET, ORIGIN = "train.source", "train.target", "train.origin"
"""What is written: a pair a line, and beside it where the pair comes from and the line it was there."""

# Lines translated between two writes to disk: a kill loses at most these. Memory holds no more.
_BLOCK = 2560


@dataclass(frozen=True, slots=True, kw_only=True)
class Augmentation:
    """What pseudo-parallel text is made of."""

    source: Path | None = None
    target: Path | None = None
    """With `source`: the real pairs."""
    forward: Path | None = None
    """Model that translates sources into targets."""
    backward: Path | None = None
    """Model that translates targets into sources."""
    more_source: Path | None = None
    """Sources to translate forward instead of the real ones."""
    more_target: Path | None = None
    """Targets to translate back instead of the real ones."""
    real: bool = True
    """Whether real pairs are part of the text."""
    tagged: bool = False
    """Whether the source of a machine's pair begins with the tag of its origin."""
    decoding: Decoding

    def __post_init__(self) -> None:
        if not (self.forward or self.backward):
            raise BabelscopeError("say which model translates: --forward FOLDER, --backward FOLDER, or both")
        if self.real and not (self.source and self.target):
            raise BabelscopeError("real pairs need --source and --target; leave them out with --set real=no")
        for option, model, side, more in (
            ("forward", self.forward, "source", self.more_source),
            ("backward", self.backward, "target", self.more_target),
        ):
            if model and not self.to_translate(option):  # type: ignore[arg-type]
                raise BabelscopeError(f"{model} needs text to translate: --{side} or --set more_{side}")
            if more and not model:
                raise BabelscopeError(f"--set more_{side} needs --{option}, the model that translates it")

    def to_translate(self, origin: Origin) -> Path | None:
        """The text that a model translates."""
        return (self.more_source or self.source) if origin == "forward" else (self.more_target or self.target)


@dataclass(frozen=True, slots=True)
class _Translator:
    """A model, the text that it translates, and what that text is."""

    origin: Origin
    model: Any
    text: Path
    lines: int
    sha256: str

    def as_json(self) -> dict[str, Any]:
        return {
            "model": self.model.fingerprint.digest,
            "lines": self.lines,
            "text_sha256": self.sha256,
            "length_penalty": self.model.length_penalty,
        }


def augment(
    plan: Augmentation, out: Path, *, threads: int = 0, device: str = "cpu", quiet: bool = False
) -> dict[str, Any]:
    """Write the text of `plan` to the folder `out`; return its card, with the pairs of each origin counted.

    After a kill, the same call goes on with the translations that are stored.
    """
    where = find_device(device)
    real = [path for path in (plan.source, plan.target) if plan.real and path]
    checked = {path: _check_text(path) for path in real}
    translators = []
    for origin, folder in (("forward", plan.forward), ("backward", plan.backward)):
        text = plan.to_translate(origin)  # type: ignore[arg-type]
        if folder and text:
            lines, digest = checked.get(text) or _check_text(text)
            model = open_teacher(folder, device=str(where))
            translators.append(_Translator(origin, model, text, lines, digest))  # type: ignore[arg-type]
    configuration: dict[str, Any] = {
        "real": [checked[path][1] for path in real],
        **{each.origin: each.as_json() for each in translators},
        "decoding": plan.decoding.as_json(),
        "tagged": plan.tagged,
    }
    with locked_folder(out):
        if earlier := open_folder(out, configuration):
            return earlier
        counts: dict[str, Counter[str]] = {}
        with contextlib.ExitStack() as stack:
            work = {"command": "lab prepare", **configuration, "block": _BLOCK}
            store, _ = stack.enter_context(resuming(work))
            stack.enter_context(training_numerics(threads, where))
            files = [stack.enter_context(replacing(out / name)) for name in (SOURCE, TARGET, ORIGIN)]
            if real:
                line = 0
                for line, (source, target) in parallel_rows([(str(p), stream_lines(p)) for p in real], 1):
                    _write(files, source, target, "real", line)
                counts["real"] = Counter({"": line})
            for each in translators:
                counts[each.origin] = _add_translations(each, plan, store, files, quiet=quiet)
        _warn_of_few(counts)
        card = _card(plan, translators, counts, configuration)
        write_json(out / CARD, card)  # marks the folder as complete
        (out / CONFIGURATION).unlink(missing_ok=True)
        return card


def _warn_of_few(counts: Mapping[str, Counter[str]]) -> None:
    """Warn where most of a model's translations are left out: the text is then not what its name says."""
    for origin, count in counts.items():
        if 2 * count[""] < (n := count.total()):
            reasons = ", ".join(f"{why} {number:,}" for why, number in sorted(count.items()) if why)
            warnings.warn(
                f"{origin}: {n - count['']:,} of {n:,} translations are left out ({reasons}); has the model learned "
                "enough?",
                stacklevel=3,
            )


def _check_text(path: Path) -> tuple[int, str]:
    """Number of lines and SHA-256 of a text; refuses lines that cannot be trained on."""
    digest, count = hashlib.sha256(), 0
    for count, line in enumerate(stream_lines(path), 1):
        digest.update(line.encode() + b"\n")
        if not line.strip():
            raise BabelscopeError(f"{at(path, count)} is empty; a sentence has no empty translation")
        if found := find_special_token(line):
            raise BabelscopeError(f"{at(path, count)} has {found!r}, a special token, in {shorten(line)}")
        if line.startswith(tuple(f"{tag} " for tag in TAGS.values())):
            raise BabelscopeError(
                f"{at(path, count)} begins with a tag of machine-made text ({line.split()[0]})"
            )
    if not count:
        raise BabelscopeError(f"{path} is empty")
    return count, digest.hexdigest()


def _add_translations(
    translator: _Translator, plan: Augmentation, store: Store, files: Sequence[IO[bytes]], *, quiet: bool
) -> Counter[str]:
    """Write the pairs of one model; counts why translations were left out, "" for those that were not."""
    counts: Counter[str] = Counter()
    origin = translator.origin
    tag = f"{TAGS[origin]} " if plan.tagged else ""
    with progress(f"translating {origin}", translator.lines, quiet=quiet) as advance:
        left = stream_lines(translator.text)
        for first in range(1, translator.lines + 1, _BLOCK):
            lines = list(itertools.islice(left, _BLOCK))

            def make(lines: list[str] = lines) -> list[list[str]]:
                return _translate_block(translator.model, lines, plan.decoding)

            place = f"{origin} {first} {digest_json(lines)[:16]}"
            for number, (line, (text, why)) in enumerate(
                zip(lines, store.part(place, make), strict=True), first
            ):
                counts[why] += 1
                if not why:
                    pair = (line, text) if origin == "forward" else (text, line)
                    _write(files, tag + pair[0], pair[1], origin, number)
            advance(len(lines))
    return counts


def _translate_block(model: Any, lines: Sequence[str], how: Decoding) -> list[list[str]]:
    """For each line its translation and "", or "" and why it cannot be used; the same line is translated once."""
    distinct = list(dict.fromkeys(lines))
    ids = model.tokens.encode_sources(distinct)
    limit = model.vocabulary.source_limit
    short = [i for i, row in enumerate(ids) if limit is None or len(row) <= limit]
    order = sorted(short, key=lambda i: (len(ids[i]), i))
    found = {line: ["", "source too long"] for line in distinct}
    translations = translate_ids(model, [ids[i] for i in order], how) if order else []
    for i, text in zip(order, translations, strict=True):
        why = why_unusable(text)
        found[distinct[i]] = ["" if why else text or "", why]
    return [found[line] for line in lines]


def _write(files: Sequence[IO[bytes]], source: str, target: str, origin: Origin, line: int) -> None:
    for file, text in zip(files, (source, target, f"{origin} {line}"), strict=True):
        file.write(text.encode() + b"\n")


def _card(
    plan: Augmentation,
    translators: Sequence[_Translator],
    counts: dict[str, Counter[str]],
    configuration: dict[str, Any],
) -> dict[str, Any]:
    """How many pairs of each origin there are, what was left out and why, and what they were made of."""
    return {
        "pairs": sum(count[""] for count in counts.values()),
        "origins": {
            origin: {
                "pairs": count[""],
                "left_out": {why: n for why, n in sorted(count.items()) if why},
            }
            for origin, count in counts.items()
        },
        "texts": {each.origin: each.text.name for each in translators},
        "models": {each.origin: each.model.fingerprint.as_json() for each in translators},
        "tags": {each.origin: TAGS[each.origin] for each in translators} if plan.tagged else {},
        "versions": {"babelscope": __version__},
        "configuration": configuration,
    }
