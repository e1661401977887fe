"""Methods: found by name, checked before any work, run without files."""

from __future__ import annotations

import json
import math
import threading
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from babelscope.core.results import Estimate, Record, Result, Row, signature
from babelscope.core.settings import MethodSettings
from babelscope.core.system import Asked, Fingerprint, Scored, Target
from babelscope.methods.base import Items, Method, Needs, languages_of, set_up
from babelscope.methods.jobs import config_of, make_jobs
from babelscope.methods.measuring import check_reference_words, language_mismatch
from babelscope.methods.registry import find_method, method_names
from babelscope.report.summary import summarize
from babelscope.runs.execute import run_method
from babelscope.systems.prompting.chatter import Chatter, with_clean_output
from babelscope.testsets import MinimalPair, ParallelSentence, TestSet
from babelscope.testsets.items import AmbiguousSource, Item, SourceSentence
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope
from tests.support.toys import ToySystem
from tests.support.unspaced import CHINESE, THAI, Lines

ITEMS = tuple(
    ParallelSentence(f"i{number}", f"a{number}", ("ab",), extra={"domain": "toy"}) for number in range(5)
)


class Weighted(Method):
    """A method with two roles."""

    name = "weighted"
    items = (ParallelSentence,)
    requires: ClassVar[Needs] = {"system": ("translate",), "evaluator": ("score",)}

    class Settings(MethodSettings):
        weight: float = 1.0

    settings: Settings

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:  # noqa: ARG002
        judged = systems["evaluator"].score([(item.source, item.references[0]) for item in items])
        return [{"weighted": (self.settings.weight * each.total,)} for each in judged]

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:
        # A record is what would be read from a file: tuples are lists by now.
        assert all(isinstance(record["weighted"], list) for record in records)
        total = math.fsum(record["weighted"][0] for record in records)
        return [Row("sum", Estimate(total, -1e9, seed, len(records)))]


def fixed(records: Sequence[Record], rows: Sequence[Row] = ()) -> type[Method]:
    """A method with these records and rows, whatever it is asked."""

    class Fixed(Method):
        name = "fixed"
        items = (ParallelSentence,)

        def ask(self, *_: object) -> list[Record]:
            return list(records)

        def summarize(self, *_: object) -> list[Row]:
            return list(rows)

    return Fixed


def test_a_method_may_need_a_second_system(toy_schemes: None) -> None:  # noqa: ARG001
    results = [
        run_method(Weighted, ToySystem(), ITEMS, seed=3, chunk=2, evaluator=evaluator, weight=2)
        for evaluator in (ToySystem(salt="judge"), "toy:judge")
    ]
    assert results[0].rows == results[1].rows
    assert results[0].signature == results[1].signature
    assert results[0].rows[0].labels == {"method": "weighted", "system": "toy", "tests": "items"}
    assert results[0].config["methods"][0]["settings"] == {"weight": 2.0}
    other = run_method(Weighted, ToySystem(), ITEMS, seed=3, chunk=2, evaluator=ToySystem(salt="x"), weight=2)
    assert other.signature != results[0].signature
    assert [record["id"] for record in other.records] == ["i0", "i1", "i2", "i3", "i4"]
    assert other.records[0]["extra"] == {"domain": "toy"}


def test_a_missing_role_or_capability_is_told_before_any_work() -> None:
    class Text:
        name = "text"
        fingerprint = ToySystem().fingerprint

        def translate(self, _sources: Sequence[str]) -> None:
            pytest.fail("asked before everything was checked")

    with pytest.raises(BabelscopeError, match="weighted needs evaluator, the name of a system"):
        run_method(Weighted, ToySystem(), ITEMS)
    with pytest.raises(BabelscopeError, match="evaluator must be a system or the name of one, not 3"):
        run_method(Weighted, ToySystem(), ITEMS, evaluator=3)
    with pytest.raises(
        BabelscopeError, match=r"weighted needs a system that gives log-probabilities.*text does not"
    ):
        run_method(Weighted, ToySystem(), ITEMS, evaluator=Text())
    with pytest.raises(BabelscopeError, match="likelihood needs a system that gives"):
        run_method("likelihood", [ToySystem(), Text()], ITEMS)


