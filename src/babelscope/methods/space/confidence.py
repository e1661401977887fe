"""How sure a model is, and whether it should be (the hypothesis-space paper's outlook): `confidence`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import fmean

import numpy as np

from babelscope.core.results import Estimate, Record, Row, grouped
from babelscope.core.system import Scored
from babelscope.methods.space.regions import (
    SystemRecords,
    is_unfinished,
    ratio_of,
)
from babelscope.stats.intervals import Array, clustered_proportion
from babelscope.util.seeds import stream

_BINS = 20
_SIMULATED = 200
_FIELD = "confidence"


def confidence_fields(best: Sequence[Scored], drawn: Sequence[Scored]) -> Record:
    """What is stored of a sentence: the tokens of its translation, and the lengths of its distinct samples."""
    lengths: dict[tuple[str, ...], int] = {}
    for each in drawn:
        lengths.setdefault(each.tokens or (each.text,), len(each.tokens))
    said = [
        {"tokens": list(each.tokens), "logprobs": list(each.logprobs)} for each in best[:1] if each.logprobs
    ]
    return {_FIELD: {"sample_tokens": list(lengths.values()), **(said[0] if said else {})}}


def confidence_rows(cell: SystemRecords, seed: int) -> Iterator[Row]:
    """Entropy of samples, mass of the most probable k, calibration of tokens; nothing where it was not asked for."""
    cell = cell.only(_FIELD in record for record in cell.records)
    if not cell.records:
        return
    yield from _entropy_rows(cell)
    searched, missing = cell.with_region("top")
    for k in sorted({1, 2, 5, 10, 20, 50, 100, cell.settings.k}):
        if 0 < k <= cell.settings.k:
            yield searched.mass("top_mass", {"k": k}, missing)
    yield from _calibration_rows(cell, seed)


def _entropy_rows(cell: SystemRecords) -> Iterator[Row]:
    """Entropy per translation and per token, if samples are drawn from the model's own distribution."""
    if not cell.settings.samples or not cell.settings.draws_from_model:
        return
    lists = cell.hypotheses("samples", cell.settings.samples)
    every = list(zip(cell.records, lists, strict=True))
    known = [
        (record, drawn)
        for record, drawn in every
        if drawn and all(each["logprob"] is not None for each in drawn)
    ]
    nats = [-fmean(each["logprob"] for each in drawn) for _, drawn in known]
    lengths = []
    for record, _ in known:
        tokens = record[_FIELD]["sample_tokens"]
        lengths.append(fmean(tokens[number] for number in record["samples"]["drawn"]))
    counts = {
        "unfinished": sum(is_unfinished(each) for _, drawn in known for each in drawn),
        "undefined": len(every) - len(known),
    }
    clusters = [record["source"] for record, _ in known]
    for of, sizes in (("translation", [1.0] * len(nats)), ("token", lengths)):
        yield Row("entropy", ratio_of(nats, sizes, clusters, (0.0, math.inf)), {"of": of}, counts)


def _calibration_rows(cell: SystemRecords, seed: int) -> Iterator[Row]:
    whole = [record for record in cell.records if {"tokens", "reference"} <= record[_FIELD].keys()]
    finished = [record for record in whole if not is_unfinished(record["best"])]
    said = [record[_FIELD] for record in finished]  # of the tokens of a translation, all but its end
    confidences = np.array([math.exp(each) for own in said for each in own["logprobs"][:-1]])
    kept = [each for own in said for each in kept_tokens(own["tokens"][:-1], own["reference"][:-1])]
    right = np.array(kept, dtype=float)
    clusters = [record["source"] for record in finished for _ in record[_FIELD]["logprobs"][:-1]]
    counts = {
        "sentences": len(finished),
        "unfinished": len(whole) - len(finished),
        "undefined": len(cell.records) - len(whole),
    }
    ones = [1.0] * len(right)
    yield Row("token_confidence", ratio_of(confidences.tolist(), ones, clusters, (0.0, 1.0)), {}, counts)
    yield Row("token_accuracy", clustered_proportion(right.tolist(), clusters), {}, counts)
    too_sure = ratio_of((confidences - right).tolist(), ones, clusters, (-1.0, 1.0))
    yield Row("overconfidence", too_sure, {}, counts)
    if not len(right):
        return
    numbers = np.minimum((confidences * _BINS).astype(int), _BINS - 1)
    value = calibration_error(confidences, right)
    why = "never negative, so biased upward: compare it with the next row"
    yield Row("calibration_error", Estimate.without_interval(value, len(right), why), {"bins": _BINS}, counts)
    rng = stream(seed, "space/calibration")
    drawn = [
        calibration_error(confidences, (rng.random(len(right)) < confidences).astype(float))
        for _ in range(_SIMULATED)
    ]
    why = f"mean of {_SIMULATED} simulations"
    usual = Estimate.without_interval(float(np.mean(drawn)), len(right), why)
    yield Row("calibration_error_by_chance", usual, {"bins": _BINS})
    for number, inside in sorted(grouped((int(n), place) for place, n in enumerate(numbers)).items()):
        own = [clusters[place] for place in inside]
        label = {"bin": f"{number / _BINS:g}-{(number + 1) / _BINS:g}"}
        mean = ratio_of(confidences[inside].tolist(), [1.0] * len(inside), own, (0.0, 1.0))
        yield Row("bin_confidence", mean, label)
        yield Row("bin_accuracy", clustered_proportion(right[inside].tolist(), own), label)


def calibration_error(confidences: Array, right: Array) -> float:
    """Sum over bins of |tokens right - sum of confidences|, divided by the tokens: Naeini et al. 2015."""
    numbers = np.minimum((confidences * _BINS).astype(int), _BINS - 1)
    gaps = np.bincount(numbers, weights=right - confidences, minlength=_BINS)
    return float(np.abs(gaps).sum() / len(right))


def kept_tokens(hypothesis: Sequence[str], reference: Sequence[str]) -> list[bool]:
    """Which tokens of a hypothesis an alignment of least edits keeps; of several, the one that keeps later tokens."""
    rows, columns = len(hypothesis), len(reference)
    cost = np.zeros((rows + 1, columns + 1), dtype=int)
    cost[:, 0], cost[0, :] = range(rows + 1), range(columns + 1)
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            same = hypothesis[i - 1] == reference[j - 1]
            cost[i, j] = min(cost[i - 1, j - 1] + (not same), cost[i - 1, j] + 1, cost[i, j - 1] + 1)
    kept = [False] * rows
    i, j = rows, columns
    while i and j:
        same = hypothesis[i - 1] == reference[j - 1]
        if cost[i, j] == cost[i - 1, j - 1] + (not same):
            kept[i - 1] = same
            i, j = i - 1, j - 1
        elif cost[i, j] == cost[i - 1, j] + 1:
            i -= 1
        else:
            j -= 1
    return kept
