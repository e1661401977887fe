"""The corpus: distinct sentence pairs by seed, in disjoint splits for training, development and testing."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from babelscope.lab.grammar.lexicon import CASES, DATIVE_PREPOSITIONS
from babelscope.lab.grammar.meaning import Meaning, Word, conllu, plain_text, random_stream
from babelscope.lab.grammar.sentences import SentencePair, english_text, english_words, realize
from babelscope.lab.grammar.worlds import EASY, JOINS, Noise, World, draw_noise, with_noise
from babelscope.systems.cache import resuming
from babelscope.util.files import replacing

Split = Literal["train", "dev", "test", "all"]
DEV_PERCENT, TEST_PERCENT = 2, 6
_CHUNK = 5000  # pairs between two writes to disk
REORDERING = 5  # words by which an alignment must leave the diagonal


def split_of(source: str) -> str:
    """The split of an English sentence, the same for every seed.

    A meaning has one English sentence, so all its translations are in one split.
    """
    bucket = hashlib.blake2b(source.encode(), digest_size=8).digest()
    percent = int.from_bytes(bucket, "big") % 100
    return "dev" if percent < DEV_PERCENT else "test" if percent < DEV_PERCENT + TEST_PERCENT else "train"


def _draw_meanings(rng: random.Random, split: Split, world: World) -> Iterator[tuple[Meaning, list[Word]]]:
    """Endless meanings of a split, with their English words."""
    while True:
        meaning = world.meaning(rng)
        words = english_words(meaning)
        if split == "all" or split_of(plain_text(words)) == split:
            yield meaning, words


def generate(n: int, seed: int, split: Split = "train", world: World = EASY) -> Iterator[SentencePair]:
    """n distinct sentence pairs, without a world's noise."""
    return _PairDrawer(seed, split, world).pairs(n)


def as_written(n: int, seed: int, world: World) -> Iterator[tuple[SentencePair, str]]:
    """The n pairs of a world's training text, each with its target as `make_corpus` writes it, noise and all."""
    drawer = _PairDrawer(seed, "train", world)
    for pair in drawer.pairs(n):
        yield pair, drawer.line_pair(pair)[0]


class _PairDrawer:
    """Draws distinct pairs; its state can be saved and restored."""

    def __init__(self, seed: int, split: Split, world: World) -> None:
        self._split, self._world = split, world
        # The easy world is older than the others: its streams have no world in their names.
        of = split if world == EASY else f"{world.name}/{split}"
        names = ("meanings", "german") if world == EASY else ("meanings", "german", "noise")
        self._streams = [random_stream(seed, f"{name}/{of}") for name in names]
        self._meanings, self._german = self._streams[:2]
        self._before = ""
        self._seen: set[bytes] = set()

    def pairs(self, n: int) -> Iterator[SentencePair]:
        """Draw pairs until n have been drawn in all."""
        drawn = _draw_meanings(self._meanings, self._split, self._world)
        while len(self._seen) < n:
            meaning, words = next(drawn)
            pair = realize(meaning, self._german, words, even=self._world.even)
            if self._see(pair.source, pair.target):
                yield pair

    def state(self) -> list[Any]:
        """The state of its random streams, as JSON."""
        return [each.getstate() for each in self._streams]

    def restore(self, state: Sequence[Any], pairs: Iterable[tuple[str, str]]) -> None:
        """Restore a state that was saved after these pairs."""
        for rng, (version, inner, gauss) in zip(self._streams, state, strict=True):
            rng.setstate((version, tuple(inner), gauss))
        for source, target in pairs:
            self._see(source, target)
            self._before = target

    def line_pair(self, pair: SentencePair) -> tuple[str, Noise | None]:
        """The target of a pair as it is written, and what is wrong with it in a world with noise."""
        target, kind = pair.target, None
        if len(self._streams) > 2 and self._split == "train":
            noise = self._streams[2]
            kind = draw_noise(noise, self._world) if self._before else None
            target = (
                pair.target if kind is None else with_noise(kind, pair.source, target, self._before, noise)
            )
            self._before = target
        return target, kind

    def _see(self, source: str, target: str) -> bool:
        """Remember a pair; return whether it is new. Where targets may be noise, sources alone are told apart."""
        before = len(self._seen)
        target = "" if self._world.noise else target
        self._seen.add(hashlib.blake2b(f"{source}\t{target}".encode(), digest_size=12).digest())
        return len(self._seen) > before


def references(meaning: Meaning, n: int, seed: int, tries: int = 200, *, world: World = EASY) -> list[str]:
    """Up to n different German sentences for a meaning, in the order drawn."""
    rng = random_stream(seed, f"references/{english_text(meaning)}")
    found: dict[str, None] = {}
    for _ in range(tries):
        found[realize(meaning, rng, even=world.even).target] = None
        if len(found) == n:
            break
    return list(found)


SUFFIXES = ("en", "de", "en.conllu", "de.conllu", "align", "labels.jsonl")
"""Suffixes of the files of a corpus."""


def _file_lines(pair: SentencePair, number: int, target: str, noise: Noise | None) -> tuple[str, ...]:
    """The lines of a pair; one with noise has no trees, no alignment and no labels but that."""
    if noise is not None:
        told = json.dumps({"id": number, "noise": noise}) + "\n"
        return pair.source + "\n", target + "\n", "\n", "\n", "\n", told
    return (
        pair.source + "\n",
        target + "\n",
        conllu(pair.english, str(number)),
        conllu(pair.german, str(number)),
        " ".join(f"{i}-{j}" for i, j in pair.alignment) + "\n",
        json.dumps({"id": number, **pair.labels.as_dict()}, ensure_ascii=False) + "\n",
    )


