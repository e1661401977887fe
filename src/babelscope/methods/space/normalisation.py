"""Search errors and length normalisation told apart.

A beam search that divides by length does not look for the mode. Whether it errs as a search is seen without the
division; what the division changes is a figure of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from babelscope.core.answers import Scored, properties
from babelscope.core.question import Asked
from babelscope.core.results import Record, Row
from babelscope.methods.space.sentences import Labels, SystemRecords, beam_label
from babelscope.methods.space.sweep import gap_to_mode, misses_mode_rows, penalty_label
from babelscope.systems.asking import ask_translate

Lists = list[list[Scored]]


def ask_unnormalised(
    system: Any, asked: Sequence[Asked], best: Lists, wide: Lists, *, beam: int, k: int
) -> tuple[Lists, Lists]:
    """Beam search's 1-best and its list of `k` by log-probability alone; `best` and `wide` where they are that, or
    where the system has no length penalty that can be set."""
    if not properties(system).length_penalty:
        return best, wide
    plain = ask_translate(system, asked, beam=beam, length_penalty=0.0)
    if k < 2:
        return plain, wide
    return plain, ask_translate(system, asked, beam=max(beam, k), n_best=k, length_penalty=0.0)


def normalisation(system: Any, own: Scored, plain: Scored, gaps: Mapping[str, float | None]) -> Record:
    """What the length penalty changes about a sentence, as it is stored; nothing where there is no penalty.

    `gaps` are the nats by which `own` is less probable than the mode, and than the best hypothesis known.
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
        **gaps,
    }
    return {"normalisation": found}


def normalisation_rows(cell: SystemRecords) -> Iterator[Row]:
    """How often the penalty changes the translation, by how many nats and tokens; how often it misses the mode."""
    known: list[Mapping[str, Any]] = [record.get("normalisation") or {} for record in cell.records]
    labels: Labels = penalty_label(cell.records)
    if not labels:
        return
    changed = [each.get("changed") for each in known]
    yield cell.share("normalisation_changes", changed, labels, "changed")
    for name, field in (("normalisation_costs", "costs"), ("normalisation_lengthens", "length")):
        yield cell.mean(name, [each.get(field) for each in known], labels)
    size = beam_label(cell.records, "beam")
    if size.get("beam") not in cell.settings.beams:  # else it is among those rows
        gaps = [gap_to_mode(each, cell.settings.unresolved) for each in known]
        unproven = sum(each.get("missed_by") is None for each in known)
        yield from misses_mode_rows(cell, gaps, {**size, **labels}, {"unresolved": unproven})
