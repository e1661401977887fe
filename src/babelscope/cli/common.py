"""Shared options, and writing of lines to stdout or to a file."""

from __future__ import annotations

import contextlib
import functools
import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from babelscope.util.errors import BabelscopeError, SystemFailure, at
from babelscope.util.files import replacing
from babelscope.util.terminal import terminal_width, visible, wrap, write_data
from babelscope.util.text import parse_lines, read_all_lines, read_lines

if TYPE_CHECKING:
    from babelscope.core.charts import Chart
    from babelscope.core.results import Record, Result, Row
    from babelscope.core.system import Capability

# Lines asked at once: enough to fill a system's batches.
LINES_AT_ONCE = 256
# How many unanswered lines are named on stderr; the others are counted.
_NAMED_UNANSWERED = 5

_Question = TypeVar("_Question")
_Answer = TypeVar("_Answer")


def option(help: str, *names: str, **more: Any) -> Any:
    """An option, named like its parameter unless `names` are given."""
    return typer.Option(*names, help=help, **more)


def setting(help: str, **more: Any) -> Any:
    """A setting: a parameter that is given as `--set NAME=VALUE`."""
    return typer.Option(help=help, hidden=True, **more)


def file_option(help: str, **more: Any) -> Any:
    """An option whose value is the path of a file."""
    return typer.Option(metavar="FILE", help=help, **more)


def folder_option(help: str, **more: Any) -> Any:
    """An option whose value is the path of a folder."""
    return typer.Option(metavar="FOLDER", help=help, **more)


