"""Worlds of the lab: which of the grammar's sentences there are, how long they are, and what is wrong with the text.

`EASY` is the grammar as it draws. `HARD` has the conditions under which the papers' models were trained, set once and
from what is published (docs/lab.md has the sources), not from what comes out.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from babelscope.lab.grammar.choice import draw_index
from babelscope.lab.grammar.meaning import Entity, Meaning
from babelscope.lab.grammar.plans import draw_meaning, extend
from babelscope.lab.grammar.sampling import chance
from babelscope.util.errors import BabelscopeError

Noise = Literal["copied", "misaligned", "truncated", "other language"]

# Shares of the grammar's own draws (tests/lab/grammar/test_worlds.py measures them).
_FEMININE, _RARE = 0.46, 0.27
# Letters of a language that nobody reads: each is exchanged for another of its kind.
_OURS = "aeiouäöübcdfghjklmnpqrstvwxyz"
_THEIRS = "eiouaoiuklmnpqrstvwxyzbcdfghj"
_FOREIGN = str.maketrans(_OURS + _OURS.upper(), _THEIRS + _THEIRS.upper())


@dataclass(frozen=True, slots=True)
class World:
    """The conditions of a corpus."""

    name: str
    pairs: int
    """Of the training text."""
    feminine: float | None = None
    """Share of women among occupations whose gender the source tells; None: as the grammar draws."""
    rare: float | None = None
    """Share of the rare sense among ambiguous nouns."""
    more_clauses: tuple[float, ...] = (1.0,)
    """Probabilities of 0, 1, 2... clauses more than the grammar draws."""
    even: bool = False
    """Whether German says what it can say in several ways equally often in each; otherwise one is the usual one."""
    noise: Mapping[Noise, float] = field(default_factory=dict)
    """Kind of noise -> share of the training pairs that have it."""
    references: int = 5
    """Of the sentences of test sets, at most."""

    def meaning(self, rng: random.Random) -> Meaning:
        """Draw a meaning as this world has them."""
        while True:
            meaning = self.lengthened(rng, draw_meaning(rng))
            if self._keeps(rng, meaning):
                return meaning

    def lengthened(self, rng: random.Random, meaning: Meaning) -> Meaning:
        """The meaning with more clauses, as many as this world has."""
        for _ in range(draw_index(rng, self.more_clauses) if len(self.more_clauses) > 1 else 0):
            meaning = extend(rng, meaning)
        return meaning

    def _keeps(self, rng: random.Random, meaning: Meaning) -> bool:
        """Whether a meaning stays in the corpus: those with what is rare here are thinned out."""
        found = list(entities(meaning)) if self.feminine is not None or self.rare is not None else []
        women = sum(each.gender == "f" for each in found)
        rare = sum(each.noun.endswith("/rare") for each in found)
        kept = _thinned(self.feminine, _FEMININE) ** women * _thinned(self.rare, _RARE) ** rare
        return kept >= 1 or chance(rng, kept)


EASY = World("easy", pairs=100_000)
HARD = World(
    "hard",
    pairs=10_000,
    feminine=0.04,
    rare=0.04,
    more_clauses=(0.15, 0.4, 0.3, 0.15),
    even=True,
    noise={"copied": 0.035, "misaligned": 0.035, "truncated": 0.035, "other language": 0.035},
    references=2,
)
# The harder world's sentences as an evaluator should have read them: more of them, clean, and with nothing rare.
CLEAN = dataclasses.replace(HARD, name="clean", pairs=60_000, feminine=None, rare=None, noise={})
WORLDS = {world.name: world for world in (EASY, HARD, CLEAN)}


def find_world(name: str) -> World:
    """A world by name."""
    if name not in WORLDS:
        raise BabelscopeError(f"there is no world {name!r}; there are {', '.join(WORLDS)}")
    return WORLDS[name]


def _thinned(wanted: float | None, usual: float) -> float:
    """The probability to keep something so that its share falls from `usual` to `wanted`."""
    return 1.0 if wanted is None else wanted / (1 - wanted) * (1 - usual) / usual


def entities(part: Any) -> Iterator[Entity]:
    """All participants in a meaning or a part of it."""
    if isinstance(part, tuple):
        for each in part:
            yield from entities(each)
    elif dataclasses.is_dataclass(part):
        if isinstance(part, Entity):
            yield part
        for each in dataclasses.fields(part):
            yield from entities(getattr(part, each.name))


def draw_noise(rng: random.Random, world: World) -> Noise | None:
    """What is wrong with the next pair; None for most."""
    point = rng.random()
    for kind, share in world.noise.items():
        if point < share:
            return kind
        point -= share
    return None


def with_noise(kind: Noise, source: str, target: str, before: str, rng: random.Random) -> str:
    """The target of a noisy pair; `before` is the target of the pair before it."""
    if kind == "copied":
        return source
    if kind == "misaligned":
        return before
    if kind == "truncated":
        words = target.split(" ")
        return " ".join(words[: rng.randrange(1, len(words))]) if len(words) > 1 else target
    return target.translate(_FOREIGN)
