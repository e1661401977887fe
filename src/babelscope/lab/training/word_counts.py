"""Words of text in any script, for lengths and alignments: characters where a script has no spaces between words."""

from __future__ import annotations

import functools
import itertools
import re
import statistics
import unicodedata
from collections.abc import Sequence

from babelscope.core.tokenisers import AT_SPACES, SCRIPTS, unsplit_script

_PLAIN = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")
_JOINERS = "\u00ad\u200c\u200d"  # inside words of Persian, Hindi and others
_ALONE = "".join(SCRIPTS.values())
_BEYOND = re.compile("[\U00010000-\U0010ffff]")


def split_words(text: str) -> list[str]:
    """Words and marks of punctuation; each character of a script without spaces is a word."""
    if text.isascii():
        return _PLAIN.findall(text)
    unusual, pattern = _patterns()
    return (pattern if unusual.search(text) or _BEYOND.search(text) else _PLAIN).findall(text)


def split_characters(text: str) -> list[str]:
    return [each for each in text if each != " "]


@functools.cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What the plain pattern splits wrongly, and the pattern for it.

    To Python, the vowel signs of Hindi and the accents of decomposed text are no part of a word.
    """
    marks = _as_ranges([n for n in range(0x300, 0x20000) if unicodedata.category(chr(n))[0] == "M"])
    letters = rf"(?:(?![{_ALONE}])[\w{marks}{_JOINERS}])+"
    pattern = re.compile(rf"[{_ALONE}]|{letters}(?:[-'’]{letters})*|[^\w\s]")
    # Of 16 bits alone, for which `re` has a table.
    near = "".join(each for each in _split_ranges(f"{_ALONE}{marks}") if max(each) <= "\uffff")
    return re.compile(rf"[{near}{_JOINERS}]"), pattern


def _split_ranges(ranges: str) -> list[str]:
    """The parts of a character class: `a-z`, or single characters."""
    return re.findall(r".-.|.", ranges, flags=re.DOTALL)


def _as_ranges(numbers: Sequence[int]) -> str:
    """Code points as part of a character class."""
    found = []
    for _, run in itertools.groupby(enumerate(numbers), lambda each: each[1] - each[0]):
        points = [number for _, number in run]
        found.append(f"{chr(points[0])}-{chr(points[-1])}")
    return "".join(found)


def usual_ratio(pairs: Sequence[tuple[str, str]], counts: Sequence[tuple[int, int]]) -> float:
    """Target words a source word, in the median of some pairs; 1 where both sides have spaces between words.

    Characters of one language are no words of another, so that their numbers are not alike in any good pair.
    """
    sides = ([side[place] for side in pairs] for place in (0, 1))
    if not any(unsplit_script(AT_SPACES, texts) for texts in sides):
        return 1.0
    return statistics.median([other / one for one, other in counts if one and other] or [1.0])
