"""Sets of challenge items: units of distance, caps, what a verdict needs, controls drawn from other sentences."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from babelscope.core.answers import Fingerprint, Scored
from babelscope.core.columns import Group
from babelscope.core.question import Asked, sources_of
from babelscope.core.results import Estimate, Result, Row
from babelscope.methods.challenge.paper_tables import paper_tables
from babelscope.methods.challenge.sets import Instance, Partition
from babelscope.methods.challenge.view import section
from babelscope.runs.judging import challenge
from babelscope.testsets import ParallelSentence
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope

FEW: dict[str, Any] = {"matched_corpora": 20, "length_corpora": 4, "metrics": ("chrf",)}


class Echo:
    """Translates a sentence by its own words, so that longer ones share more with their references."""

    name = "echo"
    fingerprint = Fingerprint("echo")

    def translate(self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:  # noqa: ARG002
        return [[Scored(source.replace("wort", "word"))] for source in sources_of(questions)]


def items(count: int, challenging: int, phenomenon: str = "particle") -> list[ParallelSentence]:
    """Sentences of 4 to 8 words, of which the first have a phenomenon at distances 0 to 29."""
    made = []
    for number in range(count):
        words = ["wort"] * (4 + number % 5)
        hard = number < challenging
        reference = " ".join(["word"] * len(words)) if not hard else "quite other things said here"
        found = [{"phenomenon": phenomenon, "side": "source", "distance": number % 30}] if hard else []
        source = " ".join([*words, f"n{number}"])
        made.append(
            ParallelSentence(str(number), source, (f"{reference} n{number}",), extra={"dependencies": found})
        )
    return made


def rows_of(result: Result, name: str, **labels: Any) -> list[Row]:
    return [
        row
        for row in result.rows
        if row.name == name and all(row.labels.get(key) == value for key, value in labels.items())
    ]


def group_of(result: Result) -> Group:
    (group,) = result.groups
    return group


@pytest.mark.parametrize(
    ("phenomenon", "unit", "distances"),
    [
        ("particle", "words between", [0, 1, 2, 3, 4, 5, 6]),
        ("reordering", "positions apart", [0, 5, 10, 15, 20]),
        ("reordering_normalised", "words off the diagonal", [0, 5, 10, 15, 20]),
        ("reordering_crossing", "links crossed", [0, 5, 10, 15, 20]),
    ],
)
def test_every_phenomenon_has_the_unit_and_the_distances_of_its_own(
    phenomenon: str, unit: str, distances: list[int]
) -> None:
    result = challenge(Echo(), items(400, 300, phenomenon), exact=True, **FEW)
    sets = [row for row in rows_of(result, "chrf", phenomenon=phenomenon) if "min_distance" in row.labels]
    assert [row.labels["min_distance"] for row in sets] == distances
    assert {row.labels["unit"] for row in sets} == {unit}
    expected = [sum(number % 30 >= distance for number in range(300)) for distance in distances]
    assert [row.estimate.n for row in sets] == expected
    exact = [row for row in rows_of(result, "chrf", phenomenon=phenomenon) if "distance" in row.labels]
    assert bool(exact) == (phenomenon == "particle")
    shown = section(group_of(result))
    said = json.dumps(shown.as_json(), ensure_ascii=False)
    assert f"at least so many {unit}" in said
    assert phenomenon == "particle" or "words between" not in said
    far = challenge(Echo(), items(400, 300, phenomenon), distances=(5,), order_distances=(5,), **FEW)
    assert f", 5 or more {unit}: points" in section(group_of(far)).findings[0].claim


def test_order_distances_are_chosen_apart_from_words_between() -> None:
    mixed = [*items(100, 60), *(_renamed(each) for each in items(100, 60, "reordering"))]
    result = challenge(Echo(), mixed, distances=(1,), order_distances=(7, 12), **FEW)
    told = {
        (row.labels["phenomenon"], row.labels["min_distance"])
        for row in rows_of(result, "chrf")
        if "side" in row.labels
    }
    assert told == {("particle", 1), ("reordering", 7), ("reordering", 12)}


def test_all_reordering_that_was_found_is_no_set_beside_the_same_sentences_at_a_distance() -> None:
    far = [[Instance("reordering", "source", number)] for number in (6, 6, 12)]
    assert [each.min_distance for each in Partition((0,), (0, 5, 10)).subsets(far)[1:]] == [5, 10]
    near = [*far, [Instance("reordering", "source", 3)]]
    assert [each.min_distance for each in Partition((0,), (0, 5, 10)).subsets(near)[1:]] == [0, 5, 10]
    assert [each.min_distance for each in Partition((0,), (0,)).subsets(far)[1:]] == [0]


def _renamed(item: ParallelSentence) -> ParallelSentence:
    return ParallelSentence(f"r{item.id}", f"{item.source} r", item.references, extra=item.extra)


# -- caps ------------------------------------------------------------------------------------------------


def test_a_cap_draws_that_many_sentences_of_every_set_the_same_for_all_systems() -> None:
    result = challenge(Echo(), items(300, 200), max_sentences=40, **FEW)
    (whole,) = rows_of(result, "chrf", phenomenon="all")
    assert (whole.estimate.n, whole.counts["drawn_from"]) == (40, 300)
    wide = rows_of(result, "chrf", phenomenon="particle", min_distance=0)[0]
    assert (wide.estimate.n, wide.counts["drawn_from"], wide.counts["instances"]) == (40, 200, 40)
    again = challenge(Echo(), items(300, 200), max_sentences=40, **FEW)
    assert [row.as_json() for row in again.rows] == [row.as_json() for row in result.rows]
    other = challenge(Echo(), items(300, 200), max_sentences=40, seed=1, **FEW)
    assert (
        rows_of(other, "length", phenomenon="all")[0].estimate
        != rows_of(result, "length", phenomenon="all")[0].estimate
    )


def test_capped_sets_are_of_their_phenomenon_and_nested_ones_share_sentences() -> None:
    records = [{"id": each.id, "extra": each.extra} for each in items(500, 400)]
    partition = Partition((0, 3), (0,), cap=50, seed=7)
    _, wide, narrow = partition.of_records(records)[0]
    assert len(wide.members) == len(narrow.members) == 50
    assert wide.members.max() < 400
    assert all(number % 30 >= 3 for number in narrow.members)
    assert set(wide.members.tolist()) & set(narrow.having.tolist()) <= set(narrow.members.tolist())
    # Whoever is missing, the others are drawn as before.
    fewer = partition.of_records([each for each in records if each["id"] != "499"])[0][1]
    assert fewer.members.tolist() == wide.members.tolist()


def test_a_large_cap_changes_nothing() -> None:
    found = [[Instance("particle", "source", number)] for number in range(5)]
    plain, capped = (Partition((0, 2), (0,), cap=cap).subsets(found) for cap in (None, 10))
    assert [each.members.tolist() for each in plain] == [each.members.tolist() for each in capped]


# -- verdicts --------------------------------------------------------------------------------------------


def test_small_sets_have_figures_and_no_verdict() -> None:
    result = challenge(Echo(), items(300, 14), **FEW)
    shown = section(group_of(result))
    assert rows_of(result, "control_z", phenomenon="particle")
    assert not shown.findings
    (said,) = [each.text for each in shown.caveats if "verdict" in each.text]
    assert said.startswith(
        "All 7 sets have fewer than the 100 sentences that a verdict needs (--verdict-from), the largest"
    )
    assert "the largest 14." in said


def test_the_size_that_a_verdict_needs_can_be_chosen() -> None:
    result = challenge(Echo(), items(300, 60), verdict_from=50, **FEW)
    (finding,) = section(group_of(result)).findings
    assert (finding.estimate.n, finding.tone) == (60, "some")
    (said,) = [each.text for each in section(group_of(result)).caveats if "verdict" in each.text]
    assert said.startswith("1 of 7 sets has fewer than the 50 sentences")


# -- controls --------------------------------------------------------------------------------------------


def test_controls_are_drawn_from_other_sentences_unless_said() -> None:
    others = challenge(Echo(), items(300, 150), **FEW)
    every = challenge(Echo(), items(300, 150), controls="all", **FEW)
    where = {"phenomenon": "particle", "min_distance": 0}
    means = [rows_of(each, "control_mean", **where)[0].estimate.value for each in (others, every)]
    score = rows_of(others, "chrf", **where)[0].estimate.value
    # The others are translated perfectly but for the word that no reference has; half of all are the set's own.
    assert means[0] > means[1] > score
    assert means[1] == pytest.approx((means[0] + score) / 2, abs=3)


def test_a_set_without_equally_long_others_has_no_control() -> None:
    made = items(200, 200)
    result = challenge(Echo(), made, **FEW)
    (row,) = rows_of(result, "control_mean", phenomenon="particle", min_distance=0)
    assert (row.estimate.n, row.counts["unmatched"]) == (0, 200)
    assert not rows_of(result, "control_z", phenomenon="particle", min_distance=0)
    shown = section(group_of(result))
    assert any(
        "without length-matched controls, for want of other sentences as long: 1 " in each.text
        for each in shown.caveats
    )
    published = challenge(Echo(), made, controls="all", **FEW)
    assert rows_of(published, "control_mean", phenomenon="particle", min_distance=0)[0].estimate.n


def test_the_protocol_of_the_paper_is_its_settings_by_one_name() -> None:
    result = challenge(Echo(), items(120, 60), protocol="paper", **FEW)
    sets = [row.labels["min_distance"] for row in rows_of(result, "chrf", phenomenon="particle")]
    assert sets == [0, 1, 2, 3]
    (settings,) = result.settings.values()
    assert (settings.controls, settings.max_sentences, settings.order_distances) == ("all", 10_000, (5,))


def test_bad_caps_are_refused() -> None:
    with pytest.raises(BabelscopeError, match="max_sentences"):
        challenge(Echo(), items(20, 5), max_sentences=3)


# -- one study, several corpora --------------------------------------------------------------------------


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Two corpora, and two systems with a file for each."""
    for name, count in (("books", 40), ("news", 25)):
        made = items(count, 20)
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(each.as_json()) + "\n" for each in made))
        for system, word in (("good", "word"), ("bad", "thing")):
            lines = [each.source.replace("wort", word) + "\n" for each in made]
            (tmp_path / f"{system}.{name}").write_text("".join(lines))
    systems = "".join(
        f'[[systems]]\nname = "{each}"\nspec = {{ books = "file:{each}.books", news = "file:{each}.news" }}\n'
        for each in ("good", "bad")
    )
    tests = "".join(f'[[tests]]\nname = "{each}"\nspec = "{each}.jsonl"\n' for each in ("books", "news"))
    method = '[[methods]]\nname = "challenge"\nmetrics = ["bleu"]\nlength_corpora = 4\nmatched_corpora = 4\n'
    path = tmp_path / "study.toml"
    path.write_text(systems + tests + method + '[run]\nout = "run"\n')
    return path


