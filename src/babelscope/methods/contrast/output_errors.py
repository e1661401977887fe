"""Errors that detectors find in a system's own translations, beside those that forced choice reports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from babelscope.core.results import Record, Row
from babelscope.core.ties import Ties
from babelscope.language.base import Analysed
from babelscope.language.detecting import can_detect, detectors, languages_with_detectors, looks_at_source
from babelscope.language.registry import error_type, language
from babelscope.methods.contrast.figures import by_phenomenon, sources, tie_credits
from babelscope.stats.detection import impossible, rogan_gladen
from babelscope.stats.intervals import clustered_proportion
from babelscope.testsets.items import MinimalPair

NOT_MEASURABLE = "not measurable in free output"


def detect_errors(items: Sequence[MinimalPair], best: Mapping[str, str]) -> list[Record]:
    """Run detectors on each item, given the 1-best of each source: `{}`, or the field `detected`.

    The detector of the item's own error type looks for the error in the 1-best (`best`) and in the variants
    (`contrastive`); both are missing if the detector does not apply to this source. `reference` has the result
    of every applicable detector on the correct translation, where an alarm is false. Only detectors of the
    language of the error type are run, and only if the packages of that language are installed.
    """
    analysed: dict[tuple[str, str], Analysed[Any]] = {}

    def detects(name: str, source: str, text: str) -> bool:
        key = (error_type(name).language, text)
        if key not in analysed:
            analysed[key] = language(key[0]).analyser().analyse(text)
        return detectors()[name](source, analysed[key])

    installed = {each.code for each in languages_with_detectors() if each.analysis_version()}
    found: list[Record] = []
    for item in items:
        code = error_type(item.phenomenon).language if item.phenomenon in detectors() else None
        if code not in installed:
            found.append({})
            continue
        applicable = [name for name in detectors(code) if can_detect(name, item.source)]
        record: Record = {
            "reference": {name: detects(name, item.source, item.correct) for name in applicable}
        }
        if item.phenomenon in applicable:
            record["best"] = detects(item.phenomenon, item.source, best[item.source])
            record["contrastive"] = [detects(item.phenomenon, item.source, text) for text in item.contrastive]
        found.append({"detected": record})
    return found


def output_error_rows(records: Sequence[Record], *, ties: Ties, controls: Sequence[str]) -> list[Row]:
    """`forced_errors` and `generated_errors` for each phenomenon and reference kind.

    `generated_errors` is the share of sources whose 1-best has the error: the detector's share of alarms,
    corrected for its recall on the variants and for its false alarms on references. A detector that looks at
    the translation alone counts false alarms on the references of these pairs; one that looks at the source
    (`looks_at_source`) on those of other phenomena. A source counts once, however many pairs it has.
    """
    known = [record for record in records if "detected" in record]
    rows = []
    for (phenomenon, reference), members in by_phenomenon(known).items():
        control: dict[str, str | int] = {"control": "yes"} if phenomenon in controls else {}
        labels = {"phenomenon": phenomenon, "reference": reference, **control}
        wrong = [1.0 - worth for worth in tie_credits(members, ties)]
        forced = clustered_proportion(wrong, sources(members))
        rows.append(Row("forced_errors", forced, labels))
        others = [each for each in known if each["phenomenon"] != phenomenon]
        right = others if looks_at_source(phenomenon) else members
        rows.append(_generated_errors_row(phenomenon, members, right, labels))
    return rows


def _generated_errors_row(
    phenomenon: str, members: Sequence[Record], right: Sequence[Record], labels: dict[str, str | int]
) -> Row:
    """`generated_errors` of one phenomenon; false alarms are counted on the references of `right`."""
    detected = [record for record in members if "best" in record["detected"]]
    alarms = _alarms_by_source((record["source"], record["detected"]["best"]) for record in detected)
    found = _alarms_by_source(
        (record["source"], each) for record in detected for each in record["detected"]["contrastive"]
    )
    false = _alarms_by_source(
        (record["source"], record["detected"]["reference"][phenomenon])
        for record in right
        if phenomenon in record["detected"]["reference"]
    )
    estimate = rogan_gladen(
        _alarm_share_sum(alarms), len(alarms), found=_alarm_share_sum(found), wrong=len(found),
        false_alarms=_alarm_share_sum(false), right=len(false),
    )  # fmt: skip
    note = ""
    if not alarms:
        note = "no source that its detector can tell for"
    elif not false:
        note = "no references to count false alarms on: give other error types in the same test set"
    elif not estimate.low > 0:
        note = "; ".join(filter(None, [NOT_MEASURABLE, impossible(estimate)]))
    else:
        note = impossible(estimate)
    counts = {
        "alarms": sum(map(any, alarms.values())),
        "found": sum(map(sum, found.values())),
        "variants": sum(map(len, found.values())),
        "false_alarms": sum(map(any, false.values())),
        "references": len(false),
        "untold": len(set(sources(members))) - len(alarms),
    }
    return Row("generated_errors", estimate, {**labels, "note": note} if note else labels, counts)


def _alarms_by_source(alarms: Iterable[tuple[str, bool]]) -> dict[str, list[bool]]:
    found: dict[str, list[bool]] = {}
    for source, alarm in alarms:
        found.setdefault(source, []).append(alarm)
    return found


def _alarm_share_sum(alarms: Mapping[str, Sequence[bool]]) -> float:
    """The number of sources with an alarm; a source counts by the share of its texts that raise one."""
    return math.fsum(sum(each) / len(each) for each in alarms.values())
