"""What is shown of single items: tokens, margins, marks."""

from __future__ import annotations

import pytest

from babelscope.core.page import Answer, count_of
from babelscope.core.results import Record
from babelscope.methods.condition.view import answer as conditioning_answer
from babelscope.methods.condition.view import mark_difference
from babelscope.methods.contrast.view import answer, colour_tokens, margin
from babelscope.methods.view import items_that
from babelscope.report.items import Item, choose


def pair(prefix: int, right: float, wrong: float) -> Record:
    shared = [f"▁{number}" for number in range(prefix)]
    return {
        "source": "s",
        "phenomenon": "np_agreement",
        "reference": "human",
        "verdict": "wrong",
        "scores": {"correct": -1.0, "contrastive": [None, -0.5]},
        "correct": {
            "text": "…",
            "tokens": [*shared, "▁der", "▁Hund", "</s>"],
            "logprobs": [-0.1] * prefix + [right, -0.2, -0.1],
            "notes": [],
        },
        "contrastive": [
            {"text": "x", "tokens": ["</s>"], "logprobs": [None], "notes": [], "at": prefix},
            {
                "text": "…",
                "tokens": ["▁die", "▁Hund", "</s>"],
                "logprobs": [wrong, -1.2, -0.1],
                "notes": [],
                "at": prefix,
            },
        ],
    }


def test_tokens_have_their_difference_and_the_stretch_that_differs_its_sum() -> None:
    ours, theirs = colour_tokens(pair(2, -3.0, -1.0), 1)
    assert ours == [
        ("▁0", None),
        ("▁1", None),
        ("▁der", -2.0, 1),
        ("▁Hund", pytest.approx(1.0)),
        ("</s>", None),
    ]
    assert [token[0] for token in theirs] == ["▁0", "▁1", "▁die", "▁Hund", "</s>"]
    assert theirs[2] == ("▁die", -2.0, 1)


def test_of_a_long_shared_beginning_the_end_is_kept() -> None:
    ours, theirs = colour_tokens(pair(30, -3.0, -1.0), 1)
    assert [token[0] for token in ours[:6]] == ["…", "▁25", "▁26", "▁27", "▁28", "▁29"]
    assert ours[:6] == theirs[:6]


def test_an_impossible_variant_has_a_finite_colour_and_is_no_rival() -> None:
    record = pair(2, -3.0, -1.0)
    ours, _ = colour_tokens(record, 0)
    assert all(token[1] is None or abs(token[1]) <= 100 for token in ours)
    assert margin(record) == -0.5
    assert dict(answer(record, {}).lines())["with the error"][2][0] == "▁die"


def test_an_impossible_right_translation_has_no_margin() -> None:
    record = pair(2, -3.0, -1.0)
    record["scores"]["correct"] = None
    assert margin(record) is None


def test_a_skipped_item_says_why() -> None:
    for text, told in (("", "(empty)"), (None, "(not known)")):  # stored scores need no translations
        shown = conditioning_answer({"skipped": "no cue", "translation": text}, {})
        assert (shown.verdict, shown.facts, shown.measure) == ("skipped", "no cue", None)
        assert list(shown.lines()) == [("translation", told)]


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
def test_words_that_differ_are_marked(text: str, other: str, apart: str) -> None:
    found = mark_difference(text, other)
    assert "".join(token[0] for token in found) == text
    assert "".join(token[0] for token in found if token[2:] == (1,)).strip() == apart


def test_chosen_items_are_errors_first_then_the_least_certain() -> None:
    def item(number: int, tone: str, measure: float) -> Item:
        return Item({"id": number}, 0, number, [(0, Answer("", tone, measure))])  # type: ignore[arg-type]

    found = [item(number, "errors" if number % 10 == 0 else "none", number / 10) for number in range(200)]
    chosen, note = choose(found, cap=60, seed=0)
    places = [each.place for each in chosen]
    assert places == sorted(places)
    assert {number for number in range(200) if number % 10 == 0} <= set(places)
    certain = sorted(number for number in range(200) if number % 10)
    assert set(certain[:20]) <= set(places)
    assert "60 of 200 items: all 20 with an error, the 20 others closest to one, and 20 at random" in note
    assert choose(found, cap=200, seed=0) == (found, "")


def test_numbers_of_things() -> None:
    assert [count_of(number, "items") for number in (0, 1, 1200)] == ["0 items", "1 item", "1,200 items"]


def test_verbs_agree_with_the_number_of_items() -> None:
    assert items_that(2, "have no cue and were skipped") == "2 items have no cue and were skipped"
    assert items_that(1, "have no cue and were skipped") == "1 item has no cue and was skipped"
