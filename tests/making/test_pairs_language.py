"""References in another language than the rules are for give no pairs."""

from __future__ import annotations

import pytest

pytest.importorskip("HanTa")
pytest.importorskip("german_nouns.config")

from babelscope.making.audit import measure_detector
from babelscope.making.pairs import make_pairs
from babelscope.util.errors import BabelscopeError

GERMAN = [
    "Der Gärtner hat gestern den alten Apfelbaum hinter dem Haus gefällt.",
    "Die Lehrerin erzählte den Kindern eine lange Geschichte über das Meer.",
]
SPANISH = "El diseñador ha discutido con la directora sobre el nuevo proyecto de la casa vieja."


def test_a_single_reference_in_another_language_is_left_out_and_counted() -> None:
    references = [GERMAN[0], SPANISH, GERMAN[1]]
    with pytest.warns(UserWarning, match=r"1 of 3 texts .* \(1 in es\); they are left out"):
        made = list(make_pairs("placeholder_ding", ["a source"] * 3, references, choose="all"))
    assert {pair.correct for pair in made} == set(GERMAN)
    assert {pair.id.split("/")[1] for pair in made} == {"1", "3"}, "the others keep their numbers"


def test_a_set_in_another_language_is_refused() -> None:
    with pytest.raises(BabelscopeError, match="the references are in the language es"):
        list(make_pairs("placeholder_ding", ["a source"] * 2, [SPANISH] * 2))


def test_a_detector_is_measured_on_references_of_its_language() -> None:
    counts = measure_detector("placeholder_ding", ["a source"] * 3, [GERMAN[0], SPANISH, GERMAN[1]])
    assert (counts.references, counts.variants) == (2, 2)
