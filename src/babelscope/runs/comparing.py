"""Compares runs: figures side by side, and systems paired item by item."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence

from babelscope.core.columns import Column, Group, JudgedCell, StoredRun
from babelscope.core.comparable import PartLabels
from babelscope.core.results import Row, differences
from babelscope.methods.base import ANSWER_FILES, find_method, method_names, restore_settings
from babelscope.runs.comparing_worst import worst_difference
from babelscope.runs.reading import Run, StoredCell, cells_of_run
from babelscope.stats.paired import Tested, count_wins, paired_difference, tested_rows
from babelscope.util.damage import explain_damage
from babelscope.util.errors import BabelscopeError


class NotComparable(BabelscopeError):
    """Runs differ in settings or test sets; `reason` says what differs, without the hint."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}; with --summary only their figures are shown side by side")
        self.reason = str(BabelscopeError(reason))  # BabelscopeError escapes what could steer a terminal


def group_runs(runs: Sequence[Run], *, summary_only: bool = False) -> list[Group]:
    """Group the cells of runs by method and test set; refuses runs with different settings or test sets.

    With `summary_only` nothing is refused and cells are grouped by the name of the test set: their figures can
    stand side by side, but their items cannot be paired.
    """
    cells = [cell for run in runs for cell in cells_of_run(run)]
    found: dict[tuple[str, str], list[StoredCell]] = {}
    for cell in cells:
        found.setdefault((cell.method, cell.tests if summary_only else cell.digest), []).append(cell)
    if not summary_only:
        for method in dict.fromkeys(cell.method for cell in cells):
            _refuse_incomparable([cell for cell in cells if cell.method == method])
    return [Group(own[0].method, own[0].tests, tuple(_columns(own))) for own in found.values()]


def _refuse_incomparable(cells: Sequence[StoredCell]) -> None:
    """Refuse cells of one method whose runs differ in settings or test sets, saying what differs."""
    runs: dict[str, list[StoredCell]] = {}
    for cell in cells:
        runs.setdefault(str(cell.run.path), []).append(cell)
    (first, ours), *others = runs.items()
    for path, theirs in others:
        mine, yours = (
            {"version": each[0].version, **each[0].settings, ANSWER_FILES: None} for each in (ours, theirs)
        )
        changes = differences(mine, yours)
        if changes:
            raise NotComparable(
                f"{first} and {path} have other settings of {ours[0].method} ({'; '.join(changes[:3])})"
            )
        if {cell.digest for cell in ours} != {cell.digest for cell in theirs}:
            raise NotComparable(
                f"{first} and {path} have other test sets: {_describe_test_difference(ours, theirs)}"
            )


def _describe_test_difference(ours: Sequence[StoredCell], theirs: Sequence[StoredCell]) -> str:
    """The first difference: a test set that one side lacks, its size, or an item."""
    known = {cell.digest for cell in (*ours, *theirs)}
    both = {cell.digest for cell in ours} & {cell.digest for cell in theirs}
    for cell in ours:
        other = next(
            (each for each in theirs if each.tests == cell.tests and each.digest != cell.digest), None
        )
        if cell.digest in both or other is None:
            continue
        if len(cell.records) != len(other.records):
            return f"{cell.tests} has {len(cell.records)} items there, {len(other.records)} here"
        for one, another in zip(cell.records, other.records, strict=True):
            if (one["id"], one.get("source")) != (another["id"], another.get("source")):
                return f"{cell.tests} has other items from {one['id']} there, {another['id']} here"
        return f"{cell.tests} has items of the same sources that differ in something else"
    lacking = next(cell for cell in (*ours, *theirs) if cell.digest in known - both)
    return f"only {lacking.run.path} has {lacking.tests}"


def run_names(runs: Iterable[StoredRun]) -> dict[str, str]:
    """Path -> name of a run: the name of its folder, or the whole path if two folders have the same name."""
    paths = {str(run.path): run.name for run in runs}
    shared = Counter(paths.values())
    return {path: name if shared[name] == 1 else path for path, name in paths.items()}


