"""Tables of text for a terminal."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from babelscope.util.terminal import visible


def draw(headings: Sequence[str], lines: Iterable[Sequence[str]], *, right: Container[int]) -> str:
    """A table as wide as it needs to be, so that no figure is cut; the columns numbered in `right` end flush."""
    from rich.cells import cell_len  # a Chinese character is two columns wide

    cells = [[visible(cell) for cell in line] for line in (headings, *lines)]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]

    def padded(line: Sequence[str]) -> str:
        spaces = [" " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True)]
        pairs = enumerate(zip(line, spaces, strict=True))
        return "  ".join(s + cell if n in right else cell + s for n, (cell, s) in pairs).rstrip()

    rule = "  ".join("─" * width for width in widths)
    return "\n".join([padded(cells[0]), rule, *map(padded, cells[1:])])
