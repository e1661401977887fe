"""Rules over trees, read from TOML files: values are compared as they are, so that no file can run code or hang."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Literal, NoReturn

from babelscope.core.registry import did_you_mean
from babelscope.language.ud_rules import ANY, RESERVED, Pattern, Rule
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import LARGEST_TOML, parse_toml, read_bytes, shorten

_MOST_RULES = 200
_LONGEST_NAME = 100
_PATTERNS = ("dependent", "head", "contains", "between", "none_after")
_SWITCHES = ("siblings", "interrupted")
_KEYS = [field.name for field in dataclasses.fields(Rule) if field.name != "name"]
_FIELDS = [field.name for field in dataclasses.fields(Pattern)]

Refuse = Callable[[str, str], NoReturn]
"""(key, what is wrong) -> an error with file and line."""


def read_rules(path: str | Path) -> list[Rule]:
    """Read rules from a TOML file: a table `[name]` a rule, or `[[name]]` for each of several alternatives."""
    data = read_bytes(path, most=LARGEST_TOML)
    content = parse_toml(data, path)
    if not content:
        raise BabelscopeError(f"{path} has no rules; a rule is a table such as [light_verb]")
    lines = data.decode("utf-8").split("\n")
    made = []
    for name, value in content.items():
        tables = value if isinstance(value, list) and value else [value]
        for number, table in enumerate(tables):
            made.append(_rule(name, table, _refuse_at(path, lines, name, number)))
    if len(made) > _MOST_RULES:
        raise BabelscopeError(f"{path} has {len(made)} rules; at most {_MOST_RULES} are read")
    return made


@cache
def read_shipped() -> list[Rule]:
    """The rules that come with the package."""
    with as_file(files("babelscope.language") / "rules" / "more.toml") as path:
        return read_rules(path)


def _refuse_at(path: str | Path, lines: Sequence[str], name: str, number: int) -> Refuse:
    def refuse(key: str, message: str) -> NoReturn:
        place = at(path, _line_of(lines, name, number, key))
        raise BabelscopeError(f"{place}: rule {shorten(name)}{message}")

    return refuse


def _line_of(lines: Sequence[str], name: str, number: int, key: str) -> int:
    """The line, from 1, of a key in the table (the `number`th of that name, from 0), or of the table's beginning."""
    quoted = re.escape(name)
    # Possessive and bounded: a name or key of spaces would take time quadratic in the length of a line.
    begins = re.compile(rf"""\s*+(\[\[?\s*+["']?{quoted}["']?\s*+[\].]|["']?{quoted}["']?\s*+[=.])""")
    starts = [place for place, line in enumerate(lines) if begins.match(line)]
    start = starts[min(number, len(starts) - 1)] if starts else 0
    if key and len(key) <= _LONGEST_NAME:
        named = re.compile(rf"""(?<![\w-])["']?{re.escape(key)}["']?\s{{0,9}}[=.\]]""")
        for place in range(start, len(lines)):
            other = place > start and lines[place].lstrip().startswith("[") and not begins.match(lines[place])
            if other:
                break
            if named.search(lines[place]):
                return place + 1
    return start + 1


def _rule(name: str, table: Any, refuse: Refuse) -> Rule:
    if not isinstance(table, Mapping):
        refuse("", f" must be a table, [{name}]")
    if name in RESERVED:
        refuse("", ": this name is taken")
    if not name.strip() or len(name) > _LONGEST_NAME:
        refuse("", f": a rule has a name of at most {_LONGEST_NAME} characters")
    _check_keys(table, _KEYS, "", refuse)
    for key in ("definition", "label"):
        if not isinstance(table.get(key, ""), str):
            refuse(key, f": {key} must be text")
    for key in _SWITCHES:
        if not isinstance(table.get(key, False), bool):
            refuse(key, f": {key} must be true or false")
    order: Literal["", "before", "after"] = table.get("order", "")
    if "order" in table and order not in ("before", "after"):
        refuse("order", ": order must be before or after")
    patterns = {key: _pattern(table[key], key, refuse) for key in _PATTERNS if key in table}
    if patterns.get("dependent", ANY) == ANY:
        refuse("dependent", " must say what the dependent is like, or it matches every word")
    return Rule(
        name,
        table.get("definition", name),
        languages=_texts(table.get("languages", []), "languages", "languages", refuse),
        label=table.get("label", ""),
        order=order,
        **patterns,  # type: ignore[arg-type]  # the keys are names of patterns only
        **{key: table[key] for key in _SWITCHES if key in table},
    )


def _pattern(table: Any, key: str, refuse: Refuse) -> Pattern:
    if not isinstance(table, Mapping):
        refuse(key, f': {key} must be a table, such as {{ relation = ["obj"] }}')
    _check_keys(table, _FIELDS, f": {key}", refuse)
    return Pattern(**{name: _texts(value, f"{key}: {name}", name, refuse) for name, value in table.items()})


def _check_keys(table: Mapping[str, Any], known: Sequence[str], where: str, refuse: Refuse) -> None:
    for key in table:
        if key not in known:
            hint = did_you_mean(key, known, f"known are {', '.join(known)}")
            refuse(key, f"{where} knows no {key!r}; {hint}")


def _texts(value: Any, where: str, key: str, refuse: Refuse) -> tuple[str, ...]:
    """A list of texts; a single text is accepted too."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(text, str) and text for text in values):
        refuse(key, f": {where} must be text or a list of texts")
    return tuple(values)
