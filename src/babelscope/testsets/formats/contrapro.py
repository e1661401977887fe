"""ContraPro (Müller et al. 2018), English-German: it translated as er, sie or es.

MIT, github.com/ZurichNLP/ContraPro. 12,000 items with two wrong pronouns each. The sentences before are in
OpenSubtitles2018, which the release does not have: items know the distance and the head of the antecedent only.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babelscope.testsets.formats.shared import Row, collect, extra, field, numbered, read_document
from babelscope.testsets.items import TestSet

_KEPT = ("ante distance", "src pronoun", "ref pronoun", "ref ante head gender", "document id", "segment id")
_NO_VARIANT = "variant equal to the correct translation"


def read_contrapro(path: str | Path) -> TestSet:
    """Read contrapro.json; a variant that is equal to the correct translation is left out and counted."""
    entries = read_document(path, list, "ContraPro")
    skipped: dict[str, int] = {}
    return collect(Path(path).stem, _rows(path, entries, skipped), skipped)


def _rows(path: str | Path, entries: list[Any], skipped: dict[str, int]) -> Iterator[Row]:
    for number, place, entry in numbered(path, entries):
        correct = field(entry, "ref segment", place)
        errors = [each for _, _, each in numbered(place, field(entry, "errors", place, list))]
        variants = [field(each, "contrastive", place) for each in errors]
        wrong = [text for text in variants if text != correct]
        if len(wrong) < len(variants):
            skipped[_NO_VARIANT] = skipped.get(_NO_VARIANT, 0) + len(variants) - len(wrong)
        yield (
            place,
            {
                "id": str(number),
                "source": field(entry, "src segment", place),
                "correct": correct,
                "contrastive": wrong,
                "phenomenon": "pronoun",
                "reference": "human",
                "source_language": "en",
                "target_language": "de",
                **extra(entry, *_KEPT),
            },
        )
