"""MuCoW's translation suite (Raganato et al. 2019): sentences with an ambiguous word, keys, cues.

The files of a language pair have one prefix, such as `mucow/en-de`: `.text.txt` (sources) and `.key.tsv`
(id, corpus, word, lemmas of the right sense, lemmas of the others) are needed; `.ref.txt`, `.domain.tsv`,
`cues/en-de.insertions*.jsonl` and `counts/senses_en-de_count_results.json` are used where they are there.
"""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from babelscope.language.cues import LONGEST_WORD, Cues, Mode, find_form, insert_cues, read_cues
from babelscope.testsets.items import TestSet, make_items
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import (
    LocatedRecord,
    parse_json,
    read_bytes,
    read_lines,
    require_equal_counts,
    shorten,
)

NO_CATEGORY = "none"
"""Category of a sense without a count."""

Sense = tuple[str, str]
"""A source word, and the lemmas of one of its senses joined by spaces."""

_SUFFIXES = (".text.txt", ".key.tsv", ".key.txt")


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a sentence: its ambiguous word, and the lemmas of its right and wrong senses."""

    id: str
    corpus: str
    word: str
    correct: tuple[str, ...]
    incorrect: tuple[str, ...]

    @property
    def sense(self) -> Sense:
        return self.word, " ".join(self.correct)


def read_mucow(prefix: str | Path, *, all: bool = False, paper_cues: bool = False) -> TestSet:
    """Read the sentences whose word can take a cue; others are left out and counted, unless `all`.

    `paper_cues` inserts cues by plain replacement, as the released code does (inside other words too).
    """
    prefix = _prefix(prefix)
    skipped: dict[str, int] = {}
    rows = _rows(prefix, keep_all=all, mode="paper" if paper_cues else "words", skipped=skipped)
    return TestSet(prefix.name, tuple(make_items(rows, skipped=skipped)), skipped)


def read_keys(path: str | Path) -> list[Key]:
    """Read the keys of a suite, one per line."""
    keys = []
    for number, line in enumerate(read_lines(path, keep_separators=True), 1):
        columns = line.split("\t")
        if len(columns) != 5 or not all(column.strip() for column in columns):
            raise BabelscopeError(
                f"{at(path, number)} is no MuCoW key; it has five columns: id, corpus, word, lemmas of the "
                f"right sense, lemmas of the others, not {shorten(line)}"
            )
        identity, corpus, word, correct, incorrect = columns
        if len(word) > LONGEST_WORD:
            raise BabelscopeError(
                f"{at(path, number)}: the word {shorten(word)} has more than {LONGEST_WORD} characters"
            )
        keys.append(Key(identity, corpus, word, tuple(correct.split()), tuple(incorrect.split())))
    return keys


def read_sense_counts(path: str | Path) -> dict[Sense, int]:
    """Read how often each sense occurs in the training data: `"word - lemmas": count` (appendix A)."""
    counted = parse_json(read_bytes(path), path)
    if not isinstance(counted, dict):
        raise BabelscopeError(f"{path} must be an object of counts")
    counts = {}
    for name, count in counted.items():
        word, dash, lemmas = name.partition(" - ")
        if not dash or type(count) is not int or count < 0:
            raise BabelscopeError(f'{path}: {shorten(name)} is not `"word - lemmas": count`')
        counts[word, lemmas] = count
    return counts


def frequency_categories(counts: Mapping[Sense, int]) -> dict[Sense, str]:
    """Category of each sense: `frequent` if it occurs more often than every other sense, else `infrequent` (4.2)."""
    most: dict[str, int] = {}
    for (word, _), count in counts.items():
        most[word] = max(count, most.get(word, 0))
    # Of equally frequent senses, none is more frequent than the others.
    times = Counter((word, count) for (word, _), count in counts.items())
    return {
        (word, lemmas): "frequent" if count == most[word] and times[word, count] == 1 else "infrequent"
        for (word, lemmas), count in counts.items()
    }


def read_domains(path: str | Path) -> dict[Sense, str]:
    """Read which senses are `in` and which are `out` of the domain of WMT's training data."""
    domains = {}
    for number, line in enumerate(read_lines(path, keep_separators=True), 1):
        columns = line.split("\t")
        if len(columns) < 3 or columns[2] not in ("in", "out"):
            raise BabelscopeError(f"{at(path, number)} is not `word, lemmas, in or out`: {shorten(line)}")
        domains[columns[0], columns[1]] = columns[2]
    return domains


