"""The command of a method: options from its settings and those that all methods share, run as a small study."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Union, cast, get_args, get_origin

import typer

from babelscope.cli.common import (
    AllRows,
    AsJson,
    Cache,
    Form,
    Format,
    InFormat,
    Records,
    Seed,
    Tables,
    as_line,
    check_beam,
    chosen_format,
    figures,
    file_option,
    folder_option,
    output,
    places_of,
    result_text,
    then_records,
    write_file,
)
from babelscope.cli.shell import answers_kept, telling_what_is_kept, typed_options, work_kept_in
from babelscope.core.settings import Metavar, explain
from babelscope.methods.base import Method
from babelscope.methods.queue import draw_queue
from babelscope.testsets.items import MinimalPair
from babelscope.util.errors import BabelscopeError, explain_damage
from babelscope.util.files import check_outputs
from babelscope.util.terminal import visible

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from babelscope.core.results import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The options that all methods share."""

    tests: Annotated[
        str,
        typer.Option(metavar="TESTS", help="A test set: a name, a file or FORMAT:FILE.", show_default=False),
    ] = ""
    system: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]SYSTEM",
            help="A system, see `babelscope systems`, and what to call it; may be repeated.",
        ),
    ] = None
    prompt: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROMPT",
            help="Prompt of `llm:` and `openai:` systems: a .toml file, the name of a shipped prompt or a template. "
            "Repeated, figures are also given over all prompts.",
        ),
    ] = None
    machine_references: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SYSTEM",
            help="A system that translates the sources again. Pairs are also made of its translations, validated by "
            "the human references. May be repeated: each has an equal share of the sources.",
        ),
    ] = None
    rejudge: Annotated[
        Path | None,
        folder_option("A finished run, judged again with the settings given here; no system is asked."),
    ] = None
    group_by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD",
            help="All figures also by the values of a field of the items, or by `length`; may be repeated.",
        ),
    ] = None
    seed_group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Systems that differ by their seed only, as in 'lab:teacher-*'; may be repeated.",
        ),
    ] = None
    every: AllRows = False
    table: Tables = None
    format: InFormat = "text"
    as_json: AsJson = False
    out: Annotated[Path | None, folder_option("Run folder: stores the run, or resumes it.")] = None
    records: Records = None
    segments: Annotated[
        Path | None, file_option("Write all hypotheses there, for a metric that is computed elsewhere.")
    ] = None
    annotate: Annotated[
        Path | None, file_option("Write a blind queue for annotators there, see `babelscope annotate`.")
    ] = None
    queue_size: Annotated[
        int,
        typer.Option(min=1, help="Items of that queue, of each group its share; all if there are fewer."),
    ] = 100
    queue_per_group: Annotated[
        int | None, typer.Option(min=1, help="Items of each group (phenomenon, category) instead.")
    ] = None
    seed: Seed = 0
    cache: Cache = None
    data_dir: Annotated[Path | None, folder_option("Folder of the public test sets.")] = None


_PARAMETERS = tuple(inspect.signature(Shared, eval_str=True).parameters.values())
_OF_SYSTEMS = ("tests", "system", "prompt", "machine_references", "seed_group", "cache", "data_dir")
"""Options without effect on a finished run."""
_NAMED = re.compile(r"([^:?]+?)=([a-z][a-z0-9]*:.*)", re.DOTALL)


