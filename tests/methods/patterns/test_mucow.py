"""MuCoW by known words: rules on words of our own, and the published verdicts and figures."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from babelscope.core.results import Record, Result
from babelscope.core.tokenizers import find_tokenizer
from babelscope.methods.base import Items
from babelscope.methods.patterns.mucow import Mucow, MucowSettings, fold
from babelscope.methods.patterns.winomt import Winomt, WinomtSettings
from babelscope.runs.execute import run_method
from babelscope.systems.registry import open_system
from babelscope.systems.stored.formats import Given
from babelscope.testsets import AmbiguousSource, TestSet, load
from babelscope.util.errors import BabelscopeError
from tests.support.toys import ToySystem

ITEM = AmbiguousSource(
    "1",
    "A pen.",
    (),
    (),
    "frequent",
    extra={"word": "pen", "lemmas": ["stift", "füller"], "wrong_lemmas": ["gehege"], "domain": "in"},
)


def mucow(
    tests: TestSet,
    given: Sequence[Given] = (),
    *,
    stored: Sequence[Mapping[str, Any]] | None = None,
    skip_missing: bool = False,
    **settings: Any,
) -> Result:
    """Judge given translations, or only what verdicts say; both are written to files as they would be."""
    with tempfile.TemporaryDirectory() as folder:
        path, verdicts = Path(folder, "out.jsonl"), Path(folder, "verdicts.jsonl")
        lines = [
            {
                "source": tests.items[number].as_json()["source"] if each.source is None else each.source,
                "translation": each.translation,
                "translation_lemmatized" if each.folded else "lemmas": each.lemmas,
            }
            for number, each in enumerate(given)
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        if stored is not None:
            verdicts.write_text("".join(json.dumps(line) + "\n" for line in stored))
            settings["verdicts"] = verdicts
        if not given:
            settings["word_matching"] = "stored"
        skip = "&missing=skip" if skip_missing or not given else ""
        system = open_system(f"file:{path if given else verdicts}?format=log{skip}")
        return run_method("patterns_mucow", system, tests, **settings)


def verdict(text: str, lemmas: str | None = None, **settings: Any) -> bool | None:
    (record,) = mucow(TestSet("own", (ITEM,)), [Given("f", text, lemmas=lemmas)], **settings).records
    said: bool | None = record["correct"]
    return said


def figure(result: Result, name: str, **labels: str) -> Any:
    (row,) = (r for r in result.rows if r.name == name and labels.items() <= r.labels.items())
    return row


def test_tokens_first_then_lemmas() -> None:
    assert verdict("Ein Stift.") is True
    assert verdict("Ein GEHEGE.") is False
    # A wrong word is wrong whatever else is there.
    assert verdict("Ein Stift im Gehege.") is False
    assert verdict("Drei Stifte.") is None
    assert verdict("Drei Stifte.", "drei Stift .") is True
    assert verdict("Drei Gehegen.", "drei stift gehege") is False
    # Lemmas are not asked once a token is known.
    assert verdict("Ein Stift.", "ein gehege") is True
    assert verdict("Stifthalter", "stifthalter") is None
    assert verdict("") is None


def test_two_ways_of_splitting_and_comparing() -> None:
    assert verdict("Ein Filz-Stift.") is None
    assert verdict("Ein Filz-Stift.", word_matching="conditioning") is True
    assert verdict("Ein Fuller.") is None
    assert verdict("Ein Fuller.", word_matching="conditioning") is True
    assert verdict("x", "filz#stift") is None
    assert verdict("x", "filz stif#t", compound_mark="#") is True
    assert (fold("Straße"), fold("ÄÖÜé"), fold("Ёж")) == ("strasse", "aoue", "еж")
    with pytest.raises(
        BabelscopeError, match=r"word_matching: input should be 'auto', 'mucow', 'conditioning' or 'stored'"
    ):
        verdict("x", word_matching="theirs")


def test_both_lists_of_words_are_needed() -> None:
    for name in ("lemmas", "wrong_lemmas"):
        bare = AmbiguousSource("7", "A pen.", (), (), "frequent", extra={**ITEM.extra, name: "stift"})
        with pytest.raises(BabelscopeError, match="item 7 is none of MuCoW: it needs lists"):
            mucow(TestSet("own", (bare,)), [Given("f", "Ein Stift.")])


def test_stored_verdicts_are_matched_by_source_and_word() -> None:
    tests = TestSet("own", (ITEM,))
    stored = {"source": "A pen.", "word": "pen", "translation": "Ein Stift.", "correct": False}
    result = mucow(tests, [Given("f", "Ein Stift.")], stored=[stored])
    assert figure(result, "same_verdict").counts["same"] == 0
    assert figure(mucow(tests, stored=[stored]), "recall_b", category="all").counts["wrong"] == 1
    for wrong, told in (
        ({"source": "B."}, r"verdicts.jsonl has no translation of 'A pen.'"),
        ({"correct": "no"}, r"verdicts.jsonl:1: field 'correct' must be true, false or null"),
    ):
        with pytest.raises(BabelscopeError, match=told):
            mucow(tests, stored=[{**stored, **wrong}])


def test_lemmas_are_made_where_there_are_none() -> None:
    pytest.importorskip("HanTa")
    tests, plural = TestSet("own", (ITEM,)), Given("f", "Drei Stifte.")
    assert mucow(tests, [plural]).records[0]["correct"] is None
    assert mucow(tests, [plural], lemmatize="de").records[0]["correct"] is True
    # Those that are given are believed.
    given = Given("f", "Drei Stifte.", lemmas="drei gehege .")
    assert mucow(tests, [given], lemmatize="de").records[0]["correct"] is False


def test_rules_are_those_of_where_the_lemmas_come_from() -> None:
    tests = TestSet("own", (ITEM,))
    for folded, rules, correct in ((False, "mucow", None), (True, "conditioning", True)):
        given = [Given("f", "Viele", "A pen.", "viel fuller", folded=folded)]
        result = mucow(tests, given)
        assert result.records[0]["correct"] is correct
        assert figure(result, "coverage", category="all").labels["rules"] == rules
        assert (
            figure(mucow(tests, given, word_matching="mucow"), "coverage", category="all").labels["rules"]
            == "mucow"
        )
    more = AmbiguousSource("2", "Two pens.", (), (), "frequent", extra=ITEM.extra)
    with pytest.raises(BabelscopeError, match="1 of 2"):
        mucow(TestSet("own", (ITEM, more)), given)
    some = mucow(TestSet("own", (ITEM, more)), given, skip_missing=True)
    assert figure(some, "coverage", category="all").counts["skipped"] == 1


def test_wrong_senses_of_known_words_head_the_tables() -> None:
    more = AmbiguousSource("2", "Two pens.", (), (), "rare", extra=ITEM.extra)
    result = mucow(TestSet("own", (ITEM, more)), [Given("f", "Ein Stift."), Given("f", "Ein Gehege.")])
    table = Mucow().tables(result.groups[0])[0]
    rates = {line.cells[0]: getattr(line.cells[1], "value", None) for line in table.lines}
    assert rates == {
        "error rate, rare": 1, "error rate, all": 0.5, "error rate, frequent": 0,
        "correct of all (recall B)": 0.5, "translations with a known word (coverage)": 1,
    }  # fmt: skip
    shown = Mucow().show(result.records[0])
    assert (shown.verdict, shown.groups) == ("right", ("frequent",))
    assert ("right words", "stift, füller") in shown.answer()


def test_the_published_verdicts(shared: Path) -> None:
    folder = shared / "data" / "mucow"
    log = folder / "pattern-matching-log" / "en-de.ensemble.jsonl"
    tests = load(f"mucow:{folder / 'en-de'}?all=yes")
    system = open_system(f"file:{log}?format=log")
    result = run_method("patterns_mucow", system, tests, verdicts=log, word_matching="stored")

    def counts(**labels: str) -> tuple[int, ...]:
        row = figure(result, "precision", **labels)
        return tuple(row.counts[name] for name in ("correct", "wrong", "unknown"))

    assert counts(category="all") == (1858, 613, 866)
    assert counts(category="frequent") == (1293, 55, 365)
    assert counts(category="infrequent") == (565, 558, 501)
    figures = {row.name: round(100 * row.estimate.value, 2) for row in result.rows[:6]}
    assert (figures["coverage"], figures["precision"], figures["recall_b"]) == (74.05, 75.19, 55.68)
    precision = figure(result, "precision", category="infrequent").estimate.value
    assert round(100 * precision, 2) == 50.31
    again = run_method("patterns_mucow", system, tests, verdicts=log)
    assert figure(again, "same_verdict").counts["same"] >= 3330
    assert figure(again, "coverage", category="all").labels["rules"] == "conditioning"


def test_the_published_example(shared: Path) -> None:
    folder = shared / "data" / "mucow" / "en-fi-example"
    tests = load(f"mucow:{folder / 'en-fi'}?all=yes")
    system = open_system(f"file:{folder / 'output.detok.fi'}?format=plain")
    result = run_method("patterns_mucow", system, tests, lemmas=folder / "output.lemmas.fi")
    for labels, counts in (
        ({"category": "all"}, (356, 184, 290)),
        ({"domain": "in"}, (115, 21, 72)),
        ({"domain": "out"}, (241, 163, 218)),
    ):
        row = figure(result, "coverage", **labels)
        assert tuple(row.counts[name] for name in ("correct", "wrong", "unknown")) == counts
    assert {row.name: round(100 * row.estimate.value, 2) for row in result.rows[:6]} == {
        "coverage": 65.06,
        "precision": 65.93,
        "recall_a": 55.11,
        "recall_b": 42.89,
        "f1_a": 60.03,
        "f1_b": 51.97,
    }
    # Compounds whose parts are marked are known words too, once the marks are left out.
    joined = run_method(
        "patterns_mucow", system, tests, lemmas=folder / "output.lemmas.fi", compound_mark="#"
    )
    assert figure(joined, "coverage", category="all").counts["unknown"] == 270


MUCOW = Mucow(MucowSettings(word_matching="mucow"))


def sense(translation: str, lemmas: str | None = None) -> Record:
    return {
        "translation": translation,
        "right_words": ["城"],
        "wrong_words": ["书"],
        "given_lemmas": lemmas,
        "folded": False,
    }


def test_senses_are_looked_for_in_words() -> None:
    text = "他在老城买了一本地图。"
    with pytest.raises(
        BabelscopeError, match=r"the translations are in a script .*; give them as --set lemmas=FILE"
    ):
        MUCOW.judge([sense(text)])
    split = " ".join(find_tokenizer("zh").split(text))
    assert MUCOW.judge([sense(split)])[0]["correct"] is True
    assert MUCOW.judge([sense(text, lemmas=split)])[0]["correct"] is True


def test_a_system_that_answers_in_another_script_has_no_known_word() -> None:
    german = {**sense("他在老城买了一本地图。"), "right_words": ["Stadt"], "wrong_words": ["Buch"]}
    assert MUCOW.judge([german])[0]["correct"] is None


def test_genders_are_looked_for_in_words() -> None:
    item = AmbiguousSource(
        "1",
        "The cook slept.",
        (),
        (),
        "female",
        gold="female",
        extra={"index": 1, "occupation": "cook"},
    )
    settings: Any = WinomtSettings.model_construct(
        target="de", alignments=None, stereotypical=None, anti_stereotypical=None, beam=5
    )
    system = ToySystem(alphabet="他在城书")
    with pytest.raises(BabelscopeError, match="the translations are in a script without spaces"):
        Winomt(settings).ask({"system": system}, Items([item] * 3), 0)
