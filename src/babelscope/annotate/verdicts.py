"""Verdicts and scores of a method, found by item and system."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from babelscope.stats.agreement import weight_of
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import LocatedRecord, json_number, shorten


@dataclass(frozen=True, slots=True)
class MethodVerdict:
    """A method's verdict on one translation, or its score of a translation or list."""

    place: str
    """Where it was read."""
    system: str
    value: bool | float | None
    """None where the method is undecided."""
    weight: float | None = None
    translation: str | None = None
    """Its words joined by single spaces, as pattern matching joins them."""
    listed: int | None = None
    """Length of the list that a score of `space` is about."""


class MethodVerdicts:
    """All verdicts or scores of a method."""

    def __init__(self, rows: Iterable[LocatedRecord], field: str | None = None) -> None:
        """Read the number in `field` of each record; without `field`, the verdict."""
        self.by_item: dict[str, dict[str, MethodVerdict]] = {}
        for place, record in rows:
            number, system = record.get("id"), str(record.get("system", ""))
            if not isinstance(number, str | int):
                raise BabelscopeError(f"{place} has no `id` of an item")
            own = self.by_item.setdefault(str(number), {})
            if system in own:
                raise BabelscopeError(f"{place}: item {number} has a verdict already, at {own[system].place}")
            own[system] = (
                _read_score(place, system, record, field) if field else _read_verdict(place, system, record)
            )

    def find(self, item: str, system: str, translation: str | None = None) -> MethodVerdict | None:
        """The verdict on a system's translation of an item, or None.

        If the system has another name in the records, the translation identifies it.
        """
        own = self.by_item.get(item, {})
        text = _join_words(translation)
        if system in own:
            found = own[system]
            # Another translation, such as that of another beam size, must not count.
            if text is not None and found.translation not in (None, text):
                raise BabelscopeError(
                    f"item {item}: people judged {shorten(text)}, but the verdict at {found.place} is on "
                    f"{shorten(str(found.translation))}"
                )
            return found
        if text is not None:
            for found in own.values():
                if found.translation == text:
                    return found
        if len(own) > 1 and not system:
            raise BabelscopeError(
                f"item {item} has verdicts on {len(own)} systems, but its line has no `system` that states whose "
                "translation was judged"
            )
        # If either side does not name its system, there is only one to match.
        return next((found for name, found in own.items() if "" in (name, system)), None)


def _join_words(text: object) -> str | None:
    return " ".join(text.split()) if isinstance(text, str) else None


def _read_verdict(place: str, system: str, record: Mapping[str, Any]) -> MethodVerdict:
    correct = record.get("correct")
    if "verdict" in record:
        correct = {"correct": True, "wrong": False}.get(str(record["verdict"]))
    elif "correct" not in record or not (correct is None or isinstance(correct, bool)):
        raise BabelscopeError(f"{place} has neither `verdict` nor `correct` (true, false or null)")
    if record.get("predicted") in ("neutral", "unknown"):
        correct = None  # WinoMT: no gender found is no decision
    weight = None if record.get("weight") is None else weight_of(record, place)
    return MethodVerdict(place, system, correct, weight, _join_words(record.get("translation")))


def _read_score(place: str, system: str, record: Mapping[str, Any], field: str) -> MethodVerdict:
    number = json_number(record.get(field))
    if record.get(field, "") is not None and (number is None or not math.isfinite(number)):
        raise BabelscopeError(f"{place} has no number in `{field}`; name the right one with --set field")
    return MethodVerdict(place, system, number, listed=list_length(record, field))


def list_length(record: Mapping[str, Any], field: str) -> int | None:
    """The length of the list that a score of `space` is about; None for other scores."""
    top = record.get("top")
    found = top.get("found") if isinstance(top, Mapping) and field.startswith("top_") else None
    return len(found) if isinstance(found, list) else None
