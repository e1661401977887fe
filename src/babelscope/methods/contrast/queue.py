"""Which of an item's translations is right? What people choose beside what systems prefer."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

from babelscope.core.results import Record
from babelscope.methods.contrast.settings import ContrastSettings
from babelscope.methods.queue import Entry
from babelscope.util.digests import digest_json


def queue(records: Sequence[Record], _settings: ContrastSettings) -> list[Entry]:
    """The correct translation of each item and its variants, in an order that tells nothing; once for all systems.

    An item is left out if a text is empty or stands there twice, or if there are more texts than letters.
    """
    found: dict[str, Entry] = {}
    for record in records:
        correct, variants = _texts(record)
        texts = {correct, *variants}
        if record["id"] in found or not _can_be_asked(record["source"], [correct, *variants]):
            continue
        # Neither the order of the file nor that of the letters may tell which is which.
        shown = sorted(texts, key=lambda text: digest_json([record["id"], record["source"], text]))
        line = {
            "id": record["id"],
            "tests": record["tests"],
            "task": "choice",
            "source": record["source"],
            "translations": shown,
            "gold": ascii_uppercase[shown.index(correct)],
        }
        found[record["id"]] = Entry(line, (record["id"],), (record["phenomenon"], record["reference"]))
    return list(found.values())


def _texts(record: Record) -> tuple[str, list[str]]:
    """The correct translation and its variants, of an item that was scored now or whose scores were stored."""
    if "texts" in record:
        return record["texts"]["correct"], record["texts"]["contrastive"]
    return record["correct"]["text"], [each["text"] for each in record["contrastive"]]


def _can_be_asked(source: str, texts: Sequence[str]) -> bool:
    distinct = 2 <= len(set(texts)) == len(texts) <= len(ascii_uppercase)
    return distinct and all(text.strip() for text in (source, *texts))
