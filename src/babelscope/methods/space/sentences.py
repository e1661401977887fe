"""The records of one system on one test set, and rows of what is known of each sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from babelscope.core.results import Record, Row
from babelscope.methods.space.regions import Region, has_region, is_proven
from babelscope.methods.space.settings import SpaceSettings
from babelscope.stats.intervals import clustered_mean, clustered_proportion

Labels = dict[str, str | int]


BLEU_STATISTICS = "bleu_statistics"
"""Field of a decoding's hypothesis where words are split by a model."""


BEAM_SIZES = "beam_sizes"
"""Field of a record: sizes of the beams that gave its translation (`beam`) and its list (`beam-list`)."""


# Ends of the scales of means, which no interval leaves; qualities end at 0 and 1 where all of them lie between.
_SCALES = {
    "krg": (0.0, 1.0),
    "mass": (0.0, 1.0),
    "top_mass": (0.0, 1.0),
    "expansions": (0.0, math.inf),
    "length": (0.0, math.inf),
    "search_gap": (0.0, math.inf),
    "mode_gap": (0.0, math.inf),
    "beam_logprob": (-math.inf, 0.0),
}

_JUDGED = ("kqrg", "quality", "beam_quality")


@dataclass(frozen=True, slots=True)
class SystemRecords:
    """The records of one system on one test set, with the settings: makes rows of per-sentence values."""

    records: Sequence[Record]
    settings: SpaceSettings

    def mean(
        self,
        name: str,
        values: Sequence[float | None],
        labels: Mapping[str, str | int] | None = None,
        counts: Mapping[str, int] | None = None,
        *,
        share: bool = False,
    ) -> Row:
        """A mean over sentences, or a share; None is unresolved, NaN undefined: both are left out and counted."""
        pairs = list(zip(self.records, values, strict=True))
        resolved = [(record, float(value)) for record, value in pairs if value is not None]
        known = [(record, value) for record, value in resolved if not math.isnan(value)]
        left_out = {"unresolved": len(pairs) - len(resolved), "undefined": len(resolved) - len(known)}
        columns = [value for _, value in known], [record["source"] for record, _ in known]
        scale = _SCALES.get(name, (-math.inf, math.inf))
        # A metric may leave its bound (COMET).
        if name in _JUDGED and all(0 <= value <= 1 for _, value in known):
            scale = (0.0, 1.0)
        estimate = clustered_proportion(*columns) if share else clustered_mean(*columns, within=scale)
        return Row(name, estimate, labels or {}, {**left_out, **(counts or {})})

    def share(
        self, name: str, values: Sequence[bool | None], labels: Mapping[str, str | int], yes: str
    ) -> Row:
        """The proportion of sentences of which something is true; `yes` names their count."""
        count = {yes: sum(value is True for value in values)}
        return self.mean(name, values, labels, count, share=True)


def regions_of(cell: SystemRecords) -> list[Region]:
    """Those of top and beam that any record has; both, where there are no records."""
    both: tuple[Region, ...] = ("top", "beam")
    return [name for name in both if not cell.records or any(has_region(each, name) for each in cell.records)]


def with_region(cell: SystemRecords, *names: Region) -> tuple[SystemRecords, dict[str, int]]:
    """The records that have these regions, and how many have not."""
    own = [record for record in cell.records if all(has_region(record, name) for name in names)]
    missing = len(cell.records) - len(own)
    return replace(cell, records=own), {"missing": missing} if missing else {}


def unresolved_in(cell: SystemRecords, size: int) -> int:
    """In how many sentences the first `size` of the top region are not proven, whether they count or not."""
    return sum(not is_proven(record, size) for record in cell.records if has_region(record, "top"))


def beam_label(records: Sequence[Record], decoding: str) -> Labels:
    """The size of the beam as a label; nothing where it is not known, as of lists made elsewhere."""
    sizes = {record[BEAM_SIZES][decoding] for record in records if BEAM_SIZES in record}
    return {"beam": sizes.pop()} if len(sizes) == 1 else {}
