"""`babelscope make`: minimal pairs, and challenge sets that are counted, written, shown and warned of."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from babelscope.lab.grammar.corpus import make_corpus
from tests.support.toy_fixtures import Babelscope


def test_pairs_go_to_stdout_or_a_file(babelscope: Babelscope, tmp_path: Path) -> None:
    pytest.importorskip("HanTa")
    pytest.importorskip("german_nouns.config")
    (tmp_path / "en").write_text("He does not come.\nShe sings.\n")
    (tmp_path / "de").write_text("Er kommt nicht.\nSie singt.\n")
    files = "--source en --reference de"
    printed = babelscope(f"make pairs --type polarity_particle_nicht_del --set kind=machine {files}")
    (pair,) = printed.rows
    assert (pair["contrastive"], pair["reference"]) == ("Er kommt.", "machine")
    asked = f"make pairs --type polarity_particle_nicht_del --set kind=machine {files} --to out.jsonl"
    assert babelscope(asked).code == 0
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == printed.out
    (row,) = babelscope(f"make pairs --audit 1 --type subj_verb_agreement {files}").rows
    assert row["really_wrong"] is None


# -- a phenomenon found in implausibly many sentences is warned of -------------------------------------

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
        *more,
    )
    assert ran.code == 0, ran.err
    return " ".join(ran.err.split())


def particles(found: int, n: int) -> list[str]:
    return [tree("compound:prt" if number < found else "advmod") for number in range(n)]


def test_nothing_is_known_of_a_rule_of_the_users(
    babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("own.toml").write_text('[particle]\ndependent = { relation = "compound:prt" }\n')
    assert "gold trees" not in count(babelscope, monkeypatch, particles(120, 300), "--own-rules", "own.toml")


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
