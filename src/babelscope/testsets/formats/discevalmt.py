"""DiscEvalMT (Bawden et al. 2018), English-French: pronouns and word choice that depend on the sentence before.

CC BY-SA 4.0, github.com/rbawden/discourse-mt-test-sets. anaphora.json has 50 groups with 200 contrasts,
lexical-choice.json 100 groups with 200 contrasts; the published figure is the accuracy over all contrasts. Each
contrast has a mirror image with another context, so that a system that ignores context gets 50 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from babelscope.testsets.formats.shared import Row, collect, field, read_document, texts
from babelscope.testsets.items import TestSet
from babelscope.util.errors import BabelscopeError


def read_discevalmt(path: str | Path) -> TestSet:
    """Read anaphora.json or lexical-choice.json; an item per contrast, with the sentence before as its context."""
    groups = read_document(path, dict, "DiscEvalMT")
    return collect(Path(path).stem, _rows(path, groups))


def _rows(path: str | Path, groups: Mapping[str, Any]) -> Iterator[Row]:
    phenomenon = Path(path).stem
    for group, entry in groups.items():
        place = f"{path}: group {group}"
        if not isinstance(entry, Mapping):
            raise BabelscopeError(f"{place} must be a JSON object")
        for number, (source, target) in enumerate(_contrasts(entry, place), 1):
            here = f"{place}, contrast {number}"
            # Some right translations keep a less likely gender of the context: right given that context.
            kind = "correct" if "correct" in target else "semi-correct"
            before, correct = texts(target, kind, here, 2)
            other_context, wrong = texts(target, "incorrect", here, 2)
            if other_context != before:
                raise BabelscopeError(f"{here}: both translations must have the same context")
            more = {"type": target["type"]} if isinstance(target.get("type"), str) else {}
            yield (
                here,
                {
                    "id": f"{phenomenon}/{group}/{number}",
                    "source": source[1],
                    "correct": correct,
                    "contrastive": wrong,
                    "phenomenon": phenomenon,
                    "reference": "human",
                    "source_language": "en",
                    "target_language": "fr",
                    "context_source": [source[0]],
                    "context_target": [before],
                    "group": group,
                    **more,
                },
            )


def _contrasts(entry: Mapping[str, Any], place: str) -> Iterator[tuple[list[str], Mapping[str, Any]]]:
    """The two source sentences and the translations of each contrast of a group."""
    if "examples" in entry:
        for example in field(entry, "examples", place, list):
            yield texts(example, "src", place, 2), field(example, "trg", place, dict)
        return
    source = texts(entry, "src", place, 2)
    for target in field(entry, "trg", place, list):
        yield source, target
