"""Words of test sets: checked as a whole, by the items' languages, and told in the signature."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from babelscope.core.results import signature
from babelscope.methods.base import languages_of, set_up
from babelscope.methods.cells import config_of
from babelscope.methods.tokenising import check_reference_words
from babelscope.testsets import ParallelSentence, TestSet
from babelscope.testsets.items import SourceSentence
from babelscope.util.errors import BabelscopeError
from tests.support.unspaced import CHINESE, THAI, Lines

GERMAN: Lines = tuple((f"He came {n}.", f"Er kam am Abend nach Hause, {n}.", "Er kam.") for n in range(9))


def items(lines: Lines, language: str | None = None) -> list[ParallelSentence]:
    return [
        ParallelSentence(f"{language} {number}", source, (reference,), target_language=language)
        for number, (source, reference, _) in enumerate(lines)
    ]


def test_the_test_set_is_checked_as_a_whole() -> None:
    one = ParallelSentence("one", "Hello.", (CHINESE[0][1],))
    with pytest.warns(UserWarning, match="1 of 10 references are in a script .* 13a does not split") as told:
        check_reference_words([*items(GERMAN), one], ["bleu", "ribes"], "")
    assert len(told) == 1
    with pytest.raises(BabelscopeError, match="give the items their target_language, or say --tokenize zh"):
        check_reference_words([*items(GERMAN[:2]), *items(CHINESE)], ["ribes"], "")


def test_each_language_is_checked_with_its_own_tokeniser() -> None:
    mixed = [*items(GERMAN, "de"), *items(CHINESE, "zh"), *items(THAI, "tha_Thai")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_reference_words(mixed, ["bleu", "ribes", "ter", "chrf"], "")
    with pytest.raises(
        BabelscopeError, match=r"references for chrf\+\+ .*; take chrf, which counts characters"
    ):
        check_reference_words(mixed, ["chrf++"], "")
    # The language that somebody states does not decide what can be split.
    with pytest.raises(BabelscopeError, match=r"\(Thai\), which zh cannot split"):
        check_reference_words(items(THAI, "zh"), ["bleu"], "")


def signed(method: str, asked: list[ParallelSentence], **settings: Any) -> str:
    tests = {"t": TestSet("t", tuple(asked))}
    return signature(config_of([set_up(method, settings)], [], tests, seed=0, chunk=1))


@pytest.mark.parametrize(
    ("method", "metric"), [("quality", "metric"), ("challenge", "metrics"), ("space", "metric")]
)
def test_the_signature_says_what_was_chosen(method: str, metric: str) -> None:
    by_bleu = {metric: ("bleu",)}
    assert "tokenize" not in signed(method, items(GERMAN, "de"), **by_bleu)
    assert "tokenize" not in signed(method, items(GERMAN), **by_bleu)
    assert "|tokenize:zh|" in signed(method, items(CHINESE, "zh-CN"), **by_bleu)
    assert "|tokenize:char,zh|" in signed(method, [*items(CHINESE, "zh"), *items(THAI, "th")], **by_bleu)
    assert "|tokenize:intl|" in signed(method, items(CHINESE, "zh"), tokenize="intl", **by_bleu)


def test_items_without_references_need_no_tokeniser() -> None:
    japanese = SourceSentence("1", "Hello.", target_language="ja")
    assert languages_of([japanese]) == frozenset()
    check_reference_words([japanese], ["bleu"], "")  # whether MeCab is installed or not
