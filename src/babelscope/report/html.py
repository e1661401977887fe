"""Tables as HTML: in reports, and in notebooks."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from babelscope.tables import Table


def table_html(table: Table, *, attributes: str = "") -> Markup:
    """A `<table>`; words on the left, numbers on the right."""
    head = _cells(table.headings, table.labels, heading=True)
    body = Markup("\n").join(
        Markup("<tr>{}</tr>").format(_cells(row, table.labels, heading=False)) for row in table.rows
    )
    return Markup(
        "<table{}><caption>{}</caption><thead><tr>{}</tr></thead><tbody>\n{}\n</tbody></table>"
    ).format(Markup(attributes), table.title, head, body)


def _cells(row: Sequence[str], labels: int, *, heading: bool) -> Markup:
    made = []
    for place, cell in enumerate(row):
        if heading:
            made.append(Markup('<th scope="col"{}>{}</th>').format(_side(place >= labels), cell))
        elif place == 0 and labels:
            made.append(Markup('<th scope="row">{}</th>').format(cell))
        else:
            made.append(Markup("<td{}>{}</td>").format(_side(place >= labels), escape(cell)))
    return Markup("").join(made)


def _side(number: bool) -> Markup:
    return Markup(' class="num"') if number else Markup("")
