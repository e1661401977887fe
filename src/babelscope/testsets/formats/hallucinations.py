"""Annotated hallucinations (Guerreiro et al. 2023): German-English translations that people labeled.

No license stated, github.com/deep-spin/hallucinations-in-nmt. 3,415 sentences with a translation, the reference, and
five labels: repetitions, named entities, omission, detached in part (strong) or whole (full).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from babelscope.testsets.formats.shared import Row, collect, read_csv
from babelscope.testsets.items import TestSet
from babelscope.util.errors import BabelscopeError

_LABELS = ("repetitions", "named-entities", "omission", "strong-unsupport", "full-unsupport")


def read_hallucinations(path: str | Path) -> TestSet:
    """Read annotated_corpus.csv; the translation and the labels (`labels`, `phenomenon`) are fields of the item."""
    return collect(Path(path).stem, _rows(Path(path)))


def _rows(path: Path) -> Iterator[Row]:
    for number, place, row in read_csv(path, ("src", "mt", "ref", *_LABELS), "hallucinations"):
        if wrong := next((name for name in _LABELS if row[name] not in ("0", "1")), None):
            raise BabelscopeError(f"{place}: {wrong} must be 0 or 1, not {row[wrong]!r}")
        labels = [name.replace("-", "_") for name in _LABELS if row[name] == "1"]
        yield (
            place,
            {
                "id": row.get("") or str(number),
                "source": row["src"],
                "reference": row["ref"],
                "source_language": "de",
                "target_language": "en",
                "given_translation": row["mt"],
                "labels": labels,
                "phenomenon": "+".join(labels) or "none",
            },
        )
