"""Draws what people judge in a validation study (conditioning paper, appendix E): by what a matcher could decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from babelscope.annotate.agreement import AutomaticJudgments
from babelscope.core.results import Record
from babelscope.methods.base import find_method, method_names, restore_settings
from babelscope.methods.queue import Group, all_entries, draw, share_out
from babelscope.runs.reading import records_of_run
from babelscope.systems.translation_files import read_translations
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.loading import load
from babelscope.testsets.pattern_files import match_translations
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import LocatedRecord, read_json_lines

UNDECIDED, DECIDED, UNJUDGED = "undecided", "decided", "unjudged"
"""Strata: what a matcher could not decide, what it could, and what no matcher has judged."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The lines of a queue, and how many of what they were drawn."""

    lines: Sequence[Record]
    sizes: Mapping[str, int]
    """Translations that could have been drawn, by stratum: those that the matcher left undecided, the decided."""
    left_out: int = 0
    """Records that have nothing to be judged."""

    def __str__(self) -> str:
        told = [
            f"{sum(line['stratum'] == name for line in self.lines)} of {size} {name}"
            for name, size in self.sizes.items()
        ]
        left = f"; {self.left_out} records have nothing to be judged" if self.left_out else ""
        return f"{' and '.join(told)} are drawn to be judged{left}"


def records_of(path: Path, *, method: str = "", tests: str = "", systems: Sequence[str] = ()) -> list[Record]:
    """The records of one method and test set: of a run folder, or of a file that --records wrote."""
    if path.is_dir():
        return records_of_run(path, method=method, tests=tests, systems=systems)[1]
    if method or tests:
        raise BabelscopeError(
            f"--method and --of-tests choose among those of a run folder, and {path} is a file"
        )
    found: list[Record] = []
    for place, record in read_json_lines(path):
        if not isinstance(record.get("method"), str) or record["method"] not in method_names():
            raise BabelscopeError(f"{place} is no record of a judging command's --records")
        if found and record["method"] != found[0]["method"]:
            raise BabelscopeError(f"{place} is of {record['method']}, the first of {found[0]['method']}")
        if "unanswered" not in record and (not systems or record.get("system") in systems):
            found.append(dict(record))
    if not found:
        raise BabelscopeError(f"{path} has no records{' of these systems' if systems else ''}")
    return found


def records_of_translations(tests: str, translations: Path) -> list[Record]:
    """One's own translations of a test set of ambiguous sources, as records that nothing has judged yet."""
    items = load(tests).items_of(AmbiguousSource, what_for="sampling translations")
    given = read_translations(translations)
    matched = match_translations(items, given, what=str(translations), skip_missing=True)
    return [
        {
            "method": "condition",
            "system": translations.name,
            "tests": tests,
            "id": item.id,
            "source": item.source,
            "translation": given[number].translation,
            "verdict": UNJUDGED,
            "category": item.category,
            "gold": item.gold,
            "extra": dict(item.extra),
            "under_correct": [{"source": text} for text in item.correct_sources],
            "under_incorrect": [{"source": text} for text in item.incorrect_sources],
        }
        for item, number in zip(items, matched, strict=True)
        if number is not None
    ]


def draw_sample(
    records: Sequence[Record],
    *,
    by: Iterable[LocatedRecord] | None = None,
    n: int = 200,
    most: int | None = None,
    assume_decided: bool = False,
    seed: int = 0,
) -> Sample:
    """At most `n` translations that a matcher left undecided, and of the decided in proportion to their number.

    Without any undecided, `n` of all. In each stratum every category has its share. `by` are the matcher's records;
    without them the records are its own. `assume_decided` draws none that it decided: they are taken to be right.
    """
    method = find_method(records[0]["method"])
    entries = all_entries(method(restore_settings(method, {})), records)
    if not entries:
        raise BabelscopeError(f"none of these {len(records)} records has anything to be judged")
    strata = _strata(records, by)
    stratified = [
        replace(each, unit=_key(each.line), group=(strata[_key(each.line)], *each.group)) for each in entries
    ]
    counted = Counter(each.group[0] for each in stratified)
    sizes = {name: counted[name] for name in (UNDECIDED, DECIDED, UNJUDGED) if counted[name]}
    if assume_decided and UNDECIDED not in sizes:
        raise BabelscopeError("every translation was decided, so that --assume-decided leaves none to judge")
    wanted = _wanted(sizes, n, most, assume_decided=assume_decided)
    lines = draw(
        stratified, lambda groups: _quotas(groups, wanted), seed=seed, name=f"{method.name}/validation"
    )
    decided = "assumed" if assume_decided else "judged"
    told = [
        {**line, "stratum": (own := strata[_key(line)]), "stratum_size": sizes[own], "decided": decided}
        for line in lines
    ]
    return Sample(told, sizes, len(records) - len(entries))


def share_among(lines: Sequence[Record], annotators: Sequence[str], overlap: int) -> list[Record]:
    """The lines with those who judge them: all judge the first `overlap`, the others go round.

    The lines of a queue stand in random order, so that the first are a sample of all.
    """
    if len(annotators) < 2:
        raise BabelscopeError("--overlap is about several annotators; name each with --annotator")
    return [
        dict(line) if number < overlap else {**line, "annotators": [annotators[number % len(annotators)]]}
        for number, line in enumerate(lines)
    ]


def _strata(records: Sequence[Record], by: Iterable[LocatedRecord] | None) -> dict[tuple[str, str], str]:
    """Id and system -> whether the matcher could decide the translation."""
    if by is None and records[0].get("verdict") == UNJUDGED:
        return dict.fromkeys(map(_key, records), UNJUDGED)
    own = ((f"item {record.get('id')}", record) for record in records)
    matcher = AutomaticJudgments(own if by is None else by)
    found = {}
    for record in records:
        said = matcher.find(*_key(record), record.get("translation"))
        if said is None:
            raise BabelscopeError(
                f"item {record['id']}: the matcher has no verdict on the translation of {record.get('system')}"
            )
        found[_key(record)] = UNDECIDED if said[1].value is None else DECIDED
    return found


def _wanted(sizes: Mapping[str, int], n: int, most: int | None, *, assume_decided: bool) -> dict[str, int]:
    """How many of each stratum: at most `n` undecided, and the same share of the decided."""
    first = next(iter(sizes))
    share = min(1.0, n / sizes[first])
    if most is not None:
        share = min(share, most / (sizes[first] if assume_decided else sum(sizes.values())))
    return {
        name: 0 if assume_decided and name == DECIDED else max(1, round(share * size))
        for name, size in sizes.items()
    }


def _quotas(groups: Mapping[Group, int], wanted: Mapping[str, int]) -> dict[Group, int]:
    found: dict[Group, int] = {}
    for stratum, count in wanted.items():
        found |= share_out({group: size for group, size in groups.items() if group[0] == stratum}, count)
    return found


def _key(record: Mapping[str, Any]) -> tuple[str, str]:
    return str(record["id"]), str(record.get("system", ""))
