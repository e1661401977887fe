"""Tables as text, Markdown and LaTeX: aligned, escaped, nothing lost."""

from __future__ import annotations

import math

import pytest

from babelscope.core.results import Estimate, Row, number, render
from babelscope.core.tables import Table, as_latex, as_markdown, as_text, in_a_cell, of_rows

TABLE = Table("t & u", ["what", "value"], [["a|b_c", "0.5"], ["50 % \\ {x} ~ ^ #$", "–"]])


def test_text_is_aligned() -> None:
    title, heading, rule, *rows = as_text(TABLE).split("\n")
    assert title == "t & u"
    assert len(heading) == len(rule) == len(rows[0]) == len(rows[1])
    assert rows[0].endswith("  0.5")


def test_markdown_is_escaped() -> None:
    lines = as_markdown(TABLE).split("\n")
    assert lines[0] == "**t & u**"
    assert lines[3] == "|---|---:|"
    assert lines[4] == "| a\\|b_c | 0.5 |"


def test_latex_is_escaped() -> None:
    made = as_latex(TABLE)
    assert "\\begin{tabular}{lr}" in made
    assert "a|b\\_c & 0.5 \\\\" in made
    assert "50 \\% \\textbackslash{} \\{x\\} \\textasciitilde{} \\textasciicircum{} \\#\\$ & – \\\\" in made


@pytest.mark.parametrize("show", [as_text, as_markdown, as_latex])
def test_nothing_steers_the_terminal(show: object) -> None:
    table = Table("\x1b[31m", ["a\nb"], [["\u202e\x07"]])
    made = show(table)  # type: ignore[operator]
    assert not {"\x1b", "\u202e", "\x07"} & set(made)
    assert "a\nb" not in made


def test_rows_become_a_table() -> None:
    estimate = Estimate(0.5, 0.25, 1 / 3 + 0.5, 4)
    rows = [
        Row("all", estimate, {"method": "m", "system": "x"}, {"ties": 0, "wins": 0}),
        Row(
            "all", Estimate.of_nothing(), {"method": "m", "system": "y", "p": "1"}, {"ties": 0, "skipped": 2}
        ),
    ]
    table = of_rows("title", rows, shown=("wins",))
    # What is the same in all rows is said once; counts that are nowhere are not said.
    assert table.title == "title: m"
    assert table.headings == ["system", "p", "value", "95 % interval", "n", "wins", "skipped"]
    assert table.rows[0] == ["x", "", "0.5", "[0.25, 0.8333]", "4", "0", ""]
    assert table.rows[1] == ["y", "1", "–", "[–, –]", "0", "", "2"]
    assert in_a_cell(estimate) == "0.5 [0.25, 0.8333]"
    assert in_a_cell(Estimate.of_nothing()) == number(math.nan) == "–"


def test_wide_characters_are_aligned_as_a_terminal_shows_them() -> None:
    rows = [Row("a", Estimate(0.5, 0.4, 0.6, 9), {"system": name}) for name in ("abcdef", "日本語")]
    one, other = render(rows).split("\n")[2:]
    assert one.removeprefix("abcdef") == other.removeprefix("日本語")