def make_corpus(
    folder: Path,
    n: int,
    seed: int,
    split: Split = "train",
    name: str = "corpus",
    *,
    count: bool = False,
    world: World = EASY,
) -> list[PhenomenonCount]:
    """Write n pairs as text, CoNLL-U, alignment (Pharaoh) and labels (JSONL); with `count`, return their counts.

    Calling it again after a kill resumes. The file of labels appears last: if it exists, all files are complete.
    """
    asked = {"n": n, "seed": seed, "split": split, "count": count, "world": repr(world), "part": _CHUNK}
    drawer = _PairDrawer(seed, split, world)
    rows: dict[str, PhenomenonCount] = {}
    with resuming({"command": "lab corpus", **asked}) as (store, _), contextlib.ExitStack() as stack:
        # The file that is opened first is closed, and gets its name, last.
        files = [stack.enter_context(replacing(folder / f"{name}.{each}")) for each in reversed(SUFFIXES)]
        for first in range(0, n, _CHUNK):
            upto = min(first + _CHUNK, n)
            part = functools.partial(_make_part, drawer, first, upto, count=count)
            made = store.part(f"pairs {first + 1} to {upto}", part)
            sources, targets = (text.split("\n")[:-1] for text in made["texts"][:2])
            drawer.restore(made["streams"], zip(sources, targets, strict=True))
            for file, text in zip(reversed(files), made["texts"], strict=True):
                file.write(text.encode())
            for row in made["rows"]:
                _add_count(rows, PhenomenonCount(row[0], row[1], row[2], Counter(dict(row[3]))))
    return _in_fixed_order(rows)


def _make_part(drawer: _PairDrawer, first: int, upto: int, *, count: bool) -> dict[str, Any]:
    pairs = list(drawer.pairs(upto))
    written = [(pair, *drawer.line_pair(pair)) for pair in pairs]
    lines = (
        _file_lines(pair, number, target, noise)
        for number, (pair, target, noise) in enumerate(written, first + 1)
    )
    columns = zip(*lines, strict=True)
    counted = count_phenomena(pair for pair, _, noise in written if noise is None) if count else []
    rows = [[row.name, row.sentences, row.instances, list(row.distances.items())] for row in counted]
    return {"texts": ["".join(each) for each in columns], "streams": drawer.state(), "rows": rows}


@dataclass(slots=True)
class PhenomenonCount:
    """How often a phenomenon occurs: sentences with it, instances, and instances by distance in words."""

    name: str
    sentences: int = 0
    instances: int = 0
    distances: Counter[int] = field(default_factory=Counter)


def count_phenomena(pairs: Iterable[SentencePair]) -> list[PhenomenonCount]:
    """Counts of every phenomenon, in a fixed order."""
    rows: dict[str, PhenomenonCount] = {}
    for pair in pairs:
        found: dict[str, list[int | None]] = defaultdict(list)
        for name, distance in observations(pair):
            found[name].append(distance)
        for name, distances in found.items():
            known = Counter(d for d in distances if d is not None)
            _add_count(rows, PhenomenonCount(name, 1, len(distances), known))
    return _in_fixed_order(rows)


def _add_count(rows: dict[str, PhenomenonCount], more: PhenomenonCount) -> None:
    row = rows.setdefault(more.name, PhenomenonCount(more.name))
    row.sentences += more.sentences
    row.instances += more.instances
    row.distances.update(more.distances)


def _in_fixed_order(rows: Mapping[str, PhenomenonCount]) -> list[PhenomenonCount]:
    more = sorted(name for name in rows if name not in COUNTED)
    return [rows.get(name, PhenomenonCount(name)) for name in (*COUNTED, *more)]


_GERMAN = (
    *("subject_verb_agreement", "subject_verb_agreement, apart", "noun_phrase_agreement"),
    *(f"case {case}" for case in CASES),
    *("negation_nicht", "negation_kein", "negation_un"),
    *(f"dative_{word}" for word in DATIVE_PREPOSITIONS),
    *("particle", "reflexive", "verb_final", "genitive"),
)
_ENGLISH = ("particle", "reflexive", "preposition_stranding", "subject_verb_agreement")
COUNTED = (
    "sentence pairs",
    *(f"clauses {number}" for number in (1, 2, 3)),
    *(f"joined by {join!r}" for join in JOINS),
    *(f"de {name}" for name in _GERMAN),
    *(f"en {name}" for name in _ENGLISH),
    "reordering",
    *(f"occupation {who}, {told}" for told in ("told", "not told") for who in ("male", "female")),
    *("sense frequent", "sense rare"),
)


def observations(pair: SentencePair) -> Iterator[tuple[str, int | None]]:
    """(name, distance or None) of everything that is counted in a pair."""
    labels = pair.labels
    yield "sentence pairs", None
    yield f"clauses {labels.clauses}", None
    for join in labels.joins:
        yield f"joined by {join!r}", None
    for one in labels.phenomena:
        yield f"{one.side} {one.name}", one.distance
        if one.side == "de" and one.name == "subject_verb_agreement" and one.distance > 0:
            yield "de subject_verb_agreement, apart", one.distance
    for token in pair.german:
        if token.upos == "NOUN":
            yield f"de case {token.feature('Case')}", None
    gap = max((abs(i - j) for i, j in pair.alignment), default=0)
    if gap >= REORDERING:
        yield "reordering", gap
    for occupation in labels.occupations:
        told = "told" if occupation.told else "not told"
        yield f"occupation {occupation.gender}, {told}", None
        yield f"occupation {occupation.noun} {occupation.gender}", None
    for sense in labels.senses:
        yield f"sense {sense.frequency}", None
        yield f"sense {sense.word} {sense.sense}", None
