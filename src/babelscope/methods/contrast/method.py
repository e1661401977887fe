"""Forced choice between a correct translation and variants with an error (paper: minimal-pairs)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from babelscope.core.comparable import Comparable
from babelscope.core.results import Record, Row
from babelscope.core.ties import credit
from babelscope.making.machine_tests import rows_of_making
from babelscope.methods.base import Method
from babelscope.methods.contrast.ask import ask, check_system
from babelscope.methods.contrast.compare import reference_differences
from babelscope.methods.contrast.figures import figures, measure_of
from babelscope.methods.contrast.judge import judge
from babelscope.methods.contrast.output_errors import output_error_rows
from babelscope.methods.contrast.settings import ContrastSettings, identity
from babelscope.methods.contrast.spread import CAUTION, ask_spread, sample, spread_rows
from babelscope.testsets.items import MinimalPair


def summarise(records: Sequence[Record], settings: ContrastSettings, _seed: int) -> list[Row]:
    """Accuracy and discrepancy by phenomenon and reference, expected false positives, errors in own translations."""
    chosen: dict[str, Any] = {"ties": settings.ties, "controls": settings.controls}
    return [
        *figures(records, **chosen),
        *spread_rows(records, settings),
        *output_error_rows(records, **chosen),
        *rows_of_making(records),
    ]


def comparable(settings: ContrastSettings) -> list[Comparable]:
    """Accuracy, by phenomenon and kind of reference."""
    return [
        Comparable(
            "verdict",
            of="{phenomenon}",
            by=("phenomenon", "reference"),
            worth=dict(credit(settings.ties)),
        )
    ]


METHOD = Method(
    name="contrast",
    summary="forced choice between correct and contrastive translations, and how far they are from the 1-best",
    kind=MinimalPair,
    settings=ContrastSettings,
    ask=ask,
    judge=judge,
    summarise=summarise,
    sample=sample,
    ask_more=ask_spread,
    asks=frozenset({"beam", "spread", "without_variants"}),
    check_system=check_system,
    needs={"system": ("score",)},
    instead={"score": "item_scores", "translate": "item_scores"},
    otherwise={"reply": "it can be asked in words: --by-answer, in a study the method contrast_answers"},
    needs_more=lambda settings: settings.needs,
    identity=identity,
    comparable=comparable,
    across=reference_differences,
    part_labels=frozenset({"phenomenon", "reference", "origin", "word"}),
    measure_of=measure_of,
    cautions={"discrepancy": CAUTION},
    view="babelscope.methods.contrast.view:VIEW",
    queue="babelscope.methods.contrast.queue:queue",
)
