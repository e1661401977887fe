"""BLEU (Papineni et al. 2002) by sacreBLEU: cased, 13a tokens, all references; of a sentence with effective order."""

from __future__ import annotations

from babelscope.metrics.base import Scale
from babelscope.metrics.sacre import SacreBleu

METRIC = SacreBleu(
    "bleu",
    Scale(0, 100, "higher", "percent"),
    "sacrebleu.metrics.bleu:BLEU",
    # Forced: sentences of one test set that end in " ." are no reason to warn again and again.
    of_sentences={"effective_order": True, "force": True},
)
