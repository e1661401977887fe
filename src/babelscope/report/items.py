"""Which items a page holds: all, or if they are too many, errors, close decisions and a random sample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from babelscope.core.columns import Group
from babelscope.core.page import Answer, Line, Section, View, count_of
from babelscope.core.results import Record
from babelscope.methods.view import matches
from babelscope.report.charts import Series
from babelscope.util.seeds import stream

CAP = 5000
"""Most items of one method in a page."""

_Key = tuple[int, str]


@dataclass(slots=True)
class Item:
    """An item of a test set with the answer of each system."""

    record: Record
    tests: int
    place: int
    answers: list[tuple[int, Answer]]

    @property
    def is_wrong(self) -> bool:
        return any(answer.tone in ("errors", "some") for _, answer in self.answers)

    @property
    def certainty(self) -> float:
        """The smallest absolute measure of its answers: how close the closest decision was."""
        return min(
            (abs(answer.measure) for _, answer in self.answers if answer.measure is not None),
            default=float("inf"),
        )


def items_of(
    groups: Sequence[Group], section: Section, view: View, series: Series, *, cap: int = CAP, seed: int = 0
) -> dict[str, Any]:
    """The items of a method as JSON for the page's script; `note` says which were left out."""
    found = _joined(groups, view, series)
    chosen, note = choose(found, cap=cap, seed=seed)
    names = list(dict.fromkeys(column.name for group in groups for column in group.columns))
    return {
        "systems": [{"name": name, "series": series[name]} for name in names],
        "tests": [group.tests for group in groups],
        "measure": section.measure,
        "group": section.group,
        "colours": section.colours,
        "note": note,
        "items": [_as_json(item, view) for item in chosen],
    }


def count_shown(data: Mapping[str, Any], query: Mapping[str, str]) -> int:
    """How many items of `items_of` a link shows, as the page's script filters them."""
    series = {each["name"]: each["series"] for each in data["systems"]}
    tests, system = query.get("tests"), query.get("system")
    return sum(
        (not tests or data["tests"][item["t"]] == tests)
        and any(
            (not system or each["s"] == series.get(system))
            and matches(item["g"], Answer(each["v"], each["c"], also=each.get("w", ())), query)
            for each in item["a"]
        )
        for item in data["items"]
    )


def _joined(groups: Sequence[Group], view: View, series: Series) -> list[Item]:
    """One entry an item, with the answers of all systems, in the order of the test sets."""
    found: dict[_Key, Item] = {}
    for number, group in enumerate(groups):
        for column in group.columns:
            for record in column.cell.records:
                key = (number, record["id"])
                if key not in found:
                    found[key] = Item(record, number, len(found), [])
                answer = view.answer(record, column.cell.settings)
                found[key].answers.append((series[column.name], answer))
    return list(found.values())


def choose(found: Sequence[Item], *, cap: int, seed: int) -> tuple[list[Item], str]:
    """Choose at most `cap` items, and say in a sentence which; the sentence is empty if all are chosen.

    Three fifths are errors, one fifth the closest decisions, one fifth a random sample of the others. Where there
    are fewer of one kind, the other kinds get its share.
    """
    if len(found) <= cap:
        return list(found), ""
    rng = stream(seed, "report/items")

    def some(members: Sequence[Item], most: int) -> list[Item]:
        drawn = rng.permutation(len(members))[:most] if len(members) > most else range(len(members))
        return [members[number] for number in drawn]

    wrong = [item for item in found if item.is_wrong]
    right = sorted((item for item in found if not item.is_wrong), key=lambda item: item.certainty)
    errors = some(wrong, max(cap * 3 // 5, cap - len(right)))
    close = right[: (cap - len(errors)) // 2]
    rest = some(right[len(close) :], cap - len(errors) - len(close))
    of_errors = f"all {len(wrong):,}" if len(errors) == len(wrong) else f"{len(errors):,} of {len(wrong):,}"
    note = (
        f"This page has {cap:,} of {count_of(len(found), 'items')}: {of_errors} with an error, "
        f"the {len(close):,} others closest to one, and {len(rest):,} at random (seed {seed}). "
        "All of them are in the run folder’s records.jsonl."
    )
    return sorted([*errors, *close, *rest], key=lambda item: item.place), note


def _as_json(item: Item, view: View) -> dict[str, Any]:
    about = view.about(item.record)
    return {
        "id": str(item.record["id"]),
        "t": item.tests,
        "g": list(about.groups),
        "k": about.kind,
        "s": about.source,
        "x": _lines(about.lines),
        "a": [
            {
                "s": system,
                "v": answer.verdict,
                "c": answer.tone,
                "m": None if answer.measure is None else round(answer.measure, 4),
                "x": _lines(answer.lines()),
                "f": answer.facts,
                **({"w": list(answer.also)} if answer.also else {}),
            }
            for system, answer in item.answers
        ],
    }


def _lines(lines: Iterable[Line]) -> list[list[Any]]:
    return [
        [
            label,
            shown
            if isinstance(shown, str)
            else [[each[0], None if each[1] is None else round(each[1], 3), *each[2:]] for each in shown],
        ]
        for label, shown in lines
    ]
