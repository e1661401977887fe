"""Conditioning: figures computed by hand from exact probabilities, the paper's examples, and what never matters."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelscope import condition
from babelscope.core.results import Estimate, Record, Result, Row
from babelscope.core.system import (
    Asked,
    Fingerprint,
    ItemChoice,
    ItemScores,
    Scored,
    Target,
    Unanswered,
    as_question,
)
from babelscope.methods.condition.ask import score_as_json
from babelscope.methods.condition.figures import accuracy_rows as figures_of
from babelscope.methods.condition.figures import (
    best_of_side,
    lowest_accuracy,
    score_of,
    weights_of,
)
from babelscope.methods.condition.method import Condition
from babelscope.stats.weighted import weighted_share
from babelscope.systems.registry import open_system
from babelscope.testsets import AmbiguousSource
from babelscope.util.errors import BabelscopeError
from tests.support.toys import ToySystem

EVALUATOR = ToySystem("judge", salt="judge")


class GivenScores:
    """An evaluator asked elsewhere: for each item id the best score of either side."""

    name = "given"
    stored = True

    def __init__(self, scores: Mapping[str, tuple[float, float]]) -> None:
        self._scores = scores
        self.fingerprint = Fingerprint("given", settings={"scores": repr(sorted(scores.items()))})

    def item_scores(self, items: Sequence[ItemChoice], *, best: bool = True) -> list[ItemScores | None]:
        assert not best
        return [ItemScores(self._scores[each.id][0], self._scores[each.id][1:]) for each in items]


def item(number: int, category: str = "male", translation: str | None = None) -> AmbiguousSource:
    return AmbiguousSource(
        f"i{number}", f"a{number}", (f"r1 {number}", f"r2 {number}"), (f"w1 {number}", f"w2 {number}"),
        category, translation, gold="x",
    )  # fmt: skip


ITEMS = [item(number, "female" if number % 3 else "male") for number in range(20)]


def rows_of(result: Result) -> dict[str, Row]:
    """The rows of accuracies by name; the tests of the evaluator have tests of their own."""
    left_out = ("confidence", "preflight", "decided", "worst case")
    return {row.name: row for row in result.rows if not row.name.startswith(left_out)}


def judged(
    margins: Sequence[float], categories: Sequence[str] | None = None, **settings: Any
) -> dict[str, Row]:
    """The rows for margins in nats, as if an evaluator had given them."""
    return rows_of(result_for(margins, categories or ["one"] * len(margins), **settings))


def result_for(margins: Sequence[float], categories: Sequence[str], **settings: Any) -> Result:
    items = [item(number, category) for number, category in enumerate(categories)]
    scores = {each.id: (-50.0 + min(m, 0), -50.0 - max(m, 0)) for each, m in zip(items, margins, strict=True)}
    return condition("items:translations", items, evaluator=GivenScores(scores), **settings)


def logits(probabilities: Sequence[float]) -> list[float]:
    return [math.log(p) - math.log(1 - p) for p in probabilities]


# --- the paper's examples


@pytest.mark.parametrize(
    ("correct", "incorrect", "score"),
    [(0.794, 0.745, 0.516), (0.645, 0.599, 0.519), (0.765, 0.814, 0.484), (0.668, 0.710, 0.485),
     (0.404, 0.393, 0.507), (0.610, 0.607, 0.501)],
)  # fmt: skip
def test_table_1(correct: float, incorrect: float, score: float) -> None:
    # The printed likelihoods are rounded, and so may the last digit of what is made from them.
    margin = math.log(correct) - math.log(incorrect)
    assert score_of(margin) == pytest.approx(score, abs=0.001)
    assert score_of(margin) == pytest.approx(correct / (correct + incorrect), abs=1e-12)
    # The released code's numbers are powers of 2: read back as logs to base 2, they give the same score.
    binary = math.log2(correct) - math.log2(incorrect)
    assert score_of(binary, "2") == pytest.approx(score_of(margin), abs=1e-12)


@pytest.mark.parametrize(
    ("ties", "weighted", "plain"), [("correct", 0.8, 0.75), ("wrong", 0.7, 0.5), ("half", 0.75, 0.625)]
)
def test_the_weighting_of_section_3_4(ties: str, weighted: float, plain: float) -> None:
    rows = judged(logits([0.9, 0.6, 0.45, 0.5]), ties=ties)
    assert rows["weighted"].estimate.value == pytest.approx(weighted, abs=1e-12)
    assert rows["one"].estimate.value == pytest.approx(weighted, abs=1e-12)
    assert rows["minimum"].estimate.value == pytest.approx(weighted, abs=1e-12)
    assert rows["all"].estimate.value == rows["one unweighted"].estimate.value == plain
    assert (rows["all"].counts["ties"], rows["all"].estimate.n) == (1, 4)
    assert rows["all"].counts["correct"] == (3 if ties == "correct" else 2)


# --- figures by hand


@pytest.mark.parametrize("own", [True, False])
def test_scores_are_the_best_of_each_side_by_hand(own: bool) -> None:
    texts = ["abc a cb ba"[: number // 2] if own else None for number in range(20)]
    items = [dataclasses.replace(each, translation=text) for each, text in zip(ITEMS, texts, strict=True)]
    result = condition(
        "items:translations" if own else ToySystem(),
        items,
        evaluator=EVALUATOR,
        chunk=7,
        protocol="paper",
        ties="correct",
    )
    for each, given_text, record in zip(ITEMS, texts, result.records, strict=True):
        text = given_text if given_text is not None else ToySystem().translate([each.source])[0][0].text
        best = [
            max(EVALUATOR.score([(source, text)])[0].mean for source in side)
            for side in (each.correct_sources, each.incorrect_sources)
        ]
        assert (record["translation"], record["given"], record["evaluator"]) == (text, own, "judge")
        assert [record["correct_logprob"], record["incorrect_logprob"]] == pytest.approx(best, abs=1e-12)
        likelihoods = [math.exp(x) for x in best]
        assert record["score"] == pytest.approx(likelihoods[0] / sum(likelihoods), abs=1e-12)
        assert record["verdict"] == ("correct" if record["score"] >= 0.5 else "wrong")
        assert record["correct_source"] in each.correct_sources
        assert (record["category"], record["gold"]) == (each.category, "x")


# --- what never matters

margins = st.lists(
    st.tuples(
        st.one_of(st.just(0.0), st.floats(-30, 30), st.floats(-1e-9, 1e-9)), st.sampled_from(["m", "f", "n"])
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=40)
@given(margins)
def test_swapped_sides_turn_accuracies_round(drawn: list[tuple[float, str]]) -> None:
    values, categories = [m for m, _ in drawn], [c for _, c in drawn]
    straight = judged(values, categories, ties="half")
    swapped = judged([-m for m in values], categories, ties="half")
    for name in straight.keys() - {"minimum", "minimum unweighted"}:
        here, there = straight[name].estimate, swapped[name].estimate
        assert here.value == pytest.approx(1 - there.value, abs=1e-12)
        assert (here.low, here.high) == pytest.approx((1 - there.high, 1 - there.low), abs=1e-9)


@settings(max_examples=40)
@given(margins)
def test_weights_of_a_category_are_a_sharing_of_n_down_to_1(drawn: list[tuple[float, str]]) -> None:
    values, categories = [m for m, _ in drawn], [c for _, c in drawn]
    ordered = weights_of(values, categories, "order")
    shared = weights_of(values, categories, "shared")
    for name in set(categories):
        own = [i for i, category in enumerate(categories) if category == name]
        assert sorted(ordered[i] for i in own) == list(range(1, len(own) + 1))
        # Shared weights sum to the same, so that no category weighs more than another of its size.
        assert sum(shared[i] for i in own) == pytest.approx(sum(range(1, len(own) + 1)))
        for i in own:
            for j in own:
                if abs(values[i]) > abs(values[j]):
                    assert shared[i] > shared[j]
                    assert ordered[i] > ordered[j]
                elif abs(values[i]) == abs(values[j]):
                    assert shared[i] == shared[j]
                    assert i <= j or ordered[i] < ordered[j]


def apart(items: int) -> list[str]:
    """A source for each item."""
    return [str(number) for number in range(items)]


def test_items_of_one_source_are_worth_less_than_items_apart() -> None:
    records = [
        {
            "source": str(number // 4),
            "category": "a",
            "skipped": "",
            "verdict": "correct" if number < 16 else "wrong",
        }
        | {"evaluator": "e", "score": 0.6, "correct_logprob": -1.0, "incorrect_logprob": -2.0}
        for number in range(20)
    ]
    together = next(row for row in figures_of(records) if row.name == "all").estimate
    alone = [{**record, "source": str(number)} for number, record in enumerate(records)]
    single = next(row for row in figures_of(alone) if row.name == "all").estimate
    assert together.value == single.value == 0.8
    # Sources all right or all wrong: five items, not 20.
    assert (together.low, together.high) == pytest.approx(wilson(0.8, 5, 1.959964), abs=1e-6)
    assert together.high - together.low > 1.5 * (single.high - single.low)


def test_the_minimum_of_many_equal_categories_has_an_interval_that_holds() -> None:
    draw = random.Random(1)
    inside = 0
    for _ in range(200):
        worth = [[float(draw.random() < 0.8) for _ in range(80)] for _ in range(6)]
        found = lowest_accuracy([group(own) for own in worth])
        assert found.value == min(sum(own) / 80 for own in worth)
        inside += found.low <= 0.8 <= found.high
    assert inside / 200 >= 0.93
    one = weighted_share([1.0, 0.0], apart(2), [2.0, 1.0], ["", ""])
    assert lowest_accuracy([group([1.0, 0.0], [2.0, 1.0])], "category") == one


def group(worth: Sequence[float], weights: Sequence[float] | None = None) -> list[Record]:
    """Records of one category, each of a source of its own."""
    own = weights or [1.0] * len(worth)
    return [
        {"verdict": "correct" if value else "wrong", "category": "", "weight": weight, "source": source}
        for value, weight, source in zip(worth, own, apart(len(worth)), strict=True)
    ]


def wilson(p: float, n: float, z: float) -> tuple[float, float]:
    middle, reach = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (middle - reach) / (1 + z * z / n), (middle + reach) / (1 + z * z / n)


def test_the_high_end_of_the_minimum_is_widened_for_the_number_of_groups() -> None:
    assert lowest_accuracy([]).n == 0
    # Of two groups the high ends leave out 2.5 % each: z of 1.25 %.
    least = lowest_accuracy([group([1.0] * 6 + [0.0] * 4), group([1.0] * 14 + [0.0] * 6)])
    assert (least.value, least.n) == (pytest.approx(0.6), 30)
    assert least.low == pytest.approx(
        min(wilson(0.6, 10, 1.959964)[0], wilson(0.7, 20, 1.959964)[0]), abs=1e-6
    )
    assert least.high == pytest.approx(
        min(wilson(0.6, 10, 2.241403)[1], wilson(0.7, 20, 2.241403)[1]), abs=1e-6
    )


# --- how systems are asked


class Remembering(ToySystem):
    """An evaluator that remembers its calls."""

    def __init__(self, **options: Any) -> None:
        super().__init__("asked", **options)
        self.calls: list[list[tuple[Asked, Target]]] = []

    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        self.calls.append(list(pairs))
        return super().score(pairs)


def test_a_chunk_is_one_call_and_every_pair_is_asked_once() -> None:
    evaluator = Remembering(salt="judge")
    condition(ToySystem(), ITEMS, evaluator=evaluator, chunk=10, preflight=0)
    assert [len(call) for call in evaluator.calls] == [40, 40]
    double = AmbiguousSource("d", "a", ("r", "r"), ("w", "r"), "m", "ab")
    result = condition("items:translations", [double], evaluator=evaluator, preflight=0)
    assert len(evaluator.calls[-1]) == 2
    assert result.records[0]["correct_logprob"] <= result.records[0]["incorrect_logprob"]


def test_a_system_that_evaluates_itself_is_asked_by_its_tokens() -> None:
    itself = Remembering(salt="s")
    condition(itself, ITEMS[:2], evaluator=itself)
    assert all(isinstance(target, Scored) for _, target in itself.calls[0])
    other = Remembering(salt="judge")
    condition(ToySystem(salt="s"), ITEMS[:2], evaluator=other)
    assert all(isinstance(target, str) for _, target in other.calls[0])
    condition("items:translations", [item(1, translation="ab")], evaluator=itself, preflight=0)
    assert itself.calls[-1][0][1] == "ab"


def test_given_translations_are_judged_instead_of_asking() -> None:
    items = [item(1, translation="abc"), item(2), item(3, translation="")]
    with pytest.raises(BabelscopeError, match="2 of 3 items have a translation, and toy has others"):
        condition(ToySystem(), items, evaluator=EVALUATOR)
    given = condition(ToySystem(), items, evaluator=EVALUATOR, translations="given")
    assert [record["given"] for record in given.records] == [True, False, True]
    assert [record["translation"] for record in given.records][::2] == ["abc", ""]
    empty = sum(record["translation"] == "" for record in given.records)
    assert (given.rows[0].counts["given"], given.rows[0].counts["empty"]) == (2, empty)
    asked = condition(ToySystem(), items, evaluator=EVALUATOR, translations="system")
    assert not any(record["given"] for record in asked.records)
    assert asked.records[0]["translation"] == ToySystem().translate(["a1"])[0][0].text


def test_items_without_cues_and_impossible_translations_are_counted() -> None:
    items = [
        *ITEMS[:4],
        AmbiguousSource("none", "b", (), ("w",), "male"),
        AmbiguousSource("lost", "b", ("r",), (), "empty"),
        item(99, "male", "xyz"),  # letters the evaluator has no probability for
    ]
    result = condition(ToySystem(), items, evaluator=EVALUATOR, translations="given")
    rows = rows_of(result)
    counts = rows["all"].counts
    assert (counts["skipped"], counts["no_cue"], counts["impossible"]) == (3, 2, 1)
    assert rows["all"].estimate.n == 4
    assert [record["skipped"] for record in result.records[4:]] == ["no cue", "no cue", "impossible"]
    assert result.records[4]["verdict"] is None
    assert result.records[4]["weight"] is None
    # A category that lost all its items has a row, no value, and no part in the minimum.
    assert (rows["empty"].estimate.n, rows["empty"].counts["skipped"]) == (0, 1)
    assert rows["empty"].as_json()["value"] is None
    assert rows["minimum"].estimate.n == 4


def test_items_of_no_category_do_not_count_in_the_minimum() -> None:
    rows = judged([1.0, 2.0, -1.0], ["m", "m", "none"])
    assert rows["none"].estimate.value == 0
    assert rows["minimum"].estimate.value == 1
    assert rows["all"].estimate.n == 3


def test_missing_translations_are_told_or_counted() -> None:
    items = [item(1, translation="ab"), item(2), item(3)]
    with pytest.raises(BabelscopeError, match=r"item i2.* has no translation, .*2 have none"):
        condition("items:translations", items, evaluator=EVALUATOR)
    for some, left in ((items, 1), (items[1:], 0)):
        row = condition("items:translations?missing=skip", some, evaluator=EVALUATOR).rows[0]
        assert (row.estimate.n, row.counts["skipped"]) == (left, 2)
    with pytest.raises(BabelscopeError, match="there is no system"):
        condition("items:translations", items, evaluator=EVALUATOR, translations="system")
    with pytest.raises(BabelscopeError, match="takes no system"):
        condition(ToySystem(), items[:1], evaluator=GivenScores({"i1": (-1, -2)}), translations="given")


def test_a_translation_that_the_evaluator_refuses_is_left_out_and_counted() -> None:
    """The system's own, which nobody can mend; a given one is an error, below."""

    class Wordy(ToySystem):
        def translate(
            self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1
        ) -> list[list[Scored]]:
            found = super().translate(questions, beam=beam, n_best=n_best)
            return [
                [Scored("a" * 1001)] if as_question(question).source == "b" else answers
                for question, answers in zip(questions, found, strict=True)
            ]

    items = [item(1), AmbiguousSource("i2", "b", ("r",), ("w",), "m"), item(3)]
    result = condition(Wordy(), items, evaluator=EVALUATOR)
    [left] = result.unanswered
    assert left["id"] == "i2"
    assert left["unanswered"].startswith("the translation has 1001 tokens")
    row = rows_of(result)["all"]
    assert (row.estimate.n, row.counts["skipped"]) == (2, 1)


