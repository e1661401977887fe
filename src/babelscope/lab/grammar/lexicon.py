"""Nouns, adjectives, adverbs, prepositions and conjunctions of both languages, read from the tables beside it.

Rows are ordered by frequency: words are drawn by Zipf's law among those that a verb admits.
German synonyms have weights; the first is the usual one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

CASES = ("Nom", "Acc", "Dat", "Gen")
GENDERS = {"m": "Masc", "f": "Fem", "n": "Neut"}


def _table(*rows: str) -> dict[str, tuple[str, ...]]:
    """Rows by case, columns masculine, feminine, neuter, plural; "-" for no ending."""
    cells = (tuple("" if cell == "-" else cell for cell in row.split()) for row in rows)
    return dict(zip(CASES, cells, strict=False))


DEFINITE = _table("der die das die", "den die das die", "dem der dem den", "des der des der")
EIN = _table("- e - e", "en e - e", "em er em en", "es er es er")
STRONG = _table("er e es e", "en e es e", "em er em en", "es er es er")
# Without a determiner that shows the case, adjectives take the determiner's endings, except genitive -en.
ADJECTIVE = {
    "weak": _table("e e e en", "en e e en", "en en en en", "en en en en"),
    "mixed": _table("er e es en", "en e es en", "en en en en", "en en en en"),
    "strong": {**STRONG, "Gen": ("en", "er", "en", "er")},
}
PRONOUN = _table("er sie es sie", "ihn sie es sie", "ihm ihr ihm ihnen")
RELATIVE = {**DEFINITE, "Dat": ("dem", "der", "dem", "denen")}
CONTRACTIONS = {
    ("in", "dem"): "im",
    ("an", "dem"): "am",
    ("bei", "dem"): "beim",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("von", "dem"): "vom",
    ("in", "das"): "ins",
}


@dataclass(frozen=True, slots=True)
class GermanNoun:
    """A German noun: lemma, gender (m, f, n), genitive singular and nominative plural."""

    lemma: str
    gender: str
    genitive: str
    plural: str

    @property
    def weak(self) -> bool:
        """Whether it is of the type der Junge, den Jungen."""
        return self.gender == "m" and self.genitive == self.plural and self.genitive.endswith("n")

    def form(self, case: str, plural: bool) -> str:
        if plural:
            return self.plural + ("n" if case == "Dat" and self.plural[-1] not in "ns" else "")
        if case == "Gen" or (self.weak and case != "Nom"):
            return self.genitive
        return self.lemma

    @property
    def forms(self) -> frozenset[str]:
        return _noun_forms(self)


@dataclass(frozen=True, slots=True)
class GermanVerb:
    """A German verb: principal parts without the separable prefix, and how it marks its participants."""

    prefix: str
    infinitive: str
    present: str
    preterite: str
    participle: str
    auxiliary: str
    object: str = "Acc"  # a case, or a preposition and a case: "auf Acc"
    reflexive: str = ""  # the case of an obligatory "sich"

    @property
    def lemma(self) -> str:
        return self.prefix + self.infinitive

    def finite(self, tense: str, plural: bool) -> str:
        """The third person, without the prefix."""
        if tense == "past":
            return self.preterite + (("n" if self.preterite.endswith("e") else "en") if plural else "")
        return ("sind" if self.infinitive == "sein" else self.infinitive) if plural else self.present

    @property
    def zu_infinitive(self) -> tuple[str, ...]:
        """The infinitive with zu: one word if the prefix is separable."""
        return (self.prefix + "zu" + self.infinitive,) if self.prefix else ("zu", self.infinitive)

    @property
    def finites(self) -> frozenset[str]:
        """The finite forms, without the prefix."""
        return _verb_forms(self)[0]

    @property
    def forms(self) -> frozenset[str]:
        return _verb_forms(self)[1]


@cache
def _noun_forms(noun: GermanNoun) -> frozenset[str]:
    return frozenset(noun.form(case, plural) for case in CASES for plural in (False, True))


@cache
def _verb_forms(verb: GermanVerb) -> tuple[frozenset[str], frozenset[str]]:
    """Finite forms without prefix, and all forms."""
    finites = frozenset(verb.finite(tense, plural) for tense in ("pres", "past") for plural in (False, True))
    whole = {verb.prefix + form for form in finites}
    return finites, finites | whole | {verb.lemma, verb.prefix + verb.participle, verb.zu_infinitive[-1]}


def column(gender: str, plural: bool) -> int:
    """The column of the tables of endings: masculine, feminine, neuter, plural."""
    return 3 if plural else "mfn".index(gender)


def determiner(kind: str, case: str, col: int, possessor: str = "") -> str:
    """A German determiner; empty where there is none."""
    if kind == "def":
        return DEFINITE[case][col]
    if kind == "this":
        return "dies" + STRONG[case][col]
    if kind == "no":
        return "kein" + EIN[case][col]
    if kind == "poss":
        return possessor + EIN[case][col]
    if kind == "indef" and col < 3:
        return "ein" + EIN[case][col]
    return ""


def declension(kind: str, col: int) -> str:
    """Which endings adjectives take after a kind of determiner."""
    if kind in ("def", "this"):
        return "weak"
    if kind in ("no", "poss") or (kind == "indef" and col < 3):
        return "mixed"
    return "strong"


@lru_cache(maxsize=4096)
def features(**values: str) -> str:
    """Universal features, sorted as CoNLL-U wants them."""
    return "|".join(f"{k}={v}" for k, v in sorted(values.items(), key=lambda kv: kv[0].lower()) if v) or "_"


def nominal_features(case: str, gender: str, plural: bool, **more: str) -> str:
    """Features of a German noun, determiner, adjective or pronoun."""
    return features(Case=case, Gender=GENDERS.get(gender, ""), Number="Plur" if plural else "Sing", **more)


def finite_features(tense: str, plural: bool, mood: str = "Ind") -> str:
    """Features of a finite verb in the third person."""
    number, time = "Plur" if plural else "Sing", "Past" if tense == "past" else "Pres"
    return features(Mood=mood, Number=number, Person="3", Tense=time, VerbForm="Fin")


def english_verb(row: str) -> tuple[str, str, str, str]:
    """Base, third person, past and participle of "write writes wrote written" or of a regular "open"."""
    parts = row.split()
    if len(parts) == 4:
        return parts[0], parts[1], parts[2], parts[3]
    base = parts[0]
    if base[-1] == "y" and base[-2] not in "aeiou":
        third, past = base[:-1] + "ies", base[:-1] + "ied"
    else:
        third = base + ("es" if base.endswith(("s", "sh", "ch", "x")) else "s")
        past = base + ("d" if base.endswith("e") else "ed")
    return base, third, past, past


def indefinite_article(following: str) -> str:
    """a or an; "honest" is the only word of the lexicon that is not pronounced as its first letter suggests."""
    return "an" if following[0] in "aeiou" or following == "honest" else "a"


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
    """A preposition in both languages; several German ones are weighted synonyms."""

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


@dataclass(frozen=True, slots=True)
class Verb:
    """A concept with an English verb and weighted German verbs."""

    name: str
    forms: tuple[str, str, str, str]  # base, third person, past, participle
    particle: str
    adverb: str  # a fixed word that is no particle: "forward"
    preposition: str
    german: tuple[tuple[GermanVerb, float], ...]
    admits: dict[str, tuple[str, ...]]
    flags: frozenset[str]

    @property
    def separable(self) -> bool:
        return bool(self.german[0][0].prefix)

    @property
    def reflexive(self) -> bool:
        return bool(self.german[0][0].reflexive)


def _german(entry: str) -> tuple[GermanVerb, float]:
    *parts, weight = entry.split()
    reflexive = "Acc" if parts[0] == "sich" else ""
    prefix, _, infinitive = parts[1 if reflexive else 0].rpartition("+")
    _, present, preterite, participle, *rest = parts[1:] if reflexive else parts
    auxiliary, government = "haben", "Acc"
    for item in rest:
        if item == "sein":
            auxiliary = "sein"
        else:
            government = item[1:].replace("_", " ")
    return GermanVerb(
        prefix, infinitive, present, preterite, participle, auxiliary, government, reflexive
    ), float(weight)


def _verbs() -> dict[str, Verb]:
    verbs = {}
    for name, english, german, rest in read_table("verbs"):
        marks = {part[0]: part[1:] for part in english.split() if part[0] in "+-@"}
        forms = english_verb(" ".join(part for part in english.split() if part[0] not in "+-@"))
        admits = dict(part.split("=") for part in rest.split() if "=" in part)
        admits.setdefault("subject", "person,occupation")
        verbs[name] = Verb(
            name,
            forms,
            marks.get("+", ""),
            marks.get("-", ""),
            marks.get("@", ""),
            tuple(_german(entry) for entry in german.split(";")),
            {role: tuple(classes.split(",")) for role, classes in admits.items()},
            frozenset(part for part in rest.split() if "=" not in part),
        )
    return verbs


VERBS = _verbs()
