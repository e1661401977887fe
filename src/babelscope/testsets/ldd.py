"""The released challenge sets of Choshen and Abend: lines of a corpus with a phenomenon."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from babelscope.language.ud import token_spans
from babelscope.testsets.items import TestSet, make_items
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import (
    LocatedRecord,
    count_lines,
    read_lines,
    require_equal_counts,
    shorten,
    whole_number,
)

REORDERING = re.compile(r"(?P<corpus>.+)_reorder(?P<above>\d+)\.(?P<ending>[a-z]+)")
"""Name of a file of a reordering set, `Books_reorder5.de`. The code behind it kept a difference of positions *above*
the number."""

Key = tuple[str, str]
"""A sentence pair without spaces, which differ between the released files."""


@dataclass(frozen=True, slots=True)
class TextSet:
    """A set as text: its sentence pairs, each with its line."""

    path: Path
    least: int
    """Minimum difference of the positions of two aligned words, or of words between two words."""
    pairs: dict[Key, tuple[int, str, str]]
    phenomenon: str = "reordering"
    found: set[Key] = field(default_factory=set)
    """Pairs that the corpus has."""


def text_sets(folder: Path, language: str, other: str, *, not_of: tuple[str, ...] = ()) -> list[TextSet]:
    """The reordering sets of a folder with text in both languages and no ids; `not_of`: names of other corpora."""
    made = []
    for path in sorted(folder.glob(f"*_reorder*.{language}")):
        match, beside = REORDERING.fullmatch(path.name), path.with_suffix(f".{other}")
        if match is None or not beside.exists() or path.with_suffix(".ids").exists():
            continue
        if path.name.startswith(not_of):
            continue
        made.append(TextSet(path, int(match["above"]) + 1, _read_pairs(path, beside)))
    return made


def _read_pairs(path: Path, beside: Path) -> dict[Key, tuple[int, str, str]]:
    """The sentence pairs of two parallel files, with their lines."""
    columns = [[line.strip() for line in read_lines(each, keep_separators=True)] for each in (path, beside)]
    require_equal_counts({str(path): len(columns[0]), str(beside): len(columns[1])})
    return {
        _key(source, target): (line, source, target)
        for line, (source, target) in enumerate(zip(*columns, strict=True), 1)
    }


def with_reordering(
    rows: Iterator[LocatedRecord], sets: list[TextSet], *, add_others: bool
) -> Iterator[LocatedRecord]:
    """Items with what these sets tell of them; then, with `add_others`, their other sentences.

    A set is reported if the corpus has only some of its sentences; one with no sentence in it is of another
    corpus.
    """
    for place, item in rows:
        key = _key(item["source"], item["reference"])
        having = [each for each in sets if key in each.pairs]
        for each in having:
            each.found.add(key)
        if having:
            item = {**item, "dependencies": [*item["dependencies"], *_dependencies(having)]}
        yield place, item
    if add_others:
        yield from _others(sets)
        return
    nowhere = not any(each.found for each in sets)
    for each in sets:
        if len(each.found) < len(each.pairs) and (each.found or nowhere):
            warnings.warn(
                f"{each.path} has {len(each.pairs):,} sentence pairs, of which {len(each.found):,} are in "
                "the corpus; its set is of these only",
                stacklevel=2,
            )


def _others(sets: list[TextSet]) -> Iterator[LocatedRecord]:
    """Sentences of the sets that were not among the items, each once, under its line in the largest minimum."""
    seen: set[Key] = set()
    for each in sorted(sets, key=lambda one: -one.least):
        for key, (line, source, target) in each.pairs.items():
            if key not in each.found and key not in seen:
                seen.add(key)
                fields: dict[str, Any] = {
                    "id": f"{each.path.stem}:{line}",
                    "source": source,
                    "reference": target,
                }
                having = [own for own in sets if key in own.pairs]
                yield at(each.path, line), {**fields, "dependencies": _dependencies(having)}


def _dependencies(sets: Sequence[TextSet]) -> list[dict[str, Any]]:
    """What a sentence has that is in these sets: of each phenomenon the greatest minimum."""
    least: dict[str, int] = {}
    for each in sets:
        least[each.phenomenon] = max(each.least, least.get(each.phenomenon, 0))
    return [{"phenomenon": name, "side": "source", "distance": least[name]} for name in sorted(least)]


def _key(source: str, target: str) -> Key:
    return "".join(source.split()), "".join(target.split())


_OTHER = {"de": "en", "en": "de"}
# `de_particle2.ids`: at least 2 words between; without a digit, and in sets from news, at least 1. Sets of exactly so
# many (`de_particle_exactly2.ids`) are in these, and are not read.
_LEXICAL = re.compile(r"(?P<language>de|en)_(?P<phenomenon>[a-z_]+?)(?P<news>_news)?(?P<least>\d*)\.ids")
# The released code keeps a difference of positions *above* the number in the file's name.
_REORDERING = re.compile(r"(?P<text>.+)_reorder(?P<above>\d+)\.ids")
CORPORA = {"books": "Books", "news": "newstest2013"}
"""Corpora of the released sets: value of `corpus` -> name in the files."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A dependency, and the words of the parse it was found in, if there is one."""

    dependency: dict[str, Any]
    words: Sequence[str] = ()

    def in_text(self, text: str) -> dict[str, Any]:
        """The dependency with the places of its words in a text, if that is the parsed one."""
        spans: list[tuple[int, int]] = []
        if self.words and "".join(self.words) == "".join(text.split()):
            spans = token_spans(self.words, text)
        ends = {f"{end}_at": self.dependency[end] for end in ("head", "dependent") if spans}
        return {**self.dependency, **{name: list(spans[at - 1]) for name, at in ends.items() if at}}


