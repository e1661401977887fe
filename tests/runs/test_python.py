"""Methods as functions, results as objects, and finished runs read again."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import babelscope as bs
from babelscope.methods.registry import find_method, method_names
from babelscope.runs.python import function_of
from babelscope.runs.schema import schema
from babelscope.testsets import MinimalPair, ParallelSentence
from tests.support.toys import ToySystem

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "run-folder.schema.json"
HOSTILE = "<script>alert(1)</script>\u202e"
PAIRS = [MinimalPair(f"p{n}", "ab ca"[: 2 + n], "ab", ("bb",), HOSTILE, "human") for n in range(4)]
SENTENCES = [ParallelSentence(f"s{n}", "ab"[: 1 + n % 2], ("ab",)) for n in range(4)]


@pytest.mark.parametrize("name", method_names())
def test_the_signature_is_that_of_the_settings(name):
    method, function = find_method(name), function_of(name)
    parameters = inspect.signature(function).parameters
    assert list(parameters)[:2] == ["systems", "tests"]
    for setting, field in method.Settings.model_fields.items():
        shown = parameters[setting]
        assert shown.kind is inspect.Parameter.KEYWORD_ONLY
        assert (shown.default is inspect.Parameter.empty) == field.is_required()
    assert {role for role in method.requires if role != "system"} <= parameters.keys()
    assert not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    _, _, arguments = str(function.__doc__).rpartition("\nsystems: ")
    documented = [line.partition(": ")[0] for line in f"systems: {arguments}".split("\n")]
    assert [name for name in documented if name in parameters] == list(parameters)


@pytest.mark.usefixtures("toy_schemes")
def test_systems_and_tests_are_specs_objects_or_named(tmp_path):
    (tmp_path / "in").write_text("a b\nb\n")
    (tmp_path / "out").write_text("ab\nb\n")
    spec = f"parallel:{tmp_path / 'in'},{tmp_path / 'out'}"
    one = bs.likelihood("toy:1", spec)
    assert one.rows == bs.likelihood(bs.open_system("toy:1"), bs.load(spec)).rows
    sets: dict[str, Any] = {"x": spec, "y": SENTENCES}
    named = bs.likelihood({"old": "toy:1", "new": ToySystem("toy:2", salt="2")}, sets)
    assert {
        (row.labels["system"], row.labels["tests"]) for row in named.rows if "against" not in row.labels
    } == {(system, tests) for system in ("old", "new") for tests in ("x", "y")}
    with pytest.raises(bs.BabelscopeError, match="two systems are called toy:1"):
        bs.likelihood(["toy:1", "toy:1"], spec)
    with pytest.raises(bs.BabelscopeError, match="no system"):
        bs.likelihood([], spec)
    with pytest.raises(bs.BabelscopeError, match="no system"):
        bs.likelihood({}, spec)
    with pytest.raises(bs.BabelscopeError, match="nonsense"):
        bs.likelihood("nonsense", spec)
    with pytest.raises(bs.BabelscopeError, match="did you mean references"):
        bs.likelihood("toy:1", spec, reference="all")


def test_a_run_is_read_as_it_was_computed(tmp_path):
    systems = [ToySystem("toy:1"), ToySystem("toy:2", salt="2")]
    made = bs.contrast(systems, PAIRS, out=tmp_path / "run")
    read = bs.open_run(tmp_path / "run")
    assert (read.rows, read.records, read.comparisons) == (made.rows, made.records, made.comparisons)
    assert read.comparisons
    assert (read.signature, str(read), read.to_json()) == (made.signature, str(made), made.to_json())
    assert read.table("latex", "differences") == made.table("latex", "differences")
    assert bs.contrast(systems, PAIRS).rows == made.rows
    with pytest.raises(bs.BabelscopeError, match="not a run folder"):
        bs.open_run(tmp_path)


def test_data_frames_have_the_columns_of_json(tmp_path):
    made = bs.contrast(ToySystem(), PAIRS, out=tmp_path / "run")
    frame = bs.rows(tmp_path / "run")
    assert frame.equals(made.to_pandas())
    assert list(frame["name"]) == [row.name for row in made.rows]
    assert frame["value"].dtype == float
    assert frame["n"].dtype == int
    assert set(frame.columns) == {key for row in made.rows for key in row.as_json()}
    assert list(bs.records(made)["verdict"]) == [record["verdict"] for record in made.records]


def test_without_pandas_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(bs.BabelscopeError, match="pip install pandas"):
        bs.likelihood(ToySystem(), SENTENCES).to_pandas()


def test_a_result_prints_its_summary_and_escapes_what_it_shows():
    made = bs.contrast(ToySystem(), PAIRS)
    assert "Warnings:" in str(made)
    assert ".to_pandas()" in str(made)
    assert "--" not in str(made).rpartition("all ")[2]
    html = made._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    for text in (html, str(made)):
        assert "\u202e" not in text
    assert len(html) < 20_000


@pytest.mark.parametrize("method", ["contrast", "likelihood", "quality"])
def test_real_runs_fit_the_published_schema(tmp_path, method):
    assert SCHEMA.read_text() == schema(), f"run: python -m babelscope.runs.schema > {SCHEMA}"
    found = json.loads(schema())
    items = PAIRS if method == "contrast" else SENTENCES
    bs.run_method(method, [ToySystem("toy:1"), ToySystem("toy:2", salt="2")], items, out=tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    records = [json.loads(line) for line in (tmp_path / "records.jsonl").read_text().splitlines()]
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    valid = {
        "Manifest": [manifest],
        "Row": [*summary["rows"], *summary["comparisons"]],
        "Record": records,
    }
    broken = {
        "Manifest": [{**manifest, "format": 2}],
        "Row": [{**summary["rows"][0], "value": "0.5"}, {"name": "x"}],
        "Record": [{**records[0], "item": "first"}, {}],
    }
    for name, instances in valid.items():
        assert instances
        validator = jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": found["$defs"]})
        assert not [error.message for each in instances for error in validator.iter_errors(each)]
        assert all(not validator.is_valid(each) for each in broken[name])
