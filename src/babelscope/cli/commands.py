"""All commands, built in and of plug-ins, each imported only when it is run."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from babelscope.cli.shell import NOTHING_KEPT, FoldedGroup, ShellCommand, refuse_repeats, telling_what_is_kept
from babelscope.core.registry import Command, Registry, resolve
from babelscope.methods.registry import METHODS, SUMMARIES
from babelscope.util.errors import BabelscopeError


def built(command: Command) -> Any:
    """The command as a Click command."""
    found: Any = resolve(command.place) if isinstance(command.place, str) else command.place
    group = typer.Typer(rich_markup_mode=None, add_completion=False)
    if isinstance(found, typer.Typer):
        group.add_typer(found, name=command.name)
    else:
        if isinstance(found, type):
            from babelscope.cli.judging import function_of

            judges = _JUDGES.get(command.name, {})
            found = function_of({name: METHODS.find(of) for name, of in judges.items()} or {"": found})
        group.command(command.name, cls=ShellCommand)(found)
    return refuse_repeats(get_group(group).commands[command.name])


_JUDGES = {
    "condition": {"evaluator": "condition", "winomt": "patterns_winomt", "mucow": "patterns_mucow"},
}
"""Command -> value of its --judge -> method."""


class _Commands(Registry[Command]):
    """Commands by name; a plug-in may offer a `Command`, a typer group or a function."""

    def _checked(self, thing: Any, entry: Any) -> Command:
        if isinstance(thing, Command):
            return dataclasses.replace(thing, name=entry.name)
        if isinstance(thing, typer.Typer):
            return Command(entry.name, thing.info.help if isinstance(thing.info.help, str) else "", thing)
        if inspect.isfunction(thing):
            return Command(entry.name, inspect.getdoc(thing) or "", thing)
        return super()._checked(thing, entry)


def _function(name: str, summary: str, module: str = "") -> Command:
    return Command(name, summary, f"babelscope.cli.{module or name}:{name}")


def _group(name: str, summary: str) -> Command:
    return Command(name, summary, f"babelscope.cli.{name}:app")


# The first sentence of a command's own help.
_BUILT_IN = (
    _function("translate", "Translate lines of text."),
    _function("score", "Score given translations: how probable a system finds them.", "translate"),
    *(
        Command(name.replace("_", "-"), summary, METHODS.built_in[name])
        for name, summary in SUMMARIES.items()
    ),
    _function("run", "Run a study, or resume it where it was stopped."),
    _function("compare", "Compare runs: figures side by side and their differences."),
    _function("check", "Make a report card of a system: what it can do, and what it gets wrong."),
    _function("gate", "Decide whether a new system may replace an old one."),
    _function("plan", "Plan an evaluation: how many sentences a decision needs, and which."),
    _function("report", "Write a report of runs as one page: findings, tables, charts, every item.", "run"),
    _function("systems", "List the kinds of systems, with examples."),
    _function("doctor", "Check a system before use: weights, tokenizer, languages, prompt, scores."),
    _function("annotate", "Judge translations in the browser, blind, by keyboard."),
    _function("agreement", "Measure how well annotators agree, and methods or metrics with them."),
    _group("data", "List, download and publish test sets; get parser models, metrics."),
    _group("make", "Make test sets from sources and references."),
    _function(
        "flow", "Show how words are translated in training data, by a teacher and by its students.", "counts"
    ),
)

# Purpose -> its commands, in the order of the list.
_SECTIONS = {
    "Try it": ["demo"],
    "Ask a system": ["systems", "doctor", "translate", "score"],
    "Judge systems": [*(name.replace("_", "-") for name in SUMMARIES), "run"],
    "Compare and show": ["compare", "report", "flow"],
    "Decide": ["check", "gate", "plan"],
    "Make test sets": ["data", "make"],
    "People": ["annotate", "agreement"],
    "Lab": ["lab"],
}

COMMANDS: Registry[Command] = _Commands(
    "command",
    "babelscope.cli.commands:Command",
    "babelscope.commands",
    {each.name: each for each in _BUILT_IN},
)


class _Built(Mapping[str, Any]):
    """Commands by name, built on first use: in the order of the sections, then those of plug-ins."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __iter__(self) -> Iterator[str]:
        there = [*COMMANDS.names(), *sorted(_methods_of_plugins())]
        listed = [name for names in _SECTIONS.values() for name in names if name in there]
        yield from dict.fromkeys([*listed, *COMMANDS.built_in, *there])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            if name not in iter(self):
                raise KeyError(name)
            self._built[name] = built(_find(name))
        return self._built[name]


def _methods_of_plugins() -> dict[str, str]:
    """Command -> method, for methods of installed packages."""
    return {name.replace("_", "-"): name for name in METHODS.names() if name not in METHODS.built_in}


def _find(name: str) -> Command:
    """A command by name; for a method of a plug-in it is made from the class."""
    methods = _methods_of_plugins()
    if name in COMMANDS.names() or name not in methods:
        return COMMANDS.find(name)
    from babelscope.methods.base import question_of

    method = METHODS.find(methods[name])
    return Command(name, question_of(method), method)


class CommandGroup(TyperGroup):
    """All commands; listing them imports none of them."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands: Any = _Built()

    def invoke(self, ctx: Any) -> Any:
        with telling_what_is_kept(NOTHING_KEPT):
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """List the commands by purpose, then those of plug-ins."""
        there = list(self.commands)
        known = {name for names in _SECTIONS.values() for name in names}
        others = [name for name in there if name not in known]
        widest = max(map(len, there))
        for title, names in {**_SECTIONS, "From plug-ins": others}.items():
            rows = [(name.ljust(widest), _summary(name)) for name in names if name in there]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Names for shell completion; no command is imported."""
        listed = self._listed()
        return listed.shell_complete(type(ctx)(listed, info_name=ctx.info_name), incomplete)

    def _listed(self) -> FoldedGroup:
        listed = {name: TyperCommand(name, help=_summary(name)) for name in self.commands}
        return FoldedGroup(name=self.name, commands=dict(listed), params=self.params)


def _summary(name: str) -> str:
    try:
        found = COMMANDS.built_in.get(name) or _find(name)
        return found.summary if isinstance(found, Command) else ""
    except BabelscopeError as error:
        return f"(cannot be used: {error})"