def test_a_wrong_setting_is_told_with_what_was_meant() -> None:
    with pytest.raises(BabelscopeError, match="weighted: unknown key 'wait'; did you mean weight"):
        set_up(Weighted, {"wait": 1, "evaluator": ToySystem()})
    with pytest.raises(BabelscopeError, match="weighted: weight: input should be a valid number"):
        set_up(Weighted, {"weight": "much", "evaluator": ToySystem()})


def test_names_must_tell_systems_apart() -> None:
    with pytest.raises(BabelscopeError, match="two systems are called toy"):
        run_method("likelihood", [ToySystem(salt="1"), ToySystem(salt="2")], ITEMS)
    with pytest.raises(BabelscopeError, match="no system"):
        run_method("likelihood", [], ITEMS)


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ([], "made 0 records for 5 items"),
        ([{"id": "mine"}] * 5, "fills the field 'id'"),
        ([{"x": math.nan}] * 5, "the record of item 'i0' is not JSON text"),
        ([{"x": "\ud800"}] * 5, "the record of item 'i0' is not JSON text"),
    ],
)
def test_records_that_break_the_contract_are_refused(records: list[Record], told: str) -> None:
    with pytest.raises(BabelscopeError, match=told):
        run_method(fixed(records), ToySystem(), ITEMS)


class Busy(ToySystem):
    """Takes several calls at once, and answers none before it has so many."""

    at_once = 3

    def __init__(self) -> None:
        super().__init__()
        self.together = threading.Barrier(self.at_once, timeout=10)

    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        self.together.wait()
        return super().score(pairs)


def test_chunks_are_asked_at_once_where_all_systems_can() -> None:
    items = tuple(ParallelSentence(f"i{number}", f"a{number}", ("ab",)) for number in range(12))
    plain = run_method("likelihood", ToySystem(), items, chunk=1)
    busy = run_method("likelihood", Busy(), items, chunk=1)
    assert (busy.records, busy.to_json()) == (plain.records, plain.to_json())
    # The evaluator takes one call at a time, so nobody is asked from another thread.
    threads: set[str] = set()

    class Single(ToySystem):
        def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
            threads.add(threading.current_thread().name)
            return super().score(pairs)

    run_method(Weighted, Busy(), items, chunk=1, evaluator=Single())
    assert threads == {threading.current_thread().name}


def test_methods_are_found_by_name_and_plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_method("likelihood").name == "likelihood"
    with pytest.raises(BabelscopeError, match=r"no method 'liklihood'; did you mean likelihood\?"):
        find_method("liklihood")
    info = tmp_path / "more-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: more\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        f"[babelscope.methods]\nweighted = {__name__}:Weighted\nwrong = {__name__}:ITEMS\n"
        f"likelihood = {__name__}:Weighted\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_method("weighted").name == "weighted"
    assert "weighted" in method_names()
    with pytest.raises(BabelscopeError, match="not a Method"):
        find_method("wrong")
    with pytest.raises(BabelscopeError, match="but the name is taken"):
        find_method("likelihood")


def test_a_method_judges_the_test_sets_that_fit_and_that_it_is_meant_for() -> None:
    systems = {"toy": ToySystem()}
    one, two = TestSet("one", ITEMS), TestSet("two", ITEMS[:2])
    pairs = TestSet("pairs", (MinimalPair("p", "a", "b", ("c",), "x", "human"),))
    of_all, of_two, of_pairs = (
        set_up(name, {}, label=label, tests=tests)
        for name, label, tests in (
            ("likelihood", "", ()),
            ("likelihood", "second", ("two",)),
            ("contrast", "", ()),
        )
    )

    def found(methods: list[Method], tests: dict[str, TestSet]) -> list[tuple[str, str]]:
        return [(job.method.label, job.tests_name) for job in make_jobs(methods, systems, tests, 0)]

    assert found([of_all, of_two, of_pairs], {"one": one, "two": two, "pairs": pairs}) == [
        ("likelihood", "one"), ("likelihood", "two"), ("second", "two"), ("contrast", "pairs")
    ]  # fmt: skip
    for methods, tests, told in (
        ([of_pairs], {"one": one}, r"contrast judges MinimalPair items, but .* \(one has ParallelSentence\)"),
        (
            [of_all],
            {"one": one, "pairs": pairs},
            "no method judges the MinimalPair items of the test set pairs",
        ),
        (
            [of_two],
            {"one": one, "two": two},
            "no method judges the ParallelSentence items of the test set one",
        ),
        ([of_two], {"one": one}, "second is for a test set 'two', but there are one"),
    ):
        with pytest.raises(BabelscopeError, match=told):
            make_jobs(methods, systems, tests, 0)


