"""What is made of the answers: pure, so that a run can be judged again under another threshold."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.core.results import Record
from babelscope_parrot.echo.settings import EchoSettings


def judge(records: Sequence[Record], settings: EchoSettings) -> list[Record]:
    """Each record with the `share` of its words that stand in the source, and its `verdict`."""
    return [{**record, **_judged(record, settings.threshold)} for record in records]


def _judged(record: Record, threshold: float) -> Record:
    known, words = set(record["source"].lower().split()), record["translation"].lower().split()
    share = sum(word in known for word in words) / len(words) if words else 0.0
    return {"share": share, "verdict": "echo" if share >= threshold else "own"}
