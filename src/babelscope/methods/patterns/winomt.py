"""WinoMT by alignment and morphology (Stanovsky et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import field_validator, model_validator

from babelscope.core.results import Estimate, PairedField, Record, Row, grouped
from babelscope.core.settings import Metavar, Option, Rerun
from babelscope.core.system import System
from babelscope.core.tokenizers import require_spaces
from babelscope.language.align import Links, align, read_pharaoh
from babelscope.language.base import GENDERS, GenderRules, Morphology
from babelscope.language.fitness import require_links
from babelscope.language.registry import LANGUAGES
from babelscope.methods.measuring import mark_parts
from babelscope.methods.patterns.base import (
    WITHOUT_NEUTRAL,
    PatternMethod,
    PatternSettings,
    label_rows,
    match_in_order,
    note_language,
    parallel_to,
    require_target,
)
from babelscope.stats.intervals import difference, f1, odds, proportion
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.loading import load
from babelscope.util.errors import BabelscopeError

Rounding = Literal["exact", "published"]


class WinomtSettings(PatternSettings):
    """The language, and how translations are aligned, judged and counted."""

    presets: ClassVar[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
        "protocol": {"paper": {"gender_rules": "published", "intermediate_rounding": "published"}}
    }

    answer_files: ClassVar[tuple[str, ...]] = ("alignments",)

    target: Option[Annotated[str, Metavar("LANGUAGE")]]
    """Language of the translations: ar, cs, de, es, fr, he, it, nl, pl, pt, ru or uk."""
    alignments: Rerun[Path | None] = None
    """Word alignments in Pharaoh format, line-parallel. [default: computed]"""
    stereotypical: Rerun[Path | None] = None
    """WinoMT's list of sentences with stereotypical genders (en_pro.txt)."""
    anti_stereotypical: Rerun[Path | None] = None
    """WinoMT's list of sentences with anti-stereotypical genders (en_anti.txt)."""
    gender_rules: GenderRules = "published"
    """Gender rules. published: like WinoMT's code, which counts an occupation not found as male. sound: consistent
    word counting, and an occupation not found is unknown."""
    intermediate_rounding: Rounding = "exact"
    """published: round percentages to one decimal before computing differences, like the published figures. exact:
    do not."""

    protocol: Option[Literal["default", "paper"]] = "default"
    """paper: published rules and rounding; the published figures also need WinoMT's two lists."""

    @field_validator("target")
    @classmethod
    def _is_known(cls, target: str) -> str:
        open_morphology(target)  # an unknown one is refused before any system is asked
        return target

    @model_validator(mode="after")
    def _has_both_lists(self) -> Self:
        if (self.stereotypical is None) != (self.anti_stereotypical is None):
            raise ValueError("stereotypical and anti_stereotypical go together")
        return self


_ARTICLES = ("the", "a", "an")
_DECIMALS = 3
"""One decimal of a percentage, as published."""


def open_morphology(target: str, rules: GenderRules = "published") -> Morphology:
    """The gender analysis of a target language, as in WinoMT (Stanovsky et al. 2019, section 3)."""
    known = {code: each.morphology for code, each in LANGUAGES.all().items() if each.morphology}
    if target not in known:
        raise BabelscopeError(f"there is no WinoMT morphology for {target!r}; known: {', '.join(known)}")
    return known[target](rules)


