"""How good translations are, against one or several references: of a corpus with an interval, of sentences by name.

BLEU, chrF, chrF++ and TER are sacreBLEU's, RIBES is ours. COMET, COMET-QE, BLEURT and whatever else cannot live in
our environment are asked outside of it: by a command that reads segments and writes numbers, or from a file of
numbers made earlier.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from babelscope.core.registry import did_you_mean, resolve
from babelscope.core.results import Estimate
from babelscope.metrics.chrf import pairwise_chrf
from babelscope.metrics.ribes import sentence_ribes
from babelscope.stats.intervals import percentile_estimate
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import shorten

Metric = Literal["bleu", "chrf", "chrf++", "ter", "ribes"]
METRICS: tuple[Metric, ...] = get_args(Metric)


@dataclass(frozen=True, slots=True)
class Segment:
    """A hypothesis with what it is a translation of, and what it is held against."""

    source: str
    hypothesis: str
    references: tuple[str, ...]

    def as_line(self) -> str:
        """As a command gets it: a JSON object, plain ASCII; `reference` is a list if there are several."""
        reference = self.references[0] if len(self.references) == 1 else list(self.references)
        return json.dumps({"source": self.source, "hypothesis": self.hypothesis, "reference": reference})


def sentence_qualities(quality: str, segments: Sequence[Segment]) -> list[float]:
    """The quality of each segment, higher is better; equal segments are judged once.

    chrf, chrf++, bleu (with effective order), ribes: from 0 to 1, against the best reference or, for BLEU, all.
    ter: 1 - TER, which is below 0 where there are more edits than words in the reference.
    `cmd:COMMAND` and `file:NUMBERS?source=SEGMENTS`: on whatever scale they have, see `Segment.as_line`.
    """
    once = list(dict.fromkeys(segments))
    if quality in ("chrf", "chrf++"):
        found = _chrf(once, word_order=2 if quality == "chrf++" else 0)
    elif quality in METRICS:
        score = _sentence_scorer(quality)
        found = [score(each.hypothesis, each.references) for each in once]
    else:
        judge = outside(quality)
        answers = judge.translate([each.as_line() for each in once]) if once else []
        found = [_number(quality, *pair) for pair in zip(answers, once, strict=True)]
    values = dict(zip(once, found, strict=True))
    return [values[each] for each in segments]


def _chrf(segments: Sequence[Segment], *, word_order: int) -> list[float]:
    """sacreBLEU's sentence chrF, all hypotheses with the same references at once."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, segment in enumerate(segments):
        groups.setdefault(segment.references, []).append(number)
    found = [0.0] * len(segments)
    for references, numbers in groups.items():
        texts = [segments[number].hypothesis for number in numbers]
        best = pairwise_chrf(texts, references, word_order=word_order).max(axis=1) / 100
        for number, value in zip(numbers, best.tolist(), strict=True):
            found[number] = value
    return found


def outside(quality: str) -> Any:
    """Who judges a quality that is not ours: a system that answers a segment's line with a number."""
    if not quality.startswith(("cmd:", "file:")):
        hint = did_you_mean(quality, METRICS, "COMET and the like are asked by cmd:COMMAND")
        raise BabelscopeError(f"there is no quality {quality!r}; known: {', '.join(METRICS)}; {hint}")
    return resolve("babelscope.systems.opening:open_system")(quality)


def _number(quality: str, answer: Sequence[Any], segment: Segment) -> float:
    written = answer[0].text
    try:
        value = float(written)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BabelscopeError(
            f"{quality} gave {shorten(written)} as the quality of {shorten(segment.hypothesis)}; "
            "it must be a finite number"
        )
    return value


def _sentence_scorer(metric: str) -> Callable[[str, tuple[str, ...]], float]:
    """BLEU, TER or RIBES of a hypothesis against its references, higher is better."""
    if metric == "ribes":
        return lambda text, references: sentence_ribes(tokens(text), [tokens(each) for each in references])
    scorer = _scorer(metric, by_sentence=True)

    def score(text: str, references: tuple[str, ...]) -> float:
        value = float(scorer.sentence_score(text, references).score) / 100
        return 1 - value if metric == "ter" else value

    return score


def corpus_quality(
    metric: Metric,
    translations: Sequence[str],
    references: Sequence[Sequence[str]],
    rng: np.random.Generator,
    *,
    resamples: int = 1000,
) -> Estimate:
    """A corpus score on its customary scale, with the percentile bootstrap interval over sentences (if several).

    BLEU, chrF, chrF++ and TER as sacreBLEU prints them, 0 to 100 (of TER, less is better); RIBES 0 to 1.
    `references[i]` are the references of translation i; their number may differ.
    """
    if len(translations) != len(references):
        raise BabelscopeError(
            f"{len(translations)} translations cannot be held against {len(references)} references"
        )
    if not translations:
        return Estimate.of_nothing()
    statistics, score = _corpus_scorer(metric, translations, references)
    scores = [
        score(statistics[rng.integers(0, len(statistics), len(statistics))].sum(axis=0))
        for _ in range(resamples)
    ]
    return percentile_estimate(score(statistics.sum(axis=0)), np.array(scores), len(translations))


def _corpus_scorer(
    metric: Metric, translations: Sequence[str], references: Sequence[Sequence[str]]
) -> tuple[np.ndarray[Any, Any], Callable[[Any], float]]:
    """Statistics [sentences, columns], collected once a sentence, and the score that their sum makes."""
    if metric == "ribes":
        score = _sentence_scorer(metric)
        pairs = zip(translations, references, strict=True)
        return np.array([[score(text, tuple(own)), 1.0] for text, own in pairs]), lambda sums: float(
            sums[0] / sums[1]
        )
    scorer = _scorer(metric)
    most = max(map(len, references))
    streams = [[group[i] if i < len(group) else None for group in references] for i in range(most)]
    statistics = np.asarray(scorer._extract_corpus_statistics(list(translations), streams), dtype=float)
    return statistics, lambda sums: float(
        scorer._compute_score_from_stats([float(each) for each in sums]).score
    )


def tokens(text: str) -> list[str]:
    """The words of mteval-v13a, cased: BLEU's default."""
    return str(_tokenizer()(text)).split()


@functools.cache
def _tokenizer() -> Any:
    from sacrebleu.tokenizers import tokenizer_13a

    return tokenizer_13a.Tokenizer13a()  # type: ignore[no-untyped-call]


def _scorer(metric: str, *, by_sentence: bool = False) -> Any:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    if metric == "bleu":
        return BLEU(effective_order=by_sentence)
    return TER() if metric == "ter" else CHRF(word_order=2 if metric == "chrf++" else 0)
