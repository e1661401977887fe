"""Nonsense must not pass as a machine reference, and sound translations must."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("HanTa")
pytest.importorskip("german_nouns.config")

from babelscope.metrics.chrf import pairwise_chrf
from tests.support.toy_fixtures import Babelscope

SHARED = Path(os.environ.get("BABELSCOPE_SHARED") or Path(__file__).parents[3] / "shared")
N = 60


def write(path: str, lines: Sequence[str]) -> None:
    Path(path).write_text("".join(f"{line}\n" for line in lines))


def read(path: str) -> list[str]:
    return Path(path).read_text().split("\n")[:-1]


def made(babelscope: Babelscope, system: str) -> Counter[str]:
    """Numbers of pairs of set.en and set.de by reason, those that were kept under `kept`."""
    if not Path("pairs.jsonl").exists():
        ran = babelscope(
            *("make", "pairs", "--type", "placeholder_ding", "--source", "set.en", "--reference", "set.de"),
            *("--to", "pairs.jsonl"),
        )
        assert ran.code == 0, ran.err
    Path("out.jsonl").unlink(missing_ok=True)
    ran = babelscope(
        "make",
        "machine-references",
        "--tests",
        "pairs.jsonl",
        "--system",
        system,
        "--to",
        "out.jsonl",
        "--json",
    )
    assert ran.code == 0, ran.err
    rows = [json.loads(line) for line in ran.out.split("\n")[:-1]]
    found = [row for row in rows if row["name"] in ("kept", "dropped") and row["phenomenon"] == "all"]
    counts = Counter({row["reason"]: row["pairs"] for row in found if "reason" in row})
    counts["kept"] = next(row["pairs"] for row in found if row["name"] == "kept" and "reason" not in row)
    assert counts["kept"] == len(read("out.jsonl"))
    return counts


@pytest.fixture
def lab_set(babelscope: Babelscope) -> tuple[list[str], list[str]]:
    """English and German sentences of the lab, of which the first are the test set."""
    ran = babelscope("lab", "corpus", "--n", "400", "--seed", "5", "--split", "test", "--out", "corpus")
    assert ran.code == 0, ran.err
    english, german = read("corpus/corpus.en"), read("corpus/corpus.de")
    write("set.en", english[:N])
    write("set.de", german[:N])
    return english, german


def test_sound_translations_are_accepted(babelscope: Babelscope, lab_set: object) -> None:  # noqa: ARG001
    assert made(babelscope, "lab:student")["kept"] >= 0.9 * len(read("pairs.jsonl"))


def test_translations_of_other_sentences_are_rejected(
    babelscope: Babelscope, lab_set: tuple[list[str], list[str]]
) -> None:
    _, german = lab_set
    write("shuffled.de", [*german[1:N], german[0]])
    found = made(babelscope, "file:shuffled.de?source=set.en")
    assert found["kept"] <= 5, found
    assert found["closer to another human reference"] >= 30, found


def test_translations_of_similar_sentences_are_rejected(
    babelscope: Babelscope, lab_set: tuple[list[str], list[str]]
) -> None:
    """As a badly trained model writes them: some words are right, and no sentence is."""
    english, german = lab_set
    closest = pairwise_chrf(english[:N], english[N:]).argmax(axis=1)
    write("similar.de", [german[N + int(place)] for place in closest])
    found = made(babelscope, "file:similar.de?source=set.en")
    assert found["kept"] <= 5, found
    assert found["by a system too often closer to another human reference"] > 0, found


def test_copies_and_wrong_lengths_are_counted_as_such(
    babelscope: Babelscope, lab_set: tuple[list[str], list[str]]
) -> None:
    english, german = (side[:N] for side in lab_set)
    cut = [text[: len(text) // 3] for text in german[5:10]]
    long = [f"{text} {text} {text}" for text in german[10:15]]
    write("odd.de", [*english[:5], *cut, *long, *german[15:]])
    found = made(babelscope, "file:odd.de?source=set.en")
    assert found["copy of the source"] == 5
    assert found["too short or too long"] >= 5, found
    assert found["kept"] >= 40, found
    ran = babelscope(
        *("contrast", "--tests", "pairs.jsonl", "--machine-references", "file:odd.de?source=set.en"),
        *("--system", "lab:student"),
    )
    assert ran.code == 0, ran.err
    assert "5 copy of the source" in " ".join(ran.out.split())


@pytest.mark.slow
def test_a_llama_after_200_steps_writes_no_references(babelscope: Babelscope) -> None:
    folder, model = SHARED / "data" / "multi30k", SHARED / "models" / "m30k-ende"
    if not folder.exists() or not model.exists():
        pytest.skip(f"needs multi30k and a model, which are not at {SHARED} (see BABELSCOPE_SHARED)")
    for split in ("train", "val", "test_2016_flickr"):
        for language in ("en", "de"):
            text = gzip.decompress((folder / f"{split}.{language}.gz").read_bytes()).decode()
            Path(f"{split}.{language}").write_text(text)
    ran = babelscope(
        *(
            "lab",
            "train",
            "--family",
            "llama",
            "--shape",
            "lab-llm",
            "--source",
            "train.en",
            "--target",
            "train.de",
        ),
        *("--dev-source", "val.en", "--dev-target", "val.de", "--vocabulary", "4000", "--steps", "200"),
        *("--set", "languages=English-German", "--threads", "1", "--quiet", "--out", "llama"),
    )
    assert ran.code == 0, ran.err
    for language in ("en", "de"):
        write(f"set.{language}", read(f"test_2016_flickr.{language}")[:N])
    found = made(babelscope, "llm:llama?source=English&target=German")
    assert found["kept"] <= 5, found
    found = made(babelscope, f"hf:{model}")
    assert found["kept"] >= 0.9 * len(read("pairs.jsonl")), found
