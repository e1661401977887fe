"""Translations measured by metrics: what methods share that ask for translations and compare them with references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from babelscope.core.notes import told_counts
from babelscope.core.results import Record
from babelscope.methods.tokenising import stated_languages
from babelscope.metrics.base import Metric, Scale, find_metric, is_allowed, warn_stored_quality
from babelscope.metrics.records import record_statistics
from babelscope.systems.asking import ask_translate
from babelscope.testsets.items import ParallelSentence, SourceSentence

NOTES = ("truncated", "unfinished")


def translated_records(
    system: Any, items: Sequence[ParallelSentence | SourceSentence], beam: int
) -> list[Record]:
    """A record a sentence: its source, its references, and the system's 1-best translation."""
    answers = ask_translate(system, [item.question for item in items], beam=beam)
    return [
        {
            "source": item.source,
            "references": list(item.references),
            **stated_languages(item),
            "translation": answer[0].text,
            "notes": list(answer[0].notes),
        }
        for item, answer in zip(items, answers, strict=True)
    ]


def score_sentences(
    name: str, records: Sequence[Record], tokenize: str = ""
) -> tuple[list[float], list[list[float]]]:
    """Sentence scores by one metric, and the statistics for its corpus score; none if that is the mean.

    Words are split by the tokeniser `tokenize`, or if none is named by that of each target language.
    A stored run that names an external program does not start it: the stored scores are used again.
    """
    if not is_allowed(name) and all(name in record.get("scores", ()) for record in records):
        warn_stored_quality(name)
        return [record["scores"][name] for record in records], []
    metric = find_metric(name)
    texts = [record["translation"] for record in records]
    statistics = record_statistics(metric, texts, records, tokenize)
    scores = [metric.of_statistics(row) for row in statistics]
    if type(metric).corpus is Metric.corpus:
        return scores, []
    return scores, [[int(each) if each == int(each) else float(each) for each in row] for row in statistics]


def answer_counts(records: Sequence[Record]) -> dict[str, int]:
    """How many translations are empty, were cut, did not end, or came with chatter."""
    notes = Counter(note for record in records for note in record["notes"])
    return {
        "empty": sum(not record["translation"].strip() for record in records),
        **{note: notes[note] for note in NOTES},
        **told_counts(notes),
    }


def scale_of(name: str) -> Scale:
    """A metric's scale. External scores are taken to be better if higher: their program is not started to ask."""
    return Scale(None, None) if ":" in name else find_metric(name).scale
