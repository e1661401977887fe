"""Any system, remembered on disk: what was answered once is not asked again."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from babelscope.core.answers import Budget, Capability, Drawing, Scored, System, Target, TopK, capabilities
from babelscope.systems.answers import AnswerStore, journal
from babelscope.systems.asking import (
    ask_sample,
    ask_score,
    ask_top_k,
    ask_translate,
    places,
    scored_as_json,
    scored_from_json,
    top_k_as_json,
    top_k_from_json,
)
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError

ANSWERS_VERSION = 1
"""Raised when a fix changes what a system of ours answers, so that no cache serves what it answered before."""

_Question = TypeVar("_Question")
_Answer = TypeVar("_Answer")


def cached(system: System, path: str | Path | None = None) -> Any:
    """`system`, with its answers kept in a file: by default one for all systems, see `default_path`."""
    where = Path(path) if path is not None else default_path()
    return _with_store(system, lambda identity: AnswerStore(where, identity))


def remembering(system: System, cache: bool | Path | None) -> Any:
    """`system` as a command asks it: its answers cached where that is said, in a file or in the default one.

    Unless it is said not to (False), the answers of a system that costs something to ask (`costly`: servers) are at
    least kept until the command has ended well, see `forget_unfinished`.
    """
    if cache:
        return cached(system, cache if isinstance(cache, Path) else None)
    if cache is None and getattr(system, "costly", False):
        return _with_store(system, journal)
    return system


def _with_store(system: Any, store: Callable[[str], AnswerStore]) -> Any:
    """A server's answers are kept as they came, by itself; those of others as what was made of them."""
    if not getattr(system, "cacheable", True):
        return system
    if hasattr(system, "remember"):
        system.remember(store)
        return system
    return Cached(system, store)


def default_path() -> Path:
    """$BABELSCOPE_CACHE, or `answers.sqlite` in the user's cache folder."""
    import platformdirs

    stated = os.environ.get("BABELSCOPE_CACHE")
    return Path(stated) if stated else platformdirs.user_cache_path("babelscope") / "answers.sqlite"


class Cached:
    """A system that asks another only what it has not been asked before."""

    def __init__(self, inner: System, store: Callable[[str], AnswerStore]) -> None:
        self.inner = inner
        self.name = inner.name
        self.fingerprint = inner.fingerprint
        self.capabilities: frozenset[Capability] = capabilities(inner)
        self._answers = store(digest_json([self.fingerprint.digest, ANSWERS_VERSION]))

    def __getattr__(self, name: str) -> Any:
        """Whatever is not remembered is asked of the system itself."""
        if name == "inner":  # not set yet, as while being copied
            raise AttributeError(name)
        return getattr(self.inner, name)

    def translate(self, sources: Sequence[str], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:
        return self._ask(
            [{"ask": "translate", "source": source, "beam": beam, "n_best": n_best} for source in sources],
            sources,
            lambda missing: ask_translate(self.inner, missing, beam=beam, n_best=n_best),  # type: ignore[arg-type]
            range(1, n_best + 1),
        )

    def score(self, pairs: Sequence[tuple[str, Target]]) -> list[Scored]:
        answers = self._ask(
            [{"ask": "score", "source": source, "target": _target(target)} for source, target in pairs],
            pairs,
            lambda missing: [[each] for each in ask_score(self.inner, missing)],  # type: ignore[arg-type]
            range(1, 2),
        )
        return [only for (only,) in answers]

    def sample(
        self, sources: Sequence[str], *, n: int, seed: int, drawing: Drawing | None = None
    ) -> list[list[Scored]]:
        how = dataclasses.asdict(drawing or Drawing())
        return self._ask(
            [{"ask": "sample", "source": source, "n": n, "seed": seed, **how} for source in sources],
            sources,
            lambda missing: ask_sample(self.inner, missing, n=n, seed=seed, drawing=drawing),  # type: ignore[arg-type]
            range(n, n + 1),
        )

    def top_k(self, sources: Sequence[str], *, k: int, budget: Budget | None = None) -> list[TopK]:
        limits = dataclasses.asdict(budget or Budget())
        return self._remember(
            [{"ask": "top_k", "source": source, "k": k, **limits} for source in sources],
            sources,
            lambda missing: ask_top_k(self.inner, missing, k=k, budget=budget),  # type: ignore[arg-type]
            top_k_as_json,
            top_k_from_json,
        )

    def _ask(
        self,
        requests: Sequence[dict[str, Any]],
        questions: Sequence[_Question],
        ask: Callable[[list[_Question]], list[list[Scored]]],
        counts: range,
    ) -> list[list[Scored]]:
        """Answers that are lists, each of so many as `counts` allows."""

        def read(answer: Any) -> list[Scored]:
            if len(answer) not in counts:
                raise ValueError(f"{len(answer)} answers")
            return [scored_from_json(each) for each in answer]

        return self._remember(
            requests,
            questions,
            ask,
            lambda answer: [scored_as_json(each) for each in answer],
            read,
        )

    def _remember(
        self,
        requests: Sequence[dict[str, Any]],
        questions: Sequence[_Question],
        ask: Callable[[list[_Question]], list[_Answer]],
        write: Callable[[_Answer], Any],
        read: Callable[[Any], _Answer],
    ) -> list[_Answer]:
        """Answers to all questions: remembered ones, and new ones to each different question asked once."""
        written = [json.dumps(request, sort_keys=True) for request in requests]
        known = self._answers.find(written)
        ready: dict[str, _Answer] = {}
        for request, answer in known.items():
            # Whoever wrote it, what an answer cannot be read from is asked again.
            with contextlib.suppress(BabelscopeError, LookupError, TypeError, ValueError, AttributeError):
                ready[request] = read(answer)
        if unfit := [request for request in known if request not in ready]:
            self._answers.drop(unfit)
        missing = {
            request: question
            for request, question in zip(written, questions, strict=True)
            if request not in ready
        }
        if missing:
            asked = list(missing)
            with places(lambda what, number: f"{what} {written.index(asked[number - 1]) + 1}"):
                answers = ask(list(missing.values()))
            new = {request: write(answer) for request, answer in zip(asked, answers, strict=True)}
            self._answers.keep(new)
            known |= new
        # A second time it is read anew, lest changing one answer change that to the same question elsewhere.
        return [ready.pop(request) if request in ready else read(known[request]) for request in written]


def _target(target: Target) -> Any:
    """A target as part of a request; an earlier answer counts by its tokens, which its text may not give."""
    if isinstance(target, str):
        return target
    return {"text": target.text, "tokens": list(target.tokens), "notes": list(target.notes)}
