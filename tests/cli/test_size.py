"""How much there is to learn: commands and their options (settings aside), and how they are listed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from babelscope.cli import app
from babelscope.cli.commands import COMMANDS
from tests.support.toy_fixtures import Babelscope

MOST_COMMANDS, MOST_OPTIONS = 39, 400
OURS = {*COMMANDS.built_in, "demo", "lab"}


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if hasattr(command, "commands"):
        for name, own in command.commands.items():
            if path or name in OURS:
                yield from leaves(own, (*path, name))
    else:
        yield path, command


def test_there_are_few_commands_and_options() -> None:
    options = {
        " ".join(path): [each for each in command.params if each.param_type_name == "option"]
        for path, command in leaves(get_command(app))
    }
    count = sum(each.name != "help" for own in options.values() for each in own)
    assert len(options) <= MOST_COMMANDS, sorted(options)
    assert count <= MOST_OPTIONS, {name: len(own) for name, own in options.items()}


def test_commands_are_listed_by_what_they_are_for(babelscope: Babelscope) -> None:
    listed = babelscope("--help").out
    sections = [
        "Try it",
        "Ask a system",
        "Judge systems",
        "Compare and show",
        "Make test sets",
        "People",
        "Lab",
    ]
    places = [listed.index(f"\n{section}:\n") for section in sections]
    assert places == sorted(places)
    assert all(f"\n  {name} " in listed for name in OURS)
