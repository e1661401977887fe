"""One's own guidelines in Markdown, read into pieces that a page shows as text: no HTML, no links to follow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from babelscope.util.errors import BabelscopeError
from babelscope.util.text import read_lines

Kind = Literal["heading", "paragraph", "bullet", "number", "quote", "code"]
Style = Literal["", "bold", "italic", "code"]

LARGEST = 256 * 1024
"""Characters of guidelines; more is no page that an annotator reads."""

_FENCE = re.compile(r" {0,3}(```|~~~)")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_QUOTE = re.compile(r" {0,3}> ?(.*)")
_ITEM = re.compile(r"( *)(?:([-*+])|([0-9]{1,9})[.)])[ \t]+(.*)")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*")
# Marks must touch their text, and underscores within a word are part of it, as in CommonMark.
_INLINE = re.compile(
    r"`([^`\n]+)`"
    r"|\*\*(?=\S)([^*\n]+)(?<=\S)\*\*"
    r"|(?<!\w)__(?=\S)([^_\n]+)(?<=\S)__(?!\w)"
    r"|\*(?=\S)([^*\n]+)(?<=\S)\*"
    r"|(?<!\w)_(?=\S)([^_\n]+)(?<=\S)_(?!\w)"
)
_STYLES: tuple[Style, ...] = ("code", "bold", "bold", "italic", "italic")


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """A heading, a paragraph, an item of a list, a quotation, or lines of code."""

    kind: Kind
    pieces: list[tuple[str, Style]]
    """Text, each piece with its style. Links and HTML stay as they were written."""
    mark: str = ""
    """The bullet or number of an item."""
    depth: int = 0
    """How deep an item is in a list of lists: 0, 1 or 2."""


def guidelines_path(queue: Path) -> Path:
    """Where the guidelines of a queue are: beside it."""
    return queue.with_name(f"{queue.name.removesuffix('.jsonl')}.guidelines.md")


def read_markdown(path: str | Path) -> list[MarkdownBlock]:
    """The blocks of a file of guidelines."""
    text = "\n".join(read_lines(path, keep_separators=True))
    if len(text) > LARGEST:
        raise BabelscopeError(f"{path} has {len(text):,} characters; guidelines have {LARGEST:,} at most")
    blocks = parse_markdown(text)
    if not blocks:
        raise BabelscopeError(f"{path} has no guidelines: it is empty")
    return blocks


def parse_markdown(text: str) -> list[MarkdownBlock]:
    """Headings, paragraphs, lists, quotations, code, bold and italics; all else is text as it stands."""
    return list(_blocks(text.split("\n")))


def _blocks(lines: list[str]) -> Iterator[MarkdownBlock]:
    open_: list[str] = []
    about: tuple[Kind, str, int] = ("paragraph", "", 0)
    fenced: list[str] | None = None
    fence = ""

    def closed() -> Iterator[MarkdownBlock]:
        nonlocal about
        if open_:
            yield MarkdownBlock(about[0], _pieces(" ".join(open_)), about[1], about[2])
        open_.clear()
        about = ("paragraph", "", 0)

    for line in lines:
        if fenced is not None:
            if line.strip() == fence:
                yield MarkdownBlock("code", [("\n".join(fenced), "")])
                fenced = None
            else:
                fenced.append(line)
        elif found := _FENCE.match(line):
            yield from closed()
            fenced, fence = [], found[1]
        elif not line.strip() or _RULE.fullmatch(line):
            yield from closed()
        elif found := _HEADING.fullmatch(line):
            yield from closed()
            yield MarkdownBlock("heading", _pieces(found[2].rstrip("# \t")))
        elif found := _ITEM.fullmatch(line):
            yield from closed()
            mark = "•" if found[2] else f"{found[3]}."
            about = ("bullet" if found[2] else "number", mark, min(len(found[1]) // 2, 2))
            open_.append(found[4].strip())
        elif found := _QUOTE.fullmatch(line):
            if about[0] != "quote":
                yield from closed()
            about = ("quote", "", 0)
            open_.append(found[1].strip())
        else:
            open_.append(line.strip())
    if fenced is not None:  # a fence that nobody closed reaches to the end
        yield MarkdownBlock("code", [("\n".join(fenced), "")])
    yield from closed()


def _pieces(text: str) -> list[tuple[str, Style]]:
    found: list[tuple[str, Style]] = []
    end = 0
    for match in _INLINE.finditer(text):
        found.append((text[end : match.start()], ""))
        found.append((str(match[match.lastindex or 0]), _STYLES[(match.lastindex or 1) - 1]))
        end = match.end()
    found.append((text[end:], ""))
    return [piece for piece in found if piece[0]]
