"""Detectors: an alarm only where the detector can tell, and rates counted where it can."""

from __future__ import annotations

import pytest

pytest.importorskip("HanTa")
pytest.importorskip("german_nouns.config")

from babelscope.language.detecting import (
    analysis_version,
    can_detect,
    detectors,
    looks_at_source,
)
from babelscope.language.german.analysis import default_analyser
from babelscope.language.registry import error_types
from babelscope.making.audit import DetectorCounts, measure_detector
from babelscope.testsets import MinimalPair, load

NICHT = "polarity_particle_nicht_del"


def test_no_alarm_for_a_source_that_the_detector_cannot_tell_for() -> None:
    items = load("lab:pairs?n=10&seed=4").items_of(MinimalPair, what_for="test")
    alarms = dict.fromkeys(detectors(), 0)
    for item in items:
        # Its own translations, wrong ones, and those of another source.
        for text in (
            item.correct,
            item.contrastive[0],
            items[0].correct,
            "Er kam.",
            "Er sah keine, nicht eine.",
            "",
        ):
            read = default_analyser().analyse(text)
            for name, detect in detectors().items():
                alarm = detect(item.source, read)
                assert can_detect(name, item.source) or not alarm, (name, item.source, text)
                alarms[name] += alarm
    assert all(alarms[name] for name in detectors() if looks_at_source(name)), alarms


def test_sources_that_a_detector_does_not_look_at_count_for_nothing() -> None:
    sources = ["He does not come.", "He never comes.", "She sings.", "I do not see it.", ""]
    references = ["Er kommt nicht.", "Er kommt nicht.", "Sie singt.", "Das sehe ich anders.", "Leer."]
    assert measure_detector(NICHT, sources, references) == DetectorCounts(1, 2, 1, 1)
    counts = measure_detector("placeholder_ding", sources, references)
    assert counts.references == 4


def test_all_detectors_are_there_with_the_version_of_their_analysis() -> None:
    assert set(detectors()) <= set(error_types())
    assert len(detectors()) == 12
    assert analysis_version().startswith("HanTa ")
