"""The rules of rules/more.toml, each on parses made by hand: what fits, and what nearly does."""

from __future__ import annotations

import pytest

from babelscope.language.rule_files import read_shipped
from babelscope.language.ud_rules import LONGEST, RULES, Finder, choose_rules
from tests.support.trees import tree


def found(name: str, text: str, language: str | None = None) -> list[tuple[str, str, float]]:
    finder = Finder(choose_rules([name], language=language))
    return [(each.head_form, each.dependent_form, each.distance) for each in finder(tree(text), "source")]


KEYS = """
Die der DET Number=Plur 2 det
Schlüssel Schlüssel NOUN Number=Plur 5 nsubj
des der DET Number=Sing 4 det
Hauses Haus NOUN Number=Sing 2 nmod
fehlen fehlen VERB Number=Plur|VerbForm=Fin 0 root"""
KEYS_HAVE = """
Die der DET Number=Plur 2 det
Schlüssel Schlüssel NOUN Number=Plur 6 nsubj
haben haben AUX Number=Plur|VerbForm=Fin 6 aux
dem der DET Number=Sing 5 det
Mann Mann NOUN Number=Sing 6 iobj
gefehlt fehlen VERB VerbForm=Part 0 root"""
PAST = """
The the DET _ 2 det
keys key NOUN Number=Plur 3 nsubj
fell fall VERB Tense=Past|VerbForm=Fin 0 root"""
SEEN = """
Er er PRON Number=Sing 5 nsubj
hat haben AUX VerbForm=Fin 5 aux
den der DET _ 4 det
Mann Mann NOUN _ 5 obj
gesehen sehen VERB VerbForm=Part 0 root
, , PUNCT _ 8 punct
der der PRON PronType=Rel 8 nsubj
lacht lachen VERB VerbForm=Fin 4 acl:relcl"""
IN_PLACE = """
Er er PRON Number=Sing 8 nsubj
hat haben AUX VerbForm=Fin 8 aux
den der DET _ 4 det
Mann Mann NOUN _ 8 obj
, , PUNCT _ 7 punct
der der PRON PronType=Rel 7 nsubj
lacht lachen VERB VerbForm=Fin 4 acl:relcl
gesehen sehen VERB VerbForm=Part 0 root"""
WHAT = """
What what PRON PronType=Int 5 obj
did do AUX _ 5 aux
the the DET _ 4 det
man man NOUN _ 5 nsubj
buy buy VERB _ 0 root"""
WHICH = """
Which which DET PronType=Int 2 det
book book NOUN _ 5 obj
did do AUX _ 5 aux
she she PRON PronType=Prs 5 nsubj
buy buy VERB _ 0 root"""
WHO = """
Who who PRON PronType=Int 2 nsubj
slept sleep VERB _ 0 root"""
ECHO = """
She she PRON PronType=Prs 2 nsubj
bought buy VERB _ 0 root
what what PRON PronType=Int 2 obj"""
NOT = """
Er er PRON _ 5 nsubj
ist sein AUX _ 5 aux
nicht nicht PART Polarity=Neg 5 advmod
heute heute ADV _ 5 advmod
gekommen kommen VERB _ 0 root"""
NO = """
No no DET PronType=Neg 3 det
clear clear ADJ _ 3 amod
answer answer NOUN _ 4 nsubj
came come VERB _ 0 root"""
NOTHING = """
Nothing nothing PRON PronType=Neg 2 nsubj
came come VERB _ 0 root"""
DECIDE = """
We we PRON _ 2 nsubj
made make VERB _ 0 root
a a DET _ 5 det
good good ADJ _ 5 amod
decision decision NOUN _ 2 obj"""
CAKE = DECIDE.replace("decision decision", "cake cake")
DECIDED_UPON = DECIDE.replace("made make", "liked like")
BECAUSE = """
weil weil SCONJ _ 5 mark
er er PRON _ 5 nsubj
das der DET _ 4 det
Buch Buch NOUN _ 5 obj
las lesen VERB VerbForm=Fin 0 root"""
BECAUSE_HAD = """
weil weil SCONJ _ 4 mark
er er PRON _ 4 nsubj
Bücher Buch NOUN _ 4 obj
gelesen lesen VERB VerbForm=Part 0 root
hat haben AUX VerbForm=Fin 4 aux"""
SECOND = """
weil weil SCONJ _ 3 mark
er er PRON _ 3 nsubj
las lesen VERB VerbForm=Fin 0 root
ein ein DET _ 5 det
Buch Buch NOUN _ 3 obj"""
SECOND_HAD = """
weil weil SCONJ _ 5 mark
er er PRON _ 5 nsubj
hat haben AUX VerbForm=Fin 5 aux
Bücher Buch NOUN _ 5 obj
gelesen lesen VERB VerbForm=Part 0 root"""

