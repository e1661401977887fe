"""The test-set format `parrot:FILE`: one line per sentence, with its domain, source and reference between tabs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from babelscope.testsets.items import TestSet, make_items
from babelscope.testsets.loading import Format
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import LocatedRecord, read_lines

FORMAT = Format(
    "parrot",
    "babelscope_parrot.testset:read_parrot",
    "tab-separated text: domain, source, reference",
    "parrot:zoo.tsv",
)


def read_parrot(path: str | Path) -> TestSet:
    """Sentences with references; `domain`, which no item has by itself, is kept and carried into the records."""
    return TestSet(Path(path).stem, tuple(make_items(_rows(path))))


def _rows(path: str | Path) -> Iterator[LocatedRecord]:
    for number, line in enumerate(read_lines(path), 1):
        columns = line.split("\t")
        if len(columns) != 3:
            raise BabelscopeError(
                f"{at(path, number)} has {len(columns)} columns, not domain, source, reference"
            )
        domain, source, reference = columns
        yield (
            at(path, number),
            {"id": str(number), "source": source, "reference": reference, "domain": domain},
        )
