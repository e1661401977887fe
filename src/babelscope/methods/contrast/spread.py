"""How far a system's own alternatives are from its 1-best: what the discrepancy of a test set is held against."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.answers import capabilities, properties
from babelscope.core.page import Caveat
from babelscope.core.results import Record, Row
from babelscope.methods.contrast.settings import ContrastSettings
from babelscope.methods.contrast.tokens import stored_score
from babelscope.methods.grouping import sources
from babelscope.methods.view import one
from babelscope.stats.intervals import clustered_mean
from babelscope.systems.asking import ask_sample, ask_score, ask_translate, scored_as_json
from babelscope.testsets.items import MinimalPair
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream

SECOND, SAMPLE = "second", "sample"


def sample(items: Sequence[MinimalPair], settings: ContrastSettings, seed: int) -> frozenset[int]:
    """Places of the items whose sources are asked about: at most `spread`, each source once."""
    first: dict[str, int] = {}
    for place, item in enumerate(items):
        if item.can_be_asked:
            first.setdefault(item.source, place)
    places = list(first.values())
    if settings.discrepancy == "none" or not settings.spread:
        return frozenset()
    order = stream(seed, "contrast/spread").permutation(len(places))
    return frozenset(places[number] for number in order[: settings.spread])


def ask_spread(
    systems: Mapping[str, Any],
    items: Sequence[MinimalPair],
    records: Mapping[int, Record],
    settings: ContrastSettings,
    seed: int,
) -> dict[int, Record]:
    """For each sampled item the second-best translation and a sample, where the system gives them for nothing."""
    system = systems["system"]
    how = properties(system)
    places = [place for place, record in records.items() if "best" in record and "correct" in record]
    # Servers would be paid for it, and stored answers have no more than they have.
    if not places or how.costly or how.stored or how.asked_as_a_whole:
        return {}
    questions = [items[place].question for place in places]
    found: dict[int, dict[str, Any]] = {place: {} for place in places}
    if settings.beam > 1 and "translate" in capabilities(system):
        try:
            lists = ask_translate(system, questions, beam=settings.beam, n_best=2)
        except BabelscopeError:  # it gives one translation only
            lists = []
        for place, question, answers in zip(places, questions, lists, strict=False):
            for second in answers[1:]:
                scored = second if second.has_scores else ask_score(system, [(question, second.text)])[0]
                found[place][SECOND] = scored_as_json(scored)
    if "sample" in capabilities(system):
        for place, drawn in zip(places, ask_sample(system, questions, n=1, seed=seed), strict=True):
            if drawn[0].has_scores:
                found[place][SAMPLE] = scored_as_json(drawn[0])
    return {place: {"spread": each} for place, each in found.items() if each}


def spread_rows(records: Sequence[Record], settings: ContrastSettings) -> list[Row]:
    """`spread`: mean of score(1-best) - score(alternative), for the second-best translation and for a sample."""
    rows = []
    for kind in (SECOND, SAMPLE):
        known, distances = [], []
        for record in records:
            other = record.get("spread", {}).get(kind)
            if not other or "best" not in record:
                continue
            best, its = (stored_score(each, settings.score) for each in (record["best"], other))
            if math.isfinite(best) and math.isfinite(its):
                known.append(record)
                distances.append(best - its)
        if known:
            rows.append(Row("spread", clustered_mean(distances, sources(known)), {"of": kind}))
    return rows


CAUTION = "not comparable between models (section 3.2): compare test sets under one model, not models"
"""What must be said where the discrepancies of several systems stand beside each other."""


def discrepancy_caveats(system: str, rows: Sequence[Row]) -> list[Caveat]:
    """How far the pairs are from the system's output, measured by its own alternatives."""
    second, drawn = (one(rows, "spread", of=kind) for kind in (SECOND, SAMPLE))
    whole = [row for row in rows if row.name == "discrepancy" and "phenomenon" not in row.labels]
    # Of one kind of reference there is one figure, without that label.
    distances = [row for row in whole if "reference" in row.labels] or whole
    kinds = {
        str(row.labels["reference"])
        for row in rows
        if row.name == "discrepancy" and "reference" in row.labels
    }
    machine = next((row for row in distances if row.labels.get("reference") == "machine"), None)
    found = []
    for row in distances:
        kind = row.labels.get("reference") or ", ".join(kinds)
        nearer = [
            (words, each)
            for words, each in (
                ("its second-best one", second),
                ("machine references", machine if kind == "human" else None),
                ("a sample of its own", drawn),
            )
            if each is not None and each.estimate.high < row.estimate.low
        ]
        if not nearer:
            continue
        beyond = ", ".join(words for words, _ in nearer)
        found.append(
            Caveat(
                system,
                f"pairs with {kind} references are farther from its translation than {beyond}: errors there say "
                "little.",
            )
        )
    if not any(row.name == "discrepancy" for row in rows):
        found.append(
            Caveat(
                system,
                "how far the pairs are from its own translations is not known: it may never make such errors.",
            )
        )
    return found
