"""What every method keeps to: chunks, shards, judging again, unanswered and repeated items, ties, what is shown."""

from __future__ import annotations

import copy
import dataclasses
import functools
import hashlib
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import babelscope as bs
from babelscope.core.results import Estimate, Record, Result, Row
from babelscope.core.system import Reply, Scored, Unanswered
from babelscope.methods.base import Method, check_settings
from babelscope.methods.jobs import judge_records
from babelscope.methods.registry import METHODS, find_method
from babelscope.report.sections import method_of
from babelscope.runs import study as study_module
from babelscope.runs.execute import run_method
from babelscope.runs.rejudging import rejudge
from babelscope.runs.shards import merge
from babelscope.runs.study import Study, run_study
from babelscope.testsets import AmbiguousSource, MinimalPair, ParallelSentence, TestSet
from babelscope.util.errors import BabelscopeError
from tests.support.same_runs import assert_same
from tests.support.toys import Canned, ToySystem

Settings = dict[str, Any]


class Talker(ToySystem):
    """A toy that answers prompts: A, B or nothing, by a hash of the prompt; its translations are never empty."""

    def translate(self, questions: Sequence[Any], **how: Any) -> list[list[Scored]]:
        return [[Scored(f"ab {found[0].text}")] for found in super().translate(questions, **how)]

    def reply(self, prompts: Sequence[str]) -> list[Reply]:
        return [Reply(("A", "B", "no")[hashlib.sha256(each.encode()).digest()[0] % 3]) for each in prompts]


@dataclass(frozen=True)
class Case:
    """A method, what it judges, and settings that only judging depends on."""

    method: str | type[Method]
    items: Callable[[], Sequence[Any]]
    system: Callable[[], Any]
    settings: Settings = field(default_factory=dict)
    judging: Settings = field(default_factory=dict)
    evaluator: Callable[[], Any] | None = None
    role: str = "evaluator"

    @property
    def roles(self) -> Settings:
        return {} if self.evaluator is None else {self.role: self.evaluator()}

    def run(
        self, system: Any = None, items: Sequence[Any] | None = None, *, chunk: int = 100, **changed: Any
    ) -> Result:
        made = self.items() if items is None else items
        chosen = {**self.roles, **self.settings, **changed}
        return run_method(self.method, system or self.system(), made, chunk=chunk, seed=3, **chosen)


def from_lab(spec: str) -> Callable[[], Sequence[Any]]:
    return functools.cache(lambda: list(bs.load(spec)))


def lab() -> Any:
    return bs.open_system("lab:student")


PAIRS = [
    MinimalPair(
        f"p{n}", f"a{n}", "ab ca", ("ab", "ca")[n % 2 :], "pq"[n % 2], "human" if n % 3 else "machine"
    )
    for n in range(8)
]
SENSES = [
    AmbiguousSource(f"s{n}", f"a {n}", (f"r {n}", f"s {n}"), (f"w {n}",), "xy"[n % 2], gold="xy"[n % 2])
    for n in range(8)
]
KNOWN = [
    AmbiguousSource(
        f"k{n}", f"pen {n}", (), (), "xy"[n % 2],
        extra={"word": "pen", "lemmas": ["stift"], "wrong_lemmas": ["gehege"]},
    )
    for n in range(8)
]  # fmt: skip
JOBS = [
    AmbiguousSource(
        f"j{n}", f"The cook slept {n} hours.", (), (), gold, gold=gold,
        extra={"index": 1, "occupation": "cook", "stereotype": "pro"},
    )
    for n in range(8)
    for gold in [("male", "female")[n % 2]]
]  # fmt: skip
GERMAN = {each.source: f"Der {('Stift', 'Gehege', 'Fuller')[n % 3]} {n}." for n, each in enumerate(KNOWN)}
COOKS = {each.source: f"{('Der Koch', 'Die Köchin')[n // 4]} schlief." for n, each in enumerate(JOBS)}
RULED = [
    ParallelSentence(f"u{n}", f"a{n}", ("ab",), extra={"rules": [{"require": "ab"}, {"ban": "c"}]})
    for n in range(8)
]
PARALLEL = [ParallelSentence(f"i{n}", f"a{n}", (("ab", "ba c", "c")[n % 3],)) for n in range(8)]


def echo() -> type[Method]:
    """The method of the plug-in."""
    folder = str(Path(__file__).parents[1] / "plugin")
    sys.path.insert(0, folder)
    try:
        from babelscope_parrot.echo import Echo
    finally:
        sys.path.remove(folder)
    found: type[Method] = Echo
    return found


