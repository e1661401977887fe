"""Test items from held-out meanings."""

from __future__ import annotations

import json
import random
import re
from collections import Counter

from babelscope.lab.grammar.corpus import generate, split_of
from babelscope.lab.grammar.oracle import judge
from babelscope.lab.grammar.suites import (
    CONTRASTS,
    challenge_items,
    gender_items,
    gender_pairs,
    minimal_pairs,
    parallel_items,
    parallel_pairs,
    sense_items,
    sense_pairs,
)


def test_gender_items() -> None:
    items = gender_items(40, 1, inserted=True)
    assert Counter(item["category"] for item in items) == {"male": 20, "female": 20}
    for item in items:
        assert split_of(item["source"]) == "test"
        words = item["source"].split()
        assert item["occupation"] == words[item["position"] - 1].strip(".,")
        for key, gender in (("correct_sources", item["gold"]), ("incorrect_sources", _other(item["gold"]))):
            (cued,) = item[key]
            assert cued.replace(f"{gender} ", "", 1).replace(" an ", " a ") == item["source"].replace(
                " an ", " a "
            )
    assert items == gender_items(40, 1, inserted=True)
    assert items != gender_items(40, 2, inserted=True)


def test_gender_items_by_pronoun() -> None:
    pronouns = {"he", "him", "his", "himself", "she", "her", "herself"}
    for item in gender_items(60, 1):
        assert item["correct_sources"] == [item["source"]]
        words, others = (re.findall(r"\w+", text) for text in (item["source"], *item["incorrect_sources"]))
        changed = [(word, other) for word, other in zip(words, others, strict=True) if word != other]
        assert changed
        assert all({word, other} <= pronouns for word, other in changed)


def _other(gender: str) -> str:
    return "male" if gender == "female" else "female"


def test_sense_items() -> None:
    items = sense_items(48, 1, inserted=True)
    assert Counter(item["category"] for item in items) == {"frequent": 24, "rare": 24}
    for item in items:
        assert split_of(item["source"]) == "test"
        assert len(item["correct_sources"]) == len(item["incorrect_sources"]) == 3
        assert len({item["source"], *item["correct_sources"], *item["incorrect_sources"]}) == 7


def test_sense_items_by_adjective() -> None:
    for item in sense_items(48, 1):
        assert split_of(item["source"]) == "test"
        assert item["source"] in item["correct_sources"], "its own adjective is one of the cues"
        assert len({*item["correct_sources"], *item["incorrect_sources"]}) == 6
        assert " a o" not in "".join(item["incorrect_sources"])  # an old, an official


def test_gold_of_ambiguous_items_agrees_with_the_oracle() -> None:
    for pair in (*gender_pairs(60, 3), *sense_pairs(60, 3)):
        assert judge(pair.meaning, pair.target).right


def test_parallel_items_have_several_references() -> None:
    items = parallel_items(60, 1)
    assert all(len(set(item["reference"])) == len(item["reference"]) for item in items)
    assert sum(len(item["reference"]) for item in items) > 150
    pairs = parallel_pairs(60, 1)
    for pair, item in zip(pairs, items, strict=True):
        assert item["source"] == pair.source
        assert pair.target in item["reference"]
        assert all(judge(pair.meaning, reference).exact for reference in item["reference"])


def test_dependencies_of_challenge_items_are_those_of_their_trees() -> None:
    seen = set()
    for pair, item in zip(parallel_pairs(80, 1), challenge_items(80, 1), strict=True):
        assert (item["source"], item["reference"]) == (pair.source, pair.target)
        for one in item["dependencies"]:
            tree = pair.german if one["side"] == "target" else pair.english
            assert tree[one["dependent"] - 1].head == one["head"]
            seen.add((one["side"], one["phenomenon"]))
    assert seen > {("target", "particle"), ("target", "reflexive"), ("source", "particle")}


def test_minimal_pairs() -> None:
    items = minimal_pairs(20, 1)
    assert Counter(item["phenomenon"] for item in items) == dict.fromkeys(CONTRASTS, 20)
    assert len({item["id"] for item in items}) == len(items)
    for item in items:
        assert item["correct"] != item["contrastive"]
        assert split_of(item["source"]) == "test"
        assert item["contrastive"][0].isupper()
        assert item["contrastive"].endswith(".")
        assert " ." not in item["contrastive"]
    json.dumps(items)


def test_contrastive_variants_are_wrong() -> None:
    rng = random.Random(1)
    for pair in generate(150, 1):
        for name, make in CONTRASTS.items():
            for variant in make(pair, rng):
                verdict = judge(pair.meaning, variant)
                assert not verdict.exact, (name, variant)
                assert name == "clause_omission" or not verdict.right, (name, variant)
