"""A system of parts: another one for each test set, such as a file of translations each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from babelscope.core.answers import Fingerprint, System, properties
from babelscope.util.errors import BabelscopeError


class ByTests:
    """One system for each test set, by the test set's name; it answers no other test set."""

    def __init__(self, name: str, parts: Mapping[str, System], tests: Iterable[str]) -> None:
        self.name = name
        self.parts = dict(parts)
        known = list(tests)
        if strange := [each for each in parts if each not in known]:
            raise BabelscopeError(f"there is no test set {strange[0]!r}, only {', '.join(known)}")
        # By the places of the test sets, whatever these are called.
        own = [self.parts[each].fingerprint.as_json() if each in parts else None for each in known]
        self.fingerprint = Fingerprint("parts", settings={"parts": own})
        said = [properties(each) for each in self.parts.values()]
        self.asked_as_a_whole = any(each.asked_as_a_whole for each in said)
        self.stored = all(each.stored for each in said)
        self.at_once = min(each.at_once for each in said)


def part_for(system: System, tests: str) -> System | None:
    """The part of a system that is asked about a test set: itself unless it has parts, None if it has none for it."""
    return system.parts.get(tests) if isinstance(system, ByTests) else system
