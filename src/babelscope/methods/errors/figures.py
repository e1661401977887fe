"""Rows of errors in a system's own translations: alarms of detectors, corrected for their mistakes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from babelscope.core.comparison import SystemResult
from babelscope.core.results import Estimate, Record, Row, grouped
from babelscope.language.fitness import other_language_of_set
from babelscope.language.general.types import GENERAL_TYPES
from babelscope.language.registry import error_type, looks_at_source
from babelscope.methods.measuring import pair_texts
from babelscope.stats.detection import corrected_difference, impossible, possible, rogan_gladen
from babelscope.stats.paired import Tested, count_wins, paired_difference

NOT_MEASURABLE = "not measurable in free output"
OTHER_LANGUAGE = "other_language"


@dataclass(frozen=True, slots=True)
class _Judged:
    """What detectors said of an item about one error type."""

    item: str
    source: str
    phenomenon: str
    kind: str
    """Who wrote the reference; empty if the test set does not say."""
    alarm: bool | None
    """Of the phenomenon's detector on the 1-best; None if it does not apply, or the 1-best is in another language."""
    found: Sequence[bool]
    """Of the same on texts with the error."""
    false: Mapping[str, Sequence[bool]]
    """Of every detector that was run on references."""
    other: bool
    """Whether the 1-best is in another language."""
    chosen: bool
    """Whether the item is in the test set because its reference has the phenomenon."""


def generated_error_rows(records: Iterable[Record], *, controls: Sequence[str]) -> list[Row]:
    """`generated_errors` for each phenomenon and reference kind.

    It is the share of sources whose 1-best has the error: the detector's share of alarms, corrected for its
    recall on texts with the error and for its false alarms on references. A detector that looks at the
    translation alone counts false alarms on the references of these items. So does one that looks at the
    source (`looks_at_source`), unless items were chosen for the phenomenon: then on those of other phenomena.
    A source counts once, however many items it has.
    """
    known = [record for record in records if record.get("detected")]
    groups = _groups(known)
    unfit = _unfit_notes(known, {_language(phenomenon) for phenomenon, _ in groups})
    rows = []
    for (phenomenon, kind), group in groups.items():
        labels: dict[str, str | int] = {"phenomenon": phenomenon}
        if kind:
            labels["reference"] = kind
        if phenomenon in controls:
            labels["control"] = "yes"
        rows.append(_row(group, labels, unfit.get(_language(phenomenon), "")))
    return rows


def _language(phenomenon: str) -> str:
    """The language of a type's detector; empty for one over parsed text, which leaves out other languages itself."""
    return "" if phenomenon in GENERAL_TYPES else error_type(phenomenon).language


_BySource = Mapping[str, Sequence[bool]]


@dataclass(frozen=True, slots=True)
class _Group:
    """The items of an error type and kind of reference, and what is known of its detector."""

    members: Sequence[_Judged]
    found: _BySource
    """Its alarms on texts with the error."""
    false: _BySource
    """Its alarms on references."""

    @property
    def detector(self) -> dict[str, Any]:
        """How often it finds the error, and how often it raises a false alarm."""
        return {
            "found": _alarm_share_sum(self.found),
            "wrong": len(self.found),
            "false_alarms": _alarm_share_sum(self.false),
            "right": len(self.false),
        }


def _groups(known: Iterable[Record]) -> dict[tuple[str, str], _Group]:
    """Error type and kind of reference -> its group."""
    judged = [each for record in known for each in _judged(record)]
    groups = {}
    for (name, kind), members in sorted(
        grouped(((each.phenomenon, each.kind), each) for each in judged).items()
    ):
        right = members
        if members[0].chosen and looks_at_source(name):
            right = [each for each in judged if each.phenomenon != name]
        found = _by_source((each.source, each.found) for each in members)
        false = _by_source((each.source, each.false.get(name, ())) for each in right)
        groups[name, kind] = _Group(members, found, false)
    return groups


def _judged(record: Record) -> Iterator[_Judged]:
    """A pair is judged by the detector of its own error type, a parallel sentence by every one that applies."""
    detected = record["detected"]
    is_pair = "phenomenon" in record
    for name in [record["phenomenon"]] if is_pair else detected["reference"]:
        if is_pair:
            alarm, found = detected.get("best"), detected.get("contrastive", ())
            false = {each: [false_alarm] for each, false_alarm in detected["reference"].items()}
        else:
            alarm, found = detected["best"].get(name), detected["contrastive"][name]
            false = {name: detected["reference"][name]}
        yield _Judged(
            str(record.get("id", "")),
            record["source"],
            name,
            record["reference"] if is_pair else "",
            alarm,
            found,
            false,
            other="best" in detected.get(OTHER_LANGUAGE, {}),
            chosen=is_pair,
        )


