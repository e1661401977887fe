"""Contrast: verdicts and discrepancies from the toy's exact probabilities, and what must not change them."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import babelscope as bs
from babelscope import contrast, load, open_system
from babelscope.core.comparison import Comparison
from babelscope.core.results import Estimate, Record, Result, Row
from babelscope.core.system import (
    Asked,
    Capability,
    ItemScores,
    Question,
    Scored,
    Scoring,
    Target,
)
from babelscope.making.machine_references import machine_references
from babelscope.making.machine_tests import with_machine_references
from babelscope.methods.contrast.figures import discrepancy, false_alarms
from babelscope.methods.contrast.method import Contrast
from babelscope.report.summary import summarize
from babelscope.testsets import MinimalPair
from babelscope.testsets.items import MISSPELLED
from babelscope.util.errors import BabelscopeError
from tests.support.models import build_causal
from tests.support.results import comparison_of, result_of
from tests.support.toy_fixtures import Babelscope, Ran
from tests.support.toys import Canned, ToySystem

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


def test_the_discrepancy_is_to_the_preferred_variant_and_may_be_clipped() -> None:
    scores = ItemScores(-3.61, (-2.34, -4.0), -0.09)  # table 5
    assert discrepancy(scores) == pytest.approx(2.25)
    below = ItemScores(-0.5, (-2.0,), -0.75)
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
    with pytest.raises(
        BabelscopeError, match=r"^items, item two: target has 1001 tokens, but toy takes 1000"
    ):
        run(items)
    with pytest.raises(BabelscopeError, match=r"^items, item two: source has 1001 tokens"):
        run([items[0], pair("two", "a" * 1001, "a", "b")])


CHAINS = [MinimalPair(str(n), f"a{'bc' * n}", "abc", ("acb",), "p", "human") for n in range(12)]


def test_second_best_and_sample_are_those_of_the_system() -> None:
    toy = ToySystem()
    result = contrast(toy, CHAINS, spread=5, beam=3)
    known = [record for record in result.records if "spread" in record]
    assert len(known) == 5
    rows = {row.labels["of"]: row.estimate for row in result.rows if row.name == "spread"}
    for kind in ("second", "sample"):
        distances = []
        for record in known:
            best, second = toy.translate([record["source"]], beam=3, n_best=2)[0]
            (drawn,) = toy.sample([record["source"]], n=1, seed=0)[0]
            distances.append(best.mean - (second if kind == "second" else drawn).mean)
        assert rows[kind].value == pytest.approx(sum(distances) / 5)
        assert rows[kind].n == 5
    again = contrast(toy, CHAINS, spread=5, beam=3)
    assert [r.get("spread") for r in again.records] == [r.get("spread") for r in result.records]
    assert not any(row.name == "spread" for row in contrast(toy, CHAINS, spread=0).rows)


def rows(human: float, machine: float, second: float, sample: float) -> list[Row]:
    def estimate(value: float) -> Estimate:
        return Estimate(value, value - 0.05, value + 0.05, 100)

    return [
        Row("discrepancy", estimate(human), {"reference": "human"}),
        Row("discrepancy", estimate(machine), {"reference": "machine"}),
        Row("spread", estimate(second), {"of": "second"}),
        Row("spread", estimate(sample), {"of": "sample"}),
    ]


def warnings_of(rows: Sequence[Row]) -> list[str]:
    comparison = Comparison("contrast", "tests", (result_of("x", rows=rows),))
    return [note.text for note in Contrast().tables(comparison)[0].notes]


def test_far_is_what_lies_beyond_its_own_alternatives_whatever_the_nats() -> None:
    for scale in (1.0, 10.0):  # the same, for a model of another temperament
        assert warnings_of(rows(0.3 * scale, 0.3 * scale, 0.3 * scale, 3.0 * scale)) == []
        (far,) = warnings_of(rows(2 * scale, 0.3 * scale, 0.3 * scale, 3.0 * scale))
        assert "its own second-best translations" in far
        assert "machine references" in far
        assert "sample" not in far
        (beyond,) = warnings_of(rows(4 * scale, 0.3 * scale, 0.3 * scale, 3.0 * scale))
        assert "samples of its own" in beyond
    (unknown,) = warnings_of([])
    assert "is not known" in unknown


@pytest.mark.parametrize("how", ["mean", "total", "probability"])
def test_every_reading_of_a_score_is_named_and_computed_as_it_says(how: Scoring) -> None:
    toy = ToySystem()
    result = contrast(toy, CHAINS, score=how, spread=0)
    assert f"score:{how}" in result.signature
    for record, item in zip(result.records, CHAINS, strict=True):
        for text, found in (
            (item.correct, record["scores"]["correct"]),
            (item.contrastive[0], record["scores"]["contrastive"][0]),
        ):
            logs = toy.score([(item.source, text)])[0].logprobs
            probabilities = [math.exp(each) for each in logs]
            expected = {
                "mean": sum(logs) / len(logs),
                "total": sum(logs),
                "probability": math.log(sum(probabilities) / len(probabilities)),
            }[how]
            assert found == pytest.approx(expected)


def figures_in(ran: Ran) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "signature"} for row in ran.rows]


def test_protocols_are_words_for_settings(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair.as_json()) + "\n" for pair in CHAINS))
    asked = ("contrast", "--tests", "pairs.jsonl", "--system", "toy:1")
    for protocol, ties, distance in (("paper", "wrong", "paper"), ("released", "correct", "clipped")):
        ran = babelscope(*asked, "--protocol", protocol, "--json")
        said = babelscope(*asked, "--set", f"ties={ties}", "--discrepancy", distance, "--json")
        assert figures_in(ran) == figures_in(said)
        in_python = contrast(ToySystem("toy:1"), CHAINS, protocol=protocol)
        assert in_python.settings["contrast"].ties == ties
    told = "protocol paper means ties wrong, not half"
    refused = babelscope(*asked, "--protocol", "paper", "--set", "ties=half")
    assert refused.code == 2
    assert told in refused.err
    with pytest.raises(BabelscopeError, match=told):
        contrast(ToySystem(), CHAINS, protocol="paper", ties="half")
    # A run under a protocol keeps it, unless it is judged again without.
    assert babelscope(*asked, "--protocol", "paper", "--out", "run").code == 0
    again = babelscope("contrast", "--rejudge", "run", "--set", "ties=half")
    assert (again.code, told in again.err) == (2, True)
    assert babelscope("contrast", "--rejudge", "run", "--protocol", "checked", "--set", "ties=half").code == 0


def test_pairs_that_are_the_same_tokens_are_told() -> None:
    texts = [("der Hund schläft", "der Hund schlafen"), ("犬が寝ている", "猫が走っている")]
    pairs = [
        MinimalPair(f"p{number}", "the dog sleeps", right, (wrong,), "agreement", "human")
        for number, (right, wrong) in enumerate(texts)
    ]
    student = bs.open_system("lab:student")
    told, clear = (
        " ".join(summarize(bs.contrast(student, own, spread=0, detect_in_output="no"), width=200).split())
        for own in (pairs, pairs[:1])
    )
    assert "in 1 of 2 pairs a right and a wrong translation are the same tokens to it" in told
    assert "the same tokens" not in clear


SETTINGS = {"controls": ["placeholder_ding"]}


def record(number: int, phenomenon: str, margin: float, *, detected: bool | None = False) -> Record:
    found = {} if detected is None else {"detected": {"best": detected}}
    return {
        "id": f"item-{number}",
        "phenomenon": phenomenon,
        "verdict": "wrong" if margin < 0 else "correct",
        "scores": {"correct": -1.0, "contrastive": [-1.0 - margin, -9.0]},
        "best": {"text": "x"},
        **found,
    }


RECORDS = [
    record(0, "np_agreement", -3.0),
    record(1, "placeholder_ding", -0.1),
    record(2, "placeholder_ding", -0.4),
    record(3, "np_agreement", -5.0, detected=True),
    record(4, "np_agreement", 2.0),
    record(5, "np_agreement", -4.0, detected=None),
]


def detected(record: Record) -> bool | None:
    found: bool | None = record.get("detected", {}).get("best")
    return found


def test_controls_are_first_then_the_largest_margin() -> None:
    found = false_alarms(comparison_of({"one": RECORDS}, SETTINGS), detected)
    assert [(system, each["id"]) for system, each in found] == [
        ("one", "item-2"),
        ("one", "item-1"),
        ("one", "item-0"),
    ]
    without_controls = false_alarms(comparison_of({"one": RECORDS}), detected)
    assert [each["id"] for _, each in without_controls] == ["item-0", "item-2", "item-1"]


def pair_record(prefix: int, right: float, wrong: float) -> Record:
    shared = [f"▁{number}" for number in range(prefix)]
    variant = {"text": "…", "notes": [], "at": prefix}
    return {
        "id": "1",
        "tests": "t",
        "source": "s",
        "phenomenon": "np_agreement",
        "reference": "human",
        "verdict": "wrong",
        "scores": {"correct": -1.0, "contrastive": [None, -0.5]},
        "correct": {
            "text": "right",
            "tokens": [*shared, "▁der", "▁Hund", "</s>"],
            "logprobs": [-0.1] * prefix + [right, -0.2, -0.1],
            "notes": [],
        },
        "contrastive": [
            {**variant, "text": "x", "tokens": ["</s>"], "logprobs": [None]},
            {**variant, "tokens": ["▁die", "▁Hund", "</s>"], "logprobs": [wrong, -1.2, -0.1]},
        ],
    }


def shown_tokens(record: Record) -> tuple[Any, Any]:
    lines = dict(Contrast().show(record).answer())
    return lines["right"], lines["with the error"]


def test_tokens_have_their_difference_and_the_stretch_that_differs_its_sum() -> None:
    ours, theirs = shown_tokens(pair_record(2, -3.0, -1.0))
    assert ours == [
        ("▁0", None),
        ("▁1", None),
        ("▁der", -2.0, 1),
        ("▁Hund", pytest.approx(1.0)),
        ("</s>", None),
    ]
    assert [token[0] for token in theirs] == ["▁0", "▁1", "▁die", "▁Hund", "</s>"]
    assert theirs[2] == ("▁die", -2.0, 1)
    # Of a long shared beginning the end is shown.
    ours, theirs = shown_tokens(pair_record(30, -3.0, -1.0))
    assert [token[0] for token in ours[:6]] == ["…", "▁25", "▁26", "▁27", "▁28", "▁29"]
    assert ours[:6] == theirs[:6]


def test_the_impossible_has_a_finite_color_and_no_margin() -> None:
    record = pair_record(2, -3.0, -1.0)
    assert Contrast().show(record).value == -0.5, "an impossible variant is no rival"
    record["scores"]["contrastive"] = [-0.5, None]
    ours, _ = shown_tokens(record)
    assert all(token[1] is None or abs(token[1]) <= 100 for token in ours)
    record["scores"]["correct"] = None
    assert Contrast().show(record).value is None


ROWS = [
    {"sentence_good": "The cats sleep here.", "sentence_bad": "The cats sleeps here.", "UID": "agreement"},
    {"sentence_good": "A dog barks.", "sentence_bad": "A dog bark.", "UID": "agreement"},
    {"sentence_good": "Who came?", "sentence_bad": "What came?", "UID": "animacy"},
]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_causal(tmp_path_factory.mktemp("causal"), kind="gpt2")


def test_eq_1_with_no_source(pairs: Path, model: Path) -> None:
    system = open_system(f"llm:{model}?prompt=none")
    tests = load(f"sentences:{pairs}")
    result = contrast(system, tests, score="total")
    assert not any(row.name == "discrepancy" for row in result.rows)
    tokenizer, network = system.tokens.tokenizer, system.network
    for record, row in zip(result.records, ROWS, strict=True):
        for text, found in (
            (row["sentence_good"], record["scores"]["correct"]),
            (row["sentence_bad"], record["scores"]["contrastive"][0]),
        ):
            end = tokenizer.eos_token_id  # the only special token that it has: it begins and ends a text
            ids = [end, *tokenizer(text, add_special_tokens=False)["input_ids"], end]
            with torch.inference_mode():
                logs = network(input_ids=torch.tensor([ids])).logits[0].double().log_softmax(-1)
            expected = sum(float(logs[place, ids[place + 1]]) for place in range(len(ids) - 1))
            assert found == pytest.approx(expected, abs=1e-3)
    assert {row.name for row in result.rows} >= {"agreement", "animacy"}


def test_pairs_and_systems_that_do_not_fit_are_refused(pairs: Path, model: Path) -> None:
    with pytest.raises(BabelscopeError, match="has no source"):
        contrast(ToySystem(), load(f"sentences:{pairs}"))
    with pytest.raises(BabelscopeError, match="the pairs have sources"):
        contrast(open_system(f"llm:{model}?prompt=none"), load(f"sentences:{pairs}?continued=yes"))
    with pytest.raises(BabelscopeError, match="chat=yes has no effect"):
        open_system(f"llm:{model}?prompt=none&chat=yes")
    (pairs.parent / "bad.jsonl").write_text('{"sentence_good": "a"}\n')
    with pytest.raises(BabelscopeError, match=r"bad\.jsonl:1: sentence_good and sentence_bad must be texts"):
        load(f"sentences:{pairs.parent}/bad.jsonl")


def test_what_both_sentences_begin_with_is_continued(pairs: Path, model: Path) -> None:
    tests = load(f"sentences:{pairs}?continued=yes")
    assert tests.skipped == {"no shared beginning": 1}
    first = tests.items[0]
    assert isinstance(first, MinimalPair)
    assert (first.source, first.correct, first.contrastive) == ("The cats", "sleep here.", ("sleeps here.",))
    result = contrast(open_system(f"llm:{model}?prompt={{text}}&max_length=20"), tests, spread=0)
    assert any(row.name == "discrepancy" for row in result.rows)


def test_right_sentences_translated_and_back_are_references_of_a_language_model(
    pairs: Path, model: Path
) -> None:
    rows = [*ROWS, {"sentence_good": "That boy often laughs.", "sentence_bad": "That boy often laugh."}]
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    tests = load(f"sentences:{pairs}")
    away = {"The cats sleep here.": "1", "A dog barks.": "2", "Who came?": "3", "That boy often laughs.": "4"}
    home = {"1": "The cats sleep indoors.", "2": "Dogs bark.", "3": "Who came?", "4": ""}
    systems = [Canned(away, "there"), Canned(home, "back")]
    items = tests.items_of(MinimalPair, what_for="a test")
    outcomes = list(machine_references(items, systems))
    # Of the second the words are others, and before those of the third nothing shows what is wrong.
    assert [each.verdict for each in outcomes] == ["kept", "dropped", "dropped", "dropped"]
    assert outcomes[0].pair is not None
    assert outcomes[0].pair.contrastive == ("The cats sleeps indoors.",)
    made = with_machine_references(tests, systems, seed=0)
    controls = [
        item for item in made.items_of(MinimalPair, what_for="a test") if item.phenomenon == MISSPELLED
    ]
    assert [(item.reference, item.correct) for item in controls] == [
        ("human", "The cats sleep here."),
        ("human", "That boy often laughs."),
        ("machine", "The cats sleep indoors."),
    ]
    for item in controls:
        (right, wrong), *more = (
            words
            for words in zip(item.correct.split(), item.contrastive[0].split(), strict=True)
            if len(set(words)) > 1
        )
        assert (more, sorted(right), right[0], right[-1]) == ([], sorted(wrong), wrong[0], wrong[-1])
    result = contrast(open_system(f"llm:{model}?prompt=none"), made)
    assert {(row.labels["reference"], row.labels["control"]) for row in result.rows if row.name == MISSPELLED} == {
        ("human", "yes"), ("machine", "yes"),
    }  # fmt: skip
    with pytest.raises(
        BabelscopeError, match="name two systems, one for each direction in this order, not 1"
    ):
        next(machine_references(items, systems[:1]))


class Continuing:
    """Continues as it is told."""

    name = "continuing"

    def __init__(self, **said: str) -> None:
        self.said = said

    def translate(self, questions: Any, **_how: Any) -> list[list[Scored]]:
        return [[Scored(self.said[each.source.split()[-1]])] for each in questions]


@pytest.mark.parametrize(
    ("continuation", "verdict", "contrastive"),
    [
        ("sleep all day.", "kept", "sleeps all day."),
        ("sleep.", "dropped", None),  # another word than "sleep"
        ("slept well.", "dropped", None),
        ("", "dropped", None),
    ],
)
def test_an_own_continuation_is_kept_if_it_begins_with_the_right_words(
    pairs: Path, continuation: str, verdict: str, contrastive: str | None
) -> None:
    tests = load(f"sentences:{pairs}?continued=yes")
    items = tests.items_of(MinimalPair, what_for="a test")
    first, second = machine_references(items, [Continuing(cats=continuation, dog="barks.")])
    assert first.verdict == verdict
    assert (first.pair.contrastive[0] if first.pair else None) == contrastive
    assert second.pair is not None
    assert (second.pair.correct, second.pair.contrastive) == ("barks.", ("bark.",))
    made = with_machine_references(tests, [Continuing(cats=continuation, dog="barks.")], seed=0)
    result = contrast(ToySystem(alphabet="abcdefghijklmnopqrstuvwxyzTA. ", limit=4), made, spread=0)
    (kept,) = (row for row in result.rows if row.name == "kept" and row.labels["phenomenon"] == "agreement")
    assert kept.estimate.value == (1.0 if verdict == "kept" else 0.5)
