"""Which class, such as a gender, translations have in the evaluator's eyes, and how often (paper, section 3.6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from babelscope.core.results import Record, Row
from babelscope.methods.condition.figures import is_decided, margin_of_record
from babelscope.stats.intervals import clustered_proportion, odds
from babelscope.testsets.winomt import CUED

_OTHER = {"male": "female", "female": "male"}


def class_of_translation(record: Record) -> str | None:
    """The class whose cue makes the translation likeliest; None if undecided, a tie, or its classes are unknown.

    Of two genders, a wrong translation has the other one. Of more classes, the item says whose cue each source has.
    """
    if not is_decided(record) or margin_of_record(record) == 0:
        return None
    right = margin_of_record(record) > 0
    cued = (record.get("extra") or {}).get(CUED)
    if isinstance(cued, Mapping):
        best = record.get("correct_source" if right else "incorrect_source")
        return next((str(name) for name, source in cued.items() if source == best), None)
    gold = record["gold"]
    return (gold if right else _OTHER[gold]) if gold in _OTHER else None


def class_rows(records: Sequence[Record]) -> list[Row]:
    """M:F, male for each female translation (Saunders and Byrne 2020); of three classes, what became of each."""
    known = [(record, name) for record in records if (name := class_of_translation(record)) is not None]
    if not any(record["gold"] in _OTHER for record, _ in known):
        return []
    labels = {"evaluator": known[0][0]["evaluator"]}
    golds, found = (
        Counter(some) for some in ([record["gold"] for record, _ in known], [name for _, name in known])
    )
    gendered = [(record, name) for record, name in known if name in _OTHER]
    male = clustered_proportion(
        [float(name == "male") for _, name in gendered], [record["source"] for record, _ in gendered]
    )
    counts = {name: found[name] for name in ("male", "female", "neutral") if name in _OTHER or found[name]}
    meant = {f"meant_{name}": golds[name] for name in ("male", "female", "neutral") if golds[name]}
    rows = [Row("male_to_female", odds(male), labels, {**counts, **meant})]
    if len(found.keys() | golds.keys()) > 2:
        rows += _confusion(known, labels)
    return rows


def _confusion(known: Sequence[tuple[Record, str]], labels: Mapping[str, str]) -> list[Row]:
    """Of the items of each class, the share translated as each."""
    names = sorted({record["gold"] for record, _ in known} | {name for _, name in known})
    rows = []
    for gold in sorted({record["gold"] for record, _ in known}):
        own = [(record["source"], name) for record, name in known if record["gold"] == gold]
        for name in names:
            held = [float(each == name) for _, each in own]
            share = clustered_proportion(held, [source for source, _ in own])
            told = {**labels, "category": gold, "as": name}
            rows.append(Row("translated as", share, told, {"count": int(sum(held))}))
    return rows
