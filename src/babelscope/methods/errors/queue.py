"""Does the translation have the error? People are asked what detectors told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from babelscope.core.results import Record
from babelscope.language.registry import error_type
from babelscope.methods.errors.settings import ErrorsSettings
from babelscope.methods.queue import Entry
from babelscope.stats.labels import LABELS


def queue(records: Sequence[Record], _settings: ErrorsSettings) -> list[Entry]:
    """Every translation that a detector looked at, with a reference into which the same error was put."""
    return [entry for record in records for entry in _entries(record)]


def _entries(record: Record) -> Iterator[Entry]:
    for name, alarm in record["alarms"].items():
        texts = _known_texts(record, name)
        if texts is None or not record["best"]["text"].strip():
            continue
        correct, contrastive = texts
        line = {
            "id": record["id"] if "phenomenon" in record else f"{record['id']}/{name}",
            "system": record["system"],
            "tests": record["tests"],
            "task": "machine-reference",
            "phenomenon": name,
            "source": record["source"],
            "translation": record["best"]["text"],
            "correct": correct,
            "contrastive": contrastive,
            "question": f"Does the translation have this error? {error_type(name).definition}",
            "choices": list(LABELS["machine-reference"]),
        }
        yield Entry(line, (record["id"], name), (name, "alarm" if alarm else "no alarm"))


def _known_texts(record: Record, name: str) -> tuple[str, str] | None:
    """A right translation and the same with the error; None if the error has no place in a reference."""
    if "phenomenon" in record:
        return record["texts"]["correct"], record["texts"]["contrastive"][0]
    variants = record["variants"].get(name)
    return (variants[0][0], variants[0][1]) if variants else None