def _unfit_notes(records: Sequence[Record], codes: Iterable[str]) -> dict[str, str]:
    """Language of detectors -> why they cannot judge: most texts together are in another language."""
    sides = {
        "its translations": [str(record.get("best", {}).get("text", "")) for record in records],
        "the references": [
            text
            for record in records
            for text in (record["references"] if "references" in record else [pair_texts(record)[0]])
        ],
    }
    notes: dict[str, str] = {}
    codes = filter(None, codes)
    for code, (what, texts) in itertools.product(codes, sides.items()):
        if code not in notes and (found := other_language_of_set(texts, code)):
            notes[code] = f"{what} are in the language {found}, which detectors of {code} cannot judge"
    return notes


def _row(group: _Group, labels: Mapping[str, str | int], note: str) -> Row:
    """`generated_errors` of one phenomenon; a note says why there is no figure."""
    members = group.members
    alarms = _by_source((each.source, [each.alarm]) for each in members if each.alarm is not None)
    others = {each.source for each in members if each.other} - alarms.keys()
    estimate = Estimate.empty()
    if not note:
        estimate = rogan_gladen(_alarm_share_sum(alarms), len(alarms), **group.detector)
        note = _note(alarms, group, estimate)
        estimate = possible(estimate)
    counts = {
        "alarms": sum(map(any, alarms.values())),
        "found": sum(map(sum, group.found.values())),
        "variants": sum(map(len, group.found.values())),
        "false_alarms": sum(map(any, group.false.values())),
        "references": len(group.false),
        "untold": len({each.source for each in members} - alarms.keys() - others),
        OTHER_LANGUAGE: len(others),
    }
    return Row("generated_errors", estimate, {**labels, **({"note": note} if note else {})}, counts)


def tested_differences(one: SystemResult, other: SystemResult) -> Iterator[Tested]:
    """Differences of `generated_errors` between two systems, over the items that can be judged for both."""
    known = [[record for record in result.records if record.get("detected")] for result in (one, other)]
    ours, theirs = map(_groups, known)
    codes = {_language(phenomenon) for phenomenon, _ in ours}
    unfit = {code for own in known for code in _unfit_notes(own, codes)}
    for phenomenon, kind in (key for key in ours if key in theirs):
        if _language(phenomenon) in unfit:
            continue
        group = ours[phenomenon, kind]
        apart = _apart_by_source(group.members, theirs[phenomenon, kind].members)
        raw, p = paired_difference(list(apart.values()), list(apart), verdicts=True)
        estimate = corrected_difference(raw, p, **group.detector)
        labels = {
            "system": one.name,
            "against": other.name,
            "phenomenon": phenomenon,
            "of": "generated_errors",
            **({"reference": kind} if kind else {}),
            "better": "lower",
        }
        if estimate.n:
            yield labels, estimate, p, count_wins([-each for each in apart.values()])


def _apart_by_source(members: Sequence[_Judged], others: Sequence[_Judged]) -> dict[str, float]:
    """The share of a source's items with an alarm of one system minus that of another, by source."""
    theirs = {each.item: each.alarm for each in others}
    found = grouped(
        (each.source, each.alarm - alarm)
        for each in members
        if each.alarm is not None and (alarm := theirs.get(each.item)) is not None
    )
    return {source: sum(own) / len(own) for source, own in found.items()}


def _note(alarms: _BySource, group: _Group, estimate: Estimate) -> str:
    """Why there is no figure, none above 0, or an impossible one; empty if all is well."""
    if not alarms:
        return "no source that its detector can tell for"
    if not group.found:
        return "no reference into which the error can be put, to see what its detector finds"
    if not group.false:
        return "no references to count false alarms on: give other error types in the same test set"
    unmeasured = "" if estimate.low > 0 else NOT_MEASURABLE
    return "; ".join(filter(None, [unmeasured, impossible(estimate)]))


def _by_source(alarms: Iterable[tuple[str, Sequence[bool]]]) -> dict[str, list[bool]]:
    """All alarms on the texts of each source that has any text."""
    return grouped((source, alarm) for source, some in alarms for alarm in some)


def _alarm_share_sum(alarms: _BySource) -> float:
    """The number of sources with an alarm; a source counts by the share of its texts that raise one."""
    return math.fsum(sum(each) / len(each) for each in alarms.values())
