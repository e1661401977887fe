"""Forced choice by answer, between translations (as `contrast`) and between sources with cues (as `condition`).

For systems that give no log-probabilities of given texts. Each choice is asked in both orders; it counts only if both
name the same one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from babelscope.core.comparable import Comparable
from babelscope.core.results import Record, Row
from babelscope.methods.answers.ask import ask_pairs, ask_senses, check_pairs
from babelscope.methods.answers.figures import figures, worth_of
from babelscope.methods.answers.judge import judge_pairs, judge_senses
from babelscope.methods.answers.preflight import ask_known, preflight_of
from babelscope.methods.answers.settings import ConditionAnswersSettings, ContrastAnswersSettings
from babelscope.methods.base import Method
from babelscope.methods.condition.ask import check_system
from babelscope.methods.condition.known import sample
from babelscope.methods.condition.preflight import preflight_rows
from babelscope.testsets.items import AmbiguousSource, MinimalPair

Labels = tuple[tuple[str, str], ...]


def _phenomena(record: Record) -> Iterator[Labels]:
    yield (("phenomenon", record["phenomenon"]), ("reference", record["reference"]))


def _categories(record: Record) -> Iterator[Labels]:
    yield (("category", record["category"]),)


def _of_pairs(records: Sequence[Record], settings: ContrastAnswersSettings, _seed: int) -> list[Row]:
    return figures(records, settings.undecided, _phenomena)


def _of_senses(records: Sequence[Record], settings: ConditionAnswersSettings, _seed: int) -> list[Row]:
    evaluator = str(records[0].get("evaluator", "")) if records else ""
    tested = preflight_rows(preflight_of(records), evaluator)
    return [*figures(records, settings.undecided, _categories), *tested]


CONTRAST = Method(
    name="contrast_answers",
    summary="forced choice between correct and contrastive translations, asked in words, in both orders",
    kind=MinimalPair,
    settings=ContrastAnswersSettings,
    ask=ask_pairs,
    judge=judge_pairs,
    summarise=_of_pairs,
    asks=frozenset({"prompt"}),
    check_system=check_pairs,
    needs={"system": ("reply",)},
    comparable=lambda settings: [
        Comparable(
            "verdict",
            of="answer_accuracy",
            by=("phenomenon", "reference"),
            worth=worth_of(settings.undecided),
        )
    ],
    part_labels=frozenset({"phenomenon", "reference"}),
    view="babelscope.methods.answers.view:PAIRS",
)

CONDITION = Method(
    name="condition_answers",
    summary="accuracy of disambiguation: an evaluator says in words which source with a cue a translation renders",
    kind=AmbiguousSource,
    settings=ConditionAnswersSettings,
    ask=ask_senses,
    judge=judge_senses,
    summarise=_of_senses,
    sample=sample,
    ask_more=ask_known,
    asks=frozenset({"prompt", "translations", "beam", "preflight"}),
    check_system=check_system,
    needs={"system": ("translate",), "evaluator": ("reply",)},
    comparable=lambda settings: [
        Comparable("verdict", of="answer_accuracy", worth=worth_of(settings.undecided)),
        Comparable("verdict", of="answer_accuracy", by=("category",), worth=worth_of(settings.undecided)),
    ],
    part_labels=frozenset({"category"}),
    view="babelscope.methods.answers.view:SENSES",
)
