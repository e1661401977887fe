"""Further figures: lengths, sizes of the beam (`beams`), the length penalty, and `confidence`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from babelscope.core.results import Estimate, Record, Row
from babelscope.core.system import Scored
from babelscope.methods.space.regions import (
    Labels,
    SystemRecords,
    has_region,
    is_empty,
    is_proven,
    region_hypotheses,
)
from babelscope.stats.intervals import Array, cluster_sums, clustered_proportion, ratio_of_sums
from babelscope.util.seeds import stream

MISSES_MODE = ("misses_mode", "mode_gap")
"""Rows of translations with the system's own length penalty."""


def length_rows(cell: SystemRecords) -> Iterator[Row]:
    """Mean length, and length as a ratio to the references', of each decoding and region, over the same sentences."""
    names = _present(cell)
    found = [_lengths(record, cell, names) for record in cell.records]
    known = [own is not None for own in found]
    open_ones = [has_region(each, "top") and not is_proven(each, cell.settings.k) for each in cell.records]
    missing = sum(not there and not is_open for there, is_open in zip(known, open_ones, strict=True))
    counts = {"unresolved": sum(open_ones), **({"missing": missing} if missing else {})}
    cell, lengths = cell.only(known), [own for own in found if own is not None]
    for name in ("reference", *names):
        values = [own[name] for own in lengths]
        if name != "reference" or all(record["references"] for record in cell.records):
            yield cell.mean("length", values, {"of": name}, counts)
        if name != "reference":
            yield ratio_row(cell, "length_ratio", values, {"of": name}, counts)
    if cell.settings.curves:
        yield from _by_rank(cell)


def length_of(text: str) -> float:
    """Characters of a text."""
    return float(len(text.strip()))


def ratio_row(
    cell: SystemRecords, name: str, lengths: Sequence[float], labels: Labels, counts: Mapping[str, int]
) -> Row:
    """Total length over that of the references; sentences without any, or with an empty one, are `undefined`."""
    references = [reference_length(record) for record in cell.records]
    known = [(length, size) for length, size in zip(lengths, references, strict=True) if size]
    ours, theirs = ([each[place] for each in known] for place in (0, 1))
    own = [str(record["source"]) for record in cell.only(map(bool, references)).records]
    estimate = _ratio(ours, theirs, own, (-math.inf, math.inf))
    return Row(name, estimate, labels, {**counts, "undefined": len(lengths) - len(known)})


def reference_length(record: Record) -> float:
    """The mean length of a sentence's references; 0 if it has none."""
    return _mean([length_of(text) for text in record["references"]]) if record["references"] else 0.0


def _present(cell: SystemRecords) -> list[str]:
    """Decodings and regions that any record has."""
    settings, records = cell.settings, cell.records
    regions = cell.regions if records else []
    found = {
        "mode": "top" in regions,
        "top": "top" in regions and settings.k > 1,
        "beam": any(record["best"] for record in records),
        "beam-list": "beam" in regions,
        "samples": any(has_region(record, "samples") for record in records),
        "mbr": any(record["mbr"] for record in records),
    }
    return [name for name, there in found.items() if there]


def _lengths(record: Record, cell: SystemRecords, names: Sequence[str]) -> dict[str, float] | None:
    """The length of each decoding and region of a sentence; None if one of them is not known."""
    found = {"reference": reference_length(record)}
    for name in names:
        texts = _texts(record, cell, name)
        if not texts:
            return None
        found[name] = _mean([length_of(text) for text in texts])
    return found


def _texts(record: Record, cell: SystemRecords, name: str) -> list[str]:
    settings = cell.settings
    if name in ("beam", "mbr"):
        one = record["best" if name == "beam" else "mbr"]
        return [one["text"]] if one else []
    region, size = {
        "mode": ("top", 1),
        "top": ("top", settings.k),
        "beam-list": ("beam", settings.k),
        "samples": ("samples", settings.samples),
    }[name]
    return [each.text for each in region_hypotheses(record, region, size, settings) or ()]  # type: ignore[arg-type]


def _by_rank(cell: SystemRecords) -> Iterator[Row]:
    """The length ratio at each rank of a list, over the sentences whose list is whole."""
    k = cell.settings.k
    for name in ("top", "beam-list") if k > 1 else ():
        lists = [_texts(record, cell, name) for record in cell.records]
        whole = [len(own) == k for own in lists]
        if not any(whole):
            continue
        own = cell.only(whole)
        kept = [texts for texts, fits in zip(lists, whole, strict=True) if fits]
        for rank in range(k):
            lengths = [length_of(texts[rank]) for texts in kept]
            counts = {"short": whole.count(False)}
            yield ratio_row(own, "length_ratio_by_rank", lengths, {"of": name, "rank": rank + 1}, counts)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def sweep_quality_rows(cell: SystemRecords) -> Iterator[Row]:
    """The quality that each size of the beam gives, by the records' (first) metric."""
    cell, answers = _by_size(cell)
    for size, found in answers.items():
        qualities = [each["quality"] for each in found]
        yield cell.mean("beam_quality", qualities, {"beam": size}, _unfinished(found))


