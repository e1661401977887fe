"""Whether a dependency survives: each check on sentences parsed by hand."""

from __future__ import annotations

import pytest

from babelscope.language.constructions import Sentence, construction, make_sentence, particles_in
from babelscope.language.ud import Tree
from babelscope.methods.challenge.verdicts import CHECKS, Case, attested_verbs, check
from tests.support.trees import tree

FIN = "VerbForm=Fin"
LIFTED = f"""
Er er PRON _ 2 nsubj
hob heben VERB {FIN} 0 root
es es PRON _ 2 obj
auf auf ADP _ 2 compound:prt"""
HAS_LIFTED = f"""
Er er PRON _ 4 nsubj
hat haben AUX {FIN} 4 aux
es es PRON _ 4 obj
aufgehoben aufheben VERB VerbForm=Part 0 root"""
BARE = "\n".join(LIFTED.split("\n")[:4])
OTHER_PARTICLE = LIFTED.replace("auf auf", "ab ab")
OTHER_VERB = LIFTED.replace("hob heben", "nahm nehmen")
UNATTACHED = LIFTED.replace("compound:prt", "advmod")
ORPHANED = LIFTED.replace("2 compound:prt", "3 compound:prt")
HURRIED = f"""
Er er PRON _ 2 nsubj
beeilt beeilen VERB {FIN} 0 root
sich sich PRON Reflex=Yes 2 expl:pv"""
HURRIED_NOT = HURRIED.replace("sich sich PRON Reflex=Yes", "ihn er PRON _")
ELSEWHERE = f"{HURRIED_NOT}\nfragt fragen VERB {FIN} 2 conj\nsich sich PRON Reflex=Yes 4 obj"
WAITED = f"""
Er er PRON _ 2 nsubj
wartet warten VERB {FIN} 0 root
auf auf ADP _ 4 case
sie sie PRON _ 2 obl"""
WAITED_FOR = WAITED.replace("auf auf", "für für")
WAITED_ELSEWHERE = f"{WAITED_FOR}\nauf auf ADP _ 6 case\nDach Dach NOUN _ 4 nmod"
KEYS = f"""
Die der DET _ 2 det
Schlüssel Schlüssel NOUN Number=Plur 3 nsubj
fehlen fehlen VERB Number=Plur|{FIN} 0 root"""
KEY = KEYS.replace("Number=Plur", "Number=Sing").replace("fehlen fehlen", "fehlt fehlen")
KEYS_SINGULAR_VERB = KEYS.replace("fehlen fehlen VERB Number=Plur", "fehlt fehlen VERB Number=Sing")
NOT = f"""
Er er PRON _ 2 nsubj
kommt kommen VERB {FIN} 0 root
nicht nicht PART Polarity=Neg 2 advmod"""
YES = "\n".join(NOT.split("\n")[:3])
NEVER = NOT.replace("nicht nicht PART Polarity=Neg", "nie nie ADV PronType=Neg")
NOT_GOOD = f"""
Das der PRON Number=Sing 4 nsubj
ist sein AUX Number=Sing|{FIN} 4 cop
nicht nicht PART Polarity=Neg 4 advmod
gut gut ADJ _ 0 root"""
GOOD = NOT_GOOD.replace("nicht nicht PART Polarity=Neg", "sehr sehr ADV _")
NO_HELP = f"""
Er er PRON Number=Sing 2 nsubj
hat haben VERB Number=Sing|{FIN} 0 root
keine kein DET PronType=Neg 4 det
Hilfe Hilfe NOUN Number=Sing 2 obj"""
HE_IS_MISSING = KEY.replace("Schlüssel Schlüssel NOUN", "er er PRON")
THEY_ARE_MISSING = HE_IS_MISSING.replace(f"Number=Sing|{FIN}", f"Number=Plur|{FIN}").replace(
    "fehlt", "fehlen"
)
PARTICLES = frozenset({"auf", "ab"})


