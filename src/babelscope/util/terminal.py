"""Terminal output: control and invisible characters are escaped, so that no text can steer the terminal."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, TextIO, cast

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

    def placeholder(found: re.Match[str]) -> str:
        run = found[0]
        shown = "".join(f"⟦U+{ord(each):04X}⟧" for each in run[:4])
        return shown if len(run) <= 4 else f"{shown}⟦{len(run) - 4:,} more⟧"

    return re.sub(f"{PATTERN}+", placeholder, text)


# A line break or tab inside a name could fake a line or column.
_STEERS = re.compile(f"{PATTERN}|[\\t\\n]")


# Narrower than this, a figure with its interval does not fit.
_NARROWEST = 40


def terminal_width() -> int:
    """Width of the terminal: COLUMNS, else its own, else 80."""
    return max(_NARROWEST, shutil.get_terminal_size((80, 24)).columns)


def visible(text: str, *, keep: str = "") -> str:
    """The text with control and invisible characters as escapes, except those in `keep`."""
    return _STEERS.sub(
        lambda found: found[0] if found[0] in keep else found[0].encode("unicode_escape").decode(), text
    )


def visible_json(line: str) -> str:
    """As `visible`, for a line of JSON, which keeps its value."""
    return _STEERS.sub(lambda found: json.dumps(found[0])[1:-1], line)


class Filtered:
    """A text stream that passes everything printed through `visible`."""

    def __init__(self, stream: TextIO, *, name: str = "", may_fail: bool = False) -> None:
        """With `may_fail`, write errors are ignored: a lost message must not stop the work."""
        self.unfiltered = stream
        self._name = name or str(getattr(stream, "name", "output")).strip("<>")
        self._may_fail = may_fail

    def write(self, text: str) -> int:
        self.write_data(visible(text, keep="\n\t"))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def write_data(self, text: str) -> None:
        self._write_checked(self.unfiltered.write, text)

    def flush(self) -> None:
        self._write_checked(self.unfiltered.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unfiltered, name)

    def _write_checked(self, write: Any, *arguments: str) -> None:
        try:
            write(*arguments)
        except BrokenPipeError:
            if not self._may_fail:
                raise  # the reader has gone; the shell ends quietly
        except OSError as error:
            if not self._may_fail:
                # Imported late: errors.py imports this module.
                from babelscope.util.errors import SystemFailure

                raise SystemFailure(f"{self._name} cannot be written: {error.strerror or error}") from error


def unfiltered(stream: TextIO) -> TextIO:
    """The stream under the filter, for what we draw ourselves, such as progress bars."""
    while isinstance(stream, Filtered):
        stream = stream.unfiltered
    return stream


def write_data(line: str, *, is_json: bool) -> None:
    """Print a line of data to stdout: unchanged to a file or pipe, escaped on a terminal."""
    stream = sys.stdout
    if stream.isatty():
        line = visible_json(line) if is_json else visible(line, keep="\t")
    if isinstance(stream, Filtered):
        stream.write_data(line + "\n")
    else:
        stream.write(line + "\n")


def filter_streams() -> None:
    """Filter stdout and stderr, which may be closed, and set both to UTF-8 whatever the locale."""
    _occupy_closed()
    # File names may be invalid UTF-8, so stdout must pass on their bytes. A closed stdin stays None.
    for name, errors in (("stdout", "surrogateescape"), ("stderr", "backslashreplace")):
        stream = getattr(sys, name) or open(os.devnull, "w")  # noqa: SIM115
        if isinstance(stream, Filtered):
            continue
        stream.reconfigure(encoding="utf-8", errors=errors)
        setattr(sys, name, cast(TextIO, Filtered(stream, name=name, may_fail=name == "stderr")))


def _occupy_closed() -> None:
    """Fill closed descriptors 0 to 2: a file opened later would get the number, and receive what is printed."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


# --- Tables and paragraphs of text for a terminal: folded to its width, nothing cut off, no number broken ----------


_GAP = "  "
_Cells = list[list[str]]
FIRM = "\xa0"
"""A space at which `wrap` breaks no line; printed as a plain one."""


def draw(
    headings: Sequence[str],
    lines: Iterable[Sequence[str]],
    *,
    right: Container[int],
    width: int | None = None,
) -> str:
    """A table; the columns numbered in `right` end flush. One wider than `width` is folded."""
    cells = [[visible(cell) for cell in line] for line in (headings, *lines)]
    sizes = _sizes(cells)
    if width is None or _total(sizes) <= width:
        return "\n".join(_drawn(cells, right))
    return "\n".join(_folded(cells, sizes, right, width))


def fits(headings: Sequence[str], lines: Iterable[Sequence[str]], *, width: int) -> bool:
    """Whether `draw` need not fold a table."""
    return _total(_sizes([[visible(cell) for cell in line] for line in (headings, *lines)])) <= width