CASES = {
    "contrast": Case(
        "contrast", lambda: PAIRS, ToySystem, {"spread": 3},
        {"score": "total", "ties": "wrong", "discrepancy": "clipped", "controls": ("q",)},
    ),
    "condition": Case(
        "condition", lambda: SENSES, ToySystem, {"preflight": 4},
        {"likelihood": "total", "ties": "wrong", "score_base": "2", "tied_weights": "order"},
        lambda: ToySystem("judge", salt="judge"),
    ),
    "prompted_choice": Case(
        "prompted_choice", lambda: SENSES, Talker, {"preflight": 4}, {"undecided": "wrong"},
        lambda: Talker("judge", salt="judge"),
    ),
    "prompted_choice, pairs": Case("prompted_choice", lambda: PAIRS, Talker, {}, {"undecided": "wrong"}),
    "errors": Case(
        "errors", from_lab("lab:parallel?n=6"), lab, {}, {"types": ("np_agreement",), "controls": ("np_agreement",)}
    ),
    "space": Case(
        "space", from_lab("lab:parallel?n=4"), lab, {"k": 2, "samples": 4, "budget_expansions": 50},
        {"metric": ("ter", "chrf"), "normalize": "ideal", "mbr_samples": 2, "unresolved": "keep"},
    ),
    "challenge": Case(
        "challenge", from_lab("lab:challenge?n=12"), lab,
        {"matched_corpora": 4, "length_corpora": 8, "length_sizes": (2,)},
        {"metrics": ("ter", "bleu"), "distances": (0, 1)},
    ),
    "rules": Case("rules", lambda: RULED, ToySystem),
    "judged": Case(
        "judged", lambda: RULED, Talker, {"error": ("omission", "rude=It is rude."), "known": 4, "again": 2},
        {"error_threshold": 0.2}, lambda: Talker("judge", salt="judge"), "judge",
    ),
    "quality": Case("quality", lambda: PARALLEL, ToySystem, {}, {"metric": ("ter", "ribes")}),
    "likelihood": Case("likelihood", lambda: PARALLEL, ToySystem),
    "patterns_mucow": Case(
        "patterns_mucow", lambda: KNOWN, lambda: Canned(GERMAN), {}, {"word_matching": "conditioning"}
    ),
    "patterns_winomt": Case(
        "patterns_winomt", lambda: JOBS, lambda: Canned(COOKS), {"target": "de"},
        {"intermediate_rounding": "published"},
    ),
    "echo of a plug-in": Case(echo(), lambda: PARALLEL, ToySystem, {}, {"threshold": 0.1}),
}  # fmt: skip
every = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
stored = pytest.mark.parametrize("name", [name for name in CASES if "plug-in" not in name])


@pytest.fixture(autouse=True)
def needed(request: pytest.FixtureRequest) -> None:
    if "winomt" in request.node.name:
        pytest.importorskip("thot")
    if "errors" in request.node.name:
        pytest.importorskip("HanTa")


def test_there_is_a_case_for_every_built_in_method() -> None:
    assert {each.method for each in CASES.values() if isinstance(each.method, str)} == METHODS.built_in.keys()


# -- what must not change a figure -------------------------------------------------------------------------


@every
def test_chunks_change_nothing(case: Case) -> None:
    made = check_settings(
        find_method(case.method) if isinstance(case.method, str) else case.method, case.settings
    )
    if made.is_whole:
        with pytest.raises(BabelscopeError, match="asks a test set as a whole"):
            case.run(chunk=3)
        return
    whole, parts = case.run(), case.run(chunk=3)
    assert [record["id"] for record in parts.records] == [item.id for item in case.items()]
    for row, other in zip(whole.rows, parts.rows, strict=True):
        # The lab's model computes in batches, which change the last bits.
        assert (row.name, row.labels, row.counts) == (other.name, other.labels, other.counts)
        assert other.estimate.value == pytest.approx(row.estimate.value, abs=1e-5, nan_ok=True)
        assert (row.estimate.n, row.estimate.no_interval) == (other.estimate.n, other.estimate.no_interval)


@pytest.mark.parametrize(
    "name", ["contrast", "condition", "prompted_choice", "quality", "likelihood", "patterns_mucow"]
)
def test_the_order_of_items_changes_nothing(name: str) -> None:
    case = CASES[name]
    settings = {"spread": 0} if name == "contrast" else {}
    here, there = (case.run(items=some, **settings).rows for some in (case.items(), case.items()[::-1]))
    for row, other in zip(here, there, strict=True):
        assert (row.name, row.labels, row.counts) == (other.name, other.labels, other.counts)
        assert other.estimate.as_json() == pytest.approx(row.estimate.as_json())


