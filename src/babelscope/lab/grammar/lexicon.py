"""Nouns, adjectives, adverbs, prepositions and conjunctions of both languages, read from the tables beside it.

Rows are ordered by frequency: words are drawn by Zipf's law among those that a verb admits.
German synonyms have weights; the first is the usual one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from babelscope.lab.grammar.morphology import GermanNoun


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective: English, German stem that takes endings, German form without ending."""

    english: str
    stem: str
    german: str


@dataclass(frozen=True, slots=True)
class Noun:
    """A concept with an English noun and weighted German nouns, masculine and feminine for occupations."""

    name: str
    english: str
    plural: str
    german: tuple[tuple[GermanNoun, float], ...]
    classes: frozenset[str]
    feminine: tuple[tuple[GermanNoun, float], ...] = ()
    women: float = 0.0  # share of women where English does not show the gender
    women_told: float = 0.0  # share of women where it does
    sense: str = ""  # "frequent" or "rare" for an ambiguous word

    @property
    def person(self) -> bool:
        return bool(self.feminine) or "person" in self.classes


@dataclass(frozen=True, slots=True)
class Sense:
    """One sense of an ambiguous noun, and the context words that show it."""

    noun: str  # its name in NOUNS
    word: str
    frequency: str
    adjectives: tuple[str, ...]
    frames: tuple[tuple[str, str], ...]
    modifiers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Preposition:
    """A preposition in both languages; several German ones are synonyms with weights."""

    english: tuple[str, ...]
    german: tuple[tuple[str, str, float], ...]  # form, case, weight


@cache
def read_table(name: str) -> list[list[str]]:
    """The rows of a table, each the list of its cells."""
    text = (Path(__file__).parent / "tables" / f"{name}.txt").read_text(encoding="utf-8")
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    return [[cell.strip() for cell in line.split("|")] for line in lines]


def _german_nouns(column: str) -> tuple[tuple[GermanNoun, float], ...]:
    rows = [entry.split() for entry in column.split(",")]
    return tuple((GermanNoun(*row[:4]), float(row[4])) for row in rows)


def _nouns() -> dict[str, Noun]:
    nouns = {}
    for english, german, classes in read_table("nouns"):
        name, plural = english.split()
        nouns[name] = Noun(name, name, plural, _german_nouns(german), frozenset(classes.split()))
    for english, masculine, feminine, women, told in read_table("occupations"):
        name, plural = english.split()
        men, kind = _german_nouns(masculine), frozenset({"occupation"})
        shares = float(women), float(told)
        nouns[name] = Noun(name, name, plural, men, kind, _german_nouns(feminine), *shares)
    for english, german, *_ in read_table("senses"):
        word, plural, sense = english.split()
        name = f"{word}/{sense}"
        nouns[name] = Noun(name, word, plural, _german_nouns(german), frozenset({"sense"}), sense=sense)
    return nouns


def _senses() -> dict[str, Sense]:
    senses = {}
    for english, _, adjectives, frames, modifiers in read_table("senses"):
        word, _, frequency = english.split()
        pairs = tuple((verb, role) for verb, role in (frame.split(":") for frame in frames.split()))
        preposition, noun = modifiers.split()
        name = f"{word}/{frequency}"
        senses[name] = Sense(name, word, frequency, tuple(adjectives.split()), pairs, ((preposition, noun),))
    return senses


def _adjectives() -> dict[str, Adjective]:
    adjectives = {}
    for (row,) in read_table("adjectives"):
        for entry in row.split(","):
            english, german, *predicative = entry.split()
            # "müde/müd": the stem after the slash is what takes endings.
            whole, _, short = german.partition("/")
            adjectives[english] = Adjective(english, short or whole, predicative[0] if predicative else whole)
    return adjectives


def _prepositions() -> dict[str, Preposition]:
    prepositions = {}
    for name, english, german in read_table("prepositions"):
        rows = [entry.split() for entry in german.split(",")]
        options = tuple(("" if form == "-" else form, case, int(weight)) for form, case, weight in rows)
        prepositions[name] = Preposition(tuple(english.split()), options)
    return prepositions


def _weighted(table: str) -> dict[str, tuple[tuple[str, float], ...]]:
    """For each English word, its German words with their weights."""
    return {
        english: tuple((form, int(weight)) for form, weight in map(str.split, german.split(",")))
        for english, german in read_table(table)
    }


NOUNS = _nouns()
SENSES = _senses()
ADJECTIVES = _adjectives()
PREPOSITIONS = _prepositions()
ADVERBS = _weighted("adverbs")
CONJUNCTIONS = _weighted("conjunctions")
OCCUPATIONS = tuple(name for name, noun in NOUNS.items() if noun.feminine)
AMBIGUOUS = tuple(dict.fromkeys(sense.word for sense in SENSES.values()))
DATIVE_PREPOSITIONS = (
    "entgegen", "entsprechend", "gegenüber", "gemäß", "nahe", "nebst", "samt", "mitsamt", "seit",
)  # fmt: skip
# Where one is in a place: "at the station" is "am Bahnhof", "at the market" is "auf dem Markt".
PLACE_PREPOSITION = {"station": "at", "market": "on_market"}
FREQUENCY = ("often", "always", "sometimes")  # before the English verb
MANNER = ("quickly", "slowly", "quietly", "carefully", "patiently", "impatiently", "happily", "carelessly")
