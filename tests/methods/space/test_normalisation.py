"""Search errors are those of a beam without length penalty; what the penalty changes stands in rows of its own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import pytest

from babelscope import run_method
from babelscope.core.answers import Scored
from babelscope.core.question import Asked, sources_of
from babelscope.core.results import Row
from babelscope.testsets import ParallelSentence
from tests.support.enumerated import Enumerated

SOURCES = ["".join(letters) for letters in itertools.product("abc", repeat=2)]
ITEMS = [ParallelSentence(str(n), source, ("ab",)) for n, source in enumerate(SOURCES)]


class Beam(Enumerated):
    """A toy whose "beam search" ranks its whole space by the penalty, but for the mode of some sources."""

    length_penalty: float | None = 1.0

    def translate(
        self,
        questions: Sequence[Asked],
        *,
        beam: int = 5,  # noqa: ARG002
        n_best: int = 1,
        length_penalty: float | None = None,
    ) -> list[list[Scored]]:
        penalty = self.length_penalty if length_penalty is None else length_penalty
        assert penalty is not None
        answers = []
        for source in sources_of(questions):
            space = self.space(source)
            seen = space[1:] if misses(source) else space
            answers.append(sorted(seen, key=lambda each: -each.total / len(each.tokens) ** penalty)[:n_best])
        return answers


def misses(source: str) -> bool:
    return source.startswith("a")


def rows_of(system: Any) -> dict[tuple[str, str], Row]:
    rows = run_method("space", system, ITEMS, k=3, samples=0).rows
    return {(row.name, str(row.labels.get("decoding", ""))): row for row in rows}


def test_a_penalty_is_no_search_error() -> None:
    system = Beam(symbols="ab", limit=4, salt="3")
    plain = [system.translate([source], length_penalty=0.0)[0][0] for source in SOURCES]
    own = [system.translate([source])[0][0] for source in SOURCES]
    modes = [system.space(source)[0] for source in SOURCES]
    rows = rows_of(system)
    missed = sum(misses(source) for source in SOURCES)
    assert rows["search_error", "beam"].counts["missed"] == missed
    assert rows["search_error", "beam-list"].counts["missed"] == missed
    changed = sum(a.tokens != b.tokens for a, b in zip(plain, own, strict=True))
    assert changed > 0, "else the test shows nothing"
    row = rows["normalisation_changes", ""]
    assert (row.counts["changed"], row.estimate.n, row.labels["length_penalty"]) == (changed, 9, "1")
    costs = [a.total - b.total for a, b in zip(plain, own, strict=True)]
    assert rows["normalisation_costs", ""].estimate.value == pytest.approx(math.fsum(costs) / 9)
    longer = [len(b.tokens) - len(a.tokens) for a, b in zip(plain, own, strict=True)]
    assert rows["normalisation_lengthens", ""].estimate.value == pytest.approx(sum(longer) / 9)
    off = sum(a.tokens != b.tokens and a.total > b.total for a, b in zip(modes, own, strict=True))
    assert off > missed
    row = rows["misses_mode", ""]
    assert (row.counts["missed"], row.labels["beam"], row.labels["length_penalty"]) == (off, 5, "1")
    gaps = [a.total - b.total for a, b in zip(modes, own, strict=True) if a.total > b.total]
    assert rows["mode_gap", ""].estimate.value == pytest.approx(math.fsum(gaps) / off)
    # The same quantity has the same name and value among the sizes of the beam, and is there once.
    found = run_method("space", system, ITEMS, k=3, samples=0, beams=(1, 5)).rows
    swept = [each for each in found if each.name == "misses_mode"]
    assert [each.labels["beam"] for each in swept] == [1, 5]
    assert (swept[1].estimate, swept[1].counts) == (row.estimate, row.counts)
    assert swept[1].labels == row.labels


@pytest.mark.parametrize(("beam", "k", "width"), [(5, 3, 5), (2, 4, 4), (1, 1, 1)])
def test_the_list_is_of_the_beam_that_its_row_names(beam: int, k: int, width: int) -> None:
    asked: list[tuple[int, int, float | None]] = []

    class Noted(Beam):
        def translate(self, questions: Sequence[Asked], **how: Any) -> list[list[Scored]]:
            asked.append((how["beam"], how.get("n_best", 1), how.get("length_penalty")))
            return super().translate(questions, **how)

    rows = run_method("space", Noted(symbols="ab", limit=4), ITEMS, k=k, samples=0, beam=beam).rows
    lists = {(width, k, None), (width, k, 0.0)} if k > 1 else set()
    assert set(asked) == {(beam, 1, None), (beam, 1, 0.0)} | lists
    named = {row.labels["decoding"]: row.labels["beam"] for row in rows if row.name == "search_error"}
    assert named == {"beam": beam, **({"beam-list": width} if k > 1 else {})}


@pytest.mark.parametrize("penalty", [0.0, None])
def test_without_a_penalty_nothing_else_is_asked(penalty: float | None) -> None:
    asked: list[float | None] = []

    class Counted(Beam):
        def translate(
            self,
            questions: Sequence[Asked],
            *,
            beam: int = 5,
            n_best: int = 1,
            length_penalty: float | None = None,
        ) -> list[list[Scored]]:
            asked.append(length_penalty)
            return super().translate(questions, beam=beam, n_best=n_best, length_penalty=0.0)

    system = Counted(symbols="ab", limit=4, salt="3")
    system.length_penalty = penalty
    rows = rows_of(system)
    assert set(asked) == {None}
    assert not [name for name, _ in rows if name.startswith("normalis")]
    assert rows["search_error", "beam"].counts["missed"] == sum(map(misses, SOURCES))


def test_what_did_not_end_is_left_out() -> None:
    class Endless(Beam):
        def translate(self, questions: Sequence[Asked], **how: Any) -> list[list[Scored]]:
            found = super().translate(questions, **how)
            return [
                [Scored(e.text, e.tokens, e.logprobs, ("unfinished",)) for e in group]
                if source == SOURCES[-1]
                else group
                for source, group in zip(sources_of(questions), found, strict=True)
            ]

    rows = rows_of(Endless(symbols=("a", "b"), limit=4, salt="3"))
    row = rows["normalisation_changes", ""]
    assert (row.estimate.n, row.counts["unresolved"]) == (8, 1)
