"""Evaluators that cannot judge yield no headline; sound ones do (all of them: `python -m benchmarks.evaluators`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from babelscope import open_system
from babelscope.lab.experiments.truth import cases
from babelscope.methods.condition.known import known_translations
from babelscope.methods.condition.settings import ConditionSettings
from benchmarks.evaluators import GENDER, SENSES_OTHER, Remembered, corrected_draws, draws, judged, spoilt

N = 48


@pytest.mark.slow
def test_none_of_the_twelve_passes(tmp_path: Path) -> None:
    system = Remembered(open_system("lab:student"))
    twelve = spoilt(tmp_path, steps=20)
    assert len(twelve) == 12
    passed = {
        (name, suite): judged(system, evaluator, suite, N)[0]
        for name, (make, suites) in twelve.items()
        for evaluator in [make()]
        for suite in suites
    }
    assert not {which for which, found in passed.items() if found == "yes"}


@pytest.mark.slow
def test_sound_evaluators_pass() -> None:
    system = Remembered(open_system("lab:student"))
    for name in ("teacher-2", "control", "unsmoothed-3"):
        for suite in (GENDER, SENSES_OTHER):
            found = judged(system, open_system(f"lab:{name}"), suite, N)
            assert found[0] == "yes", found[1]


@pytest.mark.slow
def test_intervals_hold_the_grammars_accuracy_where_only_the_noun_tells() -> None:
    found = draws(open_system("lab:teacher"), SENSES_OTHER, n=96, of=200, count=200)
    assert min(found["decided"], found["all"]) >= 0.93


@pytest.mark.slow
def test_the_corrected_share_holds_what_the_grammar_finds() -> None:
    """An evaluator that misjudges one in five wrong translations and one in twenty right ones."""
    found = corrected_draws(open_system("lab:unsmoothed"), SENSES_OTHER, n=200, of=200, count=200)
    assert found["expected"] >= 0.93
    assert found["width"] < 0.5


def test_translations_with_words_exchanged_are_what_they_are_taken_for() -> None:
    """The grammar knows which sense they have; a full stop or a synonym must not make a wrong one of a right one."""
    student = open_system("lab:student")
    for suite in (GENDER, SENSES_OTHER):
        made = cases(suite, 24, 2026)
        items = [case.item for case in made]
        known = known_translations(
            {"system": student, "evaluator": student}, items, range(24), ConditionSettings(), 0
        )
        found = [each for each in known.translations if each.by == "exchange"]
        agreed = [made[each.place].truth(each.text) == each.truth for each in found]
        assert len(found) >= 12
        assert sum(agreed) >= 0.95 * len(found)
