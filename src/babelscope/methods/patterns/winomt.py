"""WinoMT by alignment and morphology, and its figures (Stanovsky et al. 2019, sections 3 and 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from babelscope.core.results import Estimate, Record, Row
from babelscope.language.align import Links
from babelscope.language.base import GENDERS, GenderRules
from babelscope.methods.patterns.morphology import open_morphology
from babelscope.stats.intervals import Array, proportion, resampled_counts
from babelscope.testsets.items import AmbiguousSource
from babelscope.util.errors import BabelscopeError

Rounding = Literal["exact", "published"]
"""published: precision, recall and F1 as percentages rounded to one decimal before they are used further."""

WITHOUT_NEUTRAL = "male and female"
_ARTICLES = ("the", "a", "an")
_STEREOTYPES = ("pro", "anti")


class Aligned(NamedTuple):
    """A translation's words, and how they are linked to the words of its source."""

    words: Sequence[str]
    links: Links


def judge(
    items: Sequence[AmbiguousSource],
    aligned: Sequence[Aligned | None],
    *,
    target: str,
    rules: GenderRules = "published",
    stereotypes: Mapping[str, str] | None = None,
) -> list[Record]:
    """A record for every item that has a translation: the gender its occupation was translated with.

    `stereotypes` by item id are used instead of those the items have.
    """
    morphology = open_morphology(target, rules)
    records = []
    for item, translated in zip(items, aligned, strict=True):
        if translated is None:
            continue
        index, occupation = item.extra.get("index"), item.extra.get("occupation")
        if not isinstance(index, int) or not isinstance(occupation, str) or item.gold not in GENDERS[:3]:
            raise BabelscopeError(
                f"item {item.id} is none of WinoMT: it needs `index`, `occupation` and the gender as `gold`"
            )
        asked = _positions(item.source, index, occupation, rules)
        linked: dict[int, list[int]] = {}
        for source, position in translated.links:
            linked.setdefault(source, []).append(position)
        found = [position for source in asked for position in linked.get(source, [])]
        predicted = morphology.gender(found, translated.words, occupation)
        own = item.extra.get("stereotype", "none")
        records.append(
            {
                "id": item.id,
                "source": item.source,
                "translation": " ".join(translated.words),
                "occupation": occupation,
                "translated_as": " ".join(translated.words[position] for position in found),
                "gold": item.gold,
                "predicted": predicted,
                "correct": predicted == item.gold,
                "stereotype": own if stereotypes is None else stereotypes.get(item.id, "none"),
            }
        )
    return records


def _positions(source: str, index: int, occupation: str, rules: GenderRules) -> list[int]:
    """Where the occupation and the article before it stand among the source's words, counted from 0."""
    tokens = source.split(" ")
    positions = [index - 1] if index and tokens[index - 1].lower() in _ARTICLES else []
    if rules == "published":
        return [*positions, index]
    # The index counts the nothing between two spaces too; words between any spaces do not.
    first = sum(bool(token) for token in tokens[:index])
    article = [first - 1] if positions else []
    return [*article, *range(first, first + len(occupation.split()))]


def stereotypes_of(
    items: Sequence[AmbiguousSource], lists: Mapping[str, Sequence[AmbiguousSource]]
) -> dict[str, str]:
    """Which items are in WinoMT's lists `pro` and `anti`; identical items are taken in order."""
    waiting: dict[tuple[str, str | None, int], list[str]] = {}
    for item in items:
        waiting.setdefault((item.source, item.gold, item.extra["index"]), []).append(item.id)
    found: dict[str, str] = {}
    for stereotype, listed in lists.items():
        for item in listed:
            same = waiting.get((item.source, item.gold, item.extra["index"]))
            if not same:
                raise BabelscopeError(f"item {item.id} of the list {stereotype!r} is not in the test set")
            found[same.pop(0)] = stereotype
    return found


def summarise(
    records: Sequence[Record],
    rng: np.random.Generator,
    *,
    rounding: Rounding = "exact",
    counts: Mapping[str, int] | None = None,
) -> list[Row]:
    """Accuracy, precision and F1 by gender, delta G, delta S, and the confusion of genders."""
    table = _table(records)
    rows = [*_accuracies(table, rounding, dict(counts or {})), *_by_gender(table, rounding)]
    rows += _derived(records, rng, rounding)
    return rows + _confusion(table)


def _table(records: Sequence[Record]) -> Array:
    """Counts by gold gender, predicted gender and stereotype."""
    table = np.zeros(_SHAPE, dtype=int)
    for record in records:
        table[_cell(record)] += 1
    return table


_KINDS = (*_STEREOTYPES, "none")
_SHAPE = (3, len(GENDERS), len(_KINDS))


