"""Files of translations made elsewhere: one or several a source, with or without the source beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from babelscope.core.system import AlignsToTestSet, ItemChoice
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import read_json_lines, read_lines, shorten, whole_number

SEPARATOR = " ||| "
UNSAID = ""
"""No format given: plain, but a tab is asked about rather than guessed at."""


@dataclass(frozen=True, slots=True)
class Given:
    """A translation made elsewhere, and where it stands."""

    place: str
    translation: str
    source: str | None = None
    """What it translates, where the file says so."""
    lemmas: str | None = None
    """The lemmas of its words, with spaces between."""
    folded: bool = False
    """Whether the lemmas have lost their accents, as those of the released log have."""


def read_translations(path: str | Path) -> list[Given]:
    """Translations a line: plain, `source ||| translation`, or JSON (a log of pattern matching)."""
    if str(path).endswith(".jsonl"):
        return read_log(path)
    lines = read_lines(path, keep_separators=True)
    if not any(SEPARATOR in f"{line} " for line in lines):
        return [Given(at(path, number), line) for number, line in enumerate(lines, 1)]
    return _pairs(lines, path)


def read_pairs(path: str | Path) -> list[Given]:
    """`source ||| translation` a line."""
    return _pairs(read_lines(path, keep_separators=True), path)


def _pairs(lines: Sequence[str], path: str | Path) -> list[Given]:
    given = []
    for number, line in enumerate(lines, 1):
        source, between, translation = f"{line} ".partition(SEPARATOR)
        if not between:
            raise BabelscopeError(
                f"{at(path, number)} has no {SEPARATOR.strip()} between source and translation, but other lines do"
            )
        given.append(Given(at(path, number), translation.strip(), source.strip()))
    return given


def read_log(path: str | Path) -> list[Given]:
    """A log of pattern matching: one JSON object per line, by its own names or ours."""
    rows = read_json_lines(path)
    return [_from_log(record, place) for place, record in rows if "unanswered" not in record]


def _from_log(record: Mapping[str, Any], place: str) -> Given:
    fields = renamed(record)
    texts: dict[str, str | None] = {}
    for name in ("source", "translation", "lemmas"):
        value = fields.get(name)
        if not isinstance(value, str) and not (value is None and name == "lemmas"):
            raise BabelscopeError(f"{place}: field {name!r} must be text")
        texts[name] = value
    folded = "translation_lemmatized" in record
    return Given(place, texts["translation"] or "", texts["source"], texts["lemmas"], folded)


# The names of the released log, and ours.
_LOG_NAMES = {
    "sentence": "source",
    "src_word": "word",
    "translation_lemmatized": "lemmas",
    "is_correct": "correct",
}


def renamed(record: Mapping[str, Any]) -> dict[str, Any]:
    """A line of a log with our names for its fields."""
    return {_LOG_NAMES.get(name, name): value for name, value in record.items()}


Key = Callable[[str], str]
"""What of a source counts where it is looked for: files of `source ||| translation` have no spaces at its ends."""


def index_of(sources: Sequence[str], key: Key) -> dict[str, list[int]]:
    """The numbers of the lines that each source stands in."""
    lines: dict[str, list[int]] = {}
    for number, source in enumerate(sources):
        lines.setdefault(key(source), []).append(number)
    return lines


def find_lines(
    asked: Sequence[str], lines: Mapping[str, Sequence[int]], key: Key = str.strip
) -> list[int | None]:
    """For every source that is asked the number of its line, or None; one that is repeated is found in order."""
    seen: Counter[str] = Counter()
    found: list[int | None] = []
    for source in map(key, asked):
        own = lines.get(source)
        found.append(None if own is None else own[min(seen[source], len(own) - 1)])
        seen[source] += 1
    return found


def alternatives(lines: Sequence[str], form: str, where: str) -> list[list[str]]:
    """The translations of each source, best first.

    plain: one line per source. tsv: the same, alternatives separated by tabs. moses: see `moses_lists`; scores are
    weighted features, not log-probabilities of tokens, and are left out.
    """
    if form == "tsv":
        return [line.split("\t") for line in lines]
    if form == "moses":
        return [[text for text, _ in own] for own in moses_lists(lines, where)]
    for number, line in enumerate(lines, 1):
        if form == UNSAID and "\t" in line:
            raise BabelscopeError(
                f"{at(where, number)} has a tab inside: {shorten(line)}; say format=tsv if it separates "
                "alternatives, format=plain if it belongs to the translation"
            )
    return [[line] for line in lines]


def moses_lists(lines: Sequence[str], where: str) -> list[list[tuple[str, str]]]:
    """N-best lists, a line a translation: `id ||| text ||| features ||| score`, ids counting the sources from 0.

    Each translation with what stands in its last field, which is empty where there are two only.
    """
    found: list[list[tuple[str, str]]] = []
    for entry in moses_entries(lines, where):
        if entry.identity == len(found):
            found.append([])
        elif entry.identity != len(found) - 1:
            raise BabelscopeError(
                f"{entry.place} has id {entry.identity}, but ids must count the sources from 0 in order: "
                f"{max(len(found) - 1, 0)} or {len(found)} was expected"
            )
        found[-1].append((entry.text, entry.score))
    return found


@dataclass(frozen=True, slots=True)
class MosesEntry:
    """A line of an n-best list; `score` is its last field, empty where there are two only."""

    place: str
    identity: int
    text: str
    score: str
    features: str = ""
    """What stands between text and score."""


def moses_entries(lines: Sequence[str], where: str) -> Iterator[MosesEntry]:
    """The lines of an n-best list, `id ||| text ||| features ||| score`."""
    for number, line in enumerate(lines, 1):
        fields = line.split("|||")
        identity = whole_number(fields[0].strip())
        if len(fields) < 2 or identity is None:
            raise BabelscopeError(f"{at(where, number)} is not `id ||| text ||| ...`: {shorten(line)}")
        # Moses writes a space after every word, the last one too.
        text, score = fields[1].strip(" "), fields[-1].strip() if len(fields) > 2 else ""
        yield MosesEntry(at(where, number), identity, text, score, "|||".join(fields[2:-1]))


def hold(system: Any, what: str, items: Sequence[ItemChoice]) -> Any:
    """The system as it answers about these items; raises if it has stored answers that do not fit all of them."""
    return system.align_to_test_set(what, items) if isinstance(system, AlignsToTestSet) else system


def hold_sources(system: Any, what: str, sources: Sequence[str]) -> Any:
    """As `hold`, against sources without items, such as the lines of a file."""
    return hold(system, what, [ItemChoice(str(n), source=source) for n, source in enumerate(sources, 1)])