SENTENCES: Sequence[Item] = [
    ParallelSentence(id="1", source="Two dogs run.", references=("Zwei Hunde laufen.",)),
    ParallelSentence(id="2", source="A cat sleeps.", references=("Eine Katze schläft.",)),
]
PAIRS: Sequence[Item] = [
    MinimalPair("1", "Two dogs run.", "Zwei Hunde laufen.", ("Zwei Hund laufen.",), "number", "human"),
    MinimalPair("2", "A cat sleeps.", "Eine Katze schläft.", ("Eine Katze schlafen.",), "number", "human"),
]
AMBIGUOUS: Sequence[Item] = [
    AmbiguousSource(
        id=str(number),
        source=source,
        category="c",
        correct_sources=(f"{source} (a)",),
        incorrect_sources=(f"{source} (b)",),
        extra={"word": "dogs", "lemmas": ["hunde", "katze"], "wrong_lemmas": ["vogel"]},
    )
    for number, source in enumerate(["Two dogs run.", "A cat sleeps."], 1)
]


class Chatty:
    """Translates the first sentence with a preamble; scores by length."""

    name = "chatty"
    fingerprint = Fingerprint("chatty")

    def translate(self, questions: Sequence[Any], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:  # noqa: ARG002
        said = {"Two dogs run.": "Here is the translation: Zwei Hunde laufen."}
        return [[_scored(said.get(each.source, "Eine Katze schläft."))] for each in questions]

    def score(self, pairs: Sequence[tuple[Any, Any]]) -> list[Scored]:
        return [_scored(target if isinstance(target, str) else target.text) for _, target in pairs]

    def sample(self, questions: Sequence[Any], *, n: int, seed: int) -> list[list[Scored]]:  # noqa: ARG002
        return [[found] * n for [found] in self.translate(questions)]


def _scored(text: str) -> Scored:
    return Scored(text, (*text, "</s>"), (-0.1,) * (len(text) + 1))


CASES: list[tuple[str, Sequence[Item], dict[str, Any], str]] = [
    ("quality", SENTENCES, {}, "bleu"),
    ("contrast", PAIRS, {"spread": 0}, "all"),
    ("condition", AMBIGUOUS, {"evaluator": Chatty(), "preflight": 0}, "all"),
    ("patterns_mucow", AMBIGUOUS, {}, "precision"),
    ("errors", SENTENCES, {"target_language": "de"}, "generated_errors"),
    ("space", SENTENCES, {"k": 0, "samples": 3}, "quality"),
]


def run(how: Any, method: str, items: Sequence[Item], settings: dict[str, Any]) -> Result:
    return run_method(method, with_clean_output(Chatty(), Chatter(how, "German")), items, **settings)


@pytest.mark.parametrize(("method", "items", "settings", "figure"), CASES, ids=[case[0] for case in CASES])
def test_every_method_counts_it(
    method: str, items: Sequence[Item], settings: dict[str, Any], figure: str
) -> None:
    result = run("count", method, items, settings)
    row = next(row for row in result.rows if row.name == figure)
    assert row.counts["preamble"] == 1
    assert "cleaned" not in row.counts
    told = " ".join(summarize(result, width=80).split())
    assert "a translation with an introduction before it" in told
    cleaned = next(row for row in run("yes", method, items, settings).rows if row.name == figure)
    assert (cleaned.counts["preamble"], cleaned.counts["cleaned"]) == (1, 1)
    plain = next(row for row in run("no", method, items, settings).rows if row.name == figure)
    assert "preamble" not in plain.counts


ENGLISH = [
    "The dog sleeps on the floor.",
    "My sister does not read books.",
    "We will see them tomorrow morning.",
]
SPANISH = ["El perro duerme en el suelo.", "Mi hermana no lee libros.", "Los veremos mañana por la mañana."]
OTHER_SPANISH = [
    "La ventana está abierta todavía.",
    "Nunca quisieron vender la casa.",
    "Hace mucho frío aquí.",
]


@pytest.mark.parametrize(
    ("translations", "references", "found"),
    [
        (ENGLISH, SPANISH, ("en", "es")),
        (OTHER_SPANISH, SPANISH, None),
        (["ok", "no"], SPANISH, None),
        (["", ""], SPANISH, None),
        ([], [], None),
    ],
)
def test_both_must_be_clearly_in_another_language(
    translations: list[str], references: list[str], found: tuple[str, str] | None
) -> None:
    assert language_mismatch(translations, references) == found


GERMAN: Lines = tuple((f"He came {n}.", f"Er kam am Abend nach Hause, {n}.", "Er kam.") for n in range(9))


def items(lines: Lines, language: str | None = None) -> list[ParallelSentence]:
    return [
        ParallelSentence(f"{language} {number}", source, (reference,), target_language=language)
        for number, (source, reference, _) in enumerate(lines)
    ]


def test_the_test_set_is_checked_as_a_whole() -> None:
    one = ParallelSentence("one", "Hello.", (CHINESE[0][1],))
    with pytest.warns(UserWarning, match="1 of 10 references are in a script .* 13a does not split") as told:
        check_reference_words([*items(GERMAN), one], ["bleu", "ribes"], "")
    assert len(told) == 1
    with pytest.raises(BabelscopeError, match="give the items their target_language, or say --tokenize zh"):
        check_reference_words([*items(GERMAN[:2]), *items(CHINESE)], ["ribes"], "")


def test_each_language_is_checked_with_its_own_tokenizer() -> None:
    mixed = [*items(GERMAN, "de"), *items(CHINESE, "zh"), *items(THAI, "tha_Thai")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_reference_words(mixed, ["bleu", "ribes", "ter", "chrf"], "")
    with pytest.raises(
        BabelscopeError, match=r"references for chrf\+\+ .*; take chrf, which counts characters"
    ):
        check_reference_words(mixed, ["chrf++"], "")
    # The language that somebody states does not decide what can be split.
    with pytest.raises(BabelscopeError, match=r"\(Thai\), which zh cannot split"):
        check_reference_words(items(THAI, "zh"), ["bleu"], "")


def signed(method: str, asked: list[ParallelSentence], **settings: Any) -> str:
    tests = {"t": TestSet("t", tuple(asked))}
    return signature(config_of([set_up(method, settings)], {}, tests, seed=0, chunk=1))


@pytest.mark.parametrize(
    ("method", "metric"), [("quality", "metric"), ("challenge", "metrics"), ("space", "metric")]
)
def test_the_signature_says_what_was_chosen(method: str, metric: str) -> None:
    by_bleu = {metric: ("bleu",)}
    assert "|tokenize:|" in signed(method, items(GERMAN, "de"), **by_bleu)
    assert "|tokenize:|" in signed(method, items(GERMAN), **by_bleu)
    assert "|tokenize:zh|" in signed(method, items(CHINESE, "zh-CN"), **by_bleu)
    assert "|tokenize:char,zh|" in signed(method, [*items(CHINESE, "zh"), *items(THAI, "th")], **by_bleu)
    assert "|tokenize:intl|" in signed(method, items(CHINESE, "zh"), tokenize="intl", **by_bleu)


def test_items_without_references_need_no_tokenizer() -> None:
    japanese = SourceSentence("1", "Hello.", target_language="ja")
    assert languages_of([japanese]) == frozenset()
    check_reference_words([japanese], ["bleu"], "")  # whether MeCab is installed or not


@pytest.mark.parametrize("command", ["quality", "errors"])
def test_pooling_target_languages_is_warned_of(babelscope: Babelscope, tmp_path: Path, command: str) -> None:
    german, french = "Der Hund läuft schnell nach Hause.", "Le chien court vite à la maison."
    for languages in (["de", "fr", "de"], ["de", "de", "de"]):
        lines = [
            {"id": str(n), "source": f"The dog runs {n}.", "reference": french if code == "fr" else german}
            | {"target_language": code}
            for n, code in enumerate(languages)
        ]
        (tmp_path / "tests.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (tmp_path / "out.txt").write_text("".join(f"{line['reference']}\n" for line in lines))
        ran = babelscope(command, "--tests", "tests.jsonl", "--system", "file:out.txt", "--json")
        assert ran.code == 0, ran.err
        assert ("2 target languages (de: 2, fr: 1)" in ran.err) == ("fr" in languages)
