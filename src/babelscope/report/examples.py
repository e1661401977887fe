"""Single items to look at, as text for a terminal: what each is, its texts with words marked, how to see more."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from babelscope.methods.reporting import TextLine, Token
from babelscope.util.terminal import visible, wrap

_INDENT = " " * 3
_MOST = 3
"""Lines of one text: some sentences never end."""
MARK = "*"
"""Stands before and after marked words."""


@dataclass(frozen=True, slots=True)
class Example:
    """An item that shows an effect, or, without lines, the sentence that it did not appear."""

    title: str
    figure: str
    """How often the effect was seen, with n and interval; or that it was not seen."""
    lines: Sequence[TextLine] = ()
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
            lines = wrap(text, width, indent=f"{_INDENT}{visible(label):<{labels}}  ", hanging=hanging)
            found += (
                lines if len(lines) <= _MOST else [*lines[: _MOST - 1], f"{hanging}… (the report has all)"]
            )
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
    """The text of tokens, marked words between asterisks, neighbors together."""
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
    numbers = list(itertools.accumulate(bool(piece.strip()) for piece, _ in parts))
    marked = [number for number, (_, is_marked) in zip(numbers, parts, strict=True) if is_marked]
    found: list[Token] = []
    left_out = False
    for number, (piece, is_marked) in zip(numbers, parts, strict=True):
        if not marked or any(abs(number - each) <= words for each in marked):
            found.append((piece, None, int(is_marked)))
            left_out = False
        elif not left_out:
            found.append((" …" if found else "…", None))
            left_out = True
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