def test_faults_of_systems_are_told_with_the_item(toy_schemes: None) -> None:  # noqa: ARG001
    with pytest.raises(BabelscopeError, match="item i2: the translation has 1001 tokens"):
        condition(
            "items:translations",
            [item(1, translation="a"), item(2, translation="a" * 1001)],
            evaluator=EVALUATOR,
        )
    long = AmbiguousSource("i9", "a" * 1001, ("r",), ("w",), "m")
    with pytest.raises(BabelscopeError, match="item i9: the source has 1001 tokens"):
        condition(ToySystem(), [item(1), long], evaluator=EVALUATOR)
    with pytest.raises(BabelscopeError, match="must be a natural log"):
        condition(ToySystem(), ITEMS, evaluator="nan:1")
    with pytest.raises(BabelscopeError, match="gave 79 answers to 80 questions"):
        condition(ToySystem(), ITEMS, evaluator="mute:1")
    with pytest.raises(BabelscopeError, match="ties: input should be 'half', 'correct' or 'wrong'"):
        condition(ToySystem(), ITEMS, evaluator=EVALUATOR, ties="best")

    class Text:
        name = "text"
        fingerprint = Fingerprint("text")

        def translate(self, _sources: Sequence[str]) -> None:
            pytest.fail("asked before everything was checked")

    with pytest.raises(BabelscopeError, match="needs a system that gives log-probabilities"):
        condition(Text(), ITEMS, evaluator=Text())


