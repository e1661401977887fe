"""Tables and paragraphs folded to a width: nothing lost, nothing broken that is a number."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from babelscope.util.terminal import FIRM, draw, wrap

LABELS = st.text("abc 日本-/", max_size=30).map(str.strip)
NUMBERS = st.floats(-1e6, 1e6).map(lambda value: f"{value:.4g} [{value - 1:.4g}, {value + 1:.4g}]")


@given(
    rows=st.lists(st.tuples(LABELS, LABELS, NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=6),
    width=st.integers(40, 120),
)
def test_a_folded_table_fits_and_has_every_cell(rows, width):
    drawn = draw(["one", "other", "first", "second", "third"], rows, right=range(2, 5), width=width)
    lines = drawn.split("\n")
    assert all(cell_len(line) <= width for line in lines)
    for row in rows:
        for number in row[2:]:
            assert any(number in line for line in lines), "no number is broken or left out"
        for label in row[:2]:
            assert re.sub(r"\s", "", label) in re.sub(r"\s", "", drawn)


def test_a_table_that_fits_is_not_folded():
    rows = [["a", "1"], ["b", "2"]]
    assert draw(["x", "y"], rows, right=[1], width=4) == draw(["x", "y"], rows, right=[1])


def test_labels_become_headings_of_the_lines_that_share_them():
    rows = [
        ["long name of a system", "x", "0.5"],
        ["long name of a system", "y", "0.25"],
        ["other", "x", "1"],
    ]
    assert draw(["system", "figure", "value"], rows, right=[2], width=30).split("\n") == [
        "  figure  value",
        "  ──────  ─────",
        "system: long name of a system",
        "  x         0.5",
        "  y        0.25",
        "system: other",
        "  x           1",
    ]


def test_columns_that_do_not_fit_stand_below():
    drawn = draw(["name", "a", "b"], [["x", "0.1234567", "0.7654321"]], right=[1, 2], width=16)
    assert drawn.split("\n") == [
        "name          a",
        "────  ─────────",
        "x     0.1234567",
        "",
        "name          b",
        "────  ─────────",
        "x     0.7654321",
    ]


def test_long_text_in_a_column_becomes_a_paragraph():
    drawn = draw(["rank", "score", "text"], [["1", "-0.5", "word " * 20]], right=[1], width=40)
    assert drawn.startswith("rank: 1, score: -0.5, text: word word")
    assert all(len(line) <= 40 for line in drawn.split("\n"))
    assert drawn.count("word") == 20


@given(st.text("ab 日", max_size=200), st.integers(10, 80))
def test_paragraphs_fit_and_lose_nothing(text, width):
    lines = wrap(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", text)


@pytest.mark.parametrize("width", range(24, 40))
def test_firm_spaces_hold_figures_together(width):
    figure = "0.5 [0.25, 0.75]"
    lines = wrap(f"it is wrong in so many: {figure.replace(' ', FIRM)} of them", width)
    assert any(figure in line for line in lines)
