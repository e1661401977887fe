"""Released reordering sets that have text and no ids: found in the corpus by their sentences, or added to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from babelscope.testsets import load


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {
        "Books.de": "Eins , zwei .\nDrei .\nVier .\nFünf .\n",
        "Books.en": "One , two .\nThree .\nFour .\nFive .\n",
        "sets/de_particle0.ids": "2\n",
        "sets/de_particle0.de": "Drei .\n",
        "sets/de_particle0.en": "Three .\n",
        # As released: other spaces, and no newline at the end.
        "sets/Books_reorder5.de": "Eins, zwei. \nDrei. ",
        "sets/Books_reorder5.en": " One, two. \n Three. ",
        "sets/Books_reorder10.de": "Drei. ",
        "sets/Books_reorder10.en": " Three. ",
        "sets/news_reorder5.de": "Ganz anderes . ",
        "sets/news_reorder5.en": "Quite another . ",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def found(spec: str) -> dict[str, dict[str, float]]:
    return {
        item.id: {each["phenomenon"]: each["distance"] for each in item.as_json()["dependencies"]}
        for item in load(spec)
    }


@pytest.mark.filterwarnings("error")
def test_sentences_of_a_text_set_are_found_in_the_corpus(folder: Path) -> None:
    assert found(f"ldd:{folder}/sets,{folder}/Books.de,{folder}/Books.en") == {
        "1": {"reordering": 6},
        "2": {"particle": 0, "reordering": 11},
        "3": {},
        "4": {},
    }


def test_both_directions_have_them(folder: Path) -> None:
    for name in ("ids", "de", "en"):
        (folder / f"sets/de_particle0.{name}").unlink()
    corpus = f"{folder}/Books.en,{folder}/Books.de"
    assert found(f"ldd:{folder}/sets,{corpus}")["1"] == {"reordering": 6}


def test_without_a_corpus_they_are_items_of_their_own(folder: Path) -> None:
    with pytest.warns(UserWarning, match="has no whole corpus"):
        items = found(f"ldd:{folder}/sets,de")
    assert items == {
        "2": {"particle": 0, "reordering": 11},
        "Books_reorder5:1": {"reordering": 6},
        "news_reorder5:1": {"reordering": 6},
    }


def test_a_set_that_the_corpus_has_in_part_is_told(folder: Path) -> None:
    (folder / "sets/Books_reorder5.de").write_text("Eins, zwei.\nNeun.")
    (folder / "sets/Books_reorder5.en").write_text("One, two.\nNine.")
    with pytest.warns(
        UserWarning, match=r"Books_reorder5.de has 2 sentence pairs, of which 1 are in the corpus"
    ):
        load(f"ldd:{folder}/sets,{folder}/Books.de,{folder}/Books.en")


@pytest.mark.filterwarnings("ignore:.*(a line break is missing|has no whole corpus)")
@pytest.mark.parametrize("language", ["de", "en"])
def test_books_has_its_released_reordering_set(shared: Path, language: str) -> None:
    items = found(f"ldd:{shared}/data/ldd/books,{language}")
    assert sum("reordering" in each for each in items.values()) == 6749