def test_an_evaluator_that_does_not_answer_leaves_the_lines_of_a_file_where_they_are(tmp_path: Path) -> None:
    class Forgetful(ToySystem):
        def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
            for index, (asked, _) in enumerate(pairs):
                if as_question(asked).source == "w1 1":
                    raise Unanswered({index: "no answer"})
            return super().score(pairs)

    (tmp_path / "out").write_text("a\nb\nab\nba\n")
    result = condition(open_system(f"file:{tmp_path / 'out'}"), ITEMS[:4], evaluator=Forgetful())
    assert [record["translation"] for record in result.records] == ["a", "ab", "ba"]
    assert [record["id"] for record in result.unanswered] == ["i1"]
    assert (result.rows[0].counts["skipped"], result.rows[0].counts["given"]) == (1, 3)


SURE_THEN_NOT = Scored("a b", ("a", "b"), (math.log(0.9), math.log(0.01)))
EVEN = Scored("a b", ("a", "b"), (math.log(0.2), math.log(0.2)))
SIDE = [{"source": "first", **score_as_json(SURE_THEN_NOT)}, {"source": "second", **score_as_json(EVEN)}]


def test_the_reading_decides_which_source_is_best() -> None:
    total, best = best_of_side(SIDE, "total")
    assert (total, best) == (pytest.approx(2 * math.log(0.2)), "second")
    assert best_of_side(SIDE, "mean") == (pytest.approx(math.log(0.2)), "second")
    literal, best = best_of_side(SIDE, "probability")
    assert (literal, best) == (pytest.approx(math.log(0.455)), "first")
    # As a score, c / (c + i) of the arithmetic means themselves.
    assert score_of(math.log(0.455) - math.log(0.2)) == pytest.approx(0.455 / 0.655)


