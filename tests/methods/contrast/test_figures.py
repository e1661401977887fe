"""Contrast: the false-positive meter and comparisons, on records whose figures are known."""

from __future__ import annotations

import math
from typing import Literal

import pytest

from babelscope.core.comparison import Comparison
from babelscope.core.results import Estimate, Record, Result, Row
from babelscope.core.system import ItemScores
from babelscope.core.tables import Line, Table
from babelscope.methods.contrast.figures import (
    figures,
    score_record,
)
from babelscope.methods.contrast.method import Contrast
from babelscope.methods.reporting import complement
from babelscope.report.summary import summarize
from babelscope.runs.compare import item_differences
from babelscope.runs.execute import run_method
from babelscope.testsets import MinimalPair
from tests.support.results import result_of
from tests.support.toys import ToySystem


def meter(records: list[Record]) -> dict[tuple[str, str], Row]:
    rows = figures(records, ties="half", controls=["control"])
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
            **score_record(
                ItemScores(-2.0, (-1.0,), best) if number < errors else ItemScores(-1.0, (-2.0,), best)
            ),
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
    # One source says nothing about others; two do.
    for controls, plausible, known in ((1, 2, 0), (2, 1, 0), (2, 2, 2)):
        found = meter(made("control", controls, 1, 1.0) + made("type", plausible, 1, 1.0))
        assert len(found) == known


def spread(n: int, wrong: set[int]) -> list[Record]:
    """Controls with the discrepancies 0, 1, 2..., some of them wrong."""
    return [each for k in range(n) for each in made("control", 1, int(k in wrong), float(k))]


def test_a_bin_of_controls_has_at_least_25_sources() -> None:
    distances = {"near": 3.0, "middle": 20.0, "far": 40.0}
    plausible = [each for kind, distance in distances.items() for each in made("type", 2, 0, distance, kind)]
    wrong = {0, 1, 2, 3, 4, *range(35, 50)}
    found = meter(spread(50, wrong) + plausible)
    rates = [found["expected_false_positives", kind].estimate.value for kind in distances]
    assert rates == pytest.approx([5 / 25, 5 / 25, 15 / 25])
    found = meter(spread(49, wrong) + plausible)
    rates = [found["expected_false_positives", kind].estimate.value for kind in distances]
    assert rates == pytest.approx([19 / 49] * 3), "too few for two bins"


def test_there_are_ten_bins_at_most() -> None:
    # The last three of the first 30 of 300 are wrong; in more and smaller bins they would be in the second.
    found = meter(spread(300, {27, 28, 29}) + made("type", 2, 1, 15.0))
    assert found["expected_false_positives", "human"].estimate.value == pytest.approx(3 / 30)
    assert found["excess_errors", "human"].estimate.value == pytest.approx(1 / 2 - 3 / 30)


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
            **score_record(ItemScores(good, (0.5,))),
        }
        for (system, kind), some in verdicts.items()
        for number, good in enumerate(some)
    ]
    return compared_records(records)


def compared_records(records: list[Record]) -> list[Row]:
    method = Contrast()
    names = dict.fromkeys(record["system"] for record in records)
    results = [
        result_of(name, [each for each in records if each["system"] == name], paired=method.paired())
        for name in names
    ]
    comparison = Comparison("contrast", "t", tuple(results))
    return [*item_differences(comparison), *method.compare(comparison, 0)]


def test_reference_kinds_are_compared_on_common_sources() -> None:
    (found,) = compared({("a", "human"): [0.0] * 8, ("a", "machine"): [1.0] * 6})
    assert (found.name, found.estimate.value, found.estimate.n) == ("machine_minus_human", 1.0, 6)
    assert float(found.labels["p"]) == pytest.approx(2 / 2**6, rel=1e-3)


def test_discrepancies_that_are_not_known_are_counted() -> None:
    records = made("type", 4, 1, 0.5)
    records[3] |= score_record(ItemScores(-1.0, (-2.0,), -math.inf))
    rows = figures(records, ties="half", controls=[])
    found = [each for each in rows if each.name == "discrepancy"]
    assert [each.labels.get("phenomenon") for each in found] == [None, "type"]
    for each in found:
        assert (each.estimate.value, each.estimate.n, each.counts) == (0.5, 3, {"infinite": 1})
    assert [each.counts["infinite"] for each in rows if each.name in ("all", "type")] == [1, 1]


def test_an_empty_bin_has_the_rate_of_all_controls() -> None:
    # Bins of controls: up to 0 with an error rate of 1/5, up to 1 with one of 2/5, and beyond with none.
    controls = made("control", 50, 10, 0.0) + made("control", 50, 20, 1.0)
    plausible = made("type", 2, 0, 0.0) + made("type", 3, 0, 1.0) + made("type", 5, 0, 7.0)
    expected = meter(controls + plausible)["expected_false_positives", "human"].estimate
    assert expected.value == pytest.approx((2 * 1 / 5 + 3 * 2 / 5 + 5 * 3 / 10) / 10)
    assert expected.n == 10


TYPES = ("np_agreement", "clause_omission", "placeholder_ding")
SIZES: dict[Literal["human", "machine"], int] = {"human": 12, "machine": 15}
PAIRS = [
    MinimalPair(f"{kind} {name} {n}", f"{name} {n}", "ab", ("ba", "bb", "a")[n % 3 : n % 3 + 1], name, kind)
    for kind, size in SIZES.items()
    for name in TYPES
    for n in range(size)
]


