"""Parallel text for training: read and checked, encoded, and grouped into batches of similar length."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from babelscope.lab.training.tokenizer import Pieces, find_special_token
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.seeds import stream
from babelscope.util.text import parse_lines, read_line_bytes, require_equal_counts, shorten

Array = np.ndarray[Any, Any]

LEAST_PAIRS = 100
"""Fewest sentence pairs to train on."""

_CHUNK = 10_000


@dataclass(frozen=True, slots=True)
class ParallelText:
    """Line-parallel text and where it came from."""

    source: list[str]
    target: list[str]
    files: dict[str, str]
    """Path of the source and target file, and the SHA-256 of each."""

    def __len__(self) -> int:
        return len(self.source)


def read_parallel(source: Path, target: Path, *, least: int = LEAST_PAIRS) -> ParallelText:
    """Read two line-parallel files; errors name file and line."""
    sources, source_digest = read_side(source)
    targets, target_digest = read_side(target)
    require_equal_counts({str(source): len(sources), str(target): len(targets)})
    _require_lines(source, len(sources), least)
    if source_digest == target_digest:
        raise BabelscopeError(f"{source} and {target} are the same text, so there is no translation to learn")
    files = {"source": str(source), "source_sha256": source_digest}
    return ParallelText(sources, targets, files | {"target": str(target), "target_sha256": target_digest})


def read_side(path: Path, *, least: int = 0) -> tuple[list[str], str]:
    """The lines of a file, none of them empty, and the file's SHA-256."""
    data = read_line_bytes(path)
    lines = parse_lines(data, path)
    empty = [number for number, line in enumerate(lines, 1) if not line.strip()]
    if empty:
        more = f" (and {len(empty) - 1} more lines are)" if len(empty) > 1 else ""
        raise BabelscopeError(f"{at(path, empty[0])} is empty{more}; a sentence has no empty translation")
    for number, line in enumerate(lines, 1):
        if found := find_special_token(line):
            raise BabelscopeError(f"{at(path, number)} has {found!r}, a special token, in {shorten(line)}")
    _require_lines(path, len(lines), least)
    return lines, hashlib.sha256(data).hexdigest()


def _require_lines(path: Path, count: int, least: int) -> None:
    if count < least:
        raise BabelscopeError(f"{path} has {count} of at least {least} sentences that are needed")


def hold_out(text: ParallelText, seed: int) -> tuple[ParallelText, ParallelText]:
    """Split off development text: one pair in 50, at most 2,000; returns (training, development)."""
    order = stream(seed, "lab/held out").permutation(len(text))
    chosen = set(order[: max(1, min(2000, len(text) // 50))].tolist())
    parts = [[i for i in range(len(text)) if (i in chosen) == held] for held in (False, True)]
    train, dev = (
        ParallelText([text.source[i] for i in p], [text.target[i] for i in p], text.files) for p in parts
    )
    return train, dev


def count_shared(training: ParallelText, development: ParallelText) -> int:
    """How many development pairs are in the training text, too."""
    known = set(zip(training.source, training.target, strict=True))
    return sum(pair in known for pair in zip(development.source, development.target, strict=True))


class EncodedLines:
    """Token ids of many lines in one flat array."""

    def __init__(self, texts: Sequence[str], pieces: Pieces) -> None:
        encoded = []
        lengths = []
        for start in range(0, len(texts), _CHUNK):
            rows = pieces.encode(texts[start : start + _CHUNK])
            lengths += [len(row) for row in rows]
            encoded.append(np.concatenate([np.asarray(row, dtype=np.int32) for row in rows]))
        self.flat = np.concatenate(encoded)
        self.lengths = np.asarray(lengths)
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])

    def ids(self, number: int) -> list[int]:
        """The ids of one line."""
        found: list[int] = self.flat[self.starts[number] : self.starts[number + 1]].tolist()
        return found

    def padded(self, numbers: Array, filler: int) -> Array:
        """Some lines as one array [rows, longest], padded at the end with `filler`."""
        lengths = self.lengths[numbers]
        columns = np.arange(lengths.max())
        real = columns < lengths[:, None]
        where = np.where(real, self.starts[numbers][:, None] + columns, 0)
        return np.where(real, self.flat[where], filler).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded ids [rows, longest]: encoder input, decoder input, and labels (pad where there is none)."""

    source: Array
    shifted: Array
    target: Array


class Corpus:
    """Encoded sentence pairs, served in batches."""

    def __init__(self, text: ParallelText, pieces: Pieces, *, longest: int) -> None:
        self.text = text
        self.pad = pieces.pad
        self.source = EncodedLines(text.source, pieces)
        self.target = EncodedLines(text.target, pieces.target_side)
        size = np.maximum(self.source.lengths, self.target.lengths)
        self.kept = np.flatnonzero(size <= longest)
        self.dropped = len(size) - len(self.kept)
        if not len(self.kept):
            raise BabelscopeError(f"every sentence pair is longer than {longest} pieces; allow more")
        self.tokens = int(self.target.lengths[self.kept].sum())

    def batches(self, batch_tokens: int, random: np.random.Generator | None = None) -> list[Array]:
        """Numbers of the pairs in each batch, shuffled; without `random`, in the order of length.

        Pairs of similar length share a batch, to save padding; which ones, and the order of batches, is random.
        A batch has at most `batch_tokens` tokens on either side, padding included.
        """
        order = self.kept if random is None else random.permutation(self.kept)
        source, target = self.source.lengths[order], self.target.lengths[order]
        order = order[np.lexsort((source, target))]
        size = np.maximum(self.source.lengths[order], self.target.lengths[order])
        cuts = [0]
        longest = 0
        for position, length in enumerate(size.tolist()):
            longest = max(longest, length)
            if (position - cuts[-1] + 1) * longest > batch_tokens and position > cuts[-1]:
                cuts.append(position)
                longest = length
        found = np.split(order, cuts[1:])
        if random is not None:
            found = [found[i] for i in random.permutation(len(found))]
        return found

    def batch(self, numbers: Array) -> Batch:
        """The pairs of these numbers; the decoder starts with pad."""
        target = self.target.padded(numbers, self.pad)
        shifted = np.concatenate([np.full((len(target), 1), self.pad), target[:, :-1]], axis=1)
        return Batch(self.source.padded(numbers, self.pad), shifted, target)
