"""Rules over trees, read from TOML files: values are compared as they are, so that no file can run code or hang."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from babelscope.language.ud_rules import ANY, RESERVED, Rule
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import LARGEST_TOML, parse_toml, read_bytes, shorten

_MOST_RULES = 200
_LONGEST_NAME = 100
_RULE = TypeAdapter(Rule)


def read_rules(path: str | Path) -> list[Rule]:
    """Read rules from a TOML file: a table `[name]` a rule, or `[[name]]` for each of several alternatives."""
    content = parse_toml(read_bytes(path, most=LARGEST_TOML), path)
    if not content:
        raise BabelscopeError(f"{path} has no rules; a rule is a table such as [light_verb]")
    made = []
    for name, value in content.items():
        tables = value if isinstance(value, list) and value else [value]
        made += [_rule(name, table, f"{path}: rule {shorten(name)}") for table in tables]
    if len(made) > _MOST_RULES:
        raise BabelscopeError(f"{path} has {len(made)} rules; at most {_MOST_RULES} are read")
    return made


@cache
def read_shipped() -> list[Rule]:
    """The rules that come with the package."""
    with as_file(files("babelscope.language") / "rules" / "more.toml") as path:
        return read_rules(path)


def _rule(name: str, table: Any, place: str) -> Rule:
    if not isinstance(table, Mapping):
        raise BabelscopeError(f"{place} must be a table, [{name}]")
    if name in RESERVED:
        raise BabelscopeError(f"{place}: this name is taken")
    if not name.strip() or len(name) > _LONGEST_NAME:
        raise BabelscopeError(f"{place}: a rule has a name of at most {_LONGEST_NAME} characters")
    # A single text is accepted where a list of texts is expected.
    fields = {
        key: {own: [each] if isinstance(each, str) else each for own, each in value.items()}
        if isinstance(value, Mapping)
        else value
        for key, value in table.items()
    }
    try:
        rule = _RULE.validate_python({"definition": name, "dependent": {}, **fields, "name": name})
    except ValidationError as error:
        first = error.errors()[0]
        raise BabelscopeError(f"{place}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if rule.dependent == ANY:
        raise BabelscopeError(f"{place} must say what the dependent is like, or it matches every word")
    return rule
