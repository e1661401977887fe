"""The released challenge sets as cloned: one flat folder with the sets of two corpora, each numbered from 1."""

from __future__ import annotations

from pathlib import Path

import pytest

from babelscope.testsets import TestSet, load
from babelscope.util.errors import BabelscopeError

pytestmark = pytest.mark.filterwarnings("ignore:.*a line break is missing")

PARSE = """# text = Er gab ab und gab es ab
1\tEr\ter\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tgab\tgeben\tVERB\t_\t_\t0\troot\t_\t_
3\tab\tab\tADV\t_\t_\t2\tadvmod\t_\t_
4\tund\tund\tCCONJ\t_\t_\t5\tcc\t_\t_
5\tgab\tgeben\tVERB\t_\t_\t2\tconj\t_\t_
6\tes\tes\tPRON\t_\t_\t5\tobj\t_\t_
7\tab\tab\tADP\t_\t_\t5\tcompound:prt\t_\t_

"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
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
        "de_particle_news.conllu": PARSE,
        "de_particle_news_exactly.ids": "3\n",
        "Books_reorder5.ids": "2\n",
        "newstest2013_reorder5.ids": "3\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def distances(found: TestSet) -> list[dict[str, int]]:
    """Of each item, phenomenon -> greatest distance."""
    made = []
    for item in found:
        own: dict[str, int] = {}
        for each in item.extra["dependencies"]:
            own[each["phenomenon"]] = max(own.get(each["phenomenon"], 0), each["distance"])
        made.append(own)
    return made


def told(found: TestSet) -> dict[str, dict[str, int]]:
    """Source -> phenomenon -> greatest distance."""
    return {item.as_json()["source"]: own for item, own in zip(found, distances(found), strict=True)}


BOOKS = {"b1": {"particle": 0}, "b2": {"reordering": 6}, "b3": {"particle": 1}, "b4": {"particle": 2}}


def test_the_sets_of_one_corpus_are_read(folder: Path) -> None:
    assert told(load(f"ldd:{folder},de?corpus=books")) == BOOKS
    news = load(f"ldd:{folder},de?corpus=news")
    assert told(news) == {
        "n1": {},
        "Er  gab ab und gab es ab": {"particle": 1},
        "n3": {"reordering": 6},
    }


def test_a_given_corpus_is_known_by_its_length(folder: Path) -> None:
    for name, lines in (("books", 4), ("news", 3)):
        for ending in ("de", "en"):
            (folder / f"mine.{ending}").write_text("".join(f"{n}\n" for n in range(lines)))
        given = load(f"ldd:{folder},{folder}/mine.de,{folder}/mine.en")
        assert distances(given) == distances(load(f"ldd:{folder},de?corpus={name}"))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("{f},de", r"sets of several corpora.*say which: \?corpus=books or \?corpus=news"),
        ("{f},{f}/short.de,{f}/short.en", "sets of several corpora"),
        ("{f},de?corpus=film", "has no sets of the corpus 'film' for de; it has books, news"),
        ("{f},en?corpus=news", "has no sets of the corpus 'news' for en; it has none"),
    ],
)
def test_what_is_not_clear_is_refused(folder: Path, spec: str, said: str) -> None:
    for ending in ("de", "en"):
        (folder / f"short.{ending}").write_text("x\n")
    for name in ("newstest2013_reorder5.ids", "Books_reorder5.ids"):
        (folder / name).unlink()
    with pytest.raises(BabelscopeError, match=said):
        load(f"ldd:{spec.format(f=folder)}")


def test_the_words_are_found_by_their_places(folder: Path) -> None:
    """*gab* and *ab* stand there twice, with two spaces before the first."""
    item = load(f"ldd:{folder},de?corpus=news").items[1].as_json()
    (found,) = item["dependencies"]
    places = [found["head_at"], found["dependent_at"]]
    assert [item["source"][start:end] for start, end in places] == ["gab", "ab"]
    assert places == [[15, 18], [22, 24]]


def test_the_release_as_cloned_has_the_sizes_of_table_3(shared: Path, tmp_path: Path) -> None:
    """The stored copy put back into one folder. The text of Books is not among the stored files: lines stand in."""
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
