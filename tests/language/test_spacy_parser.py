"""spaCy as a parser: its real French model where that is installed, and what is refused."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from babelscope.language.parsers import open_parser, parser_language
from babelscope.util.errors import BabelscopeError

FRENCH = "fr_core_news_sm"
needs_model = pytest.mark.skipif(
    importlib.util.find_spec("spacy") is None or importlib.util.find_spec(FRENCH) is None,
    reason=f"spaCy and its model {FRENCH} are not installed",
)


@needs_model
def test_the_french_model_gives_one_tree_a_line() -> None:
    texts = ["Elle se lave les mains.", "", " Il dort.  Nous partons. ", "?!"]
    trees = open_parser(f"spacy:{FRENCH}")(texts)
    assert [tree is None for tree in trees] == [False, True, False, False]
    first = trees[0]
    assert first is not None
    assert [word.form for word in first.words] == ["Elle", "se", "lave", "les", "mains", "."]
    assert {word.form for word in first.words if "Reflex=Yes" in word.feats} == {"se"}
    for tree, text in zip(trees, texts, strict=True):
        if tree is not None:
            assert tree.matches(text)
            assert sum(word.deprel == "root" for word in tree.words) == 1
    assert parser_language(f"spacy:{FRENCH}") == "fr"


@needs_model
def test_a_spacy_model_that_is_not_there_is_told() -> None:
    with pytest.raises(BabelscopeError, match="there is no spaCy model 'xx_none': install its package"):
        open_parser("spacy:xx_none")


def pretend(monkeypatch: pytest.MonkeyPatch, labels: list[str]) -> None:
    """spaCy's interface as far as it is used before anything is parsed."""
    pipeline = SimpleNamespace(pipe_names=["parser"], get_pipe=lambda _: SimpleNamespace(labels=labels))
    loaded: dict[str, Any] = {"load": lambda _name, exclude: pipeline if exclude else None}
    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(**loaded))


def test_relations_of_other_schemes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules for Universal Dependencies would find nothing, and the counts of 0 would mislead."""
    pretend(monkeypatch, ["nsubj", "dobj", "pobj", "prep", "prt", "case"])
    with pytest.raises(BabelscopeError, match=r"does not parse to Universal Dependencies: .* obj, obl"):
        open_parser("spacy:en_like")
    pretend(monkeypatch, ["nsubj:pass", "obj", "obl:mod", "case", "compound:prt"])
    open_parser("spacy:fr_like")


def test_the_language_is_in_the_description(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "meta.json").write_text('{"lang": "de", "name": "x"}')
    assert parser_language(f"spacy:{tmp_path}") == "de"
    (tmp_path / "meta.json").write_text("[1]")
    assert parser_language(f"spacy:{tmp_path}") is None
    assert parser_language("spacy:no_such_package") is None
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(BabelscopeError, match="spaCy is not installed"):
        open_parser("spacy:x")
