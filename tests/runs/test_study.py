"""A study file: what it says is run, and what it says wrong is told with file and key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from babelscope.runs.study import Study, read_study, run_study
from babelscope.util.errors import BabelscopeError

STUDY = """
[study]
name = "first"
seed = 4

[[systems]]
name = "one"
spec = "toy:1?log=questions.log"

[[systems]]
spec = "toy:2"

[[tests]]
name = "tiny"
spec = "parallel:source.txt,reference.txt"

[[methods]]
name = "likelihood"

[[methods]]
name = "likelihood"
label = "coarse"
references = "first"

[run]
chunk = 2
"""


@pytest.fixture
def study(tmp_path: Path, toy_schemes: None) -> Path:  # noqa: ARG001
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY)
    (folder / "source.txt").write_text("a b\nb c\nca\n")
    (folder / "reference.txt").write_text("ab\nc\ncc\n")
    return folder / "study.toml"


def rewrite(study: Path, old: str, new: str) -> Path:
    text = study.read_text()
    assert old in text
    study.write_text(text.replace(old, new, 1))
    return study


def test_every_method_runs_on_every_system(study):
    result = run_study(study)
    folder = study.parent / "runs" / "first"
    assert sorted(entry.name for entry in folder.iterdir()) == [
        "manifest.json",
        "records.jsonl",
        "summary.json",
    ]
    assert [(row.labels["method"], row.labels["system"], row.name) for row in result.rows[:8]] == [
        (method, system, figure)
        for system in ("one", "toy:2")
        for method in ("likelihood", "coarse")
        for figure in ("logprob", "perplexity")
    ]
    assert [(row.name, row.labels["against"]) for row in result.rows[8:]] == [("difference", "toy:2")] * 2
    lines = (folder / "records.jsonl").read_text().split("\n")[:-1]
    assert [json.loads(line) for line in lines] == list(result.records)
    assert (folder / "summary.json").read_text() == result.to_json()
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["signature"] == result.signature
    assert manifest["config"] == result.config
    assert manifest["systems"]["one"]["spec"] == "toy:1?log=questions.log"


def test_a_finished_study_asks_nothing_and_says_the_same(study):
    first = run_study(study)
    asked = (study.parent / "questions.log").read_bytes()
    summary = (study.parent / "runs" / "first" / "summary.json").read_bytes()
    assert run_study(study).rows == first.rows
    assert (study.parent / "questions.log").read_bytes() == asked
    assert (study.parent / "runs" / "first" / "summary.json").read_bytes() == summary


def test_it_can_be_run_from_anywhere_and_into_anywhere(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run_study(study.relative_to(tmp_path), out="elsewhere")
    assert (tmp_path / "elsewhere" / "summary.json").exists()
    assert Path.cwd() == tmp_path
    whole = Study.model_validate(
        {
            "systems": [{"spec": "toy:1"}],
            "tests": [{"spec": "parallel:study/source.txt,study/reference.txt"}],
            "methods": [{"name": "likelihood"}],
        }
    )
    rows = run_study(whole, out=tmp_path / "object", seed=4).rows
    assert [row.estimate for row in rows] == [row.estimate for row in result.rows[:2]]


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("seed = 4", "seed = 5", True),
        ("chunk = 2", "chunk = 3", True),
        ('references = "first"', 'references = "all"', True),
        ("toy:2", "toy:3", True),
        ("toy:2", "toy:2?limit=13", True),
        ('label = "coarse"', 'label = "rough"', False),
        ('name = "first"', 'name = "second"', False),
        ("chunk = 2", "chunk = 2\ncache = 'cache.sqlite'\nout = 'there'", False),
    ],
)
def test_what_can_change_a_number_changes_the_signature(study, old, new, changes):
    first = run_study(study)
    second = run_study(rewrite(study, old, new), out=study.parent / "second")
    assert (first.signature != second.signature) is changes


def test_the_reference_text_is_in_the_signature(study):
    first = run_study(study).signature
    (study.parent / "reference.txt").write_text("ab\nc\nca\n")
    with pytest.raises(BabelscopeError, match=r"config\.tests\[0\]\.digest"):
        run_study(study)
    assert run_study(study, out=study.parent / "second").signature != first


def test_the_cache_changes_no_number(study):
    plain = run_study(study)
    for out in ("cold", "warm"):
        stored = run_study(study, out=study.parent / out, cache=study.parent / "cache.sqlite")
        assert stored.rows == plain.rows
    assert (study.parent / "questions.log").read_text().count("\n") == 2 * 3 + 3  # twice plain, once cached


def test_the_paths_of_run_are_relative_to_the_study(study):
    rewrite(study, "chunk = 2", "cache = 'cache.sqlite'\nout = 'there'")
    assert run_study(study).folder == study.parent / "there"
    assert (study.parent / "cache.sqlite").exists()
    assert (study.parent / "there" / "summary.json").exists()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[study]", "[study", "not TOML"),
        ("seed = 4", "seed = 4\nseed = 5", "not TOML"),
        ("seed = 4", 'seed = "four"', r"study\.seed: input should be a valid integer"),
        ("seed = 4", "sead = 4", r"unknown key 'study\.sead'; did you mean seed\?"),
        ("chunk = 2", "chnk = 2", r"unknown key 'run\.chnk'; did you mean chunk\?"),
        ("chunk = 2", "chunk = 0", r"run\.chunk: input should be greater"),
        ('spec = "toy:2"', 'spce = "toy:2"', r"systems\.1\.spec|systems\.1\.spce"),
        ('spec = "toy:2"', 'spec = "toi:2"', r"systems\[1\]: .*did you mean toy:\?"),
        ('spec = "toy:2"', 'spec = "toy:2?lmit=3"', r"systems\[1\]: .*did you mean limit\?"),
        ('spec = "toy:2"', 'name = "one"\nspec = "toy:2"', "two systems are called 'one'"),
        ('label = "coarse"\n', "", "two methods are called 'likelihood'; give one another label"),
        ('name = "likelihood"', 'name = "likelyhood"', r"methods\[0\]: .*did you mean likelihood\?"),
        ('references = "first"', 'reference = "first"', r"methods\[1\]: .*did you mean references\?"),
        (
            'references = "first"',
            'references = "some"',
            r"methods\[1\]: likelihood: references: input should be",
        ),
        ("source.txt,", "sauce.txt,", r"tests\[0\]: .*sauce\.txt"),
        ("[[tests]]", "[[test]]", r"tests: field required|unknown key 'test'"),
        ('name = "first"', 'name = "../first"', "cannot name a folder"),
    ],
)
def test_a_mistake_is_told_with_file_and_key(study, old, new, told):
    with pytest.raises(BabelscopeError, match=rf"study\.toml: .*({told})"):
        run_study(rewrite(study, old, new))
    assert not (study.parent / "runs").exists()


@pytest.mark.parametrize("content", [b"\xff", b"[study]\nname = '\xed\xa0\x80'"])
def test_a_study_must_be_utf8(tmp_path, content):
    (tmp_path / "study.toml").write_bytes(content)
    with pytest.raises(BabelscopeError, match=r"study\.toml: not UTF-8"):
        read_study(tmp_path / "study.toml")


def test_capabilities_are_checked_before_any_work(study):
    (study.parent / "out.txt").write_text("ab\nc\ncc\n")
    rewrite(study, "toy:2", "file:out.txt?source=source.txt")
    with pytest.raises(
        BabelscopeError, match=r"needs a system that gives log-probabilities.*these do: hf:.*lab:"
    ):
        run_study(study)
    assert not (study.parent / "questions.log").exists()


@pytest.mark.usefixtures("toy_schemes")
def test_a_method_may_be_for_some_test_sets_only(tmp_path):
    """And that changes the signature, since it changes what was asked."""
    for name in ("one", "two"):
        (tmp_path / f"{name}.jsonl").write_text('{"id": "1", "source": "a", "reference": "ab"}\n')
    head = "[[systems]]\nspec = 'toy:a'\n"
    tests = "".join(f"[[tests]]\nname = '{name}'\nspec = '{name}.jsonl'\n" for name in ("one", "two"))
    texts = {
        "all": "[[methods]]\nname = 'likelihood'\n",
        "some": "[[methods]]\nname = 'likelihood'\n[[methods]]\nname = 'likelihood'\nlabel = 'x'\ntests = ['two']\n",
        "none": "[[methods]]\nname = 'likelihood'\ntests = ['three']\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.toml").write_text(head + tests + text)
    every = run_study(tmp_path / "all.toml")
    some = run_study(tmp_path / "some.toml")
    assert {(row.labels["method"], row.labels["tests"]) for row in some.rows} == {
        ("likelihood", "one"),
        ("likelihood", "two"),
        ("x", "two"),
    }
    assert every.signature != some.signature
    with pytest.raises(BabelscopeError, match="'three', but there are one, two"):
        run_study(tmp_path / "none.toml")
