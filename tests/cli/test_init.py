"""`babelscope run --init`: what it writes runs as it is, and shows every setting with its default."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from babelscope.cli.init import Key, keys_of
from babelscope.methods.registry import find_method, method_names
from babelscope.runs.study import SystemEntry
from tests.support.toy_fixtures import Babelscope


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a b\nb c\nca\n")
    (tmp_path / "out.txt").write_text("ab\nc\ncc\n")


def test_what_is_written_runs(babelscope: Babelscope, tmp_path: Path) -> None:
    named = ("--system", "toy:1", "--system", 'toy:"2"', "--tests", "parallel:in.txt,out.txt")
    ran = babelscope("run --init", *named, "mine.toml")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "wrote mine.toml; check it, then run: babelscope run mine.toml\n"
    ran = babelscope("run", "mine.toml", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert '"toy:\\"2\\""' in ran.out
    assert (tmp_path / "runs" / "mine" / "report.html").exists()


def test_with_nothing_named_the_lab_is_judged(babelscope: Babelscope, tmp_path: Path) -> None:
    assert babelscope("run --init study.toml").code == 0
    study = tmp_path / "study.toml"
    study.write_text(re.sub(r"n=\d+", "n=2", study.read_text()))
    ran = babelscope("run", "study.toml", "--json")
    assert (ran.code, ran.err) == (0, "")
    for name in ("contrast", "condition", "likelihood"):
        assert f'"method": "{name}"' in ran.out


@pytest.mark.parametrize("name", method_names())
def test_every_default_can_be_uncommented(babelscope: Babelscope, tmp_path: Path, name: str) -> None:
    chat = "openai:http://localhost:8000/v1#model?source=English&target=German"
    system = chat if name == "prompted_choice" else "lab:student"
    item = {
        "id": "1",
        "source": "The cook ate.",
        "correct_sources": ["a"],
        "incorrect_sources": ["b"],
        "category": "c",
    }
    known = {"lemmas": ["koch"], "wrong_lemmas": ["dieb"], "index": 1, "occupation": "cook", "gold": "male"}
    (tmp_path / "words.jsonl").write_text(json.dumps({**item, **known}))
    languages = {"source_language": "en", "target_language": "de"}
    rules = {"id": "1", "source": "The cook ate.", **languages, "rules": [{"require": "Koch"}]}
    (tmp_path / "rules.jsonl").write_text(json.dumps(rules))
    file = (
        "words.jsonl" if name.startswith("patterns") else "rules.jsonl" if name in ("rules", "judged") else ""
    )
    tests = ("--tests", file) if file else ()
    assert babelscope("run --init study.toml", "--system", system, "--method", name, *tests).code == 0
    text = (tmp_path / "study.toml").read_text()
    study = tomllib.loads(re.sub(r"(?m)^#(?=\w+ = \S)", "", text))
    (method,) = study["methods"]
    assert SystemEntry.model_validate(study["systems"][0]).model_fields_set == SystemEntry.model_fields.keys()
    defaults = {
        each.name: tomllib.loads(f"v = {each.default}")["v"] for each in _settings(name) if each.default
    }
    assert {key: value for key, value in method.items() if key in defaults} == defaults
    for each in _settings(name):
        shown = rf"(?m)^# .*\n{'' if each.required else '#'}{each.name} ="
        assert re.search(shown, text), f"{name} does not show {each.name}"
    if not any(each.required for each in _settings(name)):
        find_method(name).Settings.model_validate(defaults)


def _settings(name: str) -> list[Key]:
    return keys_of(find_method(name).Settings)


def test_a_file_is_not_overwritten(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text("mine")
    ran = babelscope("run --init study.toml")
    assert (ran.code, ran.err) == (
        2,
        "babelscope: error: study.toml exists; choose another file\n",
    )
    assert (tmp_path / "study.toml").read_text() == "mine"


@pytest.mark.parametrize(
    ("named", "told"),
    [
        (("--system", "toi:1"), "'toi:1' names no system"),
        (("--system", "file:out.txt", "--method", "likelihood"), "likelihood needs systems with score"),
        (
            ("--system", "file:out.txt", "--method", "condition"),
            "condition needs a system as evaluator with score",
        ),
        (("--method", "contrasts"), "did you mean contrast?"),
        (("--tests", "on.jsonl"), "on.jsonl: no such file"),
        (("--tests", "parallel:in.txt,out.txt", "--method", "contrast"), "contrast judges MinimalPair items"),
    ],
)
def test_what_would_not_run_is_not_written(
    babelscope: Babelscope, tmp_path: Path, named: tuple[str, ...], told: str
) -> None:
    ran = babelscope("run --init study.toml", *named)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "study.toml").exists()


def test_paths_are_those_that_the_study_will_find(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    named = ("--system", "toy:1", "--tests")
    assert babelscope("run --init", *named, "parallel:in.txt,out.txt", "studies/a.toml").code == 2
    assert babelscope("run --init", *named, "parallel:../in.txt,../out.txt", "studies/a.toml").code == 0
    assert babelscope("run", "studies/a.toml", "--no-report").code == 0


def test_a_system_without_scores_is_judged_by_its_output(babelscope: Babelscope) -> None:
    named = ("--system", "mine=file:out.txt", "--tests", "parallel:in.txt,out.txt")
    assert babelscope("run --init", *named, "mine.toml").code == 0
    ran = babelscope("run", "mine.toml", "--json")
    assert ran.code == 0, ran.err
    assert '"method": "quality"' in ran.out
    assert '"method": "likelihood"' not in ran.out
