"""Sentences given twice: no interval is narrower, since a source that is repeated says nothing new."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import babelscope as bs
from babelscope.testsets import ParallelSentence
from tests.support.toy_fixtures import Babelscope
from tests.support.toys import Canned


def twice(items: Sequence[Any]) -> list[Any]:
    return [*items, *(dataclasses.replace(item, id=f"{item.id}, again") for item in items)]


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
