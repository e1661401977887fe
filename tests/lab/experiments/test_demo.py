"""The demo: what it is of, what it says to look at, and that it says so where an effect did not appear."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from babelscope.core.comparison import Comparison, SystemResult
from babelscope.core.results import Record, Result
from babelscope.lab.experiments.demo import (
    APART,
    GENDER,
    PAIRS,
    SOME,
    SYSTEMS,
    demo_study,
    modes_by_length,
    what_to_look_at,
    write_flows,
)
from babelscope.lab.grammar.corpus import as_written, make_corpus
from babelscope.lab.grammar.worlds import HARD
from babelscope.report.examples import Example, draw_examples
from babelscope.report.summary import summarize
from babelscope.runs.study import run_study
from tests.support.results import comparison_of
from tests.support.toy_fixtures import Babelscope


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "run"


@pytest.fixture(scope="module")
def result(folder: Path) -> Result:
    return run_study(demo_study(n=10), out=folder)


def changed(result: Result, tests: str, change: Callable[[str, Record], Record]) -> Result:
    """The result with the records of one test set changed; `change` gets the name of the system, too."""

    def with_changes(each: SystemResult) -> SystemResult:
        records = [change(each.name, record) for record in each.records]
        return dataclasses.replace(each, load=lambda: records)

    groups = [
        Comparison(each.method, each.tests, tuple(map(with_changes, each.results)))
        if each.tests == tests
        else each
        for each in result.groups
    ]
    return dataclasses.replace(result, groups=groups)


def test_every_system_is_asked_and_the_same_twice(result: Result, folder: Path) -> None:
    told = summarize(result, width=80)
    assert "4 systems; 5 test sets; 5 methods" in told
    assert {row.labels["system"] for row in result.rows if "system" in row.labels} >= set(SYSTEMS)
    assert run_study(demo_study(n=10), out=folder).to_json() == result.to_json()


def test_four_effects_each_with_an_item_or_that_it_did_not_appear(result: Result) -> None:
    found = what_to_look_at(result)
    assert len(found) == 4
    for each in found:
        assert "[" in each.figure, "an interval"
        assert " of " in each.figure, "and n"
        appeared = bool(each.lines)
        assert appeared != ("did not" in each.figure or "too few" in each.figure)
        assert appeared == bool(each.look)
    text = draw_examples(found, 80)
    assert max(map(len, text.split("\n"))) <= 80
    assert len(text.split("\n")) <= 54


def lost(result: Result) -> Example:
    return what_to_look_at(result)[0]


def test_what_was_lost_is_what_the_records_say(result: Result) -> None:
    records = next(each for each in result.groups if each.tests == GENDER).results[0].records
    chosen = records[3]["id"]

    def only_there(system: str, record: Record) -> Record:
        wrong = system == "student" and record["id"] == chosen
        sides = {"correct_logprob": -2.0 if wrong else -1.0, "incorrect_logprob": -1.5}
        return {**record, **sides, "verdict": "wrong" if wrong else "correct", "skipped": None}

    shown = lost(changed(result, GENDER, only_there))
    source = next(r["source"] for r in result.records if r["tests"] == GENDER and r["id"] == chosen)
    label, tokens = shown.lines[0]
    assert label == "source"
    assert not isinstance(tokens, str)
    assert "".join(token[0] for token in tokens) == source
    assert "teacher and control keep that, the student loses it; the grammar " in shown.look
    none = changed(result, GENDER, lambda _, each: {**each, "verdict": "correct", "skipped": None})
    assert f"it did not appear among {len(records)} items" in lost(none).figure
    other = {"correct": "wrong", "wrong": "correct"}
    untrusted = lost(changed(result, GENDER, lambda _, each: {**each, "verdict": other[each["verdict"]]}))
    assert "too few to show an item" in untrusted.figure, "the evaluator says the opposite of the grammar"
    assert not untrusted.lines


def found_by_beam(_: str, record: Record) -> Record:
    return {**record, "top": {**record["top"], "found": [record["best"]], "exact": True}}


@pytest.mark.parametrize(
    ("place", "tests", "change"),
    [
        (1, SOME, found_by_beam),
        (2, PAIRS, lambda _, record: {**record, "verdict": "correct"}),
        (3, APART, lambda _, record: {**record, "translation": record["references"][0]}),
    ],
)
def test_an_effect_that_did_not_appear_is_reported(
    result: Result, place: int, tests: str, change: Callable[[str, Record], Record]
) -> None:
    assert "It did not appear" in what_to_look_at(changed(result, tests, change))[place].figure


def test_the_flows_are_of_the_text_that_models_read(tmp_path: Path) -> None:
    make_corpus(tmp_path, 200, 1, world=HARD)
    written = [target for _, target in itertools.islice(as_written(HARD.pairs, 1, HARD), 200)]
    assert (tmp_path / "corpus.de").read_text().splitlines() == written
    write_flows(tmp_path, 10)
    flows = json.loads((tmp_path / "flows.json").read_text())
    assert {start.split("_")[1] for start, _, _ in flows if "_" in start} == {"data", "distilled"}


@pytest.mark.slow
def test_the_demo_command(babelscope: Babelscope) -> None:
    rows = babelscope("demo", "--n", "10", "--out", "run", "--json").rows
    assert {row.get("system") for row in rows} >= {"teacher", "student"}
    assert all({"name", "value", "low", "high", "n"} <= row.keys() for row in rows)
    again = babelscope("demo", "--n", "10", "--out", "run")
    assert len(again.out.split("\n")) <= 64
    assert "What to look at" in again.out


BEAM = "ein Haus steht hier"


def believed(
    text: str, logprob: float, *, bound: float | None = None, source: str = "a house", **fields: Any
) -> Record:
    found = [{"text": text, "logprob": logprob, **fields}]
    top = {"found": found, "exact": bound is None, "bound": bound}
    return {"source": source, "top": top, "best": {"text": BEAM, "logprob": -9.0}}


def test_empty_modes_are_first_then_short_ones_and_of_equals_those_of_short_sources() -> None:
    longer = believed("", -8.0, source="a house here")
    group = comparison_of(
        {
            "one": [believed("ein Haus", -3.0), longer, believed(BEAM, -9.0)],
            "two": [believed("", -5.0), believed("ein", -6.0)],
        }
    )
    found = [
        (system, each["top"]["found"][0]["text"], each["top"]["found"][0]["logprob"])
        for system, each in modes_by_length(group)
    ]
    assert found == [("two", "", -5.0), ("one", "", -8.0), ("two", "ein", -6.0), ("one", "ein Haus", -3.0)]


def test_only_proven_modes_are_shown_and_unknown_words_alone_are_not_empty() -> None:
    unproven, proven = believed("", -5.0, bound=-4.0), believed("", -5.0, bound=-6.0)
    assert modes_by_length(comparison_of({"one": [unproven, proven]})) == [("one", proven)]
    unknown, empty = believed("", -5.0, unknown=True), believed("", -8.5)
    assert [each for _, each in modes_by_length(comparison_of({"one": [unknown, empty]}))] == [empty, unknown]
