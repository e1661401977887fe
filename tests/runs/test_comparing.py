"""Runs compared: against counting by hand, contrast's own comparisons, and what must be refused."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr, t, ttest_rel

from babelscope.core.comparison import Factor
from babelscope.core.results import Row
from babelscope.runs.compare import (
    evaluator_agreement,
    group_runs,
    paired_differences,
    seed_groups,
    seed_of,
    seed_rows,
)
from babelscope.runs.folder import FORMAT
from babelscope.runs.reading import read_run, results_of_run
from babelscope.runs.regression import read_column, read_systems, read_table, regress_figure
from babelscope.runs.study import Study, run_study
from babelscope.testsets import AmbiguousSource, MinimalPair, ParallelSentence, TestSet
from babelscope.util.errors import BabelscopeError

pytestmark = pytest.mark.usefixtures("toy_schemes")

MakeRun = Callable[..., Path]


@pytest.fixture
def make_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeRun:
    """Runs a study of toys into a folder: `make_run("a", systems={"x": "toy:1"}, method="contrast")`."""
    monkeypatch.chdir(tmp_path)
    ambiguous = [
        AmbiguousSource(f"i{n}", f"a {n}", (f"r {n}", f"s {n}"), (f"w {n}",), "female" if n % 2 else "male")
        for n in range(40)
    ]
    pairs = [
        MinimalPair(f"p{n}", f"s {n // 2}", "ab ca", ("ab", f"ab {'abc'[n % 3]}"), f"e{n % 2}", "human")
        for n in range(40)
    ]
    sentences = [ParallelSentence(f"s{n}", f"a {n}", ("ab c",)) for n in range(8)]
    sets: dict[str, list[Any]] = {"ambiguous": ambiguous, "pairs": pairs, "parallel": sentences}
    for name, items in sets.items():
        TestSet(name, tuple(items)).write(tmp_path / f"{name}.jsonl")
    TestSet("fewer", tuple(ambiguous[:10])).write(tmp_path / "fewer.jsonl")

    def make(
        name: str,
        systems: dict[str, str],
        method: str,
        tests: str = "",
        tests_name: str = "",
        **settings: Any,
    ) -> Path:
        usual = {"condition": "ambiguous", "contrast": "pairs", "likelihood": "parallel"}[method]
        if method == "condition":
            settings = {"evaluator": "toy:judge", **settings}
        tests = tests or usual
        study = Study.model_validate(
            {
                "systems": [{"name": label, "spec": spec} for label, spec in systems.items()],
                "tests": [{"spec": f"{tests}.jsonl", "name": tests_name or tests}],
                "methods": [{"name": method, **settings}],
            }
        )
        run_study(study, out=tmp_path / name)
        return tmp_path / name

    return make


def _groups(*paths: Path, **options: Any) -> Any:
    return group_runs([read_run(path) for path in paths], **options)


def test_systems_are_compared_item_by_item(make_run):
    (group,) = _groups(make_run("both", {"x": "toy:1", "y": "toy:2"}, "condition", protocol="paper"))
    rows = {
        row.labels.get("category", "all"): row
        for row in paired_differences(group)
        if "over" not in row.labels
    }
    ours, theirs = (column.records for column in group.results)
    for category, row in rows.items():
        both = [
            (a["verdict"] == "correct", b["verdict"] == "correct")
            for a, b in zip(ours, theirs, strict=True)
            if category in ("all", a["category"])
        ]
        wins, losses = sum(a > b for a, b in both), sum(a < b for a, b in both)
        assert row.counts == {"wins": wins, "losses": losses, "ties": len(both) - wins - losses}
        assert row.estimate.value == pytest.approx((wins - losses) / len(both))
        assert row.estimate.low <= row.estimate.value <= row.estimate.high
        # A source an item: the mean of all items and of one won and one lost more, over its error.
        more = [1.0] * (wins + 1) + [-1.0] * (losses + 1) + [0.0] * (len(both) - wins - losses)
        statistic = np.mean(more) / (np.std(more, ddof=1) / len(more) ** 0.5)
        right = max(2 * t.sf(abs(statistic), len(both) - 1), min(1.0, 2.0 ** (1 - wins - losses)))
        assert float(row.labels["p"]) == pytest.approx(right, rel=1e-3)
    ps = [float(row.labels["p"]) for row in rows.values()]
    assert max(float(row.labels["p_holm"]) for row in rows.values()) <= min(1, 4 * max(ps)) + 1e-3
    least, by_holm = (
        min(float(row.labels[name]) for row in paired_differences(group)) for name in ("p", "p_holm")
    )
    assert by_holm == pytest.approx(min(1, 4 * least), abs=1e-3)


def test_a_system_does_not_differ_from_itself(make_run):
    one = make_run("one", {"x": "toy:1"}, "contrast")
    two = make_run("two", {"y": "toy:1"}, "contrast")
    (group,) = _groups(one, two)
    for row in paired_differences(group):
        assert (row.estimate.value, row.counts["ties"], row.labels["p_holm"]) == (0, row.estimate.n, 1)


def test_likelihoods_are_compared_in_nats_a_token(make_run):
    (group,) = _groups(make_run("run", {"x": "toy:1", "y": "toy:2"}, "likelihood"))
    (row,) = paired_differences(group)
    ours, theirs = (
        [np.mean(record["references"][0]["logprobs"]) for record in column.records]
        for column in group.results
    )
    assert row.labels["measure"] == "logprob"
    assert row.estimate.value == pytest.approx(np.mean(ours) - np.mean(theirs))  # all references are as long


def test_other_test_sets_are_refused_with_what_differs(make_run):
    one = make_run("one", {"x": "toy:1"}, "condition", tests_name="t")
    two = make_run("two", {"y": "toy:2"}, "condition", tests="fewer", tests_name="t")
    with pytest.raises(
        BabelscopeError, match="other test sets: t has 40 items there, 10 here; with --summary"
    ):
        _groups(one, two)
    three = make_run("three", {"y": "toy:2"}, "condition", tests="fewer", tests_name="u")
    with pytest.raises(BabelscopeError, match=r"other test sets: only .*one has t"):
        _groups(one, three)
    four = make_run("four", {"y": "toy:2"}, "condition", tests_name="t", likelihood="total")
    with pytest.raises(
        BabelscopeError, match=r'settings of condition \(likelihood: "mean" there, "total" here'
    ):
        _groups(one, four)
    (group,) = _groups(one, two, four, summary_only=True)
    assert [column.name for column in group.results] == ["x", "y (two)", "y (four)"]
    # The same items under another name are the same test set.
    five = make_run("five", {"y": "toy:2"}, "condition", tests_name="other")
    assert len(_groups(one, five)) == 1


def test_what_differs_is_told_for_items_too(make_run, tmp_path):
    one = make_run("one", {"x": "toy:1"}, "condition", tests="fewer")
    lines = (tmp_path / "fewer.jsonl").read_text().replace("a 3", "b 3")
    (tmp_path / "fewer.jsonl").write_text(lines)
    two = make_run("two", {"x": "toy:1"}, "condition", tests="fewer")
    with pytest.raises(BabelscopeError, match="fewer has other items from i3 there, i3 here"):
        _groups(one, two)


def test_folders_that_cannot_be_compared(make_run, tmp_path):
    one = make_run("one", {"x": "toy:1"}, "condition")
    with pytest.raises(BabelscopeError, match=r"x stands in .*one and in .*one; leave one of them out"):
        _groups(one, one)
    with pytest.raises(BabelscopeError, match=r"is not a run folder: it has no manifest\.json"):
        read_run(tmp_path)
    (one / "summary.json").rename(tmp_path / "kept.json")
    with pytest.raises(BabelscopeError, match="is not finished; run the same command again"):
        read_run(one)
    (one / "summary.json").write_text('{"rows": [{}]}')
    with pytest.raises(BabelscopeError, match=r"summary.json is damaged"):
        read_run(one)
    (tmp_path / "kept.json").rename(one / "summary.json")
    (one / "manifest.json").write_text(json.dumps({"format": FORMAT}))
    with pytest.raises(BabelscopeError, match=r"manifest.json is damaged"):
        results_of_run(read_run(one))


def test_seeds_are_found_by_their_names():
    names = ["lab:teacher", "lab:teacher-2", "student-1", "student-12", "alone", "b-5"]
    systems: dict[str, dict[str, Factor]] = {name: {} for name in names}
    assert [seed_of(name, {}) for name in names] == [1, 2, 1, 12, 1, 5]
    assert seed_groups(systems) == {
        "lab:teacher": ["lab:teacher", "lab:teacher-2"],
        "student": ["student-1", "student-12"],
    }
    assert seed_groups(systems, ["all=*t*", "student*"]) == {"all": names[:4], "student*": names[2:4]}
    with pytest.raises(BabelscopeError, match=r"the group 'alone\*' needs at least two systems"):
        seed_groups(systems, ["alone*"])


def test_means_and_differences_over_seeds(make_run):
    systems = {"t": "toy:1", "t-2": "toy:2", "t-3": "toy:3", "s": "toy:4", "s-2": "toy:5", "s-3": "toy:6"}
    (group,) = _groups(make_run("run", systems, "condition"))
    rows = seed_rows(group)
    values = {
        column.name: next(row.estimate.value for row in column.rows if row.name == "minimum")
        for column in group.results
    }

    def only(name: str, system: str) -> Row:
        (found,) = [
            row
            for row in rows
            if (row.name, row.labels["system"], row.labels["of"]) == (name, system, "minimum")
        ]
        return found

    teachers, students = ([values[f"{x}{y}"] for y in ("", "-2", "-3")] for x in "ts")
    assert only("mean", "t").estimate.value == pytest.approx(np.mean(teachers))
    assert only("sd", "s").estimate.value == pytest.approx(np.std(students, ddof=1))
    difference = only("seed_difference", "t")
    right = ttest_rel(teachers, students).confidence_interval()
    assert difference.labels["against"] == "s"
    assert difference.labels["pairing"] == "by seed"
    assert (difference.estimate.low, difference.estimate.high) == pytest.approx((right.low, right.high))
    unpaired = [row for row in seed_rows(group, ["t*", "s=s-*"]) if row.name == "seed_difference"]
    assert {row.labels["pairing"] for row in unpaired} == {"none (Welch)"}


def test_seeds_of_two_evaluators_are_kept_apart(make_run):
    systems = {"t": "toy:1", "t-2": "toy:2"}
    paths = [make_run(f"by{n}", systems, "condition", evaluator=f"toy:e{n}") for n in range(2)]
    (group,) = _groups(*paths)
    means = [row for row in seed_rows(group) if row.name == "mean" and row.labels["of"] == "all"]
    assert [(row.labels["evaluator"], row.estimate.n) for row in means] == [("toy:e0", 2), ("toy:e1", 2)]


def test_evaluators_are_correlated(make_run):
    systems = {name: f"toy:{name}" for name in "abcd"}
    paths = [make_run(f"by{n}", systems, "condition", evaluator=f"toy:e{n}") for n in range(3)]
    (group,) = _groups(*paths)
    assert group.results[0].name == "a by toy:e0"
    assert len(paired_differences(group)) == 3 * 6 * 4, "systems of one evaluator only are compared"
    found = {
        (row.labels["over"], row.labels.get("system")): row for row in evaluator_agreement(group, "weighted")
    }
    by_evaluator = [
        [
            next(row.estimate.value for row in result.rows if row.name == "weighted")
            for result in results_of_run(read_run(path))
        ]
        for path in paths
    ]
    right = [spearmanr(one, other).statistic for one, other in itertools.combinations(by_evaluator, 2)]
    row = found["systems", None]
    assert row.estimate.value == pytest.approx(np.mean(right))
    assert row.estimate.no_interval == f"3 pairs of evaluators, {min(right):.3g} to {max(right):.3g}"
    assert row.counts["systems"] == 4
    scores = [
        [record["score"] for record in read_run(path).records if record["system"] == "b"] for path in paths
    ]
    right = [spearmanr(one, other).statistic for one, other in itertools.combinations(scores, 2)]
    assert found["items", "b"].estimate.value == pytest.approx(np.mean(right))
    with pytest.raises(
        BabelscopeError, match="has no figure 'bleu' of ambiguous; it has minimum, weighted, "
    ):
        evaluator_agreement(group, "bleu")


def test_regression_over_runs(make_run, tmp_path):
    systems = {name: f"toy:{name}" for name in "abcdef"}
    (group,) = _groups(make_run("run", systems, "condition"))
    table = tmp_path / "t.tsv"
    bleu = [30.0, 31, 33, 36, 38, 41]
    lines = [
        f"{name}\t{b}\t{'yes' if n % 2 else 'no'}"
        for n, (name, b) in enumerate(zip(systems, bleu, strict=True))
    ]
    table.write_text("\n".join(["system\tbleu\tdistilled", *lines]) + "\n")
    rows = {
        row.labels["variable"]: row
        for row in regress_figure(group, read_systems([table]), ["bleu", "distilled"])
    }
    outcome = [100 * next(r.estimate.value for r in c.rows if r.name == "minimum") for c in group.results]
    columns = np.column_stack([np.ones(6), bleu, [n % 2 for n in range(6)]])
    right = np.linalg.lstsq(columns, np.array(outcome), rcond=None)[0]
    assert [rows[name].estimate.value for name in ("intercept", "bleu", "distilled")] == pytest.approx(
        list(right)
    )
    table.write_text("\n".join(["system\tbleu\tdistilled", *lines[:5]]) + "\n")
    with pytest.raises(BabelscopeError, match=r"t.tsv has no line for the system f"):
        regress_figure(group, read_systems([table]), ["bleu"])
    table.write_text("bleu\n1\n")
    with pytest.raises(BabelscopeError, match=r"t.tsv has no column 'system'"):
        regress_figure(group, read_systems([table]), ["bleu"])


def test_tables(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("a\tb\n1\tyes\n2.5\tno\n")
    table = read_table(path)
    assert read_column(table, "a", path) == [1, 2.5]
    assert read_column(table, "b", path) == [1, 0]
    with pytest.raises(BabelscopeError, match=r"t.tsv has no column 'c'; it has a, b"):
        read_column(table, "c", path)
    for text, told in (
        ("a\tb\n1\n", "t.tsv:2 has 1 columns, the first line 2"),
        ("a\ta\n1\t2\n", "must have a line of different column names"),
        ("a\n", "must have a line of different column names, and lines of values"),
    ):
        path.write_text(text)
        with pytest.raises(BabelscopeError, match=told):
            read_table(path)
    path.write_text("a\nmuch\n")
    with pytest.raises(BabelscopeError, match=r"t.tsv:2: 'much' in column 'a' is no number"):
        read_column(read_table(path), "a", path)


def test_where_lower_is_better_wins_are_the_lower_ones(tmp_path):
    study = {
        "systems": [{"spec": "lab:student"}, {"spec": "lab:teacher"}],
        "tests": [{"spec": "lab:challenge?n=12"}],
        "methods": [{"name": "challenge", "metrics": ["ter"], "matched_corpora": 4, "length_sizes": [2]}],
    }
    run_study(Study.model_validate(study), out=tmp_path / "run")
    (group,) = _groups(tmp_path / "run")
    (row,) = (each for each in paired_differences(group) if each.labels["phenomenon"] == "all")
    ours, theirs = ([each["scores"]["ter"] for each in column.records] for column in group.results)
    assert row.labels["better"] == "lower"
    assert row.counts["wins"] == sum(a < b for a, b in zip(ours, theirs, strict=True))
    one, other = (column.figures["ter", (("phenomenon", "all"),)].estimate.value for column in group.results)
    assert row.estimate.value == pytest.approx(one - other)
