"""German morphology, trees and alignments."""

from __future__ import annotations

from collections.abc import Sequence

import conllu
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelscope.lab.grammar.lexicon import ADJECTIVE, NOUNS, VERBS, column, declension, determiner
from babelscope.lab.grammar.meaning import (
    Adjunct,
    Clause,
    Entity,
    Linked,
    Meaning,
    Relative,
    Token,
    every_choice,
    random_stream,
    text,
)
from babelscope.lab.grammar.meaning import conllu as to_conllu
from babelscope.lab.grammar.sentences import SentencePair, german_text, realizations, realize
from babelscope.lab.grammar.worlds import draw_meaning


def pair_for(seed: int) -> SentencePair:
    rng = random_stream(seed, "test")
    return realize(draw_meaning(rng), rng)


def all_german(*clauses: Clause, joins: tuple[str, ...] = ()) -> set[str]:
    return set(realizations(Meaning(clauses, joins)))


def german_noun(name: str, lemma: str) -> str:
    noun = next(n for n, _ in (*NOUNS[name].german, *NOUNS[name].feminine) if n.lemma == lemma)
    return " ".join(
        noun.form(case, plural) for plural in (False, True) for case in ("Nom", "Acc", "Dat", "Gen")
    )


@pytest.mark.parametrize(
    ("name", "lemma", "forms"),
    [
        ("doctor", "Arzt", "Arzt Arzt Arzt Arztes Ärzte Ärzte Ärzten Ärzte"),
        ("doctor", "Ärztin", "Ärztin Ärztin Ärztin Ärztin Ärztinnen Ärztinnen Ärztinnen Ärztinnen"),
        ("boy", "Junge", "Junge Jungen Jungen Jungen Jungen Jungen Jungen Jungen"),
        ("farmer", "Bauer", "Bauer Bauern Bauern Bauern Bauern Bauern Bauern Bauern"),
        ("pilot", "Pilot", "Pilot Piloten Piloten Piloten Piloten Piloten Piloten Piloten"),
        ("writer", "Autor", "Autor Autor Autor Autors Autoren Autoren Autoren Autoren"),
        ("house", "Haus", "Haus Haus Haus Hauses Häuser Häuser Häusern Häuser"),
        ("lake", "See", "See See See Sees Seen Seen Seen Seen"),
        ("car", "Auto", "Auto Auto Auto Autos Autos Autos Autos Autos"),
        ("girl", "Mädchen", "Mädchen Mädchen Mädchen Mädchens Mädchen Mädchen Mädchen Mädchen"),
        (
            "bat/rare",
            "Fledermaus",
            "Fledermaus Fledermaus Fledermaus Fledermaus Fledermäuse Fledermäuse Fledermäusen Fledermäuse",
        ),
    ],
)
def test_nouns(name: str, lemma: str, forms: str) -> None:
    assert german_noun(name, lemma) == forms


@pytest.mark.parametrize(
    ("kind", "case", "gender", "plural", "expected"),
    [
        ("def", "Nom", "m", False, "der alte"),
        ("def", "Acc", "m", False, "den alten"),
        ("def", "Dat", "f", False, "der alten"),
        ("def", "Gen", "n", False, "des alten"),
        ("def", "Dat", "n", True, "den alten"),
        ("indef", "Nom", "m", False, "ein alter"),
        ("indef", "Acc", "n", False, "ein altes"),
        ("indef", "Dat", "m", False, "einem alten"),
        ("no", "Acc", "m", False, "keinen alten"),
        ("no", "Nom", "f", True, "keine alten"),
        ("this", "Nom", "n", False, "dieses alte"),
        ("indef", "Nom", "m", True, " alte"),
        ("bare", "Dat", "f", True, " alten"),
        ("bare", "Gen", "m", True, " alter"),
    ],
)
def test_endings(kind: str, case: str, gender: str, plural: bool, expected: str) -> None:
    col = column(gender, plural)
    ending = ADJECTIVE[declension(kind, col)][case][col]
    assert f"{determiner(kind, case, col)} alt{ending}" == expected


def test_verbs() -> None:
    off, be = VERBS["turn_off"].german[0][0], VERBS["be"].german[0][0]
    assert off.lemma == "ausschalten"
    assert off.zu_infinitive == ("auszuschalten",)
    for verb, forms in ((off, "schaltet schalten schaltete schalteten"), (be, "ist sind war waren")):
        assert [verb.finite(t, p) for t in ("pres", "past") for p in (False, True)] == forms.split()
    assert VERBS["see"].german[0][0].finite("past", True) == "sahen"


def test_separable_verb_at_all_places() -> None:
    lamp = Entity("lamp")
    main = all_german(Clause("turn_off", Entity("man"), lamp))
    assert main == {
        "Der Mann schaltete die Lampe aus.",
        "Der Mann schaltete die Lampe ab.",
        "Der Mann hat die Lampe ausgeschaltet.",
        "Der Mann hat die Lampe abgeschaltet.",
        "Die Lampe schaltete der Mann aus.",
        "Die Lampe schaltete der Mann ab.",
        "Die Lampe hat der Mann ausgeschaltet.",
        "Die Lampe hat der Mann abgeschaltet.",
    }
    inner = Clause("turn_off", Entity("man"), lamp, tense="pres")
    whole = all_german(Clause("know", Entity("woman"), tense="pres", linked=Linked("that", inner)))
    assert "Die Frau weiß, dass der Mann die Lampe ausschaltet." in whole
    asked = Clause(
        "ask", Entity("man"), Entity("woman"), linked=Linked("to", Clause("turn_off", object=lamp))
    )
    assert "Der Mann bat die Frau, die Lampe auszuschalten." in all_german(asked)


