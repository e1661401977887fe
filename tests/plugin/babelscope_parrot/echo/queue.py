"""What people are asked: how good a translation is, echo or not."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.core.results import Record
from babelscope.methods.queue import Entry, entry
from babelscope_parrot.echo.settings import EchoSettings


def queue(records: Sequence[Record], _settings: EchoSettings) -> list[Entry]:
    """Every translation, to be assessed; of each domain its share."""
    return [
        entry(
            record,
            "assessment",
            group=(str(record.get("extra", {}).get("domain", "")),),
            translation=record["translation"],
        )
        for record in records
    ]
