"""General error types on small treebanks of our own, of languages that are built otherwise than European ones."""

from __future__ import annotations

import itertools

import pytest

from babelscope.language.general.sentence import Sentence, Source
from babelscope.language.general.treebank import Tools, read_treebank
from babelscope.language.general.types import GENERAL_TYPES, why_none
from tests.language.test_general import Row, sentence

NOUNS = ("kapı", "oda", "yol", "bahar", "kitap", "orman", "deniz", "koltuk")


def variants(name: str, rows: list[Row], tools: Tools) -> list[str]:
    english = sentence([("it", "it", "PRON", "", 2, "nsubj"), ("is", "be", "VERB", "", 0, "root")])
    negated = sentence([("it", "it", "PRON", "", 3, "nsubj"), ("not", "not", "PART", "Polarity=Neg", 3, "advmod"),
                        ("is", "be", "VERB", "", 0, "root")])  # fmt: skip
    given = sentence(rows)
    source = negated if any("Polarity=Neg" in row[3] for row in rows) else english
    return [each.text for each in GENERAL_TYPES[name].make(given, Source(source.text, source), tools)]


# --- Agglutinative: the verb is last, cases are endings, the negation is inside the verb ---------------------------


def suffixing(noun: str, case: str, negative: bool) -> list[Row]:
    """[noun] [noun in a case] [verb]: the door opens in the room."""
    ending = {"Loc": "da", "Dat": "ya", "Abl": "dan"}[case]
    verb = "açılmıyor" if negative else "açılıyor"
    polarity = "Neg" if negative else "Pos"
    return [
        (noun, noun, "NOUN", "Case=Nom|Number=Sing", 3, "nsubj"),
        (f"oda{ending}", "oda", "NOUN", f"Case={case}|Number=Sing", 3, "obl"),
        (verb, "açıl", "VERB", f"Mood=Ind|Number=Sing|Person=3|Polarity={polarity}|VerbForm=Fin", 0, "root"),
    ]


@pytest.fixture(scope="module")
def agglutinative() -> Tools:
    rows = [suffixing(*each) for each in itertools.product(NOUNS, ("Loc", "Dat", "Abl"), (True, False))]
    rows += [
        [(f"{noun}da", noun, "NOUN", "Case=Loc|Number=Sing", 0, "root")] for noun in NOUNS for _ in range(3)
    ]
    return read_treebank(map(sentence, rows))


def test_an_agglutinative_language(agglutinative: Tools) -> None:
    assert variants("subject_case", suffixing("yol", "Dat", False), agglutinative) == ["Yolda odaya açılıyor"]
    assert variants("negation_deleted", suffixing("yol", "Dat", True), agglutinative) == [
        "Yol odaya açılıyor"
    ]
    assert variants("negation_inserted", suffixing("yol", "Dat", False), agglutinative) == [
        "Yol odaya açılmıyor"
    ]
    assert variants("negation_deleted", suffixing("yol", "Dat", False), agglutinative) == []
    for name in ("np_gender", "predicate_gender", "subj_verb_gender", "np_case"):
        assert variants(name, suffixing("yol", "Dat", False), agglutinative) == []
        assert why_none(GENERAL_TYPES[name], agglutinative).startswith("the parses mark no")


# --- The verb is first, agrees in gender, and has its negation before it -------------------------------------------

SUBJECTS = {"Masc": ("walad", "rajul", "malik", "bayt"), "Fem": ("binta", "malika", "madina", "sura")}
VERBS = {
    ("jalas", "Masc"): "jalasa",
    ("jalas", "Fem"): "jalasat",
    ("nazal", "Masc"): "nazala",
    ("nazal", "Fem"): "nazalat",
}


