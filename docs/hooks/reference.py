"""The generated pages of the site: the reference, from the code, and CONTRIBUTING.md; a hook of mkdocs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from pydantic import BaseModel
from typer.main import get_command

from babelscope.cli import app
from babelscope.cli.init import Key, keys_of
from babelscope.language.registry import ERROR_TYPES
from babelscope.methods.base import title_of
from babelscope.methods.registry import find_method, method_names
from babelscope.metrics.base import METRICS
from babelscope.runs.schema import schema
from babelscope.runs.study import (
    Entry,
    MakeTable,
    MethodEntry,
    OutputTable,
    RunTable,
    StudyTable,
    SystemEntry,
)
from babelscope.systems.registry import SCHEMES
from babelscope.testsets.loading import FORMATS
from babelscope.testsets.registry import RELEASES
from babelscope.util.published import SETS

ROOT = Path(__file__).parents[2]
TABLES: dict[str, type[BaseModel]] = {
    "[study]": StudyTable,
    "[[systems]]": SystemEntry,
    "[[make]]": MakeTable,
    "[[tests]]": Entry,
    "[[methods]]": MethodEntry,
    "[[outputs]]": OutputTable,
    "[run]": RunTable,
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to the site."""
    for name, text in pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def pages() -> dict[str, str]:
    """The generated pages by path."""
    return {
        "reference/commands.md": commands(),
        "reference/settings.md": settings(),
        "reference/study.md": study(),
        "reference/systems.md": systems(),
        "reference/testsets.md": test_sets(),
        "reference/error-types.md": error_types(),
        "reference/metrics.md": metrics(),
        "reference/results.md": results(),
        "inside/contributing.md": contributing(),
    }


# --- commands ------------------------------------------------------------------------------------------------------


def commands() -> str:
    """Every command with its arguments and options."""
    parts = ["# Commands", "`babelscope COMMAND --help` prints the same."]
    group: Any = get_command(app)
    for name in group.list_commands(group.make_context("babelscope", [], resilient_parsing=True)):
        parts += _command(group.commands[name], name)
    return _joined(parts)


def _command(command: Any, name: str) -> Iterator[str]:
    context = command.context_class(command, info_name=f"babelscope {name}", resilient_parsing=True)
    yield f"{'###' if ' ' in name else '##'} `{name}`"
    yield (command.help or "").split("\f")[0]
    if hasattr(command, "commands"):
        for each in command.list_commands(context):
            yield from _command(command.commands[each], f"{name} {each}")
        return
    shown = [each for each in command.get_params(context) if each.name != "help"]
    records = [_parameter(each, context) for each in shown if not getattr(each, "hidden", False)]
    more = [_parameter(each, context) for each in shown if getattr(each, "hidden", False)]
    if records:
        yield _table(("option", "what it does"), records)
    if more:
        yield "Settings (`--set NAME=VALUE`):"
        yield _table(("setting", "what it does"), more)
    if name.replace("-", "_") in method_names():
        yield f"Settings: see [{name}](settings.md#{name.replace('-', '_')})."


def _parameter(parameter: Any, context: Any) -> tuple[str, str]:
    record = parameter.get_help_record(context)
    if record is not None and not getattr(parameter, "hidden", False):
        return f"`{record[0]}`", record[1]
    name = parameter.name if getattr(parameter, "hidden", False) else parameter.make_metavar(context)
    return f"`{name}`", getattr(parameter, "help", "") or ""


# --- settings and studies ------------------------------------------------------------------------------------------


def settings() -> str:
    """Every setting of every method."""
    parts = [
        "# Settings of methods",
        'The same names work in a study (`ties = "wrong"`), in Python (`ties="wrong"`) and on the command line: '
        "those that `babelscope METHOD --help` lists as options are written as options (`--beam 5`), all others as "
        "`--set ties=wrong`. A setting that is a list can be repeated; its option is in the singular.",
    ]
    for name in method_names():
        method = find_method(name)
        parts += [f"## {name}", title_of(method)]
        roles = [
            Key(role, "system", "", True, f"A system that can do this: {', '.join(needed)}.")
            for role, needed in method.requires.items()
            if role != "system"
        ]
        parts.append(_keys([*roles, *keys_of(method.Settings)]))
    return _joined(parts)


