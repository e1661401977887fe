"""What is made of hypotheses: the choice of MBR decoding, qualities against references, kRG and kQRG."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

from babelscope.core.results import Record, finite_or_none
from babelscope.methods.space.figures import Region, gains, hypotheses_of, judged_by, quality_by
from babelscope.methods.space.settings import SpaceSettings
from babelscope.metrics.base import Segment, find_metric, may_ask, sentence_qualities, told_again
from babelscope.metrics.mbr import mbr_decode
from babelscope.metrics.ranking import bound_of


def judge(records: Sequence[Record], settings: SpaceSettings) -> list[Record]:
    """The records with the quality of every hypothesis, the choice of MBR decoding, and each sentence's figures."""
    judged = [{**copy.deepcopy(record), "mbr": None} for record in records]
    qualities = {name: _qualities(judged, name) for name in settings.metric}
    bounds = {name: _bound(judged, name, settings) for name in settings.metric}
    first, *others = settings.metric
    for number, record in enumerate(judged):
        record["metrics"] = bounds
        for place, hypothesis in enumerate(hypotheses_of(record)):
            hypothesis["quality"] = qualities[first][number][place]
            hypothesis.pop("qualities", None)
            if others:
                hypothesis["qualities"] = {name: qualities[name][number][place] for name in others}
    for record in judged:
        record["mbr"] = _mbr(record, settings.mbr_samples)
        record |= _gains(record, settings)
        record.pop("gains", None)
        if others:
            record["gains"] = {name: _gains(judged_by(record, name), settings) for name in others}
    return judged


def _qualities(records: Sequence[Record], name: str) -> list[list[float]]:
    """Of each record the qualities of its hypotheses; what a program said before is used again."""
    if not may_ask(name) and all(name in record.get("metrics", ()) for record in records):
        told_again(name)
        return [[quality_by(record, each, name) for each in hypotheses_of(record)] for record in records]
    segments = [segments_of(record) for record in records]
    found = iter(sentence_qualities(name, [each for own in segments for each in own]))
    return [[next(found) for _ in own] for own in segments]


def _bound(records: Sequence[Record], name: str, settings: SpaceSettings) -> float | None:
    """The highest quality that kQRG assumes; None if it is divided by the ideal order."""
    if settings.normalise != "bound":
        return None
    if not may_ask(name) and records and (known := records[0].get("metrics", {}).get(name)):
        return float(known)
    return bound_of(find_metric(name))


def _gains(record: Record, settings: SpaceSettings) -> Record:
    regions: dict[Region, int] = {"top": settings.k, "beam": settings.k, "samples": settings.samples}
    found: Record = {}
    for name, size in regions.items():
        own = gains(record, name, size, "tokens", settings)
        for measure in ("krg", "kqrg"):
            found[f"{name}_{measure}"] = None if own is None else finite_or_none(getattr(own, measure))
    return found


def _mbr(record: Record, among: int) -> Record | None:
    """The sample that is most like the others; the utility is chrF, each sample compared with each."""
    hypotheses, drawn = record["samples"]["hypotheses"], record["samples"]["drawn"][:among]
    if not drawn:
        return None
    return dict(hypotheses[drawn[mbr_decode([hypotheses[each]["text"] for each in drawn]).number]])


def segments_of(record: Record) -> list[Segment]:
    """What has to be judged about a record, in the order in which it stands there."""
    references = tuple(record["references"])
    return [Segment(record["source"], each["text"], references) for each in hypotheses_of(record)]


def segment_lines(records: Sequence[Record]) -> Iterator[str]:
    """Every segment of the records once, as a JSON line, for a metric to judge elsewhere."""
    yield from dict.fromkeys(segment.as_line() for record in records for segment in segments_of(record))