@dataclass(frozen=True, slots=True)
class _SetFile:
    """An `.ids` file: what its lines have, and at least how far apart."""

    path: Path
    phenomenon: str
    least: int
    corpus: str
    """A name of `CORPORA`; empty for reordering in another text."""


ByPhenomenon = dict[str, list[_Found]]
"""Phenomenon -> its dependencies in a sentence."""
ByLine = dict[int, ByPhenomenon]
"""Line of the corpus, from 1 -> what it has."""


def read_ldd(spec: str | Path, corpus: str = "") -> TestSet:
    """Read `FOLDER,SOURCE,REFERENCE`: a folder of `.ids` files, and the corpus whose lines they number.

    `FOLDER,de` takes the text from the folder itself: the corpus if it is there, else only the sentences of its
    sets. A folder with sets of several corpora, such as the release as cloned, needs `corpus`: books or news. Where
    a set has a parse, the released rules say which words depend on which; else only the least number of words
    between them is known. `FOLDER,en-ru` reads a folder of another pair of the release, which has text only.
    """
    folder, *rest = str(spec).split(",")
    if len(rest) == 1 and (pair := _PAIR.fullmatch(rest[0])):
        return _read_pair(Path(folder), pair["source"], pair["target"], corpus)
    language = rest[0] if len(rest) == 1 else Path(rest[0]).suffix[1:] if len(rest) == 2 else ""
    if language not in _OTHER:
        raise BabelscopeError(
            f"ldd:{spec} must be ldd:FOLDER,SOURCE,REFERENCE with files that end in .de and .en, or "
            "ldd:FOLDER,LANGUAGE with de or en as the language of the sources; other pairs of the release "
            "are ldd:FOLDER,SOURCE-TARGET, such as en-ru"
        )
    if not os.path.isdir(folder):
        raise BabelscopeError(f"{folder}: no such folder")
    corpus = _choose_corpus(Path(folder), language, corpus, Path(rest[0]) if len(rest) == 2 else None)
    sets = _sets(Path(folder), language, corpus)
    if len(rest) == 2:
        reordered = _text_sets(Path(folder), language, corpus)
        rows = with_reordering(_corpus(Path(rest[0]), Path(rest[1]), sets), reordered, add_others=False)
        name = Path(rest[0]).name
    else:
        rows = _own_text(Path(folder), language, sets, corpus)
        name = Path(folder).resolve().name
    return TestSet(name, tuple(make_items(rows)))


_PAIR = re.compile(r"(?P<source>[a-z]{2})-(?P<target>[a-z]{2})")
_TEXT = ".tc"
"""Part of the names of truecased text; `.bpe` has the same in pieces."""