def case(reference: str, output: str, **more: object) -> Case:
    """Head at word 2, dependent at the last word of the reference; nothing of the output is aligned."""
    first = make_sentence(tree(reference))
    second = make_sentence(tree(output)) if output else Sentence(Tree((), (), "", "", 1, 1), ())
    given = {
        "head_in_reference": [2],
        "dependent_in_reference": [len(first.words)],
        "head_in_output": (),
        "dependent_in_output": (),
        "particles": PARTICLES,
        **more,
    }
    return Case(first, second, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("phenomenon", "reference", "output", "outcome"),
    [
        ("particle", LIFTED, LIFTED, "kept"),
        ("particle", LIFTED, HAS_LIFTED, "kept"),
        ("particle", LIFTED, BARE, "lost"),
        ("particle", LIFTED, "", "lost"),
        ("particle", LIFTED, OTHER_PARTICLE, "undecided"),
        ("particle", LIFTED, OTHER_VERB, "undecided"),
        ("particle", LIFTED, UNATTACHED, "undecided"),
        ("particle", ORPHANED, BARE, "undecided"),
        ("particle", LIFTED, ORPHANED, "undecided"),
        ("particle", LIFTED, LIFTED + LIFTED.replace(" 0 root", " 2 conj"), "undecided"),
        ("reflexive", HURRIED, HURRIED, "kept"),
        ("reflexive", HURRIED, HURRIED_NOT, "lost"),
        ("reflexive", HURRIED, ELSEWHERE, "undecided"),
        ("reflexive", HURRIED_NOT, HURRIED, "undecided"),
        ("reflexive", HURRIED_NOT, HURRIED_NOT, "kept"),
        ("preposition_stranding", WAITED, WAITED, "kept"),
        ("preposition_stranding", WAITED, WAITED_FOR, "lost"),
        ("preposition_stranding", WAITED, WAITED_ELSEWHERE, "undecided"),
        ("negation_scope", NOT, NOT, "kept"),
        ("negation_scope", NOT, NEVER, "kept"),
        ("negation_scope", NOT, YES, "lost"),
        ("negation_scope", YES, NOT, "undecided"),
    ],
)
def test_what_a_check_says(phenomenon: str, reference: str, output: str, outcome: str) -> None:
    found = check(phenomenon, case(reference, output))
    assert (found["verdict"], phenomenon) == (outcome, phenomenon), found["why"]


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        (KEYS, "kept"),
        (KEY.replace("Schlüssel Schlüssel", "Schlüsselchen Schlüssel"), "kept"),
        (KEYS_SINGULAR_VERB, "lost"),
        (KEY, "undecided"),  # the noun looks as in the reference, and the verb does not
        (KEYS.replace("NOUN Number=Plur", "NOUN Number=Sing"), "kept"),  # the parser erred about the noun
        (KEYS.replace("Schlüssel Schlüssel NOUN", "sie sie PRON"), "undecided"),
        (KEYS.replace("Number=Plur|", ""), "undecided"),
        (KEYS.replace("nsubj", "obj"), "undecided"),
        (KEYS + "\nTüren Tür NOUN Number=Plur 2 conj", "undecided"),
        (KEYS_SINGULAR_VERB.replace("fehlt fehlen", "liegt liegen"), "undecided"),  # perhaps another clause
    ],
)
def test_agreement_needs_the_word_of_the_reference(output: str, outcome: str) -> None:
    asked = case(KEYS, output, head_in_reference=[3], dependent_in_reference=[2], dependent_in_output=[2])
    assert check("subject_verb_agreement", asked)["verdict"] == outcome


@pytest.mark.parametrize(
    ("reference", "output", "outcome"),
    [
        (NOT_GOOD, NOT_GOOD, "kept"),
        (NOT_GOOD, GOOD, "lost"),
        (NOT_GOOD, GOOD.replace("gut gut", "fein fein"), "undecided"),  # another word may negate by itself
        (NO_HELP, NO_HELP, "kept"),
        (NO_HELP, NO_HELP.replace("hat haben", "braucht brauchen"), "kept"),
        (NO_HELP, NO_HELP.replace("keine kein DET PronType=Neg", "eine ein DET _"), "lost"),
    ],
)
def test_the_only_negation_needs_no_link(reference: str, output: str, outcome: str) -> None:
    unlinked = {"head_in_reference": (), "dependent_in_reference": ()}
    found = check("negation_scope", case(reference, output, **unlinked, alone=True))
    assert found["verdict"] == outcome, found
    several = check("negation_scope", case(reference, output, **unlinked))
    assert several["why"] == "no negation of the reference is aligned to it"


