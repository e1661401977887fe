"""What readers of pairs and of variants found wrong, as classes of errors; sentences of our own."""

from __future__ import annotations

import pytest

pytest.importorskip("HanTa")
pytest.importorskip("german_nouns.config")

from collections import Counter

import pytest

from babelscope.language.german.analysis import default_analyzer
from babelscope.language.registry import error_type
from babelscope.making.pairs import make_pairs


def changes(type: str, source: str, reference: str) -> list[str]:
    """The changed words of all pairs of a sentence."""
    pairs = make_pairs(type, [source], [reference], choose="all")
    return [f"{pair.extra['word']} > {pair.extra['changed']}" for pair in pairs]


NEGATED = "No, not he, never, nor she."
READ = [
    # type, source, reference, changes
    # "They" or "she" of the source decides the number of "sie".
    ("subj_adequacy", "Yesterday she laughed out loud.", "Gestern lachte sie laut.", ["lachte > lachten"]),
    ("subj_adequacy", "She's tired of the garden today.", "Sie hat heute genug vom Garten.", ["hat > haben"]),
    ("subj_adequacy", "They’ve left the garden.", "Sie haben den Garten verlassen.", ["haben > hat"]),
    # "Sie haben" is right here.
    ("subj_adequacy", "They've left the garden.", "Sie hat den Garten verlassen.", []),
    ("subj_adequacy", "The firm has left the garden.", "Sie hat den Garten verlassen.", []),
    ("subj_adequacy", "You have to sweep the garden.", "Sie müssen den Garten fegen.", []),
    ("subj_adequacy", "She said that they were tired of it.", "Sie sagte, dass es ihnen reichte.", []),
    ("subj_adequacy", "The firm knew her, as she said.", "Die Firma kannte sie gut, wie sie meinte.", []),
    ("subj_adequacy", "She works as a baker.", "Sie arbeitet als Bäckerin.", []),
    # The photos, the parents and the bakers may be the subject; the garden and a single baker cannot.
    ("subj_adequacy", "They liked photos, old ones too.", "Fotos der Stadt, auch alte, haben sie erfreut.", []),
    ("subj_adequacy", "They met the parents today.", "Heute haben sie die Eltern getroffen.", []),
    ("subj_adequacy", "They met Anna and Berta today.", "Heute haben sie Anna und Berta getroffen.", []),
    ("subj_adequacy", "They met the baker today.", "Heute haben sie den Bäcker getroffen.", ["haben > hat"]),
    # sie may be the group or the family; a dog would be "er".
    ("subj_adequacy", "The group came, then they sang.", "Die Gruppe kam, dann haben sie gesungen.", []),
    ("subj_adequacy", "The EU came, then they sang.", "Von der EU kam Lob, dann haben sie gesungen.", []),
    (
        "subj_adequacy", "The dog barked, then they sang.", "Der Hund bellte, dann haben sie gesungen.",
        ["haben > hat"],
    ),
    ("subj_adequacy", "The guests came, then she sang.", "Die Gäste kamen, dann hat sie gesungen.", []),
    ("subj_adequacy", "The dog barked, then she sang.", "Der Hund bellte, dann hat sie gesungen.", ["hat > haben"]),
    # A negation is left out if the source has it, and stays if another part needs it.
    ("polarity_particle_kein_del", "He has no dog.", "Er hat keinen Hund.", ["keinen > einen"]),
    ("polarity_particle_kein_del", "He lacks a dog.", "Er hat keinen Hund.", ["keinen > einen"]),
    ("polarity_particle_kein_del", "He has a dog.", "Er hat keinen Hund.", []),
    # One negation of the source, two of the translation: which one is added?
    ("polarity_particle_kein_del", "He won't go.", "Er geht nicht, weil er keinen Hund hat.", []),
    ("polarity_affix_del", "The road is unsafe.", "Der Weg ist unsicher.", ["unsicher > sicher"]),
    ("polarity_affix_del", "The road isn't safe.", "Der Weg ist unsicher.", ["unsicher > sicher"]),
    ("polarity_affix_del", "The road is long.", "Der unsichere Weg ist lang.", []),
    ("polarity_particle_kein_del", NEGATED, "Er hat keinen Hund, weder hier noch dort.", []),
    ("polarity_particle_kein_del", NEGATED, "Er hat keinen Hund, auch zu Hause nicht.", []),
    ("polarity_particle_kein_del", NEGATED, "Er hat keinen Hund, wohl aber eine Katze.", []),
    ("polarity_particle_kein_del", NEGATED, "Er hat keinen Hund, aber eine Katze.", []),
    ("polarity_particle_kein_del", NEGATED, "Nein, er hat keinen Hund.", []),
    ("polarity_particle_kein_del", NEGATED, "Er hat keinen Hund, und sie hat auch keinen.", []),
    ("polarity_particle_kein_del", NEGATED, "Er hat keinen Hund außer diesem.", []),
    ("polarity_particle_kein_del", NEGATED, "Er hat keinen Hund, aber er hat eine Katze.", ["keinen > einen"]),
    ("polarity_particle_kein_del", NEGATED, "Er hat keinen Hund, weil er nicht will.", ["keinen > einen"]),
    # A name has a capital in the source, too.
    ("transliteration", "Yesterday the baker met Martin.", "Gestern traf der Bäcker Martin.", ["Martin > Maritn"]),
    ("transliteration", "The dog sleeps beside the food.", "Der Hund schläft neben Essen.", []),
    ("transliteration", "A cook in black looks at the food.", "Ein Koch in Schwarz blickt auf Essen.", []),
    # A sentence that needs its nicht keeps it.
    ("polarity_particle_nicht_del", "It is not.", "Das ist gar nicht teuer.", []),
    ("polarity_particle_nicht_del", "It is not.", "Das ist überhaupt nicht teuer.", []),
    ("polarity_particle_nicht_del", "It is not.", "Der Bäcker kommt nicht mehr.", []),
    ("polarity_particle_nicht_del", "It is not.", "Der Bäcker backt nicht nur Brot.", []),
    ("polarity_particle_nicht_del", "It is not.", "Der Bäcker backt nicht nur Brot, sondern auch Kuchen.", []),
    ("polarity_particle_nicht_del", "It is not.", "Der Bäcker backt nicht Brot, sondern Kuchen.", []),
    ("polarity_particle_nicht_del", "It is not.", "Der Bäcker grüßt nicht einmal.", []),
    ("polarity_particle_nicht_del", "It is not.", "Der Bäcker ist noch nicht da.", []),
    ("polarity_particle_nicht_del", "It is not.", "Der Bäcker braucht nicht zu warten.", []),
    ("polarity_particle_nicht_del", "It is not.", "Ist das nicht teuer?", []),
    ("polarity_particle_nicht_del", "It is not.", "Er ist Bäcker, nicht Koch.", []),
    ("polarity_particle_nicht_del", "It is not.", "Der Bäcker kommt nicht, auch morgen nicht.", []),
    ("polarity_particle_nicht_del", "It is not.", "Der Bäcker kommt nicht, wohl aber der Koch.", []),
    ("polarity_particle_nicht_del", "It is not.", "Er ist Bäcker und nicht Koch.", []),
    ("polarity_particle_nicht_del", "It is not.", "Der Bäcker sagt nicht, ob er morgen kommt.", []),
    # Nicht does not follow what belongs to the verb.
    ("polarity_particle_nicht_ins", "It would help.", "Ihm würde der Koch zupasse kommen.", []),
    ("polarity_particle_nicht_ins", "It would help.", "Hier müsse der Koch zurate gezogen werden.", []),
    # The genitive is the usual form of the noun list.
    ("hypercorrect_genitive", "So it is.", "Der Koch stand nahe dem Bus.", ["dem Bus > des Busses"]),
    ("hypercorrect_genitive", "So it is.", "Der Koch stand nahe dem Reisebus.", ["dem Reisebus > des Reisebusses"]),
    ("hypercorrect_genitive", "So it is.", "Der Koch stand nahe den Kerkern.", ["den Kerkern > der Kerker"]),
    ("hypercorrect_genitive", "So it is.", "Der Koch stand gegenüber dem König.", ["dem König > des Königs"]),
    ("hypercorrect_genitive", "So it is.", "Der Koch stand nahe dem Haus.", ["dem Haus > des Hauses"]),
    ("hypercorrect_genitive", "So it is.", "Der Koch wartet seit dem Tag hier.", ["dem Tag > des Tages"]),
    ("hypercorrect_genitive", "So it is.", "Der Koch wartet seit dem 20. August hier.", []),
    # No error of another kind is made.
    ("polarity_particle_kein_del", "It is not so.", "Der Koch hat keine Zeit mehr.", []),
    ("polarity_particle_kein_del", "It is not so.", "Der Koch hat gar keine Leiter.", []),
    ("polarity_particle_kein_del", "It is not so.", "Das ist kein Wunder.", []),
    ("polarity_particle_kein_del", "It is not so.", "Das ist keine Leiter, sondern eine Treppe.", []),
    ("polarity_particle_kein_del", "It is not so.", "Der Koch macht keinen Lärm.", []),  # is not counted
    ("polarity_particle_kein_ins", "It is not so.", "Der Koch sah ein paar Leute.", []),
    ("polarity_particle_kein_ins", "It is not so.", "Der Koch wohnt in einem Haus.", []),
    ("polarity_particle_kein_ins", "It is not so.", "Kennt er einen Koch?", []),
    ("polarity_particle_kein_ins", "It is not so.", "Er singt wie ein Vogel.", []),
    ("polarity_particle_nicht_ins", "It is not so.", "Der Koch ist in den Bus gestiegen.", []),
    ("polarity_particle_nicht_ins", "It is not so.", "Der Koch hat Brote gebacken.", []),
    ("polarity_particle_nicht_ins", "It is not so.", "Das Haus, fand er heraus, war alt.", []),
    ("polarity_particle_nicht_ins", "It is not so.", "Hat er das Brot gebacken?", []),
    ("polarity_affix_ins", "It is not so.", "Die Soziale Union wächst.", []),
    ("polarity_affix_ins", "It is not so.", "Sie fanden günstigen Wohnraum.", []),
    ("polarity_affix_ins", "It is not so.", "Der Weg ist schlecht begehbar.", []),
    ("polarity_affix_ins", "It is not so.", "Es war bekannt, dass er kommt.", []),
    ("polarity_affix_del", "It is not so.", "Er will es ungeschehen machen.", []),
    ("polarity_affix_del", "It is not so.", "Der Fehler blieb unbemerkt.", []),
    ("polarity_affix_del", "It is not so.", "Es war ungewöhnlich warm.", []),
    ("compound", "It is not so.", "Die Asylsuchenden warten.", []),
    # "Das sieht die Pläne vor" and "Helfer rät zur Vorsicht" are sentences.
    ("subj_verb_agreement", "It is not so.", "Das sehen die Pläne vor.", []),
    ("subj_verb_agreement", "It is not so.", "Helfer raten zur Vorsicht", []),
    ("clause_omission", "It is not so.", "Gestern kam Maj. Kurz an und lachte.", []),
    ("clause_omission", "It is not so.", "Es gibt eine Sprache: Zulu, das viele sprechen.", []),
    ("compound", "The judge summoned Lehmberg.", "Der Richter lud Lehmberg vor.", []),
]  # fmt: skip


