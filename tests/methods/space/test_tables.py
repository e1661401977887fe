"""Layouts and comparisons of hypothesis spaces, from rows made by hand."""

from __future__ import annotations

import dataclasses
import statistics
from types import SimpleNamespace
from typing import Any

import pytest

from babelscope.core.columns import Column, Group
from babelscope.core.results import Estimate, Record, Row
from babelscope.core.tables import Table
from babelscope.methods.space.compare import mbr_correlations
from babelscope.methods.space.tables import case, tables, worst_ranked

WHERE: dict[str, str | int] = {"method": "hypothesis_space", "tests": "news"}
REGIONS = {"top": 0.4, "samples": 0.6, "beam": 0.8}


def row(name: str, value: float, system: str = "one", n: int = 9, **labels: str | int) -> Row:
    """A row whose interval reaches a quarter to both sides."""
    return Row(name, Estimate(value, value - 0.25, value + 0.25, n), {**WHERE, "system": system, **labels})


def cells(table: Table) -> list[list[str]]:
    return [list(table.headings), *map(list, table.rows)]


def test_every_column_shows_its_own_row() -> None:
    tokens: dict[str, Any] = {"view": "tokens"}
    rows = [
        row("bleu", 31.0, decoding="beam"),
        row("bleu", 1.0, decoding="mode"),
        row("chrf", 55.5, decoding="beam"),
        dataclasses.replace(row("empty_mode", 0.5, **tokens), counts={"unresolved": 3}),
        row("empty_mode", 0.75, view="text"),
        *(row("krg", value, region=name, k=4, **tokens) for name, value in REGIONS.items()),
        *(row("kqrg", value / 2, region=name, k=4, **tokens) for name, value in REGIONS.items()),
        *(row("krg", value, region=name, k=4, view="paired") for name, value in REGIONS.items()),
        *(row("kqrg", value / 2, region=name, k=4, view="paired") for name, value in REGIONS.items()),
        row("krg", 1.0, region="top", k=2, **tokens),  # a smaller region, of curves
        row("krg", 2.0, region="top", k=8, view="text"),
        row("beam_minus_exact", -0.125, measure="krg"),
        row("beam_minus_exact", 0.375, measure="kqrg"),
        row("bleu", 7.0, "two", decoding="beam"),
        Row("chrf", Estimate.of_nothing(), {**WHERE, "system": "two", "decoding": "beam"}),
    ]
    models, biases = map(cells, tables(rows))
    headings = ["BLEU", "chrF", "empty modes, %", "kRG top", "kQRG top", "kRG samples", "kQRG samples"]
    # Not all figures are of equally many sentences, so that each has its n.
    assert models[0] == ["system", "unresolved", *(each for name in headings for each in (name, "n"))]
    assert models[1][:2] == ["one", "3"]
    assert models[1][2::2] == [
        "31.00 [30.75, 31.25]", "55.50 [55.25, 55.75]", "50.00 [25.00, 75.00]",
        "40.00 [15.00, 65.00]", "20.00 [-5.00, 45.00]", "60.00 [35.00, 85.00]", "30.00 [5.00, 55.00]",
    ]  # fmt: skip
    assert models[1][3::2] == ["9"] * 7
    assert models[2] == ["two", "0", "7.00 [6.75, 7.25]", "9", "–", "0", *["–", ""] * 5]
    assert biases[0] == [
        "system", "unresolved", "n",
        *["kRG top", "kQRG top", "kRG beam", "kQRG beam", "kRG beam - top", "kQRG beam - top"],
    ]  # fmt: skip
    assert biases[1] == [
        "one", "0", "9", "40.00 [15.00, 65.00]", "20.00 [-5.00, 45.00]", "80.00 [55.00, 105.00]",
        "40.00 [15.00, 65.00]", "-12.50 [-37.50, 12.50]", "37.50 [12.50, 62.50]",
    ]  # fmt: skip


def test_test_sets_have_tables_of_their_own() -> None:
    labels: dict[str, str | int] = {"system": "one", "decoding": "beam"}
    rows = [
        Row("bleu", Estimate(value, value, value, 3), {"tests": tests, **labels})
        for tests, value in (("news", 1.0), ("talks", 2.0))
    ]
    found = tables(rows)
    assert [table.title.split(": ")[1] for table in found] == ["news", "talks"]
    assert [table.rows[0][3] for table in found] == ["1.00 [1.00, 1.00]", "2.00 [2.00, 2.00]"]
    correlations = tables([
        Row("mbr_correlation", Estimate(value, -0.5, 1, 5), {**WHERE, "measure": "beam", "statistic": name})
        for name, value in (("pearson", 0.12345), ("kendall", 0.6))
    ])  # fmt: skip
    *_, third = correlations
    assert cells(third) == [
        ["measure", "n", "pearson", "kendall"],
        ["beam", "5", "0.123 [-0.500, 1.000]", "0.600 [-0.500, 1.000]"],
    ]


