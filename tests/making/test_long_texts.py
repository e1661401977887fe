"""Texts that are no sentences: error types and cues take time that grows with their length, and bounded memory."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from babelscope.language.base import LONGEST
from babelscope.language.cues import Cues, insert_cue, insert_cues, read_cues
from babelscope.language.german.analysis import default_analyzer, tokenize
from babelscope.language.german.errors.clause_omission import boundaries
from babelscope.language.german.gender import _bare
from babelscope.language.registry import detectors, error_type, error_types
from babelscope.making.pairs import make_pairs
from babelscope.testsets.mucow import frequency_categories, read_keys
from babelscope.util.errors import BabelscopeError

REPEATED = (
    *(".", ". ", "…", "; ", "A. ", "1. ", "ab.Cd", "x.", "(..) ", '" ', "Sal. ", "a", "Haus", "1", "-", "/"),
    *("er geht, ", "er geht ", "lachte und lachte ", "unfair ", "eine Frau ", "wenn er kommt ", "z.B. ", "'"),
)


@pytest.mark.parametrize("repeated", REPEATED)
def test_the_longest_texts_are_searched_in_no_time(repeated: str) -> None:
    """Some took a minute: time grew with the square of the length, or worse."""
    text = (repeated * 40_000)[:40_000]
    begun = time.process_time()
    boundaries(text)
    tokenize(text)
    read = default_analyzer().analyze(text[:LONGEST])
    for each in error_types("de").values():
        for mode in each.modes or (None,):
            each.variants(read, mode)
    for detect in detectors("de").values():
        detect(read.text, read)
    assert time.process_time() - begun < 10


def test_longer_references_are_left_out_and_counted() -> None:
    texts = ["Er kommt. Sie geht.", "Er kommt. Sie geht. " * 600, "Er kommt. Sie geht."]
    with pytest.warns(
        UserWarning, match="1 references of more than 10000 characters are left out, the first is text 2"
    ):
        made = list(make_pairs("clause_omission", ["a"] * 3, texts))
    assert [pair.id for pair in made] == ["clause_omission/1", "clause_omission/3"]
    assert error_type("clause_omission").variants(default_analyzer().analyze(texts[1])) == []


def test_words_without_end() -> None:
    begun = time.process_time()
    assert default_analyzer().nouns.head("x" * 100_000 + "haus") == "Haus"
    assert _bare("a" + "!" * 50_000 + "b" + "!" * 50_000) == "a" + "!" * 50_000 + "b"
    assert frequency_categories({("a", str(n)): n for n in range(100_000)})["a", "99999"] == "frequent"
    assert time.process_time() - begun < 10


def test_cues_make_no_more_than_they_may(tmp_path: Path) -> None:
    with pytest.raises(BabelscopeError, match=r"with the cue 'xxx.* has more than"):
        insert_cue("bank " * 1000, "bank", "x" * 5000, "paper")
    with pytest.raises(BabelscopeError, match="with each of its cues has more than"):
        insert_cues("a bank " + "x" * 10**6, "bank", Cues("bank", ("river",) * 20, ()))
    (tmp_path / "cues.jsonl").write_text(json.dumps({"src_word": "." * 201}))
    with pytest.raises(BabelscopeError, match=r"cues\.jsonl:1: field 'src_word' must be text of 1 to 200"):
        read_cues(tmp_path / "cues.jsonl")
    (tmp_path / "key.tsv").write_text("1\tnews\t" + "." * 201 + "\ta\tb\n")
    with pytest.raises(BabelscopeError, match=r"key\.tsv:1: the word .* more than 200 characters"):
        read_keys(tmp_path / "key.tsv")
