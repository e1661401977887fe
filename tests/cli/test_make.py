"""`babelscope make`: minimal pairs, and challenge sets that are counted, written, shown and warned of."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from babelscope import load
from babelscope.lab.grammar.corpus import make_corpus
from babelscope.making.challenge import Corpus, Search, SearchSettings
from babelscope.methods.challenge.sets import read_instances
from tests.support.toy_fixtures import Babelscope, read_rows

N = 60
OWN = '[verb_and_adverb]\ndependent = { relation = "advmod" }\nhead = { upos = "VERB" }\n'
CHALLENGE = "make challenge --source c.en --reference c.de --set alignments=c.align"


@pytest.fixture
def corpus(tmp_path: Path) -> None:
    make_corpus(tmp_path, N, seed=5, name="c")


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


@pytest.mark.usefixtures("corpus")
def test_counting_in_parses_alone(babelscope: Babelscope, tmp_path: Path) -> None:
    asked = "make challenge --parses c.de.conllu --language de"
    (row,) = babelscope(f"{asked} --phenomenon particle --set min_distance=1 --json").rows
    labels = read_rows(tmp_path / "c.labels.jsonl")
    wide = [
        [
            one
            for one in each["phenomena"]
            if (one["name"], one["side"]) == ("particle", "de") and one["distance"] >= 1
        ]
        for each in labels
    ]
    assert row["sentences"] == sum(map(bool, wide)) > 0
    assert row["instances"] == sum(map(len, wide))
    assert (row["phenomenon"], row["min_distance"], row["rules"]) == ("particle", 1, "sound")
    assert row["low"] <= row["value"] == row["sentences"] / N <= row["high"]
    assert (row["n"], row["skipped"], row["language"]) == (N, 0, "de")
    every = babelscope(f"{asked} --json").rows
    assert [(row["phenomenon"], row["min_distance"]) for row in every] == [
        (name, distance) for name in ("particle", "reflexive") for distance in range(4)
    ]
    assert "particle" in babelscope(f"{asked} --set exact=yes").out


@pytest.mark.usefixtures("corpus")
def test_a_challenge_set_that_the_rest_of_the_program_reads(babelscope: Babelscope) -> None:
    parses = "--parses c.en.conllu --language en"
    made = babelscope(f"{CHALLENGE} {parses} --to set.jsonl --json").rows
    tests = load("set.jsonl")
    assert (len(tests), tests.kind.__name__) == (N, "ParallelSentence")
    found = [one.phenomenon for item in tests for one in read_instances(item.extra, item.id)]
    # Lexical phenomena at any distance, reordering from its limit on.
    counted = {
        row["phenomenon"]: row["instances"]
        for row in made
        if row["name"] == "share" and row.get("min_distance") in (0, 5)
    }
    assert counted == {name: found.count(name) for name in counted}
    assert counted["particle"] > 0
    assert counted["reordering"] > counted["reordering_normalized"] > 0
    assert sum(row["name"] == "length_difference" for row in made) == len(made) / 2
    assert babelscope(f"{CHALLENGE} {parses} --set only_found=yes --to some.jsonl").code == 0
    assert 0 < len(load("some.jsonl")) < N
    moved = "--phenomenon reordering --set min_displacement=99"
    assert babelscope(f"{CHALLENGE} {moved} --to set.jsonl").code == 0
    assert not any(item.extra["dependencies"] for item in load("set.jsonl"))


@pytest.mark.usefixtures("corpus")
def test_own_rules_are_counted_and_shown(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(OWN, encoding="utf-8")
    asked = "make challenge --parses c.de.conllu --own-rules own.toml"
    (row,) = babelscope(f"{asked} --phenomenon verb_and_adverb --set min_distance=0 --json").rows
    assert row["sentences"] > 0
    out = babelscope(f"{asked} --show 5").out
    shown = out.partition("5 of what was found, drawn at random:\n")[2]
    heads = [line for line in shown.split("\n") if line and line[0] != " "]
    assert len(heads) == 5
    assert all(": verb_and_adverb, " in line for line in heads)
    assert shown.count("[") == shown.count("]") == 10
    assert max(map(len, out.split("\n"))) <= 80


@pytest.mark.usefixtures("corpus")
def test_the_sample_is_the_same_however_the_corpus_is_split(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path / "c.en", tmp_path / "c.de", parses=tmp_path / "c.en.conllu")
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


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("", "needs a source and a reference, or parses to count in"),
        ("--parses c.en.conllu --to x", "a challenge set needs --source and --reference"),
        ("--source c.en", "belong together"),
        ("--source c.en --reference c.de --parser malt:de", "a parser is udpipe:"),
        ("--parses c.en.conllu --phenomenon partikel", "did you mean particle"),
        ("--parses c.de.conllu --show 5 --json", "--show is for reading"),
        ("--source c.en --reference c.de --show 5", "show"),
    ],
)
def test_wrong_use_is_told(babelscope: Babelscope, arguments: str, told: str) -> None:
    ran = babelscope(f"make challenge {arguments}")
    assert (ran.code, told in ran.err) == (2, True), ran.err


@pytest.mark.usefixtures("corpus")
def test_a_failed_run_leaves_no_file(babelscope: Babelscope, tmp_path: Path) -> None:
    links = (tmp_path / "c.align").read_text().replace("0-0", "0-77", 1)
    (tmp_path / "c.align").write_text(links)
    ran = babelscope(f"{CHALLENGE} --to set.jsonl")
    assert (ran.code, "c.align:" in ran.err, ": the link 0-77" in ran.err) == (2, True, True)
    assert not (tmp_path / "set.jsonl").exists()
    assert babelscope(f"{CHALLENGE} --set skip_bad=yes --to set.jsonl --json").rows[0]["skipped"] == 1
    assert len((tmp_path / "set.jsonl").read_text().splitlines()) == N - 1


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
    ran = babelscope("make challenge --parses c.conllu --phenomenon particle")
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
