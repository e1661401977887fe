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


def write_all(folder: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


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
    return write_all(tmp_path, texts)


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
    ("books", "de"): {
        "particle": (8361, 7584, 6261, 4780),
        "reflexive": (13207, 8122, 5598, 4226),
        "reordering": (6749,) * 7,
    },
    ("books", "en"): {
        "particle": (4636, 786, 111, 36, 20, 16, 11),
        "reflexive": (3225, 1188, 460, 274, 184, 133, 100),
        "preposition_stranding": (682, 191, 85, 40, 27, 19, 18),
        "reordering": (6749,) * 7,
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


NEWS_PARSE = """# text = Er gab ab und gab es ab
1\tEr\ter\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tgab\tgeben\tVERB\t_\t_\t0\troot\t_\t_
3\tab\tab\tADV\t_\t_\t2\tadvmod\t_\t_
4\tund\tund\tCCONJ\t_\t_\t5\tcc\t_\t_
5\tgab\tgeben\tVERB\t_\t_\t2\tconj\t_\t_
6\tes\tes\tPRON\t_\t_\t5\tobj\t_\t_
7\tab\tab\tADP\t_\t_\t5\tcompound:prt\t_\t_

"""


@pytest.fixture
def cloned(tmp_path: Path) -> Path:
    texts = {
        "Books_de-en.de": "b1\nb2\nb3\nb4\n",
        "Books_de-en.en": "B1\nB2\nB3\nB4\n",
        "Books_de-en.unesc.de": "other\n",
        "Books_de-en.unesc.en": "other\n",
        "newstest2013.de": "n1\nEr  gab ab und gab es ab\nn3\n",
        "newstest2013.en": "N1\nHe gave off and gave it off\nN3\n",
        "newstest2013.unesc.de": "other\n",
        "newstest2013.unesc.en": "other\n",
        "de_particle0.ids": "1\n3\n4\n",
        "de_particle.ids": "3\n4\n",
        "de_particle2.ids": "4\n",
        "de_particle_exactly2.ids": "1\n",
        "de_particle_exactly.ids": "1\n",
        "de_particle_news.ids": "2\n",
        "de_particle_news.conllu": NEWS_PARSE,
        "de_particle_news_exactly.ids": "3\n",
        "Books_reorder5.ids": "2\n",
        "newstest2013_reorder5.ids": "3\n",
    }
    return write_all(tmp_path, texts)


def distances(found: TestSet) -> list[dict[str, int]]:
    """Of each item, phenomenon -> greatest distance."""
    made = []
    for item in found:
        own: dict[str, int] = {}
        for each in item.extra["dependencies"]:
            own[each["phenomenon"]] = max(own.get(each["phenomenon"], 0), each["distance"])
        made.append(own)
    return made


def by_source(found: TestSet) -> dict[str, dict[str, int]]:
    """Source -> phenomenon -> greatest distance."""
    return {item.as_json()["source"]: own for item, own in zip(found, distances(found), strict=True)}


BOOKS = {"b1": {"particle": 0}, "b2": {"reordering": 6}, "b3": {"particle": 1}, "b4": {"particle": 2}}


def test_the_sets_of_one_corpus_are_read(cloned: Path) -> None:
    assert by_source(load(f"ldd:{cloned},de?corpus=books")) == BOOKS
    news = load(f"ldd:{cloned},de?corpus=news")
    assert by_source(news) == {
        "n1": {},
        "Er  gab ab und gab es ab": {"particle": 1},
        "n3": {"reordering": 6},
    }


def test_a_given_corpus_is_known_by_its_length(cloned: Path) -> None:
    for name, lines in (("books", 4), ("news", 3)):
        for ending in ("de", "en"):
            (cloned / f"mine.{ending}").write_text("".join(f"{n}\n" for n in range(lines)))
        given = load(f"ldd:{cloned},{cloned}/mine.de,{cloned}/mine.en")
        assert distances(given) == distances(load(f"ldd:{cloned},de?corpus={name}"))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("{f},de", r"sets of several corpora.*choose one: \?corpus=books or \?corpus=news"),
        ("{f},{f}/short.de,{f}/short.en", "sets of several corpora"),
        ("{f},de?corpus=film", "has no sets of the corpus 'film' for de; it has books, news"),
        ("{f},en?corpus=news", "has no sets of the corpus 'news' for en; it has none"),
    ],
)
def test_what_is_not_clear_is_refused(cloned: Path, spec: str, said: str) -> None:
    for ending in ("de", "en"):
        (cloned / f"short.{ending}").write_text("x\n")
    for name in ("newstest2013_reorder5.ids", "Books_reorder5.ids"):
        (cloned / name).unlink()
    with pytest.raises(BabelscopeError, match=said):
        load(f"ldd:{spec.format(f=cloned)}")


def test_the_words_are_found_by_their_places(cloned: Path) -> None:
    """*gab* and *ab* stand there twice, with two spaces before the first."""
    item = load(f"ldd:{cloned},de?corpus=news").items[1].as_json()
    (found,) = item["dependencies"]
    places = [found["head_at"], found["dependent_at"]]
    assert [item["source"][start:end] for start, end in places] == ["gab", "ab"]
    assert places == [[15, 18], [22, 24]]


