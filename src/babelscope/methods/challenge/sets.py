"""Sets of a challenge set: sentences by phenomenon and by the distance of its dependencies; and the settings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from babelscope.core.results import Record, Row, grouped
from babelscope.core.settings import ErrorSettings, Languages, Metavar, Option, Rerun
from babelscope.language.align import longest_sentence
from babelscope.language.parsers import open_parser, parser_digest
from babelscope.language.ud_rules import RULES, shipped_rules
from babelscope.making.challenge.reordering import LABELS, UNITS
from babelscope.methods.measuring import (
    given_once,
    known_metrics,
    known_tokenizer,
    language_identity,
    metric_identity,
    named_identity,
)
from babelscope.stats.intervals import Array, clustered_proportion
from babelscope.util.digests import digest_file, digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import json_number, open_to_read, plain_words, shorten

Side = Literal["source", "target"]
Labels = dict[str, str | int]
ALL = "all"
WORDS_BETWEEN = "words between"


def unit_of(phenomenon: str) -> str:
    """What the distance of a phenomenon counts: words between two words, unless it is a measure of reordering."""
    return UNITS.get(phenomenon, WORDS_BETWEEN)


@dataclass(frozen=True, slots=True)
class Instance:
    """A long-distance dependency in a sentence; `distance` is in the unit of its phenomenon (`unit_of`)."""

    phenomenon: str
    side: Side
    distance: float


def read_instances(fields: Mapping[str, Any], where: str) -> list[Instance]:
    """The checked dependencies in `fields["dependencies"]` of an item or record; errors begin with `where`."""
    found = fields.get("dependencies")
    if not isinstance(found, list):
        reason = "no field" if found is None else "no list in its field"
        raise BabelscopeError(
            f"{where} has {reason} 'dependencies'; a challenge set is made by `babelscope make challenge`"
        )
    return [_read_instance(each, f"{where}: dependency {number}") for number, each in enumerate(found, 1)]


def _read_instance(each: object, where: str) -> Instance:
    if not isinstance(each, dict):
        raise BabelscopeError(f"{where} is not an object")
    phenomenon, side, distance = each.get("phenomenon"), each.get("side", "source"), each.get("distance")
    if not isinstance(phenomenon, str) or not phenomenon.strip() or phenomenon == ALL:
        raise BabelscopeError(f"{where}: field 'phenomenon' must name one, and {ALL!r} is taken")
    if side not in ("source", "target"):
        raise BabelscopeError(f"{where}: field 'side' must be source or target, not {shorten(str(side))}")
    number = json_number(distance)
    if number is None or not 0 <= number < math.inf:
        raise BabelscopeError(f"{where}: field 'distance' must be a number, 0 or more, not {distance!r}")
    return Instance(phenomenon, side, each["distance"])


class SetName(NamedTuple):
    """What tells a set of sentences from others: a phenomenon on one side at some distance, or all sentences."""

    phenomenon: str
    side: str = "source"
    min_distance: int | None = None
    """At least this, in the unit of the phenomenon."""
    distance: int | None = None
    """Exactly this."""

    @classmethod
    def of(cls, row: Row) -> SetName:
        """The set that a row is over."""
        return cls(*(row.labels.get(name, cls._field_defaults.get(name)) for name in cls._fields))  # type: ignore[arg-type]

    @property
    def labels(self) -> Labels:
        """Labels of its rows."""
        if self.phenomenon == ALL:
            return {"phenomenon": ALL}
        known = {name: value for name, value in self._asdict().items() if value is not None}
        return {**known, "unit": unit_of(self.phenomenon)}

    @property
    def kind(self) -> SetName:
        """The phenomenon at any distance."""
        return SetName(self.phenomenon, self.side)

    @property
    def words(self) -> str:
        """The phenomenon, with its side where that is the target."""
        return self.phenomenon if self.side == "source" else f"{self.phenomenon} ({self.side})"

    @property
    def label(self) -> str:
        """The phenomenon in words that a stranger understands."""
        if self.phenomenon == ALL:
            return "all sentences"
        known = {**LABELS, **{rule.name: rule.label for rule in (*reversed(shipped_rules()), *RULES)}}
        return self._replace(phenomenon=known.get(self.phenomenon) or plain_words(self.phenomenon)).words

    @property
    def group(self) -> str:
        """The name of its group of items on the page."""
        far = f", {self.min_distance} or more {unit_of(self.phenomenon)}" if self.min_distance else ""
        return self.words + far

    @property
    def distances(self) -> str:
        """Its distances."""
        if self.phenomenon == ALL:
            return ""
        number = str(self.distance) if self.min_distance is None else f"≥ {self.min_distance}"
        return f"{number} {unit_of(self.phenomenon)}"


@dataclass(frozen=True, slots=True)
class Subset:
    """The sentences of a set."""

    name: SetName
    members: Array
    """Numbers of its sentences, counted from 0; no more than the cap."""
    having: Array
    """The same without a cap: all sentences that have the phenomenon at this distance."""
    instances: int = 0
    """Of its members."""


def sets_of_records(
    records: Sequence[Record], settings: ChallengeSettings, seed: int
) -> tuple[list[Subset], list[list[Instance]]]:
    """All sets of some records, and the instances of each record."""
    found = [read_instances(record.get("extra", {}), f"item {record['id']}") for record in records]
    if settings.max_sentences is None or len(records) <= settings.max_sentences:
        return make_sets(found, settings), found
    # By their ids, so that all systems have the same sentences whatever else they left unanswered.
    ranks = np.argsort(np.argsort([digest_json([seed, str(record["id"])]) for record in records]))
    return make_sets(found, settings, ranks), found


def make_sets(
    found: Sequence[Sequence[Instance]], settings: ChallengeSettings, ranks: Array | None = None
) -> list[Subset]:
    """All sentences, then each phenomenon and side at each minimum and, if wanted, each exact distance.

    Empty sets are left out. Of a set above the cap, the sentences of the lowest ranks are taken, so that nested
    sets share as many sentences as they can.
    """
    whole = np.arange(len(found))
    holders = [number for number, own in enumerate(found) for _ in own]
    sets = [_capped(SetName(ALL), whole, holders, settings.max_sentences, ranks)]
    for (phenomenon, side), own in distances_by_phenomenon(found).items():
        ordered = phenomenon in UNITS
        least = sorted(settings.order_distances if ordered else settings.distances)
        if ordered and least[0] == 0 and len(least) > 1 and all(d >= least[1] for _, d in own):
            least = least[1:]  # the next minimum distance says more of the same sentences
        names = [SetName(phenomenon, side, min_distance=d) for d in least]
        if settings.exact and not ordered:
            names += [SetName(phenomenon, side, distance=d) for d in least]
        for name in names:
            if name.distance is None:
                holders = [number for number, d in own if d >= (name.min_distance or 0)]
            else:
                holders = [number for number, d in own if d == name.distance]
            if holders:
                having = np.unique(np.array(holders, dtype=np.int64))
                sets.append(_capped(name, having, holders, settings.max_sentences, ranks))
    return sets


def _capped(
    name: SetName, having: Array, holders: Iterable[int], cap: int | None, ranks: Array | None
) -> Subset:
    """A set with no more sentences than the cap; `holders` has the sentence of each instance."""
    members = having
    if ranks is not None and cap is not None and len(members) > cap:
        members = np.sort(members[np.argsort(ranks[members])[:cap]])
    inside = set(members.tolist())
    return Subset(name, members, having, sum(number in inside for number in holders))


def distances_by_phenomenon(
    found: Iterable[Iterable[Instance]],
) -> dict[tuple[str, Side], list[tuple[int, float]]]:
    """(phenomenon, side), sorted -> sentence number and distance of every instance."""
    keyed = (
        ((each.phenomenon, each.side), (number, each.distance))
        for number, own in enumerate(found)
        for each in own
    )
    return dict(sorted(grouped(keyed).items()))


def share_row(
    name: str, labels: Labels, judged: Sequence[tuple[bool, str]], counts: Mapping[str, int]
) -> Row:
    """The share of dependencies of which something is true, from (whether it is, source)."""
    values, clusters = [float(yes) for yes, _ in judged], [source for _, source in judged]
    return Row(name, clustered_proportion(values, clusters), labels, counts)


# --- What can be chosen about challenge sets -----------------------------------------------------------------------

ORDER_DISTANCES = (0, 5, 10, 15, 20)


_Distances = tuple[Annotated[int, Field(ge=0)], ...]


class ChallengeSettings(ErrorSettings):
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

    protocol: Option[Literal["checked", "paper"]] = "checked"
    """paper: minimum distances 0 to 3, of reordering 5, at most 10,000 sentences per set, controls drawn from all
    sentences; explicit settings override it."""
    metrics: Option[Annotated[tuple[str, ...], Field(min_length=1), Metavar("METRIC")]] = (
        "bleu",
        "chrf",
        "ribes",
    )
    """sacreBLEU's bleu and chrf (0 to 100), ribes (0 to 1), all cased; or any other metric."""
    tokenize: Option[Annotated[str, Metavar("TOKENIZER")]] = ""
    """Tokenizer of references and translations: 13a, intl, zh, ja-mecab, ko-mecab, char, whitespace or spm:FILE.
    [default: by target language]"""
    source_tokenize: Annotated[str, Metavar("TOKENIZER")] = ""
    """Tokenizer of sources, for their lengths. [default: by source language]"""
    distances: Option[Annotated[_Distances, Field(min_length=1), Metavar("N")]] = tuple(range(7))
    """A set: sentences with at least N words between the two words of a dependency."""
    order_distances: Annotated[_Distances, Field(min_length=1), Metavar("N")] = ORDER_DISTANCES
    """The same for reordering, in the unit of each measure: positions apart, words off the diagonal, links crossed;
    0: all."""
    exact: bool = False
    """Also make sets of exactly this many words between."""
    max_sentences: int | None = Field(default=None, ge=10)
    """Maximum number of sentences per set, sampled at random (the paper: 10,000 and 1,000)."""
    min_sentences: Option[int] = Field(default=100, ge=3)
    """Minimum number of sentences of a set for a verdict."""
    controls: Literal["others", "all"] = "others"
    """Draw length-matched corpora from sentences outside the set, or from all, as in the paper."""
    beam: Rerun[int] = Field(default=5, ge=1)
    """Beam size of the systems' translations."""
    matched_corpora: int = Field(default=100, ge=2, le=1_000_000)
    """Number of random length-matched corpora that each set is compared with."""
    length_tolerance: int = Field(default=1, ge=0)
    """Maximum difference in tokens between matched sentences."""
    length_corpora: int = Field(default=1000, ge=4, le=1_000_000)
    """Random corpora per size in the length check."""
    length_sizes: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Metavar("N")] = (1000, 100, 10)
    """Sentences per corpus of the length check."""
    target_parser: Option[Annotated[str | None, Metavar("PARSER")]] = None
    """Also judge each dependency (kept, lost or undecided) by parses of references and translations: udpipe:MODEL or
    stanza:LANGUAGE."""
    target_language: Annotated[str | None, Metavar("CODE")] = None
    """Language of the references, if the parser's name does not show it."""
    queue_distances: Annotated[_Distances, Metavar("N")] = ()
    """Queue for annotators only dependencies with exactly N words between; each distance is a group."""
    answers: tuple[Path, ...] = ()
    """An answered queue, to report how many translations are right and how far verdicts agree."""

    @field_validator("answers")
    @classmethod
    def _are_answers(cls, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        for path in paths:
            with open_to_read(path):
                pass  # a missing file is reported before any system is asked
        return paths

    @model_validator(mode="after")
    def _parser_has_the_language(self) -> Self:
        if self.target_language is not None and self.target_parser is None:
            raise ValueError("target_language has no effect without target_parser")
        return self

    @field_validator("target_parser")
    @classmethod
    def _opens(cls, spec: str | None) -> str | None:
        if spec is not None:
            open_parser(spec)  # told before any system is asked
            longest_sentence()  # so is a missing aligner
        return spec

    _known_tokenizer = field_validator("tokenize", "source_tokenize")(known_tokenizer)

    _known_metrics = field_validator("metrics")(known_metrics)
    _once = field_validator("distances", "order_distances", "length_sizes")(given_once)

    @property
    def is_whole(self) -> bool:
        """Translations are aligned where each dependency is judged."""
        return self.target_parser is not None

    def identity(self) -> Mapping[str, Any]:
        """What metrics, the parser and tokenizers are."""
        named = metric_identity("metrics", self.metrics)
        if self.target_parser is not None:
            named["target_parser"] = parser_identity(self.target_parser)
        if self.answers:
            named["answers"] = [digest_file(path) for path in self.answers if path.is_file()]
        splits = named_identity(tokenize=self.tokenize, source_tokenize=self.source_tokenize)
        return {**named, **splits}

    def identity_on(self, languages: Languages) -> Mapping[str, Any]:
        """The tokenizers that languages choose; lengths are in words, whatever the metric."""
        chosen = {
            "tokenize": language_identity(self.tokenize, ["bleu"], [target for _, target in languages]),
            "source_tokenize": language_identity(
                self.source_tokenize, ["bleu"], [source for source, _ in languages]
            ),
        }
        return {name: value for name, value in chosen.items() if value}


def parser_identity(spec: str) -> str:
    """What the verdicts on dependencies depend on: the model, by its digest, and the aligner."""
    return f"{parser_digest(spec)} sil-thot:{version('sil-thot')}"
