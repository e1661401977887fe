"""Tokenizers: which one a language has, and which texts one cannot split."""

from __future__ import annotations

import re

import pytest

from babelscope.core.tokenizers import (
    SCRIPTS,
    TOKENIZERS,
    Tokenizer,
    chosen_tokenizer,
    find_tokenizer,
    language_tokenizer,
    require_split,
    unsplit_script,
)
from babelscope.util.errors import BabelscopeError
from tests.support.unspaced import BY_LANGUAGE, CHINESE, JAPANESE, THAI, references

GERMAN = ["Er kaufte drei Bücher in der Altstadt.", "Die Suppe ist kalt, bringen Sie eine andere."]


@pytest.mark.parametrize(
    ("language", "name"),
    [
        ("zh", "zh"),
        ("zh-TW", "zh"),
        ("zho_Hans", "zh"),
        ("ZH_cn", "zh"),
        ("yue", "zh"),
        ("ja", "ja-mecab"),
        ("jpn_Jpan", "ja-mecab"),
        ("ko", "ko-mecab"),
        ("th", "char"),
        ("khm_Khmr", "char"),
        ("de", ""),
        ("", ""),
        (None, ""),
        ("zhongguo", ""),
    ],
)
def test_a_language_has_a_tokenizer(language, name):
    assert language_tokenizer(language) == name


def test_the_tokenizer_that_is_named_comes_before_the_languages():
    named, own, usual = (chosen_tokenizer(*each) for each in (("char", "zh"), ("", "zh"), ("", "de")))
    assert (named and named.name, own and own.name, usual) == ("char", "zh", None)


def test_letters_are_those_of_the_script_in_unicode():
    regex = pytest.importorskip("regex")  # sacreBLEU needs it, too
    every = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x10000))))
    shared = set("ー々\uff70\uff9e\uff9f〼")  # which Unicode gives to several scripts
    names = {"Kana": r"\p{Hiragana}\p{Katakana}", "Han": r"\p{Han}\p{Bopomofo}"}
    seen: set[str] = set()
    for name, letters in SCRIPTS.items():
        ours = set(re.findall(f"[{letters}]", every))
        in_unicode = names.get(name, rf"\p{{{name}}}")
        known = set(regex.findall(f"[{in_unicode}]", every))
        assert {each for each in known if each.isalpha()} <= ours, name
        assert {each for each in ours if each.isalpha()} <= known | shared, name
        assert ours.isdisjoint(seen)
        seen |= ours


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("13a", set()),
        ("intl", set()),
        ("whitespace", set()),
        ("zh", {"zh"}),
        ("char", {"zh", "ja", "th"}),
    ],
)
def test_a_tokenizer_splits_only_some_scripts(name, split):
    found = {
        code
        for code, lines in BY_LANGUAGE.items()
        if not unsplit_script(find_tokenizer(name), references(lines))
    }
    assert found == split
    assert not unsplit_script(find_tokenizer(name), GERMAN)
    # And what is said to be split has many more words than it has spaces.
    for code in split:
        for text in references(BY_LANGUAGE[code]):
            assert len(find_tokenizer(name).split(text)) > len(text) / 2


def test_text_that_is_segmented_already_can_be_split_at_spaces():
    at_spaces = find_tokenizer("whitespace")
    segmented = ["他 在 老城 买 了 三 本 书 。", "เขา ซื้อ หนังสือ สาม เล่ม ใน เมือง เก่า"]
    assert not unsplit_script(at_spaces, segmented)
    # Thai has spaces between clauses, which are none between words.
    assert unsplit_script(at_spaces, ["ซุปเย็นแล้วไม่อร่อยเลย ช่วยเอามาอีกชามหนึ่งด้วยนะคะ"]) == "Thai"


def test_a_foreign_name_is_no_foreign_text():
    usual = find_tokenizer("13a")
    assert not unsplit_script(usual, [*GERMAN, "Das Zeichen 漢 heißt Kanji."])
    assert not unsplit_script(usual, [*GERMAN * 5, references(CHINESE)[0]])
    assert unsplit_script(usual, [*GERMAN, *references(CHINESE)]) == "Han"


def test_a_refusal_is_one_sentence_with_what_to_do():
    with pytest.raises(BabelscopeError) as error:
        require_split(
            find_tokenizer("zh"), references(JAPANESE), what="references", todo="say --tokenize char"
        )
    assert str(error.value) == (
        "references are in a script without spaces between words (Kana), which zh cannot split; say --tokenize char"
    )


def test_nothing_is_refused_where_there_is_no_letter():
    assert not unsplit_script(find_tokenizer("13a"), ["", "123 ...", "。、!"])


def test_an_unknown_name_is_told_with_a_near_one():
    with pytest.raises(BabelscopeError, match=r"no tokenizer '13b'; did you mean 13a\?"):
        find_tokenizer("13b")
    with pytest.raises(BabelscopeError, match=r"known: 13a, char, intl, .*, spm:FILE"):
        find_tokenizer("?")


@pytest.mark.parametrize("name", [each for each in TOKENIZERS.names() if not each.endswith("mecab")])
def test_every_tokenizer_is_called_by_its_name(name):
    found = find_tokenizer(name)
    assert isinstance(found, Tokenizer)
    assert (found.name, found.signed) == (name, name)
    assert found.split("a b") == ["a", "b"]


def test_thai_marks_count_as_letters():
    # Vowel signs are no letters to Python; without them Thai would seem to have less text than it has.
    assert unsplit_script(find_tokenizer("13a"), [references(THAI)[0] + " in Bangkok"]) == "Thai"
