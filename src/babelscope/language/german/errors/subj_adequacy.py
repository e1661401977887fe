"""The wrong number of a verb with "sie"."""

from __future__ import annotations

import re

from babelscope.language.base import ErrorType, Token, Variant, replace_word
from babelscope.language.german.analysis import Analysed, word_set
from babelscope.language.german.errors.overlap import BY_SUBJECT
from babelscope.language.german.errors.phrases import clause_around, has_free_noun
from babelscope.language.german.verbs import number_of, other_number

# Words that agree with sie in number.
_SHOW_NUMBER = word_set(
    "alle allesamt beide selbst einander gegenseitig miteinander untereinander zwei drei vier gemeinsam zusammen"
    " ich du er es wir man"
)
_SUBJECTS = word_set("PPER NN NE PIS PDS")
# Verbs with a predicate noun, which has a number of its own.
_COPULAS = word_set("sein werden bleiben heißen")
# English subjects that are translated by sie, with contractions: "she's", "they've".
_SHE, _THEY = (re.compile(rf"\b{word}(?![\w-])", re.IGNORECASE) for word in ("she", "they"))


def variants(sentence: Analysed, source: str = "") -> list[Variant]:
    """One variant for each finite verb right beside its subject sie, if the source shows whom it is about.

    The source must have "she", or "they", and not the other one, for each sie of the sentence.
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
        ):
            found += [replace_word(sentence, token, new) for new in other_number(token.text, token.lemma)]
    return found


def _is_alone(sentence: Analysed, place: int) -> bool:
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


def _is_sie(sentence: Analysed, place: int) -> bool:
    word = sentence.tokens[place].text
    if place and sentence.tokens[place - 1].tag.startswith("APPR"):
        return False  # "für sie" is no subject
    return word == "sie" or (word == "Sie" and _at_sentence_start(sentence, place))


def _at_sentence_start(sentence: Analysed, place: int) -> bool:
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
    version=3,
    label="a verb of the wrong number after ‘sie’",
)
