"""Conditioning held against the truth: in the lab, the grammar knows which sense or gender a translation has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from babelscope.core.results import Record, Row
from babelscope.lab.experiments.evaluation import best_translations
from babelscope.lab.grammar import cued, suites
from babelscope.lab.grammar.choice import stream
from babelscope.lab.grammar.mistakes import Extent, mistaken
from babelscope.lab.grammar.oracle import told
from babelscope.lab.grammar.sentences import SentencePair
from babelscope.runs.judging import condition
from babelscope.stats.intervals import clustered_proportion
from babelscope.systems.asking import ask_sample
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.sets import TestSet
from babelscope.util.errors import BabelscopeError

Suite = Literal["gender", "gender-marked", "senses", "senses-other"]
_MAKERS: dict[Suite, tuple[Any, Any]] = {
    "gender": (suites.gender_pairs, suites.gender_items),
    "gender-marked": (cued.marked_pairs, cued.marked_items),
    "senses": (suites.adjective_pairs, suites.sense_items),
    "senses-other": (suites.adjective_pairs, cued.other_adjective_items),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A test item, and the pair with its meaning that it was made from."""

    item: AmbiguousSource
    pair: SentencePair
    noun: str
    """What is asked about, as the lexicon calls it: doctor, or bat/rare."""

    def truth(self, translation: str) -> bool | None:
        """Whether a translation has the gender or sense meant; None if the grammar cannot tell."""
        word = self.noun.partition("/")[0]
        nouns = told(self.pair.meaning, translation)
        gold, found = next((gold, found) for name, gold, found in nouns if name == word)
        return None if found == "unknown" else gold == found


def cases(suite: Suite, n: int, seed: int) -> list[Case]:
    """The items of a test set of the lab, with their meanings."""
    pairs, items = (make(n, seed) for make in _MAKERS[suite])
    made = []
    for item, pair in zip(items, pairs, strict=True):
        noun = item.get("occupation") or f"{item['word']}/{item['category']}"
        made.append(Case(AmbiguousSource.from_json(item), pair, noun))
    return made


def with_mistakes(made: Sequence[Case], extent: Extent, share: float, seed: int) -> list[str]:
    """A translation a case by the grammar itself, a share of them (drawn by seed) with the mistake."""
    rng = stream(seed, f"truth/{extent}")
    return [
        mistaken(case.pair, case.noun, rng, extent) if rng.random() < share else case.pair.target
        for case in made
    ]


def hold_against_truth(
    evaluator: Any,
    systems: Sequence[Any],
    *,
    suite: Suite,
    n: int = 500,
    seed: int = 2026,
    samples: bool = False,
    share: float = 0.5,
    beam: int = 5,
) -> tuple[list[Row], list[Record]]:
    """How often conditioning says what the grammar says, of each system's translations and of made mistakes.

    Where all translations are right, agreement only shows that right ones are not called wrong; so a share of the
    grammar's own translations is judged with a mistake in it, and with `samples` what systems draw at random.
    """
    made = cases(suite, n, seed)
    sources = [case.item.source for case in made]
    given: dict[tuple[str, str], list[str]] = {}
    for system in systems:
        given[system.name, "best"] = best_translations(system, sources, beam)
        if samples:
            drawn = ask_sample(system, sources, n=1, seed=seed)
            given[system.name, "sampled"] = [sample.text for sample, *_ in drawn]
    # Only in `gender` is there a pronoun that could follow the mistake.
    extents: tuple[Extent, ...] = ("noun", "throughout") if suite == "gender" else ("noun",)
    for extent in extents:
        given["grammar", f"mistaken {extent}"] = with_mistakes(made, extent, share, seed)
    rows: list[Row] = []
    records: list[Record] = []
    for (name, kind), translations in given.items():
        judged = _judged(evaluator, made, translations, suite)
        labels = {"tests": f"lab:{suite}", "system": name, "translations": kind, "evaluator": evaluator.name}
        rows += _agreement(judged, labels)
        records += [{**record, "system": name, "translations": kind} for record in judged]
    return rows, records


def _judged(evaluator: Any, made: Sequence[Case], translations: Sequence[str], suite: Suite) -> list[Record]:
    items = tuple(replace(case.item, translation=text) for case, text in zip(made, translations, strict=True))
    result = condition(None, evaluator, TestSet(f"lab:{suite}", items))
    return [
        {**record, "truth": case.truth(text)}
        for record, case, text in zip(result.records, made, translations, strict=True)
    ]


def _agreement(records: Sequence[Record], labels: dict[str, str]) -> list[Row]:
    """Share of items on which both agree, unweighted and weighted by confidence (table 2)."""
    known = [record for record in records if record["truth"] is not None and not record["skipped"]]
    if not known:
        raise BabelscopeError(f"the grammar can tell nothing about the translations of {labels['system']}")
    counts = {
        "agreed": sum(record["correct"] == record["truth"] for record in known),
        "right": sum(record["truth"] for record in known),
        "unknown": sum(record["truth"] is None for record in records),
        "skipped": sum(bool(record["skipped"]) for record in records),
    }
    agreed = [float(record["correct"] == record["truth"]) for record in known]
    sources = [record["source"] for record in known]
    return [
        Row("agreement", clustered_proportion(agreed, sources), labels, counts),
        Row(
            "weighted",
            clustered_proportion(agreed, sources, [record["weight"] for record in known]),
            labels,
            counts,
        ),
    ]
