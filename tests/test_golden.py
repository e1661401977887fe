"""golden.py compares what two commits made: everything but what names the commit."""

from __future__ import annotations

import json
from pathlib import Path

from tests.golden import compare


def made(folder: Path, commit: str, *, seed: int = 0, value: float = 0.5) -> Path:
    """What a command leaves, as far as golden.py reads it."""
    signature = f"contrast|sys:1a|seed:{seed}|v:0.1.0+g{commit}|sha:{commit}"
    summary = {"signature": signature, "sha256": commit, "config": {"version": commit, "seed": seed}}
    folder.mkdir()
    (folder / "out0").write_text(json.dumps({**summary, "value": value}) + f"\n{signature}\n")
    (folder / "summary.json").write_text(json.dumps({**summary, "value": value}, indent=1))
    return folder


def test_another_commit_is_no_difference(tmp_path: Path) -> None:
    assert compare(made(tmp_path / "a", "abc"), made(tmp_path / "b", "def012")) == 0


def test_another_value_or_signature_is(tmp_path: Path) -> None:
    old = made(tmp_path / "a", "abc")
    assert compare(old, made(tmp_path / "b", "abc", value=0.6)) == 2
    assert compare(old, made(tmp_path / "c", "abc", seed=1)) == 2
