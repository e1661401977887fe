"""Flows with the word as a column, and the released counts, read as they are (figures 1 and 4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from babelscope.methods.patterns.word_flows import choose_words, flows_by_word, read_counts, share_rows
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope

# "teacher" is an occupation and a stage.
FLOWS: list[tuple[str, str, float]] = [
    ("cook", "cook_original_male", 6.0),
    ("cook", "cook_original_female", 2.0),
    ("teacher", "teacher_original_male", 3.0),
    ("cook_original_male", "cook_teacher_male", 6.0),
    ("cook_original_female", "cook_teacher_male", 1.5),
    ("cook_original_female", "cook_teacher_neutral", 0.5),
    ("teacher_original_male", "teacher_teacher_male", 3.0),
]


def write(path: Path, rows: Any) -> Path:
    path.write_text(json.dumps(rows))
    return path


def test_each_word_flows_into_the_classes(tmp_path: Path) -> None:
    flows, stages = read_counts(write(tmp_path / "c.json", FLOWS))
    assert stages == ["original", "teacher"]
    assert flows_by_word(flows, stages) == [
        ("word:cook", "original_female", 2),
        ("word:cook", "original_male", 6),
        ("word:teacher", "original_male", 3),
        ("original_female", "teacher_male", 1.5),
        ("original_female", "teacher_other", 0.5),
        ("original_male", "teacher_male", 9),
    ]
    of_cook = choose_words(flows, ["cook"])
    assert sum(count for _, end, count in of_cook if "_original_" in end) == 8
    rows = {(row.name, *row.labels.values()): row.estimate for row in share_rows(of_cook, stages)}
    assert rows["share", "original", "female"].value == 0.25
    assert rows["change", "original", "teacher", "female"].value == -0.25
    assert rows["change", "original", "teacher", "female"].no_interval
    with pytest.raises(BabelscopeError, match="no flow is about 'judge'; known: cook, teacher"):
        choose_words(flows, ["judge"])


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ({}, "must be a list"),
        ([["a", "b"]], r"row 1: .* is no \[from, to, count\]"),
        ([["a", "a_s_male", -1]], "is no"),
        ([["a", "b_male", 1]], "is no <word>_<stage>_<class>"),
        ([["a", "a_s_male", 1], ["a", "a_t_male", 1]], "do not follow one another"),
        ([["a_t_male", "a_s_male", 1], ["a_s_male", "a_t_male", 1]], "do not follow one another"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, rows: Any, told: str) -> None:
    with pytest.raises(BabelscopeError, match=told):
        read_counts(write(tmp_path / "c.json", rows))


def test_the_command_draws_words_and_reads_its_own_flows(babelscope: Babelscope, tmp_path: Path) -> None:
    write(tmp_path / "c.json", FLOWS)
    done = babelscope(
        "patterns", "flow", "--counts", "c.json", "--by-word", "--svg", "f.svg", "--flows", "g.json"
    )
    assert done.code == 0, done.err
    drawn = [
        each.text for each in ElementTree.parse(tmp_path / "f.svg").iter() if each.text and each.text.strip()
    ]
    for label in ("cook 8", "teacher 3", "male 9", "female 2", "original", "cook → male: 6"):
        assert label in drawn
    again = babelscope("patterns", "flow", "--counts", "g.json", "--json")
    assert again.out == babelscope("patterns", "flow", "--counts", "c.json", "--json").out
    both = babelscope(
        "patterns", "flow", "--counts", "c.json", "--source", "x", "--data", "y", "--words", "z"
    )
    assert both.code == 2
    assert "needs --source, --data and --words, or --counts" in both.err


def test_figure_4(shared: Path, babelscope: Babelscope) -> None:
    counts = str(shared / "data" / "occupations" / "counts_en-de.json")
    done = babelscope("patterns", "flow", "--counts", counts, "--word", "figure-4", "--json")
    rows = [json.loads(line) for line in done.out.split("\n")[:-1]]
    shares = {(row["stage"], row["class"]): row for row in rows if row["name"] == "share"}
    assert shares["original", "male"]["n"] == 868663
    found = [round(100 * shares["original", each]["value"], 1) for each in ("male", "female", "other")]
    assert found == [39.4, 3.6, 57.0]
    changes = {(row["to"], row["class"]): row["value"] for row in rows if row["name"] == "change"}
    places = [(stage, name) for stage in ("teacher", "student") for name in ("male", "female")]
    assert [round(100 * changes[place], 1) for place in places] == [5.1, -0.2, 0.7, -0.1]
