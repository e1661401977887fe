"""The adapter to sacreBLEU: statistics of each sentence, and scores from their sums."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from babelscope.core.registry import resolve
from babelscope.metrics.base import Array, Metric, References, Scale, Texts, check_corpus


@dataclass(frozen=True)
class SacreBleu(Metric):
    """A metric of sacreBLEU, cased, with its default tokenization or another tokenizer."""

    place: str
    """`module:class` of its scorer, imported when first used."""
    options: Mapping[str, Any] = field(default_factory=dict)
    sentence_options: Mapping[str, Any] = field(default_factory=dict)
    """Options for single sentences, in addition or in the place of others."""
    split_options: Mapping[str, Any] = field(default_factory=dict)
    """Additional options for texts that a tokenizer has split already."""

    @functools.cached_property
    def _scorer(self) -> Any:
        return resolve(self.place)(**self._options)

    @functools.cached_property
    def _sentence_scorer(self) -> Any:
        return resolve(self.place)(**{**self._options, **self.sentence_options})

    @property
    def _options(self) -> Mapping[str, Any]:
        return self.options if self.tokenizer is None else {**self.options, **self.split_options}

    def sentence(self, hypotheses: Texts, references: References, sources: Texts = ()) -> list[float]:  # noqa: ARG002
        """sacreBLEU's sentence scores; `sources` are not read."""
        rows = self._extract(self._sentence_scorer, hypotheses, references) if hypotheses else ()
        return [self.of_statistics(row) for row in rows]

    def statistics(self, hypotheses: Texts, references: References, sources: Texts = ()) -> Array:  # noqa: ARG002
        """sacreBLEU's statistics of each sentence [sentences, columns]; `sources` are not read."""
        return self._extract(self._scorer, hypotheses, references)

    def corpus(self, sums: Array) -> float:
        """The corpus score from the sum of its sentences' statistics [columns]; NaN for no sentences."""
        # Column 1 is the reference length in every metric; it is 0 only if there is no sentence.
        return _score(self._scorer, sums) if sums[1] else math.nan

    def of_statistics(self, statistics: Array) -> float:
        """The score of one sentence from its statistics [columns]."""
        return _score(self._sentence_scorer, statistics)

    def _extract(self, scorer: Any, hypotheses: Texts, references: References) -> Array:
        check_corpus(hypotheses, references)
        self.check_words(references)
        if self.tokenizer is not None:
            spaced = functools.cache(self.tokenizer.spaced)
            hypotheses = [spaced(text) for text in hypotheses]
            references = [[spaced(text) for text in own] for own in references]
        most = max(map(len, references))
        streams = [[own[i] if i < len(own) else None for own in references] for i in range(most)]
        return np.array(scorer._extract_corpus_statistics(list(hypotheses), streams), dtype=float)


def _score(scorer: Any, statistics: Array) -> float:
    return float(scorer._compute_score_from_stats(statistics.tolist()).score)


_PLACE = "sacrebleu.metrics.bleu:BLEU"
# `force` silences the warning that tokenized-looking sentences would give each time.
_SENTENCE = {"effective_order": True, "force": True}
# multi-bleu splits at spaces and does not smooth: a corpus without a 4-gram in common has 0.
_MULTI = {"tokenize": "none", "smooth_method": "none"}
# Without smoothing nearly every sentence alone would have 0.
_MULTI_SENTENCE = {**_SENTENCE, "smooth_method": "exp"}
_TOKENIZED = "text must be tokenized already, words and marks between spaces"

BLEU = SacreBleu(
    "bleu",
    Scale(0, 100, "higher", "percent"),
    _PLACE,
    sentence_options=_SENTENCE,
    split_options={"tokenize": "none", "force": True},
    words_by="13a",
)
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
        ("multi-bleu", False, _TOKENIZED),
        ("multi-bleu-lc", True, f"{_TOKENIZED}; case is ignored"),
    )
)
TER = SacreBleu("ter", Scale(0, None, "lower", "percent"), "sacrebleu.metrics.ter:TER", words_by="whitespace")
