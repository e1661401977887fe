"""What counts as the empty hypothesis."""

from __future__ import annotations

import pytest

from babelscope.core.answers import Scored
from babelscope.methods.space.ask import _hypothesis
from babelscope.methods.space.regions import is_empty


@pytest.mark.parametrize(
    ("text", "tokens", "empty"),
    [
        ("", ("</s>",), True),
        (" ", ("▁", "</s>"), True),
        ("", ("<unk>", "</s>"), False),
        ("<unk>", ("<unk>",), False),
        ("a", ("a", "</s>"), False),
    ],
)
def test_unknown_words_are_not_the_empty_hypothesis(text: str, tokens: tuple[str, ...], empty: bool) -> None:
    stored = _hypothesis(Scored(text, tokens, (-1.0,) * len(tokens)))
    assert is_empty(stored) == empty