def test_the_release_as_cloned_has_the_sizes_of_table_3(shared: Path, tmp_path: Path) -> None:
    """The stored copy put back into one cloned. The text of Books is not among the stored files: lines stand in."""
    for name in ("books", "news"):
        for path in (shared / "data" / "ldd" / name).iterdir():
            (tmp_path / path.name).symlink_to(path)
    for ending in ("de", "en"):
        with open(tmp_path / f"Books_de-en.{ending}", "w", encoding="utf-8") as file:
            file.writelines(f"line {n}\n" for n in range(51_467))

    def sizes(spec: str) -> list[int]:
        """Sentences with particles at least 0, 1, 2 and 3 words from their verb."""
        found = [told_of.get("particle", -1) for told_of in distances(load(spec))]
        return [sum(each >= least for each in found) for least in range(4)]

    news = shared / "data" / "newstest" / "text" / "wmt13"
    assert sizes(f"ldd:{tmp_path},de?corpus=books") == [8361, 7584, 6261, 4780]
    assert sizes(f"ldd:{tmp_path},{news}.de,{news}.en") == [232, 232, 181, 158]


@pytest.fixture
def texts_only(tmp_path: Path) -> Path:
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
    return write_all(tmp_path, texts)


def distances_by_id(spec: str) -> dict[str, dict[str, float]]:
    return {
        item.id: {each["phenomenon"]: each["distance"] for each in item.as_json()["dependencies"]}
        for item in load(spec)
    }


@pytest.mark.filterwarnings("error")
def test_sentences_of_a_text_set_are_found_in_the_corpus(texts_only: Path) -> None:
    assert distances_by_id(f"ldd:{texts_only}/sets,{texts_only}/Books.de,{texts_only}/Books.en") == {
        "1": {"reordering": 6},
        "2": {"particle": 0, "reordering": 11},
        "3": {},
        "4": {},
    }


def test_both_directions_have_them(texts_only: Path) -> None:
    for name in ("ids", "de", "en"):
        (texts_only / f"sets/de_particle0.{name}").unlink()
    corpus = f"{texts_only}/Books.en,{texts_only}/Books.de"
    assert distances_by_id(f"ldd:{texts_only}/sets,{corpus}")["1"] == {"reordering": 6}


def test_without_a_corpus_they_are_items_of_their_own(texts_only: Path) -> None:
    with pytest.warns(UserWarning, match="has no whole corpus"):
        items = distances_by_id(f"ldd:{texts_only}/sets,de")
    assert items == {
        "2": {"particle": 0, "reordering": 11},
        "Books_reorder5:1": {"reordering": 6},
        "news_reorder5:1": {"reordering": 6},
    }


def test_a_set_that_the_corpus_has_in_part_is_told(texts_only: Path) -> None:
    (texts_only / "sets/Books_reorder5.de").write_text("Eins, zwei.\nNeun.")
    (texts_only / "sets/Books_reorder5.en").write_text("One, two.\nNine.")
    with pytest.warns(
        UserWarning, match=r"Books_reorder5.de has 2 sentence pairs, of which 1 are in the corpus"
    ):
        load(f"ldd:{texts_only}/sets,{texts_only}/Books.de,{texts_only}/Books.en")


RUSSIAN = {
    "Books.tc.en": "he saw himself\none\nlong ago it was\nnever seen\n",
    "Books.tc.ru": "он видел себя\nодин\nэто было давно\nне видел\n",
    "en_reflexive_Books.tc.en": " he saw himself\n",
    "en_reflexive_Books.tc.ru": "он видел себя\n",
    "en_reflexive_Books.bpe.en": "he s@@ aw himself\n",
    "en_reflexive_Books.bpe.ru": "он ви@@ дел себя\n",
    "ru_reflexive_Books.tc.en": "he saw himself\n",
    "ru_reflexive_Books.tc.ru": "он видел себя\n",
    "Books.en-ru_reorder5.tc.en": "he saw himself\nlong ago it was\n",
    "Books.en-ru_reorder5.tc.ru": "он видел себя\nэто было давно\n",
    "Books.en-ru_reorder10.tc.en": "long ago it was\n",
    "Books.en-ru_reorder10.tc.ru": "это было давно\n",
    "en_preposition_stranding_bible.tc.en": "go up to\n",
    "en_preposition_stranding_bible.tc.ru": "взойди\n",
}


def test_other_pairs_of_the_release_are_text(tmp_path: Path) -> None:
    write_all(tmp_path, RUSSIAN)

    def told(name: str) -> list[tuple[str, str, dict[str, float]]]:
        return [
            (each.id, each.source, {own["phenomenon"]: own["distance"] for own in each.extra["dependencies"]})
            for each in load(f"ldd:{tmp_path},{name}")
            if isinstance(each, ParallelSentence)
        ]

    assert told("en-ru?corpus=Books") == [
        ("1", "he saw himself", {"reflexive": 1, "reordering": 6}),
        ("2", "one", {}),
        ("3", "long ago it was", {"reordering": 11}),
        ("4", "never seen", {}),
    ]
    assert told("ru-en")[0] == ("1", "он видел себя", {"reflexive": 1})
    (item, *_) = load(f"ldd:{tmp_path},ru-en")
    assert isinstance(item, ParallelSentence)
    assert (item.source_language, item.target_language) == ("ru", "en")
    with pytest.warns(UserWarning, match="no whole bible, only sentences with a phenomenon"):
        (bible,) = told("en-ru?corpus=bible")
    assert bible[1:] == ("go up to", {"preposition_stranding": 1})
    for name, said in (
        ("en-ru", r"say which: \?corpus=Books or \?corpus=bible"),
        ("en-ru?corpus=TED", r"say which: \?corpus=Books"),
        ("en-ko", "has no sets from en to ko: NAME.tc.en and .ko"),
    ):
        with pytest.raises(BabelscopeError, match=said):
            load(f"ldd:{tmp_path},{name}")
