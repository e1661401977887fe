"""Methods: found by name, checked before any work, run without files."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from babelscope.core.answers import Scored, Target
from babelscope.core.question import Asked
from babelscope.core.results import Estimate, Record, Row
from babelscope.methods.base import Method, Settings, Setup, find_method, method_names, set_up
from babelscope.methods.cells import make_cells
from babelscope.runs.execute import run_method
from babelscope.testsets import MinimalPair, ParallelSentence, TestSet
from babelscope.util.errors import BabelscopeError
from tests.support.toys import ToySystem

ITEMS = tuple(
    ParallelSentence(f"i{number}", f"a{number}", ("ab",), extra={"domain": "toy"}) for number in range(5)
)


class Weighted(Settings):
    weight: float = 1.0


def ask(systems: Mapping[str, Any], items: Sequence[Any], settings: Weighted, _seed: int) -> list[Record]:
    judged = systems["evaluator"].score([(item.source, item.references[0]) for item in items])
    return [{"weighted": (settings.weight * each.total,)} for each in judged]


def summarise(records: Sequence[Record], _settings: Weighted, seed: int) -> list[Row]:
    # A record is what would be read from a file: tuples are lists by now.
    assert all(isinstance(record["weighted"], list) for record in records)
    return [
        Row("sum", Estimate(math.fsum(record["weighted"][0] for record in records), -1e9, seed, len(records)))
    ]


WEIGHTED = Method(
    "weighted", "a method with two roles", ParallelSentence, Weighted, ask, summarise,
    {"system": ("translate",), "evaluator": ("score",)},
)  # fmt: skip


def test_a_method_may_need_a_second_system(toy_schemes: None) -> None:  # noqa: ARG001
    results = [
        run_method(WEIGHTED, ToySystem(), ITEMS, seed=3, chunk=2, evaluator=evaluator, weight=2)
        for evaluator in (ToySystem(salt="judge"), "toy:judge")
    ]
    assert results[0].rows == results[1].rows
    assert results[0].signature == results[1].signature
    assert results[0].rows[0].labels == {"method": "weighted", "system": "toy", "tests": "items"}
    assert results[0].config["methods"][0]["settings"] == {"weight": 2.0}
    other = run_method(WEIGHTED, ToySystem(), ITEMS, seed=3, chunk=2, evaluator=ToySystem(salt="x"), weight=2)
    assert other.signature != results[0].signature
    assert [record["id"] for record in other.records] == ["i0", "i1", "i2", "i3", "i4"]
    assert other.records[0]["extra"] == {"domain": "toy"}


def test_a_missing_role_or_capability_is_told_before_any_work() -> None:
    class Text:
        name = "text"
        fingerprint = ToySystem().fingerprint

        def translate(self, _sources: Sequence[str]) -> None:
            pytest.fail("asked before everything was checked")

    with pytest.raises(BabelscopeError, match="weighted needs evaluator, the name of a system"):
        run_method(WEIGHTED, ToySystem(), ITEMS)
    with pytest.raises(BabelscopeError, match="evaluator must be a system or the name of one, not 3"):
        run_method(WEIGHTED, ToySystem(), ITEMS, evaluator=3)
    with pytest.raises(
        BabelscopeError, match=r"weighted needs a system that gives log-probabilities.*text does not"
    ):
        run_method(WEIGHTED, ToySystem(), ITEMS, evaluator=Text())
    with pytest.raises(BabelscopeError, match="likelihood needs a system that gives"):
        run_method("likelihood", [ToySystem(), Text()], ITEMS)


def test_a_wrong_setting_is_told_with_what_was_meant() -> None:
    with pytest.raises(BabelscopeError, match="weighted: unknown key 'wait'; did you mean weight"):
        set_up(WEIGHTED, {"wait": 1, "evaluator": ToySystem()})
    with pytest.raises(BabelscopeError, match="weighted: weight: input should be a valid number"):
        set_up(WEIGHTED, {"weight": "much", "evaluator": ToySystem()})


def test_names_must_tell_systems_apart() -> None:
    with pytest.raises(BabelscopeError, match="two systems are called toy"):
        run_method("likelihood", [ToySystem(salt="1"), ToySystem(salt="2")], ITEMS)
    with pytest.raises(BabelscopeError, match="no system"):
        run_method("likelihood", [], ITEMS)


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ([], "made 0 records of 5 items"),
        ([{"id": "mine"}] * 5, "fills the field 'id'"),
        ([{"x": math.nan}] * 5, "the record of item 'i0' is not JSON text"),
        ([{"x": "\ud800"}] * 5, "the record of item 'i0' is not JSON text"),
    ],
)
def test_records_that_break_the_contract_are_refused(records: list[Record], told: str) -> None:
    bad = Method("bad", "", ParallelSentence, Settings, lambda *_: records, lambda *_: [])
    with pytest.raises(BabelscopeError, match=told):
        run_method(bad, ToySystem(), ITEMS)


class Busy(ToySystem):
    """Takes several calls at once, and answers none before it has so many."""

    at_once = 3

    def __init__(self) -> None:
        super().__init__()
        self.together = threading.Barrier(self.at_once, timeout=10)

    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        self.together.wait()
        return super().score(pairs)


def test_chunks_are_asked_at_once_where_all_systems_can() -> None:
    items = tuple(ParallelSentence(f"i{number}", f"a{number}", ("ab",)) for number in range(12))
    plain = run_method("likelihood", ToySystem(), items, chunk=1)
    busy = run_method("likelihood", Busy(), items, chunk=1)
    assert (busy.records, busy.to_json()) == (plain.records, plain.to_json())
    # The evaluator takes one call at a time, so nobody is asked from another thread.
    threads: set[str] = set()

    class Single(ToySystem):
        def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
            threads.add(threading.current_thread().name)
            return super().score(pairs)

    run_method(WEIGHTED, Busy(), items, chunk=1, evaluator=Single())
    assert threads == {threading.current_thread().name}


def test_skipped_items_are_counted_beside_the_figure() -> None:
    tests = TestSet("tests", ITEMS, {"empty source": 2, "empty reference": 1})
    assert run_method("likelihood", ToySystem(), tests).rows[0].counts["skipped"] == 3
    rows = [Row("x", Estimate.of_nothing(), counts={"skipped": 2})]
    own = Method("own", "", ParallelSentence, Settings, lambda *_: [{}] * 5, lambda *_: rows)
    assert run_method(own, ToySystem(), tests).rows[0].counts["skipped"] == 5


def test_methods_are_found_by_name_and_plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_method("likelihood").name == "likelihood"
    with pytest.raises(BabelscopeError, match=r"no method 'liklihood'; did you mean likelihood\?"):
        find_method("liklihood")
    info = tmp_path / "more-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: more\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        f"[babelscope.methods]\nweighted = {__name__}:WEIGHTED\nwrong = {__name__}:ITEMS\n"
        f"likelihood = {__name__}:WEIGHTED\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_method("weighted").name == "weighted"
    assert "weighted" in method_names()
    with pytest.raises(BabelscopeError, match="not a Method"):
        find_method("wrong")
    with pytest.raises(BabelscopeError, match="which is taken"):
        find_method("likelihood")


def test_a_method_judges_the_test_sets_that_fit_and_that_it_is_meant_for() -> None:
    systems = {"toy": ToySystem()}
    one, two = TestSet("one", ITEMS), TestSet("two", ITEMS[:2])
    pairs = TestSet("pairs", (MinimalPair("p", "a", "b", ("c",), "x", "human"),))
    of_all, of_two, of_pairs = (
        set_up(name, {}, label=label, tests=tests)
        for name, label, tests in (
            ("likelihood", "", ()),
            ("likelihood", "second", ("two",)),
            ("contrast", "", ()),
        )
    )

    def found(setups: list[Setup], tests: dict[str, TestSet]) -> list[tuple[str, str]]:
        return [(cell.setup.label, cell.tests_name) for cell in make_cells(setups, systems, tests, 0)]

    assert found([of_all, of_two, of_pairs], {"one": one, "two": two, "pairs": pairs}) == [
        ("likelihood", "one"), ("likelihood", "two"), ("second", "two"), ("contrast", "pairs")
    ]  # fmt: skip
    for setups, tests, told in (
        ([of_pairs], {"one": one}, r"contrast judges MinimalPair items, but .* \(one has ParallelSentence\)"),
        (
            [of_all],
            {"one": one, "pairs": pairs},
            "no method judges the MinimalPair items of the test set pairs",
        ),
        (
            [of_two],
            {"one": one, "two": two},
            "no method judges the ParallelSentence items of the test set one",
        ),
        ([of_two], {"one": one}, "second is for a test set 'two', but there are one"),
    ):
        with pytest.raises(BabelscopeError, match=told):
            make_cells(setups, systems, tests, 0)
