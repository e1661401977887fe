"""What `--help` lists: every command, with its whole summary, at 80 columns."""

from __future__ import annotations

from typing import Any

import pytest
from typer.main import get_command

from babelscope.cli import app
from tests.support.toy_fixtures import Babelscope


def groups() -> list[tuple[str, ...]]:
    commands: Any = get_command(app)
    return [(), *((name,) for name in commands.commands if hasattr(commands.commands[name], "commands"))]


def listed(text: str) -> dict[str, str]:
    """Summaries by command, put together where they were folded."""
    found: dict[str, str] = {}
    name = ""
    for line in text.split("\nCommands:\n", 1)[1].splitlines():
        if line.startswith("  ") and line[2:3].strip():
            name, _, line = line.strip().partition(" ")
        found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    return found


@pytest.mark.parametrize("path", groups())
def test_every_summary_is_whole_at_80_columns(
    babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch, path: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    shown = babelscope(*path, "--help").out
    assert max(map(len, shown.splitlines())) <= 80
    group: Any = get_command(app)
    for word in path:
        group = group.commands[word]
    summaries = listed(shown)
    assert list(summaries) == list(group.commands)
    for name in group.commands:
        help_ = " ".join((group.commands[name].help or "").split())
        assert help_.startswith(summaries[name]), name
        assert summaries[name].endswith("."), f"{name}: a summary is a sentence"
        assert "..." not in summaries[name]
