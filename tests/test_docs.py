"""Every command line that the documentation shows can be parsed: its command and its options exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from babelscope.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# What stands for something else: several runs, an option that may be left out, further options.
PLACEHOLDER = re.compile(r"\.\.\.|[\[\]|]|…")


def command_lines(page: Path) -> Iterator[list[str]]:
    """The words after `babelscope` of each line of a code block."""
    for block in re.findall(
        r"^```(?:bash|sh)?\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
    ):
        for line in block.replace("\\\n", " ").split("\n"):
            words = line.split("  #")[0].strip()
            if words.startswith("babelscope ") and not PLACEHOLDER.search(words):
                yield shlex.split(words, comments=True)[1:]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_exist(page: Path) -> None:
    unknown = {}
    for words in command_lines(page):
        try:
            parse(get_command(app), words)
        except Exception as error:
            unknown[" ".join(words)] = str(error)
    assert unknown == {}


def parse(group: Any, words: list[str]) -> None:
    name, command, rest = group.resolve_command(group.context_class(group), words)
    if hasattr(command, "commands"):
        parse(command, rest)
    else:
        command.make_context(name, rest)
