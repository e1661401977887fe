"""Gzipped files of lines are read wherever plain ones are."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from babelscope.testsets import load
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import read_lines


def test_lines_are_those_of_the_plain_file(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress("eins\nzwei ä\n".encode()))
    assert read_lines(tmp_path / "a.gz") == ["eins", "zwei ä"]
    (tmp_path / "b").write_text("one\ntwo\n")
    items = load(f"parallel:{tmp_path / 'b'},{tmp_path / 'a.gz'}").items
    assert [(each.source, each.references) for each in items] == [  # type: ignore[union-attr]
        ("one", ("eins",)),
        ("two", ("zwei ä",)),
    ]


@pytest.mark.parametrize(
    "content", [b"no gzip\n", gzip.compress(b"text\n" * 9, mtime=0)[:-9]], ids=["none", "cut"]
)
def test_damage_is_told(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(content)
    with pytest.raises(BabelscopeError, match=r"a\.gz cannot be read"):
        read_lines(tmp_path / "a.gz")


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"a\n" * 2**23))
    with pytest.raises(BabelscopeError, match="expands to more than"):
        read_lines(tmp_path / "a.gz")