class Winomt(PatternMethod):
    """Gender of occupations, by word alignment and morphology

    Does the translated occupation have the gender that the source means?

    The word aligned with the occupation is looked up: its article, its ending or its analysis shows a gender. Error
    rates are 1 - accuracy. Delta G is the F1 of male minus that of female occupations, delta S the accuracy of
    stereotypical minus that of other genders: 0 if neither is preferred.
    """

    name = "patterns_winomt"
    Settings = WinomtSettings
    settings: WinomtSettings
    title = "Wrong gender"
    accuracy = "accuracy"
    other_figures: ClassVar = ("delta_g", "delta_s")
    names: ClassVar = {
        "delta_g": "F1 of male minus female (delta G)",
        "delta_s": "accuracy of stereotypical minus other genders (delta S)",
        "male_to_female": "male per female",
        "f1": "F1",
        "confusion": "share translated as",
    }
    group = "gold"

    def check(self, items: Sequence[Any], systems: Mapping[str, Any] | None = None) -> None:
        super().check(items, systems)
        for item in items:
            index, occupation = item.extra.get("index"), item.extra.get("occupation")
            if not isinstance(index, int) or not isinstance(occupation, str) or item.gold not in GENDERS[:3]:
                raise BabelscopeError(
                    f"item {item.id} is none of WinoMT: it needs `index`, `occupation` and the gender "
                    f"as `gold`"
                )

    def fields(
        self, system: System, items: Sequence[AmbiguousSource], texts: Sequence[str | None]
    ) -> list[Record]:
        """Occupation, gender and stereotype, and the alignment links from source words."""
        stereotypes = self._stereotypes(items)
        return [
            {
                "occupation": item.extra["occupation"],
                "index": item.extra["index"],
                "gold": item.gold,
                "stereotype": stereotypes.get(item.id, "none"),
                "translation": " ".join((text or "").split()),
                "links": [list(link) for link in links],
            }
            for item, text, links in zip(items, texts, self._links(system, items, texts), strict=True)
        ]

    def _stereotypes(self, items: Sequence[AmbiguousSource]) -> dict[str, str]:
        """Item id -> `pro` or `anti`, by WinoMT's two lists if these are given.

        The lists differ from the test set's column in two sentences; the published delta S uses the lists.
        """
        paths = {"pro": self.settings.stereotypical, "anti": self.settings.anti_stereotypical}
        if None in paths.values():
            return {item.id: item.extra.get("stereotype", "none") for item in items}
        listed = []
        for stereotype, path in paths.items():
            tests = load(f"winomt:{path}?neutral=yes")
            for item in tests.items_of(AmbiguousSource, what_for="a list of stereotypes"):
                error = f"item {item.id} of the list {stereotype!r} is not in the test set"
                listed.append(((item.source, item.gold, item.extra["index"]), stereotype, error))
        return match_in_order(
            [((item.source, item.gold, item.extra["index"]), item.id) for item in items], listed
        )

    def _links(
        self, system: System, items: Sequence[AmbiguousSource], texts: Sequence[str | None]
    ) -> Sequence[Links]:
        """Alignment links between whitespace-separated words, from a file or aligned here."""
        path = self.settings.alignments
        require_spaces([text or "" for text in texts], what="the translations")
        if path is None:
            return align(
                [(item.source.split(), (text or "").split()) for item, text in zip(items, texts, strict=True)]
            )
        given, numbers = self.parallel_lines(system, items, texts)
        # Lines without a source are parallel to the items.
        sources = [items[n].source if each.source is None else each.source for n, each in enumerate(given)]
        lengths = [
            (len(source.split()), len(each.translation.split()))
            for source, each in zip(sources, given, strict=True)
        ]
        stored = read_pharaoh(path, lengths, parallel_to=parallel_to(system))
        return [stored[number] for number in numbers]

    def judge(self, records: Sequence[Record]) -> list[Record]:
        """The records with the words aligned to the occupation, and the gender that these show."""
        target, rules = self.settings.target, self.settings.gender_rules
        require_target(records, target, "the morphology")
        morphology = open_morphology(target, rules)
        judged = []
        for record in records:
            words, occupation = record["translation"].split(), record["occupation"]
            linked = grouped((source, position) for source, position in record["links"])
            positions = _positions(record["source"], record["index"], occupation, rules)
            found = [position for source in positions for position in linked.get(source, [])]
            predicted = morphology.gender(found, words, occupation)
            judged.append(
                {
                    **note_language(record, target),
                    "translated_as": " ".join(words[position] for position in found),
                    "predicted": predicted,
                    "correct": predicted == record["gold"],
                }
            )
        require_links([bool(record["translated_as"]) for record in judged], [1] * len(judged))
        return judged

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:  # noqa: ARG002
        """Accuracy, precision and F1 by gender, delta G, delta S, M:F, and the confusion matrix of genders."""
        rounding = self.settings.intermediate_rounding
        rows = [*_accuracies(records, rounding), *_precision_f1_and_deltas(records, rounding)]
        gendered = [record for record in records if record["gold"] != "neutral"]
        for name, own in (("all", records), (WITHOUT_NEUTRAL, gendered)):
            # M:F, male for each female translation (Saunders and Byrne 2020).
            counts = {gender: _count(own, predicted=gender) for gender in ("male", "female")}
            ratio = odds(proportion(counts["male"], sum(counts.values())))
            rows.append(Row("male_to_female", ratio, {"category": name}, counts))
        for gold in GENDERS[:3]:
            for predicted in GENDERS:
                count = _count(records, gold=gold, predicted=predicted)
                share = proportion(count, _count(records, gold=gold))
                cell = {"gold": gold, "predicted": predicted}
                rows.append(Row("confusion", share, cell, {"count": count}))
        labels = {
            "target": self.settings.target,
            "alignment": "forward" if self.settings.alignments is None else "given",
            "rules": self.settings.gender_rules,
            "rounding": rounding,
        }
        return mark_parts(label_rows(rows, labels, records), "category", "stereotype", "gold")

    def paired(self) -> list[PairedField]:
        return [
            PairedField("correct", of="accuracy,category=all"),
            PairedField("correct", of="accuracy,category={gold}", by=("gold",)),
        ]

    def question(self, record: Record) -> Record:
        """Which gender, where the source shows one."""
        if record["gold"] not in ("male", "female"):
            return {}
        return {"task": "winomt", "occupation": record["occupation"], "gold": record["gold"]}


