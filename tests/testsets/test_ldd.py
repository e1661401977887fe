"""The released challenge sets: ids, the corpus they number, parses; counts of tables 2 and 3."""

from __future__ import annotations

from pathlib import Path

import pytest

from babelscope.testsets import ParallelSentence, TestSet, load
from babelscope.util.errors import BabelscopeError

pytestmark = pytest.mark.filterwarnings("ignore:.*a line break is missing")

# Glued and with two blank lines between, as the released files are.
PARSE = """# sent_id = 21\tEr\ter\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tgab\tgeben\tVERB\t_\t_\t0\troot\t_\t_
3\tes\tes\tPRON\t_\t_\t2\tobj\t_\t_
4\tauf\tauf\tADP\t_\t_\t2\tcompound:prt\t_\t_


# sent_id = 41\tLass\tlassen\tVERB\t_\t_\t0\troot\t_\t_
2\tlos\tlos\tADP\t_\t_\t1\tcompound:prt\t_\t_
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {
        "text.de": "eins\nEr gab es auf\ndrei\nLass los\nfünf\n",
        "text.en": "one\nHe gave it up\nthree\nLet go\nfive\n",
        "sets/de_particle0.ids": "2\n4\n",
        "sets/de_particle0.conllu": PARSE,
        "sets/de_reflexive0.ids": "1\n3\n5\n",
        "sets/de_reflexive.ids": "3\n5\n",
        "sets/de_reflexive3.ids": "5\n",
        "sets/en_particle.ids": "1\n",
        "sets/text_reorder5.ids": "3\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def read(folder: Path, source: str = "de", target: str = "en") -> TestSet:
    return load(f"ldd:{folder}/sets,{folder}/text.{source},{folder}/text.{target}")


def test_every_line_of_the_corpus_is_an_item_with_its_dependencies(folder: Path) -> None:
    found = [item.as_json() for item in read(folder)]
    assert [item["id"] for item in found] == ["1", "2", "3", "4", "5"]
    assert found[1]["source"], found[1]["reference"] == ("Er gab es auf", "He gave it up")
    assert found[1]["dependencies"] == [
        {
            "phenomenon": "particle",
            "side": "source",
            "head": 2,
            "dependent": 4,
            "distance": 1,
            "head_form": "gab",
            "dependent_form": "auf",
            "head_at": [3, 6],
            "dependent_at": [10, 13],
        }
    ]
    told = {
        item["id"]: {each["phenomenon"]: each["distance"] for each in item["dependencies"]} for item in found
    }
    assert told == {
        "1": {"reflexive": 0},
        "2": {"particle": 1},
        "3": {"reflexive": 1, "reordering": 6},
        "4": {"particle": 0},
        "5": {"reflexive": 3},
    }


def test_the_source_language_chooses_the_sets(folder: Path) -> None:
    items = read(folder, "en", "de").items
    assert [len(item.extra["dependencies"]) for item in items] == [1, 0, 1, 0, 0]


def test_a_folder_without_a_corpus_has_the_sentences_of_its_sets(folder: Path) -> None:
    for path in (folder / "sets").glob("de_reflexive*"):
        path.unlink()
    (folder / "sets/de_particle0.de").write_text("Er gab es auf\nLass los\n")
    (folder / "sets/de_particle0.en").write_text("He gave it up\nLet go\n")
    with pytest.warns(UserWarning, match="has no whole corpus"):
        found = load(f"ldd:{folder}/sets,de")
    assert [item.id for item in found] == ["2", "4"]
    assert isinstance(found.items[1], ParallelSentence)
    assert found.items[1].source == "Lass los"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("sets", "must be ldd:FOLDER,SOURCE,REFERENCE"),
        ("sets,text.fr,text.en", "must be ldd:FOLDER,SOURCE,REFERENCE"),
        ("nowhere,de", "nowhere: no such folder"),
        (".,de", "has no .ids files of sets with the source language de"),
        ("sets,text.de,short.en", "text.de has 5, .*short.en has 1"),
        ("sets,short.de,short.en", "the .ids files name line 5, but .*short.de has 1 lines"),
    ],
)
def test_what_does_not_fit_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, spec: str, said: str
) -> None:
    monkeypatch.chdir(folder)
    for name in ("short.de", "short.en"):
        Path(name).write_text("x\n")
    with pytest.raises(BabelscopeError, match=said):
        load(f"ldd:{spec}")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("de_reflexive.ids", "3\nfive\n", "de_reflexive.ids:2: 'five' is no number of a line"),
        ("de_reflexive.ids", "0\n", "'0' is no number of a line, from 1"),
        ("de_particle0.ids", "2\n", "de_particle0.ids has 1, .*de_particle0.conllu has 2"),
        ("de_particle0.conllu", PARSE.replace("compound:prt", "mark"), "sentence 1 has no particle"),
    ],
)
def test_bad_sets_are_refused(folder: Path, name: str, text: str, said: str) -> None:
    (folder / "sets" / name).write_text(text)
    with pytest.raises(BabelscopeError, match=said):
        read(folder)


# Table 3 of the paper, and README-ldd.md of the shared data for the released parses.
SIZES: dict[tuple[str, str], dict[str, tuple[int, ...]]] = {
    ("books", "de"): {"particle": (8361, 7584, 6261, 4780), "reflexive": (13207, 8122, 5598, 4226)},
    ("books", "en"): {
        "particle": (4636, 786, 111, 36, 20, 16, 11),
        "reflexive": (3225, 1188, 460, 274, 184, 133, 100),
        "preposition_stranding": (682, 191, 85, 40, 27, 19, 18),
    },
    ("news", "de"): {
        "particle": (232, 232, 181, 158, 134, 111, 92),
        "reflexive": (281, 281, 222, 184, 151, 112, 81),
        "reordering": (275,) * 7,
    },
    ("news", "en"): {"particle": (17, 17), "reflexive": (11, 11), "preposition_stranding": (8, 8)},
}


@pytest.mark.parametrize(("name", "language"), SIZES)
@pytest.mark.filterwarnings("ignore:.*has no whole corpus")
def test_sizes_are_those_of_table_3(shared: Path, name: str, language: str) -> None:
    found = load(f"ldd:{shared}/data/ldd/{name},{language}")
    for phenomenon, sizes in SIZES[name, language].items():
        for least, size in enumerate(sizes):
            own = [
                item
                for item in found
                if any(
                    each["phenomenon"] == phenomenon and each["distance"] >= least
                    for each in item.extra["dependencies"]
                )
            ]
            assert len(own) == size, (phenomenon, least)
