"""The wrong number of a finite verb."""

from __future__ import annotations

from itertools import pairwise

from babelscope.language.base import ErrorType, Token, Variant, replace_word
from babelscope.language.german.analysis import Analyzed, word_set
from babelscope.language.german.errors.shared import BY_SUBJECT, has_free_noun
from babelscope.language.german.morphology import DEFINITE, Person, number_of, other_number

# As subjects, these take a verb of either number: "die Hälfte der Leute ist/sind da".
_QUANTITIES = word_set(
    "% anzahl dutzend drittel fülle großteil hälfte mehrheit mehrzahl menge minderheit paar prozent reihe teil"
    " viertel vielzahl"
)
# Pronouns that are subject or object: "Das sehen die Pläne vor" is right in the singular, too.
_PRONOUNS = word_set("PDS PRELS PWS")
_NEUTER = word_set("das dies was welches")
_FIRST = frozenset({"ich", "wir"})
_SECOND = frozenset({"du", "ihr"})
_SUBJECTS = word_set("PPER NN NE PIS PDS PRELS PIAT PWS ART CARD ADJA PPOSS PPOSAT")
_BEGIN_SUBJECT = word_set("PPER ART NN NE PPOSAT PIAT ADJA CARD")
# Pronouns of one number; "sie" and "ihr" have both.
_NUMBER = {"ich": "sg", "er": "sg", "es": "sg", "wir": "pl"}


def variants(sentence: Analyzed, mode: str = "strict") -> list[Variant]:
    """One variant for each finite verb; "strict" leaves out those whose subject may allow both numbers."""
    found = []
    either = _doubtful(sentence.tokens) if mode == "strict" else frozenset()
    for place, token in enumerate(sentence.tokens):
        if mode == "strict" and _is_bare(sentence, place):
            continue
        if token.tag.endswith("FIN") and place not in either:
            forms = dict.fromkeys(
                form
                for person in persons_at(sentence.tokens, place)
                for form in other_number(token.text, token.lemma, person)
            )
            found += [replace_word(sentence, token, new) for new in forms]
    return found


def _doubtful(tokens: tuple[Token, ...]) -> frozenset[int]:
    """Indices of tokens in clauses with "sie" (she or they) or a word of quantity, and of verbs that may be infinite.

    With a neuter pronoun and a noun, either may be the subject. A form like the infinitive is one after a modal verb,
    and goes on with that in a part without any subject.
    """
    marks = [-1, *(here for here, token in enumerate(tokens) if token.tag in ("$,", "$.")), len(tokens)]
    found: set[int] = set()
    for start, end in pairwise(marks):
        words = {token.text.lower() for token in tokens[start + 1 : end]}
        if "sie" in words or not words.isdisjoint(_QUANTITIES):
            found.update(range(start + 1, end))
        clause = tokens[start + 1 : end]
        neuter = any(token.tag in _PRONOUNS and token.text.lower() in _NEUTER for token in clause)
        if neuter and has_free_noun(clause):
            found.update(
                place
                for place in range(start + 1, end)
                if tokens[place].lemma.lower() not in ("sein", "werden")
            )
        governed = not any(token.tag in _SUBJECTS for token in tokens[start + 1 : end])
        for place in range(start + 1, end):
            if governed and tokens[place].text.lower() == tokens[place].lemma.lower():
                found.add(place)
            governed = governed or _takes_infinitive(tokens[place])
    return frozenset(found)


def _is_bare(sentence: Analyzed, place: int) -> bool:
    """Whether a sentence begins with a noun of either number and the verb at `place`: "Helfer raten", a headline."""
    if place != 1 or sentence.tokens[0].tag != "NN":
        return False
    known = sentence.analyzer.nouns.readings(sentence.tokens[0].text)
    return {reading.number for reading in known if reading.case == "nom"} == {"sg", "pl"}


def _takes_infinitive(token: Token) -> bool:
    """Whether a finite verb takes an infinitive: a modal verb, or a form of "werden"."""
    return token.tag == "VMFIN" or (token.tag == "VAFIN" and token.lemma.lower() == "werden")


def persons_at(tokens: tuple[Token, ...], place: int) -> list[Person]:
    """The persons a finite verb can have, by a pronoun beside it or earlier in its clause."""
    beside = {
        token.text.lower() for token in (*tokens[max(0, place - 1) : place], *tokens[place + 1 : place + 2])
    }
    if beside & _FIRST:
        return [1]
    if beside & _SECOND and tokens[place].text.lower().endswith("st"):
        return [2]
    return [1, 3] if _FIRST & set(_clause_before(tokens, place)) else [3]


def _clause_before(tokens: tuple[Token, ...], place: int) -> list[str]:
    """The words of the clause up to the verb, from the last mark or finite verb on."""
    words: list[str] = []
    for here in range(place - 1, -1, -1):
        token = tokens[here]
        if token.tag.startswith("$") or token.tag.endswith("FIN"):
            break
        words.append(token.text.lower())
    return words


def detect(source: str, translation: Analyzed) -> bool:  # noqa: ARG001 - the translation alone shows it
    """A subject of known number stands beside a finite verb of the other number."""
    tokens = translation.tokens
    for place, token in enumerate(tokens):
        if token.tag == "PPER" and (number := _NUMBER.get(token.text.lower())):
            beside = (*tokens[max(0, place - 1) : place], *tokens[place + 1 : place + 2])
            if any(verb.tag.endswith("FIN") and number_of(verb) not in ("", number) for verb in beside):
                return True
    return _first_noun_disagrees(translation)


def _first_noun_disagrees(translation: Analyzed) -> bool:
    """Whether a sentence begins with article, noun and a verb that does not fit: "Der Hund bellen"."""
    if len(translation.tokens) < 4:
        return False
    article, noun, verb, after = translation.tokens[:4]
    # What follows the verb may be the subject: "Das Haus kauften Freunde".
    if not verb.tag.endswith("FIN") or after.tag in _BEGIN_SUBJECT:
        return False
    fitting = translation.analyzer.nouns.readings(noun.text) & DEFINITE.get(article.text.lower(), frozenset())
    numbers = {reading.number for reading in fitting}
    nominative = any(reading.case == "nom" for reading in fitting)
    return nominative and len(numbers) == 1 and number_of(verb) not in ("", *numbers)


ERROR = ErrorType(
    "subj_verb_agreement",
    "de",
    "A finite verb has the other number, so that it does not agree with its subject; person and tense stay.",
    variants,
    detect,
    modes=("strict", "as-released"),
    overlap=BY_SUBJECT,
    label="a verb that does not agree",
)
