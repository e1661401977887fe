"""The command of a method: options generated from its settings plus shared ones, run as a small study."""

from __future__ import annotations

import contextlib
import inspect
import types
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, cast, get_args, get_origin

import typer

from babelscope.cli.common import (
    ALL,
    Cache,
    Form,
    InFormat,
    Registries,
    Seed,
    Tables,
    as_line,
    check_beam,
    figures,
    folder_option,
    output,
    places_of,
    result_text,
    write_file,
)
from babelscope.cli.shell import answers_kept, telling_what_is_kept, typed_options, work_kept_in
from babelscope.core.settings import Metavar, MethodSettings, explain, option_fields
from babelscope.methods.base import Method
from babelscope.testsets.items import MinimalPair
from babelscope.util.errors import BabelscopeError, explain_damage
from babelscope.util.files import check_outputs

if TYPE_CHECKING:
    from babelscope.core.results import Result


def _input(help: str, metavar: str, **given: Any) -> Any:
    return typer.Option(help=help, metavar=metavar, rich_help_panel="Input", **given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Options and settings that all methods share."""

    system: Annotated[
        list[str] | None,
        _input("A system (see `babelscope systems`), optionally named; repeatable.", "[NAME=]SYSTEM"),
    ] = None
    tests: Annotated[
        list[str] | None,
        _input("A test set: a name, a file or FORMAT:FILE; repeatable.", "TESTS"),
    ] = None
    metric: Annotated[
        list[str] | None,
        _input("A metric as the scorer (chrf, comet, cmd:COMMAND...), as --system metric:NAME.", "NAME"),
    ] = None
    registry: Registries = None
    machine_references: Annotated[
        list[str] | None,
        _input(
            "Also judge pairs made from this system's translations of the sources, validated by the "
            "human references. Repeatable: each system translates an equal share.",
            "SYSTEM",
        ),
    ] = None
    prompt: Annotated[
        list[str] | None,
        typer.Option(
            help="Prompt of `llm:` and `openai:` systems: a .toml file, a shipped prompt or a template; "
            "repeatable, then with figures over all prompts.",
            hidden=True,
        ),
    ] = None
    rejudge: Annotated[
        Path | None,
        _input("Judge a finished run again with other settings; asks no system.", "FOLDER"),
    ] = None
    group_by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD",
            help="Also report all figures by this field of the items, or by `length`; repeatable.",
            rich_help_panel="Judging",
        ),
    ] = None
    seed_group: Annotated[
        list[str] | None,
        typer.Option(
            help="Systems that differ only in their seed, such as 'lab:teacher-*'; repeatable.",
            hidden=True,
        ),
    ] = None
    table: Tables = None
    format: InFormat = "text"
    out: Annotated[
        Path | None,
        folder_option("Run folder: stores the run, or resumes it.", rich_help_panel="Output"),
    ] = None
    segments: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write all hypotheses there, to compute a metric elsewhere.",
            hidden=True,
        ),
    ] = None
    seed: Seed = 0
    cache: Cache = None


_PARAMETERS = {each.name: each for each in inspect.signature(Shared, eval_str=True).parameters.values()}
_FIRST = ("system", "metric", "tests", "registry", "machine_references")
_OF_SYSTEMS = ("tests", "registry", "system", "metric", "prompt", "machine_references", "seed_group", "cache")
"""Options without effect on a finished run."""


def function_of(methods: Mapping[str, type[Method]]) -> Callable[..., None]:
    """A function that typer turns into a command; of several methods, `--judge` selects one."""
    first, *baselines = methods.values()
    judges = tuple(methods)

    def run(context: typer.Context, **values: Any) -> None:
        typed = typed_options(context)
        # Of one method alone, `--judge` can be the system of a role.
        judge = values.pop("judge") if baselines else judges[0]
        method = methods[judge]
        options = Shared(**{name: value for name, value in values.items() if name in shared})
        given = {name: values[name] for name in values if name in typed and name not in shared}
        for name in given:
            if name not in method.Settings.model_fields and name not in method.requires:
                raise BabelscopeError(
                    f"{name.replace('_', '-')} has no effect with --judge {judge}: leave it out"
                )
        command = context.command_path.removeprefix(context.find_root().info_name or "").strip()
        _Judging(method, command, options, given, typed).run()

    offered = {
        "machine_references": MinimalPair in first.items,
        "segments": hasattr(first, "segments"),
        "metric": getattr(first, "tests_metrics", False),
    }
    shared = {name: each for name, each in _PARAMETERS.items() if offered.get(name, True)}
    if first.items != (MinimalPair,) and "machine_references" in shared:
        shared["machine_references"] = _as_setting(shared["machine_references"])
    roles = dict.fromkeys(role for each in methods.values() for role in each.requires if role != "system")
    own = _parameters([first, *baselines])
    if clash := {*own, *roles} & set(shared):
        raise BabelscopeError(f"{first.name} has a setting {min(clash)!r}, an option that all methods share")
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            _keyword("context", typer.Context, None),
            *(each for name, each in shared.items() if name in _FIRST),
            *map(_role_parameter, roles),
            *([_judge_parameter(judges)] if baselines else []),
            *own.values(),
            *(each for name, each in shared.items() if name not in _FIRST),
        ]
    )
    _, *about = (inspect.getdoc(first) or "").split("\n\n")
    run.__doc__ = "\n\n".join(about[:2])  # the question, and what is done
    return run


def _as_setting(parameter: inspect.Parameter) -> inspect.Parameter:
    kind, info = get_args(parameter.annotation)
    return parameter.replace(annotation=Annotated[kind, typer.Option(help=info.help, hidden=True)])


def _role_parameter(role: str) -> inspect.Parameter:
    info = _input(f"The {role}: a system, possibly one of those tested.", "SYSTEM")
    return _keyword(role, Annotated[str | None, info])


def _judge_parameter(judges: tuple[str, ...]) -> inspect.Parameter:
    help = f"Judge with the {judges[0]}, or with the word lists of {' or '.join(judges[1:])}."
    info = typer.Option(help=help, rich_help_panel="Judging")
    return _keyword("judge", Annotated[Literal[judges], info], judges[0])


def _parameters(methods: Sequence[type[Method]]) -> dict[str, inspect.Parameter]:
    """The settings of several methods as parameters; settings inherited from a base class come last."""
    found: dict[str, inspect.Parameter] = {}
    for method in methods:
        fields = method.Settings.model_fields
        for name in sorted(fields, key=lambda name: name not in method.Settings.__annotations__):
            same = [each.Settings for each in methods if name in each.Settings.model_fields]
            found.setdefault(name, _parameter(name, same))
    return found


def _parameter(name: str, classes: Sequence[type[MethodSettings]]) -> inspect.Parameter:
    """A field as an option or setting; a list becomes a repeatable option in the singular."""
    field, *others = [each.model_fields[name] for each in classes]
    kind: Any = field.annotation
    if get_origin(kind) in (Union, types.UnionType):
        (kind,) = (each for each in get_args(kind) if each is not types.NoneType)
    if any(other.annotation != field.annotation for other in others):
        kind = Literal[
            tuple(dict.fromkeys(value for each in (field, *others) for value in get_args(each.annotation)))
        ]
    repeat = get_origin(kind) is tuple
    is_file = Path in (kind, *get_args(kind))
    singular = name.removesuffix("s") if repeat else name
    option = name if singular in classes[0].model_fields else singular
    default = None if repeat or field.is_required() or others else field.default
    metavar = next((each.name for each in field.metadata if isinstance(each, Metavar)), None)
    words = " ".join((field.description or "").split())
    if repeat:
        usual = ", ".join(map(str, field.get_default(call_default_factory=True)))
        words += f" Repeatable.{f' [default: {usual}]' if usual else ''}"
    info = typer.Option(
        f"--{option.replace('_', '-')}",
        help=words,
        metavar=metavar or ("FILE" if is_file else None),
        min=next((each.ge for each in field.metadata if hasattr(each, "ge") and kind is int), None),
        show_default=default not in (None, False, ""),
        rich_help_panel="Judging",
        hidden=name not in option_fields(classes[0]),
    )
    # Elements of lists are checked with the settings.
    kind = list[str] if repeat else kind
    return _keyword(name, Annotated[kind if default is not None else kind | None, info], default)


def _keyword(name: str, kind: Any, default: Any = None) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


@dataclass(frozen=True, slots=True)
class _Judging:
    """One call of the command of a method."""

    method: type[Method]
    command: str
    options: Shared
    given: Mapping[str, Any]
    """Settings and roles given on the command line."""
    typed: Set[str]
    """Names of all options given on the command line."""

    def run(self) -> None:
        """Check, judge, print, then write files, even if printing fails."""
        options = self.options
        self._check()
        kept = answers_kept(options.cache) if options.out is None else work_kept_in(options.out)
        with telling_what_is_kept(kept):
            result = self._result()
        with contextlib.ExitStack() as after:
            if options.segments is not None:
                lines = cast(Any, self.method).segments(result.records)
                after.callback(write_file, options.segments, Form.JSON, lines)
            self._print(result)

    def _check(self) -> None:
        """Refuse options that contradict each other or have no effect."""
        options, typed = self.options, self.typed
        if options.rejudge is not None:
            roles = [role for role in self.method.requires if role != "system"]
            own = self.method.Settings.model_fields  # a setting `metric` is not the option for systems
            self._refuse([*(name for name in _OF_SYSTEMS if name not in own), *roles], "--rejudge")
            if "seed" in typed:
                raise BabelscopeError("--rejudge uses the seed of the run: leave --seed out")
        for name in ("tests", "system"):
            metrics = options.metric if name == "system" else None
            if options.rejudge is None and not (getattr(options, name) or metrics):
                raise BabelscopeError(f"{self.command} needs --{name}, or --rejudge and a finished run")
        if options.format == "json" and set(options.table or ()) - {ALL}:
            self._refuse(["table"], "--json")
        read = [options.rejudge, *(options.tests or ()), *(options.system or ()), *(options.prompt or ())]
        written = {"--set segments": options.segments}
        check_outputs(written, folder=options.out, inputs=[*read, *_texts(self.given.values())])

    def _refuse(self, names: Iterable[str], other: str) -> None:
        for name in names:
            if name in self.typed:
                option = "cache/--no-cache" if name == "cache" else name.replace("_", "-")
                raise BabelscopeError(f"--{option} has no effect with {other}: leave it out")

    def _result(self) -> Result:
        options = self.options
        if options.rejudge is not None:
            from babelscope.runs.rejudging import rejudge

            return rejudge(
                options.rejudge,
                self.given,
                method=self.method.name,
                by=options.group_by or None,
                out=options.out,
            )
        from pydantic import ValidationError

        from babelscope.runs.study import Study, judge_study

        if "beam" in self.given:
            check_beam(entry["spec"] for entry in self._systems())
        try:
            study = Study.model_validate(self._tables())
        except ValidationError as error:
            raise BabelscopeError(explain(error, Study, "the command")) from None
        return judge_study(study, out=options.out, cache=options.cache)

    def _tables(self) -> dict[str, Any]:
        """The command line as a study."""
        options = self.options
        return {
            "study": {
                "name": self.command,
                "seed": options.seed,
                "by": options.group_by or [],
                "seed_groups": options.seed_group or [],
            },
            "systems": self._systems(),
            "tests": [
                {"spec": each, "machine_references": options.machine_references or []}
                for each in options.tests or ()
            ],
            "methods": [{"name": self.method.name, **self.given}],
            "run": {"registries": options.registry or []},
        }

    def _systems(self) -> list[dict[str, Any]]:
        """The systems of the study, with the prompts of --set prompt where they take any."""
        from babelscope.systems.registry import takes_prompts

        systems: list[dict[str, Any]] = [{"spec": each} for each in self.options.system or ()]
        systems += [{"spec": f"metric:{each}"} for each in self.options.metric or ()]
        asked = [each for each in systems if self.options.prompt and takes_prompts(each["spec"])]
        for each in asked:
            each["prompt"] = self.options.prompt
        if self.options.prompt and not asked:
            raise BabelscopeError("--set prompt only applies to llm: and openai: systems, and there is none")
        return systems

    def _print(self, result: Result) -> None:
        """Print rows as JSON, the first with the signature; or tables."""
        options = self.options
        with output(None, figures(options.format == "json")) as write:
            if options.format == "json":
                for number, row in enumerate(result.rows):
                    signed = {} if number else {"signature": result.signature}
                    write(as_line({**row.as_json(), **signed}))
                return
            stored = options.rejudge  # its records may have been edited
            with contextlib.nullcontext() if stored is None else explain_damage(str(stored)):
                places = places_of(result.folder)
                write(result_text(result, format=options.format, tables=options.table, places=places))


def _texts(values: Iterable[Any]) -> list[str | Path]:
    """All texts and paths in values and lists of values."""
    found = (each for value in values for each in (value if isinstance(value, list) else [value]))
    return [each for each in found if isinstance(each, str | Path)]
