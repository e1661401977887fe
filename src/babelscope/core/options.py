"""Commands and their options as plain data; those of a method are made from the fields of its settings."""

from __future__ import annotations

import types
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from babelscope.core.settings import MethodSettings


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a command, `--name`."""

    name: str
    help: str = ""
    kind: type = str
    """str, int, float, bool (a flag) or Path."""
    default: Any = None
    """None if there is none to show."""
    choices: tuple[str, ...] = ()
    metavar: str = ""
    minimum: int | None = None
    repeat: bool = False
    """May be given several times; its value is a tuple."""
    required: bool = False
    flags: tuple[str, ...] = ()
    """How it is written, if not as `--name`."""
    role: Literal["", "read", "write"] = ""
    """Whether its value names what is read, or a file that is written."""
    setting: str = ""
    """The field of the settings that it fills."""
    value: Any = None
    """What the flag sets that field to; None for True."""
    only_with: tuple[str, ...] = ()
    """Names of options without which it has no effect, so that it is refused unless one of them is given."""
    not_with: tuple[str, ...] = ()
    """Names of options beside which it would have no effect, or which it contradicts: refused together."""


def reads(name: str, help: str, *, repeat: bool = False) -> Option:
    """An option that names a file which is read."""
    return Option(name, help, Path, metavar="FILE", repeat=repeat, role="read")


def writes(name: str, help: str) -> Option:
    """An option that names a file which is written."""
    return Option(name, help, Path, metavar="FILE", role="write")


def options_of(settings: type[MethodSettings]) -> list[Option]:
    """One option for each field: its type says what is accepted (Path: an input file), its docstring is the help."""
    return [_option(name, field) for name, field in settings.model_fields.items()]


def _option(name: str, field: FieldInfo) -> Option:
    kind, minimum = _unwrapped(field.annotation, field.metadata)
    repeat = get_origin(kind) is tuple
    if repeat:
        kind, minimum = _unwrapped(get_args(kind)[0], ())
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    return Option(
        name.replace("_", "-"),
        help=" ".join((field.description or "").split()),
        kind=str if choices else kind,
        default=None if repeat or field.is_required() else field.default,
        choices=choices,
        metavar="FILE" if kind is Path else "",
        minimum=minimum,
        repeat=repeat,
        required=field.is_required(),
        role="read" if kind is Path else "",
        setting=name,
    )


def _unwrapped(kind: Any, metadata: Iterable[Any]) -> tuple[Any, int | None]:
    """A type without `None` and `Annotated`, and the smallest value allowed."""
    metadata = list(metadata)
    if get_origin(kind) is Annotated:
        kind, *notes = get_args(kind)
        metadata += [each for note in notes for each in getattr(note, "metadata", [note])]
    if get_origin(kind) in (Union, types.UnionType):
        (kind,) = (each for each in get_args(kind) if each is not types.NoneType)
    return kind, next((each.ge for each in metadata if hasattr(each, "ge")), None)


@dataclass(frozen=True, slots=True)
class Command:
    """A command by its name, with a summary for the list of all."""

    name: str
    summary: str
    place: Any
    """What it runs: a function with typer's annotations, a `typer.Typer` group or a method's `JudgingCommand`; or
    the `module:attribute` of one of these."""
