"""What is made of the answers: pure, so that a run can be judged again under another threshold."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.core.results import Record
from babelscope_parrot.echo.settings import EchoSettings


def judge(records: Sequence[Record], settings: EchoSettings) -> list[Record]:
    """Each record with the `share` of the source's words that the translation has, and its `verdict`."""
    return [{**record, **_judged(record, settings.threshold)} for record in records]


def _judged(record: Record, threshold: float) -> Record:
    known, said = (set(record[name].lower().split()) for name in ("source", "translation"))
    share = len(known & said) / len(known)
    return {"share": share, "verdict": "echo" if share >= threshold else "own"}
