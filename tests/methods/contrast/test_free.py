"""Errors in free translations: by hand on sentences of our own, and against the lab's grammar as the truth."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

pytest.importorskip("HanTa")
pytest.importorskip("german_nouns.config")

from babelscope import contrast
from babelscope.core.answers import Scored, Target
from babelscope.core.question import Asked, sources_of
from babelscope.core.results import Estimate, Record, Result, Row
from babelscope.lab.grammar.contrasts import CONTRASTS
from babelscope.lab.grammar.corpus import generate
from babelscope.lab.grammar.oracle import SentenceChecker, Verdict
from babelscope.lab.grammar.sentences import SentencePair, realise
from babelscope.language.detecting import analysis_version
from babelscope.methods.base import set_up
from babelscope.methods.cells import make_cells
from babelscope.methods.contrast.output_errors import output_error_rows
from babelscope.methods.contrast.table import table
from babelscope.methods.errors.figures import NOT_MEASURABLE
from babelscope.stats.detection import rogan_gladen
from babelscope.testsets import MinimalPair, TestSet
from babelscope.util.errors import BabelscopeError
from tests.support.toys import ToySystem

NICHT, KEIN, DING = "polarity_particle_nicht_del", "polarity_particle_kein_del", "placeholder_ding"


class Scripted:
    """Translates each source as it is told; the longer a text, the less probable."""

    fingerprint = ToySystem().fingerprint

    def __init__(self, translations: Mapping[str, str], name: str = "scripted") -> None:
        self.name = name
        self.translations = translations

    def score(self, pairs: Sequence[tuple[str, Target]]) -> list[Scored]:
        return [Scored(str(text), (str(text),), (-len(str(text)) / 100,)) for _, text in pairs]

    def translate(self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:  # noqa: ARG002
        return [[Scored(self.translations.get(source, source))] for source in sources_of(questions)]


def pair(
    number: object, phenomenon: str, source: str, correct: str, *contrastive: str, kind: Any = "human"
) -> MinimalPair:
    return MinimalPair(f"{phenomenon}/{number}", source, correct, contrastive, phenomenon, kind)


ITEMS = [
    pair(1, DING, "The dog barks.", "Der Hund bellt.", "Der Ding bellt."),
    pair(2, DING, "She does not see a cat.", "Sie sieht keine Katze.", "Sie sieht keine Ding."),
    pair(1, NICHT, "He does not come.", "Er kommt nicht.", "Er kommt."),
    pair(2, NICHT, "He never comes.", "Er kommt nicht.", "Er kommt."),
    pair(3, NICHT, "The cook did not sing.", "Der Koch sang nicht.", "Der Koch sang."),
]
FREE = {
    "The dog barks.": "Der Ding bellt.",
    "She does not see a cat.": "Sie sieht die Katze nicht.",
    "He does not come.": "Er kommt.",
    "He never comes.": "Er kommt.",
    "The cook did not sing.": "Der Koch hat nicht gesungen.",
}


def row(result: Result, name: str, phenomenon: str) -> Row:
    (found,) = (r for r in result.rows if r.name == name and r.labels.get("phenomenon") == phenomenon)
    return found


def run(items: Sequence[MinimalPair] = ITEMS, **chosen: Any) -> Result:
    return contrast(Scripted(FREE), items, **chosen)


def test_alarms_are_corrected_by_what_the_same_test_set_shows_of_the_detector() -> None:
    result = run()
    ding = row(result, "generated_errors", DING)
    assert ding.estimate == rogan_gladen(1, 2, found=2, wrong=2, false_alarms=0, right=2)
    assert ding.labels["control"] == "yes"
    nicht = row(result, "generated_errors", NICHT)
    # "never" is not what its detector looks for; its own references cannot raise an alarm, so others must do.
    assert nicht.counts["untold"] == 1
    assert (nicht.counts["alarms"], nicht.counts["references"], nicht.counts["false_alarms"]) == (1, 1, 0)
    assert nicht.estimate == rogan_gladen(1, 2, found=2, wrong=2, false_alarms=0, right=1)
    assert nicht.labels["note"] == NOT_MEASURABLE
    forced, accuracy = row(result, "forced_errors", NICHT), row(result, NICHT, NICHT)
    assert forced.estimate.value == pytest.approx(1 - accuracy.estimate.value)


def test_a_detector_that_looks_at_the_source_needs_other_references() -> None:
    alone = row(run([item for item in ITEMS if item.phenomenon == NICHT]), "generated_errors", NICHT)
    assert alone.estimate.n == 0
    assert "give other error types" in str(alone.labels["note"])
    untold = row(run([ITEMS[0], ITEMS[3]]), "generated_errors", NICHT)
    assert "no source" in str(untold.labels["note"])


def test_pairs_of_one_source_count_once_and_repeating_all_changes_nothing() -> None:
    again = [
        MinimalPair(f"{item.id}/again", item.source, item.correct, item.contrastive, item.phenomenon, "human")
        for item in ITEMS
    ]
    once, twice = (row(run(items), "generated_errors", DING) for items in (ITEMS, [*ITEMS, *again]))
    assert once.estimate == twice.estimate


def test_free_translations_are_looked_at_if_there_are_any(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "forced_errors" not in [each.name for each in run(detect_in_output="no").rows]
    # Without 1-bests there is nothing to look at, unless it is asked for.
    assert "forced_errors" not in [each.name for each in run(discrepancy="none").rows]
    asked = run(discrepancy="none", detect_in_output="yes")
    assert row(asked, "generated_errors", DING).counts["alarms"] == 1
    assert "discrepancy" not in [each.name for each in asked.rows]
    assert run().signature != run(detect_in_output="no").signature
    for name in ("judge", "settings"):  # as if nothing were installed
        module = sys.modules[f"babelscope.methods.contrast.{name}"]
        monkeypatch.setattr(module, "analysis_version", str)
    assert "forced_errors" not in [each.name for each in run().rows]
    with pytest.raises(BabelscopeError, match=r"pip install -e '\.\[german\]'"):
        run(detect_in_output="yes")


def test_other_phenomena_are_left_alone() -> None:
    result = run([pair(1, "mine", "a", "b", "c"), *ITEMS])
    assert "mine" not in [
        each.labels.get("phenomenon") for each in result.rows if each.name == "generated_errors"
    ]


@pytest.mark.parametrize(
    "setting", [{"discrepancy": "paper"}, {"discrepancy": "clipped"}, {"detect_in_output": "yes"}]
)
def test_a_scorer_that_cannot_translate_is_refused_before_any_work(setting: dict[str, str]) -> None:
    class Scorer:
        name = "scorer"
        fingerprint = ToySystem().fingerprint

        def score(self, _pairs: object) -> None:
            pytest.fail("asked before everything was checked")

    tests = {"tests": TestSet("tests", tuple(ITEMS))}
    assert make_cells([set_up("contrast", {})], {"scorer": Scorer()}, tests, 0)
    with pytest.raises(
        BabelscopeError, match="contrast with these settings needs a system that translates, which scorer"
    ):
        make_cells([set_up("contrast", setting)], {"scorer": Scorer()}, tests, 0)


def _problem(*beginnings: str) -> Callable[[Verdict], bool]:
    return lambda verdict: any(problem.startswith(beginnings) for problem in verdict.problems)


# What the grammar says of a translation with the error.
TRUTH = {
    NICHT: _problem("polarity: nicht"),
    KEIN: _problem("polarity: kein"),
    "polarity_affix_del": _problem("polarity: un"),
    "hypercorrect_genitive": _problem("case"),
    "subj_verb_agreement": _problem("agreement: subject and verb"),
}


def test_the_corrected_rate_agrees_with_the_grammar_on_injected_errors() -> None:
    rng = random.Random(5)
    wanted, share = 80, 0.4
    items: list[MinimalPair] = []
    by_source: dict[str, tuple[SentencePair, str]] = {}
    counts = dict.fromkeys(TRUTH, 0)
    for made in generate(20_000, 5, "all"):
        for name in TRUTH:
            variants = list(CONTRASTS[name](made, rng)) if counts[name] < wanted else []
            if variants:
                counts[name] += 1
                items.append(pair(counts[name], name, made.source, made.target, rng.choice(variants)))
                by_source.setdefault(made.source, (made, name))
        if min(counts.values()) == wanted:
            break
    free: dict[str, str] = {}
    for source, (made, name) in by_source.items():
        # Another translation than the reference, some with an error of one of the types.
        other = realise(made.meaning, rng)
        variants = list(CONTRASTS[name](other, rng)) if rng.random() < share else []
        free[source] = rng.choice(variants) if variants else other.target
    result = contrast(Scripted(free), items)
    verdicts = {
        source: SentenceChecker(made.meaning, free[source]).verdict((), ())
        for source, (made, _) in by_source.items()
    }
    for name, wrong in TRUTH.items():
        of_type = {item.source for item in items if item.phenomenon == name}
        truth = sum(wrong(verdicts[source]) for source in of_type) / len(of_type)
        found = row(result, "generated_errors", name).estimate
        assert truth > 0.1, (name, truth)
        assert found.low <= truth <= found.high, (name, truth, found)
        # The detector of verbs finds a tenth of the errors here, and its interval says so.
        assert found.high - found.low < 0.5 or name == "subj_verb_agreement", (name, found)
    # And with no error injected, none is found.
    clean = {source: realise(made.meaning, rng).target for source, (made, _) in by_source.items()}
    result = contrast(Scripted(clean), items)
    for name in TRUTH:
        assert str(row(result, "generated_errors", name).labels["note"]).startswith(NOT_MEASURABLE)


def test_the_papers_table() -> None:
    systems = [Scripted(FREE), Scripted({}, "other")]
    result = contrast(systems, ITEMS, seed_groups=["*"])
    lines = table(result.rows, ["*"]).split("\n")
    # Detectors count sources and forced choice counts pairs, so that each figure has its own n.
    assert (
        lines[0]
        == "| phenomenon | reference | discrepancy, * | n | accuracy %, * | n | generated errors %, * | n |"
    )
    assert lines[2].startswith(f"| *{DING} | human | ")
    assert " ± " in lines[2]
    assert lines[-1].startswith("° not measurable in free output")
    alone = table(result.rows)
    assert "accuracy %, scripted" in alone
    assert "accuracy %, other" in alone
    accuracy = row(contrast(Scripted(FREE), ITEMS), DING, DING).estimate
    assert f"{100 * accuracy.value:.1f} [{100 * accuracy.low:.1f}, {100 * accuracy.high:.1f}]" in alone


def test_a_seed_without_a_figure_leaves_its_cell_to_the_others() -> None:
    where: dict[str, str | int] = {"phenomenon": DING, "reference": "human"}
    rows = [
        Row(name, Estimate(0.25, 0.125, 0.5, 8), {**where, "system": "s-1"})
        for name in (DING, "generated_errors")
    ]
    unknown = Row("generated_errors", Estimate.of_nothing(), {**where, "system": "s-0"})
    line = table([unknown, *rows], ["s-*"]).splitlines()[2]
    assert line == f"| {DING} | human | 8 | 25.0 [12.5, 50.0] | 25.0 [12.5, 50.0] |"


def test_errors_that_are_seen_often_enough_are_measurable() -> None:
    def record(source: str, *, verdict: str = "correct", false: bool = False, **said: object) -> Record:
        detected = {"reference": {DING: false}, **said}
        where = {"source": source, "phenomenon": DING, "reference": "human"}
        return {**where, "verdict": verdict, "detected": detected}

    records = [
        record("s0", verdict="wrong", best=True, contrastive=[True]),
        record("s0", verdict="wrong", best=True, contrastive=[False]),  # the same source again: half found
        *(record(f"s{n}", best=n < 8, contrastive=[True], false=n == 11) for n in range(1, 12)),
        record("not told 1"),
        record("not told 2", verdict="wrong"),
    ]
    chosen: dict[str, Any] = {"ties": "half", "controls": []}
    forced, generated = output_error_rows(records, **chosen)
    assert (forced.estimate.value, forced.estimate.n) == (pytest.approx(3 / 15), 15)
    assert generated.estimate == rogan_gladen(8, 12, found=11.5, wrong=12, false_alarms=1, right=14)
    assert 0 < generated.estimate.low < 1
    assert generated.labels == forced.labels == {"phenomenon": DING, "reference": "human"}
    assert generated.counts == {
        "alarms": 8, "found": 12, "variants": 13, "false_alarms": 1, "references": 14, "untold": 2,
        "other_language": 0,
    }  # fmt: skip
    seldom = [each for each in records if not each["detected"].get("best")]
    _, rare = output_error_rows(seldom, **chosen)
    # Fewer alarms than false ones: cut at 0, and said.
    assert rare.estimate.value == 0 < rare.estimate.high
    assert str(rare.labels["note"]).startswith(f"{NOT_MEASURABLE}; below 0: ")


def test_the_analysis_is_part_of_the_signature_only_where_it_is_used() -> None:
    for free, stored in (
        ("auto", f"auto, {analysis_version()}"),
        ("yes", f"yes, {analysis_version()}"),
        ("no", "no"),
    ):
        assert set_up("contrast", {"detect_in_output": free}).config["settings"]["detect_in_output"] == stored


def test_the_table_to_the_letter() -> None:
    def made(name: str, system: str, value: float, low: float, high: float, **labels: str | int) -> Row:
        return Row(name, Estimate(value, low, high, 4), {"system": system, "reference": "human", **labels})

    rows = [
        Row("all", Estimate(0.5, 0.25, 0.75, 20), {"system": "a"}),
        made("x", "a", 0.5, 0.25, 0.75, phenomenon="x"),
        made("discrepancy", "a", 0.5, 0.25, 0.75, phenomenon="x"),
        Row(
            "generated_errors",
            Estimate(0.25, 0.125, 0.5, 3),
            {"system": "a", "reference": "human", "phenomenon": "x"},
        ),
    ]
    head = "| phenomenon | reference | discrepancy, a | n | accuracy %, a | n | generated errors %, a | n |"
    rule = "| --- | --- | --- | --- | --- | --- | --- | --- |"
    line = "| x | human | 0.500 [0.250, 0.750] | 4 | 50.0 [25.0, 75.0] | 4 | 25.0 [12.5, 50.0] | 3 |"
    assert table(rows).split("\n") == [head, rule, line]
    # Without any discrepancy there is no column for it; a control and what covers 0 are marked and explained.
    control = {"phenomenon": "y", "control": "yes"}
    rows = [
        made("y", "a", 1, 0.5, 1, **control), made("generated_errors", "a", 0.25, 0, 0.5, **control),
        made("y", "b", 0.5, 0.25, 1, **control), made("generated_errors", "b", 0.75, -0.5, 1, **control),
    ]  # fmt: skip
    assert table(rows, ["?"]).split("\n") == [
        "| phenomenon | reference | n | accuracy %, ? | generated errors %, ? |",
        "| --- | --- | --- | --- | --- |",
        "| *y | human | 4 | 75.0 ± 35.4 | 50.0 ± 35.4° |",
        "* a control: nobody makes this error in free translation",
        "° not measurable in free output: the interval, or that of each seed, covers 0",
    ]
    # One seed in which it is seen is enough.
    seen = [*rows[:3], made("generated_errors", "b", 0.75, 0.5, 1, **control)]
    assert "| 50.0 ± 35.4 |" in table(seen, ["?"])
