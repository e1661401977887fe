"""Unfinished work: what was done is read, never made again; what is damaged or old is made again."""

from __future__ import annotations

import contextlib
import functools
import sqlite3
import time
import warnings
from typing import Any

import platformdirs
import pytest

from babelscope.making.ray_tasks import map_parts
from babelscope.systems.cache import Store, resuming
from babelscope.util.errors import SystemFailure
from tests.support.stored import unfinished
from tests.support.toys import ToySystem

WORK = {"command": "count", "seed": 1}
WHOLE = [{"number": number, "text": "Größe \ud800", "value": 0.1 + number} for number in range(5)]


def work(made: list[int], *, until: int = 5, **other: Any) -> list[Any]:
    """Five parts; stops before part `until` as if it had failed."""

    def make(number: int) -> Any:
        if number >= until:
            raise SystemFailure("the server is gone")
        made.append(number)
        return WHOLE[number]

    with resuming({**WORK, **other}) as (store, _):
        return [store.part(f"part {number}", functools.partial(make, number)) for number in range(5)]


def stopped() -> None:
    with pytest.raises(SystemFailure):
        work([], until=3)
    assert len(unfinished()) == 3


def change(statement: str, *values: Any) -> None:
    path = platformdirs.user_state_path("babelscope") / "unfinished.sqlite"
    with sqlite3.connect(path) as database:
        database.execute(statement, values)


def test_what_was_done_is_not_done_again_and_nothing_is_left():
    stopped()
    other: list[int] = []
    work(other, seed=2)  # other work finds nothing of it, and leaves it
    assert other == [*range(5)]
    made: list[int] = []
    assert work(made) == WHOLE
    assert made == [3, 4]
    assert unfinished() == []


def test_the_same_work_at_the_same_time_ends_the_same():
    made: list[int] = []
    with resuming(WORK) as (store, _):
        assert store.part("part 0", lambda: WHOLE[0]) == WHOLE[0]
        assert work(made) == WHOLE  # finds the first part, and removes it
        assert store.part("part 0", lambda: WHOLE[0]) == WHOLE[0]
    assert made == [1, 2, 3, 4]
    assert unfinished() == []


@pytest.mark.parametrize(
    ("statement", "made"),
    [
        ("UPDATE answers SET answer = replace(answer, '0.1', '7') WHERE request = 'part 0'", [0, 3, 4]),
        (f"UPDATE answers SET at = {time.time() - 40 * 24 * 3600}", [*range(5)]),
    ],
    ids=["damaged", "stale"],
)
def test_damaged_and_stale_parts_are_made_again(statement, made):
    stopped()
    change(statement)
    again: list[int] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert work(again) == WHOLE
    assert again == made


def test_a_damaged_store_is_told_and_work_goes_on_without():
    stopped()
    path = platformdirs.user_state_path("babelscope") / "unfinished.sqlite"
    path.with_name("unfinished.sqlite-wal").unlink()
    path.write_bytes(b"no database" * 500)
    with pytest.warns(RuntimeWarning, match="is damaged .*nothing is kept should this command fail"):
        assert work([]) == WHOLE


def test_a_missing_part_among_stored_ones_is_made_in_its_place(tmp_path):
    store = Store(tmp_path / "store", "squares")
    names = [str(number) for number in range(5)]
    store.keep({"0": 0, "2": 4})
    made: list[int] = []

    def square(number: int) -> int:
        made.append(number)
        return number * number

    assert list(map_parts(square, names, range(5), None, store)) == [0, 1, 4, 9, 16]
    assert made == [1, 2, 3, 4]
    assert list(map_parts(square, names, range(5), None, store)) == [0, 1, 4, 9, 16]
    assert len(made) == 4


def test_answers_are_found_call_by_call():
    class Counting(ToySystem):
        calls = 0

        def translate(self, *arguments: Any, **how: Any) -> Any:
            self.calls += 1
            return super().translate(*arguments, **how)

    inner = Counting()
    with contextlib.suppress(KeyboardInterrupt), resuming(WORK, [inner]) as (_, (system,)):
        first = system.translate(["a", "b"])
        raise KeyboardInterrupt
    with resuming({**WORK, "seed": 2}, [inner]) as (
        _,
        (system,),
    ):  # answers are the system's, whatever the work
        assert system.translate(["a", "b"]) == first
        assert inner.calls == 1
        assert system.translate(["a"]) == first[:1]  # another batch, whose floats may differ
        assert inner.calls == 2
    assert unfinished() == []
