"""What an extraction cost: words, seconds, memory."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from babelscope.making.challenge import Corpus, Search
from babelscope.util.process import peak_memory
from tests.support.toy_fixtures import Babelscope


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    from babelscope.lab.grammar.corpus import make_corpus

    make_corpus(tmp_path, 60, seed=3, name="lab")
    base = tmp_path / "lab"
    return Corpus(
        Path(f"{base}.en"), Path(f"{base}.de"), Path(f"{base}.en.conllu"), alignments=Path(f"{base}.align")
    )


def test_words_are_those_of_both_sides(corpus: Corpus) -> None:
    search = Search(corpus)
    words = sum(sum(item.extra["words"]) for item in search.items())
    time.sleep(0.05)
    rows = search.cost_rows()
    found = {row.name: row.estimate for row in rows}
    assert {row.counts["words"] for row in rows} == {words}
    assert words > 500
    assert {each.n for each in found.values()} == {60}
    assert 0.05 <= found["seconds"].value < 600
    assert found["memory_mb"].value == pytest.approx(peak_memory() / 2**20, rel=0.2)
    # What parts count adds up to the same.
    whole = Search(corpus)
    for part in map(whole.of_part, whole.split(7)):
        part.count()
        whole.absorb(part.counted())
    assert whole.tally.words == words


def test_of_parses_alone_the_words_of_the_trees_count(corpus: Corpus) -> None:
    assert corpus.parses is not None
    lines = corpus.parses.read_text(encoding="utf-8").split("\n")
    search = Search(Corpus(parses=corpus.parses))
    search.count()
    assert search.tally.words == sum(line.partition("\t")[0].isdigit() for line in lines)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux says it there")
def test_memory_is_what_the_system_says() -> None:
    held = b"x" * (50 * 2**20)
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (said,) = (line.split()[1] for line in status.split("\n") if line.startswith("VmHWM:"))
    assert peak_memory() == pytest.approx(int(said) * 1024, rel=0.05)
    assert peak_memory() >= len(held)


def test_the_command_prints_it_if_asked(corpus: Corpus, babelscope: Babelscope) -> None:
    files = {"--source": corpus.source, "--reference": corpus.reference, "--parses": corpus.parses}
    files |= {"--alignments": corpus.alignments}
    asked = [
        "make",
        "challenge",
        *(str(each) for pair in files.items() for each in pair),
        "--count",
        "--json",
    ]
    rows = [json.loads(line) for line in babelscope(*asked, "--cost").out.splitlines()]
    assert [row["name"] for row in rows[-2:]] == ["seconds", "memory_mb"]
    assert all(row["cost"] == "extraction" and row["no_interval"] == "one run" for row in rows[-2:])
    assert [json.loads(line) for line in babelscope(*asked).out.splitlines()] == rows[:-2]
    assert "without --ray" in babelscope(*asked, "--cost", "--ray").err
