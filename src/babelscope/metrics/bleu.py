"""BLEU (Papineni et al. 2002) from sacreBLEU: cased, all references, 13a tokens or another tokeniser's.

Sentences use effective order.
"""

from __future__ import annotations

from babelscope.metrics.base import Scale
from babelscope.metrics.sacre import SacreBleu

METRIC = SacreBleu(
    "bleu",
    Scale(0, 100, "higher", "percent"),
    "sacrebleu.metrics.bleu:BLEU",
    # `force` silences the warning that tokenised-looking sentences would give each time.
    sentence_options={"effective_order": True, "force": True},
    split_options={"tokenize": "none", "force": True},
    words_by="13a",
)
