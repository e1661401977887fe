"""Table 1 of the lab with its headline: controls, real errors and false positives told apart."""

from __future__ import annotations

import pytest

pytest.importorskip("HanTa")
pytest.importorskip("german_nouns.config")

from babelscope import contrast, open_system
from babelscope.core.results import Result
from babelscope.lab.experiments.planted import PLANTED_TYPE
from babelscope.lab.grammar.corpus import generate
from babelscope.lab.grammar.oracle import SentenceChecker
from babelscope.methods.contrast.by_type import TypeFigures, figures_by_type
from babelscope.methods.contrast.view import VIEW
from babelscope.methods.view import section_of
from babelscope.report.summary import summarise
from babelscope.testsets import load

N, SEED = 60, 2026
TESTS = f"lab:pairs?n={N}&seed={SEED}"
FALSE_TYPES = {
    "np_agreement": "agreement: article",
    "polarity_particle_kein_del": "polarity: kein",
    "polarity_affix_del": "polarity: un",
    "hypercorrect_genitive": "case",
}
"""Types that the planted system does not get wrong -> what the grammar says where one is."""


@pytest.fixture(scope="module")
def result() -> Result:
    return contrast(open_system("lab:planted?share=0.4&waver=1.5"), load(TESTS), spread=0)


@pytest.fixture(scope="module")
def types(result: Result) -> dict[str, TypeFigures]:
    return {each.name: each for each in figures_by_type(result.rows)}


def true_shares(result: Result) -> dict[str, float]:
    """For each error type, the share of its sources whose free translation has the error, as the grammar says."""
    meanings = {pair.source: pair.meaning for pair in generate(200 * N + 2000, SEED, "test")}
    wrong = {PLANTED_TYPE: "polarity: nicht", **FALSE_TYPES}
    found = {}
    for name, problem in wrong.items():
        own = {r["source"]: r["best"]["text"] for r in result.records if r["phenomenon"] == name}
        verdicts = [SentenceChecker(meanings[source], text).verdict((), ()) for source, text in own.items()]
        found[name] = sum(any(p.startswith(problem) for p in each.problems) for each in verdicts) / len(own)
    return found


@pytest.mark.slow
def test_the_truth_is_what_was_planted(result: Result) -> None:
    truth = true_shares(result)
    assert 0.25 < truth[PLANTED_TYPE] < 0.55
    assert all(truth[name] <= 0.05 for name in FALSE_TYPES)


@pytest.mark.slow
def test_control_real_and_false_are_told_apart(types: dict[str, TypeFigures], result: Result) -> None:
    assert {name for name, each in types.items() if each.reading == "control"} == {
        "placeholder_ding",
        "hypercorrect_genitive",
    }
    assert types[PLANTED_TYPE].reading == "real"
    free = types[PLANTED_TYPE].free
    assert free is not None
    assert free.estimate.low <= true_shares(result)[PLANTED_TYPE] <= free.estimate.high
    for name in ("np_agreement", "polarity_particle_kein_del", "polarity_affix_del"):
        # Forced choice reports errors that it does not make; controls or free output say so.
        assert types[name].forced.estimate.low > 0.02, name
        assert types[name].reading in ("as controls", "few controls", "false"), name


def test_only_what_is_real_is_called_an_error(result: Result) -> None:
    (group,) = result.groups
    found = [each for each in section_of(group, VIEW).findings if each.claim.startswith("Prefers")]
    serious = [each for each in found if each.tone in ("errors", "some") and each.tag != "Forced"]
    assert [each.query["group"] for each in serious] == [f"{PLANTED_TYPE}, human reference"]
    told = summarise(result, width=80)
    first = next(line for line in told.split("\n") if line.startswith("references: "))
    assert first == "references: human, reading: real"