def test_a_case_lists_the_reference_the_region_and_what_was_decoded() -> None:
    def hypothesis(text: str, logprob: float, quality: float) -> Record:
        return {"text": text, "logprob": logprob, "quality": quality}

    record: Record = {
        "id": "7", "source": "ein", "references": ["one", "a"], "reference_logprob": None,
        "top": {"found": [hypothesis("", -1.5, 0.0), hypothesis("on", -2.25, 0.5)]},
        "best": hypothesis("an", -3.0, 0.25), "mbr": None, "top_krg": 0.125, "top_kqrg": None,
    }  # fmt: skip
    title, told, *table = case(record, 80).split("\n")
    assert (title, told) == ("item 7: 'ein'", "kRG 0.1250, kQRG –")
    assert [line.split() for line in table[2:]] == [
        ["ref", "–", "'one'"],
        ["1", "-1.5000", "0.0000", "''"],
        ["2", "-2.2500", "0.5000", "'on'"],
        ["beam", "-3.0000", "0.2500", "'an'"],
    ]
    others = [{**record, "id": name, "top_krg": value} for name, value in (("8", None), ("9", -1.0))]
    assert [each["id"] for each in worst_ranked([record, *others], 5)] == ["9", "7"]


def correlations(rows: list[Row]) -> list[Row]:
    systems = dict.fromkeys(str(each.labels["system"]) for each in rows)
    columns = [
        Column(name, SimpleNamespace(rows=[each for each in rows if each.labels["system"] == name]))
        for name in systems
    ]
    return mbr_correlations(Group("space", "t", tuple(columns)), None, 0)


def test_correlations_are_over_the_systems_that_have_both_figures() -> None:
    mbr = {"a": 0.1, "b": 0.4, "c": 0.35, "d": 0.8}
    beam = {"a": 0.3, "b": 0.2, "c": 0.5, "d": 0.6}
    top = {"b": 0.5, "c": 0.2, "d": 0.3}  # nothing of a was resolved
    rows = [
        *(row("quality", value, system, decoding="mbr") for system, value in mbr.items()),
        *(row("quality", value, system, decoding="beam") for system, value in beam.items()),
        *(row("kqrg", value, system, region="top", view="tokens", k=4) for system, value in top.items()),
        # Smaller regions, of curves, and another view; the whole one counts.
        *(row("kqrg", 1 - value, system, region="top", view="tokens", k=2) for system, value in top.items()),
        *(row("kqrg", 1 - value, system, region="top", view="text", k=4) for system, value in top.items()),
        Row(
            "kqrg", Estimate.of_nothing(), {**WHERE, "system": "a", "region": "top", "view": "tokens", "k": 4}
        ),
    ]
    found = {(each.labels["measure"], each.labels["statistic"]): each.estimate for each in correlations(rows)}
    both = [(mbr[system], value) for system, value in top.items()]
    for measure, pairs in (("beam", [(mbr[system], beam[system]) for system in mbr]), ("top_kqrg", both)):
        columns = [list(column) for column in zip(*pairs, strict=True)]
        ranks = [[sorted(column).index(value) for value in column] for column in columns]
        for statistic, values in (("pearson", columns), ("spearman", ranks)):
            assert found[measure, statistic].value == pytest.approx(statistics.correlation(*values))
            assert found[measure, statistic].n == len(pairs)
    # Of three pairs in (0.35, 0.2), (0.4, 0.5), (0.8, 0.3), two are in the same order and one is not.
    assert found["top_kqrg", "kendall"].value == pytest.approx(1 / 3)
    assert found["sampling", "pearson"].n == 0


@pytest.mark.parametrize(("systems", "told"), [(2, False), (3, True)])
def test_two_points_are_always_on_a_line(systems: int, told: bool) -> None:
    rows = [
        row("quality", value, str(number), decoding=decoding)
        for number, value in enumerate([0.1, 0.3, 0.2][:systems])
        for decoding in ("mbr", "beam")
    ]
    assert bool(correlations(rows)) is told