def test_the_worst_category_is_chosen_by_weighted_accuracy() -> None:
    draw = random.Random(0)
    differing = 0
    for _ in range(30):
        drawn = [(draw.gauss(0.3, 1.0), draw.choice("ab")) for _ in range(12)]
        result = result_for([margin for margin, _ in drawn], [category for _, category in drawn])
        rows = rows_of(result)
        worst = str(rows["minimum"].labels["lowest"])
        lines = {line.cells[0]: line for line in Condition().tables(result.groups[0])[0].lines}
        shown, own = lines["error rate, worst category"], lines[f"error rate, {worst}"]
        assert shown.query["group"] == worst
        for line in (shown, own):
            assert isinstance(estimate := line.cells[1], Estimate)
            assert estimate.value == pytest.approx(1 - rows["minimum"].estimate.value)
        differing += worst != rows["minimum unweighted"].labels["lowest"]
    assert differing, "no draw in which the two measures choose different categories"


def test_single_items_are_shown_with_both_cues() -> None:
    (record,) = condition("items:translations", [item(1, translation="ab")], evaluator=EVALUATOR).records
    shown = Condition().show(record)
    assert (shown.source, shown.groups, shown.lines) == ("a1", ("male",), [("meant", "x")])
    assert shown.verdict == ("right" if record["verdict"] == "correct" else "wrong")
    assert shown.value == pytest.approx(record["correct_logprob"] - record["incorrect_logprob"])
    lines = dict(shown.answer())
    assert lines["translation"] == "ab"
    assert lines["right cue"] == [(record["correct_source"].split()[0], None, 1), (" 1", None, 0)]
    (skipped,) = condition(ToySystem(), [AmbiguousSource("1", "a", (), (), "m")], evaluator=EVALUATOR).records
    assert Condition().show(skipped).verdict == "skipped"
    assert Condition().show(skipped).facts == "no cue"
