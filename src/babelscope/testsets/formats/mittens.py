"""MiTTenS (Robinson et al. 2024): passages into English whose gender the source makes clear.

CC BY 4.0, github.com/google-research-datasets/mittens. A table that begins with a canary line. A translation into
English is right if it has no pronoun of another gender; the pronouns are the item's rules.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from babelscope.testsets.formats.shared import Row, collect
from babelscope.testsets.items import TestSet
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import parse_lines, read_line_bytes

_PRONOUNS = {"female": "she|her|hers|herself", "male": "he|him|his|himself"}
_OTHERS = {"female": ("male",), "male": ("female",), "neutral": ("female", "male")}
_SOURCE = ("source", "source_text", "passage")
_GENDER = ("gender", "expected_gender", "protagonist_gender")
_LANGUAGE = ("source_language", "language", "lang")


def read_mittens(path: str | Path) -> TestSet:
    """Read mittens_dataset_v5.csv; columns are found by their names, whatever their order."""
    return collect(Path(path).stem, _rows(Path(path)))


def _rows(path: Path) -> Iterator[Row]:
    lines = parse_lines(read_line_bytes(path).replace(b"\r\n", b"\n"), path, keep_separators=True)
    start = 1 if lines and "canary" in lines[0].lower() else 0
    table = csv.DictReader(line + "\n" for line in lines[start:])
    names = {name.strip().lower(): name for name in table.fieldnames or ()}
    source, gender = (_column(names, known, path) for known in (_SOURCE, _GENDER))
    language = next((names[each] for each in _LANGUAGE if each in names), None)
    for number, row in enumerate(table, 1):
        found = (row[gender] or "").strip().lower()
        found = {"feminine": "female", "masculine": "male", "nonbinary": "neutral"}.get(found, found)
        if found not in _OTHERS:
            raise BabelscopeError(f"{at(path, start + number + 1)}: gender {row[gender]!r} is not known")
        yield (
            at(path, start + number + 1),
            {
                "id": str(number),
                "source": row[source] or "",
                "target_language": "en",
                **({"source_language": row[language]} if language else {}),
                "phenomenon": found,
                "rules": [
                    {"ban": rf"\b({_PRONOUNS[other]})\b", "regex": True, "ignore_case": True}
                    for other in _OTHERS[found]
                ],
            },
        )


def _column(names: dict[str, str], known: tuple[str, ...], path: Path) -> str:
    for name in known:
        if name in names:
            return names[name]
    raise BabelscopeError(f"{path} has no column {' or '.join(known)}; it has {', '.join(names) or 'none'}")