Found = list[tuple[str, str, float]]


@pytest.mark.parametrize(
    ("name", "text", "language", "expected"),
    [
        ("subject_verb_agreement", KEYS, "de", [("fehlen", "Schlüssel", 2)]),
        ("subject_verb_agreement", KEYS_HAVE, "de", [("haben", "Schlüssel", 0)]),
        ("subject_verb_agreement", PAST, "en", []),
        ("subject_verb_agreement", KEYS.replace("nsubj", "obj"), "de", []),
        ("extraposed_relative", SEEN, "de", [("Mann", "lacht", 3)]),
        ("extraposed_relative", IN_PLACE, "de", []),
        ("extraposed_relative", SEEN.replace("PronType=Rel", "PronType=Art"), "de", []),
        ("wh_movement", WHAT, "en", [("buy", "What", 3)]),
        ("wh_movement", WHICH, "en", [("buy", "book", 2)]),
        ("wh_movement", WHAT.replace("PronType=Int", "PronType=Int,Rel"), "de", [("buy", "What", 3)]),
        ("wh_movement", WHAT.replace("PronType=Int", "PronType=Rel"), "en", []),
        ("wh_movement", WHO, "en", []),
        ("wh_movement", ECHO, "en", []),
        ("negation_scope", NOT, "de", [("gekommen", "nicht", 1)]),
        ("negation_scope", NO, "en", [("answer", "No", 1)]),
        ("negation_scope", NOTHING, "en", []),
        ("negation_scope", NOT.replace("Polarity=Neg", "Polarity=Pos"), "de", []),
        ("light_verb", DECIDE, "en", [("made", "decision", 2)]),
        ("light_verb", CAKE, "en", []),
        ("light_verb", DECIDED_UPON, "en", []),
        ("light_verb", DECIDE, "de", []),
        ("light_verb", CAKE.replace("obj", "compound:lvc"), "tr", [("made", "cake", 2)]),
        ("verb_final", BECAUSE, "de", [("las", "weil", 3)]),
        ("verb_final", BECAUSE_HAD, "de", [("hat", "weil", 3)]),
        ("verb_final", SECOND, "de", []),
        ("verb_final", SECOND_HAD, "de", []),
    ],
)
def test_what_fits_a_rule_and_what_nearly_does(name: str, text: str, language: str, expected: Found) -> None:
    assert found(name, text, language) == expected


def test_shipped_rules_are_looked_for_by_name_only() -> None:
    names = {rule.name for rule in read_shipped()}
    assert len(names) == 6
    assert names.isdisjoint(rule.name for rule in choose_rules())
    assert names.isdisjoint(rule.name for rule in RULES)
    assert all(any(rule.label for rule in read_shipped() if rule.name == name) for name in names)


def test_alternatives_find_a_pair_once() -> None:
    both = NOT.replace("Polarity=Neg", "Polarity=Neg|PronType=Neg")
    assert found("negation_scope", both) == [("gekommen", "nicht", 1)]


def test_a_very_long_sentence_is_counted_instead_of_searched() -> None:
    finder = Finder(choose_rules(["wh_movement", "particle"]))
    tail = "\n".join("ja ja INTJ _ 5 discourse" for _ in range(LONGEST))
    assert finder(tree(f"{WHAT}\n{tail}\nup up ADP _ 5 compound:prt"), "source") != []  # the particle alone
    assert finder.too_long == 1
