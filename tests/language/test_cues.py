"""Cues in sources: at word boundaries, and as the released code puts them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.language.cues import (
    Cues,
    find_form,
    insert_cue,
    mark_gender,
    plural,
    read_candidates,
    read_cues,
    write_cues,
)
from babelscope.testsets import AmbiguousSource, load
from babelscope.util.errors import BabelscopeError


def occurs_inside(sentence: str, form: str) -> bool:
    """Whether `form` also stands inside another word, where plain replacement would put the cue too."""
    return sentence.count(form) > len(re.findall(rf"(?<!\w){re.escape(form)}(?!\w)", sentence))


@pytest.mark.parametrize(
    ("word", "sentence", "form"),
    [
        ("man", "The man slept.", "man"),
        ("man", "Woman, the men slept.", "men"),
        ("man", "Man is mortal, said the woman.", "Man"),
        ("man", "The manner of a woman.", None),
        ("man", "MAN!", None),
        ("man", "A man-made lake.", "man"),
        # Alone, even capitalized, before a part of a compound, as Moses tokens have it.
        ("starter", "Starter motors and starter-generators", "Starter"),
        ("pupil", "The pupil's eye", "pupil"),
        ("c++", "Learn c++ now", "c++"),
    ],
)
def test_the_form_in_the_sentence(word: str, sentence: str, form: str | None) -> None:
    assert find_form(word, sentence) == form


def test_plurals() -> None:
    nouns = ("pen", "bus", "box", "bench", "fly", "day", "man", "human", "y")
    assert [plural(noun) for noun in nouns] == [
        *("pens", "buses", "boxes", "benches", "flies", "days", "men", "humans", "ys")
    ]


def test_only_whole_words_take_a_cue() -> None:
    sentence = "The plane, no plane-spotter's, explained."
    assert insert_cue(sentence, "plane", "jet") == "The jet plane, no jet plane-spotter's, explained."
    sentence = "A woman saw a man: man!"
    assert insert_cue(sentence, "man", "old") == "A woman saw a old man: old man!"
    assert insert_cue(sentence, "man", "old", "paper") == "A woold man saw a old man: old man!"
    assert occurs_inside(sentence, "man")
    assert not occurs_inside("A man: man!", "man")
    # Neither is taken for a pattern.
    assert insert_cue("a (b. c", "b.", r"\1") == r"a (\1 b. c"


@pytest.mark.parametrize("mode", ["words", "paper"])
def test_a_word_that_is_not_there_is_an_error(mode: str) -> None:
    with pytest.raises(BabelscopeError, match=r"the word 'pen' is not in the sentence 'My ink\.'"):
        insert_cue("My ink.", "pen", "old", mode)  # type: ignore[arg-type]


@given(st.text("ab -", min_size=1, max_size=12), st.sampled_from(["a", "ab", "b"]))
def test_the_two_modes_differ_where_the_form_is_inside_a_word(sentence: str, form: str) -> None:
    if find_form(form, sentence) != form:
        return
    differ = insert_cue(sentence, form, "X") != insert_cue(sentence, form, "X", "paper")
    assert differ == occurs_inside(sentence, form)
    assert insert_cue(sentence, form, "X").replace("X ", "") == sentence


def test_cue_files(tmp_path: Path) -> None:
    path = tmp_path / "cues.jsonl"
    cues = [Cues("pen", ("ink", "felt"), ("pig",)), Cues("bank", (), ())]
    path.write_text("".join(f"{line}\n" for line in write_cues(cues)))
    assert read_cues(path) == cues
    path.write_text('{"src_word": "pen", "correct_insertions": ["ink", ""]}\n')
    with pytest.raises(BabelscopeError, match=r"cues.jsonl:1: field 'correct_insertions' must be a list"):
        read_cues(path)
    path.write_text('{"correct_insertions": []}\n')
    with pytest.raises(BabelscopeError, match=r"cues.jsonl:1: field 'src_word' must be text"):
        read_cues(path)
    path.write_text(json.dumps({"pen": {"stift": ["ink"]}}))
    assert read_candidates(path) == {"pen": {"stift": ("ink",)}}
    path.write_text(json.dumps({"pen": ["ink"]}))
    with pytest.raises(BabelscopeError, match="pen must be an object"):
        read_candidates(path)


@pytest.mark.parametrize(("pair", "inside"), [("en-de", 32), ("en-ru", 17)])
def test_published_cues_at_word_boundaries(shared: Path, pair: str, inside: int) -> None:
    prefix = shared / "data" / "mucow" / pair
    made = [
        load(f"mucow:{prefix}{mode}").items_of(AmbiguousSource, what_for="this test")
        for mode in ("", "?paper_cues=yes")
    ]
    different = 0
    for ours, theirs in zip(*made, strict=True):
        differ = (ours.correct_sources, ours.incorrect_sources) != (
            theirs.correct_sources,
            theirs.incorrect_sources,
        )
        assert differ == occurs_inside(ours.source, ours.extra["form"])
        different += differ
    assert different == inside


def test_published_occupations_are_not_doubled(shared: Path) -> None:
    tests = load(f"winomt:{shared / 'data' / 'winomt' / 'test.tsv'}")
    doubled = 0
    for item in tests.items_of(AmbiguousSource, what_for="this test"):
        where = item.source, item.extra["index"], str(item.gold), item.extra["occupation"]
        assert mark_gender(*where) == item.correct_sources[0]
        assert "worker worker" not in item.correct_sources[0]
        doubled += "worker worker" in mark_gender(*where, "paper")
    assert doubled == 80
