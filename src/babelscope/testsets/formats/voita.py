"""Discourse phenomena, English-Russian (Voita et al. 2019): deixis, lexical cohesion, two kinds of ellipsis.

github.com/lena-voita/good-translation-wrong-in-context (no license stated). A group has a source of several sentences
and translations of it that differ in the last one; an item is right if its right translation has the highest score.
ellipsis_infl.json has 500 groups with 2,520 translations, lex_cohesion_dev.json 500 with 1,124.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babelscope.testsets.formats.shared import Row, collect, field, numbered, read_document, texts
from babelscope.testsets.items import TestSet
from babelscope.util.errors import BabelscopeError

_END = " _eos "
_ALL_EQUAL = "group without a difference"
_EQUAL = "variant equal to the correct translation"


def read_voita(path: str | Path) -> TestSet:
    """Read a file of groups; an item per group, all wrong translations of its last sentence as variants."""
    groups = read_document(path, list, "contrastive")
    skipped: dict[str, int] = {}
    return collect(Path(path).stem, _rows(path, groups, skipped), skipped)


def _rows(path: str | Path, groups: list[Any], skipped: dict[str, int]) -> Iterator[Row]:
    for number, place, group in numbered(path, groups):
        *before, source = field(group, "src", place).split(_END)
        variants = [text.split(_END) for text in texts(group, "dst", place)]
        right = field(group, "true_ind", place, int)
        if not 0 <= right < len(variants):
            raise BabelscopeError(f"{place}: true_ind {right} is none of {len(variants)} translations")
        contexts = {tuple(own[:-1]) for own in variants}
        if len(contexts) > 1:
            reason = "translations that differ before the last sentence"
            skipped[reason] = skipped.get(reason, 0) + 1
            continue
        correct = variants[right][-1]
        wrong = [own[-1] for place, own in enumerate(variants) if place != right]
        if equal := wrong.count(correct):
            reason = _EQUAL if equal < len(wrong) else _ALL_EQUAL
            skipped[reason] = skipped.get(reason, 0) + (equal if equal < len(wrong) else 1)
        if equal == len(wrong):
            continue
        distance = {"ctx_dist": group["ctx_dist"]} if isinstance(group.get("ctx_dist"), int) else {}
        yield (
            place,
            {
                "id": str(number),
                "source": source,
                "correct": correct,
                "contrastive": [text for text in wrong if text != correct],
                "phenomenon": Path(path).stem,
                "reference": "human",
                "source_language": "en",
                "target_language": "ru",
                "context_source": before,
                "context_target": list(contexts.pop()),
                **distance,
            },
        )
