"""What readers of the German variants found wrong, as classes of errors; sentences of our own."""

from __future__ import annotations

import pytest

pytest.importorskip("HanTa")
pytest.importorskip("german_nouns.config")

from babelscope.language.german.analysis import default_analyser
from babelscope.language.registry import error_type


def made(type: str, text: str, mode: str | None = None, source: str = "It is not so.") -> list[str]:
    """The changed words of all variants, or for omissions what is left."""
    variants = error_type(type).variants(default_analyser().analyse(text), mode, source=source)
    return [each.text if type == "clause_omission" else each.changed for each in variants]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Berta: Wir haben gut gespielt.", []),  # a name with a colon is no clause
        ("Nein. Er kommt heute nicht.", []),
        ("Es fehlt an allem: Essen, Kleidung, Arbeit.", []),
        ("Sie gingen; niemand blieb. Es war still.", ["Niemand blieb. Es war still.", "Sie gingen. Es war still."]),
        ("Der Bus war voll; was alle wussten.", []),  # what follows is no clause of its own
        ("Die Firma (Kurz. Lang) baute Brücken. Sie wuchs.", ["Die Firma (Kurz. Lang) baute Brücken.", "Sie wuchs."]),
        ("Er rief: „Ich komme. Warte doch.“ Sie lachte.", ["Er rief: „Ich komme. Warte doch.“", "Sie lachte."]),
        ("Es galt der Antrag des Partei-bzw. Fraktionschefs, der lange sprach.", []),
        ("Der Hund bellte. Die Katze schlief.", ["Der Hund bellte.", "Die Katze schlief."]),
    ],
)  # fmt: skip
def test_what_is_left_out_and_what_is_left_are_clauses(text: str, left: list[str]) -> None:
    found = made("clause_omission", text)
    assert set(left) <= set(found)
    if not left:
        assert found == []
    for each in found:
        assert each.count("(") == each.count(")")
        assert each.count("„") == each.count("“")
        assert not each.endswith((":", ";"))
        assert not each[0].islower()


def test_names_are_no_things() -> None:
    text = "Wenn Puma und Adler wachsen, freut sich der Adler im Zoo an der Ostsee."
    variants = error_type("placeholder_ding").variants(default_analyser().analyse(text))
    assert [text[each.start :].split()[0] for each in variants] == ["Adler", "Zoo"]
    assert all(each.start > 20 for each in variants), "the bare Adler may be a man"
    assert len(made("placeholder_ding", text, "as-released")) > 2
    assert made("placeholder_ding", "Er wohnt neben dem Weißen Haus.") == []


NO_OPPOSITES = (
    "unbeschadet unglaublich unverzüglich unerlässlich unverbesserlich unentwegt unaufhörlich unwiderstehlich"
    " unsäglich unermüdlich unheimlich unlängst ungemein"
)


@pytest.mark.parametrize("word", NO_OPPOSITES.split())
def test_without_un_there_must_be_a_word_that_means_the_opposite(word: str) -> None:
    assert made("polarity_affix_del", f"Das war {word} wichtig.") == []


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("Der Weg ist unsicher.", ["sicher"]),
        ("Das unbearbeitete Feld blieb leer.", ["bearbeitete"]),
        ("Die unbekannten Gäste gingen.", ["bekannten"]),
        ("Er litt unter der Untätigkeit.", ["Tätigkeit"]),
        ("Die unanständige Rede war kurz.", ["anständige"]),
        ("Die unhöflichen Gäste gingen.", ["höflichen"]),
        ("Die unendlichen Felder lagen da.", ["endlichen"]),
    ],
)
def test_real_words_lose_their_un(text: str, changed: list[str]) -> None:
    assert made("polarity_affix_del", text) == changed


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("Er spielt seit dem Alter von fünf Jahren.", ["des Alters"]),
        ("Das gilt gegenüber einem 850 Millionen Euro teuren Bau.", []),
        ("Sie wohnt seit fast einem Jahr hier.", ["eines Jahres"]),
        ("Sie wohnt seit mehr als einem Jahr hier.", ["eines Jahres"]),
        ("Sie wohnt seit etwa einem Monat hier.", ["eines Monats"]),
        ("Er ist beinahe dem Tod entronnen.", []),
        ("Er schwieg gegenüber dem Alten.", ["des Alten"]),
        ("Er stand nahe dem Blerchen.", ["des Blerchens"]),  # known by its suffix
        ("Er stand nahe dem Zwurk.", []),  # nobody knows what it is
    ],
)
def test_genitives_are_of_nouns_that_have_one(text: str, changed: list[str]) -> None:
    assert made("hypercorrect_genitive", text) == changed


