"""Sentences given twice: no interval is narrower, since a source that is repeated says nothing new."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import babelscope as bs
from babelscope.core.results import Estimate, Result, Row
from babelscope.testsets import ParallelSentence
from tests.support.toy_fixtures import Babelscope
from tests.support.toys import Canned

OUTCOMES = ("p", "p_holm", "significant", "noise")
DRAWN = ("control_mean", "control_sd", "control_rank", "length_pearson", "length_spearman")
"""Their intervals are over random corpora, not over sentences."""


def twice(items: Sequence[Any]) -> list[Any]:
    return [*items, *(dataclasses.replace(item, id=f"{item.id}, again") for item in items)]


def by_figure(result: Result) -> dict[tuple[str, ...], Estimate]:
    def key(row: Row) -> tuple[str, ...]:
        told = (f"{name} {value}" for name, value in row.labels.items() if name not in OUTCOMES)
        return row.name, *sorted(told)

    return {key(row): row.estimate for row in result.rows if row.name not in DRAWN}


def systems() -> list[Any]:
    return [bs.open_system("lab:student"), bs.open_system("lab:control")]


RUNS: dict[str, tuple[Callable[[Sequence[Any]], Result], str]] = {
    "quality": (lambda items: bs.quality(systems(), items, metric=("bleu", "ter")), "lab:parallel?n=20"),
    "likelihood": (lambda items: bs.likelihood(systems(), items), "lab:parallel?n=20"),
    "challenge": (
        lambda items: bs.challenge(
            systems(), items, length_sizes=(), distances=(0, 1, 2), matched_corpora=2000, metrics=("chrf",)
        ),
        "lab:challenge?n=60",
    ),
    "contrast": (lambda items: bs.contrast(systems(), items), "lab:pairs?n=4"),
    "errors": (lambda items: bs.errors(systems(), items), "lab:parallel?n=30"),
    "space": (lambda items: bs.space(systems()[0], items, k=2, samples=3), "lab:parallel?n=6"),
}


@pytest.mark.parametrize("method", RUNS)
def test_repeating_all_items_narrows_no_interval(method: str) -> None:
    run, tests = RUNS[method]
    items = list(bs.load(tests))
    once, again = by_figure(run(items)), by_figure(run(twice(items)))
    assert once.keys() == again.keys()
    compared = 0
    for figure, one in once.items():
        two = again[figure]
        if one.n and not one.no_interval:
            assert two.value == pytest.approx(one.value, abs=1e-6) or figure[0] in (
                "minus_control",
                "control_z",
            )
            # Half as many draws are left to chance where each corpus has twice as many sentences.
            assert two.high - two.low >= 0.995 * (one.high - one.low), (figure, one, two)
            compared += 1
        else:
            assert two.no_interval or not two.n, (figure, one, two)
    assert compared > 1


# -- corpus scores of stored translations ----------------------------------------------------------------

WORDS = [
    "the",
    "old",
    "man",
    "gave",
    "his",
    "book",
    "up",
    "to",
    "a",
    "child",
    "that",
    "sat",
    "there",
    "all",
    "day",
]


def pairs(count: int, seed: int) -> list[tuple[str, str, str]]:
    """A source, its reference and a translation, a third of whose words are wrong on average."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        words = rng.choice(WORDS, rng.integers(4, 20))
        other = np.where(rng.random(len(words)) < rng.beta(1, 2), rng.choice(WORDS, len(words)), words)
        made.append((f"source {number}", " ".join(words), " ".join(other)))
    return made


def test_more_than_a_thousand_sentences_are_grouped_by_source() -> None:
    known = pairs(1200, 3)
    items = [ParallelSentence(str(n), source, (text,)) for n, (source, text, _) in enumerate(known)]
    system = Canned({source: output for source, _, output in known})
    once, again, moved = (
        bs.quality(system, some, metric=("chrf",)).rows[0].estimate
        for some in (items, [each for item in items for each in twice([item])], items[::-1])
    )
    assert (again.value, again.low, again.high) == pytest.approx((once.value, once.low, once.high))
    assert (moved.low, moved.high) == pytest.approx((once.low, once.high))


def test_intervals_cover_where_sources_are_repeated() -> None:
    """Of 40 sources, each given one to three times; without clusters, 82 % of intervals cover the truth."""
    bank = pairs(3000, 4)
    system = Canned({source: output for source, _, output in bank})
    whole = [ParallelSentence(source, source, (reference,)) for source, reference, _ in bank]
    truth = bs.quality(system, whole, metric=("chrf",)).rows[0].estimate.value
    rng = np.random.default_rng(5)
    covered, draws = 0, 120
    for _ in range(draws):
        chosen = np.repeat(rng.choice(len(bank), 40), rng.integers(1, 4, 40))
        some = [dataclasses.replace(whole[each], id=str(place)) for place, each in enumerate(chosen)]
        estimate = bs.quality(system, some, metric=("chrf",)).rows[0].estimate
        covered += estimate.low <= truth <= estimate.high
    assert covered >= 0.9 * draws


@pytest.mark.parametrize("command", ["quality", "errors"])
def test_pooling_target_languages_is_warned_of(babelscope: Babelscope, tmp_path: Path, command: str) -> None:
    german, french = "Der Hund läuft schnell nach Hause.", "Le chien court vite à la maison."
    for languages in (["de", "fr", "de"], ["de", "de", "de"]):
        lines = [
            {"id": str(n), "source": f"The dog runs {n}.", "reference": french if code == "fr" else german}
            | {"target_language": code}
            for n, code in enumerate(languages)
        ]
        (tmp_path / "tests.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (tmp_path / "out.txt").write_text("".join(f"{line['reference']}\n" for line in lines))
        ran = babelscope(command, "--tests", "tests.jsonl", "--system", "file:out.txt", "--json")
        assert ran.code == 0, ran.err
        assert ("2 target languages (de: 2, fr: 1)" in ran.err) == ("fr" in languages)