@pytest.mark.parametrize(("type", "source", "reference", "expected"), READ)
def test_pairs_are_errors_of_their_type(type: str, source: str, reference: str, expected: list[str]) -> None:
    assert changes(type, source, reference) == expected


def test_no_particle_is_a_shortcut() -> None:
    verbs = ["stellt", "gibt", "kommt", "nimmt", "legt", "setzt", "hält", "führt", "zieht", "fällt"]
    particles = ["an", "ab", "auf", "aus", "ein", "vor", "zu", "hin", "zurück", "mit"]
    references = [f"Heute {verb} der Bäcker alles {particle}." for verb in verbs for particle in particles]
    pairs = make_pairs("verb_particle", ["Today."] * len(references), references, seed=1)
    drawn = Counter(str(pair.extra["changed"]) for pair in pairs)
    assert drawn.total() >= 60
    assert max(drawn.values()) <= 0.25 * drawn.total(), drawn
    assert len(drawn) >= 10


def test_a_particle_of_the_same_meaning_is_no_error() -> None:
    found = changes("verb_particle", "He goes away.", "Der Bäcker geht heute weg.")
    assert found
    assert not {"weg > ab", "weg > aus"} & set(found)


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("Dort sind Leute, die Angst haben.", []),
        ("Es gibt ein Fass, in dem Wein reift.", []),
        ("Dort sind Leute, die die Angst kennen.", ["die > der", "die > das", "die > den"]),
        ("Es kam der Koch.", ["der > die", "der > das"]),
    ],
)
def test_a_relative_pronoun_is_no_article(reference: str, expected: list[str]) -> None:
    assert set(changes("np_agreement", "So it is.", reference)) <= set(expected)
    assert bool(changes("np_agreement", "So it is.", reference)) is bool(expected)


