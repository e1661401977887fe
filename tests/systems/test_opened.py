"""What single open models and ensembles share: each source decoded once, in parts, with the search's certificate."""

from __future__ import annotations

import pytest

from babelscope.systems.opened import each_once, in_parts
from babelscope.systems.opening import open_system
from babelscope.util.errors import SystemFailure

IDS = [(1, 2), (3,), (1, 2), (4, 5, 6)]


def test_each_source_is_asked_once_and_answered_in_its_place() -> None:
    asked: list[list[tuple[int, ...]]] = []

    def run(sources: list[tuple[int, ...]]) -> list[int]:
        asked.append(sources)
        return [sum(each) for each in sources]

    assert each_once("model", run, IDS) == [3, 3, 3, 15]
    assert asked == [[(1, 2), (3,), (4, 5, 6)]]


def test_what_does_not_fit_into_memory_is_halved_until_it_does() -> None:
    asked: list[int] = []

    def run(sources: list[tuple[int, ...]]) -> list[int]:
        asked.append(len(sources))
        if len(sources) > 1:
            raise MemoryError
        return [sum(each) for each in sources]

    assert in_parts("model", run, IDS) == [3, 3, 3, 15]
    assert asked == [4, 2, 1, 1, 2, 1, 1]

    def never(_: list[tuple[int, ...]]) -> list[int]:
        raise MemoryError

    with pytest.raises(SystemFailure, match=r"^model: out of memory on a single sentence; try a shorter one"):
        in_parts("model", never, IDS)

    def wrong(_: list[tuple[int, ...]]) -> list[int]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        in_parts("model", wrong, IDS)


@pytest.mark.parametrize("name", ["lab:student", "ensemble:lab:student,lab:student-2"])
def test_a_search_has_its_certificate_and_its_seconds(name: str) -> None:
    [found] = open_system(name).top_k(["A dog sleeps."], k=2)
    assert found.exact
    assert len(found.found) == 2
    assert found.expansions >= found.minimum > 0
    assert found.seconds is not None
    assert found.seconds > 0
