"""Any system with its answers cached on disk: no question is asked twice."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from babelscope.core.answers import System, properties
from babelscope.systems.answers import AnswerStore, store_until_done
from babelscope.systems.asking import renumber_errors
from babelscope.systems.stored import Form, Stored
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError

ANSWERS_VERSION = 1
"""Raised when a fix changes what a system of ours answers, so that no cache serves what it answered before."""


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
    if cache is None and properties(system).costly:
        return _with_store(system, store_until_done)
    return system


def _with_store(system: Any, store: Callable[[str], AnswerStore]) -> Any:
    """A server's answers are kept as they came, by itself; those of others as what was made of them."""
    if properties(system).asked_as_a_whole or properties(system).stored:
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


class Cached(Stored):
    """A system that asks another only what it has not been asked before."""

    def __init__(self, inner: System, store: Callable[[str], AnswerStore]) -> None:
        super().__init__(inner)
        self._store = store(digest_json([self.fingerprint.digest, ANSWERS_VERSION]))

    def __getattr__(self, name: str) -> Any:
        """Whatever is not remembered is asked of the system itself."""
        if name == "inner":  # not set yet, as while being copied
            raise AttributeError(name)
        return getattr(self.inner, name)

    def _answers(
        self,
        requests: Sequence[dict[str, Any]],
        asked: Sequence[Any],
        ask: Callable[[Sequence[Any]], list[Any]],
        form: Form,
    ) -> list[Any]:
        """Answers to all questions: remembered ones, and new ones to each different question asked once."""
        written = [json.dumps(request, sort_keys=True) for request in requests]
        known = self._store.find(written)
        ready: dict[str, Any] = {}
        for request, answer in known.items():
            # A stored answer that cannot be read is asked again, whoever wrote it.
            with contextlib.suppress(BabelscopeError, LookupError, TypeError, ValueError, AttributeError):
                ready[request] = form.read(answer)
        if unfit := [request for request in known if request not in ready]:
            self._store.drop(unfit)
        missing = {
            request: question
            for request, question in zip(written, asked, strict=True)
            if request not in ready
        }
        if missing:
            first = {request: number for number, request in reversed(list(enumerate(written, 1)))}
            with renumber_errors([first[request] for request in missing]):
                answers = ask(list(missing.values()))
            new = {request: form.write(answer) for request, answer in zip(missing, answers, strict=True)}
            self._store.keep(new)
            known |= new
        # Repeated questions get answers of their own, so that changing one changes no other.
        return [ready.pop(request) if request in ready else form.read(known[request]) for request in written]
