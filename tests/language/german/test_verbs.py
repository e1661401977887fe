"""Conjugation: the other number of finite verbs, checked by hand."""

from __future__ import annotations

import pytest

from babelscope.language.german.irregular import AUXILIARIES, principal_parts
from babelscope.language.german.verbs import Person, other_number


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
