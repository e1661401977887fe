"""Challenge sets: figures against sacreBLEU itself, controls and correlations against brute force and the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any, Literal

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from babelscope import challenge, load, open_system
from babelscope.core.results import Result
from babelscope.core.system import Fingerprint, Scored
from babelscope.methods.challenge.figures import (
    candidates,
    coefficients,
    draw_controls,
    expected_controls,
)
from babelscope.methods.challenge.sets import ChallengeSettings, SetName, Subset
from babelscope.metrics.ribes import sentence_ribes
from babelscope.metrics.tokenizers import MTEVAL_13A
from babelscope.testsets import ParallelSentence
from babelscope.util.errors import BabelscopeError
from tests.support.results import only_row
from tests.support.toys import Canned

WORDS = ["the", "old", "man", "gave", "his", "book", "up", "to", "a", "child", "that", "sat", "there"]


def spoiled(item: ParallelSentence, every: int) -> str:
    """The reference with some words changed."""
    kept = item.references[0].split()
    return " ".join("wrong" if at % every == 0 else word for at, word in enumerate(kept))


def dependency(phenomenon: str, distance: float, **more: Any) -> dict[str, Any]:
    return {
        "phenomenon": phenomenon,
        "side": "source",
        "head": 1,
        "dependent": 3,
        "distance": distance,
        **more,
    }


def items(count: int = 60) -> list[ParallelSentence]:
    rng = np.random.default_rng(3)
    made = []
    for number in range(count):
        size = int(rng.integers(4, 12))
        reference = " ".join(rng.choice(WORDS, size))
        found = [dependency("particle", int(rng.integers(0, 5))) for _ in range(number % 3)]
        if number % 7 == 0:
            found.append(dependency("reflexive", 2))
        source = " ".join(["wort"] * (size - 1) + [f"nr{number}"])
        made.append(ParallelSentence(str(number), source, (reference,), extra={"dependencies": found}))
    return made


def canned(name: str, every: int) -> Canned:
    return Canned({item.source: spoiled(item, every) for item in items()}, name)


@pytest.fixture(scope="module")
def result() -> Result:
    return challenge([canned("good", 5), canned("bad", 2)], items(), matched_corpora=50, exact=True)


def members(least: float, most: float = math.inf) -> list[ParallelSentence]:
    return [
        item
        for item in items()
        if any(
            each["phenomenon"] == "particle" and least <= each["distance"] <= most
            for each in item.extra["dependencies"]
        )
    ]


def scores(some: Sequence[ParallelSentence], every: int) -> dict[str, float]:
    translations = [spoiled(item, every) for item in some]
    references = [[item.references[0] for item in some]]
    return {
        "bleu": sacrebleu.corpus_bleu(translations, references).score,
        "chrf": sacrebleu.corpus_chrf(translations, references).score,
        "ribes": mean(
            sentence_ribes(MTEVAL_13A.split(t), [MTEVAL_13A.split(r)])
            for t, r in zip(translations, references[0], strict=True)
        ),
    }


def test_every_set_has_its_corpus_scores_and_their_difference_from_all(result: Result) -> None:
    whole = scores(items(), 5)
    for distance in range(5):
        for labels, some in (
            ({"min_distance": distance}, members(distance)),
            ({"distance": distance}, members(distance, distance)),
        ):
            own = scores(some, 5)
            for metric, value in own.items():
                where = {"system": "good", "phenomenon": "particle", **labels}
                row = only_row(result.rows, metric, **where)
                assert row.estimate.value == pytest.approx(value)
                assert row.estimate.n == len(some)
                assert row.estimate.low < row.estimate.value < row.estimate.high
                difference = only_row(result.rows, "minus_all", metric=metric, **where).estimate
                assert difference.value == pytest.approx(value - whole[metric])
    assert only_row(result.rows, "bleu", system="good", phenomenon="all").estimate.n == 60
    everything = only_row(result.rows, "bleu", system="good", phenomenon="particle", min_distance=0)
    assert everything.counts["instances"] == sum(
        each["phenomenon"] == "particle" for item in items() for each in item.extra["dependencies"]
    )


def test_differences_between_systems_are_paired(result: Result) -> None:
    good, bad = (only_row(result.rows, "bleu", system=s, phenomenon="all").estimate for s in ("good", "bad"))
    row = only_row(result.rows, "difference", system="good", against="bad", phenomenon="all", metric="bleu")
    assert row.estimate.value == pytest.approx(good.value - bad.value)
    # Paired, the interval is narrower than two independent ones would make it.
    width = math.hypot(good.high - good.low, bad.high - bad.low)
    assert row.estimate.high - row.estimate.low < width


def test_a_system_is_no_different_from_its_twin() -> None:
    twins = challenge([canned("one", 3), canned("two", 3)], items(), matched_corpora=2)
    for row in twins.rows:
        if row.name == "difference":
            assert (row.estimate.value, row.estimate.no_interval[-15:]) == (0, "sentences alike")


def test_a_set_that_is_everything_is_not_different_from_all() -> None:
    everything = [
        ParallelSentence(i.id, i.source, i.references, extra={"dependencies": [dependency("all_of_it", 1)]})
        for i in items()
    ]
    found = challenge(canned("good", 5), everything, matched_corpora=2)
    rows = [row.estimate for row in found.rows if row.name == "minus_all"]
    assert {(each.value, each.no_interval) for each in rows} == {(0.0, "all 60 sentences alike")}


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.integers(0, 3), st.data())
def test_controls_have_the_length_distribution_of_the_set(
    lengths: list[int], apart: int, data: st.DataObject
) -> None:
    own = np.array(data.draw(st.lists(st.integers(0, len(lengths) - 1), min_size=1, max_size=5, unique=True)))
    known = np.array(lengths, dtype=float)
    subset = Subset(SetName("particle"), own, own)
    settings = ChallengeSettings(matched_corpora=20, length_tolerance=apart, controls="all")
    drawn, unmatched = draw_controls(known, subset, settings, np.random.default_rng(0))
    assert (drawn.shape, unmatched) == ((20, len(own)), 0)
    assert (abs(known[drawn] - known[own]) <= apart).all()
    settings = ChallengeSettings(matched_corpora=20, length_tolerance=apart)
    others, unmatched = draw_controls(known, subset, settings, np.random.default_rng(0))
    rest = np.setdiff1d(np.arange(len(known)), own)
    matched = [each for each in own if (abs(known[rest] - known[each]) <= apart).any()]
    assert (others.shape, unmatched) == ((20, len(matched)), len(own) - len(matched))
    assert not np.isin(others, own).any()
    assert (abs(known[others] - known[matched]) <= apart).all()


def test_all_candidates_of_a_control_are_equally_likely() -> None:
    lengths = np.array([5, 9, 6, 4, 5, 7, 20], dtype=float)
    subset = Subset(SetName("particle"), np.array([0]), np.array([0]))
    settings = ChallengeSettings(matched_corpora=8000, controls="all")
    drawn, _ = draw_controls(lengths, subset, settings, np.random.default_rng(0))
    counts = np.bincount(drawn[:, 0], minlength=7) / 8000
    assert counts == pytest.approx([0.25, 0, 0.25, 0.25, 0.25, 0, 0], abs=0.02)


@pytest.mark.parametrize("pool", ["others", "all"])
def test_expected_controls_without_each_group_are_those_of_the_other_sentences(
    pool: Literal["others", "all"],
) -> None:
    rng = np.random.default_rng(5)
    for count in (4, 9, 25):
        lengths, columns = rng.integers(1, 8, count).astype(float), rng.random((count, 2))
        groups, own = rng.integers(0, count // 2, count), np.arange(0, count, 3)
        settings, subset = ChallengeSettings(controls=pool), Subset(SetName("particle"), own, own)
        total, without, _ = expected_controls(columns, lengths, subset, groups, settings)
        for group, sums in [(-1, total), *enumerate(without)]:
            right = np.zeros(2)
            for member in own[groups[own] != group]:
                near = [
                    n for n in candidates(count, subset, settings) if abs(lengths[n] - lengths[member]) <= 1
                ]
                if near := [n for n in near if groups[n] != group]:
                    right += columns[near].mean(axis=0)
            assert sums == pytest.approx(right)


# Table 5 of the paper: its "Spearman" is Pearson's r (nine rows of ten).
TABLE_5 = [
    ((7.56, 7.52, 7.5, 7.49), -0.96),
    ((8.26, 8.15, 8.04), -1.0),
    ((4.96, 5.3, 4.96, 6.01), 0.73),
    ((5, 5.37, 4.42, 4.64), -0.63),
    ((15.48, 15.41, 14.45, 12.36), -0.92),
    ((15.27, 14.91, 15.13, 13.14), -0.80),
    ((10.14, 9.55, 9.36, 8.82), -0.98),
    ((9.46, 9.97, 9.54, 9.35), -0.36),
    ((10.01, 9.73, 9.14, 9.04), -0.97),
]


@pytest.mark.parametrize(("values", "printed"), TABLE_5)
def test_table_5_of_the_paper_is_pearson(values: tuple[float, ...], printed: float) -> None:
    points = np.arange(len(values), dtype=float)
    assert coefficients(points, np.array(values)[:, None], "pearson")[0] == pytest.approx(printed, abs=0.006)


def test_spearman_is_spearman() -> None:
    points = np.arange(4.0)
    columns = np.array(
        [[7.56, 7.52, 7.5, 7.49], [5.41, 5.07, 5.25, 5.04], [1, 1, 1, 1], [1, math.nan, 2, 3]]
    ).T
    found = coefficients(points, columns, "spearman")
    assert found[:2] == pytest.approx([-1.0, -0.8])
    assert np.isnan(found[2:]).all(), "no correlation with what does not vary, or is not known"
    assert coefficients(points, columns[:, 1:2], "pearson")[0] == pytest.approx(-0.70, abs=0.005)


def test_distance_correlations_are_of_sets_and_of_sentences(result: Result) -> None:
    where = {"system": "good", "phenomenon": "particle", "metric": "bleu"}
    sets = only_row(result.rows, "distance_pearson", over="sets", **where)
    values = [scores(members(d), 5)["bleu"] for d in range(5)]
    assert sets.labels["distances"] == "0,1,2,3,4"
    assert sets.estimate.value == pytest.approx(np.corrcoef(range(5), values)[0, 1])
    assert sets.estimate.n == 5
    sentences = only_row(result.rows, "distance_spearman", over="sentences", **where)
    assert sentences.estimate.n == len(members(0))
    # One set only, whatever the minimum distance: nothing to go with.
    where["phenomenon"] = "reflexive"
    assert only_row(result.rows, "distance_pearson", over="sets", **where).estimate.n == 0


def test_the_length_check_is_over_random_corpora() -> None:
    found = challenge(
        canned("good", 4), items(), matched_corpora=2, length_corpora=300, length_sizes=(30, 60, 10)
    )
    sizes = {r.labels["sentences"] for r in found.rows if r.name == "length_pearson"}
    assert sizes == {30, 10}, "as many sentences as there are leave nothing to draw"
    row = only_row(found.rows, "length_pearson", sentences=10, metric="chrf")
    assert row.estimate.n == 300
    assert -1 < row.estimate.low < row.estimate.high < 1


def test_target_side_dependencies_are_sets_of_their_own_and_one_sentence_has_no_interval() -> None:
    made = [
        ParallelSentence(
            i.id, i.source, i.references, extra={"dependencies": [dependency("particle", 1, side=side)]}
        )
        for i, side in zip(items(4), ("source", "target", "target", "target"), strict=True)
    ]
    found = challenge(canned("good", 5), made, matched_corpora=2, metrics=("ribes",))
    rows = {r.labels["side"]: r for r in found.rows if r.name == "ribes" and "side" in r.labels}
    assert {side: row.estimate.n for side, row in rows.items()} == {"source": 1, "target": 3}
    assert rows["source"].as_json()["low"] is None


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({}, "item x has no field 'dependencies'; a challenge set is made by `babelscope make challenge`"),
        ({"dependencies": "none"}, "item x has no list in its field 'dependencies'"),
        ({"dependencies": [3]}, "item x: dependency 1 is not an object"),
        ({"dependencies": [dependency("", 1)]}, "field 'phenomenon' must name one"),
        ({"dependencies": [dependency("all", 1)]}, "'all' is taken"),
        (
            {"dependencies": [dependency("p", 1), dependency("p", -1)]},
            "dependency 2: field 'distance' must be",
        ),
        ({"dependencies": [dependency("p", True)]}, "must be a number, 0 or more, not True"),
        ({"dependencies": [dependency("p", 1, side="left")]}, "must be source or target, not 'left'"),
    ],
)
def test_bad_dependencies_are_refused_before_anything_is_translated(extra: dict[str, Any], said: str) -> None:
    class Never:
        name = "never"
        fingerprint = Fingerprint("never", "")

        def translate(self, *_: object, **__: object) -> list[list[Scored]]:
            raise AssertionError

    with pytest.raises(BabelscopeError, match=said.replace("(", "\\(")):
        challenge(Never(), [ParallelSentence("x", "a", ("b",), extra=extra)])


def test_a_file_of_translations_is_asked_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("".join(f"{i.references[0]}\n" for i in items()))
    system = open_system(f"file:{tmp_path}/out.txt")
    found = challenge(system, items(), matched_corpora=2)
    assert only_row(found.rows, "bleu", phenomenon="all").estimate.value == pytest.approx(100)
    # All is perfect, controls too: they are all at or below the score, and no spread to measure it by.
    assert {row.estimate.value for row in found.rows if row.name == "control_rank"} == {1.0}
    assert not [row for row in found.rows if row.name == "control_z"]
    with pytest.raises(
        BabelscopeError, match=r"has translations of 60 sources, but the test set items has 59"
    ):
        challenge(system, items()[:-1])


def test_the_seed_and_nothing_else_decides(result: Result) -> None:
    settings: dict[str, Any] = {"matched_corpora": 50, "exact": True}
    again = challenge([canned("good", 5), canned("bad", 2)], items(), chunk=7, **settings)
    assert [row.as_json() for row in again.rows] == [row.as_json() for row in result.rows]
    other = challenge([canned("good", 5), canned("bad", 2)], items(), seed=1, **settings)
    assert [r.estimate.value for r in other.rows][:8] == [r.estimate.value for r in result.rows][:8]
    # Intervals draw nothing; controls do.
    assert other.rows[0].estimate == result.rows[0].estimate
    one, another = (
        [row.estimate.value for row in each.rows if row.name == "control_mean"] for each in (result, other)
    )
    assert one != another


# README-ldd.md of the shared data: BLEU and chrF2 to 2 decimals, RIBES to 4.
PUBLISHED = {
    "de-en/google": {
        "all": (3000, 32.81, 58.91, 0.8277),
        "reordering": (275, 28.96, 55.39, 0.8064),
        "particle": (232, 30.72, 58.03, 0.8275),
        "reflexive": (281, 31.82, 58.29, 0.8379),
    },
    "de-en/bergamot-base": {
        "all": (3000, 31.84, 58.46, 0.8243),
        "reordering": (275, 26.64, 54.67, 0.8014),
        "particle": (232, 29.62, 56.94, 0.8201),
        "reflexive": (281, 30.92, 57.90, 0.8340),
    },
    "en-de/google": {
        "all": (3000, 28.81, 57.55, 0.8182),
        "particle": (17, 20.54, 50.49, 0.7903),
        "reflexive": (11, 28.39, 57.19, 0.7946),
        "preposition_stranding": (8, 16.27, 48.05, 0.7812),
    },
}
# The same, length-matched controls of google de-en: mean and sd of BLEU, to the precision of 100 draws.
CONTROLS = {"reordering": (33.0, 1.1), "particle": (32.7, 1.2), "reflexive": (32.6, 1.0)}


@pytest.mark.filterwarnings("ignore:.*a line break is missing")  # the released parses are so
@pytest.mark.parametrize("pair", ["de-en", "en-de"])
def test_figures_of_real_systems_on_newstest2013_are_the_published_ones(shared: Path, pair: str) -> None:
    source, target = pair.split("-")
    data = shared / "data"
    text = f"{data}/newstest/text/wmt13"
    tests = load(f"ldd:{data}/ldd/news,{text}.{source},{text}.{target}")
    systems = [name.partition("/")[2] for name in PUBLISHED if name.startswith(pair)]
    files = [open_system(f"file:{data}/newstest/out/{pair}/wmt13.{name}.{target}") for name in systems]
    sets = {"distances": (0,), "order_distances": (5,), "controls": "all"}
    found = challenge(files, tests, length_corpora=4, **sets)
    for name in systems:
        for phenomenon, (n, bleu, chrf, ribes) in PUBLISHED[f"{pair}/{name}"].items():
            rows = [
                only_row(found.rows, m, system=f"wmt13.{name}.{target}", phenomenon=phenomenon)
                for m in ("bleu", "chrf", "ribes")
            ]
            assert [row.estimate.n for row in rows] == [n] * 3
            values = [row.estimate.value for row in rows]
            assert [round(values[0], 2), round(values[1], 2), round(values[2], 4)] == [bleu, chrf, ribes]
    if pair == "de-en":
        for phenomenon, (mean, sd) in CONTROLS.items():
            where = {"system": "wmt13.google.en", "phenomenon": phenomenon, "metric": "bleu"}
            # A mean of 100 draws has a standard error of a tenth of their sd, an sd one of a fourteenth.
            assert only_row(found.rows, "control_mean", **where).estimate.value == pytest.approx(
                mean, abs=0.4
            )
            assert only_row(found.rows, "control_sd", **where).estimate.value == pytest.approx(sd, abs=0.3)
