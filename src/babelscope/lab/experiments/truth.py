"""Compares conditioning with the truth: the lab's grammar knows which sense or gender a translation has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from babelscope import condition
from babelscope.core.results import Record, Row
from babelscope.core.system import properties
from babelscope.lab.grammar import suites
from babelscope.lab.grammar.corpus import references
from babelscope.lab.grammar.meaning import random_stream
from babelscope.lab.grammar.oracle import Extent, genders_and_senses, judge, realize_with_mistake
from babelscope.lab.grammar.sentences import SentencePair
from babelscope.lab.grammar.worlds import EASY, World
from babelscope.methods.condition.figures import Protocol, is_decided
from babelscope.metrics.corpus import corpus_estimate
from babelscope.stats.intervals import clustered_proportion, proportion
from babelscope.stats.weighted import weighted_share
from babelscope.systems.contract import ask_sample, ask_translate
from babelscope.testsets.items import AmbiguousSource, TestSet
from babelscope.util.errors import BabelscopeError

SEED = 2026
"""Seed of the test items; nobody looked at these while the corpus was designed."""
_REFERENCES = 5
_CHUNK = 500
_JUDGED = ("agreement", "case", "particle", "order", "polarity", "exact")


def evaluate(
    system: Any,
    *,
    n: int = 500,
    seed: int = SEED,
    beam: int = 5,
    world: World = EASY,
    advance: Callable[[int], None] = lambda _: None,
) -> list[Row]:
    """Rows for one system on n held-out sentences, n with a gendered occupation and n with an ambiguous word."""
    labels = {"system": system.name}
    makers = {"": suites.parallel_pairs, "gender": suites.gender_pairs, "sense": suites.sense_pairs}
    rows: list[Row] = []
    for name, make in makers.items():
        pairs = make(n, seed, world=world)
        translations = best_translations(system, [pair.source for pair in pairs], beam)
        verdicts = [judge(pair.meaning, text) for pair, text in zip(pairs, translations, strict=True)]
        if name:
            triples = [triple for verdict in verdicts for triple in getattr(verdict, f"{name}s")]
            rows += _category_rows(name, triples, labels)
        else:
            rows += _quality_rows(pairs, translations, seed, labels)
            for aspect in _JUDGED:
                right = proportion(sum(getattr(verdict, aspect) for verdict in verdicts), n)
                rows.append(Row(aspect, right, labels))
        advance(n)
    return rows


def best_translations(system: Any, sources: Sequence[str], beam: int) -> list[str]:
    """The best translation of each source, in chunks unless the system must be asked as a whole."""
    size = len(sources) if properties(system).asked_as_a_whole else _CHUNK
    return [
        group[0].text
        for start in range(0, len(sources), size)
        for group in ask_translate(system, sources[start : start + size], beam=beam)
    ]


def _quality_rows(
    pairs: Sequence[SentencePair], translations: Sequence[str], seed: int, labels: dict[str, str]
) -> list[Row]:
    """BLEU and chrF against one reference and against several."""
    one = [[pair.target] for pair in pairs]
    several = [[pair.target, *references(pair.meaning, _REFERENCES - 1, seed)] for pair in pairs]
    return [
        Row(metric, corpus_estimate(metric, translations, group), {**labels, "references": count})
        for count, group in ((1, one), (_REFERENCES, several))
        for metric in ("bleu", "chrf")
    ]


def _category_rows(name: str, triples: Sequence[tuple[str, str, str]], labels: dict[str, str]) -> list[Row]:
    """Accuracy by category; what the oracle cannot decide is counted as `unknown`, and is not right."""
    total, right, unknown = Counter[str](), Counter[str](), Counter[str]()
    for _, gold, found in triples:
        total[gold] += 1
        right[gold] += gold == found
        unknown[gold] += found == "unknown"
    return [
        Row(name, proportion(right[gold], n), {**labels, "category": gold}, {"unknown": unknown[gold]})
        for gold, n in sorted(total.items())
    ]


Suite = Literal["gender", "gender-marked", "senses", "senses-other"]
_MAKERS: dict[Suite, tuple[Any, Any]] = {
    "gender": (suites.gender_pairs, suites.gender_items),
    "gender-marked": (suites.marked_pairs, suites.marked_items),
    "senses": (suites.adjective_pairs, suites.sense_items),
    "senses-other": (suites.adjective_pairs, suites.other_adjective_items),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A test item, and the sentence pair that it was made from."""

    item: AmbiguousSource
    pair: SentencePair
    noun: str
    """The ambiguous noun's name in the lexicon: doctor, or bat/rare."""

    def truth(self, translation: str) -> bool | None:
        """Whether a translation has the intended gender or sense; None if the grammar cannot decide."""
        word = self.noun.partition("/")[0]
        nouns = genders_and_senses(self.pair.meaning, translation)
        gold, found = next((gold, found) for name, gold, found in nouns if name == word)
        return None if found == "unknown" else gold == found