def study() -> str:
    """Every key of a study."""
    parts = [
        "# Keys of a study",
        "How to write one: [Write a study](../howto/studies.md). Settings of methods stand in `[[methods]]`: "
        "[Settings of methods](settings.md).",
    ]
    for title, model in TABLES.items():
        parts += [f"## `{title}`", _keys(keys_of(model))]
    return _joined(parts)


def _keys(keys: Iterable[Key]) -> str:
    rows = [
        (
            f"`{key.name}`",
            key.accepts,
            "required" if key.required else f"`{key.default}`" if key.default else "not set",
            key.help,
        )
        for key in keys
    ]
    return _table(("key", "values", "default", "what it does"), rows)


# --- registries ----------------------------------------------------------------------------------------------------


def systems() -> str:
    """Every scheme of a system."""
    rows = []
    for name in SCHEMES.names():
        scheme = SCHEMES.find(name)
        install = f"`.[{scheme.extra}]`" if scheme.extra else ""
        able = ", ".join(sorted(scheme.capabilities))
        rows.append((f"`{name}:`", scheme.summary, f"`{scheme.example}`", able, install))
    return _joined(
        [
            "# Systems",
            "`--system [NAME=]SPEC`, `spec` in a study, and `babelscope.open_system`. Options of each scheme: "
            "[Open a system](../howto/systems.md), [services](../howto/services.md), "
            "[stored answers](../howto/stored.md).",
            _table(("scheme", "what it is", "example", "it can", "install"), rows),
        ]
    )


def test_sets() -> str:
    """Every format of test sets, and every published set."""
    rows = []
    for name in FORMATS.names():
        found = FORMATS.find(name)
        options = ", ".join(f"`{each}`" for each in (*found.flags, *found.numbers, *found.texts))
        rows.append((f"`{name}:`", found.summary, f"`{found.example}`", options))
    named = {**SETS, **RELEASES}
    published = [(f"`{name}`", each.description) for name, each in named.items()]
    return _joined(
        [
            "# Test sets",
            "`--tests`, `[[tests]]` and `babelscope.load` take a registered name, a path of a JSON-lines file, or "
            "`format:path`. Fields of items: [Prepare a test set](../howto/testsets.md).",
            "## Formats",
            _table(("format", "what it is", "example", "options"), rows),
            "## Published sets",
            "`babelscope data get NAME` downloads one; `babelscope data show NAME` prints its origin, license and "
            "files.",
            _table(("name", "what it is"), published),
        ]
    )


def error_types() -> str:
    """Every error type."""
    rows = []
    for name in ERROR_TYPES.names():
        found = ERROR_TYPES.find(name)
        rows.append((f"`{name}`", found.language, found.definition, "yes" if found.detect else ""))
    return _joined(
        [
            "# Error types",
            "[`make pairs`](../howto/pairs.md) makes them, and [`errors`](../methods/errors.md) looks for those that "
            "have a detector.",
            _table(("type", "language", "what is wrong", "detector"), rows),
        ]
    )


def metrics() -> str:
    """Every metric that has a name."""
    rows = []
    for name in METRICS.names():
        found = METRICS.find(name)
        rows.append((f"`{name}`", found.scale.describe(), "yes" if found.reads_references else "no"))
    return _joined(
        [
            "# Metrics",
            "Programs and numbers made elsewhere are metrics, too: [Choose a metric](../howto/metrics.md).",
            _table(("name", "scale", "reads references"), rows),
        ]
    )


# --- results, contributing -----------------------------------------------------------------------------------------


def results() -> str:
    """The JSON Schemas of what a run folder holds."""
    return _joined(
        [
            "# Results as JSON",
            "What each file of a run folder is: [Run folders](../inside/run-folder.md). What each field means: "
            "[Read a figure](../methods/figures.md).",
            "The same schema is a file: [run-folder.schema.json](run-folder.schema.json).",
            f"```json\n{schema()}```",
        ]
    )


def contributing() -> str:
    """CONTRIBUTING.md with its links as they are on the site."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    return text.replace("(docs/inside/", "(").replace("(docs/", "(../")


# --- Markdown ------------------------------------------------------------------------------------------------------


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    text = " ".join(text.split()).replace("|", "\\|")
    return text if text.startswith("`") else text.replace("<", "&lt;").replace("[", "\\[")
