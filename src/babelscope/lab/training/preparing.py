"""Prepares parallel text for training: filters that count and show what they remove, as a stream."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import random
import re
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from babelscope.lab.training.checkpoints import write_json
from babelscope.lab.training.tokenizer import find_special_token, save_tokenizer, train_both, train_pieces
from babelscope.language.align import alignment_scorer, longest_sentence
from babelscope.language.fitness import identifier_version
from babelscope.language.identifying import is_clearly_other, is_known
from babelscope.util.errors import BabelscopeError
from babelscope.util.file_ranges import open_at, parallel_rows
from babelscope.util.files import check_folder, replacing
from babelscope.util.locks import missing_folders, remove_empty
from babelscope.util.progress import progress
from babelscope.util.seeds import stream
from babelscope.util.text import bounded_lines, text_fault
from babelscope.util.version import __version__

Filter = Literal["unusable", "length", "ratio", "duplicate", "language", "alignment", "sample"]
FILTERS: tuple[Filter, ...] = ("unusable", "length", "ratio", "duplicate", "language", "alignment", "sample")
"""In the order in which a pair meets them: the first that refuses a pair is the one that removes it."""
Unit = Literal["words", "characters"]
Key = Literal["pair", "source", "target"]

COUNTS, REMOVED = "counts.json", "removed.jsonl"
_EXAMPLES = 3  # kept of each filter
_WITHOUT_SPACES = frozenset({"zh", "ja", "th", "lo", "km", "my", "bo", "yue", "wuu"})
_WORDS = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")
_MOST_FOR_PIECES = 500_000  # pairs that a vocabulary is made of, which are held in memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """What is filtered, and how."""

    languages: str
    """Such as en-de."""
    ratio: float = 1.5
    """Most words of the longer side for each of the shorter."""
    longest: int = 250
    """Most words on a side."""
    alignment: float = -6.0
    """Least mean log-probability of a pair's best alignment, in nats a target word."""
    align_pairs: int = 100_000
    """Pairs that alignments are learned from, drawn evenly from those that passed the filters before."""
    duplicates: Key = "pair"
    """What may occur only once."""
    unit: Unit = "words"
    """What lengths count and alignments link."""
    sample: int = 0
    """Pairs drawn at the end; 0 for all."""
    skip: tuple[Filter, ...] = ()
    """Filters left out, for an ablation."""
    vocabulary: int = 0
    """Pieces of a vocabulary to make of the result; 0 for none."""
    separate: bool = False
    """A vocabulary a language, instead of one for both."""
    seed: int = 1

    def __post_init__(self) -> None:
        source, _, target = self.languages.partition("-")
        if not source or not target or not self.languages.replace("-", "").isalnum():
            raise BabelscopeError(f"languages are {self.languages!r}; they must be two codes such as en-de")
        if unknown := [name for name in self.skip if name not in FILTERS or name == "unusable"]:
            raise BabelscopeError(f"{unknown[0]!r} cannot be skipped; there are {', '.join(FILTERS[1:])}")
        if self.ratio < 1:
            raise BabelscopeError(f"ratio is {self.ratio:g}; it must be at least 1")
        for code in (source, target):
            if "language" not in self.skip and not is_known(code):
                raise BabelscopeError(
                    f"{identifier_version()} does not know the language {code!r}; leave it out with --skip language"
                )
            if (
                self.unit == "words"
                and code in _WITHOUT_SPACES
                and not {"ratio", "alignment"} <= set(self.skip)
            ):
                raise BabelscopeError(
                    f"{code} is written without spaces, so that words cannot be counted; say --unit characters"
                )

    @property
    def codes(self) -> tuple[str, str]:
        source, _, target = self.languages.partition("-")
        return source, target

    def words(self, text: str) -> list[str]:
        return _WORDS.findall(text) if self.unit == "words" else [each for each in text if each != " "]


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence pair with the number of its line, from 1; spaces are single ones."""

    line: int
    source: str
    target: str


@dataclass(slots=True)
class Count:
    """What a filter did."""

    entered: int = 0
    removed: int = 0
    undecided: int = 0
    """Kept because the filter could not tell."""
    examples: list[dict[str, Any]] = field(default_factory=list)


class Seen:
    """A set of 64-bit digests in one array: 12 to 24 bytes a member, half as much again while it grows."""

    def __init__(self) -> None:
        self._table = array("Q", bytes(8 * 1024))
        self._count = 0

    def add(self, text: str) -> bool:
        """Whether the text is new; of a million texts, one in 37 million is taken for another by mistake."""
        digest = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") or 1
        if 3 * self._count > 2 * len(self._table):
            old, self._table = self._table, array("Q", bytes(16 * len(self._table)))
            for each in old:
                if each:
                    self._put(each)
        new = self._put(digest)
        self._count += new
        return new

    def _put(self, digest: int) -> bool:
        table, last = self._table, len(self._table) - 1
        place = digest & last
        while held := table[place]:
            if held == digest:
                return False
            place = (place + 1) & last
        table[place] = digest
        return True

    @property
    def bytes(self) -> int:
        return 8 * len(self._table)


class _Tally:
    """Counts what each filter removes, keeps some examples, and writes everything removed to a file."""

    def __init__(self, plan: Preparation, removed: IO[bytes]) -> None:
        self.counts = {name: Count() for name in FILTERS if name not in plan.skip}
        self._removed = removed
        self._draw = random.Random(plan.seed)

    def remove(self, name: Filter, pair: Pair, why: str) -> None:
        count = self.counts[name]
        count.removed += 1
        row = {"line": pair.line, "filter": name, "why": why, "source": pair.source, "target": pair.target}
        self._removed.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        place = len(count.examples) if count.removed <= _EXAMPLES else self._draw.randrange(count.removed)
        if place < _EXAMPLES:  # a reservoir: each removed pair is as likely to be an example as any other
            count.examples[place : place + 1] = [row]


def prepare(source: Path, target: Path, out: Path, plan: Preparation) -> dict[str, Any]:
    """Filter two line-parallel files (gzipped if they end in .gz) into the folder `out`; returns the counts.

    Memory does not grow with the text but for `Seen`. Between filters, pairs are in unnamed files in `out`.
    """
    if out.is_dir() and any(out.iterdir()):
        raise BabelscopeError(f"{out} is not empty; prepared text needs a folder of its own")
    check_folder(out)
    made = missing_folders(out / "file")
    out.mkdir(parents=True, exist_ok=True)
    try:
        with contextlib.ExitStack() as stack:
            tally = _Tally(plan, stack.enter_context(replacing(out / REMOVED)))
            digests = hashlib.sha256(), hashlib.sha256()
            seen = Seen()
            with _Spool(out) as first, _Spool(out) as second:
                for pair in _filtered(_read(source, target, digests), plan, tally, seen):
                    first.write(pair)
                kept = _aligned(first, second, plan, tally) if "alignment" in tally.counts else first
                finished = _write(kept, out, plan, tally)
                report = {
                    "pairs": tally.counts["unusable"].entered,
                    "kept": finished,
                    "filters": {name: dataclasses.asdict(count) for name, count in tally.counts.items()},
                    "settings": {**dataclasses.asdict(plan), "skip": list(plan.skip)},
                    "source_sha256": digests[0].hexdigest(),
                    "target_sha256": digests[1].hexdigest(),
                    "duplicate_bytes": seen.bytes,
                    "versions": {"babelscope": __version__, "identifier": identifier_version()},
                }
            if plan.vocabulary:
                _make_vocabulary(out, plan, finished)
        write_json(out / COUNTS, report)  # last: it marks the folder as complete
    finally:
        remove_empty([out, *made])
    return report


def _read(source: Path, target: Path, digests: Sequence[Any]) -> Iterator[tuple[Pair, str]]:
    """Each pair, and what is wrong with its bytes ("" if nothing)."""

    def column(path: Path, digest: Any) -> Iterator[tuple[str, str]]:
        with open_at(path) as file:
            for raw in bounded_lines(file, path):
                digest.update(raw)
                try:
                    text = raw.rstrip(b"\r\n").decode("utf-8")
                except UnicodeDecodeError:
                    yield raw.decode("utf-8", "replace").strip(), "not UTF-8"
                    continue
                yield " ".join(text.split()), text_fault(text) or ""

    columns = [
        (str(path), column(path, digest)) for path, digest in zip((source, target), digests, strict=True)
    ]
    with progress("filtering", None) as advance:
        for line, ((left, broken), (right, also)) in parallel_rows(columns, 1):
            advance(1)
            yield Pair(line, left, right), broken or also


def _filtered(
    pairs: Iterable[tuple[Pair, str]], plan: Preparation, tally: _Tally, seen: Seen
) -> Iterator[Pair]:
    """The pairs that pass the filters that need one look at a pair."""
    longest = plan.longest if "alignment" in plan.skip else min(plan.longest, longest_sentence())

    def too_long(pair: Pair) -> str:
        most = max(len(plan.words(pair.source)), len(plan.words(pair.target)))
        return f"{most} {plan.unit}" if most > longest else ""

    def uneven(pair: Pair) -> str:
        one, other = len(plan.words(pair.source)), len(plan.words(pair.target))
        return f"{one} {plan.unit} to {other}" if max(one, other) > plan.ratio * min(one, other) else ""

    def repeated(pair: Pair) -> str:
        keys = {"pair": f"{pair.source}\t{pair.target}", "source": pair.source, "target": pair.target}
        return "" if seen.add(keys[plan.duplicates]) else f"the {plan.duplicates} was there before"

    def elsewhere(pair: Pair) -> str:
        for side, text, code in zip(
            ("source", "target"), (pair.source, pair.target), plan.codes, strict=True
        ):
            if found := is_clearly_other(text, code):
                return f"the {side} is in {found}, not {code}"
        return ""

    known: dict[Filter, Callable[[Pair], str]]
    known = {"length": too_long, "ratio": uneven, "duplicate": repeated, "language": elsewhere}
    checks = [(name, check) for name, check in known.items() if name not in plan.skip]
    for pair, broken in pairs:
        tally.counts["unusable"].entered += 1
        if why := broken or _unusable(pair):
            tally.remove("unusable", pair, why)
            continue
        for name, check in checks:
            tally.counts[name].entered += 1
            if why := check(pair):
                tally.remove(name, pair, why)
                break
        else:
            yield pair


def _unusable(pair: Pair) -> str:
    """Why no model can be trained on a pair."""
    for side, text in (("source", pair.source), ("target", pair.target)):
        if not text:
            return f"the {side} is empty"
        if found := find_special_token(text):
            return f"the {side} has the special token {found}"
    return ""


class _Spool:
    """Pairs in an unnamed file, which a kill leaves nothing of."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self.count = 0

    def __enter__(self) -> _Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, pair: Pair) -> None:
        self._file.write(f"{pair.line}\t{pair.source}\t{pair.target}\n".encode())
        self.count += 1

    def __iter__(self) -> Iterator[Pair]:
        self._file.seek(0)
        for raw in self._file:
            line, source, target = raw.decode()[:-1].split("\t")
            yield Pair(int(line), source, target)


