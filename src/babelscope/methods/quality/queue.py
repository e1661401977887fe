"""How good is the translation? People are asked what metrics measured."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.core.results import Record
from babelscope.methods.quality.settings import QualitySettings
from babelscope.methods.queue import Entry, entry


def queue(records: Sequence[Record], _settings: QualitySettings) -> list[Entry]:
    """Every translation that is not empty, to be scored without its reference."""
    return [
        entry(record, "assessment", translation=record["translation"])
        for record in records
        if record["translation"].strip()
    ]
