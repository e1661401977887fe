"""Numbers, dates and units that a translation must keep."""

from __future__ import annotations

import re
from collections import Counter

_NUMBER = re.compile(r"\d+(?:[.,:'’\u00a0\u202f]\d+)*")


def numbers_in(text: str) -> Counter[str]:
    """The numbers of a text as digits only, separators aside."""
    return Counter(_digits(found) for found in _NUMBER.findall(text))


def _digits(number: str) -> str:
    return "".join(str(int(char)) for char in number if char.isdigit())
