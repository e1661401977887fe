"""Shared behavior of commands: repeated and unused options, settings, Ctrl-C."""

from __future__ import annotations

import contextlib
import re
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from babelscope.core.registry import did_you_mean
from babelscope.util.errors import BabelscopeError
from babelscope.util.terminal import visible
from babelscope.util.text import shorten

STOPPED = 130
"""Exit code after Ctrl-C."""
NOTHING_KEPT = "nothing is kept; run the same command to start again"
GO_ON = "run the same command again to resume"
PARTS_KEPT = f"finished parts are kept; {GO_ON}"

_Function = TypeVar("_Function", bound=Callable[..., None])
# Characters of a summary: more than a sentence has.
_LONGEST = 1000


def refuse_repeats(command: Any) -> Any:
    """Make a command, or all commands of a group, refuse an option that is given twice but takes one value."""
    for each in getattr(command, "commands", {}).values():
        refuse_repeats(each)
    reader = getattr(command, "whole", command)
    make_parser = reader.make_parser

    def make_checking_parser(context: Any) -> Any:
        parser = make_parser(context)
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            values, left, order = parse(args)
            if not context.resilient_parsing:  # completion by the shell
                for option, times in Counter(each for each in order if _takes_one(each)).items():
                    if times > 1:
                        raise BabelscopeError(
                            f"{_shown(option)} is given {times} times; it can be given once"
                        )
            return values, left, order

        parser.parse_args = parse_args
        return parser

    reader.make_parser = make_checking_parser
    return command


def _takes_one(parameter: Any) -> bool:
    """Whether a second value would silently replace the first."""
    if parameter.param_type_name != "option" or parameter.multiple or parameter.count:
        return False
    return not parameter.is_flag or bool(parameter.secondary_opts)


def _shown(parameter: Any) -> str:
    return (
        parameter.opts[0]
        if parameter.hidden
        else "/".join([*parameter.opts[:1], *parameter.secondary_opts[:1]])
    )


def typed_options(context: Any) -> frozenset[str]:
    """Names of the parameters given on the command line."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return frozenset(name for name, source in sources.items() if source and source.name == "COMMANDLINE")


def refuse_unused(context: Any, why: Mapping[str, str | None]) -> None:
    """Refuse options that have no effect: parameter -> what it only applies to, or None if it has an effect."""
    typed = typed_options(context)
    for parameter in getattr(context.command, "whole", context.command).params:
        about = why.get(parameter.name)
        if about is not None and parameter.name in typed:
            raise BabelscopeError(f"{_shown(parameter)} has no effect here: it only applies to {about}")


class ShellCommand(TyperCommand):
    """A command whose hidden options are settings, given as `--set NAME=VALUE`."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.settings: dict[str, Any] = {
            str(each.name): each for each in self.params if getattr(each, "hidden", False)
        }
        for name, setting in self.settings.items():
            setting.opts = [f"--set {name}"]
            setting.secondary_opts = [f"--set no-{name}"] if setting.secondary_opts else []
        self.whole = TyperCommand(self.name, params=self.params)
        """Parse the command line, settings included."""
        self.params = [each for each in self.params if each.name not in self.settings]
        self.known = {option for each in self.params for option in each.opts}
        if self.settings and "--set" not in self.known:
            self.params.append(_set_option())

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Expand settings, short options, and `--ray` without an address."""
        end = args.index("--") if "--" in args else len(args)
        return self.whole.parse_args(ctx, [*self._spelled_out(args[:end]), *args[end:]])

    def _spelled_out(self, args: list[str]) -> Iterator[str]:
        words = deque(args)
        while words:
            word = words.popleft()
            option, equals, value = word.partition("=")
            name = option.removeprefix("--").replace("-", "_")
            if option == "--set" and self.settings:
                yield from self._setting(value if equals else words.popleft() if words else "")
            elif word in _SHORT and word not in self.known and _SHORT[word].partition("=")[0] in self.known:
                yield _SHORT[word]
            elif word == "--ray" and word in self.known:
                # What follows is its address only if it looks like one (HOST:PORT).
                yield word if words and _ADDRESS.fullmatch(words[0]) else "--ray="
            elif option.startswith("--") and name in self.settings:
                raise BabelscopeError(f"{option} is a setting: --set {name}=VALUE")
            else:
                yield word

    def _setting(self, text: str) -> Iterator[str]:
        """`NAME=VALUE` as an option of the whole command."""
        name, equals, value = text.partition("=")
        if name not in self.settings and "--set" in self.known:  # the command reads more settings itself
            yield from ("--set", text)
            return
        if name not in self.settings:
            if f"--{name.replace('_', '-')}" in self.known:
                raise BabelscopeError(f"{name} is not a setting but an option: --{name.replace('_', '-')}")
            hint = did_you_mean(name, list(self.settings), f"known: {', '.join(self.settings)}")
            raise BabelscopeError(f"--set: unknown setting {shorten(name)}; {hint}")
        if not equals:
            raise BabelscopeError(f"--set {name} needs a value: --set {name}=VALUE")
        setting = self.settings[name]
        if not setting.is_flag:
            yield f"--set {name}={value}"
        elif value not in _SWITCH:
            raise BabelscopeError(f"--set {name} is yes or no, not {shorten(value)}")
        elif _SWITCH[value]:
            yield f"--set {name}"
        elif setting.secondary_opts:
            yield f"--set no-{name}"

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options by group, then the settings."""
        groups: dict[str, list[tuple[str, str]]] = {}
        parameters: list[Any] = self.get_params(ctx)
        for each in parameters:
            is_argument = each.param_type_name == "argument"
            title = "Arguments" if is_argument else each.rich_help_panel or "Options"
            if record := each.get_help_record(ctx):
                groups.setdefault(title, []).append(record)
        others = groups.pop("Options", [])
        for title, records in {
            **groups,
            "Options" if len(groups) < _FEW else "Other options": others,
        }.items():
            with formatter.section(title):
                formatter.write_dl([(_plain(term), _RANGE.sub("", about)) for term, about in records])
        if self.settings:
            with formatter.section("Settings, as --set NAME=VALUE"):
                formatter.write_dl([_described(each, ctx) for each in self.settings.values()])


