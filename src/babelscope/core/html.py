"""Tables as HTML: in reports, and in notebooks."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from babelscope.core.results import Row
from babelscope.core.tables import Table, of_rows
from babelscope.util.characters import mark_hidden


def rows_html(rows: Sequence[Row], signature: str) -> str:
    """All rows as an HTML table with the signature below, for notebooks."""
    return mark_hidden(f"{table_html(all_rows('Figures', rows))}\n<code>{escape(signature)}</code>")


def all_rows(title: str, rows: Sequence[Row]) -> Table:
    """A table of all rows; if they share one name, it stands in the title."""
    names = {row.name for row in rows}
    return of_rows(f"{title}: {names.pop()}" if len(names) == 1 else title, rows)


def table_html(table: Table) -> Markup:
    """A table as HTML: words left-aligned, numbers right-aligned."""
    head = "".join(
        f'<th scope="col"{_css_class(place, table)}>{escape(cell)}</th>'
        for place, cell in enumerate(table.headings)
    )
    body = "\n".join(f"<tr>{_cells(row, table)}</tr>" for row in table.rows)
    return Markup(
        f"<table><caption>{escape(table.title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>\n{body}\n</tbody></table>"
    )


def _cells(row: Sequence[str], table: Table) -> str:
    """The cells of a row, of which the first is its heading."""
    return "".join(
        f"<td{_css_class(place, table)}>{escape(cell)}</td>"
        if place or not table.labels
        else f'<th scope="row">{escape(cell)}</th>'
        for place, cell in enumerate(row)
    )


def _css_class(place: int, table: Table) -> str:
    return "" if place < table.labels else ' class="num"'
