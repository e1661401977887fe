"""What is drawn of a queue: shares of groups, whole units, the same for the same seed; and methods without one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from babelscope.methods.base import Method, find_method, method_names
from babelscope.methods.challenge.annotation import entries as dependencies
from babelscope.methods.queue import Drawn, Entry, draw_queue, entry, find_queue
from babelscope.util.errors import BabelscopeError

SIZES = {"many": 70, "some": 25, "few": 5}
RECORDS = [
    {"id": f"{group}-{number}", "system": system, "tests": "t", "source": "s", "group": group}
    for system in ("one", "two")
    for group, size in SIZES.items()
    for number in range(size)
]


def queue(records: Any, _settings: object) -> list[Entry]:
    """All but what stands in the group `none`."""
    return [
        entry(record, "assessment", group=(record["group"],), translation=record["system"])
        for record in records
        if record["group"] != "none"
    ]


METHOD: Method = replace(find_method("likelihood"), queue=f"{__name__}:queue")


def drawn(n: int, seed: int = 0, records: Any = RECORDS) -> Drawn:
    return draw_queue(METHOD, records, None, n=n, seed=seed)


@pytest.mark.parametrize(
    ("n", "shares"),
    [
        (20, {"many": 14, "some": 5, "few": 1}),
        # 0.7 x 6 = 4.2, 0.25 x 6 = 1.5, 0.05 x 6 = 0.3: the largest remainder has the one that is left.
        (6, {"many": 4, "some": 2}),
        (1, {"many": 1}),
        (99, {"many": 69, "some": 25, "few": 5}),
        (100, SIZES),
        (1000, SIZES),
    ],
)
def test_each_group_has_its_share(n: int, shares: dict[str, int]) -> None:
    lines = drawn(n).lines
    assert Counter(line["id"].split("-")[0] for line in lines if line["system"] == "one") == shares
    assert len(lines) == 2 * min(n, 100)


def test_every_system_is_asked_about_for_what_is_drawn() -> None:
    lines = drawn(12).lines
    ids = {system: sorted(x["id"] for x in lines if x["system"] == system) for system in ("one", "two")}
    assert ids["one"] == ids["two"]
    assert len(set(ids["one"])) == 12


def test_it_is_the_same_for_the_same_seed_only_and_in_random_order() -> None:
    assert drawn(30) == drawn(30)
    assert sorted(x["id"] for x in drawn(30).lines) != sorted(x["id"] for x in drawn(30, seed=1).lines)
    systems = [line["system"] for line in drawn(30).lines]
    assert systems not in (sorted(systems), sorted(systems, reverse=True))


def test_every_item_is_drawn_equally_often() -> None:
    counts = Counter(line["id"] for seed in range(400) for line in drawn(20, seed, RECORDS[:100]).lines)
    # 20 of 100, 400 times: 80 each, with a standard deviation of 8.
    assert len(counts) == 100
    assert all(40 < count < 120 for count in counts.values())


def test_what_has_nothing_to_be_judged_is_counted() -> None:
    more = [*RECORDS, *({**record, "id": f"x{n}", "group": "none"} for n, record in enumerate(RECORDS[:3]))]
    assert str(drawn(20, 0, more)) == "40 of 200 are drawn to be judged; 3 items have nothing to be judged"
    assert str(drawn(20)) == "40 of 200 are drawn to be judged"
    with pytest.raises(BabelscopeError, match="none of these 3 records of likelihood has anything"):
        drawn(20, 0, more[-3:])


def test_what_is_alike_is_asked_once() -> None:
    dependency = {"phenomenon": "particle", "side": "source", "head": 2, "dependent": 3, "distance": 0}
    one = {"id": "1", "source": "s", "references": ["r"], "extra": {"dependencies": [dependency] * 2}}
    records = [{**one, "system": system, "translation": "t"} for system in ("a", "b")]
    assert len(dependencies(records)) == 4
    found = draw_queue(find_method("challenge"), records, None, n=9, seed=0)
    assert (len(found.lines), found.of) == (2, 2)
    assert not any("system" in line for line in found.lines)


def test_a_method_without_a_queue_says_so() -> None:
    told = (
        "likelihood has no queue for annotators: what its systems answer is nothing that people could judge"
    )
    with pytest.raises(BabelscopeError, match=told):
        find_queue(find_method("likelihood"))
    without = [name for name in method_names() if not find_method(name).queue]
    assert sorted(without) == ["condition_answers", "contrast_answers", "likelihood"]
    for name in set(method_names()) - set(without):
        assert callable(find_queue(find_method(name)))


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(BabelscopeError, match="not a function that makes a queue"):
        find_queue(replace(METHOD, queue=f"{__name__}:SIZES"))
