"""The difference of two systems in the category where each is worst: of the printed figures, with sound intervals."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from babelscope import run_method
from babelscope.core.results import PairedField, Record
from babelscope.methods.condition.figures import weights_of
from babelscope.runs.compare import worst_difference
from babelscope.testsets import AmbiguousSource
from tests.support.toys import ToySystem

BY = PairedField(
    "verdict", worth={"correct": 1.0, "wrong": 0.0}, worst_of="category", weight="weight", unranked=("none",)
)


def drawn(shares: Mapping[str, float], each: int, luck: list[float], dice: random.Random) -> list[Record]:
    """Records of a system that is right in these shares of items, more often where the evaluator is sure."""
    categories = [name for name in shares for _ in range(each)]
    sure = [dice.random() for _ in categories]
    right = [
        (common if dice.random() < 0.5 else dice.random()) < shares[name] * (0.7 + 0.6 * own)
        for name, own, common in zip(categories, sure, luck, strict=True)
    ]
    weights = weights_of(sure, categories)
    return [
        {
            "id": str(n),
            "source": str(n),
            "category": name,
            "verdict": "correct" if ok else "wrong",
            "weight": w,
        }
        for n, (name, ok, w) in enumerate(zip(categories, right, weights, strict=True))
    ]


def truth(shares: Mapping[str, float]) -> float:
    """The weighted accuracy of the worst category: the mean of 2u * share * (0.7 + 0.6u)."""
    return min(shares.values()) * (0.7 + 0.6 * 2 / 3)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"female": 0.55, "male": 0.7}, {"female": 0.45, "male": 0.75}),  # one category is worst for both
        ({"female": 0.6, "male": 0.6}, {"female": 0.6, "male": 0.6}),  # chance decides which is
    ],
)
def test_intervals_hold_the_truth_as_often_as_they_say(ours, theirs):
    dice = random.Random(5)
    inside = 0
    for _ in range(200):
        luck = [dice.random() for _ in range(120)]
        found = worst_difference(drawn(ours, 60, luck, dice), drawn(theirs, 60, luck, dice), BY)
        assert found is not None
        inside += found[1].low <= truth(ours) - truth(theirs) <= found[1].high
    assert inside / 200 >= 0.92


def test_each_system_has_its_own_worst_category_and_weights():
    def record(number: int, category: str, verdict: str, weight: float | None) -> Record:
        fields = {"category": category, "verdict": verdict, "weight": weight}
        return {"id": str(number), "source": f"s{number}", **fields}

    ours = [
        record(1, "female", "correct", 2.0),
        record(2, "female", "wrong", 1.0),
        record(3, "male", "correct", 1.0),
        record(4, "none", "wrong", 1.0),  # no category
    ]
    theirs = [
        record(1, "female", "correct", 1.0),
        record(2, "female", "undecided", None),  # left out
        record(3, "male", "wrong", 1.0),
        record(4, "none", "wrong", 1.0),
    ]
    found = worst_difference(ours, theirs, BY)
    assert found is not None
    groups, estimate, _, counts = found
    assert groups == "female against male"
    assert estimate.value == pytest.approx(2 / 3 - 0)
    assert counts == {"wins": 0, "losses": 0, "ties": 0}, "no item is in both categories"
    assert worst_difference([], theirs, BY) is None


def test_the_difference_is_that_of_the_figures_and_leads():
    items = [
        AmbiguousSource(f"i{n}", f"a {n}", (f"r {n}",), (f"w {n}",), "female" if n % 2 else "male")
        for n in range(40)
    ]
    systems = [ToySystem("one", salt="1"), ToySystem("two", salt="2")]
    result = run_method(
        "condition", systems, items, evaluator=ToySystem("judge", salt="judge"), protocol="paper"
    )
    compared = [row for row in result.rows if row.name == "difference"]
    assert [("over" in row.labels) for row in compared] == [True, False, False, False]
    figures = {row.labels["system"]: row for row in result.rows if row.name == "minimum"}
    value = figures["one"].estimate.value - figures["two"].estimate.value
    assert compared[0].estimate.value == pytest.approx(value, abs=1e-12)
    names = list(dict.fromkeys(str(figures[name].labels["lowest"]) for name in ("one", "two")))
    assert compared[0].labels["over"] == f"worst category: {' against '.join(names)}"
    assert result.rows[0].name == "minimum"