def verb_first(verb: str, gender: str, noun: str, negative: bool) -> list[Row]:
    """[not] [verb] [subject] [in] [place]"""
    shift = int(negative)
    feats = f"Gender={gender}|Mood=Ind|Number=Sing|Person=3|VerbForm=Fin"
    rows: list[Row] = [("ma", "ma", "PART", "Polarity=Neg", 2, "advmod")] if negative else []
    return [
        *rows,
        (VERBS[verb, gender], verb, "VERB", feats, 0, "root"),
        (noun, noun, "NOUN", f"Gender={gender}|Number=Sing", 1 + shift, "nsubj"),
        ("fi", "fi", "ADP", "", 4 + shift, "case"),
        ("suq", "suq", "NOUN", "Gender=Masc|Number=Sing", 1 + shift, "obl"),
    ]


@pytest.fixture(scope="module")
def verbs_first() -> Tools:
    made = [
        sentence(verb_first(verb, gender, noun, negative))
        for verb in ("jalas", "nazal")
        for gender, nouns in SUBJECTS.items()
        for noun in nouns
        for negative in (True, False, False)
    ]
    return read_treebank(made * 5)


def test_a_language_with_the_verb_first(verbs_first: Tools) -> None:
    rows = verb_first("jalas", "Fem", "binta", False)
    assert variants("subj_verb_gender", rows, verbs_first) == ["Jalasa binta fi suq"]
    assert variants("negation_inserted", rows, verbs_first) == ["Ma jalasat binta fi suq"]
    assert variants("word_order", rows, verbs_first) == ["Jalasat binta suq fi"]
    assert variants("negation_deleted", verb_first("jalas", "Fem", "binta", True), verbs_first) == [
        "Jalasat binta fi suq"
    ]
    assert variants("subject_case", rows, verbs_first) == []
    find = GENERAL_TYPES["subj_verb_gender"].find
    assert find is not None
    wrong = [("jalasa", *rows[0][1:]), *rows[1:]]
    assert find(sentence(wrong), verbs_first) is not None
    assert find(sentence(rows), verbs_first) is None


# --- Nothing is inflected ------------------------------------------------------------------------------------------


def isolating(noun: str, negative: bool) -> list[Row]:
    shift = int(negative)
    return [
        (noun, noun, "NOUN", "", 2 + shift, "nsubj"),
        *([("bu", "bu", "ADV", "Polarity=Neg", 3, "advmod")] if negative else []),
        ("lai", "lai", "VERB", "", 0, "root"),
        ("zai", "zai", "ADP", "", 4 + shift, "case"),
        ("jia", "jia", "NOUN", "", 2 + shift, "obl"),
    ]


def test_a_language_without_inflection_has_no_agreement_and_no_case() -> None:
    tools = read_treebank(
        sentence(isolating(noun, negative)) for noun in NOUNS for negative in (True, False) * 16
    )
    rows = isolating("yol", False)
    for name, kind in GENERAL_TYPES.items():
        if kind.agrees or name.endswith("_case"):
            assert variants(name, rows, tools) == []
            assert why_none(kind, tools).startswith("the parses mark no")
    assert variants("word_order", rows, tools) == ["Yol lai jia zai"]
    assert variants("negation_deleted", isolating("yol", True), tools) == ["Yol lai zai jia"]
    assert variants("negation_inserted", rows, tools) == ["Yol bu lai zai jia"]


def test_texts_without_any_structure_give_nothing_and_fail_nowhere() -> None:
    odd = [
        [("a", "_", "X", "", 0, "root")],
        [(".", ".", "PUNCT", "", 0, "root")],
        [("1", "1", "NUM", "NumType=Card", 0, "root"), ("b", "_", "NOUN", "Case=", 1, "nsubj")],
    ]
    made: list[Sentence] = [sentence(rows) for rows in odd]
    tools = read_treebank(made)
    for kind in GENERAL_TYPES.values():
        for each in made:
            found = list(kind.make(each, Source("1 a"), tools))
            assert all(variant.text != each.text for variant in found)
            assert kind.find is None or kind.find(each, tools) is None
        assert why_none(kind, tools)
