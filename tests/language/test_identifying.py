"""Which language a text is in: our own sentences in many languages, alone and together."""

from __future__ import annotations

import pytest

from babelscope.language.identifying import identify, identify_all, is_known

SENTENCES = {
    "de": ["Die Nachbarin hat gestern kein Brot gekauft.", "Wir wissen nicht, ob der Zug heute noch kommt."],
    "en": ["The neighbour did not buy any bread yesterday.", "We do not know whether the train is coming."],
    "es": ["La vecina no compró pan ayer por la tarde.", "No sabemos si el tren llegará hoy."],
    "fr": ["La voisine n’a pas acheté de pain hier.", "Nous ne savons pas si le train arrivera."],
    "it": ["La vicina ieri non ha comprato il pane.", "Non sappiamo se il treno arriverà oggi."],
    "nl": ["De buurvrouw heeft gisteren geen brood gekocht.", "We weten niet of de trein vandaag nog komt."],
    "sv": ["Grannen köpte inget bröd i går kväll.", "Vi vet inte om tåget kommer i dag."],
    "pl": ["Sąsiadka nie kupiła wczoraj chleba.", "Nie wiemy, czy pociąg dzisiaj przyjedzie."],
    "ru": ["Соседка вчера не купила хлеба.", "Мы не знаем, придёт ли сегодня поезд."],
    "uk": ["Сусідка вчора не купила хліба.", "Ми не знаємо, чи прийде сьогодні потяг."],
    "tr": ["Komşu dün hiç ekmek almadı.", "Trenin bugün gelip gelmeyeceğini bilmiyoruz."],
    "zh": ["邻居昨天没有买面包。", "我们不知道火车今天会不会来。"],
    "ja": ["隣の人は昨日パンを買いませんでした。", "電車が今日来るかどうか分かりません。"],
}


@pytest.mark.parametrize("language", SENTENCES)
def test_texts_are_in_their_own_language_and_in_no_other(language):
    for expected in SENTENCES:
        found = identify_all(SENTENCES[language], expected)
        assert (found.verdict == "yes") == (expected == language), (expected, found)
        if expected != language:
            assert found.verdict == "no"
            assert found.language == language


def test_a_region_or_a_script_in_the_code_changes_nothing():
    assert identify_all(SENTENCES["de"], "de-AT").verdict == "yes"
    assert identify_all(SENTENCES["zh"], "zh_Hans").verdict == "yes"


def test_what_says_nothing_or_is_not_known_is_unknown():
    assert identify("Ja.", "es").verdict == "unknown"
    assert identify("12.345 (67) 89", "de").verdict == "unknown"
    assert identify_all([], "de").verdict == "unknown"
    assert identify_all(SENTENCES["de"], "x-lab").verdict == "unknown"
    assert not is_known("x-lab")
    assert is_known("nb")


def test_one_foreign_text_does_not_make_a_set_foreign():
    texts = SENTENCES["de"] * 5 + SENTENCES["es"][:1]
    assert identify_all(texts, "de").verdict == "yes"
    assert identify(texts[-1], "de").verdict == "no"