Systems = Annotated[
    list[str],
    typer.Option(
        "--system",
        metavar="[NAME=]SYSTEM",
        help="A system (see `babelscope systems`), optionally named; repeatable.",
    ),
]
OfWorld = Annotated[str, typer.Option(metavar="NAME", help="World of the lab: easy, hard or clean.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object per line.")]
Format = Literal["text", "markdown", "latex", "csv", "json"]
InFormat = Annotated[
    Format,
    typer.Option(
        "--format",
        help="Output format; --json is short for --format json. LaTeX needs booktabs and graphicx.",
        rich_help_panel="Output",
    ),
]
Registries = Annotated[
    list[str] | None,
    typer.Option(
        "--registry",
        metavar="FILE|URL",
        help="A registry of test sets that others published; may be repeated. Also $BABELSCOPE_REGISTRY.",
        rich_help_panel="Input",
    ),
]
ALL = "all"
"""Value of --table that selects all tables."""
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        metavar="NAME",
        help="Print only this table; repeatable. An unknown name lists all names; `all` (or --all) prints "
        "every table and row.",
        rich_help_panel="Output",
    ),
]
ToFile = Annotated[Path | None, typer.Option("--to", metavar="FILE", help="Output file instead of stdout.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]
ABOUT_TOKENIZERS = (
    "Tokenizer of the metric: 13a, intl, zh, ja-mecab, ko-mecab, char, whitespace or spm:FILE. "
    "[default: by target language]"
)

Cache = Annotated[
    bool | None,
    typer.Option(
        "--cache/--no-cache",
        help="Cache answers in $BABELSCOPE_CACHE or the user's cache folder. By default, only answers of "
        "servers are cached, until the command ends.",
    ),
]


def open_systems(
    specs: Sequence[str], *needed: Capability, cache: bool | None, what_for: str = ""
) -> dict[str, Any]:
    """Open systems, by name; each must have the capabilities needed."""
    from babelscope.methods.jobs import systems_by_name
    from babelscope.systems.cache import with_store
    from babelscope.systems.registry import open_system, require

    found = systems_by_name(specs, lambda spec: with_store(open_system(spec), cache))
    for system in found.values() if needed else ():
        require(system, *needed, what_for=what_for)
    return found


def check_beam(specs: Iterable[str]) -> None:
    """Refuse a beam size if no system has a beam that can be set."""
    from babelscope.systems.registry import find_scheme

    named = list(specs)
    if not any(find_scheme(spec).beam for spec in named):
        raise BabelscopeError(
            f"the beam size has no effect on {', '.join(named)}: stored translations, or a program or server "
            f"with its own settings"
        )


def read_sources(path: Path) -> list[str]:
    """The lines of a file, or of stdin for `-`; an empty line is an error."""
    if str(path) == "-" and sys.stdin is None:
        raise BabelscopeError("stdin is closed; give a file of sources")
    lines = (
        parse_lines(read_all_lines(sys.stdin.buffer, "stdin"), "stdin")
        if str(path) == "-"
        else read_lines(path)
    )
    for number, line in enumerate(lines, 1):
        if not line.strip():
            place = _place({"source": path}, 0, "source", number)
            raise BabelscopeError(f"{place} is empty; a source must have text")
    return lines


def ask_lines(
    asked: Sequence[_Question],
    ask: Callable[[Sequence[_Question]], list[_Answer]],
    files: Mapping[str, Path],
    *,
    at_once: int = LINES_AT_ONCE,
) -> Iterator[tuple[_Question, _Answer | str]]:
    """Ask batch by batch, and yield each question with its answer, or with the reason for no answer.

    An error about a text names its file (of `source` and `target`) and line. Unanswered lines are named on stderr.
    """
    from babelscope.systems.contract import ask_answered, relocate_errors

    unanswered = 0
    for start in range(0, len(asked), at_once):
        some = asked[start : start + at_once]
        with relocate_errors(functools.partial(_place, files, start)):
            answers = ask_answered(ask, some)
        for number, answer in enumerate(answers, 1):
            if isinstance(answer, str):
                unanswered += 1
                if unanswered <= _NAMED_UNANSWERED:
                    told = f"{_place(files, start, 'source', number)} was not answered: {answer}"
                    print(f"babelscope: {told}", file=sys.stderr)
        yield from zip(some, answers, strict=True)
    if unanswered and unanswered == len(asked):
        raise SystemFailure("no line was answered")
    if unanswered:
        print(f"babelscope: {unanswered} of {len(asked)} lines were not answered", file=sys.stderr)


def _place(files: Mapping[str, Path], before: int, what: str, number: int) -> str:
    if what not in files:
        return f"{what} {before + number}"
    return at("stdin" if str(files[what]) == "-" else files[what], before + number)


class Form(Enum):
    """What output is for: people, or programs, which get it unchanged."""

    TEXT = "text"
    LINES = "lines"
    JSON = "json"


@contextlib.contextmanager
def output(path: Path | None, form: Form) -> Iterator[Callable[[str], None]]:
    """Yield a function that writes a line to stdout, or to a file that appears at the end of the block."""
    if path is None:
        yield print if form is Form.TEXT else functools.partial(write_data, is_json=form is Form.JSON)
        return
    lines: list[str] = []
    yield lines.append
    with replacing(path) as file:
        for line in lines:
            text = visible(line, keep="\n\t") if form is Form.TEXT else line
            file.write(text.encode("utf-8") + b"\n")


def write_file(path: Path, form: Form, lines: Iterable[str]) -> None:
    """Write all lines to stdout or a file, as `output` does."""
    with output(path, form) as write:
        for line in lines:
            write(line)


def draw_chart(path: Path, chart: Chart) -> Callable[[], None]:
    """Draw a chart as PDF, PNG or SVG, by the file's suffix; return a function that writes the file."""
    from babelscope.core.charts import Scatter
    from babelscope.report.charts import as_file

    keys = chart.drawing.keys if isinstance(chart.drawing, Scatter) else ()
    series = {name: number for number, name in enumerate(dict.fromkeys(key.system for key in keys))}
    forms: dict[str, Literal["pdf", "svg", "png"]] = {".pdf": "pdf", ".png": "png"}
    data = as_file(chart, series, forms.get(path.suffix.lower(), "svg"))

    def write() -> None:
        with replacing(path) as file:
            file.write(data)

    return write


def figures(as_json: bool) -> Form:
    """The form of rows: JSON or text."""
    return Form.JSON if as_json else Form.TEXT


def paragraph(text: str, hanging: str = " " * 4) -> str:
    """The text wrapped at the width of the terminal."""
    return "\n".join(wrap(visible(text), terminal_width(), hanging=hanging))


def width_for(path: Path | None) -> int | None:
    """Width of text on a terminal; None for files, which are not wrapped."""
    return terminal_width() if path is None else None


def result_text(
    result: Result,
    *,
    format: Format = "text",
    tables: Sequence[str] | None = None,
    places: Sequence[str] = (),
) -> str:
    """A result as text: its summary, the tables of these names, or all tables and rows."""
    from babelscope.report.summary import everything, summarize, tables_as

    names = [name for name in tables or () if name != ALL]
    every = len(names) < len(tables or ())
    width = terminal_width()
    if format != "json" and (format != "text" or names):
        return tables_as(result, format, names, every=every, width=width)
    if every:
        return everything(result, width=width, places=places)
    return summarize(result, width=width, places=places)


def place_of(path: Path) -> str:
    """The path relative to the working folder, if it is inside."""
    absolute, here = path.absolute(), Path.cwd()
    return visible(str(absolute.relative_to(here) if absolute.is_relative_to(here) else absolute))


def places_of(folder: Path | None, *, report: bool = False) -> list[str]:
    """Lines that name the run folder and the next command."""
    if folder is None:
        return ["not stored; use --out FOLDER to store the run for report and compare"]
    found = [f"run folder: {place_of(folder)}"]
    return found if report else [*found, f"as a page: babelscope report {shlex.quote(place_of(folder))}"]


def print_json(row: Mapping[str, Any]) -> None:
    """Print a JSON object on one line."""
    write_data(as_line(row), is_json=True)


def as_line(row: Mapping[str, Any]) -> str:
    """The object as one line of JSON."""
    return json.dumps(row, ensure_ascii=False, allow_nan=False)


def write_rows(rows: Sequence[Row], *, as_json: bool, to: Path | None = None) -> None:
    """Write figures to stdout or a file: one JSON object per line, or a table."""
    from babelscope.core.tables import rows_text

    with output(to, figures(as_json)) as write:
        for row in rows if as_json else ():
            write(as_line(row.as_json()))
        if not as_json:
            write(rows_text(rows, width_for(to)))


@contextlib.contextmanager
def then_records(path: Path | None, records: Iterable[Record]) -> Iterator[None]:
    """Write records after the block, even if its printing fails."""
    try:
        yield
    finally:
        if path is not None:
            from babelscope.core.results import record_line

            with replacing(path) as file:
                file.writelines(record_line(record) for record in records)
