"""The oracle: no false alarms on the grammar's own sentences, and errors found."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from babelscope.lab.grammar.corpus import generate
from babelscope.lab.grammar.meaning import Clause, Entity, Linked, Meaning
from babelscope.lab.grammar.oracle import SentenceChecker, Verdict, judge
from tests.lab.grammar.mutations import MUTATIONS

HELPED = Meaning(
    (
        Clause(
            "help",
            Entity("doctor", name="a"),
            Entity("nurse", gender="f", name="b"),
            linked=Linked("because", Clause("be", Entity("he", "pron", refers="b"), predicate="tired")),
        ),
    )
)


def fault(verdict: Verdict, kinds: tuple[str, ...]) -> bool:
    """Whether the oracle objects for one of the reasons."""
    for kind in kinds:
        value = getattr(verdict, kind)
        if value is False or (isinstance(value, tuple) and any(gold != found for _, gold, found in value)):
            return True
    return False


def test_no_false_alarms() -> None:
    for pair in generate(10_000, 2024, "all"):
        # The analysis alone, without the shortcut that recognises the grammar's own sentences.
        verdict = SentenceChecker(pair.meaning, pair.target).verdict((), ())
        assert verdict.right, (pair.target, verdict)


def test_own_sentences_are_exact() -> None:
    for pair in generate(1000, 7, "all"):
        verdict = judge(pair.meaning, pair.target)
        assert verdict.exact, pair.target
        assert verdict.right, (pair.target, verdict)


def test_errors_are_found() -> None:
    rng = random.Random(1)
    made: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for pair in generate(300, 99):
        for name, (mutate, kinds) in MUTATIONS.items():
            for sentence in mutate(pair, rng):
                verdict = judge(pair.meaning, sentence)
                if not verdict.exact:  # else the change gave another right sentence
                    made[name] += 1
                    found[name] += fault(verdict, kinds)
    for name in MUTATIONS:
        assert made[name] > 15, name
        assert found[name] / made[name] >= 0.99, (name, found[name], made[name])


@pytest.mark.parametrize(
    ("sentence", "right", "fault_in"),
    [
        ("Der Arzt half der Krankenschwester, weil sie müde war.", True, ""),
        ("Der Arzt hat der Pflegerin geholfen, denn sie war müde.", True, ""),
        ("Der Arzt half der Tasche, weil sie müde war.", False, "genders"),
        ("Der Arzt half dem Pfleger, weil er müde war.", False, "genders"),
        ("Der Arzt half die Krankenschwester, weil sie müde war.", False, "case"),
        ("Der Arzt half den Krankenschwester, weil sie müde war.", False, "agreement"),
        ("Der Arzt halfen der Krankenschwester, weil sie müde war.", False, "agreement"),
        ("Der Arzt half der Krankenschwester, weil sie war müde.", False, "order"),
        ("Der Arzt der Krankenschwester half, weil sie müde war.", False, "order"),
    ],
)
def test_by_hand(sentence: str, right: bool, fault_in: str) -> None:
    verdict = judge(HELPED, sentence)
    assert verdict.right is right
    assert not fault_in or fault(verdict, (fault_in,)), verdict


@pytest.mark.parametrize(
    "sentence", ["", ".", "Der", "der der der", "Quark!", ", , ,", "Arzt, der", "\u2028", "zu"]
)
def test_any_string_is_judged(sentence: str) -> None:
    assert not judge(HELPED, sentence).right


def test_unknown_words_are_named() -> None:
    assert judge(HELPED, "Der Arzt half der Krankenschwestin, weil sie müde war.").unknown == (
        "Krankenschwestin",
    )
