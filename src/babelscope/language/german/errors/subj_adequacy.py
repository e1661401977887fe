"""The wrong number of a verb with "sie"."""

from __future__ import annotations

from babelscope.language.base import ErrorType, Variant, replace_word
from babelscope.language.german.analysis import Analysed
from babelscope.language.german.errors.overlap import BY_SUBJECT
from babelscope.language.german.verbs import other_number


def variants(sentence: Analysed) -> list[Variant]:
    """One variant for each finite verb right beside sie; the polite Sie has no singular."""
    found = []
    for place, token in enumerate(sentence.tokens):
        beside = [here for here in (place - 1, place + 1) if 0 <= here < len(sentence.tokens)]
        if token.tag.endswith("FIN") and any(_is_sie(sentence, here) for here in beside):
            found += [replace_word(sentence, token, new) for new in other_number(token.text, token.lemma)]
    return found


def _is_sie(sentence: Analysed, place: int) -> bool:
    word = sentence.tokens[place].text
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
    label="a verb of the wrong number after ‘sie’",
)