def judged(pairs: list[MinimalPair]) -> Result:
    return run_method("contrast", ToySystem("toy:1"), pairs, detect_in_output="no")


def first_table(result: Result) -> Table:
    (comparison,) = result.groups
    return Contrast().tables(comparison)[0]


def items_behind(result: Result, line: Line) -> int:
    return sum(Contrast().show(record).matches(line.query) for record in result.records)


def test_controls_never_lead_and_no_figure_pools_error_types() -> None:
    result = judged(PAIRS)
    table = first_table(result)
    assert len(table.lines) == len(TYPES) * len(SIZES)
    assert [line.is_control for line in table.lines] == [False] * 4 + [True] * 2
    accuracies = {(row.name, row.labels.get("reference")): row for row in result.rows}
    for line in table.lines:
        _, shown, rate, *_ = line.cells
        kind = str(shown).partition(" ")[0]
        assert shown == {"human": "human (robustness)", "machine": "machine (behavior)"}[kind]
        name = line.query["group"].partition(",")[0]
        assert isinstance(rate, Estimate)
        assert (rate.n, rate.value) == (
            SIZES[kind],  # type: ignore[index]
            pytest.approx(1 - accuracies[name, str(kind)].estimate.value),
        )
        own = [r for r in result.records if (r["phenomenon"], r["reference"]) == (name, kind)]
        assert items_behind(result, line) == sum(record["verdict"] != "correct" for record in own)
        assert bool(line.verdict) != line.is_control == (line.cells[-1] == "control")
    told = summarize(result, width=200)
    assert any(row.name == "all" and row.estimate.n == len(PAIRS) for row in result.rows)
    assert str(len(PAIRS)) not in told.partition("answers judged")[2].partition("all ")[0]


def test_the_papers_table_has_one_line_per_error_type_and_reference() -> None:
    (comparison,) = judged(PAIRS).groups
    paper = next(each for each in Contrast().tables(comparison) if each.name == "paper")
    assert [column.heading for column in paper.columns] == [
        "phenomenon",
        "reference",
        "control",
        "discrepancy",
        "accuracy",
    ]
    assert [line.cells[:3] for line in paper.lines] == [
        [name, kind, "yes" if name == "placeholder_ding" else ""]
        for name in sorted(TYPES)
        for kind in ("human", "machine")
    ]


def of(value: float, low: float, high: float, n: int = 100) -> Estimate:
    return Estimate(value, low, high, n)


MANY = of(0.3, 0.2, 0.42)


@pytest.mark.parametrize(
    ("forced", "free", "excess", "reading", "verdict"),
    [
        (of(0.3, 0.1, 0.6, 9), None, None, "too few pairs", "too few items"),
        (of(0.0, 0.0, 0.07), of(0.0, 0.0, 0.3), None, "never preferred", "not significant"),
        (MANY, of(0.2, 0.1, 0.3), of(0.1, -0.1, 0.2), "confirmed", "error"),
        (MANY, of(0.0, 0.0, 0.1), of(0.2, 0.1, 0.3), "false alarm", "not significant"),
        (MANY, of(0.0, 0.0, 0.5), of(0.2, 0.1, 0.3), "beyond controls", "error"),
        (MANY, None, of(0.2, 0.1, 0.3), "beyond controls", "error"),
        (MANY, of(0.0, 0.0, 0.5), of(0.1, -0.1, 0.3), "too few controls", "unknown"),
        (MANY, of(0.0, 0.0, 0.5), of(-0.1, -0.2, 0.04), "like controls", "not significant"),
        # Controls alone clear nothing.
        (MANY, None, of(-0.1, -0.2, 0.04), "like controls", "unknown"),
        (MANY, Estimate.empty(), of(-0.1, -0.2, 0.04), "like controls", "unknown"),
        (MANY, of(0.0, 0.0, 0.5), None, "not in its output", "unknown"),
        (MANY, None, None, "forced choice only", "unknown"),
        (MANY, Estimate.without_interval(0.2, 1, "1 sentence"), None, "forced choice only", "unknown"),
    ],
)
def test_only_what_free_output_or_controls_confirm_is_an_error(
    forced: Estimate, free: Estimate | None, excess: Estimate | None, reading: str, verdict: str
) -> None:
    labels = {"phenomenon": "x", "reference": "human"}
    rows = [Row("x", complement(forced), labels)]
    rows += [Row("generated_errors", free, labels)] if free else []
    rows += [Row("excess_errors", excess, labels)] if excess else []
    comparison = Comparison("contrast", "t", (result_of("a", rows=rows),))
    (line,) = Contrast().tables(comparison)[0].lines
    assert (line.cells[-1], line.verdict) == (reading, verdict)
    # A rate that is not significantly above the threshold is no error, whatever confirms it.
    power = line.cells[-2]
    assert power == (
        None if excess is None else pytest.approx((excess.high - excess.low) / 2 * 2.8016 / 1.96, rel=1e-4)
    )
    lenient = Contrast(Contrast.Settings.model_validate({"error_threshold": 0.25}))
    (line,) = lenient.tables(comparison)[0].lines
    assert line.verdict in ("not significant", "too few items")
