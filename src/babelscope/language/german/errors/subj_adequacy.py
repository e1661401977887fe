"""The wrong number of a verb with "sie"."""

from __future__ import annotations

import re

from babelscope.language.base import ErrorType, Token, Variant, replace_word
from babelscope.language.german.analysis import Analyzed, Nominal, word_set
from babelscope.language.german.errors.shared import BY_SUBJECT, clause_around, has_free_noun
from babelscope.language.german.morphology import DEFINITE, number_of, other_number

# Words that agree with sie in number.
_SHOW_NUMBER = word_set(
    "alle allesamt beide selbst einander gegenseitig miteinander untereinander zwei drei vier gemeinsam zusammen"
    " ich du er es wir man"
)
# What shows the case of a noun that follows, and what may stand between.
_DETERMINERS = word_set("ART PPOSAT PDAT PIAT PIDAT")
_INSIDE = word_set("ADJA CARD NE")
_SUBJECTS = word_set("PPER NN NE PIS PDS")
# Verbs with a predicate noun, which has a number of its own.
_COPULAS = word_set("sein werden bleiben heißen")
# English subjects that are translated by sie, with contractions: "she's", "they've".
_SHE, _THEY = (re.compile(rf"\b{word}(?![\w-])", re.IGNORECASE) for word in ("she", "they"))


def variants(sentence: Analyzed, source: str = "") -> list[Variant]:
    """One variant for each finite verb right beside its subject sie, if the source shows whom it is about.

    The source must have "she", or "they", and not the other one, for each sie of the sentence. No noun before may be
    meant by sie in the other number: "they" may be a group, "die Gruppe".
    """
    she, they = (len(pronoun.findall(source)) for pronoun in (_SHE, _THEY))
    pronouns = sum(token.text in ("sie", "Sie") for token in sentence.tokens)
    if (she and they) or pronouns > she + they:
        return []
    number = "sg" if she else "pl"
    found = []
    for place, token in enumerate(sentence.tokens):
        beside = [here for here in (place - 1, place + 1) if 0 <= here < len(sentence.tokens)]
        if (
            token.tag.endswith("FIN")
            and number_of(token) in ("", number)
            and any(_is_sie(sentence, here) for here in beside)
            and _is_alone(sentence, place)
            and not _has_other_subject(sentence, place, number)
            and not _means_noun_before(sentence, place, number)
        ):
            found += [replace_word(sentence, token, new) for new in other_number(token.text, token.lemma)]
    return found


def _is_alone(sentence: Analyzed, place: int) -> bool:
    """Whether nothing else shows the number of sie, so that the clause stays grammatical in the other one."""
    tokens = sentence.tokens
    clause = clause_around(tokens, place)
    others = [token for token in clause if token is not tokens[place]]
    if any(token.tag.endswith("FIN") or token.text.lower() in _SHOW_NUMBER for token in others):
        return False  # a second verb, "alle" and "beide", or another subject
    if any(token.tag.startswith("PREL") for token in others):
        return False  # sie may be the object of a relative clause
    if tokens[place].lemma.lower() in _COPULAS and has_free_noun(clause):
        return False
    if any(token.text in ("als", "wie") for token in clause[1:]):  # "sie arbeitet als Lehrerin"
        return False
    # "Die Firma kannte sie", "weil die Firma sie kannte": sie may be the object.
    before = tuple(token for token in clause if token.start < tokens[place].start)
    return not has_free_noun(before) and not _goes_on(tokens, tokens.index(clause[-1]) + 1)


def _has_other_subject(sentence: Analyzed, place: int, number: str) -> bool:
    """Whether a noun of the clause may be the subject of the verb at `place`, and sie its object."""
    tokens = sentence.tokens
    clause = clause_around(tokens, place)
    first, last = tokens.index(clause[0]), tokens.index(clause[-1])
    if first == place and place and tokens[place - 1].tag == "$,":
        # What the verb follows is longer than a part: "Fotos der Stadt, auch alte, hätten sie gefreut".
        first = next((n + 1 for n in range(place - 1, -1, -1) if tokens[n].tag == "$."), 0)
    free, joined = 0, False
    for here in range(first, last + 1):
        joined = joined or tokens[here].tag == "KON"
        if tokens[here].tag not in ("NN", "NE") or _is_governed(tokens, here):
            continue
        readings = _readings(sentence, here)
        free += any(reading.case == "nom" for reading in readings)
        if any(reading.case == "nom" and reading.number == number for reading in readings):
            return True
    return number == "pl" and joined and free > 1  # "Anna und Peter"


