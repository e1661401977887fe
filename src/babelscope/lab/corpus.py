"""The corpus: distinct sentence pairs by seed, apart for training, development and testing."""

from __future__ import annotations

import hashlib
import json
from codecs import getwriter
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from babelscope.files import replacing
from babelscope.lab.choice import stream
from babelscope.lab.grammar import SentencePair, english_text, english_words, realise
from babelscope.lab.lexicon import DATIVE_PREPOSITIONS
from babelscope.lab.meaning import Meaning
from babelscope.lab.plans import draw_meaning
from babelscope.lab.words import Word, conllu, plain_text

Split = Literal["train", "dev", "test", "all"]
DEV_PERCENT, TEST_PERCENT = 2, 6
REORDERING = 5  # words by which an alignment must leave the diagonal


def split_of(source: str) -> str:
    """The part of the data that an English sentence belongs to, for every seed the same.

    English follows from the meaning, so this is a property of the meaning; and no source can be in two parts.
    """
    bucket = hashlib.blake2b(source.encode(), digest_size=8).digest()
    percent = int.from_bytes(bucket, "big") % 100
    return "dev" if percent < DEV_PERCENT else "test" if percent < DEV_PERCENT + TEST_PERCENT else "train"


def meanings(seed: int, split: Split = "train") -> Iterator[Meaning]:
    """Meanings without end, drawn from one part of the data."""
    return (meaning for meaning, _ in _drawn(seed, split))


def _drawn(seed: int, split: Split) -> Iterator[tuple[Meaning, list[Word]]]:
    """Meanings with their English words."""
    rng = stream(seed, f"meanings/{split}")
    while True:
        meaning = draw_meaning(rng)
        words = english_words(meaning)
        if split == "all" or split_of(plain_text(words)) == split:
            yield meaning, words


def generate(n: int, seed: int, split: Split = "train") -> Iterator[SentencePair]:
    """n distinct sentence pairs."""
    rng = stream(seed, f"german/{split}")
    seen: set[bytes] = set()
    for meaning, words in _drawn(seed, split):
        if len(seen) >= n:
            return
        pair = realise(meaning, rng, words)
        key = hashlib.blake2b(f"{pair.source}\t{pair.target}".encode(), digest_size=12).digest()
        if key not in seen:
            seen.add(key)
            yield pair


def references(meaning: Meaning, n: int, seed: int, tries: int = 200) -> list[str]:
    """Up to n different German sentences for a meaning, the most usual ones likely first."""
    rng = stream(seed, f"references/{english_text(meaning)}")
    found: dict[str, None] = {}
    for _ in range(tries):
        found[realise(meaning, rng).target] = None
        if len(found) == n:
            break
    return list(found)


def write(
    folder: Path | str, n: int, seed: int, split: Split = "train", name: str = "corpus"
) -> list[SentencePair]:
    """Write n pairs as text, CoNLL-U, alignment (Pharaoh) and labels (JSONL); return them."""
    return list(written(generate(n, seed, split), folder, name))


def written(pairs: Iterable[SentencePair], folder: Path | str, name: str) -> Iterator[SentencePair]:
    """The pairs, each written as it passes, so that a corpus of any size can be; see `write`."""
    with ExitStack() as stack:
        en, de, en_trees, de_trees, links, labels = (
            getwriter("utf-8")(stack.enter_context(replacing(Path(folder) / f"{name}.{suffix}")))
            for suffix in ("en", "de", "en.conllu", "de.conllu", "align", "labels.jsonl")
        )
        for number, pair in enumerate(pairs, 1):
            en.write(pair.source + "\n")
            de.write(pair.target + "\n")
            en_trees.write(conllu(pair.english, str(number)))
            de_trees.write(conllu(pair.german, str(number)))
            links.write(" ".join(f"{i}-{j}" for i, j in pair.alignment) + "\n")
            record = {"id": number, **pair.labels.as_dict()}
            labels.write(json.dumps(record, ensure_ascii=False) + "\n")
            yield pair


@dataclass(slots=True)
class Row:
    """How often something occurs: in sentences, in all, and by the words between its two ends."""

    name: str
    sentences: int = 0
    instances: int = 0
    distances: Counter[int] = field(default_factory=Counter)


def stats(pairs: Iterable[SentencePair]) -> list[Row]:
    """Counts of every phenomenon, one row each, in a fixed order."""
    rows: dict[str, Row] = {}
    for name in ROWS:
        rows[name] = Row(name)
    for pair in pairs:
        found: dict[str, list[int | None]] = defaultdict(list)
        for name, distance in observations(pair):
            found[name].append(distance)
        for name, distances in found.items():
            row = rows.setdefault(name, Row(name))
            row.sentences += 1
            row.instances += len(distances)
            row.distances.update(d for d in distances if d is not None)
    more = sorted(name for name in rows if name not in ROWS)
    return [rows[name] for name in (*ROWS, *more)]


ROWS = (
    "sentence pairs",
    *(f"clauses {number}" for number in (1, 2, 3)),
    *(f"joined by {mark!r}" for mark in (".", ";", ":", ", and", ", but")),
    "de subject_verb_agreement",
    "de subject_verb_agreement, apart",
    "de noun_phrase_agreement",
    *(f"de case {case}" for case in ("Nom", "Acc", "Dat", "Gen")),
    "de negation_nicht",
    "de negation_kein",
    "de negation_un",
    *(f"de dative_{word}" for word in DATIVE_PREPOSITIONS),
    "de particle",
    "de reflexive",
    "de verb_final",
    "de genitive",
    "en particle",
    "en reflexive",
    "en preposition_stranding",
    "en subject_verb_agreement",
    "reordering",
    "occupation male, told",
    "occupation female, told",
    "occupation male, not told",
    "occupation female, not told",
    "sense frequent",
    "sense rare",
)


def observations(pair: SentencePair) -> Iterator[tuple[str, int | None]]:
    """Everything of a pair that is counted, with its distance if it has one."""
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
