"""Word counts in parallel text: sentences of our own, and the published occupations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from babelscope.making.occupations import (
    FIGURE_4,
    WOMEN_IN_PERCENT,
    Forms,
    GenderCounts,
    flows_of,
    occupation_correlation,
    occurrences,
)
from babelscope.making.senses import count_senses
from babelscope.util.errors import BabelscopeError

COOK = Forms.from_json(
    {"src_forms": ["cook", "cooks"], "tgt_forms_male": ["Koch", "Kochs"], "tgt_forms_female": ["Köchin"]}
)


def test_senses_are_counted_by_sentence_pair() -> None:
    senses = [("pen", "stift füller"), ("pen", "gehege"), ("cup", "tasse")]
    pairs = [
        ("My Pen and pen", "mein Stift und füller"),
        ("my pen", "mein gehege"),
        # Neither the word nor a lemma inside another word.
        ("open it", "öffne der stift"),
        ("my pen", "mein stifthalter"),
    ]
    split = [(source.split(), target.split()) for source, target in pairs]
    assert count_senses(split, senses) == {senses[0]: 1, senses[1]: 1, senses[2]: 0}


def test_genders_move_from_stage_to_stage() -> None:
    lines = [
        ("The cook slept", ("Die Köchin schlief", "Der Koch schlief")),
        ("Two cooks", ("Koch und Köchin", "Koch")),
        ("A cooker", ("Ein Koch", "Ein Koch")),
    ]
    split = [(source.split(), [each.split() for each in versions]) for source, versions in lines]
    flows = flows_of(occurrences(split, {"cook": COOK}), ["original", "student"])
    assert sorted(flows) == [
        ("cook", "cook_original_female", 1),
        ("cook", "cook_original_other", 1),
        ("cook_original_female", "cook_student_male", 1),
        ("cook_original_other", "cook_student_male", 1),
    ]
    counts = GenderCounts.from_flows(flows)
    assert [row.estimate.value for row in counts.shares("student")] == [1, 0, 0]
    assert counts.female_ratios() == {"cook": 1}
    with pytest.raises(BabelscopeError, match="a line has 1 translations for 2 stages"):
        flows_of(occurrences([(["cook"], [["Koch"]])], {"cook": COOK}), ["original", "student"])


def test_bad_counts_are_told() -> None:
    for flow in (["a", "a_original", 1], ["a", "a_original_old", 1], ["a", "a_original_male", "1"], ["a"]):
        with pytest.raises(BabelscopeError, match="is no flow to <occupation>_<stage>_<gender>"):
            GenderCounts.from_flows([flow])
    counts = GenderCounts.from_flows([["a", "a_original_male", 1.0]])
    with pytest.raises(BabelscopeError, match="the occupation 'b' was not counted"):
        counts.shares("original", ["b"])
    with pytest.raises(BabelscopeError, match="nothing was counted at the stage 'student'"):
        counts.shares("student")
    with pytest.raises(BabelscopeError, match="at least 3 occupations in common, not 1"):
        occupation_correlation({"a": 1.0}, {"a": 2.0})
    for query, told in (
        ({"src_forms": []}, "a query needs src_forms, and tgt_forms_"),
        (
            {"src_forms": ["a"], "tgt_forms_x": ["b"], "tgt_forms_y": "c"},
            "tgt_forms_y of a query must be a list",
        ),
        (
            {"src_forms": ["a b"], "tgt_forms_x": [], "tgt_forms_y": []},
            "'a b' in src_forms .* more than one word",
        ),
    ):
        with pytest.raises(BabelscopeError, match=told):
            Forms.from_json(query)


def test_the_published_occupations(shared: Path) -> None:
    folder = shared / "data" / "occupations"
    queries = json.loads((folder / "queries_en-de.json").read_text())
    assert Forms.from_json(queries["broker"]).class_of(["Der", "Makler"]) == "male"
    counts = GenderCounts.from_flows(json.loads((folder / "counts_en-de.json").read_text()))
    assert sorted(counts.occupations) == sorted(
        json.loads((folder / "frequent_occupations.json").read_text())
    )
    stages = {stage: counts.shares(stage, FIGURE_4) for stage in ("original", "teacher", "student")}
    percent = {stage: [round(100 * row.estimate.value, 2) for row in rows] for stage, rows in stages.items()}
    assert percent["original"] == [39.40, 3.59, 57.01]
    assert {row.estimate.n for rows in stages.values() for row in rows} == {868663}
    change = [
        [round(b - a, 1) for a, b in zip(percent[one][:2], percent[other][:2], strict=True)]
        for one, other in (("original", "teacher"), ("teacher", "student"))
    ]
    assert change == [[5.1, -0.2], [0.7, -0.1]]
    everything = counts.shares("original")
    assert [round(100 * row.estimate.value, 2) for row in everything] == [40.13, 3.19, 56.68]
    assert everything[0].estimate.n == 1365155
    ratios = counts.female_ratios()
    assert [occupation for occupation, ratio in ratios.items() if ratio > 0.5] == ["nurse", "cleaner"]
    found, p = occupation_correlation(ratios, {name: women / 100 for name, women in WOMEN_IN_PERCENT.items()})
    assert (round(found.value, 6), found.n, round(p, 6)) == (0.689220, 19, 0.00071)