def _means_noun_before(sentence: Analyzed, place: int, number: str) -> bool:
    """Whether sie, with a verb of the other number, may mean a noun before it: a feminine one, or a plural."""
    readings = (
        reading
        for here in range(place)
        if sentence.tokens[here].tag == "NN" or _has_article(sentence.tokens, here)
        for reading in _readings(sentence, here)
    )
    if number == "pl":
        return any(reading.number == "sg" and reading.gender == "f" for reading in readings)
    return any(reading.number == "pl" for reading in readings)


def _has_article(tokens: tuple[Token, ...], place: int) -> bool:
    """Whether a name has an article, as those of groups have: "die EU"."""
    before = _determiner(tokens, place)
    return tokens[place].tag == "NE" and before >= 0 and tokens[before].tag == "ART"


def _readings(sentence: Analyzed, place: int) -> frozenset[Nominal]:
    """What a noun can be after its determiner; a name is a singular of any gender and case."""
    tokens = sentence.tokens
    known = sentence.analyzer.nouns.readings(tokens[place].text)
    if tokens[place].tag == "NE" or not known:
        known = frozenset(reading for form in DEFINITE.values() for reading in form if reading.number == "sg")
    before = _determiner(tokens, place)
    form = tokens[before].text.lower() if before >= 0 and tokens[before].tag in _DETERMINERS else ""
    if form in DEFINITE:
        return known & DEFINITE[form]
    if form.endswith(("en", "em")):  # "einen", "ihrem"
        return frozenset(reading for reading in known if reading.case != "nom")
    return known


def _is_governed(tokens: tuple[Token, ...], place: int) -> bool:
    """Whether a preposition stands before the phrase of a noun."""
    before = _determiner(tokens, place)
    if before >= 0 and tokens[before].tag in _DETERMINERS:
        before -= 1
    return before >= 0 and tokens[before].tag.startswith("APPR")


def _determiner(tokens: tuple[Token, ...], place: int) -> int:
    """Index of the last word before a noun that is no adjective, number or name: its determiner, if it has one."""
    before = place - 1
    while before >= 0 and tokens[before].tag in _INSIDE:
        before -= 1
    return before


def _goes_on(tokens: tuple[Token, ...], last: int) -> bool:
    """Whether a verb after a conjunction has the same subject: "sie lacht, geht nach Hause und schläft"."""
    for place in range(last, len(tokens)):
        if tokens[place].tag == "$.":
            return False
        before = tokens[place - 1]
        if tokens[place].tag.endswith("FIN") and (before.tag.startswith("KON") or before.text == ","):
            return True
        if tokens[place].tag.startswith("KON"):
            rest = tokens[place + 1 :]
            verb = next((n for n, each in enumerate(rest) if each.tag.endswith("FIN")), None)
            if verb is not None and not any(each.tag in _SUBJECTS for each in rest[:verb]):
                return True
    return False


def _is_sie(sentence: Analyzed, place: int) -> bool:
    word = sentence.tokens[place].text
    if place and sentence.tokens[place - 1].tag.startswith("APPR"):
        return False  # "für sie" is no subject
    return word == "sie" or (word == "Sie" and _at_sentence_start(sentence, place))


def _at_sentence_start(sentence: Analyzed, place: int) -> bool:
    """Whether a token begins a sentence, so that its capital says nothing."""
    before = place - 1
    while before >= 0 and sentence.tokens[before].text in "\"'„“”»«‚‘’(-–—":
        before -= 1
    return before < 0 or sentence.tokens[before].tag == "$." or sentence.tokens[before].text == ":"


ERROR = ErrorType(
    "subj_adequacy",
    "de",
    "A verb with the subject sie has the other number: still grammatical, but about someone else.",
    variants,
    overlap=BY_SUBJECT,
    reads_source=True,
    label="a verb of the wrong number after ‘sie’",
)
