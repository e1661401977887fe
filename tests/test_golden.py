"""What commands print and write is what was recorded (tests/golden): rows, records, refusals, warnings, digests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.golden.cases import CASES, RAY_CASES
from tests.golden.harness import differences, renamed, renames, tolerance, without_added
from tests.golden.running import Workshop, read_golden

# A socket of an earlier test that is collected now is no warning of the command; Python itself shows none of them.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(scope="session")
def workshop() -> Iterator[Workshop]:
    with Workshop() as made:
        yield made


def check(workshop: Workshop, name: str) -> None:
    recorded = read_golden(name.partition("/")[0]).get(name, [])
    assert recorded, f"nothing is recorded: python -m tests.golden {name}"
    names = renames()
    old = [renamed(fact, names) for fact in recorded]
    new = without_added(workshop.run(name), names["added"])
    found = list(differences(old, new, tolerance()))
    shown = "\n".join(found[:20])
    assert not found, f"{len(found)} facts of {name} differ:\n{shown}"


@pytest.mark.parametrize("name", CASES)
def test_values_are_the_recorded_ones(workshop: Workshop, name: str) -> None:
    check(workshop, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", RAY_CASES)
def test_values_with_ray_are_the_recorded_ones(workshop: Workshop, name: str) -> None:
    pytest.importorskip("ray")
    check(workshop, name)


FIGURE: dict[str, object] = {"name": "chrf", "system": "a", "value": 0.5, "n": 3}
ROW: dict[str, object] = {"step": 0, "row": FIGURE}


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ([ROW], []),
        ([{"step": 0, "row": {**FIGURE, "value": 0.5 + 1e-12}}], ["step 0  chrf.row.value"]),
        ([{"step": 0, "row": {**FIGURE, "n": 4}}], ["step 0  chrf.row.n"]),
        ([{"step": 0, "row": {**FIGURE, "n": 3.0}}], ["step 0  chrf.row.n"]),
        ([{"step": 0, "row": {**FIGURE, "name": "bleu"}}], ["gone: ", "new: "]),
        ([{"step": 0, "row": {**FIGURE, "ties": 0}}], ["step 0  chrf.row.ties is new"]),
        ([], ["gone: "]),
        ([ROW, ROW], ["new: "]),
    ],
)
def test_every_difference_is_found(new: list[dict[str, object]], told: list[str]) -> None:
    found = list(differences([ROW], new, (0.0, 0.0)))
    assert len(found) == len(told)
    assert all(each.startswith(begin) for each, begin in zip(found, told, strict=True))


def test_renamed_names_are_no_difference() -> None:
    old = [ROW, {"step": 0, "field": "scores[].total", "n": 1, "sum": 2.0}]
    names = {"keys": {"row": "row", "total": "sum_of_logs", "system": "who"}, "values": {"chrf": "chrF"}}
    new = [
        {"step": 0, "row": {"name": "chrF", "who": "a", "value": 0.5, "n": 3}},
        {"step": 0, "field": "scores[].sum_of_logs", "n": 1, "sum": 2.0},
    ]
    assert not list(differences([renamed(fact, names) for fact in old], new, (0.0, 0.0)))


def test_only_what_is_listed_as_added_is_no_difference() -> None:
    """Recorded rows keep the Holm-corrected p that they have without the added tests."""
    added = {"fields": ["flag"], "rows": [{"name": "difference", "measure": "flag"}]}

    def row(measure: str, p: float, p_holm: float) -> dict[str, object]:
        return {"step": 0, "row": {"name": "difference", "measure": measure, "p": p, "p_holm": p_holm}}

    old = [row("score", 0.02, 0.04), row("time", 0.5, 0.5), {"step": 0, "record": {"score": 1.0}}]
    new = [
        row("score", 0.02, 0.06),
        row("time", 0.5, 1.0),
        row("flag", 0.6, 1.0),
        {"step": 0, "record": {"score": 1.0, "flag": True}},
        {"step": 0, "field": "flag", "n": 1, "sum": 1.0},
    ]
    assert not list(differences(old, without_added(new, added), (0.0, 0.0)))
    assert len(list(differences(old, new, (0.0, 0.0)))) == 5
    other = [
        row("other", 0.6, 1.0),
        {"step": 0, "record": {"other": True}},
        {"step": 0, "field": "other", "n": 1},
    ]
    found = list(differences(old, without_added([*new, *other], added), (0.0, 0.0)))
    assert [each.partition(":")[0] for each in found if "other" in each] == ["new", "new", "new"]
    # Neither a changed p nor a recorded row that is listed goes unnoticed.
    wrong = [row("score", 0.03, 0.06), *new[1:]]
    assert any("row.p:" in each for each in differences(old, without_added(wrong, added), (0.0, 0.0)))
    assert list(differences([*old, row("flag", 0.6, 1.0)], without_added(new, added), (0.0, 0.0)))
