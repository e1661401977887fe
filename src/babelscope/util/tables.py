"""Tables and paragraphs of text for a terminal: folded to its width, nothing cut off, no number broken."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterable, Sequence

from babelscope.util.terminal import visible

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


def _folded(cells: _Cells, sizes: Sequence[int], right: Container[int], width: int) -> list[str]:
    """The shortest of: columns in several tables below each other; first columns as headings of the others."""
    first = next((place for place in range(len(sizes)) if place in right), len(sizes))
    found = []
    for moved in range(first + 1):
        kept, rest = range(moved, first), range(first, len(sizes))
        room = width - (len(_GAP) if moved else 0)
        pieces = _pieces([sizes[place] for place in kept], [sizes[place] for place in rest], room)
        if pieces is not None:
            columns = [[*kept, *(first + place for place in piece)] for piece in pieces]
            found.append(_stacked(cells, moved, columns, right, width))
    # A column that is too wide by itself is text: a line a cell, wrapped.
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
    """Tables below each other, the first `moved` columns as headings of the lines that share them."""
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
    """A paragraph a line of the table."""
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
    """Headings, a rule, and a line each."""
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
            head = _head(line, width, size)
            lines.append(head)
            line = hanging + line[len(head) :]
    return [each.replace(FIRM, " ").rstrip() for each in (*lines, line)]


def _head(text: str, width: int, size: Callable[[str], int]) -> str:
    """As many characters as fit."""
    taken = itertools.accumulate(map(size, text))
    return text[: sum(each <= width for each in taken)]
