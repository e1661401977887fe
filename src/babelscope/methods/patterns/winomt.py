"""WinoMT by alignment and morphology (Stanovsky et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import field_validator, model_validator

from babelscope.core.results import Estimate, PairedField, Record, Row
from babelscope.core.settings import Metavar, Rerun
from babelscope.core.system import System
from babelscope.core.tokenizers import require_spaces
from babelscope.language.align import Links, align, read_pharaoh
from babelscope.language.base import GENDERS, GenderRules
from babelscope.language.fitness import require_links
from babelscope.methods.base import Items
from babelscope.methods.measuring import grouped, mark_parts
from babelscope.methods.patterns.base import (
    WITHOUT_NEUTRAL,
    PatternMethod,
    PatternSettings,
    TranslationOrReason,
    answered_records,
    check_translations,
    label_rows,
    note_language,
    open_morphology,
    parallel_to,
)
from babelscope.stats.intervals import Array, difference, f1, odds, proportion
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

    target: Annotated[str, Metavar("LANGUAGE")]
    """The language of the translations: de, ru or uk."""
    alignments: Rerun[Path | None] = None
    """In Pharaoh format, parallel to the translations; else made here."""
    stereotypical: Rerun[Path | None] = None
    """WinoMT's list of sentences whose genders are as stereotypes have them (en_pro.txt)."""
    anti_stereotypical: Rerun[Path | None] = None
    """Its list of sentences whose genders are not (en_anti.txt)."""
    gender_rules: GenderRules = "published"
    """How gender is told. published: as WinoMT's code does, where an occupation not found is male. sound: one way of
    counting words, and an occupation not found is unknown."""
    intermediate_rounding: Rounding = "exact"
    """published: round percentages to one decimal before other figures are made of them, as the published ones were.
    exact: do not."""

    protocol: Literal["default", "paper"] = "default"
    """paper: rules and rounding as published, in one word; the published figures also need WinoMT's two lists."""

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

    @property
    def alignment(self) -> str:
        """How words were aligned."""
        return "forward" if self.alignments is None else "given"


