"""What pattern matching is given: translations and lemmas in files, each matched with its item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from babelscope.testsets.items import AmbiguousSource
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.json_lines import Row, read_json_lines
from babelscope.util.text import read_lines, require_equal_counts, shorten

SEPARATOR = " ||| "


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
        return [_from_log(record, place) for place, record in _answered(path)]
    lines = read_lines(path, keep_separators=True)
    bare = [number for number, line in enumerate(lines, 1) if SEPARATOR not in f"{line} "]
    if len(bare) == len(lines):
        return [Given(at(path, number), line) for number, line in enumerate(lines, 1)]
    if bare:
        raise BabelscopeError(
            f"{at(path, bare[0])} has no {SEPARATOR.strip()} between source and translation, but other lines do"
        )
    given = []
    for number, line in enumerate(lines, 1):
        source, _, translation = f"{line} ".partition(SEPARATOR)
        given.append(Given(at(path, number), translation.strip(), source.strip()))
    return given


def read_lemmas(path: str | Path, given: Sequence[Given], *, parallel_to: str) -> list[Given]:
    """The same translations with lemmas from a line-parallel file."""
    lines = read_lines(path, keep_separators=True)
    require_equal_counts({parallel_to: len(given), str(path): len(lines)})
    return [
        Given(each.place, each.translation, each.source, line)
        for each, line in zip(given, lines, strict=True)
    ]


def match(
    items: Sequence[AmbiguousSource], given: Sequence[Given], *, what: str, skip_missing: bool = False
) -> list[int | None]:
    """For every item the number of its translation: by its source where sources are given, else by line.

    A source that stands in both several times is matched in order. An item without a translation is an
    error, or None with `skip_missing`.
    """
    if not given:
        raise BabelscopeError(f"{what} has no translations")
    if given[0].source is None:
        require_equal_counts({"the test set": len(items), what: len(given)})
        return list(range(len(items)))
    numbers: dict[str, list[int]] = {}
    for number, each in enumerate(given):
        numbers.setdefault(_key(each.source or ""), []).append(number)
    asked: dict[str, int] = {}
    matched: list[int | None] = []
    missing: list[AmbiguousSource] = []
    for item in items:
        key = _key(item.source)
        found = numbers.get(key)
        if found is None:
            missing.append(item)
            matched.append(None)
            continue
        earlier = asked.get(key, 0)
        asked[key] = earlier + 1
        matched.append(found[min(earlier, len(found) - 1)])
    if missing and not skip_missing:
        raise BabelscopeError(
            f"{what} has no translation of {shorten(missing[0].source)} (item {missing[0].id}; "
            f"{len(missing)} of {len(items)} are missing)"
        )
    if len(missing) == len(items):
        raise BabelscopeError(f"{what} has no translation of any item of the test set")
    return matched


def read_verdicts(path: str | Path) -> list[tuple[str, Mapping[str, Any]]]:
    """What a method said, an item a line: our own records, or the released log of pattern matching."""
    return [(place, _renamed(record)) for place, record in _answered(path)]


def _answered(path: str | Path) -> Iterator[Row]:
    """The lines of a log; our own records of items without a translation say nothing."""
    return ((place, record) for place, record in read_json_lines(path) if "unanswered" not in record)


def _from_log(record: Mapping[str, Any], place: str) -> Given:
    fields = _renamed(record)
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


def _renamed(record: Mapping[str, Any]) -> dict[str, Any]:
    return {_LOG_NAMES.get(name, name): value for name, value in record.items()}


def _key(source: str) -> str:
    """Files of `source ||| translation` are written with spaces stripped at the ends."""
    return source.strip()