def test_an_omission_ends_in_one_mark() -> None:
    reference = "Der Koch kam; er sagte: „Es regnet.“"
    left = [pair.contrastive[0] for pair in make_pairs("clause_omission", ["x"], [reference], choose="all")]
    assert "Der Koch kam." in left


def made(type: str, text: str, mode: str | None = None, source: str = "It is not so.") -> list[str]:
    """The changed words of all variants, or for omissions what is left."""
    variants = error_type(type).variants(default_analyzer().analyze(text), mode, source=source)
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
    variants = error_type("placeholder_ding").variants(default_analyzer().analyze(text))
    assert [text[each.start :].split()[0] for each in variants] == ["Adler", "Zoo"]
    assert all(each.start > 20 for each in variants), "the bare Adler may be a man"
    assert len(made("placeholder_ding", text, "as-released")) > 2
    assert made("placeholder_ding", "Er wohnt neben dem Weißen Haus.") == []


NO_OPPOSITES = (
    "unbeschadet unglaublich unverzüglich unerlässlich unverbesserlich unentwegt unaufhörlich unwiderstehlich"
    " unsäglich unermüdlich unheimlich unlängst ungemein"
)


def test_a_word_of_degree_does_not_hide_the_genitive() -> None:
    detect = error_type("hypercorrect_genitive").detect
    assert detect is not None
    for text, wrong in (
        ("Er wartet seit fast eines Jahres.", True),
        ("Er wartet seit fast einem Jahr.", False),
    ):
        assert detect("", default_analyzer().analyze(text)) is wrong