def choose(count: int, wanted: int, seed: int, name: str) -> Iterator[bool]:
    """For each of `count` things in turn, whether it is among the `wanted`; all choices are equally likely."""
    draw = stream(seed, name)
    left = min(wanted, count)
    for place in range(count):
        taken = float(draw.random()) * (count - place) < left
        left -= taken
        yield taken


def _aligned(spool: _Spool, kept: _Spool, plan: Preparation, tally: _Tally) -> _Spool:
    """Move the pairs that are aligned well enough to another spool.

    Pairs at even places are scored by a model of those at odd places and the other way round: a model gives the
    pairs that it has learned from, wrong ones too, a much better score than others.
    """
    count = tally.counts["alignment"]
    taken = choose(spool.count, plan.align_pairs, plan.seed, "prepare/alignment")
    halves: tuple[list[Any], list[Any]] = ([], [])
    for place, (pair, use) in enumerate(zip(spool, taken, strict=True)):
        if use:
            halves[place % 2].append((plan.words(pair.source), plan.words(pair.target)))
    scorers = alignment_scorer(halves[1]), alignment_scorer(halves[0])
    with progress("scoring alignments", spool.count) as advance:
        for place, pair in enumerate(spool):
            advance(1)
            count.entered += 1
            found = scorers[place % 2](plan.words(pair.source), plan.words(pair.target))
            count.undecided += found is None
            if found is not None and found < plan.alignment:
                tally.remove("alignment", pair, f"mean {found:.2f}")
            else:
                kept.write(pair)
    return kept


