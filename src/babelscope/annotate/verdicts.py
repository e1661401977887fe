"""Automatic verdicts and scores on translations that people judged, and how far verdicts agree with people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from babelscope.annotate.answers import Answered
from babelscope.core.results import Row
from babelscope.stats.agreement import weight_of, weighted
from babelscope.stats.reliability import cohens_kappa
from babelscope.util.errors import BabelscopeError
from babelscope.util.json_lines import json_number
from babelscope.util.text import shorten

Judged = Mapping[str, Sequence[tuple[Answered, str | None, bool | None]]]
"""Annotator -> (answer, the translation it is about if known, whether that is right; None if that was left open)."""


@dataclass(frozen=True, slots=True)
class AutomaticJudgement:
    """A method's verdict or score on one item, and where it was read."""

    place: str
    value: bool | float | None
    """None where the method is undecided."""
    weight: float | None = None
    """None where verdicts have no weights."""
    listed: int | None = None
    """How many translations the score is of, where it is one of a list."""
    translation: str | None = None


class AutomaticJudgements:
    """A method's verdicts or scores, by item and system."""

    def __init__(self, rows: Iterable[tuple[str, Mapping[str, Any]]], field: str | None = None) -> None:
        """Read the number in `field` of each record; the verdict without `field`."""
        self.by_item: dict[str, dict[str, AutomaticJudgement]] = {}
        for place, record in rows:
            number, system = record.get("id"), str(record.get("system", ""))
            if not isinstance(number, str | int):
                raise BabelscopeError(f"{place} has no `id`, which tells the item it is about")
            own = self.by_item.setdefault(str(number), {})
            if system in own:
                raise BabelscopeError(f"{place}: item {number} has a verdict already, at {own[system].place}")
            own[system] = _read_score(place, record, field) if field else _read_verdict(place, record)

    def find(
        self, item: str, system: str, translation: str | None = None
    ) -> tuple[str, AutomaticJudgement] | None:
        """The system and the judgement of its translation of an item, or None.

        A system may have another name there: then it is found by the translation.
        """
        own = self.by_item.get(item, {})
        if system in own:
            self._require_same(item, own[system], translation)
            return system, own[system]
        if translation is not None:
            for name, found in own.items():
                if found.translation is not None and _alike(found.translation, translation):
                    return name, found
        if len(own) > 1 and not system:
            raise BabelscopeError(
                f"item {item} has verdicts on {len(own)} systems, and its line does not say by `system` "
                "whose translation was judged"
            )
        # If either side does not name its system, there is only one to match.
        return next(((name, found) for name, found in own.items() if "" in (name, system)), None)

    @staticmethod
    def _require_same(item: str, found: AutomaticJudgement, translation: str | None) -> None:
        """Refuse a verdict on another translation than people judged, such as that of another beam size."""
        if translation is None or found.translation is None or _alike(found.translation, translation):
            return
        raise BabelscopeError(
            f"item {item}: people judged {shorten(translation)}, but the verdict at {found.place} is on "
            f"{shorten(found.translation)}"
        )


def _alike(one: str, other: str) -> bool:
    """Whether two translations have the same words; pattern matching joins these by single spaces."""
    return one.split() == other.split()


def _read_verdict(place: str, record: Mapping[str, Any]) -> AutomaticJudgement:
    correct = record.get("correct")
    if "verdict" in record:
        correct = {"correct": True, "wrong": False}.get(str(record["verdict"]))
    elif "correct" not in record or not (correct is None or isinstance(correct, bool)):
        raise BabelscopeError(f"{place} has neither `verdict` nor `correct` (true, false or null)")
    if record.get("predicted") in ("neutral", "unknown"):
        correct = None  # WinoMT: no gender found is no decision
    weight = None if record.get("weight") is None else weight_of(record, place)
    text = record.get("translation")
    return AutomaticJudgement(place, correct, weight, translation=text if isinstance(text, str) else None)


def _read_score(place: str, record: Mapping[str, Any], field: str) -> AutomaticJudgement:
    if field in record and record[field] is None:
        return AutomaticJudgement(place, None)
    number = json_number(record.get(field))
    if number is None or not math.isfinite(number):
        raise BabelscopeError(f"{place} has no number in `{field}`; name the right one with --field")
    return AutomaticJudgement(place, number, listed=listed(record, field))


def listed(record: Mapping[str, Any], field: str) -> int | None:
    """The length of the list that a score of `space` is of; None for other scores."""
    top = record.get("top")
    found = top.get("found") if isinstance(top, Mapping) and field.startswith("top_") else None
    return len(found) if isinstance(found, list) else None


# -- agreement with people ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pair:
    """What a person and the method said of one translation."""

    item: str
    human: bool
    verdict: bool
    weight: float | None