def function_of(method: type[Method]) -> Callable[..., None]:
    """A function with annotations that typer makes a command of."""
    roles = [role for role in method.requires if role != "system"]

    def judge(context: typer.Context, **values: Any) -> None:
        typed = typed_options(context)
        known = {each.name for each in _PARAMETERS}
        options = Shared(**{name: value for name, value in values.items() if name in known})
        given = {name: value for name, value in values.items() if name in typed - known}
        command = context.command_path.removeprefix(context.find_root().info_name or "").strip()
        _Judging(method, command, options, given, typed).run()

    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    offered = {
        "machine_references": MinimalPair in method.items,
        "segments": hasattr(method, "segments"),
    }
    shared = [each for each in _PARAMETERS if offered.get(each.name, True)]
    settings = method.Settings.model_fields
    if clash := {*settings, *roles} & {each.name for each in _PARAMETERS}:
        raise BabelscopeError(f"{method.name} has a setting {min(clash)!r}, an option that all methods share")
    own = method.Settings.__annotations__
    judge.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            context,
            *shared[:2],
            *map(_role_parameter, roles),
            # Settings that several methods share, such as the threshold of errors, come last.
            *(_parameter(name, settings) for name in sorted(settings, key=lambda name: name not in own)),
            *shared[2:],
        ]
    )
    _, *about = (inspect.getdoc(method) or "").split("\n\n")
    judge.__doc__ = "\n\n".join(about[:2])  # the question, and what is done
    return judge


def _role_parameter(role: str) -> inspect.Parameter:
    info = typer.Option(metavar="SYSTEM", help=f"The system that is the {role}; may be one of those tested.")
    return _keyword(role, str | None, info, None)


def _parameter(name: str, settings: Mapping[str, FieldInfo]) -> inspect.Parameter:
    """The option of a field. A field that is a list can be repeated, and is written in the singular."""
    field = settings[name]
    kind: Any = field.annotation
    metadata = list(field.metadata)
    if get_origin(kind) in (Union, types.UnionType):
        (kind,) = (each for each in get_args(kind) if each is not types.NoneType)
    repeat = get_origin(kind) is tuple
    is_file = Path in (kind, *get_args(kind))
    singular = name.removesuffix("s") if repeat else name
    option = name if singular in settings else singular
    default = None if repeat or field.is_required() else field.default
    metavar = next((each.name for each in metadata if isinstance(each, Metavar)), None)
    words = " ".join((field.description or "").split())
    if repeat:
        usual = ", ".join(map(str, field.get_default(call_default_factory=True)))
        words += f" May be repeated{f'; {usual} unless given' if usual else ''}."
    info = typer.Option(
        f"--{option.replace('_', '-')}",
        help=words,
        metavar=metavar or ("FILE" if is_file else None),
        min=next((each.ge for each in metadata if hasattr(each, "ge") and kind is int), None),
        show_default=default not in (None, False, ""),
    )
    # Elements of lists are checked with the settings.
    kind = list[str] if repeat else kind
    return _keyword(name, kind if default is not None else kind | None, info, default)


