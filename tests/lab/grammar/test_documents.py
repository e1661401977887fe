"""Documents: a pronoun, the thing it stands for, and nothing else that it could stand for."""

from __future__ import annotations

import random
from pathlib import Path

from babelscope.lab.grammar.documents import BEFORE, draw_document, draw_group, sentences
from babelscope.lab.grammar.sentences import realize
from babelscope.lab.grammar.suites import pronoun_items
from babelscope.lab.training.recipe import _make_documents

PRONOUNS = {"m": ("er", "ihn"), "f": ("sie",), "n": ("es",)}


def words(text: str) -> list[str]:
    return text.lower().replace(".", "").split()


def test_a_group_differs_in_the_thing_alone() -> None:
    rng = random.Random(1)
    for distance in (1, 2, 3) * 20:
        texts = [
            sentences(realize(meaning, random.Random(2)).source) for meaning in draw_group(rng, distance)
        ]
        assert all(len(text) == BEFORE + 1 for text in texts)
        for place, same in enumerate(zip(*texts, strict=True)):
            assert len(set(same)) == (3 if place == BEFORE - distance else 1)


def test_the_pronoun_has_the_gender_of_the_thing() -> None:
    items = pronoun_items(180, 3)
    assert [item["gender"] for item in items[:3]] == ["m", "f", "n"]
    assert [item["distance"] for item in items[::3]] == [1, 2, 3] * 20
    for item in items:
        assert set(words(item["correct"])) & {*PRONOUNS[item["gender"]]}
        assert "it" in words(item["source"])
        assert len({item["correct"], *item["contrastive"]}) == 3
        named = item["context_target"][BEFORE - item["distance"]]
        articles = {"m": "den|einen|der|ein", "f": "die|eine", "n": "das|ein"}[item["gender"]].split("|")
        assert set(words(named)) & set(articles), named
    assert pronoun_items(30, 3) == items[:30]


def test_documents_of_the_corpus_have_four_sentences() -> None:
    rng = random.Random(4)
    for _ in range(200):
        pair = realize(draw_document(rng), rng)
        assert len(sentences(pair.source)) == len(sentences(pair.target)) == BEFORE + 1


def test_a_model_reads_up_to_three_sentences_before_the_last(tmp_path: Path) -> None:
    _make_documents(tmp_path / "documents", "dev", 8)
    whole, source, target, last = (
        (tmp_path / "documents" / name).read_text("utf-8").split("\n")[:-1]
        for name in ("corpus.en", "cut.en", "corpus.de", "cut.de")
    )
    assert [len(sentences(text)) for text in source] == [1, 2, 3, 4] * 2
    assert all(long.endswith(short) for long, short in zip(whole, source, strict=True))
    assert [sentences(text)[-1] for text in target] == last
