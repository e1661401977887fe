"""The command of a method: options from its description, a study made of them, and its result shown."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import keyword
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from babelscope.cli.common import (
    Form,
    as_line,
    check_beam,
    chosen_format,
    figures,
    output,
    places_of,
    result_text,
    then_records,
    write_file,
)
from babelscope.cli.shell import answers_kept, telling_what_is_kept, typed_options, work_kept_in
from babelscope.methods.command import Given, JudgingCommand
from babelscope.util.errors import BabelscopeError, explain_damage
from babelscope.util.files import check_outputs
from babelscope.util.terminal import visible

if TYPE_CHECKING:
    from babelscope.core.options import Option
    from babelscope.core.results import Result
    from babelscope.runs.study import Study


def function_of(command: JudgingCommand) -> Callable[..., None]:
    """A function with annotations that typer makes a command of."""
    options = command.all_options()

    def judge(context: typer.Context, **values: Any) -> None:
        _run(command, options, _given(command, options, context, values))

    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [context, *map(_parameter, options)]
    judge.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    judge.__doc__ = command.help
    return judge


def _parameter(option: Option) -> inspect.Parameter:
    """An option as a parameter that typer reads."""
    # A StrEnum, since typer takes no list of a Literal.
    kind: Any = (
        StrEnum(option.name, [(each, each) for each in option.choices]) if option.choices else option.kind
    )
    default = option.default
    default = False if kind is bool and default is None and not option.flags else default
    kind = list[kind] if option.repeat else kind
    info = typer.Option(
        *(option.flags or [f"--{option.name}"]),
        help=option.help,
        metavar=option.metavar or None,
        min=option.minimum,
        show_default=default is not None and default is not False and default != "",
    )
    return inspect.Parameter(
        _identifier(option.name),
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if option.required else default,
        annotation=Annotated[kind if default is not None or option.required else kind | None, info],
    )


def _identifier(name: str) -> str:
    name = name.replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def _given(
    command: JudgingCommand, options: Sequence[Option], context: typer.Context, parsed: Mapping[str, Any]
) -> Given:
    """What typer parsed, by the names of the options and of the settings."""
    values: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    said: set[str] = set()
    typed = typed_options(context)
    for option in options:
        name = _identifier(option.name)
        value = _plain(parsed[name], option.repeat)
        values[option.name] = value
        if not option.setting:
            continue
        if name in typed:
            said.add(option.setting)
        if option.value is None and (value or not option.repeat):
            settings[option.setting] = value
        elif option.value is not None and value:
            settings[option.setting] = option.value
    # A protocol that is named stands for several settings, unless they are said.
    settings |= command.settings.preset_by({name: settings[name] for name in said if name in settings})
    names = frozenset(option.name for option in options if _identifier(option.name) in typed)
    return Given(values, settings, frozenset(said), names)


def _plain(value: Any, repeat: bool) -> Any:
    """Choices by their names, and what may be repeated as a tuple."""
    if repeat:
        return tuple(_plain(each, False) for each in value or ())
    return value.value if isinstance(value, StrEnum) else value


def _run(command: JudgingCommand, options: Sequence[Option], given: Given) -> None:
    """Check what is asked for, judge, print, then write files, even if nobody could read what was printed."""
    asked = [name for name in ("tests", "system") if given[name]]
    if given["rejudge"] is not None and asked:
        raise BabelscopeError(f"--rejudge takes a finished run as it is: leave --{asked[0]} out")
    if given["rejudge"] is None and not given["tests"] and not command.study(given).get("tests"):
        raise BabelscopeError(f"{command.name} needs --tests, or --rejudge and a finished run")
    given = _as_the_run(command, given)
    command.check(given)
    _check_together(options, given)
    _check_queue(command, given)
    read = [given[option.name] for option in options if option.role == "read"]
    written = {"--records": given["records"]}
    written |= {f"--{option.name}": given[option.name] for option in options if option.role == "write"}
    inputs = [each for value in read for each in (value if isinstance(value, tuple) else [value])]
    check_outputs(written, folder=given["out"], inputs=inputs)
    with telling_what_is_kept(
        answers_kept(given["cache"]) if given["out"] is None else work_kept_in(given["out"])
    ):
        result = _result(command, given)
    with contextlib.ExitStack() as after:
        for name, lines in command.files.items():
            if given[name] is not None:
                after.callback(_write, given[name], functools.partial(lines, result, given))
        if given["annotate"] is not None:
            after.callback(_write_queue, command, result, given)
        after.enter_context(then_records(given["records"], [*result.records, *result.unanswered]))
        _print(command, result, given)


def _as_the_run(command: JudgingCommand, given: Given) -> Given:
    """A run by answers is judged again as such, whether or not `--by-answer` is said."""
    if given["rejudge"] is None or not command.by_answer or given["by-answer"]:
        return given
    from babelscope.runs.manifest import read_manifest

    try:
        methods = [part.name for part in read_manifest(given["rejudge"]).methods.values()]
    except BabelscopeError:
        return given  # what is wrong with the run is told after what is wrong with the command
    if methods != [command.by_answer]:
        return given
    return dataclasses.replace(
        given, values={**given.values, "by-answer": True}, typed=given.typed | {"by-answer"}
    )


def _check_together(options: Sequence[Option], given: Given) -> None:
    """Refuse options that contradict each other, or have no effect with the others."""
    for option in options:
        if option.name not in given.typed:
            continue
        for other in option.not_with:
            if other in given.typed:
                raise BabelscopeError(
                    f"--{option.name} has no effect beside --{other}: leave one of them out"
                )
        if option.only_with and not given.typed.intersection(option.only_with):
            needed = " or ".join(f"--{name}" for name in option.only_with)
            raise BabelscopeError(f"--{option.name} has no effect without {needed}")
    # The seed of a finished run is that of its figures.
    if {"seed", "rejudge"} <= given.typed and given["annotate"] is None:
        raise BabelscopeError("--rejudge takes a finished run with its seed: leave --seed out")


def _check_queue(command: JudgingCommand, given: Given) -> None:
    """Refuse a queue that cannot be made, or would be written over answers, before anything is asked."""
    path = given["annotate"]
    if path is None:
        return
    if path.exists():
        raise BabelscopeError(f"{path} exists, and may have answers; choose another file for --annotate")
    from babelscope.methods.base import find_method
    from babelscope.methods.queue import require_queue

    require_queue(find_method(command.method))


def _tables(command: JudgingCommand, given: Given) -> dict[str, Any]:
    """The study that a command line stands for."""
    tables: dict[str, Any] = {
        "study": {"name": command.name, "seed": given["seed"], "by": given["by"]},
        "systems": [{"spec": spec} for spec in given["system"]],
        "tests": [{"spec": given["tests"]}],
        "methods": [{"name": command.method, **given.settings}],
        "run": {"data_dir": given["data-dir"]},
    }
    own = command.study(given)
    tables |= {**own, "study": {**tables["study"], **own.get("study", {})}}
    if not tables["systems"]:
        raise BabelscopeError(f"{command.name} needs --system, or --rejudge and a finished run")
    return {**tables, "systems": _by_prompts(tables["systems"], given["prompt"])}


def _by_prompts(systems: Sequence[Mapping[str, Any]], prompts: Sequence[str]) -> list[Mapping[str, Any]]:
    """The systems of a study, those that take prompts with these."""
    if not prompts:
        return list(systems)
    from babelscope.systems.registry import takes_prompts

    asked = [each for each in systems if isinstance(each["spec"], str) and takes_prompts(each["spec"])]
    if not asked:
        raise BabelscopeError(
            "--prompt is for systems that are asked by one (llm:, openai:), and there is none"
        )
    return [{**each, "prompt": list(prompts)} if each in asked else each for each in systems]


def _result(command: JudgingCommand, given: Given) -> Result:
    if given["rejudge"] is not None:
        from babelscope.runs.rejudging import rejudge

        method, changed = command.method, {name: given.settings[name] for name in given.said}
        if command.by_answer and given["by-answer"]:
            (own,) = command.study(dataclasses.replace(given, settings=changed))["methods"]
            method, changed = command.by_answer, {name: own[name] for name in own if name != "name"}
        return rejudge(given["rejudge"], changed, method=method, by=given["by"] or None, out=given["out"])
    from babelscope.runs.study import judge_study

    tables = _tables(command, given)
    if "beam" in given.said:
        check_beam(entry["spec"] for entry in tables["systems"])
    return judge_study(
        _study_of(tables),
        out=given["out"],
        cache=given["cache"],
        check=lambda tests: command.check_tests(tests, given),
    )


def _study_of(values: Mapping[str, Any]) -> Study:
    from pydantic import ValidationError

    from babelscope.core.settings import explain
    from babelscope.runs.study import Study

    try:
        return Study.model_validate(values)
    except ValidationError as error:
        raise BabelscopeError(explain(error, Study, "the command")) from None


def _print(command: JudgingCommand, result: Result, given: Given) -> None:
    """To stdout, or where --to says: rows as JSON, or tables."""
    format, to = chosen_format(given["format"], as_json=given["json"]), given.values.get("to")
    with output(to, figures(format == "json")) as write:
        if format == "json":
            for number, row in enumerate(result.rows):
                signed = {"signature": result.signature} if not number or command.signed(row) else {}
                write(as_line({**row.as_json(), **signed}))
            for row in command.more(result, given):
                write(as_line(row.as_json()))
            return
        if text := command.show(result, given):
            write(f"{text}\n")
        stored = given["rejudge"]  # its records may have been edited
        with contextlib.nullcontext() if stored is None else explain_damage(str(stored)):
            write(
                result_text(
                    result,
                    format=format,
                    names=given["table"],
                    every=given["all"],
                    to=to,
                    places=places_of(result.folder),
                )
            )


def _write_queue(command: JudgingCommand, result: Result, given: Given) -> None:
    """The queue that --annotate asks for, one JSON object per line; then, on stderr, what it was drawn from."""
    from babelscope.methods.base import find_method
    from babelscope.methods.queue import draw_queue

    if command.queue is not None:
        write_file(given["annotate"], Form.JSON, map(as_line, command.queue(result, given)))
        return
    (settings,) = result.settings.values()
    method = find_method(command.method)(settings)
    drawn = draw_queue(method, result.records, n=given["annotate-n"], seed=given["seed"])
    write_file(given["annotate"], Form.JSON, map(as_line, drawn.lines))
    print(f"{visible(str(given['annotate']))}: {drawn}", file=sys.stderr)


def _write(path: Path, lines: Callable[[], Any]) -> None:
    write_file(path, Form.JSON, lines())