def _rows(prefix: Path, *, keep_all: bool, mode: Mode, skipped: dict[str, int]) -> Iterator[LocatedRecord]:
    text, key = _require_file(prefix, ".text.txt"), _require_file(prefix, ".key.tsv", ".key.txt")
    sources, keys = read_lines(text, keep_separators=True), read_keys(key)
    sizes = {str(text): len(sources), str(key): len(keys)}
    references: Sequence[str | None] = [None] * len(sources)
    if (path := _find_file(prefix, ".ref.txt")) is not None:
        references = read_lines(path, keep_separators=True)
        sizes[str(path)] = len(references)
    cues: Sequence[Cues | None] = [None] * len(sources)
    if (path := _cue_file(prefix)) is not None:
        cues = read_cues(path)
        sizes[str(path)] = len(cues)
    elif not keep_all:
        raise BabelscopeError(
            f"there are no cues for {prefix.name}: {prefix.parent / 'cues' / prefix.name}.insertions*.jsonl; "
            f"use mucow:{prefix}?all=yes for sentences without cues"
        )
    require_equal_counts(sizes)
    domain_path, counts_path = _find_file(prefix, ".domain.tsv", ".domain.txt"), _counts_file(prefix)
    domains = read_domains(domain_path) if domain_path else {}
    categories = frequency_categories(read_sense_counts(counts_path)) if counts_path else {}
    for number, columns in enumerate(zip(sources, keys, references, cues, strict=True), 1):
        source, asked, reference, own = columns
        place = at(text, number)
        if own is not None and own.word != asked.word:
            raise BabelscopeError(
                f"{place}: the cues are for {shorten(own.word)}, the key is for {shorten(asked.word)}"
            )
        form = find_form(asked.word, source)
        cued = None
        if form is not None and own is not None and own.correct and own.incorrect:
            cued = insert_cues(source, form, own, mode)
        if cued is None and not keep_all:
            reason = "word not in the sentence" if form is None else "no cues"
            skipped[reason] = skipped.get(reason, 0) + 1
            continue
        fields: dict[str, Any] = {
            "id": str(number),
            "source": source,
            "correct_sources": cued.correct if cued else [],
            "incorrect_sources": cued.incorrect if cued else [],
            "category": categories.get(asked.sense, NO_CATEGORY),
            "gold": " ".join(asked.correct),
            "word": asked.word,
            "form": form,
            "lemmas": list(asked.correct),
            "wrong_lemmas": list(asked.incorrect),
            "corpus": asked.corpus,
            "key": asked.id,
            "domain": domains.get(asked.sense),
            "reference": reference,
        }
        yield place, {name: value for name, value in fields.items() if value is not None}


def _prefix(path: str | Path) -> Path:
    """The common prefix of a language pair's files, given as such or as one of the files."""
    text = str(path)
    prefix = Path(next((text.removesuffix(suffix) for suffix in _SUFFIXES if text.endswith(suffix)), text))
    if not prefix.name:
        raise BabelscopeError(
            f"mucow:{path} must be the common prefix of a language pair's files: mucow/en-de"
        )
    return prefix


def _require_file(prefix: Path, *suffixes: str) -> Path:
    found = _find_file(prefix, *suffixes)
    if found is None:
        raise BabelscopeError(
            f"{prefix}{suffixes[0]}: no such file; mucow: needs the common prefix of a language pair's files"
        )
    return found


def _find_file(prefix: Path, *suffixes: str) -> Path | None:
    paths = (prefix.with_name(prefix.name + suffix) for suffix in suffixes)
    # os.path.exists, since Path.exists raises on a name that is too long.
    return next((path for path in paths if os.path.exists(path)), None)


def _cue_file(prefix: Path) -> Path | None:
    found = [
        path
        for folder in (prefix.parent / "cues", prefix.parent)
        for path in sorted(folder.glob(f"{glob.escape(prefix.name)}.insertions*.jsonl"))
    ]
    if len(found) > 1:
        raise BabelscopeError(f"{found[0]} and {found[1]} are both cues for {prefix.name}; keep one")
    return found[0] if found else None


def _counts_file(prefix: Path) -> Path | None:
    name = f"senses_{prefix.name}_count_results.json"
    return next(
        (path for path in (prefix.parent / "counts" / name, prefix.parent / name) if os.path.exists(path)),
        None,
    )
