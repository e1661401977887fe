"""Samples alone, modes alone, how samples are drawn, lengths, and sizes of the beam."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from babelscope.core.answers import Drawing, Scored
from babelscope.core.question import Asked
from babelscope.core.results import Result, Row
from babelscope.methods.base import set_up
from babelscope.methods.space.lengths import length_rows
from babelscope.methods.space.sentences import SystemRecords
from babelscope.methods.space.settings import SpaceSettings
from babelscope.methods.space.tables import chosen_cases, tables
from babelscope.methods.space.view import VIEW
from babelscope.report.summary import summarise
from babelscope.runs.judging import space
from babelscope.testsets import ParallelSentence
from babelscope.util.errors import BabelscopeError
from tests.support.enumerated import Enumerated
from tests.support.toys import ToySystem

ITEMS = [
    ParallelSentence(f"i{number}", f"s {number}", (text,))
    for number, text in enumerate(["ab", "ba", "b", "aab", "abab", "a"])
]


def rows_of(result: Result, name: str, **labels: str | int) -> list[Row]:
    return [row for row in result.rows if row.name == name and labels.items() <= row.labels.items()]


def only(result: Result, name: str, **labels: str | int) -> Row:
    (found,) = rows_of(result, name, **labels)
    return found


class Wordless(ToySystem):
    """It gives text alone, as some servers do."""

    def sample(self, questions: Sequence[Asked], *, n: int, seed: int) -> list[list[Scored]]:
        drawn = super().sample(questions, n=n, seed=seed)
        return [[Scored(each.text) for each in own] for own in drawn]


def test_a_system_that_cannot_search_is_sampled() -> None:
    toy = ToySystem(alphabet="ab", limit=5)
    with pytest.raises(BabelscopeError, match=r"searches exactly.*judged alone: k = 0, or --k 0"):
        space(toy, ITEMS)
    result = space(toy, ITEMS, k=0, samples=12, mbr_samples=4, curves=True)
    searched = space(Enumerated(), ITEMS, k=3, samples=12, mbr_samples=4)
    labels: dict[str, Any] = {"region": "samples", "k": 12, "view": "tokens"}
    assert only(result, "kqrg", **labels).estimate.n == len(ITEMS)
    names = {row.name for row in result.rows}
    assert {"quality", "krg", "kqrg", "length_ratio"} <= names
    assert not names & {"empty_mode", "search_error", "expansions", "mass", "beam_minus_exact"}
    assert {row.labels.get("decoding") for row in rows_of(result, "quality")} == {"beam", "mbr", "samples"}
    assert summarise(result, width=80)
    answer = VIEW.answer(result.records[0], {"k": 0})
    assert (answer.verdict, answer.measure) == ("sampled", result.records[0]["samples_krg"])
    assert answer.lines()
    two = space([toy, ToySystem("other", alphabet="ab", limit=5, salt="2")], ITEMS, k=0, samples=6)
    assert summarise(two, width=80)
    # The toys have the same distribution, so that searching changes nothing about samples.
    same = space(Enumerated(), ITEMS, k=0, samples=12, mbr_samples=4)
    assert only(same, "kqrg", **labels).estimate == only(searched, "kqrg", **labels).estimate


def test_samples_without_log_probabilities_have_quality_and_no_rank() -> None:
    result = space(Wordless(alphabet="ab", limit=5), ITEMS, k=0, samples=6)
    ranked = only(result, "krg", region="samples", view="tokens")
    assert (ranked.estimate.n, ranked.counts["undefined"]) == (0, len(ITEMS))
    assert only(result, "quality", decoding="samples").estimate.n == len(ITEMS)
    assert summarise(result, width=80)


def test_modes_alone() -> None:
    toy = Enumerated()
    result = space(toy, ITEMS, k=1, samples=0)
    whole = space(toy, ITEMS, k=4, samples=0)
    for name, labels in (
        ("empty_mode", {"region": "top", "view": "tokens"}),
        ("quality", {"decoding": "mode"}),
        ("search_error", {"decoding": "beam"}),
    ):
        assert only(result, name, **labels).estimate == only(whole, name, **labels).estimate
    assert not {"krg", "kqrg", "beam_minus_exact"} & {row.name for row in result.rows}
    assert all(record["beam"] == [] for record in result.records)
    assert summarise(result, width=80)
    assert tables(result.rows)


def test_there_must_be_something_to_look_at() -> None:
    with pytest.raises(BabelscopeError, match="k and samples are both 0"):
        set_up("space", {"k": 0, "samples": 0})


class Drawn(Enumerated):
    """It remembers how its samples were to be drawn."""

    how: list[Drawing | None]

    def sample(
        self, questions: Sequence[Asked], *, n: int, seed: int, drawing: Drawing | None = None
    ) -> list[list[Scored]]:
        self.how = [drawing]
        return super().sample(questions, n=n, seed=seed)


def test_samples_are_drawn_as_is_said() -> None:
    toy = Drawn()
    result = space(toy, ITEMS, k=2, samples=4, temperature=0.5, top_p=0.9, epsilon=0.02)
    assert toy.how == [Drawing(temperature=0.5, top_p=0.9, epsilon=0.02)]
    assert "temperature:0.5" in result.signature
    said = " ".join(summarise(result, width=80, most=60).split())
    assert "samples are drawn with temperature 0.5, top-p 0.9, epsilon 0.02" in said
    plain = space(toy, ITEMS, k=2, samples=4)
    assert toy.how == [None]
    assert "temperature" not in plain.signature
    with pytest.raises(BabelscopeError, match="space: top_p"):
        set_up("space", {"top_p": 0})


def test_lengths_are_those_of_the_texts() -> None:
    toy = Enumerated()
    result = space(toy, ITEMS, k=3, samples=5, curves=True)
    reference = sum(len(item.references[0]) for item in ITEMS)
    modes = [toy.space(item.source)[0].text for item in ITEMS]
    tops = [[each.text for each in toy.space(item.source)[:3]] for item in ITEMS]
    assert only(result, "length", of="reference").estimate.value == pytest.approx(reference / len(ITEMS))
    assert only(result, "length", of="mode").estimate.value == pytest.approx(
        sum(map(len, modes)) / len(ITEMS)
    )
    ratio = only(result, "length_ratio", of="mode").estimate
    assert (ratio.value, ratio.n) == (pytest.approx(sum(map(len, modes)) / reference), len(ITEMS))
    ratio = only(result, "length_ratio", of="top").estimate
    assert ratio.value == pytest.approx(sum(len(text) / 3 for own in tops for text in own) / reference)
    for rank in (1, 2, 3):
        found = only(result, "length_ratio_by_rank", of="top", rank=rank).estimate.value
        assert found == pytest.approx(sum(len(own[rank - 1]) for own in tops) / reference)
    of = {row.labels["of"] for row in rows_of(result, "length_ratio")}
    assert of == {"mode", "top", "beam", "beam-list", "samples", "mbr"}
    titles = [picture.title for group in result.groups for picture in VIEW.section(group).pictures]
    assert {"Length of translations against the reference", "Length ratio over ranks"} <= set(titles)
    assert "How good, and how well ranked, k samples are (kQRG)" in titles


def test_sentences_without_a_reference_have_a_length_and_no_ratio() -> None:
    settings = SpaceSettings(k=3, samples=5)
    judged = space(Enumerated(), ITEMS, k=3, samples=5).records
    rows = list(length_rows(SystemRecords([{**record, "references": []} for record in judged], settings)))
    assert {row.labels["of"] for row in rows if row.name == "length"} >= {"mode", "beam", "samples"}
    assert "reference" not in {row.labels["of"] for row in rows}
    ratios = [row for row in rows if row.name == "length_ratio"]
    assert {(row.estimate.n, row.counts["undefined"]) for row in ratios} == {(0, len(ITEMS))}


def test_lengths_are_of_the_same_sentences() -> None:
    toy = Enumerated()
    result = space(toy, ITEMS, k=3, samples=5, budget_expansions=2, unresolved="leave-out")
    assert {row.estimate.n for row in rows_of(result, "length")} == {0}
    kept = space(toy, ITEMS, k=3, samples=5, budget_expansions=2)
    (counted,) = {(row.estimate.n, row.counts["unresolved"]) for row in rows_of(kept, "length")}
    assert counted == (len(ITEMS), len(ITEMS))


def test_sizes_of_the_beam() -> None:
    toy = Enumerated(symbols="abc", limit=5, salt="narrow")
    items = [ParallelSentence(str(number), f"s{number}", ("abc",)) for number in range(30)]
    result = space(toy, items, k=2, samples=0, beams="1,2,8")
    assert [row.labels["beam"] for row in rows_of(result, "beam_quality")] == [1, 2, 8]
    errors = []
    modes = [toy.space(item.source)[0] for item in items]
    by_size = {size: [toy.translate([item.source], beam=size)[0][0] for item in items] for size in (1, 2, 8)}
    # Compared are the sentences that every size has finished.
    finished = [
        all("unfinished" not in each.notes for each in some) for some in zip(*by_size.values(), strict=True)
    ]
    assert 0 < finished.count(True) < len(items)
    for size, best in by_size.items():
        gaps = [m.total - b.total for b, m, whole in zip(best, modes, finished, strict=True) if whole]
        missed = [gap for gap in gaps if gap > 1e-9]
        row = only(result, "misses_mode", beam=size)
        assert (row.counts["missed"], row.estimate.n) == (len(missed), len(gaps))
        logprob = only(result, "beam_logprob", beam=size).estimate
        assert logprob.value == pytest.approx(math.fsum(each.total for each in best) / len(best))
        ratio = only(result, "beam_length_ratio", beam=size).estimate.value
        assert ratio == pytest.approx(sum(len(each.text) for each in best) / (3 * len(items)))
        errors.append(len(missed))
    assert errors[0] > errors[-1]
    assert "Sizes of the beam: listed, items" in {table.title for table in tables(result.rows)}
    titles = {picture.title for group in result.groups for picture in VIEW.section(group).pictures}
    assert "Quality over the size of the beam" in titles
    assert SpaceSettings(beams=(1, 5)).beams == (1, 5)
    with pytest.raises(BabelscopeError, match="each size of the beam may be given once"):
        set_up("space", {"beams": "1,1"})
    with pytest.raises(BabelscopeError, match=r"space: beams"):
        set_up("space", {"beams": "0,5"})


def test_defaults_that_are_not_the_papers_are_said() -> None:
    result = space(Enumerated(), ITEMS, k=3, samples=5)
    said = " ".join(summarise(result, width=80, most=60).split())
    assert "quality is chrF; the paper has COMET in its main tables and chrF in table 8" in said
    assert "MBR decoding’s utility is chrF, the paper’s BLEURT" in said
    assert "kQRG by chrf" in tables(result.rows, "chrf")[0].title


def test_a_case_is_chosen_by_number_or_by_name() -> None:
    records = [{"id": name, "top_krg": value} for name, value in (("7", 0.5), ("s9", 0.2), ("x", None))]
    assert [each["id"] for each in chosen_cases(records, "2")] == ["s9", "7"]
    assert [each["id"] for each in chosen_cases(records, "x")] == ["x"]
    assert [each["id"] for each in chosen_cases(records, "id=7")] == ["7"]
    with pytest.raises(BabelscopeError, match="no item is called 'y'"):
        chosen_cases(records, "y")
