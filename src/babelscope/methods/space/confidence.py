"""How sure a model is, and whether it should be (the hypothesis-space paper's outlook): `confidence`.

Entropy of what it would say, in nats: the mean of -log p(y|x) over samples y, which is an unbiased estimate of the
entropy of its distribution over translations, and the same per token. What reached the length limit counts as it is
(`unfinished`): the entropy is then that of translations cut there.

Calibration of the tokens that it says (inference calibration, Wang et al. 2020): the confidence in a token is the
probability that the model gives it where beam search chose it; it is right if it is kept by an alignment of least
edits (Levenshtein, without the shifts of TER) of the translation's tokens with those of the first reference. The end
of the sentence is left out, since both have one. The expected calibration error is the mean distance of confidence
and accuracy over 20 bins of equal width, each weighing as its tokens.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from babelscope.core.answers import Scored
from babelscope.core.results import Estimate, Record, Row
from babelscope.methods.space.regions import SystemRecords, region_hypotheses, unresolved_in, with_region
from babelscope.stats.intervals import Array, cluster_sums, clustered_proportion, ratio_of_sums
from babelscope.util.seeds import stream

BINS = 20
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


def with_reference(record: Record, reference: Scored | None) -> Record:
    """The same with the tokens of the item's reference, where confidence was asked for."""
    if _FIELD not in record or reference is None:
        return record
    return {**record, _FIELD: {**record[_FIELD], "reference": list(reference.tokens)}}


def confidence_rows(cell: SystemRecords, seed: int) -> Iterator[Row]:
    """Entropy of samples, mass of the most probable k, calibration of tokens; nothing where it was not asked for."""
    own = [record for record in cell.records if _FIELD in record]
    if not own:
        return
    cell = SystemRecords(own, cell.settings)
    yield from _entropy_rows(cell)
    yield from _mass_rows(cell)
    yield from _calibration_rows(cell, seed)


def _entropy_rows(cell: SystemRecords) -> Iterator[Row]:
    """Entropy a translation and a token, of the model itself: samples drawn otherwise are of another distribution."""
    if not cell.settings.samples or not cell.settings.draws_from_model:
        return
    nats, lengths, sources, unfinished = [], [], [], 0
    for record in cell.records:
        hypotheses, drawn = record["samples"]["hypotheses"], record["samples"]["drawn"]
        chosen = [hypotheses[number] for number in drawn]
        if not chosen or any(each["logprob"] is None for each in chosen):
            continue
        unfinished += sum("unfinished" in each.get("notes", ()) for each in chosen)
        nats.append(-math.fsum(each["logprob"] for each in chosen) / len(chosen))
        tokens = record[_FIELD]["sample_tokens"]
        lengths.append(math.fsum(tokens[number] for number in drawn) / len(drawn))
        sources.append(record["source"])
    counts = {"unfinished": unfinished, "undefined": len(cell.records) - len(nats)}
    for of, sizes in (("translation", [1.0] * len(nats)), ("token", lengths)):
        yield Row("entropy", _ratio(nats, sizes, sources, (0.0, math.inf)), {"of": of}, counts)


def _mass_rows(cell: SystemRecords) -> Iterator[Row]:
    """Probability of the most probable translation, and of the 2, 5, 10... most probable ones together."""
    cell, missing = with_region(cell, "top")
    most = cell.settings.k
    for k in sorted({1, 2, 5, 10, 20, 50, 100, most}):
        if 0 < k <= most:
            lists = [region_hypotheses(record, "top", k, cell.settings) for record in cell.records]
            mass = [
                None if own is None else math.fsum(math.exp(each.logprob) for each in own) for own in lists
            ]
            counts = {"unresolved": unresolved_in(cell, k), **missing}
            yield cell.mean("top_mass", mass, {"k": k}, counts)


def _calibration_rows(cell: SystemRecords, seed: int) -> Iterator[Row]:
    whole = [record for record in cell.records if {"tokens", "reference"} <= record[_FIELD].keys()]
    finished = [record for record in whole if "unfinished" not in record["best"].get("notes", ())]
    judged = [_judged_tokens(record[_FIELD]) for record in finished]
    confidences = np.array([value for own, _ in judged for value in own])
    right = np.array([value for _, own in judged for value in own], dtype=float)
    sources = [record["source"] for record, (own, _) in zip(finished, judged, strict=True) for _ in own]
    counts = {
        "sentences": len(finished),
        "unfinished": len(whole) - len(finished),
        "undefined": len(cell.records) - len(whole),
    }
    ones = [1.0] * len(right)
    sure = _ratio(confidences.tolist(), ones, sources, (0.0, 1.0))
    too_sure = _ratio((confidences - right).tolist(), ones, sources, (-1.0, 1.0))
    yield Row("token_confidence", sure, {}, counts)
    yield Row("token_accuracy", clustered_proportion(right.tolist(), sources), {}, counts)
    yield Row("overconfidence", too_sure, {}, counts)
    if not len(right):
        return
    numbers = _bin_numbers(confidences)
    value = _calibration_error(numbers, confidences, right)
    why = "never negative, so biased upwards: hold it against the next row"
    yield Row("calibration_error", Estimate.without_interval(value, len(right), why), {"bins": BINS}, counts)
    rng = stream(seed, "space/calibration")
    drawn = [
        _calibration_error(numbers, confidences, (rng.random(len(right)) < confidences).astype(float))
        for _ in range(_SIMULATED)
    ]
    why = f"mean of {_SIMULATED} simulations"
    usual = Estimate.without_interval(float(np.mean(drawn)), len(right), why)
    yield Row("calibration_error_by_chance", usual, {"bins": BINS})
    for number in np.unique(numbers):
        inside = np.flatnonzero(numbers == number)
        own = [sources[place] for place in inside]
        label = {"bin": f"{number / BINS:g}-{(number + 1) / BINS:g}"}
        mean = _ratio(confidences[inside].tolist(), [1.0] * len(inside), own, (0.0, 1.0))
        yield Row("bin_confidence", mean, label)
        yield Row("bin_accuracy", clustered_proportion(right[inside].tolist(), own), label)


def _ratio(
    values: Sequence[float], sizes: Sequence[float], sources: Sequence[str], within: tuple[float, float]
) -> Estimate:
    """Sum of values over sum of sizes, with an interval over source sentences; `n` counts values."""
    if not values:
        return Estimate.of_nothing()
    sums, totals = cluster_sums([values, sizes], sources).T
    return ratio_of_sums(
        sums.tolist(), totals.tolist(), what="source sentences", n=len(values), within=within
    )


def _judged_tokens(told: Record) -> tuple[list[float], list[bool]]:
    """(probability, whether it is right) of each token of a translation but its end."""
    kept = kept_tokens(told["tokens"][:-1], told["reference"][:-1])
    return [math.exp(each) for each in told["logprobs"][:-1]], kept


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


def _bin_numbers(confidences: Array) -> Array:
    numbers: Array = np.minimum((confidences * BINS).astype(int), BINS - 1)
    return numbers


def _calibration_error(numbers: Array, confidences: Array, right: Array) -> float:
    """Sum over bins of |tokens right - sum of confidences|, divided by the tokens: Naeini et al. 2015."""
    gaps = np.bincount(numbers, weights=right - confidences, minlength=BINS)
    return float(np.abs(gaps).sum() / len(right))
