"""Search errors and length normalisation told apart.

A beam search that divides by length does not look for the mode. Whether it errs as a search is seen without the
division; what the division changes is a figure of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from babelscope.core.answers import Scored, properties
from babelscope.core.question import Asked
from babelscope.core.results import Record, Row
from babelscope.systems.asking import ask_translate

Lists = list[list[Scored]]


class Cell(Protocol):
    """The records of one system on one test set, and rows made of a value a sentence."""

    @property
    def records(self) -> Sequence[Record]: ...
    def mean(
        self, name: str, values: Sequence[float | None], labels: Any = None, counts: Any = None
    ) -> Row: ...
    def share(self, name: str, values: Sequence[bool | None], labels: Any, yes: str) -> Row: ...


def ask_unnormalised(
    system: Any, asked: Sequence[Asked], best: Lists, wide: Lists, *, beam: int, k: int
) -> tuple[Lists, Lists]:
    """Beam search's 1-best and its list of `k` by log-probability alone; `best` and `wide` where they are that, or
    where the system has no length penalty that can be set."""
    if not properties(system).length_penalty:
        return best, wide
    plain = ask_translate(system, asked, beam=beam, length_penalty=0.0)
    return plain, ask_translate(system, asked, beam=k, n_best=k, length_penalty=0.0) if k > 1 else wide


def normalisation(system: Any, own: Scored, plain: Scored, missed_by: float | None) -> Record:
    """What the length penalty changes about a sentence, as it is stored; nothing where there is no penalty.

    `missed_by` is the log-probability of the mode minus that of `own`, in nats.
    """
    penalty = properties(system).length_penalty
    if not penalty:
        return {}
    finished = not any("unfinished" in each.notes for each in (own, plain))
    found = {
        "length_penalty": penalty,
        "changed": own.tokens != plain.tokens if finished else None,
        "costs": plain.total - own.total if finished else None,
        "length": len(own.tokens) - len(plain.tokens) if finished else None,
        "missed_by": missed_by,
    }
    return {"normalisation": found}


def normalisation_rows(cell: Cell) -> Iterator[Row]:
    """How often the penalty changes the translation, by how many nats and tokens; how often it misses the mode."""
    known: list[Mapping[str, Any]] = [record.get("normalisation") or {} for record in cell.records]
    if not any(known):
        return
    labels = {"length_penalty": f"{next(each['length_penalty'] for each in known if each):g}"}
    changed = [each.get("changed") for each in known]
    yield cell.share("normalisation_changes", changed, labels, "changed")
    for name, field in (("normalisation_costs", "costs"), ("normalisation_lengthens", "length")):
        yield cell.mean(name, [each.get(field) for each in known], labels)
    gaps = [each.get("missed_by") for each in known]
    missed = [None if gap is None else gap > 0 for gap in gaps]
    yield cell.share("normalised_misses_mode", missed, labels, "missed")
