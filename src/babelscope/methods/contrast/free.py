"""Does it really happen? Errors seen in free translations, beside those that forced choice reports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from babelscope.core.results import Record, Row
from babelscope.core.ties import Ties
from babelscope.language.base import Analysed
from babelscope.language.detecting import detected_languages, detectors, exposed, looks_at_source
from babelscope.language.registry import error_type, language
from babelscope.methods.contrast.figures import by_phenomenon, sources, worths
from babelscope.stats.detection import impossible, rogan_gladen
from babelscope.stats.intervals import clustered_proportion
from babelscope.testsets.items import MinimalPair

NOT_MEASURABLE = "not measurable in free output"


def detections(items: Sequence[MinimalPair], best: Mapping[str, str]) -> list[Record]:
    """What detectors say of each item, given the 1-best of each source: `{}`, or one field, `detected`.

    Its own type's detector says whether the 1-best (`best`) and the variants (`contrastive`) have the error;
    both are missing if it cannot tell for this source. `reference` is what each of the detectors that can
    tell says of the correct translation: an alarm there is false. Detectors of other languages than that of its
    type are not asked; nor are any, if the packages of that language are not installed.
    """
    read: dict[tuple[str, str], Analysed[Any]] = {}

    def says(name: str, source: str, text: str) -> bool:
        key = (error_type(name).language, text)
        if key not in read:
            read[key] = language(key[0]).analyser().analyse(text)
        return detectors()[name](source, read[key])

    installed = {each.code for each in detected_languages() if each.analysis_version()}
    found: list[Record] = []
    for item in items:
        code = error_type(item.phenomenon).language if item.phenomenon in detectors() else None
        if code not in installed:
            found.append({})
            continue
        told = [name for name in detectors(code) if exposed(name, item.source)]
        record: Record = {"reference": {name: says(name, item.source, item.correct) for name in told}}
        if item.phenomenon in told:
            record["best"] = says(item.phenomenon, item.source, best[item.source])
            record["contrastive"] = [says(item.phenomenon, item.source, text) for text in item.contrastive]
        found.append({"detected": record})
    return found


def free_errors(records: Sequence[Record], *, ties: Ties, controls: Sequence[str]) -> list[Row]:
    """For each phenomenon and reference kind `forced_errors`, and `generated_errors` in free translations.

    The latter is the share of sources whose 1-best has the error: the detector's share of alarms, corrected
    by what it finds of the variants, and by its false alarms on references. These are the pairs' own where it
    looks at the translation alone, and else those of the other phenomena (see `looks_at_source`). A source
    counts once, however many pairs it has.
    """
    known = [record for record in records if "detected" in record]
    rows = []
    for (phenomenon, reference), members in by_phenomenon(known).items():
        control: dict[str, str | int] = {"control": "yes"} if phenomenon in controls else {}
        labels = {"phenomenon": phenomenon, "reference": reference, **control}
        wrong = [1.0 - worth for worth in worths(members, ties)]
        forced = clustered_proportion(wrong, sources(members))
        rows.append(Row("forced_errors", forced, labels))
        others = [each for each in known if each["phenomenon"] != phenomenon]
        right = others if looks_at_source(phenomenon) else members
        rows.append(_generated(phenomenon, members, right, labels))
    return rows


def _generated(
    phenomenon: str, members: Sequence[Record], right: Sequence[Record], labels: dict[str, str | int]
) -> Row:
    """The row of one phenomenon's members, false alarms counted on the references of `right`."""
    told = [record for record in members if "best" in record["detected"]]
    alarms = _by_source((record["source"], record["detected"]["best"]) for record in told)
    found = _by_source(
        (record["source"], each) for record in told for each in record["detected"]["contrastive"]
    )
    false = _by_source(
        (record["source"], record["detected"]["reference"][phenomenon])
        for record in right
        if phenomenon in record["detected"]["reference"]
    )
    estimate = rogan_gladen(
        _total(alarms), len(alarms), found=_total(found), wrong=len(found),
        false_alarms=_total(false), right=len(false),
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


def _by_source(said: Iterable[tuple[str, bool]]) -> dict[str, list[bool]]:
    found: dict[str, list[bool]] = {}
    for source, alarm in said:
        found.setdefault(source, []).append(alarm)
    return found


def _total(said: Mapping[str, Sequence[bool]]) -> float:
    """How many sources there are alarms for, each counted by its share of them."""
    return math.fsum(sum(each) / len(each) for each in said.values())
