"""Any system that translates, with the chatter in its answers noted and, if asked for, cut off."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.answers import Capability, Fingerprint, HeldAgainst, ItemChoice, capabilities
from babelscope.systems.asking import ASK
from babelscope.systems.chatter import Chatter
from babelscope.systems.decorators import Decorator
from babelscope.util.errors import BabelscopeError


def watched(system: Any, chatter: Chatter) -> Any:
    """`system` with its answers looked at as `chatter` says; itself if they are not."""
    if chatter.clean == "no":
        return system
    if "translate" not in capabilities(system):
        raise BabelscopeError(
            f"{system.name} does not translate, so that clean={chatter.clean} has no effect"
        )
    kind = WatchedAnswers if isinstance(system, HeldAgainst) else Watched
    return kind(system, chatter)


class Watched(Decorator):
    """A system whose answers are looked at."""

    def __init__(self, inner: Any, chatter: Chatter) -> None:
        self.inner = inner
        self.name: str = inner.name
        self.capabilities: frozenset[Capability] = capabilities(inner)
        self._chatter = chatter

    @property
    def fingerprint(self) -> Fingerprint:
        inner: Fingerprint = self.inner.fingerprint
        return dataclasses.replace(inner, settings={**inner.settings, **self._chatter.settings})

    def __getattr__(self, name: str) -> Any:
        """Whatever is not a call with answers is asked of the system itself."""
        if name == "inner":  # not set yet, as while being copied
            raise AttributeError(name)
        return getattr(self.inner, name)

    def _ask(self, method: str, asked: Sequence[Any], how: Mapping[str, Any]) -> list[Any]:
        answers = ASK[method](self.inner, asked, **how)
        return answers if method == "score" else self._chatter.watch(asked, answers)


class WatchedAnswers(Watched):
    """The same with stored answers, which are held against a test set."""

    @property
    def by_line(self) -> bool:
        return bool(self.inner.by_line)

    def held_against(self, what: str, items: Sequence[ItemChoice]) -> WatchedAnswers:
        return WatchedAnswers(self.inner.held_against(what, items), self._chatter)
