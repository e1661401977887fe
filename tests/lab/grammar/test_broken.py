"""Long-distance dependencies that a German sentence breaks, held against the grammar's own sentences."""

from __future__ import annotations

import re

from babelscope.lab.grammar.broken import Broken, broken_dependencies
from babelscope.lab.grammar.contrasts import other_number
from babelscope.lab.grammar.corpus import generate
from babelscope.lab.grammar.sentences import SentencePair
from babelscope.lab.grammar.worlds import HARD

PAIRS = list(generate(150, 77, "test", HARD))


def without_word(pair: SentencePair, position: int) -> str:
    """The German sentence without the word at a position, from 1."""
    spans = [found.span() for found in re.finditer(r"\w+|[^\w\s]", pair.target)]
    start, end = spans[position - 1]
    return pair.target[:start].rstrip() + pair.target[end:]


def with_other_number(pair: SentencePair, position: int) -> str:
    """The German sentence with the finite verb at a position in the other number."""
    start, end = [found.span() for found in re.finditer(r"\w+|[^\w\s]", pair.target)][position - 1]
    form = pair.target[start:end]
    return pair.target[:start] + other_number()[form] + pair.target[end:]


def words(sentence: str, found: Broken) -> list[str]:
    return [sentence[start:end] for start, end in found.spans]


def test_no_sentence_of_the_grammar_breaks_one() -> None:
    assert not [pair.target for pair in PAIRS if broken_dependencies(pair, pair.target)]


def test_a_verb_in_the_other_number_is_found_with_its_distance() -> None:
    right = tried = 0
    for pair in PAIRS:
        for one in pair.labels.phenomena:
            if one.name != "subject_verb_agreement" or one.side != "de" or not one.distance:
                continue
            verb, subject = pair.german[one.head - 1].form, pair.german[one.dependent - 1]
            if subject.upos != "NOUN" or verb not in other_number():
                continue
            sentence = with_other_number(pair, one.head)
            found = broken_dependencies(pair, sentence)
            # Punctuation stands between subject and verb, too, where a clause does.
            right += any(
                subject.form in words(sentence, each) and each.distance == one.distance for each in found
            )
            tried += 1
    assert tried > 30
    # What could be an infinitive, or a subject that is another noun's form, is left out.
    assert right > 0.5 * tried, (right, tried)


def test_a_missing_particle_is_found_with_the_words_up_to_where_it_stood() -> None:
    right = tried = 0
    for pair in PAIRS:
        for one in pair.labels.phenomena:
            if one.name == "particle" and one.side == "de" and one.distance > 1:
                sentence = without_word(pair, one.dependent)
                found = [each for each in broken_dependencies(pair, sentence) if each.kind == "particle"]
                verb = pair.german[one.head - 1].form
                right += [words(sentence, each) for each in found] == [[verb]]
                assert all(each.alone for each in found), sentence
                tried += 1
    assert tried > 10
    assert right > 0.7 * tried, (right, tried)


def test_any_text_is_judged() -> None:
    for text in ("", "hat", ",;:.", "Die die die hat.", "\x00 …"):
        assert broken_dependencies(PAIRS[0], text) == []
