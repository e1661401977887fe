"""`babelscope run --init`: a commented study of the given systems, test sets and methods."""

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

# Defaults: methods that judge any test set of their kind, on the lab's systems and test sets.
_METHODS = ("contrast", "condition", "likelihood")
_BY_OUTPUT = "quality"  # judges systems that give no scores
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
# Run or resume it: babelscope run {name}
# A commented key shows its default, or no value if it has none. Remove the # to set it.
# Relative paths are relative to this file. All keys are explained in docs/howto/studies.md.
"""


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table of a study, or one setting of a method."""

    name: str
    accepts: str
    """Accepted values, in words."""
    default: str
    """As TOML; empty if there is none."""
    required: bool
    help: str


def write_study(file: Path, systems: list[str], tests: list[str], methods: list[str]) -> None:
    """Write a study of the given names, or else of the lab's systems and test sets."""
    from babelscope.util.files import check_writable, replacing

    place = check_writable(file)
    if place.status is not None and not place.is_stream:
        raise BabelscopeError(f"{file} exists; choose another file")
    named = (list(dict.fromkeys(each)) for each in (systems or _SYSTEMS, tests, methods))
    text = study_text(file, *named)
    with replacing(file) as written:
        written.write(text.encode("utf-8"))
    if not place.is_stream:
        shown = visible(str(file))
        print(f"wrote {shown}; check it, then run: babelscope run {shown}")


def study_text(file: Path, systems: list[str], tests: list[str], names: list[str]) -> str:
    """A study as TOML that runs unchanged; combinations that cannot run are refused."""
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
        methods = [method for method in methods if not _unfit(method, systems)]
        other = find_method(_BY_OUTPUT)
        if not methods and kinds.intersection(other.items):
            methods = [other]
        if not methods:
            raise BabelscopeError(
                f"none of {', '.join(_METHODS)} fits these systems and tests; name a --method"
            )
    # Settings do not matter for what is judged.
    check_kinds([method(method.Settings.model_construct()) for method in methods], loaded)
    parts = [_HEAD.format(name=file.name), "[study]", *_commented(StudyTable, name=file.stem)]
    for table, specs, entry in (("systems", systems, SystemEntry), ("tests", tests, Entry)):
        for number, spec in enumerate(specs):
            about = _commented(entry, without=("spec",)) if not number else []
            parts += ["", f"[[{table}]]", f"spec = {_toml(spec)}", *about]
    for number, method in enumerate(methods):
        if unfit := _unfit(method, systems):
            raise BabelscopeError(unfit)
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
    """The test sets, with paths relative to the study's folder."""
    from babelscope.testsets import load

    if not folder.is_dir():
        raise BabelscopeError(f"{folder} is no folder")
    with contextlib.chdir(folder):
        return {spec: load(spec) for spec in specs}


def _roles(method: type[Method], systems: Sequence[str]) -> dict[str, str]:
    """A system for each role besides the tested ones."""
    return {
        role: able[0]
        for role, needed in method.requires.items()
        if role != "system" and (able := _able(systems, needed))
    }


def _unfit(method: type[Method], systems: Sequence[str]) -> str:
    """Why these systems cannot be judged by the method, or nothing."""
    for role, needed in method.requires.items():
        able = _able(systems, needed)
        if not able or (role == "system" and len(able) < len(systems)):
            without = next(spec for spec in systems if spec not in able)
            return (
                f"{method.name} needs {'systems' if role == 'system' else f'a system as {role}'} with "
                f"{', '.join(needed)}, which {without} does not have; name another system or method"
            )
    return ""


def _able(systems: Sequence[str], needed: Sequence[Capability]) -> list[str]:
    """The systems that have the needed capabilities."""
    from babelscope.systems.registry import find_scheme

    def able(spec: str) -> bool:
        has = find_scheme(spec).capabilities
        return all(each in has or (each == "score" and "item_scores" in has) for each in needed)

    return [spec for spec in systems if able(spec)]


def _commented(model: type[BaseModel], *, without: Sequence[str] = (), **instead: str) -> Iterable[str]:
    """The keys of a table as comments, each after its help; `instead` overrides defaults."""
    for key in keys_of(model):
        if key.name in without:
            continue
        # A default shows the type, but no bounds and no other choices.
        told = "" if key.default and key.accepts in _PLAIN else f"({key.accepts})"
        yield from _comment(f"{key.help} {told}")
        value = _toml(instead[key.name]) if key.name in instead else key.default
        if key.required and not value:
            value = '""  # to be filled in'
        yield f"{'' if key.required else '#'}{key.name} = {value}".rstrip()


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, 98, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)


def keys_of(model: type[BaseModel]) -> list[Key]:
    """The keys of a study's table, or the settings of a method, in order."""
    keys = []
    for name, field in model.model_fields.items():
        required = field.is_required()
        default = None if required else field.get_default(call_default_factory=True, validated_data={})
        accepts = _accepts(field.annotation, field.metadata)
        help = " ".join((field.description or "").split())
        keys.append(Key(name, accepts, "" if default is None else _toml(default), required, help))
    return keys


def _toml(value: Any) -> str:
    """A value as TOML; JSON writes the values of settings the same way, except for DEL."""
    plain = str(value) if isinstance(value, Path) else value
    return json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")


def _accepts(kind: Any, metadata: Iterable[Any] = ()) -> str:
    """The accepted values of a type, in words."""
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
