"""MiTTenS (Robinson et al. 2024): passages whose gender is clear, into and out of English, 26 languages.

CC BY 4.0, github.com/google-research-datasets/mittens; 3,632 rows. A translation into English is right if it has no
pronoun of the other gender; the pronouns are the item's rules. Passages out of English have no such automatic
measure; they are left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from babelscope.testsets.formats.shared import Row, collect, read_csv
from babelscope.testsets.items import TestSet
from babelscope.util.errors import BabelscopeError

_OTHER_PRONOUNS = {"feminine": "he|him|his|himself", "masculine": "she|her|hers|herself"}
_COLUMNS = ("example", "targets", "lang", "encoded_gender", "eval_set_key", "format")


def read_mittens(path: str | Path) -> TestSet:
    """Read mittens_dataset_v5.csv, whose last column is named by a canary."""
    skipped: dict[str, int] = {}
    return collect(Path(path).stem, _rows(Path(path), skipped), skipped)


def _rows(path: Path, skipped: dict[str, int]) -> Iterator[Row]:
    for number, place, row in read_csv(path, _COLUMNS, "MiTTenS"):
        if row["format"] != "2en":
            skipped["out of English"] = skipped.get("out of English", 0) + 1
            continue
        if row["encoded_gender"] not in _OTHER_PRONOUNS:
            raise BabelscopeError(f"{place}: gender {row['encoded_gender']!r} is not known")
        ban = rf"\b({_OTHER_PRONOUNS[row['encoded_gender']]})\b"
        yield (
            place,
            {
                "id": row.get("") or str(number),
                "source": row["example"],
                "reference": row["targets"],
                "source_language": row["lang"],
                "target_language": "en",
                "phenomenon": row["eval_set_key"],
                "gender": row["encoded_gender"],
                "rules": [{"ban": ban, "regex": True, "ignore_case": True}],
            },
        )
