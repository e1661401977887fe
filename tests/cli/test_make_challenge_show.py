"""`babelscope make challenge --show`: some of what rules find, to be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from babelscope.cli.make import app
from babelscope.lab.grammar import corpus as lab
from babelscope.making.challenge import Corpus, Search, SearchSettings
from babelscope.util.errors import BabelscopeError

OWN = '[verb_and_adverb]\ndependent = { relation = "advmod" }\nhead = { upos = "VERB" }\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("lab")
    lab.make_corpus(made, 60, seed=5, name="c")
    (made / "own.toml").write_text(OWN, encoding="utf-8")
    return made


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["challenge", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_what_own_rules_find_is_shown_without_to_or_count(folder: Path) -> None:
    out = run("--parses", folder / "c.de.conllu", "--own-rules", folder / "own.toml", "--show", 5)
    shown = out.partition("5 of what was found, drawn at random:\n")[2]
    heads = [line for line in shown.split("\n") if line and line[0] != " "]
    assert len(heads) == 5
    assert all(": verb_and_adverb, " in line for line in heads)
    assert shown.count("[") == shown.count("]") == 10
    assert max(map(len, out.split("\n"))) <= 80


def test_the_sample_is_the_same_however_the_corpus_is_split(folder: Path) -> None:
    corpus = Corpus(folder / "c.en", folder / "c.de", parses=folder / "c.en.conllu")
    wanted = SearchSettings(phenomena=["subject_verb_agreement"], show=7)
    whole = Search(corpus, wanted)
    whole.count()
    parts = Search(corpus, wanted)
    for part in map(parts.of_part, parts.split(13)):
        part.count()
        parts.absorb(part.counted())
    assert parts.sample.in_order() == whole.sample.in_order()
    assert len(whole.sample.chosen) == 7
    for each in whole.sample.chosen:
        assert each.marked.replace("[", "").replace("]", "") == each.text


def test_show_is_refused_where_nobody_reads_it(folder: Path) -> None:
    with pytest.raises(BabelscopeError, match="--show is for reading"):
        run("--parses", folder / "c.de.conllu", "--show", 5, "--json")
    with pytest.raises(BabelscopeError, match="show"):
        run("--source", folder / "c.en", "--reference", folder / "c.de", "--show", 5)
