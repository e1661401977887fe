"""The corpus: distinct, deterministic, complete, its parts apart."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import conllu
import pytest

from babelscope.lab.grammar.corpus import (
    COUNTED,
    count_phenomena,
    generate,
    make_corpus,
    references,
    split_of,
)
from babelscope.lab.grammar.lexicon import AMBIGUOUS, OCCUPATIONS, SENSES
from babelscope.lab.grammar.sentences import SentencePair, english_text

SUFFIXES = ("en", "de", "en.conllu", "de.conllu", "align", "labels.jsonl")


@cache
def sample() -> tuple[SentencePair, ...]:
    return tuple(generate(5000, 42))


def test_distinct() -> None:
    pairs = sample()
    assert len(pairs) == 5000
    assert len({(pair.source, pair.target) for pair in pairs}) == 5000
    assert len({pair.source for pair in pairs}) > 4900
    assert [pair.source for pair in generate(20, 1)] != [pair.source for pair in generate(20, 2)]


def test_same_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    digests = []
    for hash_seed in ("1", "2"):
        folder = tmp_path / hash_seed
        code = (
            "from pathlib import Path; from babelscope.lab.grammar.corpus import make_corpus; "
            f"make_corpus(Path({str(folder)!r}), 300, 5)"
        )
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)
        data = b"".join((folder / f"corpus.{suffix}").read_bytes() for suffix in SUFFIXES)
        digests.append(hashlib.sha256(data).hexdigest())
    assert digests[0] == digests[1]


@pytest.mark.parametrize("row", COUNTED)
def test_every_phenomenon_occurs(row: str) -> None:
    counts = {r.name: r.sentences for r in count_phenomena(sample())}
    # At least one sentence in 400: in a corpus of 100,000 that is 250.
    assert counts[row] >= 12


def test_distances_vary() -> None:
    rows = {r.name: r.distances for r in count_phenomena(sample())}
    for name, longest in (("de particle", 8), ("de reflexive", 6), ("en particle", 3), ("en reflexive", 3)):
        assert set(range(longest + 1)) - set(rows[name]) <= {1}, name
    assert set(range(4)) <= set(rows["en preposition_stranding"])
    assert set(range(8)) <= set(rows["de subject_verb_agreement"])


def test_skewed_but_learnable() -> None:
    rows = {r.name: r.instances for r in count_phenomena(sample())}
    women, men = (
        sum(rows[f"occupation {gender}, {told}"] for told in ("told", "not told"))
        for gender in ("female", "male")
    )
    assert 0.18 < women / (women + men) < 0.27
    assert 0.22 < rows["sense rare"] / (rows["sense rare"] + rows["sense frequent"]) < 0.32
    for noun in OCCUPATIONS:
        assert rows[f"occupation {noun} female"] * 100_000 / 5000 > 200
    for word in AMBIGUOUS:
        rare = [p for p in sample() for s in p.labels.senses if (s.word, s.frequency) == (word, "rare")]
        assert len(rare) * 100_000 / 5000 > 600


def test_cue_adjectives_occur_with_their_noun() -> None:
    seen = {
        (f"{sense.word}/{sense.frequency}", pair.english[sense.english - 2].form)
        for pair in sample()
        for sense in pair.labels.senses
    }
    assert all((name, cue) in seen for name, sense in SENSES.items() for cue in sense.adjectives)
    text = "\n".join(pair.source for pair in sample())
    assert text.count(" male ") > 30
    assert text.count(" female ") > 15


def test_splits_are_apart() -> None:
    sources = {split: {p.source for p in generate(100, 3, split)} for split in ("train", "dev", "test")}
    for split, some in sources.items():
        assert all(split_of(source) == split for source in some)
    assert sources["train"].isdisjoint(sources["test"])
    assert sources["dev"].isdisjoint(sources["test"])


def test_references() -> None:
    meaning = next(p.meaning for p in generate(1000, 1, "test") if p.meaning.clauses[0].time)
    found = references(meaning, 4, 1)
    assert len(set(found)) == len(found) > 1
    assert found == references(meaning, 4, 1)
    assert split_of(english_text(meaning)) == "test"


def test_written_files(tmp_path: Path) -> None:
    make_corpus(tmp_path, 200, 9)
    pairs = list(generate(200, 9))
    lines = {s: (tmp_path / f"corpus.{s}").read_text(encoding="utf-8").split("\n") for s in SUFFIXES}
    for suffix in ("en", "de", "align", "labels.jsonl"):
        assert lines[suffix].pop() == ""
        assert len(lines[suffix]) == 200
    assert lines["en"] == [pair.source for pair in pairs]
    assert lines["de"] == [pair.target for pair in pairs]
    for language in ("en", "de"):
        trees = conllu.parse((tmp_path / f"corpus.{language}.conllu").read_text(encoding="utf-8"))
        assert [tree.metadata["text"] for tree in trees] == lines[language]
    for pair, links, record in zip(pairs, lines["align"], lines["labels.jsonl"], strict=True):
        assert links == " ".join(f"{i}-{j}" for i, j in pair.alignment)
        labels = json.loads(record)
        for one in labels["phenomena"]:
            tree = pair.german if one["side"] == "de" else pair.english
            assert 1 <= one["head"] <= len(tree)
            assert 1 <= one["dependent"] <= len(tree)
            assert one["distance"] == max(abs(one["head"] - one["dependent"]) - 1, 0)
        for one in labels["occupations"]:
            assert (
                pair.german[one["german"] - 1].feature("Gender")
                == {"male": "Masc", "female": "Fem"}[one["gender"]]
            )