def test_a_word_of_degree_does_not_hide_the_genitive() -> None:
    detect = error_type("hypercorrect_genitive").detect
    assert detect is not None
    for text, wrong in (
        ("Er wartet seit fast eines Jahres.", True),
        ("Er wartet seit fast einem Jahr.", False),
    ):
        assert detect("", default_analyser().analyse(text)) is wrong


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("Die Tür ist geöffnet.", []),  # a passive of state
        ("Die Wege sind gut beschildert.", []),
        ("Der Laden war gestern geschlossen.", []),
        ("Die Tür hat sie geöffnet.", []),  # "Die Tür ist sie geöffnet" is odd, but "die" may be the subject
        ("Er hat die Tür geöffnet.", ["ist"]),
        ("Der Wirt hat den Brief geöffnet.", ["ist"]),
        ("Sie hat einen Laden geöffnet.", ["ist"]),
        ("Die Gäste sind nach Hause gegangen.", ["haben"]),
        ("Die Preise waren gestiegen.", ["hatten"]),
        ("Er sagte, er habe das Buch gelesen.", ["sei"]),
        ("Ich habe das Buch gelesen.", ["bin"]),
        ("Das Tor ist gestern geöffnet worden.", []),
    ],
)
def test_a_passive_of_state_is_no_wrong_perfect(text: str, changed: list[str]) -> None:
    assert made("auxiliary", text) == changed


@pytest.mark.parametrize(
    ("type", "text", "changed"),
    [
        ("compound", "Der Organismus braucht am Donnerstag Unterstützung der Wirtschaft.", []),
        ("compound", "Die Gartenmauer ist hoch.", ["Garten Mauer"]),
        ("subj_adequacy", "Alle sind sie müde.", []),
        ("subj_adequacy", "Sie fragt nach, ob er kommt, und antwortet nicht.", []),
        ("subj_adequacy", "Sie sind Schwestern.", []),
        ("subj_adequacy", "Wie überrascht sie gewesen wären!", []),
        ("verb_particle", "So geht es: Leer hin, voll zurück.", []),
        ("subj_verb_agreement", "Er muss weder reden, noch fordern.", ["müssen"]),
        ("np_agreement", "Der Chef des NUFZ schwieg.", ["Die", "Das"]),  # whose gender nobody knows
        ("polarity_affix_ins", "Der Preis ist deutlich gesunken.", []),
        ("polarity_affix_ins", "Er kam so schnell wie möglich.", []),
        ("polarity_affix_ins", "Der Plan ist klar.", ["unklar"]),
        ("polarity_affix_ins", "Das war ein ehrlicher Plan.", ["unehrlicher"]),
        ("polarity_particle_kein_del", "Züge gibt es keine mehr.", []),
        ("polarity_particle_kein_del", "Keiner der Gäste blieb.", ["Einer"]),
        ("polarity_particle_kein_ins", "Das war nur ein Traum.", []),
        ("polarity_particle_kein_ins", "Manch ein Gast blieb.", []),
        ("polarity_particle_nicht_ins", "Das passt mir am besten.", []),
        ("polarity_particle_nicht_ins", "Das hat mir gefallen.", ["nicht"]),
        ("polarity_particle_nicht_del", "Das liegt nicht zuletzt an ihm.", []),
        ("polarity_particle_nicht_del", "Wer weiß, ob er kommt oder nicht.", []),
        ("polarity_particle_nicht_del", "Er kommt nicht.", [""]),
        ("subj_adequacy", "Er ging, bevor es schlecht für sie aussah.", []),
        ("compound", "Er reiste nach Queensland.", []),
        ("subj_verb_agreement", "Wer würde hier einen Garten erwarten, der blüht?", ["würden", "blühen"]),
        ("subj_verb_agreement", "Die Gäste, die es bekanntgaben, gingen.", ["bekanntgab", "ging"]),
        ("transliteration", "Er kennt das Mesotheliom nicht.", []),
    ],
)
def test_other_types_leave_out_what_is_not_their_error(type: str, text: str, changed: list[str]) -> None:
    assert made(type, text) == changed


def test_every_type_of_the_paper_has_the_mode_of_the_release_where_strict_leaves_something_out() -> None:
    names = [
        "clause_omission", "hypercorrect_genitive", "np_agreement", "placeholder_ding", "polarity_affix_del",
        "polarity_particle_kein_del", "polarity_particle_nicht_del", "subj_verb_agreement",
    ]  # fmt: skip
    assert {error_type(name).modes[-1] for name in names} == {"as-released"}
    assert made("polarity_affix_del", "Er kam unverzüglich.", "as-released") == ["verzüglich"]
    assert made("hypercorrect_genitive", "Er spielt seit dem Alter von fünf Jahren.", "as-released") == [
        "des Alter"
    ]
