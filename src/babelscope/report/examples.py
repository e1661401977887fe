"""Single items to look at, as text for a terminal: what each is, its texts with words marked, how to see more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from babelscope.core.page import Line, Token
from babelscope.util.tables import wrap
from babelscope.util.terminal import visible

_INDENT = " " * 3
MARK = "*"
"""Stands before and after marked words."""


@dataclass(frozen=True, slots=True)
class Example:
    """An item that shows an effect, or, without lines, the sentence that it did not appear."""

    title: str
    figure: str
    """How often the effect was seen, with n and interval; or that it was not seen."""
    lines: Sequence[Line] = ()
    look: str = ""
    """One sentence about what to look at."""
    more: str = ""
    """A command that shows more."""


def draw_examples(examples: Sequence[Example], width: int) -> str:
    """The examples below each other, numbered."""
    found: list[str] = []
    for number, each in enumerate(examples, 1):
        found += ["", *wrap(f"{number}. {visible(each.title)}", width, hanging=_INDENT)]
        found += _paragraph(each.figure, width)
        labels = max((len(label) for label, _ in each.lines), default=0)
        for label, shown in each.lines:
            text = visible(shown if isinstance(shown, str) else with_marks(shown))
            hanging = " " * (len(_INDENT) + labels + 2)
            found += wrap(text, width, indent=f"{_INDENT}{visible(label):<{labels}}  ", hanging=hanging)
        found += _paragraph(f"Look: {each.look}", width) if each.look else []
        found += draw_command(each.more, width) if each.more else []
    return "\n".join(found)


def draw_command(command: str, width: int) -> list[str]:
    """A command as it can be copied: broken before options only, as a shell goes on."""
    lines = [f"{_INDENT}$"]
    for part in re.split(r" (?=--)", command):
        if len(lines[-1]) + len(part) + 3 > width and lines[-1].strip() != "$":
            lines[-1] += " \\"
            lines.append(f"{_INDENT}   ")
        lines[-1] += f" {part}"
    return lines


def with_marks(tokens: Sequence[Token]) -> str:
    """The text of tokens, marked words between asterisks, neighbours together."""
    found, open_ = "", False
    for text, _, *rest in tokens:
        is_marked = bool(rest and rest[0])
        if is_marked != open_:
            # A token may begin with the space before it, which belongs outside of the marks.
            lead = text[: len(text) - len(text.lstrip())] if is_marked else ""
            found, text, open_ = found + lead + MARK, text[len(lead) :], is_marked
        found += text
    return found + (MARK if open_ else "")


def near_marks(tokens: Sequence[Token], words: int = 5) -> list[Token]:
    """The tokens without words that are farther than so many from every marked one; of these, an ellipsis is left."""
    parts = [
        (piece, bool(len(each) > 2 and each[2]))
        for each in tokens
        for piece in re.findall(r"\s*\S+|\s+", each[0])
    ]
    marked = [place for place, (_, is_marked) in enumerate(parts) if is_marked]
    kept = [any(abs(place - each) <= words for each in marked) or not marked for place in range(len(parts))]
    found: list[Token] = []
    for place, (piece, is_marked) in enumerate(parts):
        if kept[place]:
            found.append((piece, None, int(is_marked)))
        elif not place or kept[place - 1]:
            found.append((" …" if place else "…", None))
    return found


def mark_words(text: str, places: Sequence[tuple[int, int]]) -> list[Token]:
    """The text with the characters of each (start, end) marked."""
    found: list[Token] = []
    at = 0
    for start, end in sorted(places):
        found += [(text[at:start], None), (text[start:end], None, 1)]
        at = end
    return [*found, (text[at:], None)]


def _paragraph(text: str, width: int) -> list[str]:
    return wrap(visible(text), width, indent=_INDENT, hanging=_INDENT)
