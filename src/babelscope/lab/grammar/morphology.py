"""Inflection of German and English: the endings, and nothing about particular words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

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
