"""Which stored answer is whose: found by source, by line or by id, and compared with the whole test set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from babelscope.core.system import ItemChoice, StoredAnswers

Key = Callable[[str], str]
"""What of a source counts where it is looked for: files of `source ||| translation` have no spaces at its ends."""


def index_of(sources: Sequence[str], key: Key) -> dict[str, list[int]]:
    """The numbers of the lines that each source stands in."""
    lines: dict[str, list[int]] = {}
    for number, source in enumerate(sources):
        lines.setdefault(key(source), []).append(number)
    return lines


def find_lines(
    asked: Sequence[str], lines: Mapping[str, Sequence[int]], key: Key = str.strip
) -> list[int | None]:
    """For every source that is asked the number of its line, or None; one that is repeated is found in order."""
    seen: Counter[str] = Counter()
    found: list[int | None] = []
    for source in map(key, asked):
        own = lines.get(source)
        found.append(None if own is None else own[min(seen[source], len(own) - 1)])
        seen[source] += 1
    return found


def align_to_test_set(system: Any, what: str, items: Sequence[ItemChoice]) -> Any:
    """The system as it answers about these items; raises if it has stored answers that do not fit all of them."""
    return system.align_to(what, items) if isinstance(system, StoredAnswers) else system


def align_to_sources(system: Any, what: str, sources: Sequence[str]) -> Any:
    """As `align_to_test_set`, with sources without items, such as the lines of a file."""
    items = [ItemChoice(str(number), source=source) for number, source in enumerate(sources, 1)]
    return align_to_test_set(system, what, items)
