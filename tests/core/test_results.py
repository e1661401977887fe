"""Figures, their signature, and what changes it: everything that can change a number, and nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.core.results import Estimate, Result, Row, differences, record_line, signature
from babelscope.methods.base import set_up
from babelscope.methods.jobs import config_of
from babelscope.testsets import ParallelSentence, TestSet, load
from babelscope.util.errors import BabelscopeError
from tests.support.toys import ToySystem

TESTS = TestSet("tests", (ParallelSentence("1", "a b", ("ab", "c")), ParallelSentence("2", "b", ("b",))))


def config(**changes: Any) -> dict[str, Any]:
    """A configuration with two methods, a system in a second role, and two systems."""
    one, two = set_up("likelihood", {}), set_up("likelihood", {"references": "first"})
    whole = config_of([one, two], {"a": ToySystem(), "b": ToySystem(salt="x")}, {"t": TESTS}, seed=3, chunk=8)
    whole["methods"][1] = {
        **whole["methods"][1],
        "roles": {"evaluator": ToySystem(salt="y").fingerprint.as_json()},
    }
    return {**whole, **changes}


@pytest.mark.parametrize(
    ("value", "low", "high", "n"),
    [
        (2.0, 0.0, 1.0, 5),
        (-1.0, 0.0, 1.0, 5),
        (math.nan, 0.0, 1.0, 5),
        (0.5, math.nan, 1.0, 5),
        (0.5, 0, 1, -1),
    ],
)
def test_an_estimate_lies_in_its_interval(value, low, high, n):
    with pytest.raises(BabelscopeError, match=r"interval|items"):
        Estimate(value, low, high, n)


def test_an_estimate_of_nothing_is_null():
    assert Estimate.empty().as_json() == {"value": None, "low": None, "high": None, "n": 0}


def test_a_row_is_one_flat_object():
    row = Row("accuracy", Estimate(0.5, 0.25, 0.75, 8), {"system": "a", "distance": 3}, {"ties": 1})
    assert list(row.as_json().items()) == [
        ("name", "accuracy"),
        ("system", "a"),
        ("distance", 3),
        ("value", 0.5),
        ("low", 0.25),
        ("high", 0.75),
        ("n", 8),
        ("ties", 1),
    ]


@pytest.mark.parametrize("labels", [{"n": "x"}, {"ties": "x"}])
def test_a_row_loses_no_field_to_another_of_its_name(labels):
    with pytest.raises(BabelscopeError, match="two fields with the same name"):
        Row("accuracy", Estimate(0.5, 0.25, 0.75, 8), labels, {"ties": 1})


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every leaf; an empty table or list is one too."""
    inner = list(
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    if not inner:
        yield path
    for key, each in inner:
        yield from leaves(each, (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


def at_path(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def shuffled(value: Any) -> Any:
    """The same JSON value with its keys in another order."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    return [shuffled(each) for each in value] if isinstance(value, list) else value


CONFIG = config()
PATHS = list(leaves(CONFIG))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: ".".join(map(str, path)))
def test_every_leaf_of_a_configuration_is_in_the_signature(path):
    old = at_path(CONFIG, path)
    new = f"{old}x" if isinstance(old, str) else old + 1 if isinstance(old, int) else {"more": 1}
    assert signature(changed(CONFIG, path, new)) != signature(CONFIG)


texts = st.text("ab1|: é\n☃", max_size=4)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
)


@given(st.dictionaries(texts, values, max_size=4), st.data())
def test_changing_any_setting_changes_the_signature(settings, data):
    whole = {**CONFIG, "methods": [{"name": "m", "settings": settings, "roles": {}}]}
    path = data.draw(st.sampled_from(list(leaves(settings))))
    old = at_path(settings, path)
    new: Any = data.draw(scalars.filter(lambda new: json.dumps(new) != json.dumps(old)))
    if not path:
        new = {"a setting": new}
    other = changed(whole, ("methods", 0, "settings", *path), new)
    assert signature(other) != signature(whole)
    assert differences(whole, other)
    assert signature(shuffled(whole)) == signature(whole)
    assert not differences(whole, shuffled(whole))


def test_names_and_places_are_not_in_the_signature(tmp_path):
    whole = []
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
        path = tmp_path / place / f"{place}.jsonl"
        TESTS.write(path)
        system = ToySystem(place, log=tmp_path / place / "log")
        whole.append(
            config_of([set_up("likelihood", {})], {"s": system}, {"t": load(str(path))}, seed=0, chunk=4)
        )
    assert signature(whole[0]) == signature(whole[1])


def test_a_signature_can_be_read_and_pasted():
    line = signature(CONFIG)
    assert "\n" not in line
    assert line.startswith("likelihood|references:all|likelihood|references:first")
    assert "|seed:3|v:" in line
    long = config(methods=[{"name": "m", "settings": {"prompt": "a|b\n" * 99, "flag": True}, "roles": {}}])
    assert signature(long).startswith("m|flag:true|prompt:")
    assert len(signature(long)) < 150


def test_differences_name_the_leaf():
    other = changed(CONFIG, ("methods", 0, "settings", "references"), "first")
    assert differences(CONFIG, other) == ['methods[0].settings.references: "all" there, "first" here']
    assert differences(CONFIG, {**CONFIG, "systems": []}) == ["systems: 2 there, 0 here"]


def test_a_result_prints_as_a_table_and_cannot_steer_the_terminal():
    rows = [
        Row(
            "accuracy", Estimate(0.5, 0.25, 0.75, 8), {"system": "\x1b[31m[bold]"}, {"ties": 1, "skipped": 0}
        ),
        Row("accuracy", Estimate.empty(), {"system": "x" * 300}),
    ]
    printed = str(Result(CONFIG, rows))
    assert "\x1b" not in printed
    assert "[bold]" in printed
    assert "x" * 300 in printed
    assert "[0.25, 0.75]" in printed
    assert "ties" in printed
    assert "skipped" not in printed
    assert printed.endswith(signature(CONFIG))


def test_a_result_as_json_has_rows_and_signature():
    read = json.loads(Result(CONFIG, [Row("x", Estimate(1, 0, math.inf, 1))]).to_json())
    assert read["signature"] == signature(CONFIG)
    assert len(read["sha256"]) == 64
    assert read["rows"] == [{"name": "x", "value": 1.0, "low": 0.0, "high": None, "n": 1}]


@pytest.mark.parametrize("value", [math.nan, math.inf, "\ud800", {1, 2}])
def test_what_is_not_json_text_is_refused_by_name(value):
    with pytest.raises(BabelscopeError, match="item '7'"):
        record_line({"id": "7", "value": value})
