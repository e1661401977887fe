"""The worst category is chosen and shown by one measure, which is named."""

from __future__ import annotations

from babelscope.core.columns import Column, Group, JudgedCell
from babelscope.methods.condition.view import findings
from babelscope.methods.view import one
from tests.report.test_behind import random_group


def test_the_figure_of_the_worst_category_is_the_one_it_was_chosen_by() -> None:
    differing = 0
    for seed in range(60):
        group = random_group("condition", {"ties": "half"}, seed)
        for column in group.columns:
            rows = column.cell.rows
            lowest, plain = one(rows, "minimum"), one(rows, "minimum unweighted")
            worst = [each for each in findings(alone(group, column.cell)) if "Worst" in each.claim]
            if not worst or lowest is None or plain is None:
                continue
            category = str(lowest.labels["lowest"])
            assert worst[0].query["group"] == category
            assert "by weighted accuracy" in worst[0].claim
            assert abs(1 - worst[0].estimate.value - lowest.estimate.value) < 1e-12
            differing += category != plain.labels["lowest"]
    assert differing, "no draw in which the two measures choose different categories"


def alone(group: Group, cell: JudgedCell) -> Group:
    return Group(group.method, group.tests, (Column("one", cell),))
