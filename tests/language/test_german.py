"""German: tokens, tags as corrected, nouns, and the other number of finite verbs."""

from __future__ import annotations

import pytest

pytest.importorskip("HanTa")
pytest.importorskip("german_nouns.config")

import sys

import pytest

from babelscope.language.german.analysis import German, Nominal, default_analyzer, tokenize
from babelscope.language.german.dictionaries import HanTaTagger, NounList
from babelscope.language.german.morphology import AUXILIARIES, Person, other_number, principal_parts
from babelscope.util.errors import BabelscopeError


@pytest.fixture(scope="module")
def german() -> German:
    return default_analyzer()


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in tokenize(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Er kam am 3. Mai an.", ["Er", "kam", "am", "3.", "Mai", "an", "."]),
        ("Das kostet 1,5 Euro, z.B. hier.", ["Das", "kostet", "1,5", "Euro", ",", "z.B.", "hier", "."]),
        ("Seit den 60er Jahren.", ["Seit", "den", "60er", "Jahren", "."]),
        ("Vor- und Nachteile", ["Vor-", "und", "Nachteile"]),
        ("Dr. Klee ging um 9.", ["Dr.", "Klee", "ging", "um", "9", "."]),
        ("Der 3D-Drucker…", ["Der", "3D-Drucker", "…"]),
        ("", []),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_offsets_give_the_words_back(german: German) -> None:
    text = "„Wirklich?“, fragte  sie – und lief weg."
    assert all(text[token.start : token.end] == token.text for token in german.analyze(text).tokens)


@pytest.mark.parametrize("letter", ["9", "a", "Ä"])
def test_a_word_of_any_length_comes_back_whole_and_soon(german: German, letter: str) -> None:
    """The time of an analysis grows with the square of a word's length: this one would take an hour."""
    word = letter * 20_000
    token = german.analyze(f"Das ist {word} hier.").tokens[2]
    assert (token.text, token.lemma.lower()) == (word, word.lower())


def tag_of(german: German, text: str, word: str) -> str:
    return next(token.tag for token in german.analyze(text).tokens if token.text == word)


@pytest.mark.parametrize(
    ("text", "word", "tag"),
    [
        ("Die Gärtnerin gießt den Baum.", "gießt", "VVFIN"),
        ("Sie sagt, dass die Nachbarn den Hund füttern.", "füttern", "VVFIN"),
        ("Die Leute, die Bäume pflanzen, sind froh.", "pflanzen", "VVFIN"),
        ("Er will den Baum pflanzen.", "pflanzen", "VVINF"),
        ("Sie begann, den Hund zu füttern.", "füttern", "VVINF"),
        ("Ihr lautes Lachen störte uns.", "Lachen", "NN"),
        ("Er hat etwas Neues gebaut.", "Neues", "NN"),
    ],
)
def test_clauses_and_capitals_decide(german: German, text: str, word: str, tag: str) -> None:
    assert tag_of(german, text, word) == tag


def test_readings_of_nouns(german: German) -> None:
    assert Nominal("n", "pl", "dat") in german.nouns.readings("Häusern")
    assert {reading.gender for reading in german.nouns.readings("Gartenbank")} == {"f"}
    assert {reading.number for reading in german.nouns.readings("Verbabelungen")} == {"pl"}
    assert german.nouns.readings("Xqz") == frozenset()
    assert german.nouns.head("Gartenbank") in ("Gartenbank", "Bank")
    assert german.nouns.declines_as_adjective("Angestellten")


def test_replacing_tokens(german: German) -> None:
    sentence = german.analyze("Der Hund bellt nicht laut.")
    tokens = {token.text: token for token in sentence.tokens}
    assert sentence.replaced((tokens["nicht"], "")) == "Der Hund bellt laut."
    assert (
        sentence.replaced((tokens["Der"], "Die"), (tokens["laut"], "leise")) == "Die Hund bellt nicht leise."
    )


@pytest.mark.parametrize(
    ("module", "part"), [("HanTa.HanoverTagger", HanTaTagger), ("german_nouns", NounList)]
)
def test_missing_packages_are_told(module: str, part: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(BabelscopeError, match=r"pip install '\.\[german\]'"):
        part()


@pytest.mark.parametrize(
    ("singular", "plural", "infinitive"),
    [
        ("macht", "machen", "machen"),
        ("arbeitet", "arbeiten", "arbeiten"),
        ("öffnet", "öffnen", "öffnen"),
        ("handelt", "handeln", "handeln"),
        ("feiert", "feiern", "feiern"),
        ("regiert", "regieren", "regieren"),
        ("spielt", "spielen", "spielen"),
        ("lernt", "lernen", "lernen"),
        ("nimmt", "nehmen", "nehmen"),
        ("übernimmt", "übernehmen", "übernehmen"),
        ("liest", "lesen", "lesen"),
        ("lässt", "lassen", "lassen"),
        ("hält", "halten", "halten"),
        ("bietet", "bieten", "bieten"),
        ("tut", "tun", "tun"),
        ("machte", "machten", "machen"),
        ("arbeitete", "arbeiteten", "arbeiten"),
        ("kam", "kamen", "kommen"),
        ("bekam", "bekamen", "bekommen"),
        ("verlor", "verloren", "verlieren"),
        ("dachte", "dachten", "denken"),
        ("brachte", "brachten", "bringen"),
        ("trat", "traten", "treten"),
        ("käme", "kämen", "kommen"),
        ("stünde", "stünden", "stehen"),
        ("ist", "sind", "sein"),
        ("war", "waren", "sein"),
        ("sei", "seien", "sein"),
        ("hat", "haben", "haben"),
        ("wird", "werden", "werden"),
        ("kann", "können", "können"),
        ("könnte", "könnten", "können"),
        ("weiß", "wissen", "wissen"),
    ],
)
def test_third_person(singular: str, plural: str, infinitive: str) -> None:
    assert other_number(singular, infinitive) == [plural]
    assert other_number(plural, infinitive) == [singular]


@pytest.mark.parametrize(
    ("form", "infinitive", "person", "expected"),
    [
        ("bin", "sein", 1, "sind"),
        ("sind", "sein", 1, "bin"),
        ("haben", "haben", 1, "habe"),
        ("habe", "haben", 1, "haben"),
        ("gehen", "gehen", 1, "gehe"),
        ("machen", "machen", 1, "mache"),
        ("handeln", "handeln", 1, "handle"),
        ("handle", "handeln", 1, "handeln"),
        ("ändern", "ändern", 1, "ändere"),
        ("machst", "machen", 2, "macht"),
        ("Geht", "gehen", 3, "gehen"),
        ("muß", "müssen", 3, "müssen"),
        ("läßt", "lassen", 3, "lassen"),
        ("heisst", "heißen", 3, "heißen"),
    ],
)
def test_other_persons(form: str, infinitive: str, person: Person, expected: str) -> None:
    assert other_number(form, infinitive, person) == [expected]


@pytest.mark.parametrize(
    ("infinitive", "expected"),
    [("baden", "badet"), ("atmen", "atmet"), ("rechnen", "rechnet"), ("kommen", "kommt"), ("rasen", "rast"),
     ("wandern", "wandert"), ("vergeben", "vergibt"), ("auswachsen", "auswächst"), ("dürfen", "darf")],
)  # fmt: skip
def test_third_singular(infinitive: str, expected: str) -> None:
    assert other_number(infinitive, infinitive) == [expected]


def test_tables_are_whole() -> None:
    parts = principal_parts()
    assert len(parts) > 150
    assert parts["werfen"] == ("wirft", "warf", "würfe")
    assert parts["gehen"] == ("geht", "ging", "ginge")
    assert parts["tragen"][2] == "trüge"
    assert all(infinitive.endswith("n") for infinitive in parts)
    assert all(len(tenses) == 4 for tenses in AUXILIARIES.values())
