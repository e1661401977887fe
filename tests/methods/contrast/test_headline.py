"""The first figures of minimal pairs: by kind of reference, controls apart, and every n beside its figure."""

from __future__ import annotations

from typing import Literal

from babelscope.core.page import Finding
from babelscope.core.results import Result
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


def test_controls_are_no_errors_and_kinds_of_reference_are_apart() -> None:
    result = judged(PAIRS)
    found = findings(result)
    for kind, size in (("human", 24), ("machine", 30)):
        errors, alarms = (
            [each for each in found if each.query.get("verdict") == f"{what}, {kind} references"]
            for what in ("error", "false alarm")
        )
        wrong = [r for r in result.records if r["reference"] == kind and r["verdict"] != "correct"]
        of_controls = [r for r in wrong if r["phenomenon"] == "placeholder_ding"]
        assert [each.estimate.n for each in errors] == [size]
        assert errors[0].behind == len(wrong) - len(of_controls)
        assert [(each.tone, each.tag, each.behind) for each in alarms] == [
            ("note", "False alarms", len(of_controls))
        ]
        assert alarms[0].estimate.n == size // 2


def test_no_headline_pools_what_the_row_all_does() -> None:
    result = judged(PAIRS)
    assert any(row.name == "all" and row.estimate.n == len(PAIRS) for row in result.rows)
    names = [headline.name for headline in VIEW.headline(result.rows)]
    assert names == [
        "right one (machine refs)",
        "right one (human refs)",
        "controls (machine refs)",
        "controls (human refs)",
        "discrepancy",
    ]
    told = summarise(result, width=200)
    (first,) = [line for line in told.split("\n") if "right one (machine refs)" in line]
    assert f" {len(PAIRS)} " not in f"{first} "


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
