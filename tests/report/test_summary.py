"""What commands end in: the first table of each method, what differs, all warnings, and where the rest is."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from babelscope.core.results import Result, number
from babelscope.report.sections import Section, sections_of
from babelscope.report.summary import everything, summarize
from babelscope.runs.compare import group_runs, paired_differences
from babelscope.runs.execute import run_method
from babelscope.runs.reading import read_run
from babelscope.testsets import MinimalPair
from tests.support.toys import ToySystem

PAIRS = [
    MinimalPair(str(n), "a b"[: n % 3 + 1], "ab", ("ba", "bb")[: n % 2 + 1], kind, "human")
    for n, kind in enumerate(["clause_omission", "np_agreement", "placeholder_ding"] * 12)
]
VERDICTS = ["error", "unknown", "", "not significant", "too few items", "control"]


@pytest.fixture
def result() -> Result:
    return run_method("contrast", [ToySystem("toy:1"), ToySystem("toy:2", salt="2")], PAIRS)


def blocks(text: str) -> list[list[str]]:
    return [block.split("\n") for block in text.split("\n\n")]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_first_table_with_verdicts_then_differences_warnings_and_places(result, width):
    title, table, differs, warnings, end = blocks(summarize(result, width=width))
    assert all(cell_len(line) <= width for block in (title, table, differs, warnings, end) for line in block)
    assert (
        " ".join(" ".join(title).split()) == "2 systems; test set items; method contrast; 72 answers judged"
    )
    for word in ("system", "error type", "verdict"):
        assert word in "\n".join(table)
    for row in result.rows:  # figures are those of the rows, under short names of the systems
        if row.name == row.labels.get("phenomenon"):
            errors = row.estimate.converted(lambda share: 100 * (1 - share))
            assert any(errors.text(number) in line for line in table), row
    assert " ".join(differs).startswith(
        ("What differs between the systems (", "No difference between the systems is")
    )
    assert warnings[0] == "Warnings:"
    assert any(line.startswith("signature: seed:0|") for line in end)


def test_worst_first_and_controls_last(result):
    (section,) = sections_of(result)
    lines = section.tables[0].lines
    order = [VERDICTS.index("control" if line.is_control else line.verdict) for line in lines]
    assert order == sorted(order)
    assert sum(line.is_control for line in lines) == 2
    text = summarize(result, width=200)
    shown = text.partition("─\n")[2].partition("\n\n")[0].split("\n")
    assert [line.rstrip().endswith("control") for line in shown] == [line.is_control for line in lines]


def test_every_significant_difference_is_a_line():
    right, wrong = ToySystem("hf:models/right"), ToySystem("hf:models/wrong", salt="2")
    pairs = [MinimalPair(str(n), f"s {n}", "ab", ("ba",), "swap", "human") for n in range(60)]
    result = run_method("contrast", [right, wrong], pairs)
    for group in result.groups:
        for each in group.results:
            verdict = "correct" if each.name.endswith("right") else "wrong"
            for record in each.records:
                record["verdict"] = verdict
    (group,) = result.groups
    compared = paired_differences(group)
    result = dataclasses.replace(result, rows=[*result.rows, *compared], comparisons=compared)
    (line,) = re.findall(r"  right minus wrong, .*", summarize(result, width=200))
    assert "100 %" in line
    assert "right is better on 60, wrong on 0, equal on 0 items; p < 0.0001" in line


def study(systems: int, tests: int, methods: int) -> str:
    return "".join([
        *(f'[[systems]]\nname = "a rather long name of system {n}"\nspec = "toy:{n}"\n' for n in range(systems)),
        *(f'[[tests]]\nname = "test set number {n}"\nspec = "pairs-{n}.jsonl"\n' for n in range(tests)),
        *(
            f'[[methods]]\nname = "contrast"\nlabel = "contrast {n}"\nspread = {100 + n}\ndetect_in_output = "no"\n'
            for n in range(methods)
        ),
    ])  # fmt: skip


def notes_of(folder: Path) -> set[str]:
    """All warnings of a run."""
    sections = [Section(group, []) for group in group_runs([read_run(folder)])]
    return {note.text for section in sections for note in section.tables[0].notes}


def warnings_in(out: str) -> list[str]:
    """The warnings of a summary, each as one line."""
    part = out.partition("Warnings:\n")[2].partition("\n\n")[0]
    return re.sub(r"\n    ", " ", part).split("\n") if part else []


def test_a_large_study_fits_and_hides_no_warning(babelscope, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "study.toml").write_text(study(8, 2, 2))
    for place in range(2):
        lines = [json.dumps(pair.as_json()) + "\n" for pair in PAIRS[place:]]
        (tmp_path / f"pairs-{place}.jsonl").write_text("".join(lines))
    ran = babelscope("run study.toml --no-report")
    assert (ran.code, ran.err) == (0, "")
    assert all(cell_len(line) <= 80 for line in ran.out.split("\n"))
    assert ran.out.count("… 18 more lines") == 4, "the worst six lines of each test set and method"
    shown = warnings_in(ran.out)
    assert len(set(shown)) == len(shown)
    for note in notes_of(tmp_path / "runs" / "study"):
        assert sum(line.endswith(note) for line in shown) == 1, note


@pytest.mark.parametrize(
    "command",
    [
        "contrast --tests pairs.jsonl --system toy:1",
        "contrast --tests pairs.jsonl --system toy:1 --discrepancy none",
        "likelihood --tests parallel:a.en,a.de --system toy:1",
        "quality --tests parallel:a.en,a.de --system toy:1",
        "challenge --tests lab:challenge?n=12 --system file:out.de",
        "condition --tests lab:gender?n=12 --system lab:student --evaluator lab:student",
        "space --system lab:student --tests lab:parallel?n=8 --k 3 --samples 0 --budget-expansions 60",
    ],
)
def test_every_method_prints_all_of_its_warnings(babelscope, tmp_path, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair.as_json()) + "\n" for pair in PAIRS))
    (tmp_path / "a.en").write_text("".join(f"a {'b ' * n}c\n" for n in range(12)))
    (tmp_path / "a.de").write_text("".join(f"{'b' * n}z\n" for n in range(12)))
    (tmp_path / "out.de").write_text("Das Haus.\n" * 12)
    ran = babelscope(*command.split(), "--out", "run")
    assert (ran.code, ran.err) == (0, "")
    assert all(cell_len(line) <= 80 for line in ran.out.split("\n"))
    shown = warnings_in(ran.out)
    for note in notes_of(tmp_path / "run"):
        assert sum(line.endswith(note) for line in shown) == 1, note


def test_all_prints_every_row_at_any_width(result):
    for width in (60, 80, 300):
        text = everything(result, width=width)
        assert all(cell_len(line) <= width for line in text.split("\n"))
        for row in result.rows:
            assert number(row.estimate.value) in text
            assert row.name in text
    assert result.signature in everything(result, width=None)


def test_skipped_items_are_reported(result):
    unanswered = [{"id": "7", "unanswered": "the server was asleep"}]
    told = summarize(dataclasses.replace(result, unanswered=unanswered), width=80)
    assert "left out: 1 items, the first being 7" in told.replace("\n  ", " ")
