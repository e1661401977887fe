"""The command: files in, minimal pairs out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("HanTa")
pytest.importorskip("german_nouns.config")

from typer.testing import CliRunner

from babelscope.cli.make import app
from babelscope.util.errors import BabelscopeError


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "en").write_text("He does not come.\nShe sings.\n", encoding="utf-8")
    (tmp_path / "de").write_text("Er kommt nicht.\nSie singt.\n", encoding="utf-8")
    return ["--source", str(tmp_path / "en"), "--reference", str(tmp_path / "de")]


def test_pairs_to_stdout_and_file(files: list[str], tmp_path: Path) -> None:
    asked = ["pairs", "--type", "polarity_particle_nicht_del", "--kind", "machine", *files]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output
    (line,) = result.stdout.splitlines()
    pair = json.loads(line)
    assert pair["contrastive"] == "Er kommt."
    assert pair["reference"] == "machine"
    assert CliRunner().invoke(app, [*asked, "--to", str(tmp_path / "out.jsonl")]).exit_code == 0
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == line + "\n"


def test_types_and_audit(files: list[str]) -> None:
    rows = [json.loads(line) for line in CliRunner().invoke(app, ["types", "--json"]).stdout.splitlines()]
    assert {row["name"] for row in rows if not row["plausible"]} == {
        "hypercorrect_genitive",
        "placeholder_ding",
    }
    result = CliRunner().invoke(app, ["audit", "--type", "subj_verb_agreement", "-n", "1", *files])
    assert json.loads(result.stdout)["really_wrong"] is None


def test_bad_use_is_told(files: list[str], tmp_path: Path) -> None:
    asked = ["pairs", "--type", "nicht", *files]
    assert isinstance(CliRunner().invoke(app, asked).exception, BabelscopeError)
    (tmp_path / "de").write_text("Er kommt nicht.\n", encoding="utf-8")
    asked[2] = "polarity_particle_nicht_del"
    assert "equally many" in str(CliRunner().invoke(app, asked).exception)
