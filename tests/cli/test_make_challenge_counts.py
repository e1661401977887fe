"""`babelscope make challenge`: a phenomenon found in implausibly many sentences is warned of."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from babelscope.lab.grammar.corpus import make_corpus
from tests.support.toy_fixtures import Babelscope

PHENOMENA = (
    *("particle", "reflexive", "preposition_stranding", "subject_verb_agreement", "extraposed_relative"),
    *("wh_movement", "negation_scope", "light_verb", "verb_final"),
)
TEXT = "The old teacher always wakes the children up at seven"
WORDS = ["DET", "ADJ", "NOUN", "ADV", "VERB", "DET", "NOUN", "ADV", "ADP", "NUM"]
RELATIONS = ["det", "amod", "nsubj", "advmod", "root", "det", "obj", "", "case", "obl"]
HEADS = [3, 3, 5, 5, 0, 7, 5, 5, 10, 5]


def tree(up: str) -> str:
    """The tree of TEXT, with this relation of *up*."""
    features = {"VERB": "Number=Sing|VerbForm=Fin", "NOUN": "Number=Sing"}
    words = zip(TEXT.split(), WORDS, HEADS, RELATIONS, strict=True)
    return "\n".join(
        f"{number}\t{form}\t_\t{upos}\t_\t{features.get(upos, '_')}\t{head}\t{relation or up}\t_\t_"
        for number, (form, upos, head, relation) in enumerate(words, 1)
    )


def count(babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch, trees: Sequence[str], *more: str) -> str:
    """What is said of trees that a parser makes of as many lines; the parser is a stand-in for Stanza."""
    texts = [" ".join(row.split("\t")[1] for row in each.split("\n")) for each in trees]
    left = iter(trees)

    class Sentence:
        def __init__(self) -> None:
            self.tree = next(left)

        def __format__(self, _spec: str) -> str:
            return self.tree

    def pipeline(_language: str, **_options: Any) -> Any:
        return lambda text: SimpleNamespace(sentences=[Sentence() for _ in text.split("\n\n")])

    monkeypatch.setitem(sys.modules, "stanza", SimpleNamespace(Pipeline=pipeline))
    Path("source").write_text("".join(f"{text}\n" for text in texts), "utf-8")
    ran = babelscope(
        *("make", "challenge", "--source", "source", "--reference", "source", "--parser", "stanza:en"),
        *(part for name in PHENOMENA for part in ("--phenomenon", name)),
        *("--count", *more),
    )
    assert ran.code == 0, ran.err
    return " ".join(ran.err.split())


def particles(found: int, n: int) -> list[str]:
    return [tree("compound:prt" if number < found else "advmod") for number in range(n)]


def test_far_more_than_in_gold_trees_is_warned_of(
    babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = count(babelscope, monkeypatch, particles(120, 300))
    assert (
        "particle was found in 120 of 300 sentences; in gold trees of ten languages it is in 0 to 13 % of them: "
        "unless the text was chosen for it, the parser or the rule may not fit" in told
    )
    # All sentences have an agreement, as nearly all do in gold trees of many languages.
    assert told.count("gold trees") == 1


@pytest.mark.parametrize(("found", "n"), [(54, 300), (4, 10), (0, 300)])  # the lab's German has 18 %
def test_plausible_counts_and_few_sentences_are_not(
    babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch, found: int, n: int
) -> None:
    assert "gold trees" not in count(babelscope, monkeypatch, particles(found, n))


def test_nothing_is_known_of_a_rule_of_the_users(
    babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("own.toml").write_text('[particle]\ndependent = { relation = "compound:prt" }\n')
    assert "gold trees" not in count(babelscope, monkeypatch, particles(120, 300), "--own-rules", "own.toml")


def test_parses_of_a_set_that_was_chosen_are_not_warned_of(babelscope: Babelscope) -> None:
    Path("c.conllu").write_text("".join(f"{each}\n\n" for each in particles(300, 300)))
    ran = babelscope("make challenge --parses c.conllu --phenomenon particle --count")
    assert ran.code == 0, ran.err
    assert "gold trees" not in ran.err


@pytest.mark.parametrize("language", ["de", "en"])
def test_the_labs_parser_on_the_labs_text_is_not_warned_of(babelscope: Babelscope, language: str) -> None:
    pytest.importorskip("ufal.udpipe")
    make_corpus(Path(), 150, seed=11, name="c")
    other = "en" if language == "de" else "de"
    ran = babelscope(
        *("make", "challenge", "--source", f"c.{language}", "--reference", f"c.{other}"),
        *("--parser", f"udpipe:lab-{language}", "--to", "set.jsonl"),
        *(part for name in PHENOMENA for part in ("--phenomenon", name)),
    )
    assert ran.code == 0, ran.err
    assert "gold trees" not in ran.err


@pytest.mark.parametrize("treebank", ["ud/en_ewt-ud-test", "pud/en_pud-ud-test"])
def test_gold_trees_are_not_warned_of(
    babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch, shared: Path, treebank: str
) -> None:
    blocks = (shared / "data" / f"{treebank}.conllu").read_text("utf-8").strip().split("\n\n")
    trees = [
        "\n".join(row for row in block.split("\n") if row.split("\t")[0].isdecimal()) for block in blocks
    ]
    assert "gold trees" not in count(babelscope, monkeypatch, [each for each in trees if " " not in each])
