"""The first figures of minimal pairs: by error type, controls apart, and every n beside its figure."""

from __future__ import annotations

from typing import Literal

import pytest

from babelscope.core.page import Finding
from babelscope.core.results import Estimate, Result, Row
from babelscope.methods.contrast.by_type import TypeFigures
from babelscope.methods.contrast.table import layout
from babelscope.methods.contrast.view import VIEW
from babelscope.methods.view import section_of
from babelscope.report.summary import summarise
from babelscope.runs.execute import run_method
from babelscope.testsets import MinimalPair
from tests.support.toys import ToySystem

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


def findings(result: Result) -> list[Finding]:
    (group,) = result.groups
    return list(section_of(group, VIEW).findings)


def test_each_type_leads_with_its_machine_references_and_controls_are_no_errors() -> None:
    result = judged(PAIRS)
    found = findings(result)
    types = [each for each in found if each.claim.startswith("Prefers")]
    assert [each.estimate.n for each in types] == [15, 15]
    assert all("(machine references)" in each.claim for each in types)
    for each in types:
        (name,) = (name for name in TYPES if each.query["group"] == f"{name}, machine reference")
        own = [r for r in result.records if r["reference"] == "machine" and r["phenomenon"] == name]
        assert each.behind == sum(r["verdict"] != "correct" for r in own)
    for kind, size in SIZES.items():
        (alarms,) = [each for each in found if each.query.get("verdict") == f"false alarm, {kind} references"]
        wrong = [r for r in result.records if r["reference"] == kind and r["verdict"] != "correct"]
        of_controls = [r for r in wrong if r["phenomenon"] == "placeholder_ding"]
        assert (alarms.tone, alarms.tag, alarms.behind) == ("note", "Controls", len(of_controls))
        assert alarms.estimate.n == size


def test_no_pooled_figure_is_told_first() -> None:
    result = judged(PAIRS)
    assert any(row.name == "all" and row.estimate.n == len(PAIRS) for row in result.rows)
    named = {headline.name: headline.row for headline in VIEW.headline(result.rows)}
    assert set(named) == {
        "error preferred: np_agreement (machine refs)",
        "error preferred: clause_omission (machine refs)",
        "error preferred: control placeholder_ding (machine refs)",
    }  # fmt: skip
    for row in result.rows:
        if row.name in TYPES and row.labels["reference"] == "machine":
            (own,) = (each for name, each in named.items() if row.name in name)
            assert own.estimate.value == 1 - row.estimate.value
    told = summarise(result, width=200)
    pooled = [row.estimate for row in result.rows if row.name in ("all", "plausible")]
    for estimate in pooled:
        assert f"of {estimate.n} pairs" not in told


def figures(
    forced: Estimate, free: Estimate | None = None, excess: Estimate | None = None, *, control: bool = False
) -> TypeFigures:
    rows = [None if each is None else Row("x", each) for each in (free, excess)]
    return TypeFigures("x", "machine", control, Row("x", forced), *rows)


MANY, NONE = Estimate(0.3, 0.2, 0.4, 50), Estimate(0.0, 0.0, 0.07, 50)


@pytest.mark.parametrize(
    ("found", "reading"),
    [
        (figures(MANY, control=True), "control"),
        (figures(Estimate(0.3, 0.1, 0.6, 9)), "too few"),
        (figures(NONE, Estimate(0.0, 0.0, 0.3, 50)), "none"),
        (figures(MANY, Estimate(0.2, 0.1, 0.3, 50), Estimate(0.1, -0.1, 0.2, 50)), "real"),
        (figures(MANY, Estimate(0.0, 0.0, 0.1, 50), Estimate(0.2, 0.1, 0.3, 50)), "false"),
        (figures(MANY, Estimate(0.0, 0.0, 0.5, 50), Estimate(0.2, 0.1, 0.3, 50)), "beyond"),
        (figures(MANY, Estimate(0.0, 0.0, 0.5, 50), Estimate(0.1, -0.1, 0.3, 50)), "few controls"),
        (figures(MANY, Estimate(0.0, 0.0, 0.5, 50), Estimate(-0.1, -0.2, 0.04, 50)), "as controls"),
        (figures(MANY, Estimate(0.0, 0.0, 0.5, 50)), "not seen"),
        (figures(MANY), "forced only"),
        (figures(MANY, Estimate.without_interval(0.2, 1, "1 sentence")), "forced only"),
    ],
)
def test_the_figures_of_a_type_are_read_together(found: TypeFigures, reading: str) -> None:
    assert found.reading == reading


def test_two_pairs_make_no_alarm() -> None:
    found = findings(judged([each for each in PAIRS if each.phenomenon == "np_agreement"][:2]))
    assert {each.tone for each in found} == {"note"}
    assert all("fewer than 10, so no verdict" in each.more for each in found)


def test_a_table_has_each_n_beside_its_figure() -> None:
    result = judged(PAIRS)
    assert list(layout(result.rows).headings) == [
        "phenomenon", "reference", "n", "discrepancy, toy:1", "accuracy %, toy:1",
    ]  # fmt: skip
    rows = [
        row if row.name != "discrepancy" else type(row)(
            row.name, type(row.estimate)(0.5, 0.4, 0.6, row.estimate.n - 1), row.labels, row.counts
        )
        for row in result.rows
    ]  # fmt: skip
    table = layout(rows)
    assert list(table.headings[2:]) == ["discrepancy, toy:1", "n", "accuracy %, toy:1", "n"]
    assert {(line[1], line[3], line[5]) for line in table.rows} == {
        ("human", "11", "12"),
        ("machine", "14", "15"),
    }


def test_items_that_were_not_answered_are_counted_where_they_are_missing() -> None:
    """Nobody knows which part an unread item is of, so rows over a part do not count it."""
    from babelscope.methods.base import find_method
    from babelscope.methods.cells import cell_rows

    method = find_method("contrast")
    records = [*judged(PAIRS).records, {"id": "x", "unanswered": "asleep"}]
    rows = cell_rows(method, method.settings(), 0, records, {}, {"too long": 2})
    skipped = {(row.name, "phenomenon" in row.labels or "reference" in row.labels): 0 for row in rows}
    for row in rows:
        skipped[row.name, "phenomenon" in row.labels or "reference" in row.labels] += row.counts["skipped"]
    assert skipped["all", False] == 3
    assert not any(count for (_, part), count in skipped.items() if part)
