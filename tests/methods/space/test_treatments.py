"""Searches that end with their budget: both treatments, bounds that hold, and the warning."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import pytest

from babelscope.core.answers import Budget, Scored, TopK
from babelscope.core.question import Asked, sources_of
from babelscope.core.results import Result, Row
from babelscope.methods.space.ask import with_others_seen
from babelscope.methods.space.tables import tables
from babelscope.methods.space.treatments import by_measure, warnings_of
from babelscope.metrics.ranking import krg
from babelscope.report.summary import summarise
from babelscope.runs.judging import space
from babelscope.testsets import ParallelSentence
from tests.support.enumerated import Enumerated

ITEMS = [
    ParallelSentence(str(number), f"s {number}", (text,))
    for number, text in enumerate(["ab", "ba", "b", "aab", "abab", "a"] * 4)
]
K = 4


class Hasty(Enumerated):
    """A toy whose budget is spent on the shortest translations; its bound is true, and loose."""

    slack = 0.2

    def top_k(self, questions: Sequence[Asked], *, k: int, budget: Budget | None = None) -> list[TopK]:
        answers = []
        for source in sources_of(questions):
            listed = self.space(source)
            seen = (budget.expansions if budget else None) or len(listed)
            short = sorted(listed, key=lambda each: len(each.tokens))[:seen]
            found = sorted(short, key=lambda each: (-each.total, each.tokens))[:k]
            rest = [each.total for each in listed if each not in found]
            exact = found == listed[:k]
            bound = max(rest, default=-math.inf) + (0.0 if exact else self.slack)
            answers.append(TopK(tuple(found), exact, bound, mass=0.1, expansions=seen, minimum=1))
        return answers


def judged(toy: Enumerated, budget: int | None = None, **settings: Any) -> Result:
    return space(toy, ITEMS, **{"k": K, "samples": 0, "budget_expansions": budget, **settings})


def full_values(rows: Sequence[Row]) -> dict[str, float]:
    """The measures of a full search."""
    found = {}
    for row in rows:
        if row.name == "beam_minus_exact":
            found[f"{row.labels['measure']}_beam_minus_exact"] = row.estimate.value
        elif row.labels.get("region") == "top" and row.labels.get("view") == "tokens":
            found[row.name] = row.estimate.value
        elif row.labels.get("decoding") in ("beam", "mode") and row.name in ("search_error", "quality"):
            found["mode_quality" if row.name == "quality" else row.name] = row.estimate.value
    return found


@pytest.mark.parametrize("salt", ["", "one", "two"])
@pytest.mark.parametrize("budget", [1, 3, 7])
def test_the_full_search_lies_between_the_bounds(salt: str, budget: int) -> None:
    toy = Hasty(limit=5, salt=salt)
    full, treated = full_values(judged(toy).rows), by_measure(judged(toy, budget).rows)
    assert set(treated) == {*full} - {"krg_random", "krg_above_random"}
    widths = {}
    for measure, own in treated.items():
        low, high = (own[name].estimate.value for name in ("at-least", "at-most"))
        assert low - 1e-9 <= full[measure] <= high + 1e-9, measure
        assert low - 1e-9 <= own["keep"].estimate.value <= high + 1e-9, measure
        assert own["at-least"].estimate.n >= own["keep"].estimate.n  # a list of one has no rank yet
        widths[measure] = high - low
        assert (own["at-least"].counts["undecided"] > 0) == (widths[measure] > 0)
    assert widths["kqrg"] < 1  # what is proven counts as it is


def test_an_empty_mode_is_ruled_out_by_anything_more_probable() -> None:
    toy = Hasty(limit=5, salt="one")
    own = by_measure(judged(toy, 1).rows)["empty_mode"]
    open_ones, undecided = (own["at-least"].counts[name] for name in ("unresolved", "undecided"))
    # Beam search found something more probable than the empty hypothesis, though nobody knows the mode.
    assert 0 < undecided < open_ones
    assert not by_measure(judged(toy).rows)  # nothing is open


@pytest.mark.parametrize("settings", [{"metric": "ter"}, {"normalise": "ideal"}])
def test_a_scale_without_ends_has_no_bounds(settings: dict[str, Any]) -> None:
    treated = by_measure(judged(Hasty(limit=5), 3, **settings).rows)
    assert set(treated["kqrg"]) == {"leave-out", "keep"}
    assert set(treated["krg"]) == {"leave-out", "keep", "at-least", "at-most"}
    assert set(treated["empty_mode"]) == {"leave-out", "keep", "at-least", "at-most"}


def test_treatments_are_the_figures_of_each_setting() -> None:
    toy = Hasty(limit=5)
    treated = by_measure(judged(toy, 7).rows)
    for name in ("leave-out", "keep"):
        rows = judged(toy, 7, unresolved=name).rows
        (expected,) = [
            row
            for row in rows
            if (row.name, row.labels.get("region"), row.labels.get("view")) == ("kqrg", "top", "tokens")
        ]
        assert treated["kqrg"][name].estimate == expected.estimate
        assert treated["kqrg"][name].counts["unresolved"] == expected.counts["unresolved"] > 0
    assert treated["kqrg"]["keep"].estimate.n == len(ITEMS) > treated["kqrg"]["leave-out"].estimate.n


@pytest.mark.parametrize("unresolved", ["leave-out", "keep"])
def test_a_printed_difference_is_that_of_what_is_printed(unresolved: str) -> None:
    rows = judged(Hasty(limit=5), 7, unresolved=unresolved).rows
    for measure in ("krg", "kqrg"):
        (apart,) = [
            row for row in rows if row.name == "beam_minus_exact" and row.labels["measure"] == measure
        ]
        top, beam = (row for row in rows if row.name == measure and row.labels["view"] == "paired")
        assert (top.labels["region"], beam.labels["region"]) == ("top", "beam")
        assert top.estimate.n == beam.estimate.n == apart.estimate.n > 0
        assert beam.estimate.value - top.estimate.value == pytest.approx(apart.estimate.value)
    bias = tables(rows)[1]
    (line,) = bias.rows
    cells = dict(zip(bias.headings, line, strict=True))
    assert int(cells["n"]) == apart.estimate.n
    assert int(cells["unresolved"]) == apart.counts["unresolved"] > 0
    values = {name: float(cell.split()[0]) for name, cell in cells.items() if name.startswith("k")}
    for measure in ("kRG", "kQRG"):
        apart_by_eye = values[f"{measure} beam"] - values[f"{measure} top"]
        assert values[f"{measure} beam - top"] == pytest.approx(apart_by_eye, abs=0.0101)


def test_who_is_left_out_is_warned_of_where_it_matters() -> None:
    result = judged(Hasty(limit=5), 4)
    own = by_measure(result.rows)["kqrg"]
    kept, left_out = own["keep"].estimate, own["leave-out"].estimate
    assert abs(kept.value - left_out.value) > 0.01
    said = summarise(result, width=80, most=80)
    assert "who is left out matters" in " ".join(said.split()), said
    titles = [table.title for table in tables(result.rows)]
    assert any("warning: who is left out changes figures by more than a point" in title for title in titles)
    full = judged(Hasty(limit=5))
    assert not warnings_of(full.rows)
    assert "Warning" not in summarise(full, width=80)


def test_what_others_found_completes_an_open_search() -> None:
    def scored(text: str, total: float, *notes: Any) -> Scored:
        return Scored(text, (*text, "</s>"), (*[0.0] * len(text), total), notes)

    top = TopK(
        (scored("", -3.0), scored("a", -4.0)), exact=False, bound=-1.0, mass=0, expansions=1, minimum=1
    )
    beam = [scored("ab", -2.0), scored("", -3.0), scored("b", -3.5), scored("bbb", -0.1, "unfinished")]
    found = with_others_seen(top, beam, 2)
    assert [each.text for each in found.found] == ["ab", ""]
    assert (found.exact, found.bound) == (False, -1.0)
    tight = with_others_seen(TopK(top.found, False, -9.0, 0, 1, 1), beam, 2)
    assert tight.bound == -3.5  # nothing outside is more probable than the best that was dropped


def test_no_order_has_a_lower_krg_than_the_reversed_one() -> None:
    for size in (2, 3, 4, 5):
        lowest = min(krg(range(each)) for each in range(2, size + 1))
        for qualities in itertools.product(range(size), repeat=size):
            assert krg(qualities) >= lowest - 1e-12