def _folded(cells: _Cells, sizes: Sequence[int], right: Container[int], width: int) -> list[str]:
    """Fold a wide table in the shortest way: as several tables, or with first columns as headings."""
    first = next((place for place in range(len(sizes)) if place in right), len(sizes))
    found = []
    for moved in range(first + 1):
        kept, rest = range(moved, first), range(first, len(sizes))
        room = width - (len(_GAP) if moved else 0)
        pieces = _pieces([sizes[place] for place in kept], [sizes[place] for place in rest], room)
        if pieces is not None:
            columns = [[*kept, *(first + place for place in piece)] for piece in pieces]
            found.append(_stacked(cells, moved, columns, right, width))
    # A column that is too wide by itself is text: one line per cell, wrapped.
    return min(found, key=len) if found else _listed(cells, sizes, right, width)


def _pieces(kept: Sequence[int], rest: Sequence[int], room: int) -> list[list[int]] | None:
    """The numbers of columns of sizes `rest` that fit beside those of `kept`; None if one does not."""
    if not rest:
        return [[]] if kept and _total(kept) <= room else None
    pieces: list[list[int]] = [[]]
    for place in range(len(rest)):
        if pieces[-1] and _total([*kept, *(rest[each] for each in (*pieces[-1], place))]) > room:
            pieces.append([])
        pieces[-1].append(place)
    fits = all(_total([*kept, *(rest[each] for each in piece)]) <= room for piece in pieces)
    return pieces if fits else None


def _stacked(
    cells: _Cells, moved: int, columns: Sequence[Sequence[int]], right: Container[int], width: int
) -> list[str]:
    """Tables one below the other, the first `moved` columns as headings of the lines that share them."""
    found: list[str] = []
    for piece in columns:
        flush = [number for number, place in enumerate(piece) if place in right]
        drawn = _drawn([[line[place] for place in piece] for line in cells], flush)
        if found:
            found.append("")
        if not moved:
            found += drawn
            continue
        found += [f"{_GAP}{line}" for line in drawn[:2]]
        pairs = zip(cells[1:], drawn[2:], strict=True)
        for values, group in itertools.groupby(pairs, key=lambda pair: pair[0][:moved]):
            found += wrap(_named(cells[0], values), width)
            found += [f"{_GAP}{line}" for _, line in group]
    return found


def _listed(cells: _Cells, sizes: Sequence[int], right: Container[int], width: int) -> list[str]:
    """One paragraph per line of the table."""
    found = []
    figures = [place in right and size <= width // 2 for place, size in enumerate(sizes)]
    for line in cells[1:]:
        firm = [c.replace(" ", FIRM) if figure else c for c, figure in zip(line, figures, strict=True)]
        found += wrap(_named(cells[0], firm), width)
    return found


def _named(headings: Sequence[str], values: Sequence[str]) -> str:
    """`heading: value` of each value that is not empty."""
    pairs = zip(headings, values, strict=False)
    return ", ".join(f"{name}: {value}" if name else value for name, value in pairs if value) or "–"


def _drawn(cells: _Cells, right: Container[int]) -> list[str]:
    """Headings, a rule, and one line per row."""
    size, sizes = _size(), _sizes(cells)

    def padded(line: Sequence[str]) -> str:
        spaces = [" " * (width - size(cell)) for cell, width in zip(line, sizes, strict=True)]
        pairs = enumerate(zip(line, spaces, strict=True))
        return _GAP.join(s + cell if n in right else cell + s for n, (cell, s) in pairs).rstrip()

    rule = _GAP.join("─" * width for width in sizes)
    return [padded(cells[0]), rule, *map(padded, cells[1:])]


def _size() -> Callable[[str], int]:
    from rich.cells import cell_len  # a Chinese character is two columns wide

    return cell_len


def _sizes(cells: _Cells) -> list[int]:
    size = _size()
    return [max(map(size, column)) for column in zip(*cells, strict=True)]


def _total(sizes: Sequence[int]) -> int:
    return sum(sizes) + len(_GAP) * (len(sizes) - 1)


def wrap(text: str, width: int, *, indent: str = "", hanging: str = _GAP) -> list[str]:
    """A paragraph as lines of at most `width`, broken at spaces; only a word that is longer is broken itself."""
    size = _size()
    lines, line = [], indent
    is_empty = True
    for word in text.split(" "):
        if not is_empty and size(line) + 1 + size(word) > width:
            lines.append(line)
            line, is_empty = hanging, True
        line += word if is_empty else f" {word}"
        is_empty = False
        while size(line) > width:
            fits = sum(taken <= width for taken in itertools.accumulate(map(size, line)))
            lines.append(line[:fits])
            line = hanging + line[fits:]
    return [each.replace(FIRM, " ").rstrip() for each in (*lines, line)]
