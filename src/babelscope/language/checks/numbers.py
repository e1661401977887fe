"""Numbers, dates and units that a translation must keep."""

from __future__ import annotations

import re
from collections import Counter

_NUMBER = re.compile(r"\d{1,3}(?: \d{3})+(?!\d)|\d+(?:[.,:'’\u00a0\u202f]\d+)*")
_UNITS = re.compile(r"[%‰€$£¥°]|(?<![A-Za-z])(?:km|kg|cm|mm|kWh|MB|GB|TB|MHz|GHz|Hz|kB)(?!\w)")
_LONG = 4
"""Digits of a number that may be cut or rounded: 1,500,000 for 1.5 million."""
_HALF_A_DAY = 1200


def numbers_in(text: str) -> Counter[str]:
    """The numbers of a text as digits only, separators aside."""
    return Counter(_digits(found) for found in _NUMBER.findall(text))


def _digits(number: str) -> str:
    return "".join(str(int(char)) for char in number if char.isdigit())


def wrong_number(source: str, translation: str) -> str | None:
    """A number of the source that the translation changes: it has not this one, but one that the source has not.

    A number that is only missing may be written out; so may one of a single digit.
    """
    ours, theirs = numbers_in(source), numbers_in(translation)
    missing = [number for number in ours if number not in theirs]
    new = [number for number in theirs if number not in ours]
    # 7.45 pm is 19.45, 1990s are 90s, and 1,500,000 is 1.5 million.
    missing = [each for each in missing if not any(_same_amount(each, other) for other in new)]
    new = [each for each in new if not any(_same_amount(other, each) for other in ours)]
    return f"{missing[0]}, {new[0]}" if missing and new else None


def _same_amount(one: str, other: str) -> bool:
    """Whether two numbers may be one in other words: with more zeros, or one the end of the other, or by the 12-hour
    clock."""
    short, long = sorted((one, other), key=len)
    if len(long) in (3, 4) and int(long) - int(short) == _HALF_A_DAY:
        return True
    if len(short) == len(long):
        return False
    return (
        one.rstrip("0") == other.rstrip("0")
        or (len(short) > 1 and long.endswith(short))
        or (len(long) >= _LONG and long.startswith(short))
    )


def has_number(source: str) -> bool:
    return bool(_NUMBER.search(source))


def lost_unit(source: str, translation: str) -> str | None:
    """A unit of the source that the translation replaces by another one."""
    ours, theirs = set(_UNITS.findall(source)), set(_UNITS.findall(translation))
    return f"{min(ours - theirs)}, {min(theirs - ours)}" if ours - theirs and theirs - ours else None


def has_unit(source: str) -> bool:
    return bool(_UNITS.search(source))
