"""The summary that commands end in: short whatever the study is, worst first, with nothing hidden in silence."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from babelscope.core.results import Result, number
from babelscope.methods.contrast.figures import with_interval
from babelscope.methods.view import complement
from babelscope.report.summary import MOST_LINES, everything, summarize
from babelscope.runs.execute import run_method
from babelscope.testsets import MinimalPair
from tests.support.toy_fixtures import Babelscope
from tests.support.toys import ToySystem

PAIRS = [
    MinimalPair(str(n), "a b"[: n % 3 + 1], "ab", ("ba", "bb")[: n % 2 + 1], kind, "human")
    for n, kind in enumerate(["clause_omission", "np_agreement", "placeholder_ding"] * 12)
]


@pytest.fixture
def result() -> Result:
    return run_method("contrast", [ToySystem("toy:1"), ToySystem("toy:2", salt="2")], PAIRS)


def study(systems: int, tests: int, methods: int) -> str:
    return "".join([
        *(f'[[systems]]\nname = "a rather long name of system {n}"\nspec = "toy:{n}"\n' for n in range(systems)),
        *(f'[[tests]]\nname = "test set number {n}"\nspec = "pairs-{n}.jsonl"\n' for n in range(tests)),
        *(
            f'[[methods]]\nname = "contrast"\nlabel = "contrast {n}"\nspread = {100 + n}\n'
            'discrepancy = "none"\ndetect_in_output = "no"\n'
            for n in range(methods)
        ),
    ])  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("report", ["--report", "--no-report"])
def test_a_large_study_is_told_in_forty_lines(
    babelscope: Babelscope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "study.toml").write_text(study(8, 5, 5 if report == "--no-report" else 1))
    for place in range(5):
        lines = [json.dumps(pair.as_json()) + "\n" for pair in PAIRS[place:]]
        (tmp_path / f"pairs-{place}.jsonl").write_text("".join(lines))
    ran = babelscope("run", "study.toml", report)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.rstrip("\n").split("\n")
    assert len(lines) <= MOST_LINES
    assert all(cell_len(line) <= 80 for line in lines)
    summary = json.loads((tmp_path / "runs" / "study" / "summary.json").read_text())
    rows = len(summary["rows"]) + len(summary["comparisons"])
    (left,) = re.findall(r"^… ([\d,]+) rows more: --all, or summary.json$", ran.out, re.MULTILINE)
    shown = sum("(human refs)" in line for line in lines)
    assert shown >= 5  # all warnings are shown, and take room
    assert int(left.replace(",", "")) + shown == rows
    assert re.search(r"… [\d,]+ findings more, which a report shows", ran.out)
    assert "The worst " in ran.out


def test_worst_comes_first(result: Result) -> None:
    text = summarize(result, width=80)
    tags = re.findall(r"^  (Errors|Weakness|Forced|None seen|Controls|Note)\b", text, re.MULTILINE)
    order = ["Errors", "Weakness", "Forced", "Note", "Controls", "None seen"]
    assert tags == sorted(tags, key=order.index)
    assert tags


def test_figures_are_those_of_the_rows(result: Result) -> None:
    text = summarize(result, width=200)
    for row in result.rows:
        if row.name == row.labels.get("phenomenon"):
            errors = complement(row.estimate)
            lines = [
                each
                for each in text.split("\n")
                if f"  {row.labels['system']}  " in each and row.name in each
            ]
            assert any(
                with_interval(errors, 100) in each and re.search(rf" {errors.n}\b", each) for each in lines
            )


def test_all_prints_every_row_at_any_width(result: Result) -> None:
    for width in (60, 80, 300):
        text = everything(result, [], width=width)
        assert all(cell_len(line) <= width for line in text.split("\n"))
        for row in result.rows:
            assert number(row.estimate.value) in text
            assert row.name in text
    assert result.signature in everything(result, [], width=None)


def test_at_any_height_what_is_left_out_is_said(result: Result) -> None:
    for most, width in itertools.product(range(24, 41), (60, 80)):
        lines = summarize(result, width=width, most=most).split("\n")
        assert len(lines) <= most
        whole = summarize(result, width=width, most=200)
        for line in whole.split("\n"):
            assert line in lines or any(each.lstrip().startswith("… ") for each in lines)


def test_skipped_items_are_told(result: Result) -> None:
    unanswered = [{"id": "7", "unanswered": "the server was asleep"}]
    told = summarize(
        Result(result.config, result.rows, result.records, None, unanswered, groups=result.groups), width=80
    )
    assert "left out: 1 items, the first being 7" in told.replace("\n  ", " ")


def test_a_method_without_a_view_is_summarized_by_its_figures(
    monkeypatch: pytest.MonkeyPatch, result: Result
) -> None:
    monkeypatch.setattr("babelscope.report.sections.find_view", lambda _kind: None)
    text = summarize(result, width=80)
    assert "all" in text
    assert "discrepancy" in text
    assert "method contrast" in text
