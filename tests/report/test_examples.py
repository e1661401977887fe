"""Items to look at, as text."""

from __future__ import annotations

from babelscope.report.examples import (
    Example,
    draw_command,
    draw_examples,
    mark_words,
    near_marks,
    with_marks,
)

SENTENCE = "Die Köche mit dem Stift hat gelacht."


def test_marked_words_stand_between_asterisks() -> None:
    assert with_marks(mark_words(SENTENCE, [(24, 27), (4, 9)])) == "Die *Köche* mit dem Stift *hat* gelacht."
    assert with_marks([("ein", None, 0), (" rotes", None, 1), (" Haus", None, 1)]) == "ein *rotes Haus*"
    assert with_marks(mark_words("ja", [])) == "ja"


def test_words_far_from_marked_ones_are_left_out_and_that_is_shown() -> None:
    text = "eins zwei drei vier, fünf sechs sieben acht neun zehn."
    marked = mark_words(text, [(5, 9), (44, 48)])
    assert with_marks(near_marks(marked, 1)) == "eins *zwei* drei … acht *neun* zehn."
    assert with_marks(near_marks(marked, 2)) == "eins *zwei* drei vier, … sieben acht *neun* zehn."
    assert with_marks(near_marks(marked, 9)) == with_marks(marked)
    neighbours = mark_words(text, [(5, 9), (10, 14)])
    assert with_marks(near_marks(neighbours, 1)) == "eins *zwei* *drei* vier, …"
    assert with_marks(near_marks(mark_words(text, []))) == text


def test_an_example_fits_the_width_and_hides_nothing() -> None:
    example = Example(
        "A \x1b[31mtitle",
        "Seen in 3 % [1, 5] of 100 sentences.",
        [("source", "word " * 20), ("it\x1b", mark_words(SENTENCE, [(4, 9)]))],
        "subject and verb.",
        "babelscope contrast --system lab:hard-student --tests lab:hard-pairs?n=500 --ties wrong --beam 4",
    )
    text = draw_examples([example, Example("Nothing", "It did not appear among 20 items.")], 60)
    assert "\x1b" not in text
    lines = text.split("\n")
    assert max(map(len, lines)) <= 60
    assert lines[1] == "1. A \\x1b[31mtitle"
    assert text.count("word") == 20
    assert "Die *Köche* mit" in text
    assert lines[-2:] == ["2. Nothing", "   It did not appear among 20 items."]


def test_a_text_without_end_is_cut_and_says_so() -> None:
    text = draw_examples([Example("Long", "Once.", [("it writes", "und " * 500)])], 60)
    assert text.count("\n") == 5
    assert text.endswith("… (the report has all)")


def test_a_command_is_broken_as_a_shell_reads_it() -> None:
    command = "babelscope contrast --system lab:hard-student --tests lab:hard-pairs --ties wrong"
    drawn = draw_command(command, 60)
    assert len(drawn) == 2
    assert all(len(line) <= 60 for line in drawn)
    joined = "\n".join(drawn).replace("\\\n", "").removeprefix("   $ ")
    assert joined.split() == command.split()
    assert draw_command("babelscope lab models", 80) == ["   $ babelscope lab models"]
