"""Determiners: gender, number and case of each form."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Literal

from babelscope.language.base import Token
from babelscope.language.german.analysis import Analyzed, Case, Gender, Nominal, Number, word_set

_CASES: tuple[Case, ...] = ("nom", "gen", "dat", "acc")
# Columns of the paradigm: masculine, feminine, neuter, plural; rows: nominative, genitive, dative, accusative.
_GENDERS: tuple[Gender, ...] = ("m", "f", "n")
_DEFINITE = ("der die das die", "des der des der", "dem der dem den", "den die das die")
_KEIN = (
    "kein keine kein keine",
    "keines keiner keines keiner",
    "keinem keiner keinem keinen",
    "keinen keine kein keine",
)


def _readings(paradigm: tuple[str, ...]) -> dict[str, frozenset[Nominal]]:
    found: dict[str, set[Nominal]] = {}
    for case, row in zip(_CASES, paradigm, strict=True):
        *singular, plural = row.split()
        for gender, form in zip(_GENDERS, singular, strict=True):
            found.setdefault(form, set()).add(Nominal(gender, "sg", case))
        for each in (*_GENDERS, ""):
            found.setdefault(plural, set()).add(Nominal(each, "pl", case))
    return {form: frozenset(readings) for form, readings in found.items()}


DEFINITE = _readings(_DEFINITE)
KEIN = _readings(_KEIN)


def definite_article(gender: Gender, number: Number, case: Case) -> str:
    """The form of the definite article."""
    row = _DEFINITE[_CASES.index(case)].split()
    return row[3] if number == "pl" else row[_GENDERS.index(gender)]


_DATIVE = (
    "aus bei mit nach von zu seit ab außer gegenüber entgegen entsprechend gemäß nahe nebst samt laut binnen"
    " zufolge"
)
_ACCUSATIVE = "durch für gegen ohne um bis pro per wider betreffend via entlang"
_EITHER = "in an auf über unter vor hinter neben zwischen"
_GENITIVE = (
    "dank wegen während trotz statt anstatt aufgrund innerhalb außerhalb oberhalb unterhalb hinsichtlich angesichts"
    " anhand mithilfe infolge bezüglich mittels zugunsten anlässlich seitens jenseits diesseits inmitten"
    " einschließlich namens kraft ungeachtet unweit zwecks abseits beiderseits anstelle zuungunsten"
)
_GOVERNED: dict[str, set[Case]] = {
    **{word: {"dat"} for word in _DATIVE.split()},
    **{word: {"acc"} for word in _ACCUSATIVE.split()},
    **{word: {"dat", "acc"} for word in _EITHER.split()},
    # In everyday German, most of these also take the dative.
    **{word: {"gen", "dat"} for word in _GENITIVE.split()},
}
# Pronouns that are subjects, so that the phrase after them is not.
_NOMINATIVE = word_set("ich du er wir man jemand niemand")
_QUOTES = "\"'„“”»«‚‘’("


def cases_at(sentence: Analyzed, place: int, possible: set[Case]) -> set[Case]:
    """Which of the `possible` cases a phrase that begins at `place` can have."""
    if len(possible) == 1:
        return possible
    before = place - 1
    while before >= 0 and sentence.tokens[before].text in _QUOTES:
        before -= 1
    previous = sentence.tokens[before] if before >= 0 else None
    if "nom" in possible and (previous is None or previous.tag in ("$.", "KOUS") or previous.text == ":"):
        return {"nom"}  # the first phrase is mostly the subject
    if previous is not None:
        if "acc" in possible and previous.text.lower() in _NOMINATIVE:
            return possible - {"nom"}
        governed = _GOVERNED.get(previous.text.lower())
        if governed and previous.tag in ("APPR", "APPO", "KOUI", "PTKZU", "KOUS", "ADJD", "PTKVZ", "ADV"):
            return possible & governed or possible
        # A noun before it: the genitive of "das Ende der Woche".
        if "gen" in possible and previous.tag == "NN":
            return {"gen"}
        # After a name, the dative is possible too: "Bald half Anna der Katze".
        if "gen" in possible and previous.tag == "NE":
            return possible & {"gen", "dat"}
    return possible


Tense = tuple[str, str, str]


def _lines(name: str) -> list[str]:
    return Path(__file__).with_name(name).read_text("utf-8").strip().split("\n")


def _auxiliaries() -> dict[str, tuple[Tense, ...]]:
    """Forms of auxiliaries, and of verbs whose present looks like a preterite.

    Infinitive -> present, preterite, subjunctive I and II, each as (first singular, third singular, plural).
    """
    found = {}
    for line in _lines("auxiliaries.txt"):
        infinitive, tenses = line.split(": ")
        rows = (tense.split() for tense in tenses.split(", "))
        found[infinitive] = tuple((first, third, plural) for first, third, plural in rows)
    return found


AUXILIARIES = _auxiliaries()


def principal_parts() -> dict[str, tuple[str, str, str]]:
    """Infinitive -> (third person singular present, preterite, subjunctive II).

    The file has a subjunctive only where it is not the preterite with umlaut and -e.
    """
    found = {}
    for entry in ";".join(_lines("irregular_verbs.txt")).split(";"):
        infinitive, present, preterite, *subjunctive = entry.split()
        found[infinitive] = (present, preterite, subjunctive[0] if subjunctive else _umlauted(preterite))
    return found


def _umlauted(preterite: str) -> str:
    """The subjunctive II of a preterite: kam, käme; ging, ginge; schuf, schüfe."""
    stem = preterite.removesuffix("e")
    for place in range(len(stem) - 1, -1, -1):
        letter = stem[place]
        if letter in "aou":
            return stem[:place] + "äöü"["aou".index(letter)] + stem[place + 1 :] + "e"
        if letter in "eiäöü":
            break
    return stem + "e"


# --- Turns finite verbs into the other number; person, tense and mood stay -----------------------------------------


Person = Literal[1, 2, 3]
_PREFIXES = word_set(
    "ab an auf aus bei be da dar durch ein emp ent entgegen er fehl fern fest fort frei ge gegen gegenüber"
    " gleich groß heim her herab heran herauf heraus herbei herein herum herunter hervor hin hinab hinauf"
    " hinaus hinein hinter hinüber hinunter hinweg hinzu hoch kennen klar los miss mit nach nahe nieder"
    " offen preis statt stand still teil über um umher un unter ver vor voran voraus vorbei vorüber wahr weg"
    " weiter wider wieder zer zu zurecht zurück zusammen zwischen auseinander aufeinander bekannt bereit bevor bloß"
    " darauf davon dazu dazwischen einher empor entlang entzwei fertig gut hintan kaputt kund leicht locker"
    " maß näher nebenher rück sauber schief schwer sicher stehen tot übrig überein umhin vonstatten vorweg"
    " wett zugrunde zugute zunichte zurande zusammen zuvor zuwider missver wiederge"
)
_KNOWN_PREFIXES = _PREFIXES | {""}
_VOWELS = "aeiouäöüy"


def number_of(verb: Token) -> str:
    """The number of a finite verb: plurals of the first and third person end in -n; "" if it is not clear."""
    form = verb.text.lower()
    if form == "sind" or (form.endswith("en") and form != "en"):
        return "pl"
    return "" if form.endswith("n") else "sg"


def other_number(form: str, lemma: str, person: Person = 3) -> list[str]:
    """The finite form that differs from `form` in number alone, as a list of one; empty if it is not known."""
    lower = form.lower()
    present = lower == lemma.lower() and not any(
        verb in _parts() or verb in AUXILIARIES for _, verb in _splits(lower)
    )
    # The lemma tells "drängen" (present) from the past of "dringen".
    found = [] if present else [new for new in _irregular(lower, person) if new != lower]
    if not found:
        found += _regular(lower, lemma.lower(), person)
    return list(dict.fromkeys(new for new in found if new and new != lower))[:1]


@lru_cache(maxsize=1)
def _parts() -> dict[str, tuple[str, str, str]]:
    return principal_parts()


@lru_cache(maxsize=1)
def _index() -> dict[str, list[tuple[str, str, str]]]:
    """Irregular form -> its counterparts of the other number, for the first, second and third person."""
    index: dict[str, list[tuple[str, str, str]]] = {}

    def add(form: str, first: str, second: str, third: str) -> None:
        index.setdefault(form, []).append((first, second, third))

    for rows in AUXILIARIES.values():
        for first, third, plural in rows:
            add(first, plural, plural, plural)
            if third != first:
                add(third, plural, plural, plural)
            add(plural, first, first, third)
    # The present is added first, so that it wins where forms coincide.
    for infinitive, (third, _, _) in _parts().items():
        add(third, infinitive, third, infinitive)
        add(infinitive, infinitive[:-1] if infinitive.endswith("en") else infinitive[:-1] + "e", third, third)
    for preterite, subjunctive in ((past, wish) for _, past, wish in _parts().values()):
        plural = preterite + ("n" if preterite.endswith("e") else "en")
        add(preterite, plural, plural, plural)
        add(plural, preterite, preterite, preterite)
        add(subjunctive, subjunctive + "n", subjunctive + "n", subjunctive + "n")
        add(subjunctive + "n", subjunctive, subjunctive, subjunctive)
    return index


@lru_cache(maxsize=50_000)
def _splits(form: str) -> tuple[tuple[str, str], ...]:
    """All splits of a form into a known prefix, or two in a row, and a verb; the shortest prefix first."""
    found = []
    for cut in range(max(1, len(form) - 1)):
        prefix = form[:cut]
        if prefix in _KNOWN_PREFIXES or any(
            prefix[:inner] in _KNOWN_PREFIXES and prefix[inner:] in _KNOWN_PREFIXES for inner in range(1, cut)
        ):
            found.append((prefix, form[cut:]))
    return tuple(found)


def _irregular(form: str, person: Person) -> list[str]:
    index = _index()
    # Old and Swiss spelling: "muß", "liess".
    for spelling in dict.fromkeys((form, form.replace("ß", "ss"), form.replace("ss", "ß"))):
        for prefix, verb in _splits(spelling):
            if verb in index:
                return [prefix + counterparts[person - 1] for counterparts in index[verb]]
    return []


def _regular(form: str, lemma: str, person: Person) -> list[str]:
    if form.endswith("n"):
        if re.search(r"(?:t|et)en$", form) and lemma != form and len(form) > 5:
            return [form[:-1]]  # machten, arbeiteten
        return [_first_singular(form)] if person == 1 else [_regular_third(form)]
    if form.endswith("e"):
        if re.search(r"[^aeiouäöü][lr]e$", form) and lemma.endswith(("eln", "ern")):
            return [lemma]  # ich handle: wir handeln
        return [form + "n"]
    if form.endswith("st") and person == 2:
        return [form[:-2] + ("et" if form.endswith("est") else "t")]
    if form.endswith("t"):
        return [_infinitive_of_third(form, lemma)]
    return [form + "en"]


def _regular_third(infinitive: str) -> str:
    if infinitive.endswith(("eln", "ern")) and infinitive[-4:-3] not in "hl":
        return infinitive[:-1] + "t"
    if not infinitive.endswith("en"):
        return infinitive[:-1] + "t"
    stem = infinitive[:-2]
    return stem + ("et" if _needs_e(stem) else "t")


def _needs_e(stem: str) -> bool:
    """Whether a stem takes -et: arbeit-et, red-et, öffn-et, atm-et; but lern-t, wohn-t, komm-t."""
    if stem.endswith(("t", "d")):
        return True
    return bool(re.search(r"(?:ch|[^aeiouäöülrhmny])[mn]$", stem)) and not stem.endswith(("mm", "nn"))


def _infinitive_of_third(form: str, lemma: str) -> str:
    if lemma.endswith("n") and _regular_third(lemma) == form:
        return lemma
    stem = form[:-1]
    if stem.endswith("e"):
        return stem + "n"  # arbeitet: arbeiten
    if re.search(rf"(?:[^{_VOWELS}]|ei|au|eu)e[lr]$", stem) and not stem.endswith(("ehl", "ell")):
        return stem + "n"  # handelt: handeln; feiert: feiern
    return stem + "en"


def _first_singular(plural: str) -> str:
    """The first person singular of a plural: machen, mache; handeln, handle; ändern, ändere."""
    if plural.endswith("eln"):
        return plural[:-3] + "le"
    return plural[:-1] if plural.endswith("en") else plural[:-1] + "e"
