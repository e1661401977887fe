"""Characters that control or hide text: which they are, and how they are shown."""

from __future__ import annotations

import re

# Left out, since people write with them: zero-width joiner and non-joiner (Persian, Indic scripts, emoji), zero-width
# space (between Khmer and Thai words), soft hyphen, variation selectors (emoji, Japanese names), the Mongolian vowel
# separator.
_RANGES = (
    ("\x00", "\x08"),  # controls, but for tab and newline
    ("\x0b", "\x1f"),
    ("\x7f", "\x9f"),
    ("\u034f", "\u034f"),  # combining grapheme joiner
    ("\u061c", "\u061c"),  # Arabic letter mark
    ("\u115f", "\u1160"),  # Hangul fillers
    ("\u17b4", "\u17b5"),  # Khmer inherent vowels
    ("\u200e", "\u200f"),  # left-to-right and right-to-left mark
    ("\u2028", "\u202e"),  # line and paragraph separator, embeddings and overrides
    ("\u2060", "\u206f"),  # word joiner, invisible operators, isolates, deprecated shaping
    ("\u3164", "\u3164"),  # Hangul filler
    ("\ud800", "\udfff"),  # lone surrogates
    ("\ufeff", "\ufeff"),  # byte order mark
    ("\uffa0", "\uffa0"),  # halfwidth Hangul filler
    ("\ufff0", "\ufffb"),  # unassigned specials, interlinear annotation
    ("\U0001bca0", "\U0001bca3"),  # shorthand format controls
    ("\U0001d173", "\U0001d17a"),  # musical format controls
    ("\U000e0000", "\U000e00ff"),  # tags
    ("\U000e01f0", "\U000e0fff"),  # unassigned, and not shown by any font
)

PATTERN = "[" + "".join(rf"\U{ord(first):08x}-\U{ord(last):08x}" for first, last in _RANGES) + "]"
"""A regular expression for one such character."""
HIDDEN = re.compile(PATTERN)
"""Matches a character that must be shown by its code point."""
# The pages have the same table in visible.js; tests compare the two.


def mark_hidden(text: str) -> str:
    """The text with hidden characters as `⟦U+202E⟧`; of a longer run, the first four and the number of others."""
    return _RUN.sub(_placeholder, text)


_RUN = re.compile(f"{PATTERN}+")


def _placeholder(found: re.Match[str]) -> str:
    run = found[0]
    shown = "".join(f"⟦U+{ord(each):04X}⟧" for each in run[:4])
    return shown if len(run) <= 4 else f"{shown}⟦{len(run) - 4:,} more⟧"
