"""A parser that is given text it was not made for: refused by its words, warned of by what it makes of them."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import pytest

from babelscope.language.fitness import watch_trees, watch_words
from babelscope.language.parsers import open_parser, words_file
from babelscope.language.ud import Tree, Word, read_trees
from babelscope.making.challenge import Corpus, Search, SearchSettings
from babelscope.util.errors import BabelscopeError

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
