"""LingEval97 (Sennrich 2017), English-German, and ContraWSD (Rios et al. 2017), German to English and French.

github.com/rsennrich/lingeval97 (97,408 pairs of 13 kinds; no license stated) and github.com/ZurichNLP/ContraWSD
(ambiguous words). Both are JSON lists of a reference with `errors`, each of which has a contrastive translation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from babelscope.testsets.formats.shared import Row, collect, extra, field, numbered, read_document
from babelscope.testsets.items import TestSet

_LANGUAGES = re.compile(r"\b(?P<source>[a-z]{2})-(?P<target>[a-z]{2})\b")
_KEPT = ("ambig word", "sense", "original translation", "origin")


def read_lingeval97(path: str | Path) -> TestSet:
    """Read lingeval97.json: a pair per error, since the errors of a sentence are of several kinds."""
    return collect(Path(path).stem, _pairs(path))


def read_contrawsd(path: str | Path) -> TestSet:
    """Read contrawsd.de-en.json: an item per sentence, with a variant for each other sense."""
    return collect(Path(path).stem, _senses(Path(path)))


def _entries(path: str | Path, what: str) -> Iterator[tuple[int, str, Mapping[str, Any], dict[str, str]]]:
    for number, place, entry in numbered(path, read_document(path, list, what)):
        source, correct = (field(entry, name, place) for name in ("source", "reference"))
        yield number, place, entry, {"source": source, "correct": correct, "reference": "human"}


def _pairs(path: str | Path) -> Iterator[Row]:
    for number, place, entry, common in _entries(path, "LingEval97"):
        for count, here, error in numbered(place, field(entry, "errors", place, list)):
            yield (
                here,
                {
                    "id": f"{number}/{count}",
                    **common,
                    "contrastive": field(error, "contrastive", here),
                    "phenomenon": field(error, "type", here),
                    "source_language": "en",
                    "target_language": "de",
                    **extra(error, "distance", "frequency"),
                    **extra(entry, "origin"),
                },
            )


def _senses(path: Path) -> Iterator[Row]:
    named = _LANGUAGES.search(path.name)
    languages = {f"{side}_language": code for side, code in named.groupdict().items()} if named else {}
    for number, place, entry, common in _entries(path, "ContraWSD"):
        errors = [each for _, _, each in numbered(place, field(entry, "errors", place, list))]
        yield (
            place,
            {
                "id": str(number),
                **common,
                "contrastive": [field(each, "contrastive", place) for each in errors],
                "phenomenon": "word_sense",
                **languages,
                **extra(entry, *_KEPT),
            },
        )
