"""DEMETR (Karpinska et al. 2022): translations into English with one error each, to test metrics.

MIT, github.com/marzenakrp/demetr. 1,000 items per file from ten languages. `pert_check` says whether there is an
error: in 999 of negation, 113 of gender, 372 of numbers, 988 of tense. The other items are left out and counted, as
are items whose texts are equal whatever the release says. Where the second text is the reference itself, a baseline,
it is the better one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from babelscope.testsets.formats.shared import Row, collect, extra, field, numbered, read_document
from babelscope.testsets.items import TestSet
from babelscope.util.errors import BabelscopeError


def read_demetr(path: str | Path) -> TestSet:
    """Read a file of perturbations, or all files of a folder: the machine translation is correct, its copy wrong."""
    path = Path(path)
    files = sorted(path.glob("*_id*.json")) if os.path.isdir(path) else [path]
    if not files:
        raise BabelscopeError(f"{path} has no files of DEMETR, such as critical_id8_negation.json")
    skipped: dict[str, int] = {}
    rows = (row for file in files for row in _rows(file, f"{file.stem}/" if len(files) > 1 else "", skipped))
    return collect(path.resolve().stem, rows, skipped)


def _rows(path: Path, prefix: str, skipped: dict[str, int]) -> Iterator[Row]:
    for number, place, entry in numbered(path, read_document(path, list, "DEMETR")):
        # Some perturbed texts have a line break in them.
        names = ("mt_sent", "pert_sent", "eng_sent")
        machine, other, human = (field(entry, name, place).replace("\n", " ") for name in names)
        if entry.get("pert_check") is False:
            reason = "without the error, as the release says"
            skipped[reason] = skipped.get(reason, 0) + 1
            continue
        is_baseline = entry.get("severity") == "base" and other == human
        yield (
            place,
            {
                "id": f"{prefix}{number}",
                "source": field(entry, "src_sent", place),
                "correct": other if is_baseline else machine,
                "contrastive": machine if is_baseline else other,
                "phenomenon": field(entry, "pert_name", place),
                "reference": "human" if is_baseline else "machine",
                "target_language": "en",
                "human_reference": human,
                **extra(entry, "severity", "lang_tag", "data_source"),
            },
        )
