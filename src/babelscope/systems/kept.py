"""A system whose answers are kept in a journal: work that was stopped goes on without asking them again.

Unlike a cache, it asks exactly what it is asked, call by call: batches, and with them floats, are those of the system
itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from babelscope.core.answers import Budget, Capability, Drawing, Scored, System, Target, TopK, capabilities
from babelscope.systems.asking import (
    ask_sample,
    ask_score,
    ask_top_k,
    ask_translate,
    scored_as_json,
    scored_from_json,
    top_k_as_json,
    top_k_from_json,
)
from babelscope.util.digests import digest_json
from babelscope.util.journal import Keep


class Kept:
    """Asked in the same order each time the work is begun; one call is one part of the journal."""

    def __init__(self, inner: System, keep: Keep) -> None:
        self._inner: Any = inner
        self._keep = keep
        self.name = inner.name
        self.fingerprint = inner.fingerprint
        self.capabilities: frozenset[Capability] = capabilities(inner) - {"next_tokens"}
        self.cacheable: bool = getattr(inner, "cacheable", True)

    def translate(self, sources: Sequence[str], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:
        how = {"beam": beam, "n_best": n_best}
        return self._lists("translate", sources, how, lambda: ask_translate(self._inner, sources, **how))

    def sample(
        self, sources: Sequence[str], *, n: int, seed: int, drawing: Drawing | None = None
    ) -> list[list[Scored]]:
        return self._lists(
            "sample",
            sources,
            {"n": n, "seed": seed, "drawing": drawing and dataclasses.asdict(drawing)},
            lambda: ask_sample(self._inner, sources, n=n, seed=seed, drawing=drawing),
        )

    def score(self, pairs: Sequence[tuple[str, Target]]) -> list[Scored]:
        asked = [(source, t if isinstance(t, str) else scored_as_json(t)) for source, t in pairs]
        stored = self._keep(
            self._place("score", asked, {}),
            lambda: [scored_as_json(each) for each in ask_score(self._inner, pairs)],
        )
        return [scored_from_json(each) for each in stored]

    def top_k(self, sources: Sequence[str], *, k: int, budget: Budget | None = None) -> list[TopK]:
        stored = self._keep(
            self._place("top_k", sources, {"k": k, "budget": budget and dataclasses.asdict(budget)}),
            lambda: [top_k_as_json(each) for each in ask_top_k(self._inner, sources, k=k, budget=budget)],
        )
        return [top_k_from_json(each) for each in stored]

    def _lists(
        self, method: str, sources: Sequence[str], how: dict[str, Any], ask: Callable[[], list[list[Scored]]]
    ) -> list[list[Scored]]:
        stored = self._keep(
            self._place(method, sources, how),
            lambda: [[scored_as_json(each) for each in answer] for answer in ask()],
        )
        return [[scored_from_json(each) for each in answer] for answer in stored]

    def _place(self, method: str, questions: Sequence[Any], how: dict[str, Any]) -> str:
        return f"{method} {len(questions)} with {self.name} {digest_json([questions, how])[:16]}"