def _read_pair(folder: Path, source: str, target: str, corpus: str) -> TestSet:
    """The sets of a pair other than German and English: `en_reflexive_Books.tc.en`, `Books.en-ru_reorder5.tc.en`."""
    if not folder.is_dir():
        raise BabelscopeError(f"{folder}: no such folder")
    lexical = re.compile(rf"{source}_(?P<phenomenon>[a-z_]+)_(?P<corpus>\w+){_TEXT}\.{source}")
    reordering = re.compile(
        rf"(?P<corpus>\w+)\.{source}-{target}_reorder(?P<above>\d{{1,3}}){_TEXT}\.{source}"
    )
    found: dict[str, list[TextSet]] = {}
    for path in sorted(folder.glob(f"*{_TEXT}.{source}")):
        match = reordering.fullmatch(path.name) or lexical.fullmatch(path.name)
        if match is None or not path.with_suffix(f".{target}").exists():
            continue
        named = match.groupdict()
        kind, least = (
            ("reordering", int(named["above"]) + 1) if "above" in named else (named["phenomenon"], 1)
        )
        pairs = _read_pairs(path, path.with_suffix(f".{target}"))
        found.setdefault(named["corpus"], []).append(TextSet(path, least, pairs, kind))
    known = " or ".join(f"?corpus={name}" for name in sorted(found))
    if not found:
        raise BabelscopeError(
            f"{folder} has no sets from {source} to {target}: NAME{_TEXT}.{source} and .{target}"
        )
    if corpus not in found and (corpus or len(found) > 1):
        raise BabelscopeError(f"{folder} has sets of these corpora; say which: {known}")
    corpus = corpus or next(iter(found))
    whole = folder / f"{corpus}{_TEXT}.{source}"
    if whole.exists() and whole.with_suffix(f".{target}").exists():
        rows = _corpus(whole, whole.with_suffix(f".{target}"), {})
        rows = with_reordering(rows, found[corpus], add_others=False)
    else:
        warnings.warn(
            f"{folder} has no whole {corpus}, only sentences with a phenomenon: `all` is all of these",
            stacklevel=3,
        )
        rows = with_reordering(iter(()), found[corpus], add_others=True)
    languages = {"source_language": source, "target_language": target}
    return TestSet(corpus, tuple(make_items((place, {**row, **languages}) for place, row in rows)))


def _set_files(folder: Path, language: str) -> Iterator[_SetFile]:
    """The sets of a folder for one source language, the largest of a phenomenon first."""
    found = []
    for path in sorted(folder.glob("*.ids")):
        lexical, reordering = _LEXICAL.fullmatch(path.name), _REORDERING.fullmatch(path.name)
        if reordering is not None:
            text = reordering["text"]
            named = [name for name, stem in CORPORA.items() if text.startswith(stem)]
            found.append(_SetFile(path, "reordering", int(reordering["above"]) + 1, "".join(named)))
        elif lexical is not None and lexical["language"] == language:
            phenomenon, least = lexical["phenomenon"], int(lexical["least"] or 1)
            if not phenomenon.endswith("_exactly"):
                found.append(_SetFile(path, phenomenon, least, "news" if lexical["news"] else "books"))
    yield from sorted(found, key=lambda each: each.least)


def _choose_corpus(folder: Path, language: str, corpus: str, source: Path | None) -> str:
    """The corpus whose sets are read: the one asked for, the only one, or the one that `source` is as long as."""
    there = {each.corpus for each in _set_files(folder, language) if each.corpus}
    if corpus:
        if corpus not in there:
            known = ", ".join(sorted(there)) or "none"
            raise BabelscopeError(
                f"{folder} has no sets of the corpus {corpus!r} for {language}; it has {known}"
            )
        return corpus
    if len(there) < 2:
        return "".join(there)
    if source is not None:
        texts = {name: _corpus_file(folder, language, name) for name in sorted(there)}
        lines = {name: count_lines(path) for name, path in texts.items() if path is not None}
        same = [name for name, number in lines.items() if number == count_lines(source)]
        if len(same) == 1:
            return same[0]
    raise BabelscopeError(
        f"{folder} has sets of several corpora with the same line numbers; choose one: "
        + " or ".join(f"?corpus={name}" for name in sorted(there))
    )


def _corpus_file(folder: Path, language: str, corpus: str) -> Path | None:
    """The whole text of a corpus in one language, if the folder has it and its translation."""
    other = _OTHER[language]
    found = [
        path
        for path in sorted(folder.glob(f"*.{language}"))
        if path.with_suffix(f".{other}").exists()
        and not re.match(r"(de|en)_", path.name)
        and "_reorder" not in path.name
        and not path.stem.endswith(".unesc")  # the same text with HTML entities undone
    ]
    named = [path for path in found if path.name.startswith(CORPORA.get(corpus, ""))]
    return next(iter(named or (found if len(found) == 1 else [])), None)


def _sets(folder: Path, language: str, corpus: str) -> ByLine:
    """The dependencies of every line that an `.ids` file of the corpus names."""
    found: ByLine = {}
    for each in _set_files(folder, language):
        if each.corpus and each.corpus != corpus:
            continue
        path, phenomenon, least = each.path, each.phenomenon, each.least
        numbers = list(_numbers(path))
        parse = path.with_suffix(".conllu")
        if phenomenon != "reordering" and parse.exists():
            # The parse of a larger set has the same trees, and a folder may hold six of them.
            if not all(_is_parsed(found.get(number, {}).get(phenomenon)) for number in numbers):
                for number, instances in zip(numbers, _parsed(parse, phenomenon, numbers), strict=True):
                    found.setdefault(number, {})[phenomenon] = instances
            continue
        for number in numbers:
            own = found.setdefault(number, {}).setdefault(phenomenon, [])
            if not own:
                own.append(_Found({"phenomenon": phenomenon, "side": "source", "distance": least}))
            elif not _is_parsed(own):  # a parse gives exact distances
                own[0].dependency["distance"] = max(least, own[0].dependency["distance"])
    if not found and not _text_sets(folder, language, corpus):
        raise BabelscopeError(f"{folder} has no .ids files of sets with the source language {language}")
    return found


