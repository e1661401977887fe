"""Things by name: a plug-in that fails, or offers something else, is told in one sentence."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from babelscope.core.registry import Registry
from babelscope.systems.registry import open_system
from babelscope.util.errors import BabelscopeError

THINGS: Registry[str] = Registry("thing", "builtins:str", "some.things", {"ours": "os:sep"})


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("no_such_module:THING", "offers the thing theirs fails with ModuleNotFoundError: No module named"),
        ("os:no_such_name", "offers the thing theirs fails with AttributeError"),
        ("os:getcwd", r"theirs \(os:getcwd\) offers <built-in function getcwd>, not a str"),
    ],
)
def test_a_plug_in_that_fails_is_told(monkeypatch, place, told):
    entry = EntryPoint("theirs", place, THINGS.group)

    def entries(group: str, name: str = "theirs") -> list[EntryPoint]:
        assert group == THINGS.group
        return [entry] if name == "theirs" else []

    monkeypatch.setattr("importlib.metadata.entry_points", entries)
    for find in (lambda: THINGS.find("theirs"), THINGS.all):
        with pytest.raises(BabelscopeError, match=told):
            find()
    assert THINGS.find("ours") == "/"


KINDS: Registry[int] = Registry("number", "builtins:int", "babelscope.test_numbers", {"one": 1})


def install(folder: Path, name: str, value: str) -> None:
    place = folder / f"{name}-1.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (place / "entry_points.txt").write_text(f"[babelscope.test_numbers]\n{name} = {value}\n")


def test_what_is_installed_later_is_found(tmp_path, monkeypatch):
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


def test_an_option_said_twice_is_refused():
    with pytest.raises(BabelscopeError, match="the option 'batch' is given twice"):
        open_system("cmd:cat?batch=1&batch=2")
