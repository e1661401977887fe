"""Things by name: a plug-in that fails, or offers something else, is told in one sentence."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from babelscope.core.registry import Registry
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
def test_a_plug_in_that_fails_is_told(monkeypatch: pytest.MonkeyPatch, place: str, told: str) -> None:
    entry = EntryPoint("theirs", place, THINGS.group)

    def entries(group: str, name: str = "theirs") -> list[EntryPoint]:
        assert group == THINGS.group
        return [entry] if name == "theirs" else []

    monkeypatch.setattr("importlib.metadata.entry_points", entries)
    for find in (lambda: THINGS.find("theirs"), THINGS.all):
        with pytest.raises(BabelscopeError, match=told):
            find()
    assert THINGS.find("ours") == "/"
