"""WinoMT's rows: accuracy, precision, F1, delta G and delta S (Stanovsky et al. 2019, section 4)."""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np

from babelscope.core.results import Estimate, Record, Row
from babelscope.language.base import GENDERS
from babelscope.methods.patterns.morphology import count_other_languages
from babelscope.methods.patterns.winomt.settings import Rounding, WinomtSettings
from babelscope.stats.intervals import Array, difference, f1, odds, proportion

WITHOUT_NEUTRAL = "male and female"
_STEREOTYPES = ("pro", "anti")


def summarise(records: Sequence[Record], settings: WinomtSettings, _seed: int) -> list[Row]:
    """Accuracy, precision and F1 by gender, delta G, delta S, and the confusion matrix of genders."""
    table, rounding = _count_table(records), settings.intermediate_rounding
    rows = [*_accuracies(table, rounding), *_by_gender(table, rounding)]
    rows += _bootstrapped_rows(table, {record["stereotype"] for record in records}, rounding)
    rows += [*_ratios(table), *_confusion(table)]
    own = {
        "target": settings.target,
        "alignment": settings.alignment,
        "rules": settings.gender_rules,
        "rounding": settings.intermediate_rounding,
    }
    labelled = [Row(row.name, row.estimate, {**own, **row.labels}, row.counts) for row in rows]
    return count_other_languages(labelled, records)


def _count_table(records: Sequence[Record]) -> Array:
    """Counts [gold gender, predicted gender, stereotype]."""
    table = np.zeros(_SHAPE, dtype=int)
    for record in records:
        table[_cell(record)] += 1
    return table


_KINDS = (*_STEREOTYPES, "none")
_SHAPE = (3, len(GENDERS), len(_KINDS))


def _cell(record: Record) -> tuple[int, int, int]:
    kind = record["stereotype"] if record["stereotype"] in _KINDS else "none"
    return GENDERS.index(record["gold"]), GENDERS.index(record["predicted"]), _KINDS.index(kind)


def _accuracies(table: Array, rounding: Rounding) -> list[Row]:
    rows = []
    groups = {"all": slice(None), WITHOUT_NEUTRAL: slice(2)}
    groups |= {gender: slice(number, number + 1) for number, gender in enumerate(GENDERS[:3])}
    for name, golds in groups.items():
        part = table[golds].sum(axis=2)
        correct = int(table.sum(axis=2).diagonal()[golds].sum())
        total = int(part.sum())
        estimate = _proportion(correct, total, rounding)
        shown = {"correct": correct, "unknown": int(part[:, 3].sum())}
        rows.append(Row("accuracy", estimate, {"category": name}, shown))
    # The lower accuracy of the two genders (section 4.2 of the conditioning paper).
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


def _bootstrapped_rows(table: Array, stereotypes: Set[str], rounding: Rounding) -> list[Row]:
    """What is no plain proportion: F1 by gender, and the differences between genders and between stereotypes."""
    confusion, n = table.sum(axis=2), int(table.sum())
    own = []
    for number in (0, 1):
        right = int(confusion[number, number])
        own.append(f1(right, int(confusion[number].sum() + confusion[:, number].sum()) - 2 * right, n=n))
    kinds = [proportion(int(table[..., kind].trace()), int(table[..., kind].sum())) for kind in (0, 1)]
    exact = [*own, difference(own[0], own[1], n), difference(kinds[0], kinds[1], n)]
    rows = []
    for name, estimate, value in zip(
        ("f1_male", "f1_female", "delta_g", "delta_s"), exact, _f1_and_deltas(table, rounding), strict=True
    ):
        figure, _, gender = name.partition("_") if name.startswith("f1") else (name, "", "")
        if name != "delta_s" or stereotypes >= set(_STEREOTYPES):
            rows.append(Row(figure, _rounded(estimate, float(value)), {"category": gender} if gender else {}))
    return rows


def _f1_and_deltas(table: Array, rounding: Rounding) -> Array:
    """F1 male, F1 female, delta G, delta S from counts by gold gender, predicted gender and stereotype."""
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
    return _rounded(exact, round(exact.value, decimals))


def _rounded(exact: Estimate, value: float) -> Estimate:
    """The estimate with the value as published; its interval may not deny it."""
    if not exact.n:
        return exact
    return Estimate(value, min(value, exact.low), max(value, exact.high), exact.n)


def _share(part: Array, whole: Array, rounding: Rounding) -> Array:
    """part / whole, 0 where whole is 0; rounded if the published way of rounding is chosen."""
    quotient = np.divide(part, whole, out=np.zeros_like(part, dtype=float), where=np.asarray(whole) > 0)
    decimals = _decimals(rounding)
    rounded: Array = quotient if decimals is None else np.round(quotient, decimals)
    return rounded


def _ratios(table: Array) -> list[Row]:
    """M:F, male for each female translation (Saunders and Byrne 2020)."""
    rows = []
    for name, golds in (("all", slice(None)), (WITHOUT_NEUTRAL, slice(2))):
        male, female = (int(table[golds, number].sum()) for number in (0, 1))
        counts = {"male": male, "female": female}
        rows.append(Row("male_to_female", odds(proportion(male, male + female)), {"category": name}, counts))
    return rows


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
    return 3 if rounding == "published" else None  # one decimal of a percentage, as published


def _value(row: Row) -> float:
    return row.estimate.value
