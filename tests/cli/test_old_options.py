"""Former names of options and settings: understood for one more version, told once, and never shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from babelscope import contrast, load
from babelscope.cli import app
from babelscope.methods.base import find_method, method_names, restore_settings, set_up
from babelscope.runs.manifest import read_manifest
from babelscope.testsets import MinimalPair
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope
from tests.support.toys import ToySystem

# Old name -> new name, by command.
OPTIONS = {
    "condition": {"base": "score-base", "equal": "tied-weights", "least": "show-uncertain"},
    "contrast": {"free": "detect-in-output"},
    "space": {"mbr": "mbr-samples", "quality": "metric", "from": "rejudge"},
    "challenge": {"draws": "matched-corpora", "apart": "length-tolerance"},
    "patterns winomt": {
        "rules": "gender-rules",
        "rounding": "intermediate-rounding",
        "pro": "stereotypical",
        "anti": "anti-stereotypical",
    },
    "patterns mucow": {"rules": "word-matching"},
    "patterns flow": {"out": "to"},
    "agreement": {"quirk": "published-flaw", "out": "to"},
    "compare": {"on": "covariate", "out": "to"},
    "make cues": {"narrow": "max-candidates", "kept": "cues-per-sense", "out": "to"},
    "make challenge": {
        "rules": "dependency-rules",
        "reordering": "min-displacement",
        "side": "parsed-side",
        "out": "to",
    },
    **{
        name: {"out": "to"}
        for name in (
            "translate",
            "sample",
            "score",
            "systems",
            "correlate",
            "report",
            "make pairs",
            "make audit",
            "make machine-references",
        )
    },
}


def write_pairs(folder: Path) -> None:
    pair = MinimalPair("1", "a", "ab", ("ba",), "p", "human")
    (folder / "pairs.jsonl").write_text(json.dumps(pair.as_json()) + "\n")


def leaf(name: str):
    found: Any = get_command(app)
    for word in name.split():
        found = found.commands[word]
    return found


@pytest.mark.parametrize("name", OPTIONS)
def test_an_old_name_is_read_as_the_new_one_and_told_once(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = leaf(name)
    flags = {flag for each in command.params for flag in each.opts}
    for old, new in OPTIONS[name].items():
        assert f"--{new}" in flags, "the new name is an option"
        assert f"--{old}" not in flags, "the old one is no option of its own"
        given = [f"--{old}", "x", f"--{old}=y", "--", f"--{old}"]
        end = given.index("--")
        read = command._with_new_names(given[:end])
        assert read == [f"--{new}", "x", f"--{new}=y"]
        told = capsys.readouterr().err
        assert told == f"babelscope: --{old} is now --{new}; the old name goes with the next version\n"


def test_no_old_name_is_missing_here() -> None:
    def walk(command, path):
        if hasattr(command, "commands"):
            for name in list(command.commands):
                yield from walk(command.commands[name], [*path, name])
        else:
            yield " ".join(path), getattr(command.callback, "babelscope_old_options", {})

    found = {
        name: {old[2:]: new[2:] for old, new in renamed.items()}
        for name, renamed in walk(get_command(app), [])
        if renamed
    }
    assert found == OPTIONS


def test_help_shows_new_names_only(babelscope: Babelscope) -> None:
    for name, renamed in OPTIONS.items():
        shown = babelscope(*name.split(), "--help").out
        for old, new in renamed.items():
            assert f"--{new}" in shown
            assert not re.search(rf"^ +--{old}(?![\w-])", shown, re.MULTILINE), (name, old)


def test_out_still_writes_the_file(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("a\nb\n")
    plain = babelscope("translate", "--system", "toy:1", "a.en").out
    ran = babelscope("translate", "--system", "toy:1", "a.en", "--out", "old")
    assert (ran.code, ran.out, (tmp_path / "old").read_text()) == (0, "", plain)
    assert "babelscope: --out is now --to;" in ran.err
    assert babelscope("translate", "--system", "toy:1", "a.en", "--to", "new").err == ""
    assert (tmp_path / "new").read_text() == plain
    # After `--`, what looks like an option is the name of a file.
    assert "--out: no such file" in babelscope("translate", "--system", "toy:1", "--", "--out").err


def test_old_and_new_names_give_the_same_figures_and_identity(babelscope: Babelscope, tmp_path: Path) -> None:
    write_pairs(tmp_path)
    asked = ("contrast", "--system", "toy:1", "--tests", "pairs.jsonl", "--json")
    old, new = (babelscope(*asked, f"--{name}", "no") for name in ("free", "detect-in-output"))
    assert (old.code, old.out) == (0, new.out)
    (signature,) = {row["signature"] for row in map(json.loads, new.out.splitlines()) if "signature" in row}
    assert "|free:no|" in signature, "the identity has the name that it always had"


@pytest.mark.parametrize("name", method_names())
def test_settings_by_old_names_are_the_same_settings(name: str) -> None:
    method = find_method(name)
    required = {"target": "de"} if name == "patterns_winomt" else {}
    settings = method.settings.model_validate(required)
    stored = settings.model_dump(mode="json")
    former = method.settings.signed(stored)
    renamed = method.settings.old_names.items()
    assert set(former) - set(stored) == {
        old for old, new in renamed if new not in method.settings.newly_signed
    }
    assert restore_settings(method, former) == restore_settings(method, stored) == settings
    assert method.settings.model_validate(former) == settings


def test_a_study_with_an_old_key_is_told_and_runs_the_same() -> None:
    with pytest.warns(UserWarning, match="condition: equal is now tied_weights"):
        old = set_up("condition", {"equal": "order", "evaluator": ToySystem("toy:1", salt="1")})
    new = set_up("condition", {"tied_weights": "order", "evaluator": ToySystem("toy:1", salt="1")})
    assert old.settings == new.settings
    assert old.config == new.config
    assert new.config["settings"]["equal"] == "order"


def test_both_names_at_once_are_refused() -> None:
    with (
        pytest.warns(UserWarning, match="free is now"),
        pytest.raises(BabelscopeError, match="detect_in_output is given twice: 'free' is its former name"),
    ):
        set_up("contrast", {"detect_in_output": "no", "free": "no"})


def test_a_run_folder_with_old_names_is_the_same_run(babelscope: Babelscope, tmp_path: Path) -> None:
    write_pairs(tmp_path)
    asked = ("contrast", "--tests", "pairs.jsonl", "--detect-in-output", "no", "--json")
    for name, system in (("new", "toy:1"), ("old", "toy:1"), ("other", "toy:2")):
        assert babelscope(*asked, "--system", system, "--out", name).code == 0
    for name in ("old", "other"):
        path = tmp_path / name / "manifest.json"
        manifest = json.loads(path.read_text())
        settings = manifest["methods"]["contrast"]["settings"]
        settings["free"] = settings.pop("detect_in_output")
        path.write_text(json.dumps(manifest))
    assert read_manifest(tmp_path / "old").methods == read_manifest(tmp_path / "new").methods
    again, right = (
        babelscope("contrast", "--rejudge", name, "--ties", "wrong", "--json") for name in ("old", "new")
    )
    assert (again.code, again.out) == (0, right.out)
    compared = babelscope("compare", "other", "new")
    assert (compared.code, compared.err) == (0, "")


def test_the_library_understands_old_names(tmp_path: Path) -> None:
    write_pairs(tmp_path)
    tests = load(str(tmp_path / "pairs.jsonl"))
    with pytest.warns(UserWarning, match="contrast: free is now detect_in_output"):
        old = contrast(ToySystem("toy:1", salt="1"), tests, free="no")
    assert old.signature == contrast(ToySystem("toy:1", salt="1"), tests, detect_in_output="no").signature
