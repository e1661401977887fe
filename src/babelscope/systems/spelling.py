"""Whether tokens that a server tells are those of a text."""

from __future__ import annotations

import re

_MOST_COMPARISONS = 1_000_000


def reads_as(read: str, text: str) -> bool:
    """True if tokens that read `read` can be of `text`: a run of U+FFFD stands for as many characters or fewer.

    Parts of a character read as U+FFFD; anything else that differs means that offsets cannot be trusted. A text
    with too many of them to be sure of quickly counts as different.
    """
    if "\ufffd" not in read:
        return read == text
    parts = re.split("(\ufffd+)", read)
    if len(parts) * len(text) > _MOST_COMPARISONS:
        return False
    ends = {0}  # where in `text` what was read so far may end
    for part in parts:
        if part[:1] == "\ufffd":
            ends = {end + more for end in ends for more in range(1, len(part) + 1) if end + more <= len(text)}
        else:
            ends = {end + len(part) for end in ends if text.startswith(part, end)}
    return len(text) in ends


def without_spaces(text: str) -> str:
    """The text without spaces, SentencePiece's included."""
    return "".join(text.replace("\u2581", " ").split())
