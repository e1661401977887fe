"""TER (Snover et al. 2006) from sacreBLEU: edits in percent of the reference's words, so it can exceed 100."""

from __future__ import annotations

from babelscope.metrics.base import Scale
from babelscope.metrics.sacre import SacreBleu

METRIC = SacreBleu(
    "ter", Scale(0, None, "lower", "percent"), "sacrebleu.metrics.ter:TER", words_by="whitespace"
)
