"""Senses of ambiguous words counted in one's own parallel text (conditioning paper, appendix A)."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from babelscope.core.results import Row
from babelscope.making.occupations import WORD, parallel_lines
from babelscope.stats.intervals import proportion
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.mucow import Sense, frequency_categories, read_keys
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import read_lines, shorten

Lemmatise = Callable[[Sequence[str]], list[list[str]]]
"""Texts -> the lemmas of each."""

_AT_ONCE = 1000  # lines that are lemmatised together


def read_lexicon(path: str | Path) -> list[Sense]:
    """The senses of words: MuCoW's keys (five columns), or lines of a word, a tab, and the lemmas of one sense."""
    lines = read_lines(path, keep_separators=True)
    if lines and lines[0].count("\t") == 4:
        keys = read_keys(path)
        return list(dict.fromkeys((key.word, " ".join(key.correct)) for key in keys))
    found: dict[Sense, int] = {}
    for number, line in enumerate(lines, 1):
        word, tab, lemmas = line.partition("\t")
        if not tab or not word.strip() or not lemmas.split() or "\t" in lemmas:
            raise BabelscopeError(
                f"{at(path, number)} is neither a word, a tab and lemmas of a sense, nor a MuCoW key: {shorten(line)}"
            )
        sense = word.strip(), " ".join(lemmas.split())
        if sense in found:
            raise BabelscopeError(
                f"{at(path, number)}: this sense stands there already, in line {found[sense]}"
            )
        found[sense] = number
    if not found:
        raise BabelscopeError(f"{path} has no senses")
    return list(found)


def count_senses(
    pairs: Iterable[tuple[Iterable[str], Iterable[str]]], senses: Iterable[Sense]
) -> dict[Sense, int]:
    """In how many pairs (source words, target lemmas) each sense occurs: its word, and any of its lemmas."""
    by_word: dict[str, list[tuple[Sense, frozenset[str]]]] = {}
    counts: dict[Sense, int] = {}
    for sense in senses:
        counts[sense] = 0
        by_word.setdefault(sense[0].lower(), []).append((sense, frozenset(sense[1].lower().split())))
    for source, target in pairs:
        lemmas = {lemma.lower() for lemma in target}
        for word in {word.lower() for word in source} & by_word.keys():
            for sense, known in by_word[word]:
                counts[sense] += bool(lemmas & known)
    return counts


def split_pairs(
    source: str | Path,
    target: str | Path,
    *,
    lemmas: str | Path | None = None,
    lemmatise: Lemmatise | None = None,
    progress: Callable[[int], None] = lambda _lines: None,
) -> Iterator[tuple[list[str], list[str]]]:
    """(words of the source, lemmas of the target) of line-parallel files, read as streams.

    Lemmas are those of a third file, made here, or without either the words as they stand.
    """
    files = {"source": source, "target": target, **({} if lemmas is None else {"lemmas": lemmas})}
    lines = parallel_lines(files)
    while some := list(itertools.islice(lines, _AT_ONCE)):
        texts = [line[-1] for line in some]
        if lemmas is not None:
            found = [text.split() for text in texts]
        else:
            found = [WORD.findall(text) for text in texts] if lemmatise is None else lemmatise(texts)
        for line, own in zip(some, found, strict=True):
            yield WORD.findall(line[0]), own
        progress(len(some))


def sense_rows(counts: Mapping[Sense, int]) -> list[Row]:
    """The share of each sense among the counted ones of its word, with its category."""
    totals: Counter[str] = Counter()
    for (word, _), count in counts.items():
        totals[word] += count
    categories = frequency_categories(counts)
    return [
        Row(
            "sense_share",
            proportion(count, totals[word]),
            {"word": word, "sense": lemmas, "category": categories[word, lemmas]},
            {"count": count},
        )
        for (word, lemmas), count in counts.items()
    ]


def with_frequencies(
    items: Iterable[AmbiguousSource], counts: Mapping[Sense, int]
) -> tuple[list[AmbiguousSource], int]:
    """The items with the frequency of their sense as `category` and `sense_frequency`; and how many are not counted.

    An item tells its sense by `word` and `lemmas`, as MuCoW's do.
    """
    categories = frequency_categories(counts)
    found, unknown = [], 0
    for item in items:
        lemmas = item.extra.get("lemmas")
        own = " ".join(map(str, lemmas)) if isinstance(lemmas, list) else str(lemmas)
        sense = str(item.extra.get("word")), own
        if sense not in categories:
            unknown += 1
            found.append(replace(item, extra={**item.extra, "sense_frequency": "unknown"}))
            continue
        told = {"sense_frequency": categories[sense], "sense_count": counts[sense]}
        found.append(replace(item, category=categories[sense], extra={**item.extra, **told}))
    return found, unknown
