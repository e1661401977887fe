"""The commands, ours and those of installed packages, each imported when it is run."""

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
    """The command as typer runs it."""
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
    """Plug-ins may offer a `Command`, or what one is made of."""

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


# A summary is how the command's own help begins.
_BUILT_IN = (
    _function("translate", "Translate lines of text."),
    _function("score", "Score given translations: how probable a system finds them.", "translate"),
    *(
        Command(name.replace("_", "-"), summary, METHODS.built_in[name])
        for name, summary in SUMMARIES.items()
    ),
    _function("run", "Run a study, or resume it where it was stopped."),
    _function("compare", "Compare runs: figures side by side, and their differences."),
    _function("check", "Make a report card of a system: what it can do, and what it gets wrong."),
    _function("gate", "Decide whether a new system may replace an old one."),
    _function("plan", "Plan an evaluation: how many sentences a decision needs, and which."),
    _function("report", "Show runs on one page: findings, tables, charts, every item.", "run"),
    _function("systems", "List what can be opened as a system, with examples."),
    _function("doctor", "Check a system before use: weights, tokenizer, languages, prompt, scores."),
    _function("annotate", "Judge translations in the browser, blind and by keyboard."),
    _function("agreement", "Measure how far annotators agree, and methods or metrics with them."),
    _group("data", "List, download and publish test sets; get parser models, metrics."),
    _group("make", "Make test sets from sources and references."),
    _function("flow", "Show how words are translated in data, by a teacher and by its students."),
)

# What a person wants to do -> the commands for it, in the order of the list.
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
    """Commands by name, built when asked for: in the order of the sections, then those of other packages."""

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
    """A command by name; that of a plug-in's method is made from its class."""
    methods = _methods_of_plugins()
    if name in COMMANDS.names() or name not in methods:
        return COMMANDS.find(name)
    from babelscope.methods.base import question_of

    method = METHODS.find(methods[name])
    return Command(name, question_of(method), method)


class CommandGroup(TyperGroup):
    """All commands. Their list takes names and summaries; only the command that is run is imported."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands: Any = _Built()

    def invoke(self, ctx: Any) -> Any:
        with telling_what_is_kept(NOTHING_KEPT):
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """List the commands by what they are for, then those of other packages."""
        there = list(self.commands)
        known = {name for names in _SECTIONS.values() for name in names}
        others = [name for name in there if name not in known]
        widest = max(map(len, there))
        for title, names in {**_SECTIONS, "Of other packages": others}.items():
            rows = [(name.ljust(widest), _summary(name)) for name in names if name in there]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Names that a shell offers at Tab: from the summaries, so that Tab imports no command."""
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