def _described(setting: Any, context: Any) -> tuple[str, str]:
    """A setting as an option is described: with its values and its default."""
    setting.hidden = False
    term, about = setting.get_help_record(context)
    setting.hidden = True
    return _plain(term.partition(" / ")[0].removeprefix("--set ")), _RANGE.sub("", about)


def _plain(term: str) -> str:
    """An option as help shows it, its metavar shortened."""
    return re.sub(r" <(?:list\[|str>).*", "", re.sub(r"<(?:int|float)(?: range)?>", "N", term))


_RANGE = re.compile(r"; [^];]*[<>]=?[^];]*(?=\])|  \[[^ ]*[<>]=?[^]]*\]")
_FEW = 2
"""With fewer groups, the other options are just called options."""
_ADDRESS = re.compile(r"auto|[^-\s]\S*:[0-9]+")
_SHORT = {"--json": "--format=json", "--all": "--table=all"}
"""Short options that stand for a value of a longer one."""
_SWITCH = {"yes": True, "true": True, "no": False, "false": False}


def _set_option() -> Any:
    """The option `--set` for help and completion."""
    app = typer.Typer(add_completion=False)

    @app.command()
    def _shown(
        _set: Annotated[
            list[str],
            typer.Option("--set", metavar="NAME=VALUE", help="A setting (listed below); repeatable."),
        ],
    ) -> None:
        pass

    option: Any = get_command(app).params[0]
    option.required = False
    return option


class FoldedGroup(TyperGroup):
    """A group that lists its commands with whole summaries, wrapped at the terminal's width."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        rows = [(name, self.commands[name].get_short_help_str(_LONGEST)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class ShellGroup(typer.Typer):
    """A typer group whose commands are `ShellCommand`s."""

    def __init__(self, help: str) -> None:
        super().__init__(help=help, cls=FoldedGroup, no_args_is_help=True)

    def command(self, name: str | None = None, **options: Any) -> Callable[[_Function], _Function]:
        return super().command(name, **{"cls": ShellCommand, **options})


def work_kept_in(folder: Path | None) -> str:
    """What Ctrl-C leaves of work in a run folder; None: the folder that the study names."""
    return f"finished work is kept in {'the run folder' if folder is None else visible(str(folder))}; {GO_ON}"


def answers_kept(cache: bool | None) -> str:
    """What Ctrl-C leaves of a command that asks systems, by its --cache or --no-cache."""
    if cache:
        return f"the answers so far are in the cache; {GO_ON}"
    if cache is None:
        return (
            "only answers of servers are kept; run the same command to start again, with --cache to keep all"
        )
    return "no answers are kept; run the same command to start again"


@contextlib.contextmanager
def telling_what_is_kept(kept: str) -> Iterator[None]:
    """End the command at Ctrl-C with exit code 130 and one sentence: what is stored and how to resume."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"babelscope: stopped; {kept}", file=sys.stderr)
        raise typer.Exit(STOPPED) from None


@contextlib.contextmanager
def going_on(
    command: str, out: Path | None, systems: Sequence[Any], **asked: Any
) -> Iterator[tuple[Callable[[str, Callable[[], Any]], Any], list[Any]]]:
    """Gives a function that stores other parts of the work, and the systems, whose answers are stored.

    `asked` is all else that the output depends on: only the same work resumes. The block must write or print all
    output, since what was stored is removed when the block ends without an error.
    """
    from babelscope.systems.cache import resuming

    known = [[system.name, system.fingerprint.as_json()] for system in systems]
    work = {"command": command, "out": out and str(out), "systems": known, **asked}
    with telling_what_is_kept(f"what systems answered is kept; {GO_ON}"), resuming(work, systems) as found:
        parts, stored = found
        yield parts.part, stored