@pytest.mark.parametrize(
    ("type", "text", "changed"),
    [
        ("polarity_affix_del", "Das unbearbeitete Feld blieb leer.", ["bearbeitete"]),
        ("polarity_affix_del", "Die unbekannten Gäste gingen.", ["bekannten"]),
        ("polarity_affix_del", "Er litt unter der Untätigkeit.", ["Tätigkeit"]),
        ("polarity_affix_del", "Die unanständige Rede war kurz.", ["anständige"]),
        ("polarity_affix_del", "Die unhöflichen Gäste gingen.", ["höflichen"]),
        ("polarity_affix_del", "Die unendlichen Felder lagen da.", ["endlichen"]),
        ("hypercorrect_genitive", "Er spielt seit dem Alter von fünf Jahren.", ["des Alters"]),
        ("hypercorrect_genitive", "Das gilt gegenüber einem 850 Millionen Euro teuren Bau.", []),
        ("hypercorrect_genitive", "Sie wohnt seit fast einem Jahr hier.", ["eines Jahres"]),
        ("hypercorrect_genitive", "Sie wohnt seit mehr als einem Jahr hier.", ["eines Jahres"]),
        ("hypercorrect_genitive", "Sie wohnt seit etwa einem Monat hier.", ["eines Monats"]),
        ("hypercorrect_genitive", "Er ist beinahe dem Tod entronnen.", []),
        ("hypercorrect_genitive", "Er schwieg gegenüber dem Alten.", ["des Alten"]),
        ("hypercorrect_genitive", "Er stand nahe dem Blerchen.", ["des Blerchens"]),  # known by its suffix
        ("hypercorrect_genitive", "Er stand nahe dem Zwurk.", []),  # nobody knows what it is
        ("auxiliary", "Die Tür ist geöffnet.", []),  # a passive of state
        ("auxiliary", "Die Wege sind gut beschildert.", []),
        ("auxiliary", "Der Laden war gestern geschlossen.", []),
        ("auxiliary", "Die Tür hat sie geöffnet.", []),  # "die" may be the subject
        ("auxiliary", "Er hat die Tür geöffnet.", ["ist"]),
        ("auxiliary", "Der Wirt hat den Brief geöffnet.", ["ist"]),
        ("auxiliary", "Sie hat einen Laden geöffnet.", ["ist"]),
        ("auxiliary", "Die Gäste sind nach Hause gegangen.", ["haben"]),
        ("auxiliary", "Die Preise waren gestiegen.", ["hatten"]),
        ("auxiliary", "Er sagte, er habe das Buch gelesen.", ["sei"]),
        ("auxiliary", "Ich habe das Buch gelesen.", ["bin"]),
        ("auxiliary", "Das Tor ist gestern geöffnet worden.", []),
        *(("polarity_affix_del", f"Das war {word} wichtig.", []) for word in NO_OPPOSITES.split()),
        ("compound", "Der Organismus braucht am Donnerstag Unterstützung der Wirtschaft.", []),
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
        ("subj_adequacy", "Er ging, bevor es schlecht für sie aussah.", []),
        ("compound", "Er reiste nach Queensland.", []),
        ("subj_verb_agreement", "Wer würde hier einen Garten erwarten, der blüht?", ["würden", "blühen"]),
        ("subj_verb_agreement", "Die Gäste, die es bekanntgaben, gingen.", ["bekanntgab", "ging"]),
        ("transliteration", "Er kennt das Mesotheliom nicht.", []),
    ],
)
def test_variants_are_real_errors_of_their_type(type: str, text: str, changed: list[str]) -> None:
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
