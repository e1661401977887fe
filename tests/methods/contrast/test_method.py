"""Contrast: verdicts and discrepancies from the toy's exact probabilities, and what must not change them."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from babelscope import contrast
from babelscope.core.answers import Capability, Scored, Target
from babelscope.core.question import Asked, Question
from babelscope.core.results import Record, Result, Row
from babelscope.methods.contrast.figures import Scores, discrepancy, verdict
from babelscope.methods.contrast.tokens import Step, token_view
from babelscope.testsets import MinimalPair
from babelscope.util.errors import BabelscopeError
from tests.support.toys import ToySystem

TEXTS = st.text("abc", min_size=1, max_size=4)
FEW = settings(max_examples=15)


def pair(
    number: object, source: str, correct: str, *contrastive: str, phenomenon: str = "p", kind: Any = "human"
) -> MinimalPair:
    return MinimalPair(str(number), source, correct, contrastive, phenomenon, kind, for_scores=True)


PAIRS = st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=12).map(
    lambda rows: [pair(number, *row) for number, row in enumerate(rows)]
)


def row(result: Result, name: str = "all", **labels: str) -> Row:
    found = [
        each
        for each in result.rows
        if each.name == name and all(each.labels.get(k) == v for k, v in labels.items())
    ]
    assert len(found) == 1, [each.as_json() for each in found]
    return found[0]


def run(items: Sequence[MinimalPair], **chosen: Any) -> Result:
    return contrast(ToySystem(), items, **chosen)


def figures_of(each: Row) -> tuple[float, float, float]:
    return each.estimate.value, each.estimate.low, each.estimate.high


def test_the_figures_are_those_computed_by_hand() -> None:
    toy = ToySystem()
    items = [
        pair(1, "a b", "ab", "ba", "aa"),
        pair(2, "a b", "c", "cc"),
        pair(3, "b", "abc", "acb", phenomenon="q", kind="machine"),
    ]
    for score in ("mean", "total"):

        def scored(item: MinimalPair, text: str, score: str = score) -> float:
            return float(getattr(toy.score([(item.source, text)])[0], score))

        correct, distances = [], []
        for item in items:
            best = float(getattr(toy.translate([item.source])[0][0], score))
            ours, theirs = scored(item, item.correct), [scored(item, text) for text in item.contrastive]
            correct.append(ours > max(theirs))
            distances.append(best - max(ours, *theirs))
        result = run(items, score=score)
        assert row(result).estimate.value == pytest.approx(sum(correct) / 3)
        assert row(result).counts["correct"] == sum(correct)
        assert row(result, "p", reference="human").estimate.value == pytest.approx(sum(correct[:2]) / 2)
        whole, first, second, human, machine = (each for each in result.rows if each.name == "discrepancy")
        assert human.estimate.value == pytest.approx(sum(distances[:2]) / 2)
        assert (machine.labels["reference"], machine.estimate.n) == ("machine", 1)
        assert whole.estimate.value == pytest.approx(sum(distances) / 3)
        assert first.estimate.value == pytest.approx(sum(distances[:2]) / 2)
        assert second.labels["reference"] == "machine"
        assert [record["discrepancy"] for record in result.records] == pytest.approx(distances)


@pytest.mark.parametrize(
    ("correct", "contrastive", "right"),
    [
        (-1.0, (-2.0, -3.0), "correct"),
        (-1.0, (-2.0, -1.0), "tie"),
        (-1.0, (-0.5, -1.0), "wrong"),
        (-math.inf, (-math.inf,), "tie"),
        (-1.0, (-math.inf,), "correct"),
    ],
)
def test_correct_is_strictly_better_than_all(
    correct: float, contrastive: tuple[float, ...], right: str
) -> None:
    assert verdict(Scores(correct, contrastive)) == right


def test_the_discrepancy_is_to_the_preferred_variant_and_may_be_clipped() -> None:
    scores = Scores(-3.61, (-2.34, -4.0), -0.09)  # table 5
    assert discrepancy(scores) == pytest.approx(2.25)
    below = Scores(-0.5, (-2.0,), -0.75)
    assert discrepancy(below) == -0.25
    assert discrepancy(below, clipped=True) == 0.0
    items = [pair(n, source, "ab", "abab") for n, source in enumerate("abc")]
    paper, clipped = (run(items, discrepancy=how) for how in ("paper", "clipped"))
    distances = [record["discrepancy"] for record in paper.records]
    assert [record["discrepancy"] for record in clipped.records] == [max(0.0, each) for each in distances]
    assert paper.signature != clipped.signature


@FEW
@given(PAIRS)
def test_swapping_correct_and_contrastive_turns_the_verdicts_round(items: list[MinimalPair]) -> None:
    swapped = [pair(each.id, each.source, each.contrastive[0], each.correct) for each in items]
    for ties in ("half", "wrong"):
        here, there = (row(run(some, ties=ties)) for some in (items, swapped))
        assert there.counts["ties"] == here.counts["ties"]
        assert there.counts["correct"] == len(items) - here.counts["correct"] - here.counts["ties"]
    assert row(run(swapped)).estimate.value == pytest.approx(1 - row(run(items)).estimate.value)


@FEW
@given(PAIRS)
def test_an_identical_pair_is_a_tie_and_the_policy_says_what_it_is_worth(items: list[MinimalPair]) -> None:
    same = [pair(each.id, each.source, each.correct, each.correct) for each in items]
    for ties, worth, correct in (("half", 0.5, 0), ("correct", 1.0, len(items)), ("wrong", 0.0, 0)):
        found = row(run(same, ties=ties))
        assert (found.estimate.value, found.counts["ties"]) == (worth, len(items))
        assert found.counts["correct"] == correct


def test_there_is_no_discrepancy_where_the_preferred_variant_is_the_systems_own() -> None:
    toy = ToySystem(alphabet="abc", limit=40)
    sources = ["".join(each) for n in range(1, 5) for each in itertools.product("abc", repeat=n)]
    best = {source: toy.translate([source])[0][0] for source in sources}
    own = {source: each.text for source, each in best.items() if each.text and not each.notes}
    assert len(own) > 10
    for source, text in own.items():
        items = [pair(1, source, text, "x"), pair(2, source, "x", text), pair(3, source, text, "ab")]
        first, second, third = contrast(toy, items).records
        assert (first["verdict"], second["verdict"]) == ("correct", "wrong")
        assert (first["discrepancy"], second["discrepancy"]) == (0.0, 0.0)
        assert third["discrepancy"] == (0.0 if third["verdict"] != "wrong" else pytest.approx(gap(third)))


def gap(record: Record) -> float:
    return float(record["scores"]["best"] - record["scores"]["contrastive"][0])


def repeated(items: list[MinimalPair]) -> list[MinimalPair]:
    return [*items, *(pair(f"{each.id}'", each.source, each.correct, *each.contrastive) for each in items)]


@FEW
@given(PAIRS)
def test_duplicating_all_items_of_sources_changes_no_estimate(items: list[MinimalPair]) -> None:
    # A tie counts half, and halves vary less than items that are right or wrong can.
    assume(all(each.correct not in each.contrastive for each in items))
    alone = [pair(n, f"{e.source}{n * 'a'}b", e.correct, *e.contrastive) for n, e in enumerate(items)]
    for one, two in zip(run(alone, spread=0).rows, run(repeated(alone), spread=0).rows, strict=True):
        assert figures_of(one) == figures_of(two)
        assert two.estimate.n == 2 * one.estimate.n


@FEW
@given(PAIRS)
def test_duplicating_all_items_changes_no_value_and_widens_no_interval(items: list[MinimalPair]) -> None:
    """Where the items of a source differ more than sources do, an interval is that of so many items."""
    for one, two in zip(run(items, spread=0).rows, run(repeated(items), spread=0).rows, strict=True):
        assert figures_of(one)[0] == pytest.approx(figures_of(two)[0], nan_ok=True)
        assert two.estimate.n == 2 * one.estimate.n
        if not one.estimate.no_interval and one.estimate.n:
            assert one.estimate.low - 1e-9 <= two.estimate.low
            assert two.estimate.high <= one.estimate.high + 1e-9


@FEW
@given(PAIRS, st.randoms(use_true_random=False))
def test_the_order_of_items_does_not_matter(items: list[MinimalPair], random: Any) -> None:
    items = [
        pair(n, e.source, e.correct, *e.contrastive, phenomenon="pq"[n % 2]) for n, e in enumerate(items)
    ]
    shuffled = list(items)
    random.shuffle(shuffled)
    assert run(items).rows == run(shuffled, chunk=3).rows


def test_rows_are_labelled_and_controls_are_marked() -> None:
    items = [
        pair(1, "a", "a", "b", phenomenon="np_agreement"),
        pair(2, "b", "a", "b", phenomenon="placeholder_ding"),
        pair(3, "c", "a", "b", phenomenon="placeholder_ding", kind="machine"),
    ]
    result = run(items)
    keys = {"method", "system", "tests", "phenomenon", "reference"}
    assert row(result, "np_agreement").labels.keys() == keys
    for kind in ("human", "machine"):
        assert row(result, "placeholder_ding", reference=kind).labels["control"] == "yes"
    marked = run(items, controls=["np_agreement"])
    assert row(marked, "np_agreement").labels["control"] == "yes"
    assert "control" not in row(marked, "placeholder_ding", reference="human").labels


def test_notes_and_the_impossible_are_counted() -> None:
    class Noting(ToySystem):
        def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
            return [Scored(s.text, s.tokens, s.logprobs, ("changed",)) for s in super().score(pairs)]

    items = [pair(1, "a", "a", "b"), pair(2, "b", "x", "b"), pair(3, "c", "x", "y")]
    result = contrast(Noting(limit=1), items)
    counts = row(result).counts
    assert {name: counts[name] for name in ("ties", "truncated", "changed", "infinite")} == {
        "ties": 1,
        "truncated": 0,
        "changed": 3,
        "infinite": 2,
    }
    assert counts["unfinished"] == sum("unfinished" in record["best"]["notes"] for record in result.records)
    # An item with a possible variant has a discrepancy; where all are impossible, there is none.
    assert (row(result, "discrepancy", phenomenon="p").estimate.n, result.records[2]["discrepancy"]) == (
        2,
        None,
    )


class Scorer(ToySystem):
    capabilities: frozenset[Capability] = frozenset({"score"})


def test_a_system_that_cannot_translate_gets_no_discrepancy_or_is_refused_before_any_work() -> None:
    items = [pair(1, "a", "a", "b"), pair(2, "b", "b", "a")]
    result = contrast(Scorer(), items)
    assert "discrepancy" not in [each.name for each in result.rows]
    asked: list[object] = []

    class First(ToySystem):
        def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
            asked.append(pairs)
            return super().score(pairs)

    with pytest.raises(
        BabelscopeError,
        match="contrast with these settings needs a system that translates, which second does not",
    ):
        contrast([First("first"), Scorer("second")], items, discrepancy="paper")
    assert not asked


def test_a_1_best_without_scores_is_scored() -> None:
    class Bare(ToySystem):
        def translate(self, questions: Sequence[Asked], **_options: int) -> list[list[Scored]]:
            return [[Scored("ab", notes=("unfinished",))] for _ in questions]

    (record,) = contrast(Bare(), [pair(1, "a", "ab", "x")]).records
    assert record["discrepancy"] == 0.0
    assert record["best"]["notes"] == ["unfinished"]


def test_each_text_is_asked_once() -> None:
    asked: list[tuple[Asked, Target]] = []

    class Listening(ToySystem):
        def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
            asked.extend(pairs)
            return super().score(pairs)

    contrast(Listening(), [pair(1, "a", "a", "b", "a"), pair(2, "a", "b", "c")], discrepancy="none")
    assert asked == [(Question("a"), target) for target in ("a", "b", "c")]


def test_a_text_the_system_refuses_is_told_with_its_item() -> None:
    items = [pair("one", "a", "a", "b"), pair("two", "a", "a", "b", "c" * 1001)]
    with pytest.raises(BabelscopeError, match=r"^item two: target has 1001 tokens, but toy takes 1000"):
        run(items)
    with pytest.raises(BabelscopeError, match=r"^item two: source has 1001 tokens"):
        run([items[0], pair("two", "a" * 1001, "a", "b")])


@FEW
@given(TEXTS, TEXTS, TEXTS)
def test_the_token_view_adds_up_and_begins_where_they_part(source: str, correct: str, other: str) -> None:
    (record,) = run([pair(1, source, correct, other)]).records
    steps = token_view(json.loads(json.dumps(record)))
    ours, theirs = ToySystem().score([(source, correct), (source, other)])
    assert [step.correct for step in steps if step.correct is not None] == list(ours.tokens)
    assert [step.contrastive for step in steps if step.contrastive is not None] == list(theirs.tokens)
    assert math.fsum(step.difference for step in steps) == pytest.approx(ours.total - theirs.total, abs=1e-9)
    at = record["contrastive"][0]["at"]
    assert ours.tokens[:at] == theirs.tokens[:at]
    assert ours.tokens == theirs.tokens or ours.tokens[at] != theirs.tokens[at]


def test_mean_and_sd_over_seeds() -> None:
    items = [pair(n, source, "ab", "ba") for n, source in enumerate(("a", "b", "c", "ab", "ac"))]
    toys = [ToySystem(f"toy-{salt}", salt=salt) for salt in "123"]
    result = contrast([*toys, ToySystem("other")], items, seed_groups=["toy-*"])
    for measure in ("accuracy", "discrepancy"):
        name = "all" if measure == "accuracy" else "discrepancy"
        values = [
            each.estimate.value
            for each in result.rows
            if each.name == name and "phenomenon" not in each.labels and each.labels["system"] != "other"
        ]
        (mean, sd) = (
            each.estimate
            for each in result.rows
            if each.labels.get("measure") == measure and "phenomenon" not in each.labels
        )
        assert (mean.value, mean.n) == (pytest.approx(sum(values) / 3), 3)
        variance = sum((value - mean.value) ** 2 for value in values) / 2
        assert sd.value == pytest.approx(math.sqrt(variance), abs=1e-12)
    with pytest.raises(BabelscopeError, match="'nobody' needs at least two systems"):
        contrast(toys, items, seed_groups=["nobody"])


def test_wrong_settings_are_explained() -> None:
    with pytest.raises(BabelscopeError, match="did you mean ties"):
        run([pair(1, "a", "a", "b")], tie="half")
    with pytest.raises(
        BabelscopeError, match="contrast: score: input should be 'mean', 'total' or 'probability'"
    ):
        run([pair(1, "a", "a", "b")], score="sum")


def test_the_token_view_by_hand() -> None:
    correct: Record = {"tokens": ["a", "b", "c", "."], "logprobs": [-0.5, -1.0, -2.0, -0.25]}
    variant: Record = {"at": 1, "tokens": ["x", "y", "c", "."], "logprobs": [-3.0, -4.0, -2.5, -0.25]}
    steps = token_view({"correct": correct, "contrastive": [variant]})
    assert steps == [
        Step("a", "a", 0.0),
        Step("b", None, -1.0),
        Step(None, "x", 3.0),
        Step(None, "y", 4.0),
        Step("c", "c", 0.5),
        Step(".", ".", 0.0),
    ]
    # They add up to the difference of the totals: -3.75 of the correct one, -10.25 of the other.
    assert math.fsum(step.difference for step in steps) == -3.75 + 10.25
    # The impossible is null in a record; two impossible tokens do not differ.
    correct["logprobs"], variant["logprobs"] = [-0.5, None, None, -0.25], [None, -4.0, None, -0.25]
    found = token_view({"correct": correct, "contrastive": [variant]})
    assert [step.difference for step in found] == [0.0, -math.inf, math.inf, 4.0, 0.0, 0.0]