def sweep_rows(cell: SystemRecords) -> Iterator[Row]:
    """The other rows for each size of the beam, over the same sentences at every size."""
    cell, answers = _by_size(cell)
    own, sizes = cell.records, cell.settings.beams
    by_sentence = list(zip(*answers.values(), strict=True))
    scored = [all(each["logprob"] is not None for each in some) for some in by_sentence]
    for size, found in answers.items():
        labels: Labels = {"beam": size}
        counts = _unfinished(found)
        logprobs = [each["logprob"] if known else math.nan for each, known in zip(found, scored, strict=True)]
        yield cell.mean("beam_logprob", logprobs, labels, counts)
        yield cell.mean("beam_empty", [float(is_empty(each)) for each in found], labels, counts, share=True)
        lengths = [length_of(each["text"]) for each in found]
        yield ratio_row(cell, "beam_length_ratio", lengths, labels, counts)
    if cell.settings.k:
        gaps = [[gap_to_mode(each, cell.settings.unresolved) for each in some] for some in by_sentence]
        compared = [some for some in gaps if None not in some]
        known = cell.only(None not in some for some in gaps)
        proven = [all(each["missed_by"] is not None for each in some) for some in by_sentence]
        counts = {"unresolved": proven.count(False)}
        for place, size in enumerate(sizes):
            sized: Labels = {"beam": size, **penalty_label(own)}
            yield from gap_rows(known, MISSES_MODE, [some[place] for some in compared], sized, counts)


def gap_to_mode(answer: Mapping[str, Any], unresolved: str) -> float | None:
    """Nats below the exact mode, or below the best hypothesis known; None if neither counts, or it is unfinished."""
    proven: float | None = answer.get("missed_by")
    known: float | None = answer.get("below_known") if unresolved == "keep" else None
    return known if proven is None else proven


def gap_rows(
    cell: SystemRecords,
    names: tuple[str, str],
    gaps: Sequence[float | None],
    labels: Labels,
    counts: Mapping[str, int],
) -> Iterator[Row]:
    """How often a translation is not the mode, and by how many nats; `names` are those of the two rows."""
    yield cell.share(names[0], [None if gap is None else gap > 0 for gap in gaps], labels, "missed", **counts)
    yield cell.only(map(bool, gaps)).mean(names[1], [gap for gap in gaps if gap], labels)


def penalty_label(records: Sequence[Record]) -> Labels:
    """The system's length penalty as a label, where it has one that can be set to 0."""
    known = (record["normalization"]["length_penalty"] for record in records if "normalization" in record)
    first = next(known, None)
    return {} if first is None else {"length_penalty": f"{first:g}"}


def _by_size(cell: SystemRecords) -> tuple[SystemRecords, dict[int, list[Record]]]:
    """The records that have several sizes, and of each size its translations."""
    own = cell.only("beams" in record for record in cell.records)
    by_size = [{each["beam"]: each for each in record["beams"]} for record in own.records]
    return own, {size: [each[size] for each in by_size] for size in cell.settings.beams}


def _unfinished(answers: list[Record]) -> dict[str, int]:
    return {"unfinished": sum("unfinished" in each.get("notes", ()) for each in answers)}


def normalization_rows(cell: SystemRecords) -> Iterator[Row]:
    """How often the penalty changes the translation, by how many nats and tokens; how often it misses the mode."""
    known: list[Mapping[str, Any]] = [record.get("normalization") or {} for record in cell.records]
    labels: Labels = penalty_label(cell.records)
    if not labels:
        return
    changed = [each.get("changed") for each in known]
    yield cell.share("normalization_changes", changed, labels, "changed")
    for name, field in (("normalization_costs", "costs"), ("normalization_lengthens", "length")):
        yield cell.mean(name, [each.get(field) for each in known], labels)
    size = cell.beam_label("beam")
    if size.get("beam") not in cell.settings.beams:  # else it is among those rows
        gaps = [gap_to_mode(each, cell.settings.unresolved) for each in known]
        unproven = sum(each.get("missed_by") is None for each in known)
        yield from gap_rows(cell, MISSES_MODE, gaps, {**size, **labels}, {"unresolved": unproven})


# --- How sure a model is, and whether it should be (the hypothesis-space paper's outlook): `confidence` ------------

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
    cell, missing = cell.with_region("top")
    most = cell.settings.k
    for k in sorted({1, 2, 5, 10, 20, 50, 100, most}):
        if 0 < k <= most:
            lists = [region_hypotheses(record, "top", k, cell.settings) for record in cell.records]
            mass = [
                None if own is None else math.fsum(math.exp(each.logprob) for each in own) for own in lists
            ]
            counts = {"unresolved": cell.unresolved(k), **missing}
            yield cell.mean("top_mass", mass, {"k": k}, counts)


def _calibration_rows(cell: SystemRecords, seed: int) -> Iterator[Row]:
    whole = [record for record in cell.records if {"tokens", "reference"} <= record[_FIELD].keys()]
    finished = [record for record in whole if "unfinished" not in record["best"].get("notes", ())]
    said = [record[_FIELD] for record in finished]  # of the tokens of a translation, all but its end
    confidences = np.array([math.exp(each) for own in said for each in own["logprobs"][:-1]])
    kept = [each for own in said for each in kept_tokens(own["tokens"][:-1], own["reference"][:-1])]
    right = np.array(kept, dtype=float)
    sources = [record["source"] for record in finished for _ in record[_FIELD]["logprobs"][:-1]]
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
        return Estimate.empty()
    sums, totals = cluster_sums([values, sizes], sources).T
    return ratio_of_sums(
        sums.tolist(), totals.tolist(), what="source sentences", n=len(values), within=within
    )


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
