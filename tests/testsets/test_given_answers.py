"""Translations and scores made elsewhere, matched with their items; a clear error or a counted skip."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from babelscope import condition
from babelscope.testsets import AmbiguousSource, TestSet
from babelscope.testsets.given_answers import GivenScores, read_scores, with_translations
from babelscope.testsets.pattern_files import read_translations
from babelscope.util.errors import BabelscopeError


def set_of(*sources: str) -> TestSet:
    items = [AmbiguousSource(f"i{n}", s, (f"r {s}",), (f"w {s}",), "m") for n, s in enumerate(sources)]
    return TestSet("t", tuple(items))


def test_translations_are_matched_by_source(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("b ||| ba\na ||| aa\nc ||| ca\n")
    matched = with_translations(set_of("a", "b", "c"), read_translations(path), what="t.txt")
    assert [each.translation for each in matched] == ["aa", "ba", "ca"]  # type: ignore[union-attr]
    with pytest.raises(BabelscopeError, match=r"no translation of 'd' \(item i1; 1 of 2"):
        with_translations(set_of("a", "d"), read_translations(path), what="t.txt")
    some = with_translations(set_of("a", "d"), read_translations(path), what="t.txt", skip_missing=True)
    assert (len(some), some.skipped) == (1, {"no translation": 1})


def test_a_set_with_translations_is_of_the_same_version(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("T\n")
    tests = TestSet("toy", (AmbiguousSource("1", "a", ("b",), ("c",), "x"),), version=3)
    made = with_translations(tests, read_translations(tmp_path / "t"), what="t")
    assert (made.version, made.items[0].as_json()["translation"]) == (3, "T")


def test_duplicate_sources_are_matched_in_order_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("a ||| one\nb ||| ba\na ||| two\n")
    matched = with_translations(set_of("a", "a", "b"), read_translations(path), what="t.txt")
    assert [each.translation for each in matched] == ["one", "two", "ba"]  # type: ignore[union-attr]
    with pytest.raises(BabelscopeError, match="translates 'a' differently in 2 lines"):
        with_translations(set_of("a", "b"), read_translations(path), what="t.txt")
    path.write_text("a ||| one\nb ||| ba\na ||| one\n")
    assert len(with_translations(set_of("a", "b"), read_translations(path), what="t.txt")) == 2
    path.write_text("one\ntwo\n")
    with pytest.raises(BabelscopeError, match="equally many lines"):
        with_translations(set_of("a", "b", "c"), read_translations(path), what="t.txt")


@pytest.mark.parametrize("text", ["-1\t-2\n-3\t-inf\n", "i1\t-3\t-inf\ni0\t-1\t-2\n"])
def test_scores_are_read_by_line_or_by_id(tmp_path: Path, text: str) -> None:
    path = tmp_path / "scores.tsv"
    path.write_text(text)
    scores = read_scores(path, set_of("a", "b"))
    assert (scores.of("i0"), scores.of("i1")) == ((-1, -2), (-3, -math.inf))
    result = condition(None, scores, set_of("a", "b"))
    assert [record["score"] for record in result.records] == [pytest.approx(1 / (1 + math.exp(-1))), 1.0]
    assert [record["weight"] for record in result.records] == [1, 2]
    other = condition(None, GivenScores({"i0": (-1, -2), "i1": (-3, -9)}), set_of("a", "b"))
    assert other.signature != result.signature


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("-1\t-2\n", "the test set t has 2, .*scores.tsv has 1"),
        ("-1\t-2\n-1\tnan\n", "scores.tsv:2: a score is NaN"),
        ("-1\t-2\n-1\tx\n", "scores.tsv:2: 'x' is not a number"),
        ("0.79\t0.74\n0.6\t0.5\n", "scores.tsv:1: 0.79 is no log-probability"),
        ("-1\t-2\n-1\n", "scores.tsv:2 has 1 fields"),
        ("-1\n-2\n", "scores.tsv:1 has 1 fields"),
        ("i0\t-1\t-2\ni0\t-1\t-2\n", "scores.tsv:2: the item 'i0' stands there twice"),
        ("i0\t-1\t-2\n", "no scores of item i1"),
        ("i0\t-1\t-2\ni1\t-1\t-2\ni2\t-1\t-2\n", "scores of 'i2', which the test set t does not"),
        ("", "scores.tsv has 0"),
    ],
)
def test_faulty_scores_are_told(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "scores.tsv"
    path.write_text(text)
    with pytest.raises(BabelscopeError, match=told):
        read_scores(path, set_of("a", "b"))


def test_scores_given_in_python_are_checked_too() -> None:
    with pytest.raises(BabelscopeError, match="the scores of item a: a score is NaN"):
        GivenScores({"a": (-1, math.nan)})
    with pytest.raises(BabelscopeError, match="no scores of item i0"):
        condition(None, GivenScores({}), set_of("a"))
