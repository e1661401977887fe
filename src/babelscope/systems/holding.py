"""Stored answers held against all that they will be asked about, before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from babelscope.core.answers import HeldAgainst, ItemChoice


def hold(system: Any, what: str, items: Sequence[ItemChoice]) -> Any:
    """The system as it answers about these items; raises if it has stored answers that do not fit all of them."""
    return system.held_against(what, items) if isinstance(system, HeldAgainst) else system


def hold_sources(system: Any, what: str, sources: Sequence[str]) -> Any:
    """As `hold`, against sources without items, such as the lines of a file."""
    return hold(system, what, [ItemChoice(str(n), source=source) for n, source in enumerate(sources, 1)])
