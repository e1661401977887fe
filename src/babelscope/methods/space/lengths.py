"""Lengths of what a model believes, against the references (appendix E: the space favours the short).

In characters, which every language and every list has, without the spaces around a text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from babelscope.core.results import Estimate, Record, Row
from babelscope.methods.space.regions import has_region, is_proven, region_hypotheses
from babelscope.methods.space.sentences import Labels, SystemRecords, regions_of
from babelscope.stats.intervals import cluster_sums, ratio_of_sums


def length_rows(cell: SystemRecords) -> Iterator[Row]:
    """Mean length, and length as a ratio to the references', of each decoding and region, over the same sentences."""
    names = _present(cell)
    found = [_lengths(record, cell, names) for record in cell.records]
    known = [own is not None for own in found]
    open_ones = [has_region(each, "top") and not is_proven(each, cell.settings.k) for each in cell.records]
    missing = sum(not there and not is_open for there, is_open in zip(known, open_ones, strict=True))
    counts = {"unresolved": sum(open_ones), **({"missing": missing} if missing else {})}
    cell, lengths = _only(cell, known), [own for own in found if own is not None]
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
    pairs = [
        (length, reference, record["source"])
        for length, record in zip(lengths, cell.records, strict=True)
        if (reference := reference_length(record))
    ]
    estimate = Estimate.of_nothing()
    if pairs:
        columns = [[pair[0] for pair in pairs], [pair[1] for pair in pairs]]
        ours, theirs = cluster_sums(columns, [source for _, _, source in pairs]).T
        estimate = ratio_of_sums(ours.tolist(), theirs.tolist(), what="source sentences", n=len(pairs))
    return Row(name, estimate, labels, {**counts, "undefined": len(lengths) - len(pairs)})


def reference_length(record: Record) -> float:
    """The mean length of a sentence's references; 0 if it has none."""
    return _mean([length_of(text) for text in record["references"]]) if record["references"] else 0.0


def _present(cell: SystemRecords) -> list[str]:
    """Decodings and regions that any record has."""
    settings, records = cell.settings, cell.records
    regions = regions_of(cell) if records else []
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
        own = _only(cell, whole)
        kept = [texts for texts, fits in zip(lists, whole, strict=True) if fits]
        for rank in range(k):
            lengths = [length_of(texts[rank]) for texts in kept]
            counts = {"short": whole.count(False)}
            yield ratio_row(own, "length_ratio_by_rank", lengths, {"of": name, "rank": rank + 1}, counts)


def _only(cell: SystemRecords, kept: Sequence[bool]) -> SystemRecords:
    records = [record for record, fits in zip(cell.records, kept, strict=True) if fits]
    return SystemRecords(records, cell.settings)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