def test_a_pronoun_of_one_number_is_a_subject_too() -> None:
    own = {"head_in_reference": [3], "dependent_in_reference": (), "head_in_output": [3]}
    he = case(HE_IS_MISSING, HE_IS_MISSING, **own)
    assert check("subject_verb_agreement", he)["verdict"] == "kept"
    they = case(HE_IS_MISSING, THEY_ARE_MISSING, **own)
    assert check("subject_verb_agreement", they)["why"] == "the pronoun may be of either number"
    known = case(HE_IS_MISSING, THEY_ARE_MISSING, **own, one_number={"er"})
    assert check("subject_verb_agreement", known)["verdict"] == "lost"
    other = case(HE_IS_MISSING, HE_IS_MISSING.replace("er er", "es es"), **own, one_number={"er", "es"})
    assert check("subject_verb_agreement", other)["why"] == "the subject is another pronoun"


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ("Vive vivir VERB Number=Sing|Mood=Ind 0 root\naquí aquí ADV _ 1 advmod", "kept"),
        ("Viven vivir VERB Number=Plur|Mood=Ind 0 root\naquí aquí ADV _ 1 advmod", "lost"),
        ("Vive vivir VERB Number=Sing|Mood=Ind 0 root\nella él PRON Number=Sing 1 nsubj", "undecided"),
        ("Mora morar VERB Number=Sing|Mood=Ind 0 root\naquí aquí ADV _ 1 advmod", "undecided"),
        ("Vivir vivir VERB VerbForm=Inf 0 root\naquí aquí ADV _ 1 advmod", "undecided"),
    ],
)
def test_a_subject_that_is_in_the_verb_alone(output: str, outcome: str) -> None:
    lives = "Vive vivir VERB Number=Sing|Mood=Ind 0 root\naquí aquí ADV _ 1 advmod"
    own = {"head_in_reference": [1], "dependent_in_reference": (), "head_in_output": [1]}
    assert check("subject_verb_agreement", case(lives, output, **own))["verdict"] == outcome


def test_the_subject_of_the_same_verb_is_compared_if_it_is_another_word() -> None:
    own = {"head_in_reference": [3], "dependent_in_reference": [2]}
    for output, outcome in ((KEYS, "kept"), (KEYS_SINGULAR_VERB, "lost")):
        other = output.replace("Schlüssel Schlüssel", "Türen Tür")
        assert check("subject_verb_agreement", case(KEYS, other, **own))["verdict"] == outcome


def test_verbs_of_other_references_are_right_too() -> None:
    aligned = {"head_in_output": [2]}
    assert check("particle", case(LIFTED, OTHER_PARTICLE, attested={"abheben"}))["verdict"] == "kept"
    assert check("particle", case(LIFTED, OTHER_VERB, attested={"aufnehmen"}, **aligned))["verdict"] == "kept"
    assert check("particle", case(LIFTED, BARE, bare={"heben"}))["verdict"] == "undecided"
    assert attested_verbs({"aufheben": 90, "abheben": 12, "sein": 1}) == {"aufheben", "abheben"}


def test_without_a_link_into_the_reference_nothing_is_decided() -> None:
    for phenomenon in CHECKS:
        nothing = case(LIFTED, BARE, head_in_reference=(), dependent_in_reference=())
        assert check(phenomenon, nothing)["verdict"] == "undecided"


def test_where_only_the_dependent_is_aligned_the_output_must_bear_it_out() -> None:
    only = {"head_in_reference": (), "dependent_in_reference": [4]}
    assert check("particle", case(LIFTED, LIFTED, **only))["verdict"] == "undecided"
    assert check("particle", case(LIFTED, LIFTED, **only, dependent_in_output=[4]))["verdict"] == "kept"
    disagreeing = {"head_in_reference": [2], "dependent_in_reference": [5], "dependent_in_output": [5]}
    two = f"{LIFTED}\nging gehen VERB {FIN} 2 conj"
    assert check("particle", case(two, two, **disagreeing))["why"].endswith("for other words")


def test_particles_are_told_from_the_beginnings_of_other_verbs() -> None:
    sentence = make_sentence(tree("Er er PRON _ 2 nsubj\nabonniert abonnieren VERB _ 0 root"))
    found = construction(sentence, sentence.words[1], frozenset())
    assert (found.stem, found.particle) == ("abonnieren", "")
    once = make_sentence(tree(LIFTED))
    assert particles_in([once]) == frozenset()
    assert particles_in([once, once]) == {"auf"}


def test_lemmas_are_the_parsers_else_the_lemmatizers_else_the_forms() -> None:
    bare = tree("Er _ PRON _ 2 nsubj\nHob _ VERB _ 0 root")
    assert make_sentence(bare).lemmas == ("er", "hob")
    assert make_sentence(bare, lambda forms: [f"{form}X" for form in forms]).lemmas == ("erx", "hobx")
    assert make_sentence(tree(LIFTED)).lemmas == ("er", "heben", "es", "auf")