def study_of(case: Case, **changed: Any) -> Study:
    evaluator = {case.role: "evaluator"} if case.evaluator else {}
    method = {"name": case.method, **evaluator, **case.settings, **changed}
    return Study.model_validate(
        {
            "study": {"name": "contract", "seed": 3},
            "systems": [{"spec": "system"}],
            "tests": [{"spec": "items.jsonl"}],
            "methods": [method],
            "run": {} if "patterns" in str(case.method) else {"chunk": 4},
        }
    )


@pytest.fixture
def in_folder(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    """A case whose items are in a file, and whose systems are known by name to studies and to judging again."""
    case = CASES[name]

    def opened(spec: str, **_: Any) -> Any:
        made = case.evaluator() if spec == "evaluator" and case.evaluator else case.system()
        made.name = spec
        return made

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(study_module, "open_system", opened)
    TestSet("items", tuple(case.items())).write(tmp_path / "items.jsonl")
    return case


@stored
def test_merged_shards_are_the_plain_run(in_folder: Case) -> None:
    wanted = study_of(in_folder)
    plain = run_study(wanted, out="plain")
    for number in (2, 1):
        run_study(wanted, out=f"part-{number}", shard=f"{number}/2")
    assert merge(["part-1", "part-2"], "merged").rows == plain.rows
    assert_same(Path("plain"), Path("merged"))


@stored
def test_a_run_judged_again_is_the_run_that_would_have_been(in_folder: Case) -> None:
    run_study(study_of(in_folder), out="first")
    run_study(study_of(in_folder, **in_folder.judging), out="other")
    for changed, expected in (({}, "first"), (in_folder.judging, "other")):
        rejudge(Path("first"), changed, out=f"{expected} again")
        assert_same(Path(expected), Path(f"{expected} again"))


@every
def test_judging_accepts_its_own_output(case: Case) -> None:
    result = case.run()
    kind = find_method(case.method) if isinstance(case.method, str) else case.method
    for chosen in (case.settings, {**case.settings, **case.judging}):
        own = kind(check_settings(kind, chosen))
        once = as_stored(own.complete(judge_records(own, result.records)))
        assert as_stored(own.complete(judge_records(own, once))) == once
        if chosen == case.settings:
            assert once == [*result.records]


def as_stored(records: Sequence[Record]) -> list[Record]:
    found: list[Record] = json.loads(json.dumps(records))
    return found


# -- items that a system does not answer -------------------------------------------------------------------


def silent(system: Any, word: str) -> Any:
    """The system, which answers no question that has this word."""

    def wrapped(ask: Callable[..., Any]) -> Callable[..., Any]:
        def asked(questions: Sequence[Any], **how: Any) -> Any:
            texts = [each[0] if isinstance(each, tuple) else each for each in questions]
            sources = [str(getattr(each, "source", each)) for each in texts]
            if gone := {n: "asleep" for n, text in enumerate(sources) if re.search(rf"{word}(?!\w)", text)}:
                raise Unanswered(gone)
            return ask(questions, **how)

        return asked

    made = copy.copy(system)
    for name in ("translate", "score", "sample", "top_k"):
        if callable(getattr(made, name, None)):
            setattr(made, name, wrapped(getattr(made, name)))
    return made


answering = pytest.mark.parametrize(
    "case", [case for name, case in CASES.items() if name != "prompted_choice, pairs"]
)
"""Whoever is asked in words replies something, if only that it refuses."""


@answering
def test_unanswered_items_are_in_no_figure_and_counted(case: Case) -> None:
    items = list(case.items())
    left = items[2]
    quiet = silent(case.system(), re.escape(left.source))
    result, others = case.run(quiet), case.run(items=[each for each in items if each is not left])
    assert [(each["id"], each["unanswered"]) for each in result.unanswered] == [(left.id, "asleep")]
    assert [each["id"] for each in result.records] == [each["id"] for each in others.records]
    assert {row.counts["skipped"] for row in result.rows if not row.part} == {1}
    assert not any(row.counts["skipped"] for row in result.rows if row.part)


@answering
def test_if_nothing_is_answered_there_is_no_figure(case: Case) -> None:
    result = case.run(silent(case.system(), ""))
    (row,) = result.rows
    assert (row.name, row.estimate.n, row.counts["skipped"]) == ("all", 0, len(case.items()))


# -- repeated items: a source given twice says nothing new --------------------------------------------------

OUTCOMES = ("p", "p_holm", "significant", "noise")
DRAWN = ("control_mean", "control_sd", "control_rank", "length_pearson", "length_spearman")
"""Their intervals are over random corpora, not over sentences."""
REPEATED: dict[str, tuple[str, Settings]] = {
    "quality": ("lab:parallel?n=20", {"metric": ("bleu", "ter")}),
    "likelihood": ("lab:parallel?n=20", {}),
    "challenge": (
        "lab:challenge?n=60",
        {"length_sizes": (), "distances": (0, 1, 2), "matched_corpora": 2000, "metrics": ("chrf",)},
    ),
    "contrast": ("lab:pairs?n=4", {}),
    "errors": ("lab:parallel?n=30", {}),
    "space": ("lab:parallel?n=6", {"k": 2, "samples": 3}),
}


def by_figure(rows: Sequence[Row]) -> dict[tuple[str, ...], Estimate]:
    def key(row: Row) -> tuple[str, ...]:
        return row.name, *sorted(
            f"{name} {value}" for name, value in row.labels.items() if name not in OUTCOMES
        )

    return {key(row): row.estimate for row in rows if row.name not in DRAWN}


@pytest.mark.parametrize("name", REPEATED)
def test_repeating_all_items_narrows_no_interval(name: str) -> None:
    spec, settings = REPEATED[name]
    items = list(bs.load(spec))
    twice = [*items, *(dataclasses.replace(item, id=f"{item.id}, again") for item in items)]
    systems = [lab(), bs.open_system("lab:control")][: 1 if name == "space" else 2]
    once, again = (by_figure(run_method(name, systems, some, **settings).rows) for some in (items, twice))
    assert once.keys() == again.keys()
    compared = 0
    for figure, one in once.items():
        two = again[figure]
        if one.n and not one.no_interval:
            drawn = figure[0] in ("minus_control", "control_z")
            assert drawn or two.value == pytest.approx(one.value, abs=1e-6)
            # Half as many draws are left to chance where each corpus has twice as many sentences.
            assert two.high - two.low >= 0.995 * (one.high - one.low), (figure, one, two)
            compared += 1
        else:
            assert two.no_interval or not two.n, (figure, one, two)
    assert compared > 1


# -- ties -------------------------------------------------------------------------------------------------


class Even(Talker):
    """Finds everything equally probable, and always names the first."""

    def _scored(self, source: str, text: str, tokens: tuple[str, ...]) -> Any:
        found = super()._scored(source, text, tokens)
        return dataclasses.replace(found, logprobs=(-1.0,) * len(tokens))

    def reply(self, prompts: Sequence[str]) -> list[Reply]:
        return [Reply("A") for _ in prompts]


@pytest.mark.parametrize(
    ("name", "setting", "figure"),
    [
        ("contrast", "ties", "all"),
        ("condition", "ties", "all"),
        ("prompted_choice", "undecided", "answer_accuracy"),
        ("prompted_choice, pairs", "undecided", "answer_accuracy"),
    ],
)
@pytest.mark.parametrize(("policy", "worth"), [("half", 0.5), ("wrong", 0.0), ("correct", 1.0)])
def test_a_tie_is_worth_what_the_policy_says(
    name: str, setting: str, figure: str, policy: str, worth: float
) -> None:
    case = CASES[name]
    if case.evaluator is not None:
        case = dataclasses.replace(case, evaluator=lambda: Even("even"))
    chosen: Settings = {setting: policy}
    row = next(row for row in case.run(Even("even"), **chosen).rows if row.name == figure and not row.part)
    assert row.counts.get("ties", row.counts.get("undecided")) == len(case.items())
    nothing = name.startswith("prompted") and policy == "half"
    assert row.as_json()["value"] == (None if nothing else worth)


# -- what is shown ----------------------------------------------------------------------------------------


@every
def test_every_item_table_and_chart_is_shown(case: Case) -> None:
    result = case.run()
    (comparison,) = result.groups
    method = method_of(comparison.results[0]) if isinstance(case.method, str) else case.method()
    for record in result.records:
        shown = method.show(record)
        assert (shown.source, bool(shown.answer())) == (record["source"], True)
        assert all(entry.line["task"] and str(entry.unit[0]) == record["id"] for entry in shown.questions)
    for table in method.tables(comparison):
        assert table.title
        assert {len(line.cells) for line in table.lines} <= {len(table.columns)}
        for line in table.lines:
            if group := line.query.get("group"):
                assert any(group in method.show(record).groups for record in result.records)
    assert all(chart.title for chart in method.charts(comparison))
