"""What can be chosen about challenge sets."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from babelscope.core.settings import Settings
from babelscope.language.align import longest_sentence
from babelscope.language.parsers import UDPIPE_MODELS, open_parser
from babelscope.methods.base import Languages
from babelscope.methods.challenge.sets import Partition
from babelscope.methods.tokenising import (
    given_once,
    known_metrics,
    known_tokeniser,
    language_identity,
    metric_identity,
    named_identity,
)
from babelscope.util.digests import digest_file

ORDER_DISTANCES = (0, 5, 10, 15, 20)


class ChallengeSettings(Settings):
    presets: ClassVar[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
        "protocol": {
            "paper": {
                "distances": (0, 1, 2, 3),
                "order_distances": (5,),
                "max_sentences": 10_000,
                "controls": "all",
            }
        }
    }

    protocol: Literal["checked", "paper"] = "checked"
    """paper: minimum distances 0 to 3, of reordering 5, at most 10,000 sentences a set, controls drawn from all
    sentences, unless said otherwise."""
    metrics: Annotated[tuple[str, ...], Field(min_length=1)] = ("bleu", "chrf", "ribes")
    """sacreBLEU's BLEU and chrF2 (0 to 100), RIBES (0 to 1), all cased; or any other metric."""
    tokenize: str = ""
    """How words of references and translations are split: 13a, intl, zh, ja-mecab, ko-mecab, char, whitespace or
    spm:FILE; if not given, as the item's target language needs it."""
    source_tokenize: str = ""
    """How words of sources are split, for their lengths; if not given, as the item's source language needs it."""
    distances: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)] = tuple(range(7))
    """The minimum numbers of words between the two words of a dependency that make a set each."""
    order_distances: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)] = ORDER_DISTANCES
    """The same for reordering, in the unit of each measure: positions apart, words off the diagonal, links crossed;
    0 for all that was found."""
    exact: bool = False
    """Sets of exactly so many words between, too."""
    max_sentences: int | None = Field(default=None, ge=10)
    """Most sentences of each set, that of all sentences too, drawn at random (the paper: 10,000 and 1,000)."""
    verdict_from: int = Field(default=100, ge=3)
    """Sentences that a set needs for a verdict; figures of smaller ones are shown without."""
    controls: Literal["others", "all"] = "others"
    """What length-matched corpora are drawn from: sentences outside of the set, or all of them, as in the paper."""
    beam: int = Field(default=5, ge=1)
    """Beam size of the systems' translations."""
    matched_corpora: int = Field(default=100, ge=2, le=1_000_000)
    """Random corpora of equally long sentences that each set is compared with."""
    length_tolerance: int = Field(default=1, ge=0)
    """Tokens by which a sentence of such a corpus may be longer or shorter than the one it stands for."""
    length_corpora: int = Field(default=1000, ge=4, le=1_000_000)
    """Random corpora of the length check, for each size."""
    length_sizes: tuple[Annotated[int, Field(ge=1)], ...] = (1000, 100, 10)
    """Sentences in each of them."""
    target_parser: str | None = None
    """Parser of references and translations, by which each dependency is judged, too: kept, lost or undecided."""
    target_language: str | None = None
    """Language of the references, where the parser does not say it."""

    @field_validator("target_parser")
    @classmethod
    def _opens(cls, spec: str | None) -> str | None:
        if spec is not None:
            open_parser(spec)  # told before any system is asked
            longest_sentence()  # so is a missing aligner
        return spec

    _known_tokeniser = field_validator("tokenize", "source_tokenize")(known_tokeniser)

    _known_metrics = field_validator("metrics")(known_metrics)
    _once = field_validator("distances", "order_distances", "length_sizes")(given_once)

    def partition(self, seed: int) -> Partition:
        """How these settings put sentences into sets."""
        return Partition(
            self.distances, self.order_distances, exact=self.exact, cap=self.max_sentences, seed=seed
        )


def identity(settings: ChallengeSettings) -> Mapping[str, Any]:
    """What metrics, the parser and tokenisers are."""
    named = metric_identity("metrics", settings.metrics)
    if settings.target_parser is not None:
        named["target_parser"] = parser_identity(settings.target_parser)
    splits = named_identity(tokenize=settings.tokenize, source_tokenize=settings.source_tokenize)
    return {**named, **splits}


def parser_identity(spec: str) -> str:
    """What the verdicts on dependencies depend on: the model, by its digest, and the aligner."""
    kind, _, name = spec.partition(":")
    path = UDPIPE_MODELS.find(name) if name in UDPIPE_MODELS.names() else Path(name)
    told = f"{kind}:sha256:{digest_file(path)}" if kind == "udpipe" and path.is_file() else spec
    return f"{told} sil-thot:{version('sil-thot')}"


def identity_on(settings: ChallengeSettings, languages: Languages) -> Mapping[str, Any]:
    """The tokenisers that languages choose; lengths are in words, whatever the metric."""
    chosen = {
        "tokenize": language_identity(settings.tokenize, ["bleu"], [target for _, target in languages]),
        "source_tokenize": language_identity(
            settings.source_tokenize, ["bleu"], [source for source, _ in languages]
        ),
    }
    return {name: value for name, value in chosen.items() if value}
