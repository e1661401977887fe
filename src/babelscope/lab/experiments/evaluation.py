"""Quality of the lab's models: BLEU, chrF, and the grammar's own verdicts on their translations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from babelscope.core.answers import properties
from babelscope.core.results import Row
from babelscope.lab.grammar import suites
from babelscope.lab.grammar.corpus import references
from babelscope.lab.grammar.oracle import Verdict, judge
from babelscope.lab.grammar.sentences import SentencePair
from babelscope.lab.grammar.worlds import EASY, World
from babelscope.metrics.corpus import corpus_estimate
from babelscope.stats.intervals import proportion
from babelscope.systems.asking import ask_translate

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
            rows += [*_quality_rows(pairs, translations, seed, labels), *_grammar_rows(verdicts, labels)]
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
        Row(
            metric,
            corpus_estimate(metric, translations, group),
            {**labels, "references": count},
        )
        for count, group in ((1, one), (_REFERENCES, several))
        for metric in ("bleu", "chrf")
    ]


def _grammar_rows(verdicts: Sequence[Verdict], labels: dict[str, str]) -> list[Row]:
    """The share of translations that are right in each aspect of the grammar."""
    return [
        Row(name, proportion(sum(getattr(verdict, name) for verdict in verdicts), len(verdicts)), labels)
        for name in _JUDGED
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