def _positions(source: str, index: int, occupation: str, rules: GenderRules) -> list[int]:
    """Indices of the occupation and the article before it among the source's words, from 0."""
    tokens = source.split(" ")
    positions = [index - 1] if index and tokens[index - 1].lower() in _ARTICLES else []
    if rules == "published":
        return [*positions, index]
    # The index counts empty strings between two spaces; `split()` without argument does not have them.
    first = sum(bool(token) for token in tokens[:index])
    article = [first - 1] if positions else []
    return [*article, *range(first, first + len(occupation.split()))]


def _count(records: Sequence[Record], **fields: object) -> int:
    return sum(fields.items() <= record.items() for record in records)


def _accuracies(records: Sequence[Record], rounding: Rounding) -> list[Row]:
    """Over all, by gender (with the lower one of two), and by stereotype."""
    groups: dict[str, Sequence[Record]] = {
        "all": records,
        WITHOUT_NEUTRAL: [record for record in records if record["gold"] != "neutral"],
    }
    groups |= {gender: [record for record in records if record["gold"] == gender] for gender in GENDERS[:3]}
    rows = []
    for name, own in groups.items():
        counts = {"correct": _count(own, correct=True), "unknown": _count(own, predicted="unknown")}
        accuracy = _proportion(counts["correct"], len(own), rounding)
        rows.append(Row("accuracy", accuracy, {"category": name}, counts))
    # The lower accuracy of the two genders (section 4.2 of the conditioning paper).
    worst = min(rows[2:4], key=lambda row: row.estimate.value)
    rows.append(replace(worst, name="minimum_accuracy"))
    for stereotype in ("pro", "anti"):
        if n := _count(records, stereotype=stereotype):
            correct = _count(records, stereotype=stereotype, correct=True)
            accuracy = _proportion(correct, n, rounding)
            rows.append(Row("accuracy", accuracy, {"stereotype": stereotype}, {"correct": correct}))
    return rows


def _precision_f1_and_deltas(records: Sequence[Record], rounding: Rounding) -> Iterator[Row]:
    """Precision and F1 by gender, and the differences between genders and, if both occur, between stereotypes."""
    n = len(records)
    scores = []
    for gender in GENDERS[:2]:
        gold, predicted = _count(records, gold=gender), _count(records, predicted=gender)
        right = _count(records, gold=gender, predicted=gender)
        yield Row(
            "precision", _proportion(right, predicted, rounding), {"category": gender}, {"correct": right}
        )
        recall, precision = (_share(right, whole, rounding) for whole in (gold, predicted))
        value = _share(2 * precision * recall, precision + recall, rounding)
        scores.append((f1(right, gold + predicted - 2 * right, n=n), value))
    for gender, score in zip(GENDERS, scores, strict=False):
        yield Row("f1", _with_value(*score), {"category": gender})
    (male, male_value), (female, female_value) = scores
    yield Row("delta_g", _with_value(difference(male, female, n), male_value - female_value))
    pro, anti = (
        (_count(records, stereotype=each, correct=True), _count(records, stereotype=each))
        for each in ("pro", "anti")
    )
    if pro[1] and anti[1]:
        apart = _share(*pro, rounding) - _share(*anti, rounding)
        yield Row("delta_s", _with_value(difference(proportion(*pro), proportion(*anti), n), apart))


def _proportion(part: int, whole: int, rounding: Rounding) -> Estimate:
    exact = proportion(part, whole)
    return exact if rounding == "exact" else _with_value(exact, round(exact.value, _DECIMALS))


def _with_value(exact: Estimate, value: float) -> Estimate:
    """The estimate with the value as published; its interval may not deny it."""
    if not exact.n:
        return exact
    return Estimate(value, min(value, exact.low), max(value, exact.high), exact.n)


def _share(part: float, whole: float, rounding: Rounding) -> float:
    """part / whole, 0 where whole is 0; rounded if the published way of rounding is chosen."""
    quotient = part / whole if whole > 0 else 0.0
    return quotient if rounding == "exact" else float(np.round(quotient, _DECIMALS))
