"""Contrast: the false-positive meter and comparisons, on records whose figures are known."""

from __future__ import annotations

import pytest

from babelscope.methods.contrast_compare import comparisons
from babelscope.methods.contrast_figures import Scores, figures, judged
from babelscope.results import Record, Row


def meter(records: list[Record]) -> dict[tuple[str, str], Row]:
    rows = figures(records, ties="half", controls=["control"], seed=0, resamples=300)
    return {
        (each.name, str(each.labels.get("reference"))): each for each in rows if "controls" in each.counts
    }


def made(phenomenon: str, n: int, errors: int, distance: float | None, kind: str = "human") -> list[Record]:
    """Records of `n` items with one discrepancy, `errors` of them wrong."""
    best = None if distance is None else distance - 1.0
    return [
        {
            "source": f"{phenomenon} {kind} {distance} {number}",
            "phenomenon": phenomenon,
            "reference": kind,
            **judged(Scores(-2.0, (-1.0,), best) if number < errors else Scores(-1.0, (-2.0,), best)),
        }
        for number in range(n)
    ]


def test_false_positives_are_expected_as_among_controls_with_the_same_discrepancy() -> None:
    controls = made("control", 100, 2, 0.3) + made("control", 100, 20, 2.5)
    near, far = made("type", 50, 1, 0.3, "machine"), made("type", 50, 25, 2.5, "human")
    found = meter(controls + near + far)
    expected = found["expected_false_positives", "machine"]
    assert expected.estimate.value == pytest.approx(0.02)
    assert expected.counts == {"errors": 1, "expected": 1, "controls": 200}
    assert found["expected_false_positives", "human"].estimate.value == pytest.approx(0.2)
    assert found["excess_errors", "human"].estimate.value == pytest.approx(0.3)
    assert found["excess_errors", "human"].estimate.low > 0
    assert found["excess_errors", "machine"].estimate.low <= 0
    for each in found.values():
        assert each.estimate.low <= each.estimate.value <= each.estimate.high


def test_controls_that_are_all_right_do_not_make_certain() -> None:
    found = meter(made("control", 100, 0, 1.0) + made("type", 100, 4, 1.0))
    expected, excess = (
        found[name, "human"].estimate for name in ("expected_false_positives", "excess_errors")
    )
    # Wilson's interval of none in 100.
    assert (expected.value, expected.low, expected.high) == (0.0, 0.0, pytest.approx(0.0370, abs=1e-4))
    assert excess.value == pytest.approx(0.04)
    assert excess.low < 0 < excess.high


def test_without_discrepancies_the_rate_of_the_same_reference_kind_is_expected() -> None:
    controls = made("control", 40, 10, None) + made("control", 40, 2, None, "machine")
    plausible = made("type", 30, 9, None) + made("type", 30, 9, None, "machine")
    found = meter(controls + plausible)
    assert found["expected_false_positives", "human"].estimate.value == pytest.approx(0.25)
    assert found["expected_false_positives", "machine"].estimate.value == pytest.approx(0.05)
    assert set(meter(made("control", 40, 9, None) + plausible)) == {
        ("expected_false_positives", "human"),
        ("excess_errors", "human"),
    }


def test_no_controls_no_meter() -> None:
    assert meter(made("type", 30, 9, 1.0)) == {}
    assert meter(made("control", 30, 9, 1.0)) == {}


def compared(verdicts: dict[tuple[str, str], list[float]]) -> list[Row]:
    """Rows of comparisons, from (system, reference kind) -> which items are correct."""
    records = [
        {
            "method": "contrast",
            "tests": "t",
            "system": system,
            "id": f"{kind} {number}",
            "source": f"source {number}",
            "phenomenon": "p",
            "reference": kind,
            **judged(Scores(good, (0.5,))),
        }
        for (system, kind), some in verdicts.items()
        for number, good in enumerate(some)
    ]
    return comparisons(records, resamples=200)


def test_systems_are_compared_on_the_same_pairs_and_corrected_by_holm() -> None:
    good, bad = [1.0] * 12, [0.0] * 12
    rows = compared({("a", "human"): good, ("b", "human"): bad, ("c", "human"): [*good[:11], 0.0]})
    assert [(each.labels["system"], each.labels["against"]) for each in rows] == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]
    assert [each.estimate.value for each in rows] == pytest.approx([1.0, 1 / 12, -11 / 12])
    raw = [2 / 2**12, 1.0, 2 / 2**11]
    assert [float(each.labels["p"]) for each in rows] == pytest.approx(raw, rel=1e-3)
    assert [float(each.labels["p_holm"]) for each in rows] == pytest.approx(
        [3 * raw[0], 1.0, 2 * raw[2]], rel=1e-3
    )


def test_reference_kinds_are_compared_on_common_sources() -> None:
    (found,) = compared({("a", "human"): [0.0] * 8, ("a", "machine"): [1.0] * 6})
    assert (found.name, found.estimate.value, found.estimate.n) == ("machine_minus_human", 1.0, 6)
    assert float(found.labels["p"]) == pytest.approx(2 / 2**6, rel=1e-3)