def _is_parsed(found: Sequence[_Found] | None) -> bool:
    return found is not None and len(found) > 0 and "head" in found[0].dependency


def _text_sets(folder: Path, language: str, corpus: str) -> list[TextSet]:
    """The reordering sets that have text only, but for those of another corpus."""
    others = tuple(stem for name, stem in CORPORA.items() if corpus and name != corpus)
    return text_sets(folder, language, _OTHER[language], not_of=others)


def _numbers(path: Path) -> Iterator[int]:
    for line, text in enumerate(read_lines(path), 1):
        number = whole_number(text.strip())
        if not number:
            raise BabelscopeError(f"{at(path, line)}: {shorten(text)} is no number of a line, from 1")
        yield number


def _parsed(path: Path, phenomenon: str, numbers: list[int]) -> Iterator[list[_Found]]:
    """Instances that the released rules find in the parse of a set, one list for each of its numbers."""
    from babelscope.language.ud import read_trees
    from babelscope.language.ud_rules import Finder, choose_rules

    finder = Finder(choose_rules([phenomenon]), roots=True)
    trees = [tree for tree in read_trees(path) if tree is not None]
    require_equal_counts({str(path.with_suffix(".ids")): len(numbers), str(path): len(trees)})
    for tree in trees:
        words = () if tree.multiword else tuple(word.form for word in tree.words)
        instances = [_Found(each.as_json(), words) for each in finder(tree, "source")]
        if not instances:
            raise BabelscopeError(f"{at(path, tree.line)}: sentence {tree.number} has no {phenomenon}")
        yield instances


def _corpus(source: Path, reference: Path, sets: ByLine) -> Iterator[LocatedRecord]:
    """All lines of a corpus as items with their dependencies."""
    columns = [read_lines(path, keep_separators=True) for path in (source, reference)]
    require_equal_counts({str(source): len(columns[0]), str(reference): len(columns[1])})
    beyond = max(sets, default=0)
    if beyond > len(columns[0]):
        raise BabelscopeError(f"the .ids files name line {beyond}, but {source} has {len(columns[0])} lines")
    for number, (text, translation) in enumerate(zip(*columns, strict=True), 1):
        yield at(source, number), _fields(number, text, translation, sets.get(number, {}))


def _own_text(folder: Path, language: str, sets: ByLine, corpus: str) -> Iterator[LocatedRecord]:
    """Items from the text in the folder itself: a whole corpus, or the sentences of its sets."""
    endings = (language, _OTHER[language])
    if (whole := _corpus_file(folder, language, corpus)) is not None:
        rows = _corpus(whole, whole.with_suffix(f".{endings[1]}"), sets)
        yield from with_reordering(rows, _text_sets(folder, language, corpus), add_others=False)
        return
    warnings.warn(
        f"{folder} has no whole corpus, only sentences with a phenomenon: leave out `all`",
        stacklevel=2,
    )
    texts: dict[int, LocatedRecord] = {}
    own = (each for each in _set_files(folder, language) if each.phenomenon != "reordering")
    for path in (each.path for each in own if each.corpus == corpus):
        files = [path.with_suffix(f".{ending}") for ending in endings]
        if not all(file.exists() for file in files):
            continue
        numbers = list(_numbers(path))
        columns = [read_lines(file, keep_separators=True) for file in files]
        require_equal_counts(
            {str(path): len(numbers), **{str(f): len(c) for f, c in zip(files, columns, strict=True)}}
        )
        for line, (number, text, translation) in enumerate(zip(numbers, *columns, strict=True), 1):
            texts.setdefault(number, (at(files[0], line), _fields(number, text, translation, sets[number])))
    known = (texts[number] for number in sorted(texts))
    yield from with_reordering(known, _text_sets(folder, language, corpus), add_others=True)


def _fields(number: int, source: str, reference: str, found: ByPhenomenon) -> dict[str, Any]:
    """The JSON object of an item with its dependencies."""
    source = source.strip()
    dependencies = [each.in_text(source) for phenomenon in sorted(found) for each in found[phenomenon]]
    return {
        "id": str(number),
        "source": source,
        "reference": reference.strip(),
        "dependencies": dependencies,
    }
