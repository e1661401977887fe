"""Questions about errors in translations: the 1-best of every source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.answers import Scored
from babelscope.core.results import Record
from babelscope.methods.errors.settings import ErrorsSettings
from babelscope.systems.asking import ask_translate, relocate_errors
from babelscope.testsets.items import MinimalPair, ParallelSentence


def ask(
    systems: Mapping[str, Any],
    items: Sequence[MinimalPair | ParallelSentence],
    settings: ErrorsSettings,
    _seed: int,
) -> list[Record]:
    """A record an item: its texts, and what the system writes itself (`best`)."""
    system = systems["system"]
    with relocate_errors(lambda what, number: f"item {items[number - 1].id}: {what}"):
        answers = ask_translate(system, [item.question for item in items], beam=settings.beam)
    return [_record(item, answer[0]) for item, answer in zip(items, answers, strict=True)]


def _record(item: MinimalPair | ParallelSentence, best: Scored) -> Record:
    answer = {"text": best.text, "notes": list(best.notes)}
    if isinstance(item, MinimalPair):
        return {
            "source": item.source,
            "phenomenon": item.phenomenon,
            "reference": item.reference,
            "texts": {"correct": item.correct, "contrastive": list(item.contrastive)},
            "best": answer,
        }
    told = {"target_language": item.target_language} if item.target_language else {}
    return {"source": item.source, "references": list(item.references), **told, "best": answer}
