"""Single items: which are on a page, how they are marked, and how some are printed to look at."""

from __future__ import annotations

import pytest

from babelscope.methods.condition.method import mark_difference
from babelscope.methods.reporting import ItemView, items_that
from babelscope.report.examples import (
    Example,
    draw_command,
    draw_examples,
    mark_words,
    near_marks,
    with_marks,
)
from babelscope.report.items import Item, choose


@pytest.mark.parametrize(
    ("text", "other", "apart"),
    [
        ("the rich bank fell", "the steep bank fell", "rich"),
        ("a cat", "a cat", ""),
        ("he came", "she came", "he"),
        ("old bank", "bank", "old"),
        ("bank", "old bank", ""),
    ],
)
def test_words_that_differ_are_marked(text, other, apart):
    found = mark_difference(text, other)
    assert "".join(token[0] for token in found) == text
    assert "".join(token[0] for token in found if token[2:] == (1,)).strip() == apart


def test_chosen_items_are_errors_first_then_the_least_certain():
    def item(number: int, tone: str, measure: float) -> Item:
        return Item(str(number), 0, number, [(0, ItemView("", tone=tone, value=measure))])  # type: ignore[arg-type]

    found = [item(number, "errors" if number % 10 == 0 else "none", number / 10) for number in range(200)]
    chosen, note = choose(found, cap=60, seed=0)
    places = [each.place for each in chosen]
    assert places == sorted(places)
    assert {number for number in range(200) if number % 10 == 0} <= set(places)
    certain = sorted(number for number in range(200) if number % 10)
    assert set(certain[:20]) <= set(places)
    assert "60 of 200 items: all 20 with an error, the 20 others closest to one, and 20 at random" in note
    assert choose(found, cap=200, seed=0) == (found, "")


def test_verbs_agree_with_the_number_of_items():
    assert items_that(2, "have no cue and were skipped") == "2 items have no cue and were skipped"
    assert items_that(1, "have no cue and were skipped") == "1 item has no cue and was skipped"


# -- items to look at, as text -------------------------------------------------------------------------

SENTENCE = "Die Köche mit dem Stift hat gelacht."


def test_marked_words_stand_between_asterisks():
    assert with_marks(mark_words(SENTENCE, [(24, 27), (4, 9)])) == "Die *Köche* mit dem Stift *hat* gelacht."
    assert with_marks([("ein", None, 0), (" rotes", None, 1), (" Haus", None, 1)]) == "ein *rotes Haus*"
    assert with_marks(mark_words("ja", [])) == "ja"


def test_words_far_from_marked_ones_are_left_out_and_that_is_shown():
    text = "eins zwei drei vier, fünf sechs sieben acht neun zehn."
    marked = mark_words(text, [(5, 9), (44, 48)])
    assert with_marks(near_marks(marked, 1)) == "eins *zwei* drei … acht *neun* zehn."
    assert with_marks(near_marks(marked, 2)) == "eins *zwei* drei vier, … sieben acht *neun* zehn."
    assert with_marks(near_marks(marked, 9)) == with_marks(marked)
    neighbors = mark_words(text, [(5, 9), (10, 14)])
    assert with_marks(near_marks(neighbors, 1)) == "eins *zwei* *drei* vier, …"
    assert with_marks(near_marks(mark_words(text, []))) == text


def test_an_example_fits_the_width_and_hides_nothing():
    example = Example(
        "A \x1b[31mtitle",
        "Seen in 3 % [1, 5] of 100 sentences.",
        [("source", "word " * 20), ("it\x1b", mark_words(SENTENCE, [(4, 9)]))],
        "subject and verb.",
        "babelscope contrast --system lab:hard-student --tests lab:hard-pairs?n=500 --set ties=wrong --beam 4",
    )
    text = draw_examples([example, Example("Nothing", "It did not appear among 20 items.")], 60)
    assert "\x1b" not in text
    lines = text.split("\n")
    assert max(map(len, lines)) <= 60
    assert lines[1] == "1. A \\x1b[31mtitle"
    assert text.count("word") == 20
    assert "Die *Köche* mit" in text
    assert lines[-2:] == ["2. Nothing", "   It did not appear among 20 items."]


def test_a_text_without_end_is_cut_and_says_so():
    text = draw_examples([Example("Long", "Once.", [("it writes", "und " * 500)])], 60)
    assert text.count("\n") == 5
    assert text.endswith("… (the report has all)")


def test_a_command_is_broken_as_a_shell_reads_it():
    command = "babelscope contrast --system lab:hard-student --tests lab:hard-pairs --set ties=wrong"
    drawn = draw_command(command, 60)
    assert len(drawn) == 2
    assert all(len(line) <= 60 for line in drawn)
    joined = "\n".join(drawn).replace("\\\n", "").removeprefix("   $ ")
    assert joined.split() == command.split()
    assert draw_command("babelscope data list", 80) == ["   $ babelscope data list"]
