"""docs/studies.md has every key of a study and every setting of a method, as the code has them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel

from babelscope.cli.init import Key, keys_of
from babelscope.methods.registry import find_method, method_names
from babelscope.runs.study import Entry, MakeTable, MethodEntry, OutputTable, RunTable, StudyTable

PAGE = Path(__file__).parents[2] / "docs" / "studies.md"
TABLES: dict[str, type[BaseModel]] = {
    "study": StudyTable,
    "entry": Entry,
    "methods": MethodEntry,
    "make": MakeTable,
    "outputs": OutputTable,
    "run": RunTable,
}


def current(page: str) -> str:
    """The page with its tables, each between `<!-- keys: NAME -->` and `<!-- end -->`, made again."""
    found = re.compile(r"(<!-- keys: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
    return found.sub(lambda match: f"{match[1]}{_table(match[2])}{match[3]}", page)


def _table(name: str) -> str:
    keys = keys_of(TABLES[name] if name in TABLES else find_method(name).Settings)
    if name not in TABLES:
        keys = [*_roles(name), *keys]
    lines = [
        f"| `{key.name}` | {_cell(key.accepts)} | {_default(key)} | {_cell(key.help)} |\n" for key in keys
    ]
    return "".join(["| key | values | default | what it does |\n|---|---|---|---|\n", *lines])


def _roles(name: str) -> Iterable[Key]:
    for role, needed in find_method(name).requires.items():
        if role != "system":
            yield Key(role, "system", "", True, f"The system in this role; it needs: {', '.join(needed)}.")


def _default(key: Key) -> str:
    return "required" if key.required else f"`{key.default}`" if key.default else "not set"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def test_the_tables_are_current():
    page = PAGE.read_text()
    assert page == current(page), "run: python tests/runs/test_studies_page.py"


def test_every_table_and_method_has_one():
    named = re.findall(r"<!-- keys: ([\w-]+) -->", PAGE.read_text())
    assert sorted(named) == sorted([*TABLES, *method_names()])


def test_every_key_is_explained():
    models: list[type[BaseModel]] = [
        *TABLES.values(),
        *(find_method(name).Settings for name in method_names()),
    ]
    assert not [(model.__name__, key.name) for model in models for key in keys_of(model) if not key.help]


if __name__ == "__main__":
    PAGE.write_text(current(PAGE.read_text()))
