"""What a system is asked: the whole question tells one from another, and a plain one is written as its source."""

from __future__ import annotations

import json

from babelscope.core.system import Question

QUESTIONS = [
    Question("a"),
    Question(""),
    Question("a", ("b", "")),
    Question("a", context_target=("b",)),
    Question("a", source_language="en"),
    Question("a", ("x",), ("y", "z"), "en", "de"),
]


def test_a_plain_question_is_written_as_its_source():
    assert Question("a").as_json() == "a"
    assert Question("a", ("b",), target_language="de").as_json() == {
        "source": "a",
        "context_source": ["b"],
        "target_language": "de",
    }


def test_questions_that_differ_in_anything_are_different():
    assert len(set(QUESTIONS)) == len({json.dumps(each.as_json()) for each in QUESTIONS}) == len(QUESTIONS)
