"""A large contrastive pronoun test set, English-French (Lopes et al. 2020): it and they, by gender of the antecedent.

MIT, github.com/rbawden/Large-contrastive-pronoun-testset-EN-FR. 14,000 pairs from OpenSubtitles2018; files of current
sentences have a right and a wrong translation in turn, files of context the sentences before, one per line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from babelscope.testsets.formats.shared import Row, collect, parallel_lines
from babelscope.testsets.items import TestSet
from babelscope.util.errors import BabelscopeError

_CONTEXT = re.compile(r"(?P<name>.+)\.c(?P<size>[0-9]+)\.context\.src")


def read_en_fr_pronouns(folder: str | Path) -> TestSet:
    """Read a folder with NAME.current.src and .trg, and with NAME.cN.context.src and .trg where there is context."""
    folder = Path(folder)
    if not os.path.isdir(folder):
        raise BabelscopeError(f"{folder}: no such folder")
    current = sorted(folder.glob("*.current.src"))
    if len(current) != 1:
        raise BabelscopeError(f"{folder} must have one file NAME.current.src, and has {len(current)}")
    name = current[0].name.removesuffix(".current.src")
    return collect(folder.resolve().name, _rows(folder, name))


def _rows(folder: Path, name: str) -> Iterator[Row]:
    files = [folder / f"{name}.current.{side}" for side in ("src", "trg")]
    found = sorted(match["size"] for path in folder.iterdir() if (match := _CONTEXT.fullmatch(path.name)))
    if found:
        files += [folder / f"{name}.c{found[-1]}.context.{side}" for side in ("src", "trg")]
    first: list[str] = []
    for number, place, row in parallel_lines(*files):
        if number % 2:
            first = row
            continue
        if row[0] != first[0] or row[2:] != first[2:]:
            raise BabelscopeError(f"{place}: source and context must be those of the line before")
        source, correct, *context = first
        yield (
            place,
            {
                "id": str(number // 2),
                "source": source,
                "correct": correct,
                "contrastive": row[1],
                "phenomenon": "pronoun",
                "reference": "human",
                "source_language": "en",
                "target_language": "fr",
                **({"context_source": context[:1], "context_target": context[1:]} if context else {}),
            },
        )
    if number % 2:
        raise BabelscopeError(f"{place}: a right translation without a wrong one")