_ARTICLES = ("the", "a", "an")
_STEREOTYPES = ("pro", "anti")
_KINDS = (*_STEREOTYPES, "none")
_DECIMALS = 3
"""One decimal of a percentage, as published."""


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
    title = "Occupations of another gender than was meant"
    accuracy = "accuracy"
    other_figures: ClassVar = {"delta_g": "delta G", "delta_s": "delta S"}
    group = "gold"

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:  # noqa: ARG002
        """One record per item: its translation, the alignment links to source words, and its stereotype."""
        for item in items:
            index, occupation = item.extra.get("index"), item.extra.get("occupation")
            if not isinstance(index, int) or not isinstance(occupation, str) or item.gold not in GENDERS[:3]:
                raise BabelscopeError(
                    f"item {item.id} is none of WinoMT: it needs `index`, `occupation` and the gender as `gold`"
                )
        listed = self._listed(items)
        answers = self.translations(systems, items)
        links = self._links(systems["system"], items, answers)

        def record(number: int, text: str) -> Record:
            item = items[number]
            own = item.extra.get("stereotype", "none")
            return {
                "source": item.source,
                "occupation": item.extra["occupation"],
                "index": item.extra["index"],
                "gold": item.gold,
                "stereotype": own if listed is None else listed.get(item.id, "none"),
                "translation": " ".join(text.split()),
                "links": [list(link) for link in links[number]],
            }

        return answered_records(answers, record)

    def _listed(self, items: Sequence[AmbiguousSource]) -> dict[str, str] | None:
        """The stereotypes by WinoMT's two lists, if these are given."""
        paths = {"pro": self.settings.stereotypical, "anti": self.settings.anti_stereotypical}
        if None in paths.values():
            return None
        lists = {name: load(f"winomt:{path}?neutral=yes") for name, path in paths.items()}
        what_for = "a list of stereotypes"
        return stereotypes_of(
            items, {name: each.items_of(AmbiguousSource, what_for=what_for) for name, each in lists.items()}
        )

    def _links(
        self, system: System, items: Sequence[AmbiguousSource], answers: Sequence[TranslationOrReason]
    ) -> Sequence[Links]:
        """Alignment links between whitespace-separated words, from a file or aligned here."""
        path = self.settings.alignments
        texts = ["" if isinstance(answer, str) else answer.text for answer in answers]
        require_spaces(texts, what="the translations")
        if path is None:
            return align(
                [(item.source.split(), text.split()) for item, text in zip(items, texts, strict=True)]
            )
        given, numbers = self.parallel_lines(system, items, answers)
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
        check_translations(records, target, "the morphology")
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
        """Accuracy, precision and F1 by gender, delta G, delta S, and the confusion matrix of genders.

        All are made of counts [gold gender, predicted gender, stereotype].
        """
        rounding = self.settings.intermediate_rounding
        table = np.zeros((3, len(GENDERS), len(_KINDS)), dtype=int)
        for record in records:
            kind = record["stereotype"] if record["stereotype"] in _KINDS else "none"
            table[GENDERS.index(record["gold"]), GENDERS.index(record["predicted"]), _KINDS.index(kind)] += 1
        both = {record["stereotype"] for record in records} >= set(_STEREOTYPES)
        rows = [*_accuracies(table, rounding), *_precision_f1_and_deltas(table, rounding, deltas=both)]
        rows += [*_ratios(table), *_confusion(table)]
        labels = {
            "target": self.settings.target,
            "alignment": self.settings.alignment,
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


def stereotypes_of(
    items: Sequence[AmbiguousSource], lists: Mapping[str, Sequence[AmbiguousSource]]
) -> dict[str, str]:
    """Item id -> `pro` or `anti`, from WinoMT's two lists; duplicate items are matched in order.

    The lists differ from the test set's column in two sentences; the published delta S uses the lists.
    """
    waiting = grouped(((item.source, item.gold, item.extra["index"]), item.id) for item in items)
    found: dict[str, str] = {}
    for stereotype, listed in lists.items():
        for item in listed:
            same = waiting.get((item.source, item.gold, item.extra["index"]))
            if not same:
                raise BabelscopeError(f"item {item.id} of the list {stereotype!r} is not in the test set")
            found[same.pop(0)] = stereotype
    return found


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


def _accuracies(table: Array, rounding: Rounding) -> list[Row]:
    rows = []
    confusion = table.sum(axis=2)
    groups = {"all": slice(None), WITHOUT_NEUTRAL: slice(2)}
    groups |= {gender: slice(number, number + 1) for number, gender in enumerate(GENDERS[:3])}
    for name, golds in groups.items():
        correct = int(confusion.diagonal()[golds].sum())
        estimate = _proportion(correct, int(confusion[golds].sum()), rounding)
        counts = {"correct": correct, "unknown": int(confusion[golds, 3].sum())}
        rows.append(Row("accuracy", estimate, {"category": name}, counts))
    # The lower accuracy of the two genders (section 4.2 of the conditioning paper).
    genders = [row for row in rows if row.labels["category"] in ("male", "female")]
    worst = min(genders, key=lambda row: row.estimate.value)
    rows.append(replace(worst, name="minimum_accuracy"))
    for number, stereotype in enumerate(_STEREOTYPES):
        part = table[:, :, number]
        if part.sum():
            correct = int(part.trace())
            estimate = _proportion(correct, int(part.sum()), rounding)
            rows.append(Row("accuracy", estimate, {"stereotype": stereotype}, {"correct": correct}))
    return rows


def _precision_f1_and_deltas(table: Array, rounding: Rounding, *, deltas: bool) -> Iterator[Row]:
    """Precision and F1 by gender, and the differences between genders and, if `deltas`, between stereotypes."""
    confusion, n = table.sum(axis=2), int(table.sum())
    scores = []
    for number in (0, 1):
        right, gold = int(confusion[number, number]), int(confusion[number].sum())
        predicted = int(confusion[:, number].sum())
        own = {"category": GENDERS[number]}
        yield Row("precision", _proportion(right, predicted, rounding), own, {"correct": right})
        recall, precision = (_share(right, whole, rounding) for whole in (gold, predicted))
        value = _share(2 * precision * recall, precision + recall, rounding)
        scores.append((f1(right, gold + predicted - 2 * right, n=n), value))
    for number, score in enumerate(scores):
        yield Row("f1", _rounded(*score), {"category": GENDERS[number]})
    (male, male_value), (female, female_value) = scores
    yield Row("delta_g", _rounded(difference(male, female, n), male_value - female_value))
    if deltas:
        pro, anti = ((int(table[..., kind].trace()), int(table[..., kind].sum())) for kind in (0, 1))
        apart = _share(*pro, rounding) - _share(*anti, rounding)
        yield Row("delta_s", _rounded(difference(proportion(*pro), proportion(*anti), n), apart))


def _proportion(part: int, whole: int, rounding: Rounding) -> Estimate:
    exact = proportion(part, whole)
    if rounding == "exact" or not whole:
        return exact
    return _rounded(exact, round(exact.value, _DECIMALS))


def _rounded(exact: Estimate, value: float) -> Estimate:
    """The estimate with the value as published; its interval may not deny it."""
    if not exact.n:
        return exact
    return Estimate(value, min(value, exact.low), max(value, exact.high), exact.n)


def _share(part: float, whole: float, rounding: Rounding) -> float:
    """part / whole, 0 where whole is 0; rounded if the published way of rounding is chosen."""
    quotient = part / whole if whole > 0 else 0.0
    return quotient if rounding == "exact" else float(np.round(quotient, _DECIMALS))


def _ratios(table: Array) -> Iterator[Row]:
    """M:F, male for each female translation (Saunders and Byrne 2020)."""
    for name, golds in (("all", slice(None)), (WITHOUT_NEUTRAL, slice(2))):
        male, female = (int(table[golds, number].sum()) for number in (0, 1))
        counts = {"male": male, "female": female}
        yield Row("male_to_female", odds(proportion(male, male + female)), {"category": name}, counts)


def _confusion(table: Array) -> list[Row]:
    confusion = table.sum(axis=2)
    return [
        Row(
            "confusion",
            proportion(int(confusion[gold, predicted]), int(confusion[gold].sum())),
            {"gold": GENDERS[gold], "predicted": GENDERS[predicted]},
            {"count": int(confusion[gold, predicted])},
        )
        for gold in range(3)
        for predicted in range(len(GENDERS))
    ]
