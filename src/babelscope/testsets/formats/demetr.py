"""DEMETR (Karpinska et al. 2022): translations into English with one error each, to test metrics.

MIT, github.com/marzenakrp/demetr. 1,000 items per file from ten languages. `pert_check` says whether there is an
error: in 999 of negation, 113 of gender, 372 of numbers, 988 of tense. The other items are left out and counted, as
are items whose texts are equal whatever the release says.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babelscope.testsets.formats.shared import Row, collect, extra, field, numbered, read_document
from babelscope.testsets.items import TestSet


def read_demetr(path: str | Path) -> TestSet:
    """Read a file of perturbations: the machine translation is correct, its perturbed version has the error."""
    entries = read_document(path, list, "DEMETR")
    skipped: dict[str, int] = {}
    return collect(Path(path).stem, _rows(path, entries, skipped), skipped)


def _rows(path: str | Path, entries: list[Any], skipped: dict[str, int]) -> Iterator[Row]:
    for number, place, entry in numbered(path, entries):
        # Some perturbed texts have a line break in them.
        correct, wrong = (field(entry, name, place).replace("\n", " ") for name in ("mt_sent", "pert_sent"))
        if entry.get("pert_check") is False:
            reason = "without the error, as the release says"
            skipped[reason] = skipped.get(reason, 0) + 1
            continue
        yield (
            place,
            {
                "id": str(number),
                "source": field(entry, "src_sent", place),
                "correct": correct,
                "contrastive": wrong,
                "phenomenon": field(entry, "pert_name", place),
                "reference": "machine",
                "target_language": "en",
                "human_reference": field(entry, "eng_sent", place),
                **extra(entry, "severity", "lang_tag", "data_source"),
            },
        )
