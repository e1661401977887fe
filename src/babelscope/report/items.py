"""Which items a page holds: all, or if they are too many, errors, close decisions and a random sample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from babelscope.methods.reporting import ItemView, TextLine, count_of
from babelscope.report.charts import Series
from babelscope.report.sections import Section
from babelscope.util.seeds import stream

CAP = 5000
"""Most items of one method in a page."""


@dataclass(slots=True)
class Item:
    """An item of a test set with the answer of each system."""

    id: str
    tests: int
    place: int
    answers: list[tuple[int, ItemView]]

    @property
    def is_wrong(self) -> bool:
        return any(answer.tone in ("errors", "some") for _, answer in self.answers)

    @property
    def certainty(self) -> float:
        """The smallest absolute value of its answers: how close the closest decision was."""
        return min(
            (abs(answer.value) for _, answer in self.answers if answer.value is not None),
            default=float("inf"),
        )


def items_of(sections: Sequence[Section], series: Series, *, cap: int = CAP, seed: int = 0) -> dict[str, Any]:
    """The items of a method as JSON for the page's script; `note` says which were left out."""
    found = _joined(sections, series)
    chosen, note = choose(found, cap=cap, seed=seed)
    names = dict.fromkeys(each.name for section in sections for each in section.comparison.results)
    shown = next((answer for item in found for _, answer in item.answers), ItemView(""))
    return {
        "systems": [{"name": name, "series": series[name]} for name in names],
        "tests": [section.comparison.tests for section in sections],
        "measure": shown.value_name,
        "group": shown.group_name,
        "colors": shown.colors,
        "note": note,
        "items": [_as_json(item) for item in chosen],
    }


def count_shown(data: Mapping[str, Any], query: Mapping[str, str]) -> int:
    """How many items of `items_of` a link shows, as the page's script filters them."""
    series = {each["name"]: each["series"] for each in data["systems"]}
    tests, system = query.get("tests"), query.get("system")
    return sum(
        (not tests or data["tests"][item["t"]] == tests)
        and any(
            (not system or each["s"] == series.get(system))
            and ItemView("", item["g"], verdict=each["v"], tone=each["c"], also=each.get("w", ())).matches(
                query
            )
            for each in item["a"]
        )
        for item in data["items"]
    )


def _joined(sections: Sequence[Section], series: Series) -> list[Item]:
    """One entry per item, with the answers of all systems, in the order of the test sets."""
    found: dict[tuple[int, str], Item] = {}
    for number, section in enumerate(sections):
        for result in section.comparison.results:
            for record in result.records:
                key = (number, str(record["id"]))
                item = found.setdefault(key, Item(key[1], number, len(found), []))
                item.answers.append((series[result.name], section.method.show(record)))
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


def _as_json(item: Item) -> dict[str, Any]:
    about = item.answers[0][1]
    return {
        "id": item.id,
        "t": item.tests,
        "g": list(about.groups),
        "k": about.heading,
        "s": about.source,
        "x": _lines(about.lines),
        "a": [
            {
                "s": system,
                "v": answer.verdict,
                "c": answer.tone,
                "m": None if answer.value is None else round(answer.value, 4),
                "x": _lines(answer.answer()),
                "f": answer.facts,
                **({"w": list(answer.also)} if answer.also else {}),
            }
            for system, answer in item.answers
        ],
    }


def _lines(lines: Iterable[TextLine]) -> list[list[Any]]:
    return [
        [
            label,
            shown
            if isinstance(shown, str)
            else [[each[0], None if each[1] is None else round(each[1], 3), *each[2:]] for each in shown],
        ]
        for label, shown in lines
    ]