def test_reflexive_before_and_after_the_subject() -> None:
    remembers = Clause("remember", Entity("doctor", gender="f"), Entity("trip"), tense="pres")
    found = all_german(Clause("say", Entity("man"), tense="pres", linked=Linked("that", remembers)))
    assert found == {
        "Der Mann sagt, dass sich die Ärztin an die Reise erinnert.",
        "Der Mann sagt, dass die Ärztin sich an die Reise erinnert.",
    }


def test_relative_clause_with_preposition() -> None:
    waited = Clause("wait", Entity("man"), tense="pres")
    bus = Entity("bus", relative=Relative(waited, "object", silent=True))
    late = Meaning((Clause("be", bus, tense="pres", predicate="late"),))
    assert set(realizations(late)) == {"Der Bus, auf den der Mann wartet, ist verspätet."}
    pair = realize(late, random_stream(1, "x"))
    assert pair.source == "The bus the man waits for is late."
    stranded = pair.english[5]
    assert (stranded.form, stranded.upos, stranded.deprel, stranded.head) == ("for", "ADP", "obl", 5)


@pytest.mark.parametrize(
    ("preposition", "noun", "expected"),
    [
        ("contrary", "plan", {"entgegen dem Plan"}),
        ("according", "law", {"gemäß dem Gesetz", "entsprechend dem Gesetz"}),
        ("opposite", "station", {"gegenüber dem Bahnhof"}),
        ("near", "lake", {"nahe dem See", "beim See"}),
        ("together", "key", {"samt dem Schlüssel", "mitsamt dem Schlüssel", "nebst dem Schlüssel"}),
        ("since", "accident", {"seit dem Unfall"}),
        ("of", "house", {"des Hauses", "vom Haus"}),
    ],
)
def test_dative_prepositions(preposition: str, noun: str, expected: set[str]) -> None:
    c = Clause("sleep", Entity("man"), extra=Adjunct(preposition, Entity(noun)))
    found = all_german(c)
    for phrase in expected:
        assert any(phrase in sentence for sentence in found)
    assert all(any(phrase in s or phrase[0].upper() + phrase[1:] in s for phrase in expected) for s in found)


def test_pronoun_follows_the_german_noun() -> None:
    bought = Clause("buy", Entity("man"), Entity("car", name="it"))
    old = Clause("be", Entity("he", "pron", refers="it"), predicate="old")
    found = {s for s in all_german(bought, old, joins=(";",)) if s.startswith("Der Mann kaufte")}
    assert found == {"Der Mann kaufte das Auto; es war alt.", "Der Mann kaufte den Wagen; er war alt."}


def test_negation() -> None:
    key = Entity("key", "no", adjectives=("old",))
    assert "Der Mann fand keinen alten Schlüssel." in all_german(Clause("find", Entity("man"), key))
    found = all_german(Clause("wait", Entity("man"), Entity("bus"), tense="pres", negated=True))
    assert found == {"Der Mann wartet nicht auf den Bus."}


def check_tree(tree: Sequence[Token]) -> None:
    assert [t.id for t in tree] == list(range(1, len(tree) + 1))
    assert sum(t.head == 0 for t in tree) == 1
    assert all((t.deprel == "root") == (t.head == 0) for t in tree)
    for t in tree:
        seen = {t.id}
        while t.head:
            t = tree[t.head - 1]
            assert t.id not in seen, "a cycle"
            seen.add(t.id)
    for t in tree:
        names = [pair.split("=")[0].lower() for pair in t.feats.split("|")]
        assert names == sorted(names)
        assert len(set(names)) == len(names)
        assert t.form
        assert t.lemma


def check_pair(pair: SentencePair) -> None:
    for tree in (pair.english, pair.german):
        check_tree(tree)
        parsed = conllu.parse(to_conllu(tree, "1"))
        assert len(parsed) == 1
        assert [t["form"] for t in parsed[0]] == [t.form for t in tree]
        assert [t["head"] for t in parsed[0]] == [t.head for t in tree]
        assert parsed[0].metadata["text"] == text(tree)
        parsed[0].to_tree()
        assert "  " not in text(tree)
        assert text(tree)[0].isupper()
        assert text(tree).endswith(".")
    assert pair.alignment
    assert list(pair.alignment) == sorted(set(pair.alignment))
    assert all(0 <= i < len(pair.english) and 0 <= j < len(pair.german) for i, j in pair.alignment)
    nouns = {i for i, t in enumerate(pair.english) if t.upos == "NOUN"}
    assert nouns <= {i for i, j in pair.alignment if pair.german[j].upos == "NOUN"}


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**40))
def test_any_pair_is_well_formed(seed: int) -> None:
    check_pair(pair_for(seed))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**40))
def test_random_realizations_are_among_all(seed: int) -> None:
    pair = pair_for(seed)
    vocabulary = frozenset(t.form for t in pair.german) | {
        t.form[0].lower() + t.form[1:] for t in pair.german
    }
    assert pair.target in set(realizations(pair.meaning, 20_000, vocabulary))


def test_every_choice_is_tried_once() -> None:
    seen = []
    for choose in every_choice():
        first = choose((1, 1))
        seen.append((first, choose((1, 1, 1)) if first else None))
    assert seen == [(0, None), (1, 0), (1, 1), (1, 2)]


def test_english_is_always_the_same_and_german_varies() -> None:
    meaning = Meaning((Clause("buy", Entity("doctor"), Entity("car"), time="yesterday"),))
    pairs = [realize(meaning, random_stream(1, str(i))) for i in range(50)]
    assert len({pair.source for pair in pairs}) == 1
    assert len({pair.target for pair in pairs}) > 6
    assert german_text(meaning, next(every_choice())) == "Der Arzt kaufte gestern das Auto."
