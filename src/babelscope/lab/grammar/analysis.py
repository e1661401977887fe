"""A small analyzer of German within the lab's vocabulary: noun phrases, clauses, finite verbs.

It accepts any string; unknown words have no readings.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from babelscope.lab.grammar.german import MODALS
from babelscope.lab.grammar.lexicon import (
    ADJECTIVE,
    ADJECTIVES,
    ADVERBS,
    CASES,
    CONJUNCTIONS,
    CONTRACTIONS,
    NOUNS,
    PREPOSITIONS,
    RELATIVE,
    VERBS,
    GermanVerb,
    column,
    declension,
    determiner,
)

ENDINGS = ("e", "en", "er", "es", "em")
AUXILIARIES = {"hat": False, "haben": True, "ist": False, "sind": True}
SUBORDINATORS = frozenset(w for ws in CONJUNCTIONS.values() for w, _ in ws if w != "denn")
COORDINATORS = frozenset(("denn", "und", "aber", "doch"))
PRONOUNS = frozenset(("er", "sie", "es", "ihn", "ihm", "ihr", "ihnen", "sich"))
Reading = tuple[str, str, bool]  # lemma, case, plural
_GERMAN_VERBS = [verb for concept in VERBS.values() for verb, _ in concept.german]


def _nouns() -> dict[str, set[tuple[str, str, bool, str]]]:
    table: dict[str, set[tuple[str, str, bool, str]]] = defaultdict(set)
    nouns = [noun for concept in NOUNS.values() for noun, _ in (*concept.german, *concept.feminine)]
    for noun, case, plural in itertools.product(nouns, CASES, (False, True)):
        table[noun.form(case, plural)].add((noun.lemma, noun.gender, plural, case))
    return dict(table)


def _determiners() -> dict[str, set[tuple[str, str, int]]]:
    table: dict[str, set[tuple[str, str, int]]] = defaultdict(set)
    kinds = (("def", ""), ("this", ""), ("no", ""), ("indef", ""), ("poss", "sein"), ("poss", "ihr"))
    for (kind, owner), case, col in itertools.product(kinds, CASES, range(4)):
        if form := determiner(kind, case, col, owner):
            table[form].add((kind, case, col))
    return dict(table)


def _verbs() -> dict[str, set[tuple[GermanVerb, bool, bool]]]:
    """Finite form -> (verb, whether plural, whether the prefix is attached)."""
    table: dict[str, set[tuple[GermanVerb, bool, bool]]] = defaultdict(set)
    for verb, tense, plural in itertools.product(_GERMAN_VERBS, ("pres", "past"), (False, True)):
        form = verb.finite(tense, plural)
        table[form].add((verb, plural, not verb.prefix))
        table[verb.prefix + form].add((verb, plural, True))
    return dict(table)


def _helpers() -> dict[str, set[bool]]:
    """Modal or auxiliary form -> whether it can be singular or plural."""
    table: dict[str, set[bool]] = defaultdict(set)
    for _, *forms in MODALS.values():
        for index, form in enumerate(forms):
            table[form].add(bool(index % 2))
    for form, plural in AUXILIARIES.items():
        table[form].add(plural)
    return dict(table)


def _prepositions() -> dict[str, set[str]]:
    """Preposition -> cases that it can take."""
    table: dict[str, set[str]] = defaultdict(set)
    for preposition in PREPOSITIONS.values():
        for form, case, _ in preposition.german:
            if form:
                table[form].add(case)
    for verb in _GERMAN_VERBS:
        form, _, case = verb.object.rpartition(" ")
        if form:
            table[form].add(case)
    return dict(table)


NOUN_READINGS = _nouns()
DETERMINERS = _determiners()
ADJECTIVE_ENDINGS = {a.stem + ending: ending for a in ADJECTIVES.values() for ending in ENDINGS}
FINITE = _verbs()
HELPERS = _helpers()
PREPOSITION_CASES = _prepositions()
CONTRACTED = {form: pair for pair, form in CONTRACTIONS.items()}
PREFIXES = frozenset(verb.prefix for verb in _GERMAN_VERBS if verb.prefix)
NONFINITE = frozenset(form for v in _GERMAN_VERBS for form in (v.lemma, v.prefix + v.participle))
ZU_FORMS = frozenset(verb.zu_infinitive[-1] for verb in _GERMAN_VERBS if verb.prefix)
RELATIVE_FORMS = frozenset(form for row in RELATIVE.values() for form in row)
ANY_BARE = {("bare", case, col) for case in CASES for col in range(4)}
KNOWN = frozenset().union(
    *(NOUN_READINGS, DETERMINERS, ADJECTIVE_ENDINGS, FINITE, HELPERS, PREPOSITION_CASES, CONTRACTED),
    *(PREFIXES, NONFINITE, ZU_FORMS, RELATIVE_FORMS, SUBORDINATORS, COORDINATORS, PRONOUNS),
    (form for options in ADVERBS.values() for form, _ in options),
    (adjective.german for adjective in ADJECTIVES.values()),
    ("nicht", "zu", "für", ".", ",", ";", ":"),
)


def words_of(sentence: str) -> list[str]:
    """The tokens; a capital at the start of a sentence is lowered if that gives a known word."""
    words = re.findall(r"\w+|[^\w\s]", sentence)
    for i, word in enumerate(words):
        if i and words[i - 1] not in ".:":
            continue
        low = word[0].lower() + word[1:]
        following = words[i + 1] if i + 1 < len(words) else ""
        # "Junge" is a boy, unless a noun or another adjective follows: "Junge Fahrer".
        nominal = following in NOUN_READINGS or following in ADJECTIVE_ENDINGS
        adjective = low in ADJECTIVE_ENDINGS and nominal
        if low in KNOWN and (word not in NOUN_READINGS or adjective):
            words[i] = low
    return words


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """One reading of consecutive preposition, determiner, adjectives and noun."""

    start: int
    end: int  # position of the noun
    preposition: str
    agrees: bool
    readings: frozenset[Reading]  # with the cases that the preposition can take


def phrases_ending_at(words: Sequence[str], end: int) -> list[NounPhrase]:
    """All ways to delimit the noun phrase that ends at a noun, the likeliest first."""
    start = end
    while start and words[start - 1] in ADJECTIVE_ENDINGS:
        start -= 1
    options = _phrases_from(words, start, end)
    for i in range(start, end):
        if words[i] in FINITE:  # "verspäteten" is an adjective or a verb
            options += _phrases_from(words, i + 1, end)
    return options


def _phrases_from(words: Sequence[str], start: int, end: int) -> list[NounPhrase]:
    """The noun phrases whose first adjective (or noun) is at `start`."""
    endings = [ADJECTIVE_ENDINGS[word] for word in words[start:end]]
    bare = _readings(words[end], endings, ANY_BARE)
    before = words[start - 1] if start else ""
    outer = words[start - 2] if start > 1 else ""
    if before in CONTRACTED:
        preposition, article = CONTRACTED[before]
        forms = {form for form in DETERMINERS[article] if form[0] == "def"}
        return [_noun_phrase(start - 1, end, preposition, _readings(words[end], endings, forms))]
    if before not in DETERMINERS:
        preposition = before if before in PREPOSITION_CASES else ""
        return [_noun_phrase(start - bool(preposition), end, preposition, bare)]
    preposition = outer if outer in PREPOSITION_CASES else ""
    readings = _readings(words[end], endings, DETERMINERS[before])
    options = [_noun_phrase(start - 1 - bool(preposition), end, preposition, readings)]
    comma = words[start - 3] if preposition and start > 2 else outer
    # What looks like an article may be a relative pronoun: ", den Lehrer besuchten".
    if before in RELATIVE_FORMS and comma == ",":
        options.append(_noun_phrase(start, end, "", bare))
    return options


def _noun_phrase(start: int, end: int, preposition: str, readings: frozenset[Reading]) -> NounPhrase:
    cases = PREPOSITION_CASES.get(preposition, set(CASES))
    kept = frozenset(reading for reading in readings if reading[1] in cases)
    return NounPhrase(start, end, preposition, bool(readings), kept)


def _readings(noun: str, endings: Sequence[str], forms: set[tuple[str, str, int]]) -> frozenset[Reading]:
    found = set()
    for lemma, gender, plural, case in NOUN_READINGS[noun]:
        col = column(gender, plural)
        for kind, form_case, form_col in forms:
            if (form_case, form_col) == (case, col):
                ending = ADJECTIVE[declension(kind, col)][case][col]
                if all(one == ending for one in endings):
                    found.add((lemma, case, plural))
    return frozenset(found)


@dataclass(slots=True)
class ClauseSpan:
    """The word positions of a clause, in order, and its kind: main, final (verb last) or zu."""

    kind: str
    positions: list[int] = field(default_factory=list)
    relative: bool = False
    fronted: bool = False  # a dependent clause stands before it
    finite: int | None = None


def is_finite(word: str) -> bool:
    """Whether a word can be a finite verb; "sein" counts as an infinitive."""
    return (word in FINITE or word in HELPERS) and word != "sein"


def find_finite(words: Sequence[str], part: ClauseSpan) -> int | None:
    """The finite verb of a clause: the first verb of a main clause, the last word of a verb-final one."""
    if part.kind == "main":
        return next((i for i in part.positions if is_finite(words[i])), None)
    if part.kind == "final" and part.positions and is_finite(words[part.positions[-1]]):
        return part.positions[-1]
    return None


def starts_relative(words: Sequence[str], positions: Sequence[int]) -> bool:
    """Whether a stretch starts with a relative pronoun, perhaps after a preposition, and ends in a finite verb."""
    begin = [words[i] for i in positions[:2]]
    if begin and begin[0] in PREPOSITION_CASES:
        begin = begin[1:]
    return bool(begin) and begin[0] in RELATIVE_FORMS and is_finite(words[positions[-1]])


def clauses(words: Sequence[str]) -> list[ClauseSpan]:
    """The clauses of a sentence; the pieces of an interrupted clause are joined."""
    parts: list[ClauseSpan] = []
    current: list[ClauseSpan] = []  # clauses since the last full stop, semicolon or colon
    last: ClauseSpan | None = None
    for stretch in _stretches(words):
        if positions := [i for i in stretch if words[i] not in ",;:."]:
            last = _assign_stretch(words, current, positions, last)
        if words[stretch[-1]] in ".;:":
            parts += current
            current, last = [], None
    parts += current
    for part in parts:
        part.finite = find_finite(words, part)
    return parts


def _stretches(words: Sequence[str]) -> list[list[int]]:
    """Positions between punctuation marks; each stretch includes the mark that ends it."""
    stretches: list[list[int]] = [[]]
    for i, word in enumerate(words):
        stretches[-1].append(i)
        if word in ",;:.":
            stretches.append([])
    return [stretch for stretch in stretches if stretch]


def _assign_stretch(
    words: Sequence[str], parts: list[ClauseSpan], positions: list[int], last: ClauseSpan | None
) -> ClauseSpan:
    """Add a stretch to an open clause or a new one; `last` is the clause of the previous stretch."""
    first = words[positions[0]]
    waiting = [part for part in parts if part.kind != "zu" and find_finite(words, part) is None]
    main = next((part for part in reversed(parts) if part.kind == "main"), None)
    after_relative = last is not None and last.relative
    old: ClauseSpan | None = None
    new = ClauseSpan("main", positions)
    if first in SUBORDINATORS:
        new.kind = "final"
    elif not parts or first in COORDINATORS:
        pass
    elif after_relative and waiting:
        old = waiting[-1]
    elif starts_relative(words, positions) and not after_relative:
        new = ClauseSpan("final", positions, relative=True)
    elif len(positions) > 1 and (words[positions[-1]] in ZU_FORMS or words[positions[-2]] == "zu"):
        new.kind = "zu"
    elif main is not None:
        old = main
    else:
        new.fronted = is_finite(first)
    if old is not None:
        old.positions += positions
        return old
    parts.append(new)
    return new
