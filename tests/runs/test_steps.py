"""Steps of a study: test sets that it makes, files that it writes, methods for some systems only."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import pytest

from babelscope.making.pairs import make_pairs
from babelscope.runs.study import Study, run_study
from babelscope.testsets import load
from babelscope.util.errors import BabelscopeError

SENTENCES = ["Der Mann kommt nicht .", "Die Frau liest das Buch nicht .", "Er schläft ."]
SOURCES = ["The man does not come .", "The woman does not read the book .", "He sleeps ."]
TYPE = "polarity_particle_nicht_del"
OUTPUTS: list[dict[str, str]] = [
    {"file": "tables/first.tex"},
    {"file": "differences.md", "name": "differences", "method": "contrast"},
    {"file": "first.csv", "tests": "pairs"},
    {"file": "first.html", "method": "contrast"},
    {"file": "chart.pdf", "show": "figure"},
    {"file": "chart.svg", "show": "figure", "method": "contrast", "tests": "pairs"},
    {"file": "rows.csv", "show": "rows"},
    {"file": "records.csv", "show": "records"},
]


def tables(**changed: Any) -> dict[str, Any]:
    made = {"name": "negation", "type": [TYPE], "source": "in.en", "reference": "in.de"}
    return {
        "systems": [{"name": "one", "spec": "toy:1"}, {"name": "two", "spec": "toy:2"}],
        "make": [made],
        "tests": [
            {"name": "pairs", "spec": "made:negation"},
            {"name": "text", "spec": "parallel:in.en,in.de"},
        ],
        "methods": [
            {"name": "contrast", "detect_in_output": "no"},
            {"name": "likelihood", "systems": ["two"]},
        ],
        "outputs": OUTPUTS,
        **changed,
    }


def run(folder: Path, **changed: Any) -> Any:
    return run_study(Study.model_validate(tables(**changed)), out=folder)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toy_schemes: None) -> Path:  # noqa: ARG001
    (tmp_path / "in.en").write_text("".join(f"{line}\n" for line in SOURCES))
    (tmp_path / "in.de").write_text("".join(f"{line}\n" for line in SENTENCES))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_study_makes_its_tests_and_writes_what_a_paper_needs(here):
    result = run(here / "one")
    pairs = list(make_pairs([TYPE], SOURCES, SENTENCES))
    assert len(pairs) == 2
    assert list(load("one/tests/negation.jsonl")) == pairs
    stored = json.loads((here / "one/manifest.json").read_text())["tests"]["pairs"]
    assert stored["digest"] == load("one/tests/negation.jsonl").digest
    assert stored["spec"] == "made:negation"
    asked = {
        (row.labels["method"], row.labels["system"]) for row in result.rows if "against" not in row.labels
    }
    assert asked == {("contrast", "one"), ("contrast", "two"), ("likelihood", "two")}

    tex = (here / "one/tables/first.tex").read_text()
    assert tex.count(r"\begin{tabular}") == 2
    assert "p\\_holm" in tex or "p_holm" in (here / "one/differences.md").read_text()
    assert "likelihood" not in (here / "one/first.html").read_text().split("<code>")[0]
    assert (here / "one/chart.pdf").read_bytes().startswith(b"%PDF")
    with open(here / "one/rows.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == [row.name for row in result.rows]
    assert [row["value"] for row in rows] == [
        "" if (value := row.as_json()["value"]) is None else str(value) for row in result.rows
    ]
    with open(here / "one/records.csv", newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == [record["id"] for record in result.records]


def test_two_runs_write_the_same_bytes(here):
    for name in ("one", "two", "two"):  # the third resumes the second, and writes again
        run(here / name)
    for output in OUTPUTS:
        assert (here / "one" / output["file"]).read_bytes() == (here / "two" / output["file"]).read_bytes()


def test_the_systems_of_a_method_are_in_the_signature(here):
    methods = [{"name": "likelihood", "systems": ["two", "one"]}, {"name": "contrast"}]
    some = run(here / "some", outputs=[]).signature
    assert run(here / "all", outputs=[], methods=methods).signature != some


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"methods": [{"name": "contrast", "systems": ["tow"]}]}, "is for a system 'tow'; did you mean two"),
        ({"tests": [{"spec": "made:negatoin"}]}, "made by no .*; did you mean negation"),
        ({"tests": [{"spec": "parallel:in.en,in.de"}]}, "nothing uses the test set negation"),
        ({"make": [{"name": "../x", "type": [TYPE], "source": "a", "reference": "b"}]}, "name"),
        ({"make": [tables()["make"][0]] * 2}, "two make are called 'negation'"),
        *(
            ({"outputs": [{"file": file, **more}]}, told)
            for file, more, told in (
                ("/tmp/x.tex", {}, "must be a path in the run folder"),
                ("../x.tex", {}, "must be a path in the run folder"),
                ("a/../../x.tex", {}, "must be a path in the run folder"),
                ("~/x.tex", {}, "must be a path in the run folder"),
                ("x.pdf", {}, "ends in .tex"),
                ("manifest.json", {"show": "rows"}, "ends in .csv"),
                ("report.html", {}, "run folders use themselves"),
                ("tests/a.csv", {}, "run folders use themselves"),
                ("x.csv", {"show": "rows", "name": "x"}, "leave name, method and tests out"),
            )
        ),
        ({"outputs": [OUTPUTS[0], OUTPUTS[0]]}, "two outputs are called"),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(here, changed, told):
    with pytest.raises(ValueError, match=told):
        run(here / "run", **changed)
    assert not (here / "run").exists()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"outputs": [{"file": "x.tex", "name": "nope"}]},
            r"outputs\[0\]: there is no table 'nope' here; there are",
        ),
        (
            {"outputs": [{"file": "x.tex", "method": "space"}]},
            "there is no space on .*; there are contrast on",
        ),
        ({"make": [{**tables()["make"][0], "type": ["nope"]}]}, r"make\[0\]: .*nope"),
        ({"make": [{**tables()["make"][0], "source": "gone"}]}, r"make\[0\]: .*gone"),
        (
            {"make": [{**tables()["make"][0], "type": ["clause_omission"]}]},
            r"make\[0\]: the test set negation has no items",
        ),
    ],
)
def test_what_goes_wrong_is_told_with_its_place(here, changed, told):
    with pytest.raises(BabelscopeError, match=told):
        run(here / "run", **changed)


@pytest.mark.parametrize("link", ["chart.pdf", "tables", "tests"])
def test_a_link_in_the_run_folder_is_not_followed(here, link):
    run(here / "run", outputs=[])
    (here / "elsewhere").mkdir()
    if (here / "run" / link).is_dir():
        os.rename(here / "run" / link, here / "moved")
    (here / "run" / link).symlink_to(here / "elsewhere" / ("x" if "." in link else ""))
    with pytest.raises(BabelscopeError, match="is a link or lies behind one"):
        run(here / "run")
    assert not list((here / "elsewhere").iterdir())
