"""`babelscope run --init`: a commented study for the systems, test sets and methods that are named."""

from __future__ import annotations

import contextlib
import json
import textwrap
import types
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from babelscope.util.errors import BabelscopeError
from babelscope.util.terminal import visible

if TYPE_CHECKING:
    from pydantic import BaseModel

    from babelscope.core.system import Capability
    from babelscope.methods.base import Method
    from babelscope.testsets import TestSet

# What is written where nothing is named: methods that judge any test set of their kind, and the lab's things.
_METHODS = ("contrast", "condition", "likelihood")
_SYSTEMS = ("lab:teacher", "lab:student")
_TESTS = {
    "MinimalPair": "lab:pairs?n=10",
    "AmbiguousSource": "lab:gender?n=100",
    "ParallelSentence": "lab:challenge?n=100",
}
_WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false", Path: "path"}
_PLAIN = {*_WORDS.values(), "list of: text"}
_HEAD = """\
# A study: every method on every system and every test set whose items it judges.
# Run it, or go on with it, by: babelscope run {name}
# A line of # and a key has the default of that key; without a value, it is not set. To set it, take
# the # away.
# Relative paths are relative to this file. All keys are explained in docs/howto/studies.md.
"""


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table of a study, or one setting of a method."""

    name: str
    accepts: str
    """What values it takes, in words."""
    default: str
    """As in TOML; empty where there is none."""
    required: bool
    help: str


def write_study(file: Path, systems: list[str], tests: list[str], methods: list[str]) -> None:
    """Write a study of what is named, else of the lab's things."""
    from babelscope.util.files import check_writable, replacing

    place = check_writable(file)
    if place.status is not None and not place.is_stream:
        raise BabelscopeError(f"{file} is there already; name another file")
    named = (list(dict.fromkeys(each)) for each in (systems or _SYSTEMS, tests, methods))
    text = study_text(file, *named)
    with replacing(file) as written:
        written.write(text.encode("utf-8"))
    if not place.is_stream:
        shown = visible(str(file))
        print(f"wrote {shown}; look at it, then: babelscope run {shown}")


def study_text(file: Path, systems: list[str], tests: list[str], names: list[str]) -> str:
    """A study as TOML that runs as it is; names that do not go together are refused."""
    from babelscope.methods.base import title_of
    from babelscope.methods.jobs import check_kinds
    from babelscope.methods.registry import find_method
    from babelscope.runs.study import Entry, MethodEntry, RunTable, StudyTable, SystemEntry

    methods = [find_method(name) for name in names or _METHODS]
    tests = tests or list(dict.fromkeys(_lab_tests(method) for method in methods))
    loaded = _load(file.absolute().parent, tests)
    if not names:
        kinds = {each.kind for each in loaded.values()}
        methods = [method for method in methods if kinds.intersection(method.items)]
    # Settings do not matter for what is judged.
    check_kinds([method(method.Settings.model_construct()) for method in methods], loaded)
    parts = [_HEAD.format(name=file.name), "[study]", *_commented(StudyTable, name=file.stem)]
    for table, specs, entry in (("systems", systems, SystemEntry), ("tests", tests, Entry)):
        for number, spec in enumerate(specs):
            about = _commented(entry, without=("spec",)) if not number else []
            parts += ["", f"[[{table}]]", f"spec = {_toml(spec)}", *about]
    for number, method in enumerate(methods):
        shared = _commented(MethodEntry, without=("name",)) if not number else []
        parts += ["", *_comment(title_of(method)), "[[methods]]", f"name = {_toml(method.name)}", *shared]
        parts += [f"{role} = {_toml(spec)}" for role, spec in _roles(method, systems).items()]
        parts += _commented(method.Settings)
    return "\n".join([*parts, "", "[run]", *_commented(RunTable), ""])


def _lab_tests(method: type[Method]) -> str:
    kind = method.items[0].__name__
    if kind not in _TESTS:
        raise BabelscopeError(f"{method.name} judges {kind} items; name a test set of them")
    return _TESTS[kind]


def _load(folder: Path, specs: Iterable[str]) -> dict[str, TestSet]:
    """Test sets as the study will find them: its folder is the working folder of a run."""
    from babelscope.testsets import load

    if not folder.is_dir():
        raise BabelscopeError(f"{folder} is no folder")
    with contextlib.chdir(folder):
        return {spec: load(spec) for spec in specs}


def _roles(method: type[Method], systems: Sequence[str]) -> dict[str, str]:
    """A system for each role but that of the tested ones, which must all be able to do what is needed."""
    from babelscope.systems.registry import find_scheme

    def able(spec: str, needed: Sequence[Capability]) -> bool:
        has = find_scheme(spec).capabilities
        return all(each in has or (each == "score" and "item_scores" in has) for each in needed)

    roles = {}
    for role, needed in method.requires.items():
        fit = [spec for spec in systems if able(spec, needed)]
        if not fit or (role == "system" and len(fit) < len(systems)):
            unfit = next(spec for spec in systems if spec not in fit)
            raise BabelscopeError(
                f"{method.name} needs {'systems' if role == 'system' else f'a system as {role}'} with "
                f"{', '.join(needed)}, which {unfit} does not have; name another system or method"
            )
        if role != "system":
            roles[role] = fit[0]
    return roles


def _commented(model: type[BaseModel], *, without: Sequence[str] = (), **instead: str) -> Iterable[str]:
    """The keys of a table as comments, each with its help before it; `instead` has other defaults."""
    for key in keys_of(model):
        if key.name in without:
            continue
        # A default shows its type, but neither bounds nor other choices.
        told = "" if key.default and key.accepts in _PLAIN else f"({key.accepts})"
        yield from _comment(f"{key.help} {told}")
        value = _toml(instead[key.name]) if key.name in instead else key.default
        if key.required and not value:
            value = '""  # to be filled in'
        yield f"{'' if key.required else '#'}{key.name} = {value}".rstrip()


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, 98, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)


def keys_of(model: type[BaseModel]) -> list[Key]:
    """The keys of a table or the settings of a method, in order."""
    keys = []
    for name, field in model.model_fields.items():
        required = field.is_required()
        default = None if required else field.get_default(call_default_factory=True, validated_data={})
        accepts = _accepts(field.annotation, field.metadata)
        help = " ".join((field.description or "").split())
        keys.append(Key(name, accepts, "" if default is None else _toml(default), required, help))
    return keys


def _toml(value: Any) -> str:
    """A value as TOML writes it; of what settings hold, JSON writes all but DEL the same."""
    plain = str(value) if isinstance(value, Path) else value
    return json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")


def _accepts(kind: Any, metadata: Iterable[Any] = ()) -> str:
    """What values a type takes, in words."""
    metadata = list(metadata)
    if get_origin(kind) is Annotated:
        kind, *notes = get_args(kind)
        metadata += [each for note in notes for each in getattr(note, "metadata", [note])]
    if get_origin(kind) in (Union, types.UnionType):
        words = " or ".join(_accepts(each) for each in get_args(kind) if each is not types.NoneType)
    elif get_origin(kind) is Literal:
        words = " or ".join(_toml(each) for each in get_args(kind))
    elif get_origin(kind) in (tuple, list):
        words = f"list of: {_accepts(get_args(kind)[0])}"
    else:
        words = _WORDS.get(kind, "table")
    bounds = {"ge": "at least", "gt": "more than", "le": "at most"}
    limits = [
        f"{told} {limit:,}"
        for name, told in bounds.items()
        for each in metadata
        if (limit := getattr(each, name, None)) is not None
    ]
    return ", ".join([words, *limits])
