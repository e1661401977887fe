"""Head and dependent are marked where they stand, not wherever such words stand."""

from __future__ import annotations

from typing import Any

import pytest

from babelscope.annotate.items import make_tasks
from babelscope.annotate.marking import Pieces, spans_marked

TEXT = "Er gab ab und gab es ab."


def shown(**fields: Any) -> Pieces:
    record = {
        "id": "1",
        "source": TEXT,
        "translation": "x",
        "phenomenon": "particle",
        "head": "gab",
        "dependent": "ab",
        **fields,
    }
    (task,) = make_tasks([("here", record)], "challenge", "here")
    (block,) = (block for block in task.blocks if block.title == "Source")
    return block.pieces


def marked(pieces: Pieces) -> list[int]:
    """Where marked pieces begin."""
    assert "".join(text for text, _ in pieces) == TEXT
    starts, at = [], 0
    for text, mark in pieces:
        starts += [at] if mark else []
        at += len(text)
    return starts


def test_the_places_of_the_words_are_marked() -> None:
    assert marked(shown(head_at=[14, 17], dependent_at=[21, 23])) == [14, 21]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"head_at": [14, 170], "dependent_at": [21, 23]},
        {"head_at": [14], "dependent_at": [21, 23]},
        {"head_at": "14", "dependent_at": [21, 23]},
        {"head_at": [17, 14], "dependent_at": [21, 23]},
        {"head_at": [14, 17], "dependent_at": [15, 23]},
    ],
)
def test_without_places_of_the_text_every_such_word_is_marked(fields: dict[str, Any]) -> None:
    assert marked(shown(**fields)) == [3, 7, 14, 21]


def test_two_words_of_one_token_are_marked_once() -> None:
    assert spans_marked("zum Haus", [[0, 3], [0, 3]]) == [("zum", True), (" Haus", False)]
