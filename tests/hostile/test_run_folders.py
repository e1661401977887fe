"""A stranger's run folder is judged again without opening what it names, unless the command line names it too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.commands import files
from tests.support.sealing import seal
from tests.support.toy_fixtures import Babelscope


@pytest.fixture
def run(babelscope: Babelscope, tmp_path: Path) -> Path:
    (tmp_path / "challenge.jsonl").write_text(files()["challenge.jsonl"])
    asked = (
        "challenge",
        "--tests",
        "challenge.jsonl",
        "--system",
        "lab:teacher",
        "--set",
        "matched_corpora=2",
    )
    assert babelscope(*asked, "--out", "run").code == 0
    (tmp_path / "secret").write_text("no parser")
    return tmp_path / "run"


def change(run: Path, **settings: Any) -> None:
    told = json.loads((run / "manifest.json").read_text())
    told["methods"]["challenge"]["settings"].update(settings)
    (run / "manifest.json").write_text(json.dumps(told))
    seal(run)


@pytest.mark.parametrize("spec", ["udpipe:secret", "spacy:secret", "stanza:en", "udpipe:http://127.0.0.1:1/"])
def test_a_parser_that_it_names_is_not_opened(babelscope, run, spec):
    change(run, target_parser=spec, target_language="de")
    ran = babelscope("challenge", "--rejudge", "run")
    assert (ran.code, ran.out) == (2, "")
    assert f"{spec!r}, by which a run was judged, is not opened because only a run folder names it" in ran.err
    assert "set --target-parser" in ran.err


def test_a_parser_of_the_command_line_is_opened(babelscope, run):
    pytest.importorskip("ufal.udpipe")
    change(run, target_parser="udpipe:other")
    ran = babelscope("challenge", "--rejudge", "run", "--target-parser", "udpipe:secret")
    assert (ran.code, "secret is no UDPipe model" in ran.err) == (2, True), ran.err


@pytest.mark.parametrize(("name", "value"), [("metrics", ["cmd:touch ran"]), ("tokenize", "spm:secret")])
def test_other_programs_and_files_that_it_names_are_not_opened(babelscope, run, name, value):
    change(run, **{name: value})
    ran = babelscope("challenge", "--rejudge", "run")
    assert (ran.code, "because only a run folder names it" in ran.err) == (2, True), ran.err
    assert not (run.parent / "ran").exists()


def test_a_setting_that_was_edited_ends_in_a_sentence(babelscope, run):
    change(run, beam="x")
    ran = babelscope("challenge", "--rejudge", "run")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "the manifest of the run is damaged: the setting beam = 'x' is not valid" in ran.err
