"""From hypotheses to their qualities against references, the choice of MBR decoding, kRG and kQRG."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

from babelscope.core.results import Record, finite_or_none
from babelscope.methods.space.regions import (
    BLEU_STATISTICS,
    Region,
    hypotheses_of,
    quality_by,
    ranking_gains,
    with_single_metric,
)
from babelscope.methods.space.settings import SpaceSettings
from babelscope.metrics.base import (
    Metric,
    Segment,
    find_metric,
    is_allowed,
    sentence_qualities,
    warn_stored_quality,
)
from babelscope.metrics.mbr import mbr_decode
from babelscope.metrics.ranking import quality_bound
from babelscope.metrics.records import record_statistics, score_by_tokeniser


def judge(records: Sequence[Record], settings: SpaceSettings) -> list[Record]:
    """The records with the quality of every hypothesis, the choice of MBR decoding, kRG and kQRG."""
    judged = [{**copy.deepcopy(record), "mbr": None} for record in records]
    qualities = {name: _qualities(judged, name, settings.tokenize) for name in settings.metric}
    bounds = {name: _bound(judged, name, settings) for name in settings.metric}
    lowest = {name: _lowest(judged, name) for name in settings.metric}
    first, *others = settings.metric
    for number, record in enumerate(judged):
        record["metrics"], record["lowest"] = bounds, lowest
        for place, hypothesis in enumerate(hypotheses_of(record)):
            hypothesis["quality"] = qualities[first][number][place]
            hypothesis.pop("qualities", None)
            if others:
                hypothesis["qualities"] = {name: qualities[name][number][place] for name in others}
    for record in judged:
        record["mbr"] = _mbr_choice(record, settings.mbr_samples)
        record |= _gains(record, settings)
        record.pop("gains", None)
        if others:
            record["gains"] = {name: _gains(with_single_metric(record, name), settings) for name in others}
        _keep_bleu(record, settings.tokenize)
    return judged


def _keep_bleu(record: Record, tokenize: str) -> None:
    """Keep BLEU's statistics of each decoding if a model splits words: it is not opened to merge shards."""
    found = [each for each in (record["best"], *record["top"]["found"][:1], record["mbr"]) if each]
    for hypothesis in found:
        hypothesis.pop(BLEU_STATISTICS, None)
        if ":" in tokenize and record["references"]:
            (row,) = record_statistics(find_metric("bleu"), [hypothesis["text"]], [record], tokenize)
            hypothesis[BLEU_STATISTICS] = row.tolist()


def _qualities(records: Sequence[Record], name: str, tokenize: str) -> list[list[float]]:
    """The qualities of each record's hypotheses; stored ones are used again rather than start a program."""
    if not is_allowed(name) and all(name in record.get("metrics", ()) for record in records):
        warn_stored_quality(name)
        return [[quality_by(record, each, name) for each in hypotheses_of(record)] for record in records]

    def by_tokeniser(metric: Metric, numbers: list[int]) -> list[list[float]]:
        segments = [segments_of(records[number]) for number in numbers]
        found = iter(sentence_qualities(metric, [each for own in segments for each in own]))
        return [[next(found) for _ in own] for own in segments]

    return score_by_tokeniser(find_metric(name), records, tokenize, by_tokeniser)


def _bound(records: Sequence[Record], name: str, settings: SpaceSettings) -> float | None:
    """The highest quality, by which kQRG is normalised; None if it is normalised by the ideal order."""
    if settings.normalise != "bound":
        return None
    if not is_allowed(name) and records and (known := records[0].get("metrics", {}).get(name)):
        return float(known)
    return quality_bound(find_metric(name))


def _lowest(records: Sequence[Record], name: str) -> float | None:
    """The lowest quality that the metric can give; None where its scale has no such end, or nobody says so."""
    if not is_allowed(name):
        known = records[0].get("lowest", {}).get(name) if records else None
        return None if known is None else float(known)
    scale = find_metric(name).scale
    worst = scale.low if scale.better == "higher" else scale.high
    return None if worst is None else scale.quality(worst)


def _gains(record: Record, settings: SpaceSettings) -> Record:
    regions: dict[Region, int] = {"top": settings.k, "beam": settings.k, "samples": settings.samples}
    # One hypothesis has no rank.
    regions = {name: size if size > 1 else 0 for name, size in regions.items()}
    found: Record = {}
    for name, size in regions.items():
        own = ranking_gains(record, name, size, "tokens", settings) if size else None
        for measure in ("krg", "kqrg"):
            found[f"{name}_{measure}"] = None if own is None else finite_or_none(getattr(own, measure))
    return found


def _mbr_choice(record: Record, among: int) -> Record | None:
    """The choice of MBR decoding among the first samples: the highest mean chrF against all of these."""
    hypotheses, drawn = record["samples"]["hypotheses"], record["samples"]["drawn"][:among]
    if not drawn:
        return None
    return dict(hypotheses[drawn[mbr_decode([hypotheses[each]["text"] for each in drawn]).number]])


def segments_of(record: Record) -> list[Segment]:
    """A segment for each hypothesis of a record, in the order of `hypotheses_of`."""
    references = tuple(record["references"])
    return [Segment(record["source"], each["text"], references) for each in hypotheses_of(record)]


def segment_lines(records: Sequence[Record]) -> Iterator[str]:
    """Every segment of the records once, as a JSON line, for a metric to judge elsewhere."""
    yield from dict.fromkeys(segment.as_line() for record in records for segment in segments_of(record))
