"""What can be chosen about hypothesis spaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from babelscope.core.answers import Drawing
from babelscope.core.settings import Settings
from babelscope.methods.base import Languages
from babelscope.methods.tokenising import (
    check_reference_words,
    known_tokeniser,
    language_identity,
    metric_identity,
    named_identity,
    require_references,
)
from babelscope.metrics.base import find_metric
from babelscope.metrics.ranking import Gains, Normalise, Ties, quality_bound
from babelscope.testsets.items import ParallelSentence, SourceSentence


class SpaceSettings(Settings):
    k: int = Field(default=10, ge=0)
    """Hypotheses of the top region, and of the beam it is compared with; 1 for modes alone, 0 for samples alone."""
    samples: int = Field(default=200, ge=0)
    """Samples a sentence; 0 for none."""
    temperature: float = Field(default=1.0, gt=0)
    """Of the samples: log-probabilities are divided by it; 1 draws from the model's own distribution."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Draw only among the most probable tokens that together have this probability."""
    epsilon: float = Field(default=0.0, ge=0, lt=1)
    """Draw only tokens of at least this probability."""
    metric: tuple[str, ...] = Field(default=("chrf",), min_length=1)
    """What hypotheses are judged by: chrf, chrf++, bleu, ter, ribes, comet, cometkiwi, cmd:COMMAND or
    file:NUMBERS?source=SEGMENTS (BLEURT, MetricX...); the first of several is that of tables and pictures."""
    tokenize: str = ""
    """How words are split: 13a, intl, zh, ja-mecab, ko-mecab, char, whitespace or spm:FILE; if not given, as the
    item's target language needs it."""
    normalise: Normalise = "bound"
    """What makes kQRG (how well the model ranks by quality) 1: k perfect translations (`bound`, eq. 19 of the paper),
    or the best order of the model's own hypotheses."""
    gains: Gains = "linear"
    """What kRG gains by a hypothesis of relevance f: f (eq. 13), or 2^f - 1, as the paper's code has it too."""
    ties: Ties = "shared"
    """What kRG gives hypotheses of equal quality: the mean of their relevances, or (eq. 13 as printed) each its own,
    in random order, as the mean over these orders."""
    beam: int = Field(default=5, ge=1)
    """Size of the beam of the translation that is scored as the system's own, and of beam search's list of k (k, if
    that is more)."""
    beams: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """Other sizes of the beam, 1,5,10: quality, modes missed, log-probability and length of what each gives."""
    mbr_samples: int = Field(default=100, ge=1)
    """Samples among which minimum Bayes risk (MBR) decoding chooses (section 5.2.2), or all if there are fewer."""
    unresolved: Literal["leave-out", "keep"] = "keep"
    """Searches that ended with their budget: count the best that was found, or only what they proved."""
    budget_expansions: int | None = Field(default=None, ge=1)
    """Prefixes an exact search may expand for a sentence."""
    budget_seconds: float | None = Field(default=None, gt=0)
    """Seconds an exact search may take for a sentence; not reproducible."""
    budget_bytes: int | None = Field(default=None, ge=1)
    """Memory an exact search may hold at once."""
    curves: bool = False
    """Figures for smaller k and fewer samples too."""
    confidence: bool = False
    """Entropy of samples, mass of the most probable k, and calibration of token probabilities too."""

    @property
    def drawing(self) -> Drawing:
        """How samples are drawn."""
        return Drawing(temperature=self.temperature, top_p=self.top_p, epsilon=self.epsilon)

    @property
    def draws_from_model(self) -> bool:
        """Whether samples are drawn from the model's own distribution."""
        return self.drawing == Drawing()

    @field_validator("beams", mode="before")
    @classmethod
    def _listed(cls, given: object) -> object:
        """Sizes as one text, 1,5,10, or apart."""
        parts = (given,) if isinstance(given, str) else given
        if not isinstance(parts, Iterable):
            return parts
        found = [each for part in parts for each in (part.split(",") if isinstance(part, str) else (part,))]
        if len(set(map(str, found))) < len(found):
            raise ValueError("each size of the beam may be given once")
        return tuple(found)

    _known_tokeniser = field_validator("tokenize")(known_tokeniser)

    @field_validator("metric", mode="before")
    @classmethod
    def _one(cls, given: object) -> object:
        return (given,) if isinstance(given, str) else given

    @model_validator(mode="after")
    def _are_known(self) -> Self:
        for name in self.metric:  # told before any system is asked
            metric = find_metric(name)
            if self.normalise == "bound":
                quality_bound(metric)
        if not self.k and not self.samples:
            raise ValueError("k and samples are both 0: there is nothing to look at")
        if len(set(self.metric)) < len(self.metric):
            raise ValueError("metric: each may be given once")
        return self


def check_references(items: Sequence[ParallelSentence | SourceSentence], settings: SpaceSettings) -> None:
    """Refuse items without references, unless no metric reads them, and references whose words cannot be split."""
    require_references(items, settings.metric)
    # Corpus BLEU stands beside every metric.
    check_reference_words(items, dict.fromkeys(("bleu", *settings.metric)), settings.tokenize)


def identity(settings: SpaceSettings) -> Mapping[str, Any]:
    """What metrics and the tokeniser are."""
    return {**metric_identity("metric", settings.metric), **named_identity(tokenize=settings.tokenize)}


def identity_on(settings: SpaceSettings, languages: Languages) -> Mapping[str, Any]:
    """The tokenisers that the target languages choose; BLEU stands beside every metric."""
    chosen = language_identity(settings.tokenize, ["bleu"], [target for _, target in languages])
    return {"tokenize": chosen} if chosen else {}
