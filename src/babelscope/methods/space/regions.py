"""The regions of a stored hypothesis space, and the hypotheses in them that count."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from babelscope.core.results import Record, minus_inf_if_none

Region = Literal["top", "beam", "samples"]


class Unresolved(Protocol):
    """The setting that says what counts of searches that ended with their budget."""

    @property
    def unresolved(self) -> Literal["leave-out", "keep"]: ...


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A translation in a region: its number there, text, log-probability in nats (NaN if not known), and quality."""

    number: int
    text: str
    logprob: float
    quality: float
    empty: bool = False
    """It has no text, and not only because unknown words are not written out."""


def is_empty(hypothesis: Mapping[str, Any]) -> bool:
    """Whether a stored hypothesis is the empty one; one of unknown words alone is not, though it has no text."""
    return not hypothesis["text"].strip() and not hypothesis.get("unknown")


def region_hypotheses(
    record: Record, name: Region, size: int, settings: Unresolved
) -> list[Hypothesis] | None:
    """The first `size` hypotheses of a region; None where they are not known.

    If an exact search ran out of budget, only hypotheses that it proved to be the best count (nothing unseen is
    more probable), unless `unresolved` is `keep`. A list is shorter than `size` if the whole space, or the beam,
    has no more.
    """
    if not has_region(record, name):
        return None
    if name == "samples":
        found = _read_hypotheses(record["samples"]["hypotheses"])
        return [found[number] for number in record["samples"]["drawn"][:size]]
    if name == "beam":
        return sorted(_read_hypotheses(record["beam"]), key=lambda each: -each.logprob)[:size]
    if settings.unresolved == "leave-out" and not is_proven(record, size):
        return None
    return _read_hypotheses(record["top"]["found"])[:size]


def proven(record: Record) -> list[Record]:
    """The stored hypotheses that are proven to be the most probable ones, in their order."""
    top = record["top"]
    found: list[Record] = top["found"]
    bound = minus_inf_if_none(top["bound"])
    return found if top["exact"] else [each for each in found if each["logprob"] >= bound]


def is_proven(record: Record, size: int) -> bool:
    """Whether the first `size` hypotheses of the top region are proven to be the most probable ones."""
    return bool(record["top"]["exact"]) or len(proven(record)) >= size


def has_region(record: Record, name: Region) -> bool:
    """Whether a region was asked for and anything is known of it; lists made elsewhere may lack it."""
    if name == "samples":
        return bool(record["samples"]["drawn"])
    return bool(record["beam"] if name == "beam" else record["top"]["found"] or was_searched(record))


def was_searched(record: Record) -> bool:
    """Whether the top region is of a search of ours, and not of a list made elsewhere."""
    return record["top"]["expansions"] is not None


def _read_hypotheses(answers: Sequence[Mapping[str, Any]]) -> list[Hypothesis]:
    return [
        Hypothesis(number, each["text"], nan_if_none(each["logprob"]), each["quality"], is_empty(each))
        for number, each in enumerate(answers)
    ]


def missed_by(record: Record, decoding: str, unresolved: str) -> float | None:
    """Nats by which beam search missed the mode, or the best hypothesis known where such searches are kept."""
    gap: float | None = record["missed_by"][decoding]
    if gap is None and unresolved == "keep":
        gap = record.get("below_known", {}).get(decoding)
    return gap


def nan_if_none(stored: float | None) -> float:
    """A log-probability as it is stored; null where a system gave none."""
    return math.nan if stored is None else stored


def by_text(hypotheses: Sequence[Hypothesis]) -> dict[str, Hypothesis]:
    """One hypothesis a text, with the sum of its segmentations' probabilities, most probable first."""
    groups: dict[str, dict[int, Hypothesis]] = {}
    for each in hypotheses:
        # Keyed by number: the same sample drawn twice is not a second segmentation.
        groups.setdefault(each.text, {})[each.number] = each
    found = []
    for own in groups.values():
        first = max(own.values(), key=lambda each: each.logprob)
        ratios = math.fsum(math.exp(each.logprob - first.logprob) for each in own.values())
        found.append(replace(first, logprob=first.logprob + math.log(ratios)))
    return {each.text: each for each in sorted(found, key=lambda each: -each.logprob)}
