"""The documentation: its commands exist, its examples print what the pages show, its generated pages are complete."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from typer.main import get_command

from babelscope.cli import app
from babelscope.cli.init import keys_of
from babelscope.methods.registry import find_method, method_names
from babelscope.runs.study import Entry, MakeTable, MethodEntry, OutputTable, RunTable, StudyTable
from tests import docs_examples

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BY_HAND = [page for page in sorted(DOCS.rglob("*.md")) if page.name not in ("coverage.md", "real-models.md")]
MOST_WORDS, MOST_WORDS_OF_A_TASK, MOST_WORDS_OF_A_METHOD = 40_000, 500, 1_500
# Pages whose examples ask no model; the others are left to `make test-all`.
QUICK = {"agreement", "pairs", "services", "stored", "testsets", "unspaced"}
# What stands for something else: several runs, an option that may be left out, further options.
PLACEHOLDER = re.compile(r"\.\.\.|[\[\]|]|…")


def command_lines(page: Path) -> Iterator[list[str]]:
    """The words after `babelscope` of each line of a block of commands."""
    text = page.read_text("utf-8")
    for block in re.findall(r"^```(?:bash|sh|console)?[^\n\"]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for line in block.replace("\\\n", " ").split("\n"):
            words = re.split(r"  #| \| | > ", line.removeprefix("$ "))[0].strip()
            if words.startswith("babelscope ") and not PLACEHOLDER.search(words):
                yield shlex.split(words, comments=True)[1:]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [ROOT / "README.md", *BY_HAND], ids=name_of)
def test_commands_and_options_exist(page: Path) -> None:
    unknown = {}
    for words in command_lines(page):
        try:
            parse(get_command(app), words)
        except Exception as error:
            unknown[" ".join(words)] = str(error)
    assert unknown == {}


def parse(group: Any, words: list[str]) -> None:
    name, command, rest = group.resolve_command(group.context_class(group), words)
    if hasattr(command, "commands"):
        parse(command, rest)
    else:
        command.make_context(name, rest)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name_of(page), marks=[] if page.stem in QUICK else [pytest.mark.slow])
        for page in docs_examples.PAGES
    ],
)
def test_examples_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    text = page.read_text("utf-8")
    assert docs_examples.run_page(page, folder) == text, (
        f"python -m tests.docs_examples --write {name_of(page)}"
    )


def test_what_a_page_names_exists() -> None:
    """Files of tests and source, and benchmarks."""
    missing = set()
    for page in [*BY_HAND, ROOT / "CONTRIBUTING.md"]:
        text = page.read_text("utf-8")
        named = {ROOT / name for name in re.findall(r"`(tests/[\w/.]+)`", text)}
        named |= {ROOT / "benchmarks" / f"{name}.py" for name in re.findall(r"\bbenchmarks\.([a-z_]+)", text)}
        missing |= {(name_of(page), str(path)) for path in named if not path.exists()}
    assert not missing


def test_pages_are_short() -> None:
    pages = [*BY_HAND, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    words = {name_of(page): len(re.findall(r"\S*\w\S*", written(page))) for page in pages}
    assert sum(words.values()) <= MOST_WORDS
    most = {"docs/howto": MOST_WORDS_OF_A_TASK, "docs/methods": MOST_WORDS_OF_A_METHOD, ".": 600}
    long = {name: n for name, n in words.items() if n > most.get(str(Path(name).parent), MOST_WORDS)}
    assert not long


def written(page: Path) -> str:
    """What a person wrote of a page: without what its examples print."""
    text = page.read_text("utf-8")
    for block in docs_examples.BLOCK.finditer(text):
        if block["language"] == "console":
            text = text.replace(block["text"], "".join(docs_examples.commands(block["text"])))
    return text


def test_every_key_of_a_study_is_explained() -> None:
    models: list[type[BaseModel]] = [StudyTable, MakeTable, Entry, MethodEntry, OutputTable, RunTable]
    models += [find_method(name).Settings for name in method_names()]
    assert not [(model.__name__, key.name) for model in models for key in keys_of(model) if not key.help]


def test_generated_pages_have_everything() -> None:
    pytest.importorskip("mkdocs")
    from docs.hooks import reference

    pages = reference.pages()
    assert all(f"\n## {name}\n" in pages["reference/settings.md"] for name in method_names())
    group: Any = get_command(app)
    names = group.list_commands(group.make_context("babelscope", [], resilient_parsing=True))
    assert all(f"\n## `{name}`\n" in pages["reference/commands.md"] for name in names)
    empty = [
        line for text in pages.values() for line in text.split("\n") if re.search(r"^\| `--.*\|  \|$", line)
    ]
    assert not empty
