"""Test sets are not made of texts in a language that their rules are not for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from babelscope.cli import app
from babelscope.core.system import Asked, Scored, sources_of
from babelscope.language.parsers import parser_language
from babelscope.language.ud import Tree, parse_tree
from babelscope.language.ud_rules import Finder
from babelscope.making.challenge import Corpus, Search, SearchSettings
from babelscope.making.cue_search import examples_of
from babelscope.testsets import MinimalPair, TestSet
from babelscope.testsets.items import AmbiguousSource
from babelscope.util.errors import BabelscopeError

OTHERS = {
    "es": "El diseñador ha discutido el proyecto con la ingeniera durante toda la mañana.",
    "fr": "Le dessinateur a discuté du projet avec l’ingénieure pendant toute la matinée.",
    "nl": "De ontwerper heeft het project de hele ochtend met de ingenieur besproken.",
    "pl": "Projektant przez cały ranek omawiał ten projekt z panią inżynier.",
    "tr": "Tasarımcı bütün sabah boyunca projeyi mühendisle birlikte tartıştı.",
}
GERMAN = "Die Ingenieurin hat den ganzen Morgen nicht mit dem Gestalter gesprochen."
NICHT = "polarity_particle_nicht_del"


class Scripted:
    """Gives one translation of everything, or others of some sources."""

    name = "scripted"

    def __init__(self, text: str, **others: str) -> None:
        self.text, self.others = text, others

    def translate(self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:  # noqa: ARG002
        return [[Scored(self.others.get(source, self.text))] for source in sources_of(questions)]


@pytest.mark.parametrize("language", OTHERS)
def test_pairs_are_not_made_of_references_in_another_language(language: str) -> None:
    pytest.importorskip("HanTa")
    from babelscope.making.pairs import make_pairs

    told = (
        f"the references are in the language {language}, but the rules of placeholder_ding can judge de only"
    )
    with pytest.raises(BabelscopeError, match=told):
        list(make_pairs("placeholder_ding", ["a"] * 3, [OTHERS[language]] * 3))
    texts = [GERMAN] * 9 + [OTHERS[language]]
    with pytest.warns(UserWarning, match=rf"1 of 10 texts among the references .* \(1 in {language}\)"):
        assert len(list(make_pairs(NICHT, ["a"] * 10, texts))) == 9


def test_machine_references_in_another_language_are_refused_or_dropped() -> None:
    pytest.importorskip("HanTa")
    from babelscope.making.machine_references import machine_references

    def pairs(correct: str) -> list[MinimalPair]:
        wrong = correct.replace(" nicht", "") if " nicht" in correct else f"{correct}!"
        return [
            MinimalPair(name, name, correct, (wrong,), NICHT, "human") for name in ("one", "two", "three")
        ]

    with pytest.raises(BabelscopeError, match="the human references are in the language es"):
        list(machine_references(pairs(OTHERS["es"]), [Scripted(GERMAN)]))
    with pytest.raises(BabelscopeError, match="the translations of scripted are in the language fr"):
        list(machine_references(pairs(GERMAN), [Scripted(OTHERS["fr"])]))
    found = list(machine_references(pairs(GERMAN), [Scripted(GERMAN, two=OTHERS["fr"])]))
    assert found[0].verdict == "kept"
    assert (found[1].verdict, found[1].reason) == ("dropped", "another language")


def nouns(texts: Sequence[str]) -> list[Tree | None]:
    """A parser that knows nouns only."""
    return [
        parse_tree(
            [
                f"{number}\t{word}\t{word}\tNOUN\t_\t_\t{number - 1}\t{'dep' if number > 1 else 'root'}\t_\t_"
                for number, word in enumerate(text.split(), 1)
            ],
            "here",
        )
        for text in texts
    ]


def write(folder: Path, **texts: Sequence[str]) -> dict[str, Path]:
    for name, lines in texts.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return {name: folder / name for name in texts}


@pytest.mark.parametrize("side", ["source", "target"])
def test_what_is_parsed_must_be_in_the_language_of_the_parser(tmp_path: Path, side: str) -> None:
    german = " ".join([GERMAN] * 2)
    files = write(tmp_path, good=[german] * 4, bad=[OTHERS["es"]] * 4)
    order = ("bad", "good") if side == "source" else ("good", "bad")
    wanted = SearchSettings(["particle"], "de")

    def search(parsed: str) -> int:
        source, reference = (files[name] for name in order)
        corpus = Corpus(source, reference, parser=nouns, parsed_side=parsed, language="de")
        return len(list(Search(corpus, wanted).items()))

    with pytest.raises(
        BabelscopeError, match="bad are in the language es, but parser and rules can judge de"
    ):
        search(side)
    assert search("target" if side == "source" else "source") == 4


def test_the_language_of_a_parser_is_known_by_its_name() -> None:
    assert parser_language("stanza:ru") == "ru"
    assert parser_language("udpipe:german-gsd") == "de"
    assert parser_language("udpipe:some/file.udpipe") is None
    assert parser_language("") is None


def test_parses_without_a_finite_verb_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def tree(verb: str) -> str:
        particle = ("auf", "ADP", "_", 2, "compound:prt")
        words = [("Er", "PRON", "_", 2, "nsubj"), ("steht", *verb.split(), 0, "root"), particle]
        return "".join(
            f"{number}\t{form}\t_\t{upos}\t_\t{feats}\t{head}\t{relation}\t_\t_\n"
            for number, (form, upos, feats, head, relation) in enumerate(words, 1)
        )

    for verb, finite in (
        ("VERB VerbForm=Fin", True),
        ("VERB _", True),
        ("AUX Mood=Ind|VerbForm=Fin", True),
        ("VERB VerbForm=Part", False),
        ("NOUN _", False),
    ):
        finder = Finder([])
        finder(parse_tree(tree(verb).splitlines(), "here"), "source")
        assert finder.without_verb == (not finite), verb
    path = tmp_path / "parses.conllu"
    path.write_text((tree("NOUN _") + "\n") * 2 + tree("VERB _") + "\n")
    line = ["make", "challenge", "--parses", str(path), "--phenomenon", "particle"]
    with pytest.warns(UserWarning, match="2 of 3 parses have no finite verb"):
        get_command(app).main(line, standalone_mode=False)
    assert "particle" in capsys.readouterr().out


def test_cues_are_put_into_sources_of_the_language_that_items_say() -> None:
    def tests(source: str, **languages: str) -> TestSet:
        more: dict[str, Any] = {"gold": "g", "extra": {"word": source.split()[1]}, **languages}
        made = (AmbiguousSource(str(number), source, (), (), "c", **more) for number in range(3))
        return TestSet("tests", tuple(made))

    with pytest.raises(BabelscopeError, match="the sources are in the language es, but items of en"):
        examples_of(tests(OTHERS["es"], source_language="en"), {})
    assert len(examples_of(tests(OTHERS["es"], source_language="es"), {})) == 3
    with pytest.warns(UserWarning, match="in the language es; forms of words are found"):
        examples_of(tests(OTHERS["es"]), {})
    assert len(examples_of(tests("The designer did not discuss the plan with the engineer at all."), {})) == 3
