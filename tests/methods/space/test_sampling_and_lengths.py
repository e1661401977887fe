"""Samples alone, modes alone, how samples are drawn, lengths, and sizes of the beam."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope import run_method, space
from babelscope.core.results import Result, Row
from babelscope.core.system import Asked, Drawing, Scored, sources_of
from babelscope.core.tables import Table
from babelscope.methods.base import set_up
from babelscope.methods.space.confidence import kept_tokens
from babelscope.methods.space.method import Space
from babelscope.methods.space.regions import SpaceSettings
from babelscope.testsets import ParallelSentence
from babelscope.util.errors import BabelscopeError
from tests.support.enumerated import Enumerated
from tests.support.results import only_row, rows_of
from tests.support.toys import EOS, ToySystem

ITEMS = [
    ParallelSentence(f"i{number}", f"s {number}", (text,))
    for number, text in enumerate(["ab", "ba", "b", "aab", "abab", "a"])
]


def tables_of(result: Result) -> dict[str, Table]:
    (group,) = result.groups
    return {table.name: table for table in method_of(result).tables(group)}


def charts_of(result: Result) -> set[str]:
    (group,) = result.groups
    return {chart.name for chart in method_of(result).charts(group)}


def method_of(result: Result) -> Space:
    return Space(result.settings["space"])


def notes_of(result: Result) -> list[str]:
    return [note.text for note in tables_of(result)["summary"].notes]


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
    assert only_row(result.rows, "kqrg", **labels).estimate.n == len(ITEMS)
    names = {row.name for row in result.rows}
    assert {"quality", "krg", "kqrg", "length_ratio"} <= names
    assert not names & {"empty_mode", "search_error", "expansions", "mass", "beam_minus_exact"}
    assert {row.labels.get("decoding") for row in rows_of(result.rows, "quality")} == {
        "beam",
        "mbr",
        "samples",
    }
    shown = method_of(result).show(result.records[0])
    assert (shown.verdict, shown.value) == ("sampled", result.records[0]["samples_krg"])
    assert shown.answer()
    assert not shown.questions
    two = space([toy, ToySystem("other", alphabet="ab", limit=5, salt="2")], ITEMS, k=0, samples=6)
    assert {line.system for line in tables_of(two)["summary"].lines} == {"toy", "other"}
    # The toys have the same distribution, so that searching changes nothing about samples.
    same = space(Enumerated(), ITEMS, k=0, samples=12, mbr_samples=4)
    assert (
        only_row(same.rows, "kqrg", **labels).estimate == only_row(searched.rows, "kqrg", **labels).estimate
    )


def test_samples_without_log_probabilities_have_quality_and_no_rank() -> None:
    result = space(Wordless(alphabet="ab", limit=5), ITEMS, k=0, samples=6)
    ranked = only_row(result.rows, "krg", region="samples", view="tokens")
    assert (ranked.estimate.n, ranked.counts["undefined"]) == (0, len(ITEMS))
    assert only_row(result.rows, "quality", decoding="samples").estimate.n == len(ITEMS)
    assert (
        "6 items have samples without a whole log-probability: kRG and kQRG of samples are without these."
        in notes_of(result)
    )


def test_modes_alone() -> None:
    toy = Enumerated()
    result = space(toy, ITEMS, k=1, samples=0)
    whole = space(toy, ITEMS, k=4, samples=0)
    for name, labels in (
        ("empty_mode", {"region": "top", "view": "tokens"}),
        ("quality", {"decoding": "mode"}),
        ("search_error", {"decoding": "beam"}),
    ):
        assert only_row(result.rows, name, **labels).estimate == only_row(whole.rows, name, **labels).estimate
    assert not {"krg", "kqrg", "beam_minus_exact"} & {row.name for row in result.rows}
    assert all(record["beam"] == [] for record in result.records)
    assert {"summary", "paper-1"} <= tables_of(result).keys()
    assert "paper-2" not in tables_of(result)


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
    drawn = "samples are drawn with temperature 0.5, top-p 0.9, epsilon 0.02"
    assert f"{drawn}, not from the model’s own distribution." in notes_of(result)
    plain = space(toy, ITEMS, k=2, samples=4)
    assert toy.how == [None]
    assert "|temperature:1.0|" in plain.signature
    with pytest.raises(BabelscopeError, match="space: top_p"):
        set_up("space", {"top_p": 0})


def test_lengths_are_those_of_the_texts() -> None:
    toy = Enumerated()
    result = space(toy, ITEMS, k=3, samples=5, curves=True)
    reference = sum(len(item.references[0]) for item in ITEMS)
    modes = [toy.space(item.source)[0].text for item in ITEMS]
    tops = [[each.text for each in toy.space(item.source)[:3]] for item in ITEMS]
    assert only_row(result.rows, "length", of="reference").estimate.value == pytest.approx(
        reference / len(ITEMS)
    )
    assert only_row(result.rows, "length", of="mode").estimate.value == pytest.approx(
        sum(map(len, modes)) / len(ITEMS)
    )
    ratio = only_row(result.rows, "length_ratio", of="mode").estimate
    assert (ratio.value, ratio.n) == (pytest.approx(sum(map(len, modes)) / reference), len(ITEMS))
    ratio = only_row(result.rows, "length_ratio", of="top").estimate
    assert ratio.value == pytest.approx(sum(len(text) / 3 for own in tops for text in own) / reference)
    for rank in (1, 2, 3):
        found = only_row(result.rows, "length_ratio_by_rank", of="top", rank=rank).estimate.value
        assert found == pytest.approx(sum(len(own[rank - 1]) for own in tops) / reference)
    of = {row.labels["of"] for row in rows_of(result.rows, "length_ratio")}
    assert of == {"mode", "top", "beam", "beam-list", "samples", "mbr"}
    assert {"lengths", "lengths-by-rank", "kqrg-samples"} <= charts_of(result)


def test_lengths_are_of_the_same_sentences() -> None:
    toy = Enumerated()
    result = space(toy, ITEMS, k=3, samples=5, budget_expansions=2, unresolved="leave-out")
    assert {row.estimate.n for row in rows_of(result.rows, "length")} == {0}
    kept = space(toy, ITEMS, k=3, samples=5, budget_expansions=2)
    (counted,) = {(row.estimate.n, row.counts["unresolved"]) for row in rows_of(kept.rows, "length")}
    assert counted == (len(ITEMS), len(ITEMS))


def test_sizes_of_the_beam() -> None:
    toy = Enumerated(symbols="abc", limit=5, salt="narrow")
    items = [ParallelSentence(str(number), f"s{number}", ("abc",)) for number in range(30)]
    result = space(toy, items, k=2, samples=0, beams="1,2,8")
    assert [row.labels["beam"] for row in rows_of(result.rows, "beam_quality")] == [1, 2, 8]
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
        row = only_row(result.rows, "misses_mode", beam=size)
        assert (row.counts["missed"], row.estimate.n) == (len(missed), len(gaps))
        logprob = only_row(result.rows, "beam_logprob", beam=size).estimate
        assert logprob.value == pytest.approx(math.fsum(each.total for each in best) / len(best))
        ratio = only_row(result.rows, "beam_length_ratio", beam=size).estimate.value
        assert ratio == pytest.approx(sum(len(each.text) for each in best) / (3 * len(items)))
        errors.append(len(missed))
    assert errors[0] > errors[-1]
    sizes = tables_of(result)["beam-sizes"]
    assert [line.cells[1] for line in sizes.lines] == ["1", "2", "8"]
    assert [line.cells[4] for line in sizes.lines] == [
        only_row(result.rows, "misses_mode", beam=size).estimate for size in (1, 2, 8)
    ]
    assert {"beam_quality", "misses_mode", "beam_logprob", "beam_length_ratio"} <= charts_of(result)
    assert SpaceSettings(beams=(1, 5)).beams == (1, 5)
    with pytest.raises(BabelscopeError, match="each size of the beam may be given once"):
        set_up("space", {"beams": "1,1"})
    with pytest.raises(BabelscopeError, match=r"space: beams"):
        set_up("space", {"beams": "0,5"})


def test_defaults_that_are_not_the_papers_are_said() -> None:
    result = space(Enumerated(), ITEMS, k=3, samples=5)
    said = notes_of(result)
    assert "quality is chrF; the paper has COMET in its main tables and chrF in table 8." in said
    assert "MBR decoding’s utility is chrF, the paper’s BLEURT." in said
    assert "kQRG by chrf" in tables_of(result)["paper-1"].title


def test_a_case_is_chosen_by_number_or_by_name() -> None:
    items = [ParallelSentence(name, f"s {name}", ("ab",)) for name in ("7", "s9", "x", "y")]

    def shown(which: str) -> dict[str, list[list[Any]]]:
        result = space(Enumerated(), items, k=3, samples=0, cases=which)
        (group,) = result.groups
        found = [table for table in method_of(result).tables(group) if table.name == "cases"]
        return {table.title: [list(line.cells) for line in table.lines] for table in found}

    records = {each["id"]: each for each in space(Enumerated(), items, k=3, samples=0).records}
    worst = sorted(records, key=lambda name: float(records[name]["top_krg"]))[:2]
    assert list(shown("2")) == [f"listed, item {name}" for name in worst]
    assert list(shown("id=7")) == ["listed, item 7"]
    assert shown("") == {}
    ((title, lines),) = shown("x").items()
    own = records["x"]
    assert title == "listed, item x"
    assert lines == [
        ["source", "s x", None, None, own["top_krg"], own["top_kqrg"]],
        ["reference", "ab", own["reference_logprob"], None, None, None],
        *(
            [rank, each["text"] or "(empty)", each["logprob"], each["quality"], None, None]
            for rank, each in [*zip("123", own["top"]["found"], strict=True), ("beam", own["best"])]
        ),
    ]
    with pytest.raises(BabelscopeError, match="no item has the id 'nobody'"):
        shown("nobody")


ALIKE = [ParallelSentence(f"i{n}", f"s {n}", ("ab",)) for n in range(8)]


def true_entropy(toy: ToySystem, source: str) -> tuple[float, float]:
    """(nats, expected tokens) of a toy without a length limit: its bigrams are a Markov chain that ends."""
    states = ["", *(symbol for symbol in toy.symbols if symbol != EOS)]
    moves = np.array([[toy.next_probabilities(source, a)[b] if b else 0.0 for b in states] for a in states])
    visits = np.linalg.solve(np.eye(len(states)) - moves.T, np.eye(len(states))[0])
    local = [-sum(p * math.log(p) for p in toy.next_probabilities(source, a).values()) for a in states]
    return float(visits @ local), float(visits.sum())


def test_entropy_is_that_of_the_model() -> None:
    toy = ToySystem(alphabet="ab", limit=400)
    result = space(toy, ALIKE, k=0, samples=2000, mbr_samples=2, confidence=True)
    truths = [true_entropy(toy, item.source) for item in ALIKE]
    nats, tokens = (float(np.mean([each[place] for each in truths])) for place in (0, 1))
    entropy = only_row(result.rows, "entropy", of="translation")
    assert entropy.counts["unfinished"] == 0
    # The spread of -log p within a sentence is about its entropy: four standard errors of the whole.
    assert entropy.estimate.value == pytest.approx(nats, abs=4 * 1.5 * nats / math.sqrt(2000 * len(ALIKE)))
    assert only_row(result.rows, "entropy", of="token").estimate.value == pytest.approx(
        nats / tokens, rel=0.03
    )


def test_another_distribution_has_no_entropy_and_what_cannot_score_none_at_all() -> None:
    result = space(Drawn(), ALIKE, k=0, samples=20, mbr_samples=2, confidence=True, temperature=0.5)
    assert "entropy" not in {row.name for row in result.rows}
    mute = ToySystem()
    mute.score = None  # type: ignore[assignment, method-assign]
    with pytest.raises(BabelscopeError, match=r"log-probabilities of given targets.*leave confidence out"):
        space(mute, ALIKE, k=0, samples=4, confidence=True)


def test_mass_is_the_sum_over_the_most_probable() -> None:
    toy = Enumerated()
    result = space(toy, ALIKE, k=7, samples=0, confidence=True)
    for k in (1, 2, 5, 7):
        right = [sum(math.exp(each.total) for each in toy.space(item.source)[:k]) for item in ALIKE]
        assert only_row(result.rows, "top_mass", k=k).estimate.value == pytest.approx(np.mean(right))
    assert only_row(result.rows, "top_mass", k=7).estimate.value == pytest.approx(
        only_row(result.rows, "mass").estimate.value
    )


def test_calibration_by_hand() -> None:
    toy = Enumerated(limit=4)
    items = [
        ParallelSentence(f"i{n}", f"s {n}", (text,)) for n, text in enumerate(["ab", "ba", "b", "aab"] * 5)
    ]
    result = space(toy, items, k=2, samples=0, confidence=True)
    sure, right = [], []
    for item in items:
        best = toy.translate([item.source])[0][0]
        sure += [math.exp(each) for each in best.logprobs[:-1]]
        right += kept_tokens(best.tokens[:-1], item.references[0])
    assert only_row(result.rows, "token_confidence").estimate.value == pytest.approx(np.mean(sure))
    assert only_row(result.rows, "token_accuracy").estimate.value == pytest.approx(np.mean(right))
    assert only_row(result.rows, "overconfidence").estimate.value == pytest.approx(
        np.mean(sure) - np.mean(right)
    )
    error = 0.0
    for number in range(20):
        own = [(p, r) for p, r in zip(sure, right, strict=True) if number <= p * 20 < number + 1]
        error += abs(sum(p - r for p, r in own))
    found = only_row(result.rows, "calibration_error")
    assert found.estimate.value == pytest.approx(error / len(sure))
    assert found.estimate.n == len(sure)
    assert found.estimate.no_interval


@given(st.text("ab", max_size=4), st.text("ab", max_size=4))
def test_kept_tokens_against_all_alignments(hypothesis: str, reference: str) -> None:
    alignments = list(_alignments(hypothesis, reference))
    least = min(cost for cost, _ in alignments)
    best = {kept for cost, kept in alignments if cost == least}
    assert tuple(kept_tokens(hypothesis, reference)) in best


def _alignments(a: str, b: str) -> Iterator[tuple[int, tuple[bool, ...]]]:
    """(edits, which letters of a are kept) of every way to turn a into b letter by letter."""
    if not a:
        yield len(b), ()
        return
    for cost, kept in _alignments(a[:-1], b):
        yield cost + 1, (*kept, False)
    if b:
        for cost, kept in _alignments(a[:-1], b[:-1]):
            yield cost + (a[-1] != b[-1]), (*kept, a[-1] == b[-1])
        for cost, kept in _alignments(a, b[:-1]):
            yield cost + 1, kept


def test_it_is_drawn_and_asked_for_only_if_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("babelscope.methods.space.tables._FEWEST_TOKENS", 1)
    toy = Enumerated()
    items = [ParallelSentence(f"i{n}", f"s {n}", ("ab",)) for n in range(30)]
    plain = space(toy, items, k=3, samples=4)
    assert not {"entropy", "top_mass", "calibration_error"} & {row.name for row in plain.rows}
    assert "|confidence:false|" in plain.signature
    result = space(toy, items, k=3, samples=4, confidence=True)
    assert {"calibration", "mass", "entropy-token", "entropy-translation"} <= charts_of(result)
    assert not {"calibration", "mass", "entropy-token"} & charts_of(plain)
    assert "confidence" in tables_of(result)
    assert "confidence" not in tables_of(plain)
    mine = [row for row in result.rows if row.name in {each.name for each in plain.rows}]
    assert mine == list(plain.rows)


SOURCES = ["".join(letters) for letters in itertools.product("abc", repeat=2)]
LETTERS = [ParallelSentence(str(n), source, ("ab",)) for n, source in enumerate(SOURCES)]


class Beam(Enumerated):
    """A toy whose "beam search" ranks its whole space by the penalty, but for the mode of some sources."""

    length_penalty: float | None = 1.0

    def translate(
        self,
        questions: Sequence[Asked],
        *,
        beam: int = 5,  # noqa: ARG002
        n_best: int = 1,
        length_penalty: float | None = None,
    ) -> list[list[Scored]]:
        penalty = self.length_penalty if length_penalty is None else length_penalty
        assert penalty is not None
        answers = []
        for source in sources_of(questions):
            space = self.space(source)
            seen = space[1:] if misses(source) else space
            answers.append(sorted(seen, key=lambda each: -each.total / len(each.tokens) ** penalty)[:n_best])
        return answers


def misses(source: str) -> bool:
    return source.startswith("a")


def rows_by_decoding(system: Any) -> dict[tuple[str, str], Row]:
    rows = run_method("space", system, LETTERS, k=3, samples=0).rows
    return {(row.name, str(row.labels.get("decoding", ""))): row for row in rows}


def test_a_penalty_is_no_search_error() -> None:
    system = Beam(symbols="ab", limit=4, salt="3")
    plain = [system.translate([source], length_penalty=0.0)[0][0] for source in SOURCES]
    own = [system.translate([source])[0][0] for source in SOURCES]
    modes = [system.space(source)[0] for source in SOURCES]
    rows = rows_by_decoding(system)
    missed = sum(misses(source) for source in SOURCES)
    assert rows["search_error", "beam"].counts["missed"] == missed
    assert rows["search_error", "beam-list"].counts["missed"] == missed
    changed = sum(a.tokens != b.tokens for a, b in zip(plain, own, strict=True))
    assert changed > 0, "else the test shows nothing"
    row = rows["normalization_changes", ""]
    assert (row.counts["changed"], row.estimate.n, row.labels["length_penalty"]) == (changed, 9, "1")
    costs = [a.total - b.total for a, b in zip(plain, own, strict=True)]
    assert rows["normalization_costs", ""].estimate.value == pytest.approx(math.fsum(costs) / 9)
    longer = [len(b.tokens) - len(a.tokens) for a, b in zip(plain, own, strict=True)]
    assert rows["normalization_lengthens", ""].estimate.value == pytest.approx(sum(longer) / 9)
    off = sum(a.tokens != b.tokens and a.total > b.total for a, b in zip(modes, own, strict=True))
    assert off > missed
    row = rows["misses_mode", ""]
    assert (row.counts["missed"], row.labels["beam"], row.labels["length_penalty"]) == (off, 5, "1")
    gaps = [a.total - b.total for a, b in zip(modes, own, strict=True) if a.total > b.total]
    assert rows["mode_gap", ""].estimate.value == pytest.approx(math.fsum(gaps) / off)
    # The same quantity has the same name and value among the sizes of the beam, and is there once.
    found = run_method("space", system, LETTERS, k=3, samples=0, beams=(1, 5)).rows
    swept = [each for each in found if each.name == "misses_mode"]
    assert [each.labels["beam"] for each in swept] == [1, 5]
    assert (swept[1].estimate, swept[1].counts) == (row.estimate, row.counts)
    assert swept[1].labels == row.labels


@pytest.mark.parametrize(("beam", "k", "width"), [(5, 3, 5), (2, 4, 4), (1, 1, 1)])
def test_the_list_is_of_the_beam_that_its_row_names(beam: int, k: int, width: int) -> None:
    asked: list[tuple[int, int, float | None]] = []

    class Noted(Beam):
        def translate(self, questions: Sequence[Asked], **how: Any) -> list[list[Scored]]:
            asked.append((how["beam"], how.get("n_best", 1), how.get("length_penalty")))
            return super().translate(questions, **how)

    rows = run_method("space", Noted(symbols="ab", limit=4), LETTERS, k=k, samples=0, beam=beam).rows
    lists = {(width, k, None), (width, k, 0.0)} if k > 1 else set()
    assert set(asked) == {(beam, 1, None), (beam, 1, 0.0)} | lists
    named = {row.labels["decoding"]: row.labels["beam"] for row in rows if row.name == "search_error"}
    assert named == {"beam": beam, **({"beam-list": width} if k > 1 else {})}


@pytest.mark.parametrize("penalty", [0.0, None])
def test_without_a_penalty_nothing_else_is_asked(penalty: float | None) -> None:
    asked: list[float | None] = []

    class Counted(Beam):
        def translate(self, questions: Sequence[Asked], **how: Any) -> list[list[Scored]]:
            asked.append(how.get("length_penalty"))
            return super().translate(questions, **{**how, "length_penalty": 0.0})

    system = Counted(symbols="ab", limit=4, salt="3")
    system.length_penalty = penalty
    rows = rows_by_decoding(system)
    assert set(asked) == {None}
    assert not [name for name, _ in rows if name.startswith("normaliz")]
    assert rows["search_error", "beam"].counts["missed"] == sum(map(misses, SOURCES))


def test_what_did_not_end_is_left_out() -> None:
    class Endless(Beam):
        def translate(self, questions: Sequence[Asked], **how: Any) -> list[list[Scored]]:
            found = super().translate(questions, **how)
            return [
                [Scored(e.text, e.tokens, e.logprobs, ("unfinished",)) for e in group]
                if source == SOURCES[-1]
                else group
                for source, group in zip(sources_of(questions), found, strict=True)
            ]

    rows = rows_by_decoding(Endless(symbols=("a", "b"), limit=4, salt="3"))
    row = rows["normalization_changes", ""]
    assert (row.estimate.n, row.counts["unresolved"]) == (8, 1)
