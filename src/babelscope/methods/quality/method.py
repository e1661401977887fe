"""Quality of translations by metrics: corpus scores of any system, black boxes and files included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from babelscope.core.answers import Translates
from babelscope.core.results import Record
from babelscope.methods.base import Method
from babelscope.methods.measuring import score_sentences, translated_records
from babelscope.methods.quality.figures import summarise, system_differences
from babelscope.methods.quality.settings import QualitySettings, check_items, identity, identity_on
from babelscope.testsets.items import ParallelSentence, SourceSentence


def ask(
    systems: Mapping[str, Translates],
    items: Sequence[ParallelSentence | SourceSentence],
    settings: QualitySettings,
    _seed: int,
) -> list[Record]:
    """A record a sentence, with its translation."""
    return translated_records(systems["system"], items, settings.beam)


def judge(records: Sequence[Record], settings: QualitySettings) -> list[Record]:
    """The records with the score of each sentence, and the statistics for corpus scores."""
    measured = (
        {name: score_sentences(name, records, settings.tokenize) for name in settings.metric}
        if records
        else {}
    )
    return [
        {
            **record,
            "scores": {name: scores[number] for name, (scores, _) in measured.items()},
            "statistics": {name: rows[number] for name, (_, rows) in measured.items() if rows},
        }
        for number, record in enumerate(records)
    ]


METHOD = Method(
    name="quality",
    summary="corpus scores by BLEU, chrF or any other metric",
    kind=ParallelSentence,
    also=(SourceSentence,),
    settings=QualitySettings,
    ask=ask,
    judge=judge,
    summarise=summarise,
    asks=frozenset({"beam"}),
    identity=identity,
    identity_on=identity_on,
    check_items=check_items,
    across=system_differences,
    view="babelscope.methods.quality.view:VIEW",
    queue="babelscope.methods.quality.queue:queue",
)