def test_several_corpora_stand_in_one_table(study: Path, babelscope: Babelscope) -> None:
    assert babelscope("run", str(study), "--no-report").code == 0
    ran = babelscope("challenge", "--rejudge", str(study.parent / "run"), "--table")
    assert ran.code == 0, ran.err
    table, by_distance = ran.out.split("**BLEU by words between**")
    heading = next(line for line in table.split("\n") if line.startswith("| phenomenon"))
    assert (
        heading
        == "| phenomenon | distance | good, books | n | good, news | n | bad, books | n | bad, news | n |"
    )
    lines = [line.split(" | ") for line in table.split("\n") if line.startswith(("| all", "| particle"))]
    assert [[line[3], line[5], line[7]] for line in lines] == [["40", "25", "40"], ["19", "19", "19"]]
    stored = json.loads((study.parent / "run/summary.json").read_text())["rows"]
    for row in stored:
        if row["name"] == "bleu" and row["phenomenon"] == "all":
            assert f"{row['value']:.2f} [" in table
    assert by_distance.count("| books | good |") == by_distance.count("| news | bad |") == 1


def test_a_line_of_table_4_is_of_one_minimum_distance() -> None:
    """A corpus without a set at that distance has an empty cell, not the set of another distance."""
    rows = [
        Row("bleu", Estimate(40 + least, 30, 50, 9), {"system": "s", "tests": tests, **_set(least)})
        for tests, distances in (("books", (0, 1)), ("news", (0,)))
        for least in distances
    ]
    rows.append(Row("minus_all", Estimate(1, 0, 2, 9), {**rows[0].labels, "metric": "bleu"}))
    table = paper_tables(rows)[0]
    assert table.rows == [["particle", "≥ 1 words between", "9", "41.00 [30.00, 50.00]", ""]]


def _set(least: int) -> dict[str, str | int]:
    return {"phenomenon": "particle", "side": "source", "min_distance": least, "unit": "words between"}


def test_tables_of_several_corpora_keep_them_apart(study: Path, babelscope: Babelscope) -> None:
    babelscope("run", str(study), "--no-report")
    ran = babelscope("challenge", "--rejudge", str(study.parent / "run"), "--latex")
    assert ran.code == 0
    assert ran.out.count("books & good") >= 2
    assert ran.out.count("news & good") >= 2


def test_ranks_decide_which_sentences_of_a_set_stay() -> None:
    found = [[Instance("particle", "source", 1)] for _ in range(6)]
    whole, own = Partition((1,), (0,), cap=2).subsets(found, np.array([5, 0, 3, 1, 4, 2]))
    assert whole.members.tolist() == own.members.tolist() == [1, 3]
    assert (own.instances, own.having.tolist()) == (2, list(range(6)))