def agreement_rows(
    judged: Judged,
    records: AutomaticJudgements,
    labels: Mapping[str, str | float],
    *,
    assumed: AutomaticJudgements | None = None,
    if_undecided: bool | None = None,
    kappas: bool = True,
) -> list[Row]:
    """Share of human judgements that a method agrees with, by annotator and over all; weighted too if verdicts are.

    Items that a person or the method left undecided are left out and counted; with `if_undecided` an undecided item
    has that verdict. `assumed` are a matcher's verdicts: those it decided are taken for right, and added in
    proportion to their number (appendix E of the conditioning paper).
    """
    together = {"all": [each for own in judged.values() for each in own]} if len(judged) > 1 else {}
    _require_some([each for own in judged.values() for each in own], records)
    rows: list[Row] = []
    for name, own in {**together, **judged}.items():
        pairs, counts = _pairs(own, records, if_undecided)
        named: dict[str, str | float] = {**labels, "annotators": name, "labels": "binary"}
        counts = {"judgements": len(pairs), "agreed": sum(p.human == p.verdict for p in pairs), **counts}
        with_weights = any(pair.weight is not None for pair in pairs)
        for weighting in ("none", *(("category",) if with_weights else ())):
            sums = _sums(pairs, weighted=weighting == "category")
            more: dict[str, int] = {}
            if assumed is not None:
                added = _added(records, assumed, len(pairs), if_undecided, weighted=weighting == "category")
                sums, more = [*sums, *added], {"covered": round(_covered(assumed, len(pairs)))}
            estimate = weighted(sums)
            rows.append(Row("agreement", estimate, {**named, "weighting": weighting}, {**counts, **more}))
        if kappas and name != "all":
            kappa = cohens_kappa([str(p.human) for p in pairs], [str(p.verdict) for p in pairs])
            rows.append(Row("kappa", kappa, {**named, "weighting": "none"}, counts))
    return rows


def _pairs(
    judged: Sequence[tuple[Answered, str | None, bool | None]],
    records: AutomaticJudgements,
    if_undecided: bool | None,
) -> tuple[list[_Pair], dict[str, int]]:
    counts = {"open": 0, "undecided": 0, "missing": 0}
    pairs = []
    for answered, translation, human in judged:
        found = records.find(answered.id, answered.system, translation)
        value = None if found is None else found[1].value
        if human is None:
            counts["open"] += 1
        elif found is None:
            counts["missing"] += 1
        elif value is None and if_undecided is None:
            counts["undecided"] += 1
        else:
            counts["undecided"] += value is None
            verdict = if_undecided if value is None else bool(value)
            pairs.append(_Pair(answered.item, human, bool(verdict), found[1].weight))
    return pairs, counts


def _sums(pairs: Sequence[_Pair], *, weighted: bool) -> list[Sequence[float]]:
    """What agreed and what was judged of each item; a verdict without a weight weighs nothing if others have one."""
    found: dict[str, list[float]] = {}
    for pair in pairs:
        weight = (pair.weight or 0.0) if weighted else 1.0
        own = found.setdefault(pair.item, [0.0, 0.0])
        own[0] += weight * (pair.verdict == pair.human)
        own[1] += weight
    return list(found.values())


def _covered(assumed: AutomaticJudgements, judgements: int) -> float:
    """How many judgements stand for what the matcher decided: as many for each as there are for an undecided one."""
    every = [each for own in assumed.by_item.values() for each in own.values()]
    undecided = sum(each.value is None for each in every)
    if not undecided:
        raise BabelscopeError(
            "the matcher of --patterns decided everything, though people judged what it did not"
        )
    return judgements * (len(every) - undecided) / undecided


def _added(
    records: AutomaticJudgements,
    assumed: AutomaticJudgements,
    judgements: int,
    if_undecided: bool | None,
    *,
    weighted: bool,
) -> list[Sequence[float]]:
    """What agreed and what was judged of each translation that the matcher decided, and so was taken for right."""
    decided = [
        (item, system, each)
        for item, own in assumed.by_item.items()
        for system, each in own.items()
        if each.value is not None
    ]
    scale = _covered(assumed, judgements) / max(len(decided), 1)
    found: list[Sequence[float]] = []
    for item, system, each in decided:
        said = records.find(item, system, each.translation)
        if said is None:
            continue
        value = if_undecided if said[1].value is None else said[1].value
        if value is not None:
            weight = scale * ((said[1].weight or 0.0) if weighted else 1.0)
            found.append((weight * (bool(value) == bool(each.value)), weight))
    return found


def _require_some(
    judged: Sequence[tuple[Answered, str | None, bool | None]], records: AutomaticJudgements
) -> None:
    """Refuse verdicts on none of the items that were judged: a figure of nothing would look like one."""
    if not judged or any(records.find(each.id, each.system, text) for each, text, _ in judged):
        return
    first = judged[0][0]
    systems = sorted({system for own in records.by_item.values() for system in own})
    about = (
        f"on other items (such as {shorten(next(iter(records.by_item), 'none'))}, not {shorten(first.id)})"
    )
    if first.id in records.by_item:
        named = ", ".join(map(repr, systems[:3]))
        about = f"on translations of other systems ({named}, not {first.system!r}), which differ"
    raise BabelscopeError(
        f"none of the {len(judged)} judgements has a verdict here: the verdicts are {about}"
    )
