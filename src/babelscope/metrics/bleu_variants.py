"""BLEU in other published forms: case-insensitive, and as Moses' multi-bleu counts it."""

from __future__ import annotations

from babelscope.metrics.base import Scale
from babelscope.metrics.sacre import SacreBleu

_PLACE = "sacrebleu.metrics.bleu:BLEU"
_SENTENCE = {"effective_order": True, "force": True}
# multi-bleu splits at spaces and does not smooth: a corpus without a 4-gram in common has 0.
_MULTI = {"tokenize": "none", "smooth_method": "none"}
# Without smoothing nearly every sentence alone would have 0.
_MULTI_SENTENCE = {**_SENTENCE, "smooth_method": "exp"}
_TOKENISED = "text must be tokenised already, words and marks between spaces"

LOWERCASE = SacreBleu(
    "bleu-lc", Scale(0, 100, "higher", "percent", "case is ignored"), _PLACE, {"lowercase": True}, _SENTENCE
)
MULTI, MULTI_LOWERCASE = (
    SacreBleu(
        name,
        Scale(0, 100, "higher", "percent", note),
        _PLACE,
        {**_MULTI, "lowercase": lowercase},
        _MULTI_SENTENCE,
    )
    for name, lowercase, note in (
        ("multi-bleu", False, _TOKENISED),
        ("multi-bleu-lc", True, f"{_TOKENISED}; case is ignored"),
    )
)
