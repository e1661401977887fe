"""Which gender does the translated occupation have? People are asked what pattern matching told."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.core.results import Record
from babelscope.methods.patterns.winomt.settings import WinomtSettings
from babelscope.methods.queue import Entry, entry


def queue(records: Sequence[Record], _settings: WinomtSettings) -> list[Entry]:
    """Every translation of an occupation whose gender the source tells: others are neither right nor wrong."""
    return [
        entry(
            record,
            "winomt",
            group=(record["gold"],),
            translation=record["translation"],
            occupation=record["occupation"],
            gold=record["gold"],
        )
        for record in records
        if record["gold"] in ("male", "female")
    ]
