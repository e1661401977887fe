"""Some of what rules find, to be read: the same few of a corpus however it is split."""

from __future__ import annotations

import bisect
from collections.abc import Collection, Sequence
from typing import NamedTuple

from babelscope.language.ud_rules import Instance
from babelscope.util.digests import digest_json


class Shown(NamedTuple):
    """An instance in its sentence; `head` and `dependent` are characters (start, end) of `text`."""

    key: str
    """Instances are drawn by their digest, so that those of parts can be put together."""
    sentence: int
    """Number of the sentence, from 1."""
    phenomenon: str
    distance: float
    text: str
    head: tuple[int, int] | None
    dependent: tuple[int, int]

    @property
    def marked(self) -> str:
        """The text with its two words in brackets."""
        text = self.text
        spans = {self.dependent} if self.head is None else {self.head, self.dependent}
        for start, end in sorted(spans, reverse=True):
            text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
        return text


class Sample:
    """At most `size` instances of these phenomena, drawn at random from all that are offered."""

    def __init__(self, size: int, phenomena: Collection[str]) -> None:
        self.size = size
        self.phenomena = frozenset(phenomena)
        self.chosen: list[Shown] = []

    def offer(
        self, number: int, text: str, spans: Sequence[tuple[int, int]], instances: Sequence[Instance]
    ) -> None:
        """Offer the instances of a sentence; `spans` are the places of its words."""
        for each in instances if self.size else ():
            if each.phenomenon in self.phenomena:
                key = digest_json([number, each.phenomenon, each.head, each.dependent])
                head = spans[each.head - 1] if each.head else None
                self.add(
                    Shown(
                        key,
                        number,
                        each.phenomenon,
                        each.distance,
                        text,
                        head,
                        spans[each.dependent - 1],
                    )
                )

    def add(self, shown: Shown) -> None:
        """Keep an instance if its digest is among the smallest."""
        bisect.insort(self.chosen, shown)
        del self.chosen[self.size :]

    def in_order(self) -> list[Shown]:
        """What was drawn, in the order of the corpus."""
        return sorted(self.chosen, key=lambda each: (each.sentence, each.dependent))
