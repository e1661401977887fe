"""Sets of challenge items: units of distance, caps, what a verdict needs, controls drawn from other sentences."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import babelscope as bs
from babelscope import challenge
from babelscope.core.charts import Lines
from babelscope.core.results import Result, Row
from babelscope.core.system import Asked, Fingerprint, Scored, sources_of
from babelscope.core.tables import Line, Table
from babelscope.methods.challenge.method import Challenge
from babelscope.methods.challenge.sets import (
    ChallengeSettings,
    Instance,
    make_sets,
    sets_of_records,
)
from babelscope.testsets import ParallelSentence
from tests.support.results import only_row, rows_of
from tests.support.toy_fixtures import Babelscope
from tests.support.toys import Canned

FEW: dict[str, Any] = {"matched_corpora": 20, "length_corpora": 4, "metrics": ("chrf",)}


class Echo:
    """Translates a sentence by its own words, so that longer ones share more with their references."""

    name = "echo"
    fingerprint = Fingerprint("echo")

    def __init__(self, *, asked_as_a_whole: bool = False) -> None:
        self.asked_as_a_whole, self.calls = asked_as_a_whole, list[int]()

    def translate(self, questions: Sequence[Asked], **_options: Any) -> list[list[Scored]]:
        self.calls.append(len(questions))
        texts = [source.replace("wort", "word") for source in sources_of(questions)]
        return [[Scored(text, notes=("unfinished",) if "n3" in text else ())] for text in texts]


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


def method_of(result: Result) -> Challenge:
    return Challenge(next(iter(result.settings.values())))


def first_table(result: Result) -> Table:
    (comparison,) = result.groups
    return method_of(result).tables(comparison)[0]


def sets_in(table: Table) -> list[Line]:
    """The lines about sets, not about all sentences."""
    return [line for line in table.lines if "group" in line.query]


@pytest.mark.parametrize(
    ("phenomenon", "unit", "distances"),
    [
        ("particle", "words between", [0, 1, 2, 3, 4, 5, 6]),
        ("reordering", "positions apart", [0, 5, 10, 15, 20]),
        ("reordering_normalized", "words off the diagonal", [0, 5, 10, 15, 20]),
        ("reordering_crossing", "links crossed", [0, 5, 10, 15, 20]),
    ],
)
def test_every_phenomenon_has_the_unit_and_the_distances_of_its_own(
    phenomenon: str, unit: str, distances: list[int]
) -> None:
    result = challenge(Echo(), items(400, 300, phenomenon), exact=True, **FEW)
    sets = [
        row for row in rows_of(result.rows, "chrf", phenomenon=phenomenon) if "min_distance" in row.labels
    ]
    assert [row.labels["min_distance"] for row in sets] == distances
    assert {row.labels["unit"] for row in sets} == {unit}
    expected = [sum(number % 30 >= distance for number in range(300)) for distance in distances]
    assert [row.estimate.n for row in sets] == expected
    exact = [row for row in rows_of(result.rows, "chrf", phenomenon=phenomenon) if "distance" in row.labels]
    assert bool(exact) == (phenomenon == "particle")
    (comparison,) = result.groups
    _, chart = method_of(result).charts(comparison)
    assert isinstance(chart.drawing, Lines)
    assert chart.drawing.x_label == f"at least so many {unit}"
    far = challenge(Echo(), items(400, 300, phenomenon), distances=(5,), order_distances=(5,), **FEW)
    (line,) = sets_in(first_table(far))
    assert line.query["group"] == f"{phenomenon}, 5 or more {unit}"
    behind = [method_of(far).show(record).matches(line.query) for record in far.records]
    assert sum(behind) == sum(number % 30 >= 5 for number in range(300))


def test_all_reordering_that_was_found_is_no_set_beside_the_same_sentences_at_a_distance() -> None:
    far = [[Instance("reordering", "source", number)] for number in (6, 6, 12)]

    def minimums(found: list[list[Instance]], *order_distances: int) -> list[int | None]:
        settings = ChallengeSettings(order_distances=order_distances)
        return [each.name.min_distance for each in make_sets(found, settings)[1:]]

    assert minimums(far, 0, 5, 10) == [5, 10]
    near = [*far, [Instance("reordering", "source", 3)]]
    assert minimums(near, 0, 5, 10) == [0, 5, 10]
    assert minimums(far, 0) == [0]


def test_a_cap_draws_that_many_sentences_of_every_set_the_same_for_all_systems() -> None:
    result = challenge(Echo(), items(300, 200), max_sentences=40, **FEW)
    (whole,) = rows_of(result.rows, "chrf", phenomenon="all")
    assert (whole.estimate.n, whole.counts["drawn_from"]) == (40, 300)
    wide = rows_of(result.rows, "chrf", phenomenon="particle", min_distance=0)[0]
    assert (wide.estimate.n, wide.counts["drawn_from"], wide.counts["instances"]) == (40, 200, 40)
    again = challenge(Echo(), items(300, 200), max_sentences=40, **FEW)
    assert [row.as_json() for row in again.rows] == [row.as_json() for row in result.rows]
    other = challenge(Echo(), items(300, 200), max_sentences=40, seed=1, **FEW)
    assert (
        rows_of(other.rows, "length", phenomenon="all")[0].estimate
        != rows_of(result.rows, "length", phenomenon="all")[0].estimate
    )


def test_capped_sets_are_of_their_phenomenon_and_nested_ones_share_sentences() -> None:
    records = [{"id": each.id, "extra": each.extra} for each in items(500, 400)]
    settings = ChallengeSettings(distances=(0, 3), max_sentences=50)
    _, wide, narrow = sets_of_records(records, settings, 7)[0]
    assert len(wide.members) == len(narrow.members) == 50
    assert wide.members.max() < 400
    assert all(number % 30 >= 3 for number in narrow.members)
    assert set(wide.members.tolist()) & set(narrow.having.tolist()) <= set(narrow.members.tolist())
    # Whoever is missing, the others are drawn as before.
    fewer = sets_of_records([each for each in records if each["id"] != "499"], settings, 7)[0][1]
    assert fewer.members.tolist() == wide.members.tolist()


def test_small_sets_have_figures_and_no_verdict() -> None:
    result = challenge(Echo(), items(300, 14), **FEW)
    shown = first_table(result)
    assert rows_of(result.rows, "control_z", phenomenon="particle")
    assert {line.verdict for line in sets_in(shown)} == {"too few items"}
    (said,) = [each.text for each in shown.notes if "verdict" in each.text]
    assert said.startswith(
        "All 7 sets have fewer than the 100 sentences needed for a verdict (--min-sentences); the largest has"
    )
    assert "the largest has 14." in said


def test_the_size_that_a_verdict_needs_can_be_chosen() -> None:
    result = challenge(Echo(), items(300, 60), min_sentences=50, **FEW)
    shown = first_table(result)
    (line,) = sets_in(shown)
    score = rows_of(result.rows, "chrf", min_distance=0)[0].estimate
    assert (line.cells[shown.labels], line.verdict) == (score, "error")
    assert shown.lines[0] == line, "the worst first"
    (said,) = [each.text for each in shown.notes if "verdict" in each.text]
    assert said.startswith("1 of 7 sets has fewer than the 50 sentences")


def test_controls_are_drawn_from_other_sentences_unless_said() -> None:
    others = challenge(Echo(), items(300, 150), **FEW)
    every = challenge(Echo(), items(300, 150), controls="all", **FEW)
    where = {"phenomenon": "particle", "min_distance": 0}
    means = [rows_of(each.rows, "control_mean", **where)[0].estimate.value for each in (others, every)]
    score = rows_of(others.rows, "chrf", **where)[0].estimate.value
    # The others are translated perfectly but for the word that no reference has; half of all are the set's own.
    assert means[0] > means[1] > score
    assert means[1] == pytest.approx((means[0] + score) / 2, abs=3)


def test_a_set_without_equally_long_others_has_no_control() -> None:
    made = items(200, 200)
    result = challenge(Echo(), made, **FEW)
    (row,) = rows_of(result.rows, "control_mean", phenomenon="particle", min_distance=0)
    assert (row.estimate.n, row.counts["unmatched"]) == (0, 200)
    assert not rows_of(result.rows, "control_z", phenomenon="particle", min_distance=0)
    shown = first_table(result)
    assert [line.verdict for line in sets_in(shown)] == ["unknown"]
    assert any(
        "without length-matched controls, because no other sentences are as long: 1 " in each.text
        for each in shown.notes
    )
    published = challenge(Echo(), made, controls="all", **FEW)
    assert rows_of(published.rows, "control_mean", phenomenon="particle", min_distance=0)[0].estimate.n


def test_the_protocol_of_the_paper_is_its_settings_by_one_name() -> None:
    result = challenge(Echo(), items(120, 60), protocol="paper", **FEW)
    sets = [row.labels["min_distance"] for row in rows_of(result.rows, "chrf", phenomenon="particle")]
    assert sets == [0, 1, 2, 3]
    (settings,) = result.settings.values()
    assert (settings.controls, settings.max_sentences, settings.order_distances) == ("all", 10_000, (5,))


# -- one study, several corpora --------------------------------------------------------------------------


def test_systems_are_asked_in_calls_of_their_choice_and_notes_counted() -> None:
    whole, parts, cached = Echo(asked_as_a_whole=True), Echo(asked_as_a_whole=True), Echo()
    for system, more in ((whole, {}), (parts, {"chunk": 65}), (cached, {})):
        result = challenge(system, items(130, 60), **FEW, **more)
        row = only_row(result.rows, "chrf", phenomenon="all")
        assert (row.estimate.n, row.counts["unfinished"], row.counts["empty"]) == (130, 11, 0)
    assert (whole.calls, parts.calls, cached.calls) == ([130], [65, 65], [128, 2])


LETTERS = list("abcdefghijklmnoprstuvwz")
Pairs = list[tuple[ParallelSentence, str]]


def corpus(sentences: int, shares: Sequence[float], seed: int, *, loss: float = 0.0) -> Pairs:
    """Sentences and their translations; each is in each set with a probability, `loss` of words more are lost in the
    first set.

    Lengths and sentence scores are skewed, and longer sentences are worse.
    """
    rng = np.random.default_rng([seed, sentences, len(shares)])
    vocabulary = np.array(["".join(rng.choice(LETTERS, rng.integers(2, 10))) for _ in range(400)])
    made = []
    for number in range(sentences):
        words = rng.choice(vocabulary, int(np.clip(rng.lognormal(2.5, 0.5), 3, 45)))
        inside = rng.random(len(shares)) < shares
        error = np.clip(rng.beta(1.2, 2.8) + 0.004 * (len(words) - 12), 0, 1) + loss * inside[0]
        other = rng.choice(vocabulary, len(words))
        output = np.where(rng.random(len(words)) < error, other, words)
        found = [
            {"phenomenon": f"p{place}", "side": "source", "distance": 0} for place in np.flatnonzero(inside)
        ]
        item = ParallelSentence(
            str(number), " ".join([*words, f"n{number}"]), (" ".join(words),), extra={"dependencies": found}
        )
        made.append((item, " ".join(output)))
    return made


def judged(pairs: Pairs) -> Result:
    return bs.challenge(
        Canned({item.source: output for item, output in pairs}),
        [item for item, _ in pairs],
        metrics=("chrf",),
        distances=(0,),
        length_sizes=(),
    )


def against_controls(result: Result) -> list[Row]:
    return [row for row in result.rows if row.name == "minus_control"]


def weaknesses(result: Result) -> list[str]:
    """The sets that rows show to be worse, which must be what the first table says."""
    rows = [row for row in against_controls(result) if row.estimate.n >= 100 and row.estimate.high < 0]
    weak = [str(row.labels["phenomenon"]) for row in rows]
    told = [line.query["group"] for line in first_table(result).lines if line.verdict == "error"]
    assert sorted(weak) == sorted(told)
    return weak


def shares_of(sets: int, seed: int) -> list[float]:
    return [*np.random.default_rng(seed).uniform(0.1, 0.4, sets)]


def test_sets_drawn_at_random_have_no_weakness() -> None:
    found = [weaknesses(judged(corpus(500, shares_of(15, seed), seed))) for seed in range(5)]
    assert sum(map(bool, found)) <= 1, found


def test_a_planted_loss_is_found_among_many_sets() -> None:
    result = judged(corpus(1000, [0.3, *shares_of(14, 1)], 1, loss=0.085))
    whole, lost = (only_row(result.rows, "chrf", phenomenon=p).estimate.value for p in ("all", "p0"))
    assert 3 < whole - lost < 7
    assert weaknesses(result) == ["p0"]


def test_the_interval_knows_that_controls_come_from_few_sentences() -> None:
    """Of 400 sentences, a set has 60 or 320, so that as few as 80 are left to compare it with."""
    widths = {}
    for share in (0.15, 0.8):
        result = judged(corpus(400, [share], 3))
        away = only_row(result.rows, "minus_control").estimate
        score = only_row(result.rows, "chrf", phenomenon="p0").estimate
        widths[share] = (away.high - away.low) / (score.high - score.low)
    assert widths[0.15] < 1.4
    assert widths[0.8] > 1.7


def test_the_interval_is_for_all_sets_at_once() -> None:
    alone, *_ = against_controls(judged(corpus(400, [0.3], 4)))
    pairs = corpus(400, [0.3], 4)
    rng = np.random.default_rng(0)
    for item, _ in pairs:
        more = [{"phenomenon": f"q{place}", "distance": 0} for place in range(19) if rng.random() < 0.3]
        item.extra["dependencies"].extend(more)
    among, *_ = (row for row in against_controls(judged(pairs)) if row.labels["phenomenon"] == "p0")
    assert alone.estimate.value == pytest.approx(among.estimate.value)
    assert (alone.counts["sets"], among.counts["sets"]) == (1, 20)
    # Normal quantiles at 5 % and at a twentieth of it: 1.96 and 3.02.
    ratio = (among.estimate.high - among.estimate.low) / (alone.estimate.high - alone.estimate.low)
    assert ratio == pytest.approx(3.02 / 1.96, rel=0.05)


@pytest.mark.parametrize(("loss", "said"), [(0.0, "not significant"), (0.12, "error")])
def test_the_command_says_so(babelscope: Babelscope, tmp_path: Path, loss: float, said: str) -> None:
    pairs = corpus(400, [0.4, *shares_of(5, 2)], 2, loss=loss)
    lines = [json.dumps(item.as_json()) + "\n" for item, _ in pairs]
    (tmp_path / "set.jsonl").write_text("".join(lines))
    (tmp_path / "out.txt").write_text("".join(f"{output}\n" for _, output in pairs))
    few = ("--distance", "0", "--metric", "chrf", "--set", "length_corpora=4", "--format", "csv")
    ran = babelscope("challenge", "--tests", "set.jsonl", "--system", "file:out.txt", *few)
    assert ran.code == 0, ran.err
    (line,) = [line for line in ran.out.split("\n") if line.startswith("p0,")]
    assert line.endswith(said)


DESIGNS = {
    "1 of 10 % of 3,000": (3000, 1, 0.1),
    "1 of 30 % of 600": (600, 1, 0.3),
    "1 of 50 % of 400": (400, 1, 0.5),
    "15 of 1,000": (1000, 15, None),
    "24 of 3,000": (3000, 24, None),
}


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_few_runs_report_a_weakness_where_there_is_none_and_most_find_a_loss_of_five_points(
    design: str,
) -> None:
    """300 runs of each design reported a weakness in at most 3.3 % of cases; here there are 12."""
    sentences, sets, share = DESIGNS[design]
    null = found = 0
    for seed in range(12):
        shares = [share] if share else [0.3, *shares_of(sets - 1, seed)]
        null += bool(weaknesses(judged(corpus(sentences, shares, seed))))
        found += "p0" in weaknesses(judged(corpus(sentences, shares, seed, loss=0.085)))
    assert null <= 2
    assert found >= 9