def _columns(cells: Sequence[StoredCell]) -> Iterable[Column]:
    """Columns with unique names: the system's, with evaluator or run added where several have the same."""
    evaluators = {cell.evaluator for cell in cells}
    names = [cell.system if len(evaluators) < 2 else f"{cell.system} by {cell.evaluator}" for cell in cells]
    runs = run_names(cell.run for cell in cells)
    used: set[str] = set()
    for place, (cell, name) in enumerate(zip(cells, names, strict=True)):
        twins = [number for number, other in enumerate(names) if other == name]
        if len(twins) > 1:
            for twin in (cells[number] for number in twins if number < place):
                if twin.asked == cell.asked:
                    raise BabelscopeError(
                        f"{name} stands in {twin.run.path} and in {cell.run.path}; leave one of them out"
                    )
            name = f"{name} ({runs[str(cell.run.path)]})"
        while name in used:
            name = f"{name}*"  # another system has this very name
        used.add(name)
        yield Column(name, cell)


# -- item by item ----------------------------------------------------------------------------------


def paired_differences(group: Group) -> list[Row]:
    """Differences between every two systems: those that the method makes itself, else item by item."""
    first = group.columns[0].cell
    own: list[Row] = []
    if len(group.columns) > 1 and first.kind in method_names():
        method, manifest = find_method(first.kind), first.run.manifest
        with explain_damage(str(first.run.path)):
            settings = restore_settings(method, manifest.methods[first.method].settings)
            made = method.across(group, settings, manifest.seed)
        own = [row for row in made if row.name == "difference"]
    labelled = [Row(row.name, row.estimate, {**group.labels, **row.labels}, row.counts) for row in own]
    return labelled or item_differences(group)


def item_differences(group: Group) -> list[Row]:
    """Mean difference of every two systems on their common items, with wins, losses, ties, p and Holm's p.

    Intervals and tests are over source sentences; Holm corrects for all tests of the method on the test set.
    Systems judged by different evaluators are not compared.
    """
    found: list[Tested] = []
    for one, other in itertools.combinations(group.columns, 2):
        if one.cell.roles != other.cell.roles:
            continue
        systems = {**group.labels, "system": one.name, "against": other.name}
        for by in one.cell.comparable:
            worst = worst_difference(one.cell.records, other.cell.records, by) if by.worst_of else None
            if worst is not None:
                groups, apart, p, counts = worst
                over = {"over": f"worst {by.worst_of}: {groups}", **({"of": by.of} if by.of else {})}
                found.append(({**systems, **over}, apart, p, counts))
        for part, members in _differences_by_part(one.cell, other.cell).items():
            sources, values, signs, worth = zip(*members, strict=True)
            better = [value * sign for value, sign in zip(values, signs, strict=True)]
            apart, p = paired_difference(values, sources, verdicts=worth[0])
            lower = {"better": "lower"} if signs[0] < 0 else {}
            found.append(({**systems, **dict(part), **lower}, apart, p, count_wins(better)))
    return tested_rows("difference", found)


def _differences_by_part(
    one: JudgedCell, other: JudgedCell
) -> dict[PartLabels, list[tuple[str, float, int, bool]]]:
    """(cluster, difference, 1 if higher is better, else -1, whether of verdicts) of all common items, by part."""
    theirs = {record["id"]: record for record in other.records}
    parts: dict[PartLabels, list[tuple[str, float, int, bool]]] = {}
    for record in one.records:
        against = theirs.get(record["id"])
        for each in one.comparable if against is not None else ():
            if each.worst_of or any(record.get(name) in each.unranked for name in each.by):
                continue
            value, its = each.value(record), each.value(against or {})
            if value is not None and its is not None and each.part(record) == each.part(against or {}):
                sign = 1 if each.higher_is_better else -1
                part = parts.setdefault(each.part(record), [])
                cluster = str(record.get(each.cluster, record["id"]))
                part.append((cluster, value - its, sign, each.is_verdict))
    in_order = sorted(parts, key=lambda part: [label for label in part if label[0] != "of"])
    return {part: parts[part] for part in in_order}
