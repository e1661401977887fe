"""Whether texts are in the language that a tool is for, and of the kind that a parser was made for."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from pathlib import Path

import pytest

from babelscope.language.fitness import (
    LONG,
    check_language,
    identify,
    identify_all,
    is_known,
    other_language,
    other_language_of_set,
    require_links,
    watch_language,
    watch_trees,
    watch_words,
)
from babelscope.language.parsers import open_parser, words_file
from babelscope.language.ud import Tree, Word, read_trees
from babelscope.making.challenge import Corpus, Search, SearchSettings
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


FEW = {
    "de": ["Die Nachbarin hat gestern kein Brot gekauft.", "Wir wissen nicht, ob der Zug heute noch kommt."],
    "es": ["La vecina no compró pan ayer por la tarde.", "No sabemos si el tren llegará hoy."],
    "zh": ["邻居昨天没有买面包。", "我们不知道火车今天会不会来。"],
}


def test_a_region_or_a_script_in_the_code_changes_nothing() -> None:
    assert identify_all(FEW["de"], "de-AT").verdict == "yes"
    assert identify_all(FEW["zh"], "zh_Hans").verdict == "yes"


def test_what_says_nothing_or_is_not_known_is_unknown() -> None:
    assert identify("Ja.", "es").verdict == "unknown"
    assert identify("12.345 (67) 89", "de").verdict == "unknown"
    assert identify_all([], "de").verdict == "unknown"
    assert identify_all(FEW["de"], "x-lab").verdict == "unknown"
    assert not is_known("x-lab")
    assert is_known("nb")


def test_one_foreign_text_does_not_make_a_set_foreign() -> None:
    texts = FEW["de"] * 5 + FEW["es"][:1]
    assert identify_all(texts, "de").verdict == "yes"
    assert identify(texts[-1], "de").verdict == "no"


def test_no_sentence_of_a_treebank_is_taken_for_another_language_and_none_for_its_own(shared: Path) -> None:
    found: dict[str, list[str]] = {}
    for path in sorted((shared / "data" / "pud").glob("*.conllu")):
        lines = path.read_text("utf-8").split("\n")
        texts = [line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")][:250]
        found[path.name[:2]] = [text for text in texts if sum(map(str.isalpha, text)) >= LONG]
    assert len(found) >= 5
    wrong: Counter[tuple[str, str]] = Counter()
    for language, texts in found.items():
        for text in texts:
            wrong.update(
                (language, expected)
                for expected in found
                if other_language(text, expected) != (None if expected == language else language)
            )
    assert not wrong


KNOWN = [f"word{n:c}" for n in range(ord("a"), ord("z") + 1)]


def test_texts_of_unknown_words_are_refused() -> None:
    watch = watch_words(KNOWN, "the parser x")
    watch(KNOWN * 10)
    watch(["."] * 5000)  # what has no letters is no word
    with pytest.raises(
        BabelscopeError, match=r"^the parser x was not trained on 300 of the first 560 words:"
    ):
        watch(["strange"] * 300)


def test_few_words_decide_nothing_and_late_ones_no_more() -> None:
    watch = watch_words(KNOWN, "the parser x")
    watch(["strange"] * 499)
    watch = watch_words(KNOWN, "the parser x")
    watch(KNOWN * 200)
    watch(["strange"] * 100_000)


def test_a_quarter_of_unknown_words_is_warned_of_once() -> None:
    watch = watch_words(KNOWN, "the parser x")
    with pytest.warns(UserWarning, match="was not trained on 400 of the first 1440 words: what is made"):
        watch([*KNOWN * 40, *["strange"] * 400])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        watch([*KNOWN * 40, *["strange"] * 400])


@pytest.mark.parametrize("code", ["en", "de"])
def test_the_labs_parser_is_refused_on_other_text(code: str, tmp_path: Path, shared: Path) -> None:
    pytest.importorskip("ufal.udpipe")
    news = shared / "data" / "newstest" / "text"
    texts = {each: tmp_path / each for each in ("en", "de")}
    for each, path in texts.items():
        with open(news / f"wmt13.{each}", encoding="utf-8") as file:
            path.write_text("".join(itertools.islice(file, 200)), encoding="utf-8")
    source, reference = (texts[code], texts["de" if code == "en" else "en"])
    corpus = Corpus(source, reference, parser=open_parser(f"udpipe:lab-{code}"))
    with pytest.raises(BabelscopeError, match=f"lab-{code} was not trained on .* it was made for other text"):
        Search(corpus, SearchSettings(["particle"])).count()


def test_the_labs_words_are_those_of_its_grammar() -> None:
    from babelscope.lab.grammar.corpus import generate
    from babelscope.lab.plugin import ENGLISH_PARSER, GERMAN_PARSER

    pairs = list(generate(200, 5, "test"))
    for path, sentences in (
        (ENGLISH_PARSER, [pair.english for pair in pairs]),
        (GERMAN_PARSER, [pair.german for pair in pairs]),
    ):
        known = set(words_file(path).read_text(encoding="utf-8").split("\n"))
        words = [token.form.lower() for tokens in sentences for token in tokens if token.form[0].isalpha()]
        assert sum(word not in known for word in words) < 0.02 * len(words)


def trees_of(tags: list[tuple[str, str]]) -> list[Tree]:
    """A tree a word."""
    return [
        Tree((Word(1, form, form, tag, "_", "_", 0, "root", "_"),), (), "", form, number, number, False)
        for number, (form, tag) in enumerate(tags, 1)
    ]


@pytest.mark.parametrize(("share", "warned"), [(0.05, False), (0.2, True)])
def test_rare_function_words_are_warned_of(
    share: float, warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("babelscope.language.fitness._WATCHED_TREES", 1000)
    rare = [(f"{'x' * n}y", "ADP" if n < 800 * share else "NOUN") for n in range(800)]
    common = [("of", "ADP")] * 150  # however often
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert len(list(watch_trees(trees_of([*rare, *common]), "the parser"))) == 950
    assert len(heard) == warned


def test_gold_trees_of_ten_languages_are_not_warned_of(shared: Path) -> None:
    found = sorted((shared / "data" / "pud").glob("*.conllu"))
    assert len({path.name[:2] for path in found}) >= 8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path, size in itertools.product(found, (100, 300)):
            list(watch_trees(itertools.islice(read_trees(path), size), path.name))


def test_a_real_parser_of_another_language_is_warned_of(shared: Path) -> None:
    """Where nobody says which language a text is in, what the parser makes of it tells."""
    pytest.importorskip("ufal.udpipe")
    model = shared / "models" / "udpipe" / "french-partut-ud-2.5-191206.udpipe"
    parse = open_parser(f"udpipe:{model}")
    texts = {}
    for code in ("fr", "cs"):
        gold = read_trees(shared / "data" / "pud" / f"{code}_pud-ud-test.conllu")
        texts[code] = [tree.text for tree in itertools.islice(gold, 110) if tree is not None]
    with pytest.warns(UserWarning, match="words that occur once for function words"):
        list(watch_trees(parse(texts["cs"]), "the parser"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(watch_trees(parse(texts["fr"]), "the parser"))
