"""What the commands share: their options, and writing lines to stdout or a file."""

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

# Lines asked at once: enough for a system to make batches of.
LINES_AT_ONCE = 256
# Unanswered lines that are named one by one on stderr; the others are only counted.
_NAMED_UNANSWERED = 5

_Question = TypeVar("_Question")
_Answer = TypeVar("_Answer")


def option(help: str, *names: str, **more: Any) -> Any:
    """An option; its name is that of the parameter unless given."""
    return typer.Option(*names, help=help, **more)


def setting(help: str, **more: Any) -> Any:
    """A parameter that is given as `--set NAME=VALUE`."""
    return typer.Option(help=help, hidden=True, **more)


def file_option(help: str, **more: Any) -> Any:
    """An option that takes the path of a file."""
    return typer.Option(metavar="FILE", help=help, **more)


def folder_option(help: str, **more: Any) -> Any:
    """An option that takes the path of a folder."""
    return typer.Option(metavar="FOLDER", help=help, **more)


Systems = Annotated[
    list[str],
    typer.Option("--system", metavar="SYSTEM", help="A system, see `babelscope systems`; may be repeated."),
]
OfWorld = Annotated[str, typer.Option(metavar="NAME", help="The world of the lab: easy, hard or clean.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object per line.")]
Format = Literal["text", "markdown", "latex", "csv", "json"]
InFormat = Annotated[
    Format,
    typer.Option(
        "--format",
        help="How figures are printed; --json is short for --format json. LaTeX needs booktabs and graphicx.",
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
"""The name that stands for all tables."""
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        metavar="NAME",
        help="Print only the table of this name; an unknown name lists all. May be repeated. `all`, or --all for "
        "short: every table and every row.",
        rich_help_panel="Output",
    ),
]
ToFile = Annotated[
    Path | None, typer.Option("--to", metavar="FILE", help="Write to a file instead of stdout.")
]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
ABOUT_TOKENIZERS = (
    "How a metric splits words: 13a, intl, zh, ja-mecab, ko-mecab, char, whitespace or spm:FILE. Unless given, as "
    "the target language requires."
)

Cache = Annotated[
    bool | None,
    typer.Option(
        "--cache/--no-cache",
        help="Store answers in $BABELSCOPE_CACHE, else in the user's cache folder. Without either option, answers of "
        "servers are stored until the command has finished; --no-cache stores none.",
    ),
]


def open_systems(
    specs: Sequence[str], *needed: Capability, cache: bool | None, what_for: str = ""
) -> dict[str, Any]:
    """Systems by their names, which must be able to do what is needed."""
    from babelscope.methods.jobs import systems_by_name
    from babelscope.systems.cache import with_store
    from babelscope.systems.registry import open_system, require

    opened = systems_by_name(open_system(spec) for spec in specs)
    found = {name: with_store(system, cache) for name, system in opened.items()}
    for system in found.values() if needed else ():
        require(system, *needed, what_for=what_for)
    return found


def check_beam(specs: Iterable[str]) -> None:
    """Refuse a size of the beam where no system has a beam that can be set."""
    from babelscope.systems.registry import find_scheme

    named = list(specs)
    if not any(find_scheme(spec).beam for spec in named):
        raise BabelscopeError(
            f"--beam has no effect on {', '.join(named)}: translations are stored, or made by a program or server "
            "with settings of its own"
        )


def read_sources(path: Path) -> list[str]:
    """The lines of a file, or of stdin for `-`; none may be empty."""
    if str(path) == "-" and sys.stdin is None:
        raise BabelscopeError("stdin is closed; name a file of sources")
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
    """Ask batch by batch, and give each question with its answer, or with the reason why there is none.

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
        raise SystemFailure(f"none of {len(asked)} lines was answered")
    if unanswered:
        print(f"babelscope: {unanswered} of {len(asked)} lines were not answered", file=sys.stderr)


def _place(files: Mapping[str, Path], before: int, what: str, number: int) -> str:
    if what not in files:
        return f"{what} {before + number}"
    return at("stdin" if str(files[what]) == "-" else files[what], before + number)


class Form(Enum):
    """Whom lines are for: people, or other programs, which get them as they are."""

    TEXT = "text"
    LINES = "lines"
    JSON = "json"


@contextlib.contextmanager
def output(path: Path | None, form: Form) -> Iterator[Callable[[str], None]]:
    """A function that writes a line to stdout, or to a file that appears when all is written."""
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
    """The same for all lines at once."""
    with output(path, form) as write:
        for line in lines:
            write(line)


def draw_chart(path: Path, chart: Chart) -> Callable[[], None]:
    """Draw a chart for a file, as PDF or PNG if its name ends so, else as SVG; what is returned writes it."""
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
    """Rows as JSON, or as tables for people."""
    return Form.JSON if as_json else Form.TEXT


def paragraph(text: str, hanging: str = " " * 4) -> str:
    """Text for people, its lines as long as the terminal is wide."""
    return "\n".join(wrap(visible(text), terminal_width(), hanging=hanging))


def width_for(path: Path | None) -> int | None:
    """How wide text may be: as the terminal on stdout, as it comes in a file."""
    return terminal_width() if path is None else None


def result_text(
    result: Result,
    *,
    format: Format = "text",
    tables: Sequence[str] | None = None,
    places: Sequence[str] = (),
) -> str:
    """What people read of a result: a summary, the tables of these names, or all tables and rows."""
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
    """A path as people write it: from the working folder, where it is there."""
    absolute, here = path.absolute(), Path.cwd()
    return visible(str(absolute.relative_to(here) if absolute.is_relative_to(here) else absolute))


def places_of(folder: Path | None, *, report: bool = False) -> list[str]:
    """Lines that say where a result lies, and what can be done with it."""
    if folder is None:
        return ["no run is kept; --out FOLDER keeps it, for report and compare"]
    found = [f"run folder: {place_of(folder)}"]
    return found if report else [*found, f"as a page: babelscope report {shlex.quote(place_of(folder))}"]


def print_json(row: Mapping[str, Any]) -> None:
    """One JSON object per line, on stdout."""
    write_data(as_line(row), is_json=True)


def as_line(row: Mapping[str, Any]) -> str:
    """A JSON object on one line."""
    return json.dumps(row, ensure_ascii=False, allow_nan=False)


def write_rows(rows: Sequence[Row], *, as_json: bool, to: Path | None = None) -> None:
    """Figures to stdout or a file: a JSON object per line, or a table for people."""
    from babelscope.core.tables import rows_text

    with output(to, figures(as_json)) as write:
        for row in rows if as_json else ():
            write(as_line(row.as_json()))
        if not as_json:
            write(rows_text(rows, width_for(to)))


@contextlib.contextmanager
def then_records(path: Path | None, records: Iterable[Record]) -> Iterator[None]:
    """Write records after the block, which prints figures, even if nobody could read them."""
    try:
        yield
    finally:
        if path is not None:
            from babelscope.core.results import record_line

            with replacing(path) as file:
                file.writelines(record_line(record) for record in records)