def cases(suite: Suite, n: int, seed: int, world: World = EASY) -> list[Case]:
    """The items of a lab test set, with their sentence pairs."""
    pairs, items = (make(n, seed, world=world) for make in _MAKERS[suite])
    made = []
    for item, pair in zip(items, pairs, strict=True):
        noun = item.get("occupation") or f"{item['word']}/{item['category']}"
        made.append(Case(AmbiguousSource.from_json(item), pair, noun))
    return made


def with_mistakes(
    made: Sequence[Case], extent: Extent, share: float, seed: int, world: World = EASY
) -> list[str]:
    """The grammar's own translation of each case; a random share of them has the mistake."""
    rng = random_stream(seed, f"truth/{extent}")
    return [
        realize_with_mistake(case.pair, case.noun, rng, extent, even=world.even)
        if rng.random() < share
        else case.pair.target
        for case in made
    ]


def compare_with_truth(
    evaluator: Any,
    systems: Sequence[Any],
    *,
    suite: Suite,
    n: int = 500,
    seed: int = 2026,
    samples: bool = False,
    share: float = 0.5,
    beam: int = 5,
    world: World = EASY,
    protocol: Protocol = "checked",
) -> tuple[list[Row], list[Record]]:
    """Agreement of conditioning with the grammar, on each system's translations and on made mistakes.

    If all translations are right, agreement only shows that right ones are not called wrong. So a share of the
    grammar's own translations gets a mistake; with `samples`, random samples of the systems are judged too.
    """
    made = cases(suite, n, seed, world)
    tests = f"lab:{suite}" if world == EASY else f"lab:{world.name}-{suite}"
    sources = [case.item.source for case in made]
    given: dict[tuple[str, str], list[str]] = {}
    for system in systems:
        given[system.name, "best"] = best_translations(system, sources, beam)
        if samples:
            drawn = ask_sample(system, sources, n=1, seed=seed)
            given[system.name, "sampled"] = [sample.text for sample, *_ in drawn]
    # Only `gender` has a pronoun that could agree with the mistaken noun.
    extents: tuple[Extent, ...] = ("noun", "throughout") if suite == "gender" else ("noun",)
    for extent in extents:
        given["grammar", f"mistaken {extent}"] = with_mistakes(made, extent, share, seed, world)
    rows: list[Row] = []
    records: list[Record] = []
    for (name, kind), translations in given.items():
        passed, judged = judge_translations(evaluator, made, translations, tests, protocol)
        labels = {
            "tests": tests,
            "system": name,
            "translations": kind,
            "evaluator": evaluator.name,
            "passed": passed,
        }
        rows += _agreement_rows(judged, labels)
        records += [{**record, "system": name, "translations": kind} for record in judged]
    return rows, records


def judge_translations(
    evaluator: Any,
    made: Sequence[Case],
    translations: Sequence[str],
    tests: str,
    protocol: Protocol = "checked",
) -> tuple[str, list[Record]]:
    """Whether the evaluator passed its test, and the verdicts with the truth beside them."""
    items = tuple(replace(case.item, translation=text) for case, text in zip(made, translations, strict=True))
    result = condition("items:translations", TestSet(tests, items), evaluator=evaluator, protocol=protocol)
    passed = next(str(row.labels["passed"]) for row in result.rows if row.name == "preflight")
    return passed, [
        {**record, "truth": case.truth(text)}
        for record, case, text in zip(result.records, made, translations, strict=True)
    ]


def _agreement_rows(records: Sequence[Record], labels: dict[str, str]) -> list[Row]:
    """Share of decided items on which verdict and truth agree, unweighted and weighted by confidence (table 2)."""
    known = [record for record in records if record["truth"] is not None and is_decided(record)]
    if all(record["truth"] is None for record in records):
        raise BabelscopeError(f"the grammar can judge no translation of {labels['system']}")
    counts = {
        "agreed": sum(record["correct"] == record["truth"] for record in known),
        "right": sum(record["truth"] for record in known),
        "unknown": sum(record["truth"] is None for record in records),
        "undecided": sum(record["verdict"] == "undecided" for record in records),
        "skipped": sum(bool(record["skipped"]) for record in records),
    }
    agreed = [float(record["correct"] == record["truth"]) for record in known]
    sources = [record["source"] for record in known]
    return [
        Row("agreement", clustered_proportion(agreed, sources), labels, counts),
        Row(
            "weighted",
            weighted_share(
                agreed,
                sources,
                [record["weight"] for record in known],
                [record["category"] for record in known],
            ),
            labels,
            counts,
        ),
    ]