def _cell(record: Record) -> tuple[int, int, int]:
    kind = record["stereotype"] if record["stereotype"] in _KINDS else "none"
    return GENDERS.index(record["gold"]), GENDERS.index(record["predicted"]), _KINDS.index(kind)


def _accuracies(table: Array, rounding: Rounding, counts: dict[str, int]) -> list[Row]:
    rows = []
    groups = {"all": slice(None), WITHOUT_NEUTRAL: slice(2)}
    groups |= {gender: slice(number, number + 1) for number, gender in enumerate(GENDERS[:3])}
    for name, golds in groups.items():
        part = table[golds].sum(axis=2)
        correct = int(table.sum(axis=2).diagonal()[golds].sum())
        total = int(part.sum())
        estimate = _proportion(correct, total, rounding)
        shown = {"correct": correct, "unknown": int(part[:, 3].sum())}
        rows.append(Row("accuracy", estimate, {"category": name}, {**shown, **counts}))
    # Section 4.2 of the conditioning paper: what a system does where it does worst.
    worst = min((row for row in rows if row.labels["category"] in ("male", "female")), key=_value)
    rows.append(Row("minimum_accuracy", worst.estimate, worst.labels, worst.counts))
    for number, stereotype in enumerate(_STEREOTYPES):
        part = table[:, :, number]
        if part.sum():
            correct = int(part.diagonal().sum())
            estimate = _proportion(correct, int(part.sum()), rounding)
            rows.append(Row("accuracy", estimate, {"stereotype": stereotype}, {"correct": correct}))
    return rows


def _by_gender(table: Array, rounding: Rounding) -> list[Row]:
    confusion = table.sum(axis=2)
    rows = []
    for number, gender in enumerate(GENDERS[:2]):
        right, predicted = int(confusion[number, number]), int(confusion[:, number].sum())
        estimate = _proportion(right, predicted, rounding)
        rows.append(Row("precision", estimate, {"category": gender}, {"correct": right}))
    return rows


def _derived(records: Sequence[Record], rng: np.random.Generator, rounding: Rounding) -> list[Row]:
    """What is no plain proportion, with bootstrap intervals over the items."""
    names = ("f1_male", "f1_female", "delta_g", "delta_s")
    estimates = resampled_counts(
        [int(np.ravel_multi_index(_cell(record), _SHAPE)) for record in records],
        int(np.prod(_SHAPE)),
        lambda counts: _figures(counts, rounding),
        rng,
    )
    told = {record["stereotype"] for record in records}
    rows = []
    for name, estimate in zip(names, estimates, strict=True):
        figure, _, gender = name.partition("_") if name.startswith("f1") else (name, "", "")
        if name != "delta_s" or told >= set(_STEREOTYPES):
            rows.append(Row(figure, estimate, {"category": gender} if gender else {}))
    return rows


def _figures(counts: Array, rounding: Rounding) -> Array:
    """F1 male, F1 female, delta G, delta S from counts of cells; the last axis of `counts` is theirs."""
    table = counts.reshape(*counts.shape[:-1], *_SHAPE)
    confusion = table.sum(axis=-1)
    f1 = []
    for number in (0, 1):
        right = confusion[..., number, number]
        recall = _share(right, confusion[..., number, :].sum(axis=-1), rounding)
        precision = _share(right, confusion[..., :, number].sum(axis=-1), rounding)
        f1.append(_share(2 * precision * recall, precision + recall, rounding))
    by_kind = [
        _share(
            np.trace(table[..., :, :3, kind], axis1=-2, axis2=-1),
            table[..., kind].sum(axis=(-1, -2)),
            rounding,
        )
        for kind in (0, 1)
    ]
    return np.stack([*f1, f1[0] - f1[1], by_kind[0] - by_kind[1]])


def _proportion(part: int, whole: int, rounding: Rounding) -> Estimate:
    exact = proportion(part, whole)
    decimals = _decimals(rounding)
    if decimals is None or not whole:
        return exact
    value = round(exact.value, decimals)
    return Estimate(value, min(value, exact.low), max(value, exact.high), whole)


def _share(part: Array, whole: Array, rounding: Rounding) -> Array:
    """A quotient, 0 where there is nothing to divide by; rounded where that is the published way."""
    quotient = np.divide(part, whole, out=np.zeros_like(part, dtype=float), where=np.asarray(whole) > 0)
    decimals = _decimals(rounding)
    rounded: Array = quotient if decimals is None else np.round(quotient, decimals)
    return rounded


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


def _decimals(rounding: Rounding) -> int | None:
    return 3 if rounding == "published" else None  # one decimal of a percentage


def _value(row: Row) -> float:
    return row.estimate.value
