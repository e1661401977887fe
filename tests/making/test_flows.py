"""From data to distilled data to student: nothing is lost on the way, and changes are what was counted."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.lab.grammar.suites import gender_pairs, sense_pairs
from babelscope.making.counts import Occurrence, flows_of
from babelscope.making.flows import (
    STAGES,
    choose_words,
    find_occurrences,
    flows_by_word,
    merge_words,
    read_counts,
    read_queries,
    share_rows,
    shift_rows,
)
from babelscope.stats.intervals import proportion
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope

CLASSES = ("male", "female", "other")
found = st.builds(
    Occurrence, st.sampled_from(["cook", "head_cook"]), st.tuples(*[st.sampled_from(CLASSES)] * 3)
)


@given(st.lists(found, min_size=1, max_size=30))
def test_flows_conserve_counts(occurrences: list[Occurrence]) -> None:
    flows = flows_of(occurrences, STAGES)
    into, out = Counter[str](), Counter[str]()
    for start, end, count in flows:
        out[start] += int(count)
        into[end] += int(count)
    for node in into:
        if "_student_" not in node:
            assert into[node] == out[node], node
    whole = Counter(each.word for each in occurrences)
    assert all(out[word] == count for word, count in whole.items())
    total = Counter[str]()
    for start, end, count in merge_words(flows):
        total[f"{start.partition('_')[0]} to {end.partition('_')[0]}"] += int(count)
    assert total == {"data to distilled": len(occurrences), "distilled to student": len(occurrences)}


def test_shares_and_changes() -> None:
    moves = (
        [("female", "male", "male")] * 3
        + [("male", "male", "male")] * 5
        + [("female", "female", "other")] * 2
    )
    one = [Occurrence("cook", move) for move in moves]
    rows = shift_rows([one])
    shares = {(row.labels["stage"], row.labels["class"]): row for row in rows if row.name == "share"}
    assert shares["data", "female"].estimate.value == 0.5
    assert shares["student", "other"].counts == {"count": 2}
    assert all(row.estimate.n == 10 for row in shares.values())
    changes = {(row.labels["to"], row.labels["class"]): row.estimate for row in rows if row.name == "change"}
    assert changes["distilled", "female"].value == pytest.approx(-0.3)
    assert changes["student", "female"].value == pytest.approx(-0.2)
    # Three of ten, all in one direction: as many as no test could take for a change.
    assert changes["distilled", "female"].high > 0
    assert sum(changes["distilled", name].value for name in CLASSES) == pytest.approx(0)
    other = [Occurrence("cook", ("female", "female", "male")), *one[1:]]
    rows = shift_rows([one, other])
    spread = {
        (row.labels["to"], row.labels["class"]): row.estimate for row in rows if row.name == "change sd"
    }
    assert spread["distilled", "male"].value == pytest.approx(0.1 / 2**0.5)
    assert spread["distilled", "male"].n == 2


def test_intervals_are_over_sentences_whether_models_agree_or_not() -> None:
    moves = [("female", "male", "male"), ("male", "male", "male"), ("female", "female", "other")] * 10
    one = [Occurrence("cook", move, line) for line, move in enumerate(moves, 1)]
    other = [Occurrence("cook", ("female", "female", "male"), 1), *one[1:]]
    for models in ([one, one], [one, other], [one, other, other]):
        rows = shift_rows(models)
        for row in rows:
            if row.name in ("share", "change"):
                assert row.estimate.n == 30, "one unit, whatever the counts"
            else:
                assert row.estimate.n in (len(models), 30)
            if row.name == "share":
                assert 0 <= row.estimate.low <= row.estimate.high <= 1
        over_models = [row for row in rows if row.name in ("change over models", "change sd", "share sd")]
        assert {row.estimate.n for row in over_models} == {len(models)}
        assert not any(row.labels.get("stage") == "data" for row in over_models), "data have no models"
    # With one model there is nothing over models.
    assert {row.name for row in shift_rows([one])} == {"share", "change", "male_to_female"}
    # Two words of a sentence are not two sentences.
    twice = [Occurrence("cook", each.classes, each.line) for each in one for _ in range(2)]
    alone, double = (
        {
            row.labels["class"]: row
            for row in shift_rows([some])
            if (row.name, row.labels.get("stage")) == ("share", "data")
        }
        for some in (one, twice)
    )
    for name, row in double.items():
        assert row.estimate.low == pytest.approx(alone[name].estimate.low, abs=1e-3)


def test_the_ratio_of_male_to_female_forms() -> None:
    moves = (
        [("female", "male", "male")] * 2 + [("male", "male", "male")] * 6 + [("other", "female", "other")] * 2
    )
    rows = [
        row
        for row in shift_rows([[Occurrence("cook", move) for move in moves]])
        if row.name == "male_to_female"
    ]
    assert [row.labels["stage"] for row in rows] == list(STAGES)
    assert [row.estimate.value for row in rows] == [pytest.approx(3), pytest.approx(4), math.inf]
    assert [dict(row.counts) for row in rows] == [
        {"male": 6, "female": 2}, {"male": 8, "female": 2}, {"male": 8, "female": 0},
    ]  # fmt: skip
    share = proportion(6, 8)
    assert rows[0].estimate.low == pytest.approx(share.low / (1 - share.low), rel=1e-6)
    assert json.loads(json.dumps(rows[2].as_json()))["value"] is None


def test_the_lab_counts_what_its_grammar_says(tmp_path: Path) -> None:
    for spec, pairs in (("lab:occupations", gender_pairs(40, 1)), ("lab:senses", sense_pairs(36, 1))):
        (tmp_path / "en").write_text("".join(f"{pair.source}\n" for pair in pairs))
        (tmp_path / "de").write_text("".join(f"{pair.target}\n" for pair in pairs))
        occurrences = find_occurrences(tmp_path / "en", {"data": tmp_path / "de"}, read_queries(spec))
        counted = Counter(each.classes[0] for each in occurrences)
        if spec == "lab:senses":
            assert counted == {"frequent": 18, "rare": 18}
        else:
            told = [{(one.noun, one.gender) for one in pair.labels.occupations} for pair in pairs]
            right = Counter(gender for own in told for _, gender in own)  # a word counts once a sentence
            assert counted == right


def test_the_command(babelscope: Babelscope, tmp_path: Path) -> None:
    query = {"src_forms": ["cook"], "tgt_forms_male": ["Koch"], "tgt_forms_female": ["Köchin"]}
    (tmp_path / "q.json").write_text(json.dumps({"cook": query}))
    (tmp_path / "en").write_text("The cook slept.\nA cook!\nNothing.\n")
    for name, lines in (
        ("de", "Die Köchin schlief.\nEin Koch!\nNichts.\n"),
        ("t", "Der Koch schlief.\nEin Koch!\nNichts.\n"),
        ("s", "Der Koch schlief.\nEine Person!\nNichts.\n"),
    ):
        (tmp_path / name).write_text(lines)
    usual = ("flow", "--source", "en", "--target", "de", "--words", "q.json", "--json")
    ran = babelscope(*usual, "--distilled", "t", "--student", "s", "--flows", "f.json", "--svg", "f.svg")
    rows = ran.rows
    share = {(row["stage"], row["class"]): row["value"] for row in rows if row["name"] == "share"}
    assert share == {
        ("data", "female"): 0.5, ("data", "male"): 0.5, ("data", "other"): 0,
        ("distilled", "female"): 0, ("distilled", "male"): 1, ("distilled", "other"): 0,
        ("student", "female"): 0, ("student", "male"): 0.5, ("student", "other"): 0.5,
    }  # fmt: skip
    assert ["cook_distilled_male", "cook_student_other", 1.0] in json.loads((tmp_path / "f.json").read_text())
    picture = ElementTree.fromstring((tmp_path / "f.svg").read_text())
    assert picture.tag.endswith("svg")
    drawn = {text for each in picture.iter() if (text := (each.text or "").partition(" ")[0])}
    assert "other" in drawn
    assert "neutral" not in drawn
    # A class of that name is one of identified forms, and drawn as such beside those that are not identified.
    (tmp_path / "q.json").write_text(json.dumps({"cook": {**query, "tgt_forms_neutral": ["Kochkraft"]}}))
    (tmp_path / "s").write_text("Die Kochkraft schlief.\nEine Person!\nNichts.\n")
    rows = babelscope(*usual, "--distilled", "t", "--student", "s").rows
    last = {
        row["class"]: row["value"] for row in rows if row.get("stage") == "student" and row["name"] == "share"
    }
    assert last == {"female": 0, "male": 0, "neutral": 0.5, "other": 0.5}
    (tmp_path / "q.json").write_text(json.dumps({"cook": query}))
    assert {row["stage"] for row in babelscope(*usual).rows} == {"data"}
    for more, told in (
        (
            ("--student", "s"),
            "each student needs its teacher's data: there are 0 --distilled and 1 --student",
        ),
        (("--svg", "x.svg"), "a Sankey diagram needs --distilled"),
        (("--distilled", "q.json"), "line-parallel files must have equally many lines"),
        (("--words", "en"), "en:1: not JSON"),
    ):
        ran = babelscope(
            *(each for each in usual if "--words" not in more or each not in ("--words", "q.json")), *more
        )
        assert (ran.code, ran.out) == (2, "")
        assert told in ran.err
    (tmp_path / "q.json").write_text(json.dumps({"baker": {**query, "src_forms": ["baker"]}}))
    assert "en has none of the words looked for (baker" in babelscope(*usual).err
    (tmp_path / "q.json").write_text(json.dumps({"cook": {"src_forms": ["cook"]}}))
    assert "q.json: cook: a query needs src_forms" in babelscope(*usual).err


def test_bad_queries(tmp_path: Path) -> None:
    for written in (["cook"], {"cook": 3}):
        with pytest.raises(BabelscopeError, match="must be an object of queries"):
            read_queries(str(write(tmp_path / "q.json", written)))


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
        "flow", "--counts", "c.json", "--set", "by_word=yes", "--svg", "f.svg", "--flows", "g.json"
    )
    assert done.code == 0, done.err
    drawn = [
        each.text for each in ElementTree.parse(tmp_path / "f.svg").iter() if each.text and each.text.strip()
    ]
    for label in ("cook 8", "teacher 3", "male 9", "female 2", "original", "cook → male: 6"):
        assert label in drawn
    again = babelscope("flow", "--counts", "g.json", "--json")
    assert again.out == babelscope("flow", "--counts", "c.json", "--json").out
    both = babelscope("flow", "--counts", "c.json", "--source", "x", "--target", "y", "--words", "z")
    assert both.code == 2
    assert "needs --source, --target and --words, or --counts" in both.err


def test_figure_4(shared: Path, babelscope: Babelscope) -> None:
    counts = str(shared / "data" / "occupations" / "counts_en-de.json")
    rows = babelscope("flow", "--counts", counts, "--set", "word=figure-4", "--json").rows
    shares = {(row["stage"], row["class"]): row for row in rows if row["name"] == "share"}
    assert shares["original", "male"]["n"] == 868663
    found = [round(100 * shares["original", each]["value"], 1) for each in ("male", "female", "other")]
    assert found == [39.4, 3.6, 57.0]
    changes = {(row["to"], row["class"]): row["value"] for row in rows if row["name"] == "change"}
    places = [(stage, name) for stage in ("teacher", "student") for name in ("male", "female")]
    assert [round(100 * changes[place], 1) for place in places] == [5.1, -0.2, 0.7, -0.1]
