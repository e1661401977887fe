"""Whether machine translations translate their own sources, checked with the human references of the test set."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from babelscope.metrics.chrf import pairwise_chrf
from babelscope.testsets.items import MinimalPair
from babelscope.util.seeds import stream

COPY = "copy of the source"
LENGTH = "too short or too long"
CLOSER = "closer to another human reference"
VAGUE = "by a system too often closer to another human reference"

_POOL = 100
"""Human references that each translation is compared with. A text that has nothing to do with its source is closest
to its own reference once in so many cases, whatever the language and the kind of text."""
_FACTOR = 2
"""How many times as long as its human reference a translation may be, or as short."""
_PASSES = 3
"""So many translations of a system must pass for each near miss. Near misses are vaguely related to their source;
where they are frequent, some vague translations are closest to their own reference, too, and cannot be told apart."""
_ENOUGH = 40
"""With fewer sentences, unrelated texts pass too often, and vague systems are not recognized reliably."""

_Rank = Literal["first", "near", "far"]


class Adequacy:
    """Compares translations with their own human reference and with those of other sentences, by chrF."""

    def __init__(self, pairs: Iterable[MinimalPair], seed: int) -> None:
        self._references: dict[str, list[str]] = {}
        for pair in pairs:
            own = self._references.setdefault(pair.source, [])
            if pair.correct not in own:
                own.append(pair.correct)
        if len(self._references) < _ENOUGH:
            warnings.warn(
                f"there are human references of {len(self._references)} sentences, too few to tell reliably whether "
                f"a translation is closer to its own than to others; at least {_ENOUGH} are needed",
                stacklevel=2,
            )
        order = stream(seed, "machine-references/adequacy").permutation(len(self._references))
        sources = list(self._references)
        self._pool = [sources[place] for place in order[:_POOL]]
        self._ranks: dict[str, dict[str, _Rank]] = {}

    def rejected(self, system: str, translations: Mapping[str, str]) -> dict[str, str]:
        """By source, the reason why a translation of the system must not become a reference, where there is one.

        Whether a system is vague is decided from all of its translations so far.
        """
        ranks = self._ranks.setdefault(system, {})
        ranks |= self._rank(translations)
        found = list(ranks.values())
        # Unrelated texts are rejected one by one: by chance, one of them is near for three that are far.
        misses = found.count("near") - found.count("far") / 3
        vague = found.count("first") < _PASSES * misses
        reasons = {}
        for source, text in translations.items():
            own = self._references[source]
            if _is_same(text, source) and text not in own:
                reasons[source] = COPY
            elif not any(len(each) <= _FACTOR * len(text) <= _FACTOR**2 * len(each) for each in own):
                reasons[source] = LENGTH
            elif ranks[source] != "first":
                reasons[source] = CLOSER
            elif vague:
                reasons[source] = VAGUE
        return reasons

    def _rank(self, translations: Mapping[str, str]) -> dict[str, _Rank]:
        """Whether its own reference is the closest to each translation, in the closest quarter, or farther off."""
        pool = [self._references[source][0] for source in self._pool]
        own = [self._references[source] for source in translations]
        references = list(dict.fromkeys([*pool, *(text for texts in own for text in texts)]))
        column = {text: number for number, text in enumerate(references)}
        found: dict[str, _Rank] = {}
        scores = pairwise_chrf(list(translations.values()), references)
        for source, texts, row in zip(translations, own, scores, strict=True):
            others = self._others(source, texts, pool)
            best = max(row[column[text]] for text in texts)
            closer = sum(row[column[text]] >= best for text in others)
            found[source] = "far" if 4 * closer >= len(others) + 1 else "near" if closer else "first"
        return found

    def _others(self, source: str, own: Sequence[str], pool: Sequence[str]) -> list[str]:
        return [
            text for other, text in zip(self._pool, pool, strict=True) if other != source and text not in own
        ]


def _is_same(one: str, other: str) -> bool:
    return one.casefold().split() == other.casefold().split()
