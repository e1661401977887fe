"""The wrong number of a verb with "sie"."""

from __future__ import annotations

from babelscope.language.german import Analysed
from babelscope.language.german_verbs import other_number
from babelscope.making.pairs.base import Variant, at_sentence_start, swapped

DEFINITION = "A verb with the subject sie has the other number: still grammatical, but about someone else."
PLAUSIBLE = True


def variants(sentence: Analysed) -> list[Variant]:
    """One variant for each finite verb right beside sie; the polite Sie has no singular."""
    found = []
    for place, token in enumerate(sentence.tokens):
        beside = [here for here in (place - 1, place + 1) if 0 <= here < len(sentence.tokens)]
        if token.tag.endswith("FIN") and any(_is_sie(sentence, here) for here in beside):
            found += [swapped(sentence, token, new) for new in other_number(token.text, token.lemma)]
    return found


def _is_sie(sentence: Analysed, place: int) -> bool:
    word = sentence.tokens[place].text
    return word == "sie" or (word == "Sie" and at_sentence_start(sentence, place))
