"""Tables of text for a terminal."""

from __future__ import annotations

import io
from collections.abc import Container, Iterable, Sequence

from babelscope.util.terminal import visible


def draw(headings: Sequence[str], lines: Iterable[Sequence[str]], *, right: Container[int]) -> str:
    """A table as wide as it needs to be, so that no figure is cut; the columns `right` end at one edge."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    def cell(text: str) -> Text:
        return Text(visible(text), no_wrap=True)

    table = Table(box=SIMPLE_HEAD, show_edge=False)
    for column, heading in enumerate(headings):
        table.add_column(cell(heading), justify="right" if column in right else "left")
    for line in lines:
        table.add_row(*map(cell, line))
    written = io.StringIO()
    Console(file=written, width=10_000, color_system=None).print(table)
    return "\n".join(line.rstrip() for line in written.getvalue().rstrip("\n").split("\n"))
