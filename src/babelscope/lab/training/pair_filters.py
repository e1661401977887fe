"""The filters that parallel text for training goes through, and what they counted."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import random
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any, Literal

from babelscope.lab.training.tokenizer import find_special_token
from babelscope.lab.training.word_counts import split_characters, split_words, usual_ratio
from babelscope.language.align import longest_sentence
from babelscope.language.fitness import identifier_version
from babelscope.language.identifying import identify, is_known
from babelscope.util.errors import BabelscopeError

Filter = Literal["unusable", "length", "ratio", "duplicate", "language", "alignment", "sample"]
FILTERS: tuple[Filter, ...] = ("unusable", "length", "ratio", "duplicate", "language", "alignment", "sample")
"""In the order in which a pair meets them: the first that refuses a pair is the one that removes it."""
Unit = Literal["words", "characters"]
Key = Literal["pair", "source", "target"]

_EXAMPLES = 3  # kept of each filter
# Pairs from which the usual ratio of lengths is taken, and their characters, so that memory is bounded.
_LOOKED_AT, _CHARACTERS = 10_000, 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """What is filtered, and how."""

    languages: str
    """Such as en-de."""
    ratio: float = 1.5
    """Most words of the longer side for each of the shorter, beyond what is usual between these languages."""
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

    @property
    def codes(self) -> tuple[str, str]:
        source, _, target = self.languages.partition("-")
        return source, target

    @property
    def files(self) -> tuple[str, str]:
        """Names of the filtered text."""
        source, target = self.codes if len(set(self.codes)) == 2 else ("source", "target")
        return f"train.{source}", f"train.{target}"

    def words(self, text: str) -> list[str]:
        return split_words(text) if self.unit == "words" else split_characters(text)


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


class Tally:
    """Counts what each filter removes, keeps some examples, and writes everything removed to a file."""

    def __init__(self, plan: Preparation, removed: IO[bytes]) -> None:
        self.counts = {name: Count() for name in FILTERS if name not in plan.skip}
        self._removed = removed
        self._draw = random.Random(plan.seed)
        self.usual = 1.0
        """Target words a source word that are usual."""

    def remove(self, name: Filter, pair: Pair, why: str) -> None:
        count = self.counts[name]
        count.removed += 1
        row = {"line": pair.line, "filter": name, "why": why, "source": pair.source, "target": pair.target}
        self._removed.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        place = len(count.examples) if count.removed <= _EXAMPLES else self._draw.randrange(count.removed)
        if place < _EXAMPLES:  # a reservoir: each removed pair is as likely to be an example as any other
            count.examples[place : place + 1] = [row]


def filter_pairs(
    pairs: Iterable[tuple[Pair, str]], plan: Preparation, tally: Tally, seen: Seen
) -> Iterator[Pair]:
    """The pairs that pass the filters that need one look at a pair; each comes with what is wrong with its bytes."""
    pairs = iter(pairs)
    first = _look_at(pairs)
    texts = [(pair.source, pair.target) for pair, broken in first if not broken]
    counts = [(len(plan.words(one)), len(plan.words(other))) for one, other in texts]
    tally.usual = usual = usual_ratio(texts, counts)
    checks = [(name, check) for name, check in _checks(plan, tally, seen, usual) if name not in plan.skip]
    for pair, broken in itertools.chain(first, pairs):
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


def _look_at(pairs: Iterator[tuple[Pair, str]]) -> list[tuple[Pair, str]]:
    """The first pairs, which are held in memory."""
    first: list[tuple[Pair, str]] = []
    left = _CHARACTERS
    for each in itertools.islice(pairs, _LOOKED_AT):
        first.append(each)
        left -= len(each[0].source) + len(each[0].target)
        if left < 0:
            break
    return first


def _checks(
    plan: Preparation, tally: Tally, seen: Seen, usual: float
) -> list[tuple[Filter, Callable[[Pair], str]]]:
    """Functions that say why a pair is removed, "" if it is not."""
    longest = plan.longest if "alignment" in plan.skip else min(plan.longest, longest_sentence())

    @functools.lru_cache(maxsize=1)  # two filters ask, one after the other
    def lengths(pair: Pair) -> tuple[int, int]:
        return len(plan.words(pair.source)), len(plan.words(pair.target))

    def too_long(pair: Pair) -> str:
        most = max(lengths(pair))
        return f"{most} {plan.unit}" if most > longest else ""

    def uneven(pair: Pair) -> str:
        one, other = lengths(pair)
        if max(one * usual, other) <= plan.ratio * min(one * usual, other):
            return ""
        return f"{one} {plan.unit} to {other}" + (f", usual are 1 to {usual:.2f}" if usual != 1 else "")

    def repeated(pair: Pair) -> str:
        keys = {"pair": f"{pair.source}\t{pair.target}", "source": pair.source, "target": pair.target}
        return "" if seen.add(keys[plan.duplicates]) else f"the {plan.duplicates} was there before"

    def elsewhere(pair: Pair) -> str:
        unknown = False
        for side, text, code in zip(
            ("source", "target"), (pair.source, pair.target), plan.codes, strict=True
        ):
            found = identify(text, code)
            if found.verdict == "no":
                return f"the {side} is in {found.language}, not {code}"
            unknown |= found.verdict == "unknown"
        tally.counts["language"].undecided += unknown
        return ""

    return [("length", too_long), ("ratio", uneven), ("duplicate", repeated), ("language", elsewhere)]


def _unusable(pair: Pair) -> str:
    """Why no model can be trained on a pair."""
    for side, text in (("source", pair.source), ("target", pair.target)):
        if not text:
            return f"the {side} is empty"
        if found := find_special_token(text):
            return f"the {side} has the special token {found}"
    return ""
