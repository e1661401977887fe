"""Tables for papers: as many decimals in every row of a column, names in words, signatures as comments."""

from __future__ import annotations

import math
import re

import pytest

from babelscope.core.results import Estimate, Row, even_decimals, number
from babelscope.core.tables import Table, for_paper, in_a_cell, of_rows, readable


def cells(latex: str) -> list[list[str]]:
    lines = latex.split("\\midrule\n")[1].split("\\bottomrule")[0].strip().split("\n")
    return [line.removesuffix(" \\\\").split(" & ") for line in lines]


def test_a_column_has_as_many_decimals_in_every_row() -> None:
    estimates = [
        Estimate(0.5, 0.25, 0.75, 9),
        Estimate(-0.12346, -1.0, 10.25, 9),
        Estimate(12.0, 11.5, 13, 9),
    ]
    rows = [Row(f"excess_errors_{n}", each, {"system": "my_system"}) for n, each in enumerate(estimates)]
    latex = for_paper(of_rows("t", rows, even=True))
    assert [row[2] for row in cells(latex)] == ["0.500", "$-$0.123", "12.000"]
    assert [row[3] for row in cells(latex)] == ["[0.250, 0.750]", "[$-$1.000, 10.250]", "[11.500, 13.000]"]
    assert cells(latex)[0][:2] == ["excess errors 0", "my\\_system"]


def test_values_and_intervals_have_columns_of_their_own() -> None:
    estimates = [Estimate(0.5, 0.25, 0.75, 9), Estimate.of_nothing()]
    table = Table(
        "t", ["figure", "n", "a_b"], [["mbr_quality", "9", in_a_cell(each, 2)] for each in estimates], 1
    )
    latex = for_paper(table, "contrast|sha:1")
    assert "\\begin{tabular}{lrrr}" in latex
    assert "figure & n & a b & 95 \\% interval \\\\" in latex
    assert cells(latex) == [["MBR quality", "9", "0.50", "[0.25, 0.75]"], ["MBR quality", "9", "–", ""]]
    assert latex.endswith("\n% contrast|sha:1")


def test_marks_stay_with_the_value_and_other_cells_as_they_are() -> None:
    table = Table("t", ["phenomenon", "x", "y"], [["p", "1.0 [0.5, 1.5]°", "1.0 ± 0.1"]])
    assert cells(for_paper(table)) == [["p", "1.0°", "[0.5, 1.5]", "1.0 ± 0.1"]]


def test_signs_and_missing_intervals_are_as_in_other_columns() -> None:
    cells_of_difference = [["≥ 2", "+1.0 [-0.5, +2.5]"], ["≥ 3", "-1.0 (no interval: 2 sentences)"]]
    found = cells(for_paper(Table("t", ["words", "difference"], cells_of_difference)))
    assert found == [["$\\geq$ 2", "+1.0", "[$-$0.5, +2.5]"], ["$\\geq$ 3", "$-$1.0", "–"]]


def test_p_values_are_even_too_and_never_nothing() -> None:
    table = Table(
        "t", ["p", "seed", "value"], [["0.04", "1", "1"], ["1.2e-07", "2", "2"], ["1", "3", "3"]], 2
    )
    assert [row[:2] for row in cells(for_paper(table))] == [
        ["0.0400", "1"],
        ["< 0.0001", "2"],
        ["1.0000", "3"],
    ]


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("excess_errors", "excess errors"),
        ("*np_agreement", "*np agreement"),
        ("krg", "kRG"),
        ("lab:my_model", "lab:my_model"),
        ("A_b", "A_b"),
    ],
)
def test_keys_are_words_and_names_stay(key: str, words: str) -> None:
    assert readable(key) == words


def test_decimals() -> None:
    assert even_decimals([]) == 1
    assert even_decimals([math.nan, 0.0, 250.0]) == 1
    assert even_decimals([0.93, 250.0]) == 3
    assert even_decimals([1e-9]) == 4
    assert (number(-0.0001, 2), number(-0.006, 2), number(math.nan, 2)) == ("0.00", "-0.01", "–")


def test_nothing_steers_latex() -> None:
    latex = for_paper(Table("50 % & {x}", ["a"], [["\\input{x} \u202e"]]))
    assert "\u202e" not in latex
    assert not re.search(r"\\input", latex)