def _keyword(name: str, kind: Any, info: Any, default: Any) -> inspect.Parameter:
    annotation = Annotated[kind, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def named_system(text: str) -> dict[str, str]:
    """`NAME=SPEC` or `SPEC` as an entry of a study."""
    found = _NAMED.fullmatch(text)
    return {"name": found[1], "spec": found[2]} if found else {"spec": text}


@dataclass(frozen=True, slots=True)
class _Judging:
    """One call of a method's command."""

    method: type[Method]
    command: str
    options: Shared
    given: Mapping[str, Any]
    """Settings and roles that were typed."""
    typed: Set[str]
    """Names of all options that were typed."""

    def run(self) -> None:
        """Check what is asked for, judge, print, then write files, even if nobody could read what was printed."""
        options = self.options
        self._check()
        kept = answers_kept(options.cache) if options.out is None else work_kept_in(options.out)
        with telling_what_is_kept(kept):
            result = self._result()
        with contextlib.ExitStack() as after:
            if options.annotate is not None:
                after.callback(self._write_queue, result, options.annotate)
            if options.segments is not None:
                lines = cast(Any, self.method).segments(result.records)
                after.callback(write_file, options.segments, Form.JSON, lines)
            after.enter_context(then_records(options.records, [*result.records, *result.unanswered]))
            self._print(result)

    def _check(self) -> None:
        """Refuse options that contradict each other, or have no effect with the others."""
        options, typed = self.options, self.typed
        if options.rejudge is not None:
            roles = [role for role in self.method.requires if role != "system"]
            self._refuse([*_OF_SYSTEMS, *roles], "--rejudge")
            # The seed of a finished run is that of its figures.
            if "seed" in typed and options.annotate is None:
                raise BabelscopeError("--rejudge takes a finished run with its seed: leave --seed out")
        for name in ("tests", "system"):
            if options.rejudge is None and not getattr(options, name):
                raise BabelscopeError(f"{self.command} needs --{name}, or --rejudge and a finished run")
        if chosen_format(options.format, as_json=options.as_json) == "json":
            self._refuse(["table"], "--json")
        if options.queue_per_group is not None:
            self._refuse(["queue_size"], "--queue-per-group")
        if options.annotate is None:
            self._refuse(["queue_size", "queue_per_group"], "--annotate", "without")
        elif options.annotate.exists():
            raise BabelscopeError(
                f"{options.annotate} exists, and may have answers; choose another file for --annotate"
            )
        read = [options.tests, options.rejudge, *(options.system or ()), *(options.prompt or ())]
        written = {
            "--records": options.records,
            "--segments": options.segments,
            "--annotate": options.annotate,
        }
        check_outputs(written, folder=options.out, inputs=[*read, *_texts(self.given.values())])

    def _refuse(self, names: Iterable[str], other: str, how: str = "beside") -> None:
        for name in names:
            if name in self.typed:
                option = "cache/--no-cache" if name == "cache" else name.replace("_", "-")
                raise BabelscopeError(f"--{option} has no effect {how} {other}: leave it out")

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
        """The study that the command line stands for."""
        options = self.options
        return {
            "study": {
                "name": self.command,
                "seed": options.seed,
                "by": options.group_by or [],
                "seed_groups": options.seed_group or [],
            },
            "systems": self._systems(),
            "tests": [{"spec": options.tests, "machine_references": options.machine_references or []}],
            "methods": [{"name": self.method.name, **self.given}],
            "run": {"data_dir": options.data_dir},
        }

    def _systems(self) -> list[dict[str, Any]]:
        """The systems of the study; those that take prompts have the ones of --prompt."""
        from babelscope.systems.registry import takes_prompts

        systems: list[dict[str, Any]] = [dict(named_system(each)) for each in self.options.system or ()]
        asked = [each for each in systems if self.options.prompt and takes_prompts(each["spec"])]
        for each in asked:
            each["prompt"] = self.options.prompt
        if self.options.prompt and not asked:
            raise BabelscopeError(
                "--prompt is for systems that are asked by one (llm:, openai:), and there is none"
            )
        return systems

    def _print(self, result: Result) -> None:
        """Rows as JSON, the first with the signature; or tables."""
        options = self.options
        format: Format = chosen_format(options.format, as_json=options.as_json)
        with output(None, figures(format == "json")) as write:
            if format == "json":
                for number, row in enumerate(result.rows):
                    signed = {} if number else {"signature": result.signature}
                    write(as_line({**row.as_json(), **signed}))
                return
            stored = options.rejudge  # its records may have been edited
            with contextlib.nullcontext() if stored is None else explain_damage(str(stored)):
                text = result_text(
                    result,
                    format=format,
                    names=options.table or (),
                    every=options.every,
                    places=places_of(result.folder),
                )
                write(text)

    def _write_queue(self, result: Result, path: Path) -> None:
        """The queue that --annotate asks for, one JSON object per line; then, on stderr, what it was drawn from."""
        options = self.options
        (settings,) = result.settings.values()
        drawn = draw_queue(
            self.method(settings),
            result.records,
            n=options.queue_size,
            per_group=options.queue_per_group,
            seed=options.seed,
        )
        write_file(path, Form.JSON, map(as_line, drawn.lines))
        print(f"{visible(str(path))}: {drawn}", file=sys.stderr)


def _texts(values: Iterable[Any]) -> list[str | Path]:
    """All texts and paths among values and lists of values."""
    found = (each for value in values for each in (value if isinstance(value, list) else [value]))
    return [each for each in found if isinstance(each, str | Path)]
