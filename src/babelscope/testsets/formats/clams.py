"""CLAMS (Mueller et al. 2020): subject-verb agreement in English, French, German, Hebrew and Russian.

Apache-2.0, github.com/aaronmueller/clams. One sentence per line, after `True` or `False` and a tab; a right
sentence is followed by its wrong versions.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from babelscope.testsets.formats.shared import Row, collect
from babelscope.testsets.items import NO_SOURCE, TestSet
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import read_lines


def read_clams(path: str | Path) -> TestSet:
    """Read pairs of sentences without a source, as `sentences:` does."""
    return collect(Path(path).stem, _rows(Path(path)))


def _rows(path: Path) -> Iterator[Row]:
    right, wrong = "", []
    number = 0
    for line, text in enumerate([*read_lines(path, keep_separators=True), "True\t"], 1):
        label, tab, sentence = text.partition("\t")
        if not tab or label not in ("True", "False"):
            raise BabelscopeError(f"{at(path, line)}: must begin with True or False and a tab")
        if label == "False":
            if not right:
                raise BabelscopeError(f"{at(path, line)}: a wrong sentence before any right one")
            wrong.append(sentence)
            continue
        if right and wrong:
            number += 1
            yield (
                at(path, line - 1),
                {
                    "id": str(number),
                    "source": f"[sentence {number}, which has no source]",
                    NO_SOURCE: True,
                    "correct": right,
                    "contrastive": [each for each in wrong if each != right],
                    "phenomenon": path.stem,
                    "reference": "human",
                },
            )
        right, wrong = sentence, []
