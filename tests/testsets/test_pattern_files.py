"""Files of translations and lemmas, as pattern matching is given them."""

from __future__ import annotations

from pathlib import Path

import pytest

from babelscope.systems.translation_files import Given, read_translations
from babelscope.testsets import AmbiguousSource
from babelscope.testsets.pattern_files import match_translations, read_lemmas
from babelscope.util.errors import BabelscopeError


def test_files_of_translations(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Ein Stift.\n\n")
    assert [each.translation for each in read_translations(path)] == ["Ein Stift.", ""]
    path.write_text("A pen. ||| Ein Stift. ||| ja\nB. |||\n")
    assert read_translations(path) == [
        Given(f"{path}:1", "Ein Stift. ||| ja", "A pen."),
        Given(f"{path}:2", "", "B."),
    ]
    path.write_text("A. ||| B.\nC.\n")
    with pytest.raises(BabelscopeError, match=r"a\.txt:2 has no \|\|\| between source and translation"):
        read_translations(path)
    path = tmp_path / "a.jsonl"
    path.write_text('{"sentence": "A.", "translation": "B.", "translation_lemmatized": null}\n')
    assert read_translations(path) == [Given(f"{path}:1", "B.", "A.", folded=True)]
    path.write_text('{"source": "A.", "translation": "B.", "lemmas": "b ."}\n')
    assert read_translations(path) == [Given(f"{path}:1", "B.", "A.", "b .")]
    path.write_text('{"source": "A."}\n')
    with pytest.raises(BabelscopeError, match=r"a\.jsonl:1: field 'translation' must be text"):
        read_translations(path)
    lemmas = tmp_path / "lemmas"
    lemmas.write_text("ein stift\n")
    assert read_lemmas(lemmas, [Given("f", "x")], parallel_to="a")[0].lemmas == "ein stift"
    with pytest.raises(BabelscopeError, match=r"a has 2, .*lemmas has 1"):
        read_lemmas(lemmas, [Given("f", "x")] * 2, parallel_to="a")
    item = AmbiguousSource("1", "A pen.", ("r",), ("w",), "m")
    with pytest.raises(BabelscopeError, match=r"a\.txt has no translations"):
        match_translations([item], [], what="a.txt")
