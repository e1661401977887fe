"""Plug-ins that are installed while the program runs are found, and nothing is read twice."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from babelscope.core.registry import Registry

KINDS: Registry[int] = Registry("number", "builtins:int", "babelscope.test_numbers", {"one": 1})


def install(folder: Path, name: str, value: str) -> None:
    place = folder / f"{name}-1.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (place / "entry_points.txt").write_text(f"[babelscope.test_numbers]\n{name} = {value}\n")


def test_what_is_installed_later_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert KINDS.names() == ["one"]
    install(tmp_path / "site", "two", "sys:maxsize")
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert KINDS.names() == ["one", "two"]
    install(tmp_path / "site", "three", "sys:hexversion")
    assert KINDS.names() == ["one", "three", "two"]
    assert KINDS.find("three") > 0
    assert set(KINDS.all()) == {"one", "three", "two"}
    monkeypatch.undo()
    assert KINDS.names() == ["one"]


def test_what_is_installed_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = metadata.entry_points

    def counted(**chosen: Any) -> Any:
        asked.append(chosen["group"])
        return real(**chosen)

    monkeypatch.setattr(metadata, "entry_points", counted)
    others: Registry[int] = Registry("number", "builtins:int", "babelscope.test_others", {"one": 1})
    for _ in range(3):
        assert (others.find("one"), others.names()) == (1, ["one"])
    assert asked == ["babelscope.test_others"]
