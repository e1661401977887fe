"""The released challenge sets of Choshen and Abend: which lines of a corpus have which phenomenon."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babelscope.testsets.ldd_reordering import text_sets, with_reordering
from babelscope.testsets.sets import TestSet, make_items
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.json_lines import LocatedRecord
from babelscope.util.text import read_lines, require_equal_counts, shorten, whole_number

_OTHER = {"de": "en", "en": "de"}
# `de_particle2.ids`: at least 2 words between; without a digit, and in sets from news, at least 1.
_LEXICAL = re.compile(r"(?P<language>de|en)_(?P<phenomenon>[a-z_]+?)(?P<least>\d*)(?:_news)?\.ids")
# The released code keeps a difference of positions *above* the number in the file's name.
_REORDERING = re.compile(r".+_reorder(?P<above>\d+)\.ids")

ByPhenomenon = dict[str, list[dict[str, Any]]]
"""Phenomenon -> its dependencies in a sentence."""
ByLine = dict[int, ByPhenomenon]
"""Line of the corpus, from 1 -> what it has."""


def read_ldd(spec: str | Path) -> TestSet:
    """Read `FOLDER,SOURCE,REFERENCE`: a folder of `.ids` files, and the corpus whose lines they number.

    `FOLDER,de` takes the text from the folder itself: the corpus if it is there (newstest2013, tokenised),
    else only the sentences of its sets (Books). Where a set has a parse, the released rules say which words
    depend on which; else only the least number of words between them is known.
    """
    folder, *rest = str(spec).split(",")
    language = rest[0] if len(rest) == 1 else Path(rest[0]).suffix[1:] if len(rest) == 2 else ""
    if language not in _OTHER:
        raise BabelscopeError(
            f"ldd:{spec} must be ldd:FOLDER,SOURCE,REFERENCE with files that end in .de and .en, or "
            "ldd:FOLDER,LANGUAGE with de or en as the language of the sources"
        )
    if not os.path.isdir(folder):
        raise BabelscopeError(f"{folder}: no such folder")
    sets = _sets(Path(folder), language)
    if len(rest) == 2:
        reordered = text_sets(Path(folder), language, _OTHER[language])
        rows = with_reordering(_corpus(Path(rest[0]), Path(rest[1]), sets), reordered, add_others=False)
        name = Path(rest[0]).name
    else:
        rows = _own_text(Path(folder), language, sets)
        name = Path(folder).resolve().name
    return TestSet(name, tuple(make_items(rows)))


def _sets(folder: Path, language: str) -> ByLine:
    """The dependencies of every line that an `.ids` file names."""
    found: ByLine = {}
    for path in sorted(folder.glob("*.ids")):
        lexical, reordering = _LEXICAL.fullmatch(path.name), _REORDERING.fullmatch(path.name)
        if lexical is not None and lexical["language"] == language:
            phenomenon, least = lexical["phenomenon"], int(lexical["least"] or 1)
        elif reordering is not None:
            phenomenon, least = "reordering", int(reordering["above"]) + 1
        else:
            continue
        numbers = list(_numbers(path))
        parse = path.with_suffix(".conllu")
        if lexical is not None and parse.exists():
            for number, instances in zip(numbers, _parsed(parse, phenomenon, numbers), strict=True):
                found.setdefault(number, {})[phenomenon] = instances
            continue
        for number in numbers:
            own = found.setdefault(number, {}).setdefault(phenomenon, [])
            if not own:
                own.append({"phenomenon": phenomenon, "side": "source", "distance": least})
            elif "head" not in own[0]:  # a parse gives exact distances
                own[0]["distance"] = max(least, own[0]["distance"])
    if not found and not text_sets(folder, language, _OTHER[language]):
        raise BabelscopeError(f"{folder} has no .ids files of sets with the source language {language}")
    return found


def _numbers(path: Path) -> Iterator[int]:
    for line, text in enumerate(read_lines(path), 1):
        number = whole_number(text.strip())
        if not number:
            raise BabelscopeError(f"{at(path, line)}: {shorten(text)} is no number of a line, from 1")
        yield number


def _parsed(path: Path, phenomenon: str, numbers: list[int]) -> Iterator[list[dict[str, Any]]]:
    """Instances that the released rules find in the parse of a set, one list for each of its numbers."""
    from babelscope.language.ud import read_trees
    from babelscope.language.ud_rules import Finder, choose_rules

    finder = Finder(choose_rules([phenomenon]), roots=True)
    trees = [tree for tree in read_trees(path) if tree is not None]
    require_equal_counts({str(path.with_suffix(".ids")): len(numbers), str(path): len(trees)})
    for tree in trees:
        instances = [each.as_json() for each in finder(tree, "source")]
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


def _own_text(folder: Path, language: str, sets: ByLine) -> Iterator[LocatedRecord]:
    """Items from the text in the folder itself: a whole corpus, or the sentences of its sets."""
    endings = (language, _OTHER[language])
    for path in sorted(folder.glob(f"*.{language}")):
        other = path.with_suffix(f".{endings[1]}")
        if other.exists() and not re.match(r"(de|en)_", path.name) and "_reorder" not in path.name:
            reordered = text_sets(folder, *endings)
            yield from with_reordering(_corpus(path, other, sets), reordered, add_others=False)
            return
    warnings.warn(
        f"{folder} has no whole corpus, only sentences with a phenomenon: `all` is all of these",
        stacklevel=2,
    )
    texts: dict[int, LocatedRecord] = {}
    for path in sorted(folder.glob(f"{language}_*.ids")):
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
    yield from with_reordering(known, text_sets(folder, *endings), add_others=True)


def _fields(number: int, source: str, reference: str, found: ByPhenomenon) -> dict[str, Any]:
    """The JSON object of an item with its dependencies."""
    dependencies = [each for phenomenon in sorted(found) for each in found[phenomenon]]
    return {
        "id": str(number),
        "source": source.strip(),
        "reference": reference.strip(),
        "dependencies": dependencies,
    }
