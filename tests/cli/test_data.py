"""`babelscope data`: what it prints, and that it stays light."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from babelscope.cli.data import app
from babelscope.testsets.registry import RELEASES, SETS, sets_of
from babelscope.util.errors import BabelscopeError
from babelscope.util.published import MODELS


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BABELSCOPE_DATA", str(tmp_path))


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_list() -> None:
    rows = [json.loads(line) for line in run("list", "--json").splitlines()]
    assert [row["name"] for row in rows] == [*SETS, *RELEASES, *MODELS]
    (row,) = (row for row in rows if row["name"] == "distil-lingeval/clause_omission")
    assert (row["items"], row["source_language"], row["target_language"]) == (2129, "en", "de")
    assert row["present"] is False
    sets, _, models = run("list").partition("\n\n")
    named = [line.split()[0] for line in sets.splitlines() if not line.startswith(" ")]
    in_releases = {each for name in RELEASES for each in sets_of(name)}
    assert named == [*(name for name in SETS if name not in in_releases), *RELEASES]
    assert "sets: gate/es, gate/fr, gate/it" in sets
    head, _, names = models.partition("NAME is one of")
    assert "CC BY-NC-SA 4.0" in head
    assert [f"udpipe/{name}" for name in " ".join(names.split()).split(", ")] == [*MODELS]


def test_one_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BABELSCOPE_MIRROR", "http://mirror.example/")
    (line,) = run("show", "mucow-scoring/cs-en", "--json").splitlines()
    shown = json.loads(line)
    assert shown["license"] == "CC BY 4.0"
    (file,) = shown["files"]
    assert file["path"] == "mucow-scoring/cs-en.json"
    assert file["url"].startswith("http://mirror.example/Helsinki-NLP/MuCoW/")
    assert " " not in file["url"]
    assert len(file["sha256"]) == 64
    text = run("show", "distil-lingeval/np_agreement")
    assert "Vamvas" in text
    assert "never downloaded" in text
    release = json.loads(run("show", "gate", "--json"))
    assert (len(release["files"]), release["sets"]) == (10, ["gate/es", "gate/fr", "gate/it"])
    part = json.loads(run("show", "gate/data/FR/curly_apostrophe", "--json"))
    assert [file["path"].rpartition("/")[2] for file in part["files"]] == [
        "FR_2_variants.tsv",
        "FR_4_variants.tsv",
    ]


def test_echo_prints_a_side_of_a_test_set(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a b\tA\tB\nc\tC\tD\n")
    assert run("echo", f"tsv:{pairs}", "source") == "a b\nc\n"
    assert run("echo", f"tsv:{pairs}", "reference") == "A\nC\n"
    sentences = tmp_path / "s"
    sentences.write_text("a\n")
    with pytest.raises(BabelscopeError, match="item '1' of s has no reference"):
        run("echo", f"sources:{sentences}", "reference")


def test_get_tells_a_wrong_name_before_it_downloads(tmp_path: Path) -> None:
    with pytest.raises(BabelscopeError, match="'winmt' is no registered test set; did you mean winomt"):
        run("get", "winomt", "winmt")
    assert list(tmp_path.iterdir()) == []


def test_get_uses_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hashlib

    from babelscope.testsets import registry
    from babelscope.util.published import NamedSet, Project, PublishedFile, SetPart

    path = tmp_path / "toy" / "t.tsv"
    path.parent.mkdir()
    path.write_bytes(b"a\tb\n")
    known = PublishedFile("toy/t.tsv", "o/r/v/t.tsv", 4, hashlib.sha256(b"a\tb\n").hexdigest())
    unknown = PublishedFile("toy/u.tsv", "o/r/v/u.tsv")
    parts = tuple(SetPart(f.local, "tsv", f.local, 1, (f,)) for f in (known, unknown))
    toy = NamedSet("toy", "a toy", Project("o/r", ("en", "de"), "CC0", "Nobody."), parts)
    monkeypatch.setattr(registry, "SETS", {"toy": toy})
    rows = [json.loads(line) for line in run("get", "toy", "--json").splitlines()]
    assert [row["status"] for row in rows] == ["present", "missing"]
    found = {"name": "toy", "path": str(path), "status": "present", "license": "CC0"}
    assert rows[0] == {**found, "sha256": known.sha256, "git_blob": None}
    assert run("get", "toy").startswith(f"present    {path}\n")


def test_sources_go_through_a_program_and_its_output_is_judged(tmp_path: Path) -> None:
    """The pipe of docs/howto/publish.md, literally."""
    (tmp_path / "t.tsv").write_text("one\tEINS\ntwo\ttwo\n")
    command = (
        'babelscope() { "$PYTHON" -P -m babelscope "$@"; }; set -o pipefail; '
        "babelscope data echo tsv:t.tsv source | sed s/one/EINS/ | "
        "babelscope quality --tests tsv:t.tsv --system my=file:- --metric chrf --format json"
    )
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["system"] for row in rows} == {"my"}
    assert {row["name"]: row["value"] for row in rows}["chrf"] == 100
