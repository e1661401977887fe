"""A pair with more words than can be aligned is an error that names its line, or is skipped and counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from babelscope.language.align import longest_sentence
from babelscope.language.ud import BadSentence
from babelscope.making.challenge.reading import TOO_LONG, Corpus
from babelscope.making.challenge.search import Search, SearchSettings


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    pytest.importorskip("thot")
    long = " ".join(["a"] * (longest_sentence() + 1))
    (tmp_path / "c.en").write_text(f"a b c\n{long}\nb c a\n")
    (tmp_path / "c.de").write_text("x y z\nx\ny z x\n")
    return Corpus(tmp_path / "c.en", tmp_path / "c.de")


def test_it_is_named(corpus: Corpus) -> None:
    with pytest.raises(BadSentence, match=r"c\.en.*2: sentence 2: 1,025 words are too many to align"):
        list(Search(corpus, SearchSettings(["reordering"])).items())


def test_it_is_skipped_and_counted(corpus: Corpus) -> None:
    search = Search(corpus, SearchSettings(["reordering"]), skip_bad=True)
    assert [item.source for item in search.items()] == ["a b c", "b c a"]
    assert search.skipped == {TOO_LONG: 1}
