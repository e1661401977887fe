"""Choices among German alternatives: drawn at random, or enumerated."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from typing import Protocol

Forms = frozenset[str]


class Chooser(Protocol):
    """Picks the index of an alternative; `forms` are, for each, word forms of which it uses at least one.

    `facts`: the alternatives are not ways of saying the same, so that their weights hold for every translator.
    """

    def __call__(
        self, weights: Sequence[float], forms: Sequence[Forms] | None = None, *, facts: bool = False
    ) -> int: ...


def random_stream(seed: int, name: str) -> random.Random:
    """A random generator that is the same for a seed and name on every machine."""
    digest = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()
    return random.Random(int.from_bytes(digest, "big"))


def draw_index(rng: random.Random, weights: Sequence[float]) -> int:
    """An index with probability in proportion to its weight."""
    point = rng.random() * sum(weights)
    for index, weight in enumerate(weights):
        point -= weight
        if point < 0:
            return index
    return len(weights) - 1


class RandomChooser:
    """Draws alternatives by their weights; `even`: ways of saying the same are equally likely."""

    def __init__(self, rng: random.Random, *, even: bool = False) -> None:
        self.rng, self.even = rng, even

    def __call__(
        self,
        weights: Sequence[float],
        forms: Sequence[Forms] | None = None,  # noqa: ARG002
        *,
        facts: bool = False,
    ) -> int:
        if self.even and not facts:
            weights = [float(weight > 0) for weight in weights]
        return draw_index(self.rng, weights) if len(weights) > 1 else 0


class _ScriptedChooser:
    """Replays a list of decisions, then takes first alternatives; records all options at each step."""

    def __init__(self, decisions: list[int], vocabulary: Forms | None) -> None:
        self.decisions = decisions
        self.vocabulary = vocabulary
        self.options: list[list[int]] = []

    def __call__(
        self,
        weights: Sequence[float],
        forms: Sequence[Forms] | None = None,
        *,
        facts: bool = False,  # noqa: ARG002
    ) -> int:
        options = list(range(len(weights)))
        if forms is not None and self.vocabulary is not None:
            known = self.vocabulary
            options = [i for i in options if not known.isdisjoint(forms[i])]
        options = options or [0]
        step = len(self.options)
        self.options.append(options)
        if step == len(self.decisions):
            self.decisions.append(0)
        return options[self.decisions[step]]


def every_choice(vocabulary: Forms | None = None) -> Iterator[Chooser]:
    """A chooser for each combination of decisions; with a vocabulary, only those whose words are all in it.

    Use each chooser for a whole sentence before the next one is taken.
    """
    decisions: list[int] = []
    while True:
        script = _ScriptedChooser(decisions, vocabulary)
        yield script
        while decisions and decisions[-1] + 1 >= len(script.options[len(decisions) - 1]):
            decisions.pop()
        if not decisions:
            return
        decisions[-1] += 1
