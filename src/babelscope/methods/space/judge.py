"""What is made of hypotheses: the choice of MBR decoding, qualities against references, kRG and kQRG."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

from babelscope.core.results import Record, finite_or_none
from babelscope.methods.space.figures import Region, gains
from babelscope.methods.space.settings import SpaceSettings
from babelscope.metrics.base import Segment, sentence_qualities
from babelscope.metrics.mbr import mbr_decode


def judge(records: Sequence[Record], settings: SpaceSettings) -> list[Record]:
    """The records with the quality of every hypothesis, the choice of MBR decoding, and each sentence's figures.

    Qualities that stand there already, by the same metric, are used again.
    """
    judged = [{**copy.deepcopy(record), "mbr": None} for record in records]
    new = [record for record in judged if record.get("metric") != settings.quality]
    segments = [segment for record in new for segment in segments_of(record)]
    qualities = iter(sentence_qualities(settings.quality, segments))
    for record in new:
        record["metric"] = settings.quality
        for hypothesis in hypotheses_of(record):
            hypothesis["quality"] = next(qualities)
    for record in judged:
        record["mbr"] = _mbr(record, settings.mbr)
        regions: dict[Region, int] = {"top": settings.k, "beam": settings.k, "samples": settings.samples}
        for name, size in regions.items():
            found = gains(record, name, size, "tokens", settings)
            for measure in ("krg", "kqrg"):
                value = None if found is None else finite_or_none(getattr(found, measure))
                record[f"{name}_{measure}"] = value
    return judged


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


def hypotheses_of(record: Record) -> list[Record]:
    """The hypotheses of a record, in the order in which they stand there; MBR decoding chooses among the samples."""
    return [record["best"], *record["beam"], *record["top"]["found"], *record["samples"]["hypotheses"]]


def segment_lines(records: Sequence[Record]) -> Iterator[str]:
    """Every segment of the records once, as a JSON line, for a metric to judge elsewhere."""
    yield from dict.fromkeys(segment.as_line() for record in records for segment in segments_of(record))
