"""Toys whose whole hypothesis space can be listed: exact search is a look at the list."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from babelscope.core.system import Asked, Budget, Scored, TopK, sources_of
from tests.support.toys import EOS, ToySystem


class Enumerated(ToySystem):
    """A toy that searches exactly. With several characters in a symbol, texts have several segmentations."""

    def __init__(
        self, name: str = "listed", *, symbols: Sequence[str] = "ab", limit: int = 5, salt: str = ""
    ) -> None:
        super().__init__(name, alphabet="", limit=limit, salt=salt)
        self.symbols = (*symbols, EOS)

    def space(self, source: str) -> list[Scored]:
        """All complete translations, most probable first."""
        listed = [
            self._finished(source, (*tokens, EOS))
            for length in range(self.limit)
            for tokens in itertools.product(self.symbols[:-1], repeat=length)
        ]
        return sorted(listed, key=lambda each: (-each.total, each.tokens))

    def top_k(self, questions: Sequence[Asked], *, k: int, budget: Budget | None = None) -> list[TopK]:
        """With a budget of n expansions, only the n most probable of the space are seen."""
        answers = []
        for source in sources_of(questions):
            self._asked(f"top_k\t{source}")
            listed = self.space(source)
            seen = (budget.expansions if budget else None) or len(listed)
            found, unseen = listed[:seen][:k], listed[min(seen, k) :]
            exact = seen >= min(k, len(listed))
            answers.append(
                TopK(
                    tuple(found),
                    exact=exact,
                    # As loose as a real search's bound is before it has looked further.
                    bound=(unseen[0].total if unseen else -math.inf) + (0.0 if exact else 1e-9),
                    mass=math.fsum(math.exp(each.total) for each in listed[:seen]),
                    expansions=seen,
                    minimum=min(seen, k),
                )
            )
        return answers
