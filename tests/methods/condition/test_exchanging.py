"""Known translations with the sense of one and the cue of the other."""

from __future__ import annotations

from babelscope.methods.condition.exchanging import common_source, cue_size, exchange

RIGHT, WRONG = "Ein männlicher Anwalt half ihr.", "Eine weibliche Anwältin half ihr."


def test_the_words_of_the_cue_stay_and_those_of_the_sense_are_exchanged() -> None:
    assert exchange(RIGHT, WRONG, "Ein Anwalt half ihr.", "", 1) == [
        ("Eine männlicher Anwältin half ihr.", False),
        ("Ein weibliche Anwalt half ihr.", True),
    ]
    # Whichever sense it is that a sentence without a cue is translated with.
    assert exchange(RIGHT, WRONG, "Eine Anwältin half ihr.", "", 1) == exchange(
        RIGHT, WRONG, "Ein Anwalt half ihr.", "", 1
    )


def test_a_reference_gets_the_wrong_sense_and_keeps_its_cue() -> None:
    found = exchange(RIGHT, WRONG, "Ein Anwalt half ihr.", "Gestern half ihr ein männlicher Anwalt.", 1)
    assert len(found) == 2, "the reference lacks a word that tells the sense, Ein"
    *_, (text, truth) = exchange(
        "Sie sah den Anwalt.",
        "Sie sah die Anwältin.",
        "Sie sah den Anwalt.",
        "Sie sah den männlichen Anwalt!",
        1,
    )
    assert (text, truth) == ("Sie sah die männlichen Anwältin!", False)


def test_marks_around_a_word_are_no_part_of_it() -> None:
    ((text, truth),) = exchange(
        "Er sah die Bank.", "Er sah die Ufer.", "Die Bank, er sah sie.", "Er sah die Bank und ging.", 1
    )
    assert (text, truth) == ("Er sah die Ufer und ging.", False)


def test_what_may_be_more_than_sense_and_cue_is_not_exchanged() -> None:
    assert exchange(RIGHT, WRONG, "Wer ist das?", "", 3) == [], "no word tells the sense"
    assert exchange("Ein Anwalt half .", "Die gute Frau half .", "Ein Anwalt half .", "", 1) == [], (
        "no word for word"
    )
    # A synonym in the plain translation leaves the noun among the words that could be the cue's.
    assert exchange("die weibliche Ärztin", "der männliche Arzt", "die Medizinerin", "", 1) == []


def test_sources_share_the_sentence_without_its_cue() -> None:
    pair = "The male doctor waits .", "The female doctor waits ."
    assert (common_source(*pair), cue_size(*pair)) == ("The doctor waits .", 1)
    tags = "<male> The doctor waits .", "<female> The doctor waits ."
    assert (common_source(*tags), cue_size(*tags)) == ("The doctor waits .", 1)
    assert common_source("老師等", "女老師等") == "", "no spaces: nothing is known to be shared"
