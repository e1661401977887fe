"""Whether texts are in the language that a tool is for: our own sentences in many languages."""

from __future__ import annotations

import warnings

import pytest

from babelscope.language.fitness import (
    check_language,
    other_language,
    other_language_of_set,
    require_links,
    watch_language,
)
from babelscope.util.errors import BabelscopeError

# One thing said in each language, long enough to be told alone.
SENTENCES = {
    "de": "Der Gärtner hat gestern den alten Apfelbaum hinter dem Haus nicht gefällt.",
    "es": "Ayer el jardinero no cortó el viejo manzano que está detrás de la casa.",
    "fr": "Hier, le jardinier n’a pas abattu le vieux pommier derrière la maison.",
    "it": "Ieri il giardiniere non ha abbattuto il vecchio melo dietro la casa.",
    "nl": "De tuinman heeft gisteren de oude appelboom achter het huis niet omgehakt.",
    "sv": "Trädgårdsmästaren fällde inte det gamla äppelträdet bakom huset i går.",
    "pl": "Ogrodnik nie ściął wczoraj starej jabłoni, która rośnie za domem.",
    "ru": "Вчера садовник не срубил старую яблоню, которая растёт за домом.",
    "uk": "Учора садівник не зрубав стару яблуню, яка росте за будинком.",
    "tr": "Bahçıvan dün evin arkasındaki yaşlı elma ağacını kesmedi.",
    "en": "Yesterday the gardener did not fell the old apple tree behind the house.",
    "zh": "园丁昨天没有砍掉房子后面的那棵老苹果树，因为主人说明年春天还想看见树上的花，"
    "也还想在秋天和孩子们一起摘苹果吃。",
}


@pytest.mark.parametrize("language", SENTENCES)
@pytest.mark.parametrize("expected", SENTENCES)
def test_a_long_text_is_in_its_own_language_and_in_no_other(language: str, expected: str) -> None:
    found = other_language(SENTENCES[language], expected)
    assert found == (None if language == expected else language)


def test_short_texts_say_nothing_alone_but_something_together() -> None:
    short = ["El perro ladra.", "La casa es vieja.", "No viene nadie.", "Ella lee un libro."]
    assert [other_language(text, "de") for text in short] == [None] * 4
    assert other_language_of_set(short[:1], "de") is None
    assert other_language_of_set(short, "de") == "es"
    assert other_language_of_set(short, "es") is None


@pytest.mark.parametrize("language", sorted(SENTENCES.keys() - {"de"}))
def test_a_set_in_another_language_is_refused(language: str) -> None:
    told = f"the references are in the language {language}, but German rules can judge de only"
    with pytest.raises(BabelscopeError, match=told):
        check_language([SENTENCES[language]] * 2, "de", what="the references", needed_by="German rules")


def test_a_language_that_nobody_knows_is_said_and_not_refused() -> None:
    with pytest.warns(UserWarning, match="nobody checks that the texts are in the language xs"):
        check_language(list(SENTENCES.values()), "xs", what="the texts", needed_by="rules")
    with pytest.warns(UserWarning, match="nobody checks") as told:
        assert len(list(watch_language(["text"] * 700, "xs", what="the texts", needed_by="rules"))) == 700
    assert len(told) == 1


def test_single_texts_of_a_stream_are_counted() -> None:
    texts = [SENTENCES["de"]] * 30 + [SENTENCES["es"], SENTENCES["fr"], SENTENCES["es"]]
    told = r"3 of 33 texts among the texts are not in the language de \(2 in es, 1 in fr\)"
    with pytest.warns(UserWarning, match=told):
        assert list(watch_language(texts, "de", what="the texts", needed_by="rules")) == texts


def test_a_stream_that_changes_its_language_is_refused_there() -> None:
    texts = [SENTENCES["de"]] * 200 + [SENTENCES["pl"]] * 200
    read = watch_language(texts, "de", what="the texts", needed_by="rules")
    assert [next(read) for _ in range(200)] == texts[:200]
    with pytest.raises(BabelscopeError, match="in the language pl"):
        next(read)


def test_a_last_text_in_another_language_does_not_refuse_the_rest() -> None:
    texts = [SENTENCES["de"]] * 200 + [SENTENCES["en"]]
    with pytest.warns(UserWarning, match="1 of 201"):
        assert list(watch_language(texts, "de", what="the texts", needed_by="rules")) == texts


def test_german_of_any_shape_is_german() -> None:
    plain = SENTENCES["de"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in (plain.upper(), plain.lower(), plain.replace("ä", "ae"), plain.replace(" ", "  ")):
            assert list(watch_language([text], "de", what="texts", needed_by="rules")) == [text]
        assert list(watch_language([], "de", what="texts", needed_by="rules")) == []


def test_an_alignment_with_hardly_any_links_is_refused() -> None:
    require_links([1] * 20, [10] * 20)
    require_links([0] * 19, [10] * 19)  # too few sentences to say so
    with pytest.raises(BabelscopeError, match="links 19 of 200 words"):
        require_links([0] + [1] * 19, [10] * 20)
