"""MuCoW's translation suite: a small one made here, and the published one where the shared data is."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from babelscope.testsets import AmbiguousSource, TestSet, load
from babelscope.testsets.mucow import frequency_categories, read_keys, read_sense_counts
from babelscope.util.errors import BabelscopeError

SOURCES = ["My pen is full.", "The pig left its pen.", "PEN!", "An open pen."]
KEYS = [
    "1\tted\tpen\tstift füller\tgehege",
    "2\ttatoeba\tpen\tgehege\tstift füller",
    "3\topensubs\tpen\tstift füller\tgehege",
    "4\tted\tpen\tstift füller\tgehege",
]
COUNTS = {"pen - stift füller": 9, "pen - gehege": 2}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    prefix = tmp_path / "en-de"
    (tmp_path / "cues").mkdir()
    (tmp_path / "counts").mkdir()
    lines(prefix, ".text.txt", SOURCES)
    lines(prefix, ".key.tsv", KEYS)
    lines(prefix, ".ref.txt", ["Mein Stift ist voll.", "Das Schwein war weg.", "STIFT!", "Ein Stift."])
    lines(prefix, ".domain.tsv", ["pen\tstift füller\tin\t4\t1", "pen\tgehege\tout\t1\t3"])
    ink, pig = {"correct_insertions": ["ink"]}, {"incorrect_insertions": ["pig", "cow"]}
    cues = [{"src_word": "pen", **ink, **pig}] * 3 + [{"src_word": "pen", **ink}]
    lines(tmp_path / "cues" / "en-de", ".insertions.some.jsonl", [json.dumps(each) for each in cues])
    (tmp_path / "counts" / "senses_en-de_count_results.json").write_text(json.dumps(COUNTS))
    return prefix


def lines(prefix: Path, suffix: str, texts: list[str]) -> None:
    prefix.with_name(prefix.name + suffix).write_text("".join(f"{text}\n" for text in texts))


def items(tests: TestSet) -> tuple[AmbiguousSource, ...]:
    return tests.items_of(AmbiguousSource, what_for="this test")


def test_a_language_pair(suite: Path) -> None:
    tests = load(f"mucow:{suite}")
    assert tests.skipped == {"word not in the sentence": 1, "no cues": 1}
    first, second = items(tests)
    assert (first.id, first.category, first.gold) == ("1", "frequent", "stift füller")
    assert first.correct_sources == ("My ink pen is full.",)
    assert first.incorrect_sources == ("My pig pen is full.", "My cow pen is full.")
    assert first.extra == {
        "word": "pen",
        "form": "pen",
        "lemmas": ["stift", "füller"],
        "wrong_lemmas": ["gehege"],
        "corpus": "ted",
        "key": "1",
        "domain": "in",
        "reference": "Mein Stift ist voll.",
    }
    assert (second.id, second.category, second.extra["domain"]) == ("2", "infrequent", "out")
    # One of its files stands for all of them.
    assert load(f"mucow:{suite}.text.txt").digest == load(f"mucow:{suite}.key.tsv").digest == tests.digest


def test_all_sentences_and_plain_replacement(suite: Path) -> None:
    everything = items(load(f"mucow:{suite}?all=yes"))
    assert [item.id for item in everything] == ["1", "2", "3", "4"]
    assert everything[2].correct_sources == ()
    lines(suite.parent / "cues" / "en-de", ".insertions.some.jsonl", [
        json.dumps({"src_word": "pen", "correct_insertions": ["ink"], "incorrect_insertions": ["pig"]})
    ] * 4)  # fmt: skip
    assert items(load(f"mucow:{suite}"))[2].correct_sources == ("An open ink pen.",)
    assert items(load(f"mucow:{suite}?paper_cues=yes"))[2].correct_sources == ("An oink pen ink pen.",)


def test_without_cues_counts_and_domains(suite: Path) -> None:
    for path in (suite.parent / "cues", suite.parent / "counts"):
        for each in path.iterdir():
            each.unlink()
    suite.with_name("en-de.domain.tsv").unlink()
    with pytest.raises(BabelscopeError, match=r"there are no cues for en-de: .*\?all=yes"):
        load(f"mucow:{suite}")
    for item in items(load(f"mucow:{suite}?all=yes")):
        assert item.category == "none"
        assert "domain" not in item.extra


def test_frequency_is_being_ahead_of_every_other_sense() -> None:
    counts = {("a", "x"): 3, ("a", "y"): 2, ("a", "z"): 2, ("b", "x"): 5, ("b", "y"): 5, ("c", "x"): 0}
    assert frequency_categories(counts) == {
        ("a", "x"): "frequent",
        ("a", "y"): "infrequent",
        ("a", "z"): "infrequent",
        ("b", "x"): "infrequent",
        ("b", "y"): "infrequent",
        ("c", "x"): "frequent",
    }


def test_faults_are_told(suite: Path) -> None:
    def fault(spec: str = "") -> str:
        with pytest.raises(BabelscopeError) as caught:
            load(spec or f"mucow:{suite}")
        return str(caught.value)

    assert "nowhere.text.txt: no such file; mucow: takes what" in fault(f"mucow:{suite.parent}/nowhere")
    lines(suite, ".key.tsv", KEYS[:3])
    assert "en-de.text.txt has 4, " in fault()
    lines(suite, ".key.tsv", [*KEYS[:3], "4\tted\tpen\tstift"])
    assert "en-de.key.tsv:4 is no MuCoW key" in fault()
    lines(suite, ".key.tsv", [*KEYS[:3], KEYS[3].replace("pen", "cup")])
    assert "en-de.text.txt:4: the cues are for 'pen', the key is for 'cup'" in fault()
    lines(suite, ".key.tsv", KEYS)
    lines(suite, ".domain.tsv", ["pen\tstift füller\tin\t1\t1", "pen\tgehege\tnear\t1\t1"])
    assert "en-de.domain.tsv:2 is not" in fault()
    lines(suite, ".domain.tsv", [])
    lines(suite, ".insertions.other.jsonl", [])
    assert "are both cues for en-de; keep one" in fault()
    counts = suite.parent / "counts.json"
    for wrong in ('{"pen": 1}', '{"pen - stift": "1"}', '{"pen - stift": -1}', "[]"):
        counts.write_text(wrong)
        with pytest.raises(BabelscopeError):
            read_sense_counts(counts)


@pytest.mark.parametrize(
    ("pair", "usable", "frequent", "words", "senses", "capitals"),
    [("en-de", 3334, 1712, 176, 362, 3), ("en-ru", 1810, 923, 99, 203, 4)],
)
def test_the_published_suite(
    shared: Path, pair: str, usable: int, frequent: int, words: int, senses: int, capitals: int
) -> None:
    folder = shared / "data" / "mucow"
    tests = load(f"mucow:{folder / pair}")
    assert (len(tests), tests.skipped) == (usable, {"word not in the sentence": capitals})
    counted = Counter(item.category for item in items(tests))
    assert counted == {"frequent": frequent, "infrequent": usable - frequent}
    keys = read_keys(folder / f"{pair}.key.tsv")
    assert (len({key.word for key in keys}), len({key.sense for key in keys})) == (words, senses)
    categories = frequency_categories(
        read_sense_counts(folder / "counts" / f"senses_{pair}_count_results.json")
    )
    stored = json.loads((folder / "frequency_categories.json").read_text())[pair[-2:]]
    for category, pairs in stored.items():
        derived = {
            (word, lemma)
            for (word, lemmas), own in categories.items()
            if own == category
            for lemma in lemmas.split()
        }
        assert derived == {tuple(each) for each in pairs}
