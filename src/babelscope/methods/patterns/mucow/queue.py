"""Which sense does the translated word have? People are asked what pattern matching told, or could not tell."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.core.results import Record
from babelscope.methods.patterns.mucow.settings import MucowSettings
from babelscope.methods.queue import Entry, entry


def queue(records: Sequence[Record], _settings: MucowSettings) -> list[Entry]:
    """Every translation of a word whose right and wrong senses are known."""
    return [
        entry(
            record,
            "mucow",
            group=(record["category"],),
            translation=record["translation"],
            **({"word": record["word"]} if record["word"] else {}),
            correct_sense=record["right_words"],
            wrong_sense=record["wrong_words"],
        )
        for record in records
        if record["right_words"] and record["wrong_words"]
    ]
