"""What a method says about its command; `cli.judging` makes the command of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from babelscope.core.options import Option, options_of, writes

if TYPE_CHECKING:
    from babelscope.core.results import Record, Result, Row
    from babelscope.core.settings import MethodSettings
    from babelscope.testsets.items import TestSet

ASKED = (
    Option("tests", "A test set.", metavar="TESTS", default="", role="read"),
    Option(
        "system",
        "A system, see `babelscope systems`; may be repeated.",
        metavar="SYSTEM",
        repeat=True,
        role="read",
    ),
    Option(
        "prompt",
        "How `llm:` and `openai:` systems are asked: a .toml file, a shipped prompt's name or a template; repeated, "
        "figures are also given over all of them.",
        metavar="PROMPT",
        repeat=True,
        role="read",
        not_with=("rejudge",),
    ),
    Option(
        "rejudge",
        "A finished run, to be judged again under the settings given here; no system is asked.",
        Path,
        metavar="FOLDER",
        role="read",
    ),
)
"""What every judging command asks, and whom."""
KEPT = (
    Option(
        "by",
        "All figures for each value of a field of the items, too, or of their `length`; may be repeated.",
        metavar="FIELD",
        repeat=True,
    ),
    Option("all", "Print all tables and every row, not only a summary.", bool),
    Option(
        "table",
        "Print only the table of this name; an unknown name lists all. May be repeated.",
        metavar="NAME",
        repeat=True,
        not_with=("json",),
    ),
    Option(
        "format",
        "How tables are printed; json: one row per line.",
        default="text",
        choices=("text", "markdown", "latex", "csv", "json"),
    ),
    Option("json", "Short for --format json.", bool),
    Option("out", "A run folder, to keep and resume a run.", Path, metavar="FOLDER"),
    writes("records", "Write one JSON object per item there."),
    writes("annotate", "Write a blind queue for annotators there, see `babelscope annotate`."),
    Option(
        "annotate-n",
        "Items in that queue, of each group its share; all if there are fewer.",
        int,
        100,
        minimum=1,
        only_with=("annotate",),
    ),
    Option("seed", "Seed of everything random.", int, 0),
    Option(
        "cache",
        "Remember answers in $BABELSCOPE_CACHE, else in the user's cache folder. Said neither way, those of "
        "servers are kept until the command has ended well; --no-cache keeps none.",
        bool,
        flags=("--cache/--no-cache",),
        not_with=("rejudge",),
    ),
    Option("data-dir", "Folder of the named test sets.", Path, metavar="FOLDER", not_with=("rejudge",)),
)
"""What every judging command does with what it found."""


@dataclass(frozen=True, slots=True)
class Given:
    """What was said on a command line."""

    values: Mapping[str, Any]
    """Of every option, by its name."""
    settings: Mapping[str, Any]
    """Those that are settings of the method, by their fields."""
    said: frozenset[str]
    """The settings that were given explicitly."""
    typed: frozenset[str] = frozenset()
    """The names of all options that were given explicitly."""

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


Tables = Mapping[str, Any]
"""Tables of a study by their names: `systems`, `tests`..."""


@dataclass(frozen=True, slots=True)
class JudgingCommand:
    """A command that judges systems on a test set by one method: its options, and what it shows."""

    name: str
    help: str
    method: str
    settings: type[MethodSettings]
    by_answer: str = ""
    """The method that `--by-answer` runs in the place of its own."""
    options: tuple[Option, ...] = ()
    """Those beyond the settings, and those that fill a setting (`setting`) in a way of their own."""
    changed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What is different about an option of the settings, or one that all commands share, by its name."""
    check: Callable[[Given], None] = lambda _given: None
    """Refuses options that exclude each other, before anything is read."""
    check_tests: Callable[[Mapping[str, TestSet], Given], None] = lambda _tests, _given: None
    """Refuses test sets (by name) that have nothing for what is asked, before any system is opened."""
    study: Callable[[Given], Tables] = lambda _given: {}
    """Tables of the study that are not as the shared options say: added to `[study]`, in the place of others."""
    show: Callable[[Result, Given], str] = lambda _result, _given: ""
    """What options of the command ask for beyond the figures: printed before the summary."""
    signed: Callable[[Row], bool] = lambda row: row.name == "all"
    """Which rows have the signature in JSON, beside the first."""
    more: Callable[[Result, Given], list[Row]] = lambda _result, _given: []
    """Further rows in JSON."""
    files: Mapping[str, Callable[[Result, Given], Iterable[str]]] = field(default_factory=dict)
    """Option that names a file -> the lines to be written there."""
    queue: Callable[[Result, Given], Sequence[Record]] | None = None
    """What `--annotate` writes, where it is not drawn as `--annotate-n` says."""

    def all_options(self) -> list[Option]:
        """What is asked, the command's own options, those of the settings, and what is kept."""
        own = {option.setting for option in self.options}
        settings = [option for option in options_of(self.settings) if option.setting not in own]
        return [
            dataclasses.replace(option, **self.changed.get(option.name, {}))
            for option in (*ASKED, *self.options, *settings, *KEPT)
        ]
