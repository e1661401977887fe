"""The harder world: what is rare, how long sentences are, and what is wrong with its text."""

from __future__ import annotations

import json
import math
import random
import statistics
from pathlib import Path

import pytest
from typer.main import get_command

from babelscope.cli import app
from babelscope.lab.grammar.corpus import generate, make_corpus
from babelscope.lab.grammar.meaning import RandomChooser, random_stream
from babelscope.lab.grammar.oracle import SentenceChecker
from babelscope.lab.grammar.sentences import realize
from babelscope.lab.grammar.worlds import _FEMININE, _RARE, EASY, HARD, World, find_world
from babelscope.lab.shipped import model_names, read_lab
from babelscope.lab.training.recipe import jobs
from babelscope.testsets.items import AmbiguousSource
from babelscope.util.errors import BabelscopeError
from tests.test_docs import parse

N = 1500


def within(found: int, of: int, share: float, *, tolerance: float = 0.0) -> bool:
    """Whether a count is within four standard errors of a share, give or take a tolerance."""
    return abs(found / of - share) < 4 * math.sqrt(share * (1 - share) / of) + tolerance


def test_what_is_rare_is_rare_and_sentences_are_as_long_as_news() -> None:
    for world, feminine, rare in ((EASY, _FEMININE, _RARE), (HARD, 0.04, 0.04)):
        pairs = list(generate(N, 1, "train", world))
        told = [one.gender for pair in pairs for one in pair.labels.occupations if one.told]
        senses = [one.frequency for pair in pairs for one in pair.labels.senses]
        # A sentence with two such mentions is thinned twice, so the shares are not met to the last digit.
        assert within(told.count("female"), len(told), feminine, tolerance=0.012)
        assert within(senses.count("rare"), len(senses), rare, tolerance=0.012)
    lengths = [len(pair.source.split()) for pair in pairs]
    assert 19 < statistics.mean(lengths) < 21.5


def test_noise_is_as_often_there_as_said_and_only_in_training_text(tmp_path: Path) -> None:
    make_corpus(tmp_path, N, 1, world=HARD)
    source, target = (tmp_path / f"corpus.{side}" for side in ("en", "de"))
    sources, targets = (path.read_text().splitlines() for path in (source, target))
    labels = [json.loads(line) for line in (tmp_path / "corpus.labels.jsonl").read_text().splitlines()]
    clean = {pair.source: pair.target for pair in generate(N, 1, "train", HARD)}
    assert list(clean) == sources
    for kind, share in HARD.noise.items():
        of_kind = [number for number, label in enumerate(labels) if label.get("noise") == kind]
        assert within(len(of_kind), N, share)
        for number in of_kind:
            right = clean[sources[number]]
            assert (targets[number] == right) == (kind == "misaligned" and targets[number - 1] == right)
            if kind == "copied":
                assert targets[number] == sources[number]
            elif kind == "misaligned":
                assert targets[number] == targets[number - 1]
            elif kind == "truncated":
                assert right.startswith(targets[number])
            else:
                assert len(targets[number].split()) == len(right.split())
    rest = [number for number, label in enumerate(labels) if "noise" not in label]
    assert all(targets[number] == clean[sources[number]] for number in rest)
    make_corpus(tmp_path / "dev", 200, 1, "dev", world=HARD)
    assert "noise" not in (tmp_path / "dev" / "corpus.labels.jsonl").read_text()


def test_the_grammar_judges_longer_sentences_too() -> None:
    rng = random.Random(0)
    for _ in range(300):
        pair = realize(HARD.meaning(rng), rng)
        verdict = SentenceChecker(pair.meaning, pair.target).verdict((), ())
        assert verdict.right, (pair.target, verdict)


@pytest.mark.parametrize("name", ["parallel", "challenge", "pairs", "gender", "senses"])
def test_every_kind_of_test_set_is_there_and_longer(name: str) -> None:
    easy, hard = (
        [item.source for item in read_lab(which, n=12).items if hasattr(item, "source")]
        for which in (name, f"hard-{name}")
    )
    assert len(hard) == len(easy)
    assert sum(map(len, hard)) > 1.3 * sum(map(len, easy))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hard-gender", {"he", "she", "him", "her", "his", "himself", "herself"}),
        ("hard-gender-marked", {"male", "female"}),
    ],
)
def test_sources_of_the_other_gender_differ_in_nothing_else(name: str, words: set[str]) -> None:
    for item in read_lab(name, n=40).items:
        assert isinstance(item, AmbiguousSource)
        both = (each.split() for each in (item.source, item.incorrect_sources[0]))
        changed = {pair for pair in zip(*both, strict=True) if len(set(pair)) > 1}
        assert {word.strip(".,;:").lower() for pair in changed for word in pair} <= words
        assert len(changed) == 1


def test_german_is_even_where_it_says_the_same_and_not_where_it_tells_a_gender() -> None:
    rng = random_stream(1, "even")
    usual, even = RandomChooser(rng), RandomChooser(rng, even=True)

    def share(choose: RandomChooser, *, facts: bool = False) -> float:
        return sum(choose((0.9, 0.1), facts=facts) == 0 for _ in range(2000)) / 2000

    assert share(usual) == pytest.approx(0.9, abs=0.03)
    assert share(even) == pytest.approx(0.5, abs=0.05)
    assert share(even, facts=True) == pytest.approx(0.9, abs=0.03)
    assert all(even((1.0, 0.0)) == 0 for _ in range(100)), "what never is said stays so"


def test_its_models_have_names_and_the_vocabulary_of_the_others() -> None:
    made = jobs([1, 2], HARD)
    kinds = ("teacher", "student", "control", "unsmoothed")
    assert {job.name for job in made} == {
        "clean-teacher",
        *(f"hard-{kind}{seed}" for kind in kinds for seed in ("", "-2")),
    }
    assert all("tokenizer" in job.arguments for job in made if "--teacher" not in job.arguments)
    assert "teacher" in model_names(EASY)
    with pytest.raises(BabelscopeError, match="no world 'harder'; there are easy, hard, clean"):
        find_world("harder")


@pytest.mark.parametrize("world", [EASY, HARD])
def test_the_commands_that_train_its_models_exist(world: World) -> None:
    for job in jobs([1, 2], world):
        parse(get_command(app), ["lab", *job.arguments, "--out", job.name])
