"""`errors`: detectors on the translations of any system, by hand and against the lab's grammar."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("HanTa")
pytest.importorskip("german_nouns.config")

import babelscope as bs
from babelscope.core.results import Result, Row
from babelscope.core.system import Asked, Scored, sources_of
from babelscope.core.tables import render
from babelscope.lab.grammar.corpus import generate
from babelscope.lab.grammar.oracle import SentenceChecker
from babelscope.lab.grammar.suites import CONTRASTS
from babelscope.methods.base import set_up
from babelscope.methods.errors.method import Errors
from babelscope.methods.jobs import config_of_method
from babelscope.testsets import MinimalPair
from babelscope.testsets.items import Item, ParallelSentence
from babelscope.util.errors import BabelscopeError
from tests.support.toys import ToySystem

NICHT, DING = "polarity_particle_nicht_del", "placeholder_ding"
PAIRS = [
    MinimalPair("d1", "The dog barks.", "Der Hund bellt.", ("Der Ding bellt.",), DING, "human"),
    MinimalPair("d2", "She does not see a cat.", "Sie sieht keine Katze.", ("Sie sieht keine Ding.",), DING, "human"),
    MinimalPair("n1", "He does not come.", "Er kommt nicht.", ("Er kommt.",), NICHT, "human"),
    MinimalPair("n2", "The cook did not sing.", "Der Koch sang nicht.", ("Der Koch sang.",), NICHT, "human"),
]  # fmt: skip
OUTPUT = ["Der Ding bellt.", "Sie sieht die Katze nicht.", "Er kommt.", "Der Koch hat nicht gesungen."]
SPANISH = "El jardinero no ha cortado el viejo manzano que está detrás de la casa."
GERMAN = "Der Gärtner hat den alten Apfelbaum hinter dem Haus nicht gefällt."


class Translator:
    """Translates each source as it is told, and can do nothing else."""

    fingerprint = ToySystem().fingerprint

    def __init__(self, translations: dict[str, str], name: str = "translator") -> None:
        self.name, self.translations, self.asked = name, translations, 0

    def translate(self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:  # noqa: ARG002
        self.asked += 1
        return [[Scored(self.translations[source])] for source in sources_of(questions)]


class Both(Translator):
    """The same, and scores: the longer, the less probable."""

    def score(self, pairs: Sequence[tuple[Any, Any]]) -> list[Scored]:
        return [Scored(str(text), (str(text),), (-len(str(text)) / 100,)) for _, text in pairs]


def translator(items: Sequence[Item], output: Sequence[str], kind: type[Translator] = Translator) -> Any:
    return kind({item.source: text for item, text in zip(items, output, strict=True)})  # type: ignore[union-attr]


def row(result: Result, phenomenon: str) -> Row:
    (found,) = (
        each
        for each in result.rows
        if each.name == "generated_errors" and each.labels["phenomenon"] == phenomenon
    )
    return found


def test_a_file_gets_the_figures_that_contrast_gives_a_model(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("".join(f"{line}\n" for line in OUTPUT))
    by_file = bs.errors(bs.open_system(f"file:{tmp_path / 'out.txt'}"), PAIRS)
    by_model = bs.contrast(translator(PAIRS, OUTPUT, Both), PAIRS)
    for name in (NICHT, DING):
        ours, theirs = row(by_file, name), row(by_model, name)
        assert ours.estimate == theirs.estimate
        assert ours.counts.items() >= theirs.counts.items()
        assert ours.labels.get("note") == theirs.labels.get("note")
    assert [record["verdict"] for record in by_file.records] == ["error", "none", "error", "none"]


def test_parallel_sentences_are_read_by_every_detector_that_applies() -> None:
    rng = random.Random(11)
    made = list({each.source: each for each in generate(700, 11, "all")}.values())
    items = [ParallelSentence(str(number), each.source, (each.target,)) for number, each in enumerate(made)]
    output = []
    for each in made:
        wrong = list(CONTRASTS[NICHT](each, rng)) if rng.random() < 0.5 else []
        output.append(rng.choice(wrong) if wrong else each.target)
    result = bs.errors(translator(items, output), items)
    told = {
        each.source: any(
            problem.startswith("polarity: nicht")
            for problem in SentenceChecker(each.meaning, text).verdict((), ()).problems
        )
        for each, text in zip(made, output, strict=True)
    }
    judged = [record["source"] for record in result.records if NICHT in record["alarms"]]
    truth = sum(told[source] for source in judged) / len(judged)
    found = row(result, NICHT)
    assert 0.2 < truth < 0.6, truth
    assert found.estimate.low <= truth <= found.estimate.high, (truth, found)
    assert found.estimate.n == len(judged)
    assert found.estimate.high - found.estimate.low < 0.4
    assert found.counts["references"] == len(judged)
    # Nothing was done to nouns.
    assert row(result, DING).estimate.low == 0
    assert row(result, DING).estimate.n == len(items)


def test_translations_in_another_language_get_no_figure_and_the_reason() -> None:
    result = bs.errors(translator(PAIRS, [SPANISH] * 4), PAIRS)
    for name in (NICHT, DING):
        found = row(result, name)
        assert found.estimate.n == 0
        assert "its translations are in the language es" in str(found.labels["note"])
        assert (found.counts["alarms"], found.counts["other_language"]) == (0, 2)
    (comparison,) = result.groups
    first = Errors().tables(comparison)[0]
    assert any("its translations are in the language es" in note.text for note in first.notes)
    assert {line.cells[0] for line in first.lines} == {NICHT, DING}
    assert "references human" in first.title
    # The same by contrast, which has its other figures.
    result = bs.contrast(translator(PAIRS, [SPANISH] * 4, Both), PAIRS)
    assert row(result, NICHT).estimate.n == 0
    assert "in the language es" in str(row(result, NICHT).labels["note"])


def test_one_translation_in_another_language_is_left_out_and_counted() -> None:
    items = [
        ParallelSentence(str(number), f"The gardener {number} did not come.", (GERMAN,))
        for number in range(9)
    ]
    result = bs.errors(translator(items, [*[GERMAN] * 8, SPANISH]), items, types=[NICHT])
    found = row(result, NICHT)
    assert (found.estimate.n, found.counts["other_language"], found.counts["untold"]) == (8, 1, 0)
    assert result.records[-1]["verdict"] == "untold"
    assert result.records[-1]["detected"]["other_language"] == {"best": "es"}
    assert Errors().show(result.records[-1]).verdict == "in another language"


def test_references_in_another_language_are_refused_before_anything_is_asked() -> None:
    items = [ParallelSentence(str(number), "He did not.", (SPANISH,)) for number in range(3)]
    system = translator(items, [GERMAN] * 3)
    with pytest.raises(BabelscopeError, match="the references are in the language es"):
        bs.errors(system, items)
    assert system.asked == 0
    pairs = [MinimalPair("1", "a", "b", ("c",), "mine", "human")]
    with pytest.raises(BabelscopeError, match="no item can be judged"):
        bs.errors(translator(pairs, ["b"]), pairs)


def test_items_that_say_another_target_language_are_not_looked_at() -> None:
    items = [
        ParallelSentence("1", "He did not.", (GERMAN,), target_language="de-AT"),
        ParallelSentence("2", "She did not.", (SPANISH,), target_language="es"),
    ]
    result = bs.errors(translator(items, [GERMAN, SPANISH]), items)
    assert [bool(record["alarms"]) for record in result.records] == [True, False]


def test_wrong_types_are_refused() -> None:
    with pytest.raises(BabelscopeError, match=r"auxiliary has no detector; these have one: .*np_agreement"):
        set_up("errors", {"types": ["auxiliary"]})
    with pytest.raises(BabelscopeError, match="no error type 'nonsense'"):
        set_up("errors", {"types": ["nonsense"]})
    with pytest.raises(BabelscopeError, match="give --source-language"):
        bs.errors(translator([], []), [ParallelSentence("1", "a", ("b",))], target_language="fr")
    one, all_types = (
        config_of_method(set_up("errors", given), {})["settings"]["types"]
        for given in ({"types": [DING]}, {})
    )
    assert one != all_types
    assert "HanTa" in one
    assert "py3langid" in one


def test_the_first_table_has_the_error_rate_alarms_and_verdict_of_each_type() -> None:
    items = [
        ParallelSentence(
            str(number), f"The gardener {number} did not come.", (f"Der Gärtner {number} kam nicht.",)
        )
        for number in range(60)
    ]
    output = [f"Der Gärtner {number} kam{' nicht' if number % 2 else ''}." for number in range(60)]
    result = bs.errors(translator(items, output), items)
    (comparison,) = result.groups
    first, by_type = Errors().tables(comparison)
    worst, *others = first.lines
    assert (first.name, worst.verdict, worst.cells[-1]) == ("summary", "error", 30)
    assert worst.cells[1] == row(result, NICHT).estimate
    assert worst.query["verdict"] == f"alarm of {NICHT}"
    behind = [Errors().show(record).matches(worst.query) for record in result.records]
    assert sum(behind) == 30
    assert others[-1].is_control, "errors that nobody makes come last"
    assert not any(line.verdict == "error" for line in others)
    assert "error rate" in render([first, by_type], "text")
    (chart,) = Errors().charts(comparison)
    assert chart.title == "Errors in its own translations, by error type"
