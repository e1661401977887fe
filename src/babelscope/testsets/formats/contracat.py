"""ContraCAT (Stojanovski et al. 2020), English-German: ContraPro's sentences with one sentence of context.

github.com/BennoKrojer/ContraCAT (no license stated). en.txt and de.txt have `context <SEP> sentence` per line,
sentence_groups.txt the lines at which groups begin; the first line of a group is right. 12,000 groups, 36,031 lines.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from babelscope.testsets.formats.shared import Row, collect, parallel_lines
from babelscope.testsets.items import TestSet
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import read_lines

_SEPARATOR = "<SEP>"


def read_contracat(folder: str | Path) -> TestSet:
    """Read a folder with en.txt, de.txt and sentence_groups.txt; an item per group."""
    folder = Path(folder)
    if not os.path.isdir(folder):
        raise BabelscopeError(f"{folder}: no such folder")
    return collect(folder.resolve().name, _rows(folder))


def _rows(folder: Path) -> Iterator[Row]:
    lines = list(parallel_lines(folder / "en.txt", folder / "de.txt"))
    groups = folder / "sentence_groups.txt"
    starts = []
    for number, text in enumerate(read_lines(groups), 1):
        if not text.isascii() or not text.isdecimal() or int(text) > len(lines):
            raise BabelscopeError(
                f"{at(groups, number)}: must be the number of a line, from 0 to {len(lines)}"
            )
        starts.append(int(text))
    if starts != sorted(set(starts)):
        raise BabelscopeError(f"{groups}: line numbers must rise")
    if starts and starts[-1] < len(lines):
        starts.append(len(lines))
    for number, (start, stop) in enumerate(itertools.pairwise(starts), 1):
        _, place, (english, german) = lines[start]
        *before, source = _split(english)
        *context, correct = _split(german)
        wrong = [_split(texts[1])[-1] for _, _, texts in lines[start + 1 : stop]]
        yield (
            place,
            {
                "id": str(number),
                "source": source,
                "correct": correct,
                "contrastive": [text for text in wrong if text != correct],
                "phenomenon": "pronoun",
                "reference": "human",
                "source_language": "en",
                "target_language": "de",
                "context_source": before,
                "context_target": context,
            },
        )


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(_SEPARATOR)]