def _write(spool: _Spool, out: Path, plan: Preparation, tally: _Tally) -> int:
    """Write the pairs that are left, or a sample of them; returns how many."""
    written = 0
    sampled = bool(plan.sample) and "sample" in tally.counts
    taken = choose(spool.count, plan.sample if sampled else spool.count, plan.seed, "prepare/sample")
    if not spool.count:
        raise BabelscopeError(
            "no pair is left: "
            + ", ".join(
                f"{name} removed {count.removed:,}" for name, count in tally.counts.items() if count.removed
            )
            + "; are the files parallel, and --languages the right way round?"
        )
    with (
        replacing(out / f"train.{plan.codes[0]}") as left,
        replacing(out / f"train.{plan.codes[1]}") as right,
    ):
        for pair, use in zip(spool, taken, strict=True):
            if "sample" in tally.counts:
                tally.counts["sample"].entered += sampled
            if not use:
                tally.remove("sample", pair, "not drawn")
                continue
            left.write(pair.source.encode() + b"\n")
            right.write(pair.target.encode() + b"\n")
            written += 1
    return written


def _make_vocabulary(out: Path, plan: Preparation, count: int) -> None:
    """A tokenizer for `lab train --tokenizer`, from at most `_MOST_FOR_PIECES` pairs."""

    def texts(code: str) -> Iterator[str]:
        taken = choose(count, _MOST_FOR_PIECES, plan.seed, "prepare/vocabulary")
        with open_at(out / f"train.{code}") as file:
            for raw, use in zip(file, taken, strict=True):
                if use:
                    yield raw.decode()[:-1]

    source, target = plan.codes
    folder = out / "tokenizer"
    folder.mkdir()
    if plan.separate:
        pieces = train_both(lambda: texts(source), lambda: texts(target), plan.vocabulary)
    else:
        pieces = train_pieces((text for code in (source, target) for text in texts(code)), plan.vocabulary)
    save_tokenizer(pieces, folder, languages=plan.languages)
