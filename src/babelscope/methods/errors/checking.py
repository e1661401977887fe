"""Checks of translations that need no parser and no reference: their findings, figures and differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from babelscope.core.comparison import SystemResult
from babelscope.core.results import Record, Row
from babelscope.core.tables import Note
from babelscope.language.checks.glossary import Glossary
from babelscope.language.checks.registry import (
    CHECKS,
    FALSE_ALARMS,
    Setting,
    base_code,
    run_checks,
    usual_length,
)
from babelscope.stats.intervals import proportion
from babelscope.stats.paired import Tested, count_wins, paired_difference

ROW = "checked_errors"


def check_records(
    records: Sequence[Record], names: Sequence[str], languages: tuple[str, str], glossary: Glossary | None
) -> list[Record]:
    """The records with what each check finds in the translation (`checks`) and, where there are any, in the
    references (`reference_checks`); `flagged` says of every check whether it found something."""
    answered = [record for record in records if "best" in record]
    usual = usual_length([(record["source"], record["best"]["text"]) for record in answered])
    in_references = usual_length(
        [(record["source"], text) for record in answered for text in references_of(record)]
    )
    found = []
    for record in records:
        if "best" not in record:
            found.append(record)
            continue
        source, target = (
            base_code(record.get(name) or default)
            for name, default in zip(("source_language", "target_language"), languages, strict=True)
        )
        setting = Setting(source, target, usual, glossary)
        checks = run_checks(record["source"], record["best"]["text"], setting, names)
        flagged = {name: each is not None for name, each in checks.items()}
        checked = {**record, "checks": checks, "flagged": flagged, "verdict": _verdict(record, checks)}
        if references := references_of(record):
            setting = Setting(source, target, in_references, glossary)
            checked["reference_checks"] = [
                run_checks(record["source"], text, setting, names) for text in references
            ]
        found.append(checked)
    return found


def _verdict(record: Record, checks: Mapping[str, str | None]) -> str:
    wrong = any(record.get("alarms", {}).values()) or any(each is not None for each in checks.values())
    return "error" if wrong else "none" if checks or record.get("alarms") else "untold"


def references_of(record: Record) -> Sequence[str]:
    """The references of a record; none of a source alone."""
    if "texts" in record:
        return [record["texts"]["correct"]]
    references: Sequence[str] = record.get("references", ())
    return references


def _by_source(records: Sequence[Record], name: str) -> dict[str, bool]:
    """Source -> whether the check finds anything; a source counts once."""
    found: dict[str, bool] = {}
    for record in records:
        checks = record.get("checks", {})
        if name in checks:
            found[record["source"]] = found.get(record["source"], False) or checks[name] is not None
    return found


def check_rows(records: Sequence[Record], counts: Mapping[str, int]) -> list[Row]:
    """One row per check: the share of sources it applies to whose translation raises an alarm."""
    rows = []
    for name in CHECKS:
        alarms = _by_source(records, name)
        if not alarms:
            continue
        references = [
            each[name] for record in records for each in record.get("reference_checks", ()) if name in each
        ]
        own = {"alarms": sum(alarms.values())}
        if references:
            own |= {
                "false_alarms": sum(each is not None for each in references),
                "references": len(references),
            }
        rows.append(
            Row(
                ROW,
                proportion(own["alarms"], len(alarms)),
                {"error": name, "better": "lower"},
                {**own, **counts},
            )
        )
    return rows


def false_alarm_note(results: Sequence[SystemResult]) -> Iterator[Note]:
    """How often checks raise an alarm on human references."""
    used = {str(row.labels["error"]) for result in results for row in result.rows if row.name == ROW}
    told = [
        f"{name} {100 * alarms / n:.1f} % of {n:,}"
        for name, (alarms, n) in FALSE_ALARMS.items()
        if name in used and alarms
    ]
    if used:
        known = ", ".join(told) or "none"
        yield Note(f"Checks also raise alarms on human references of nine languages: {known}.")


def check_differences(one: SystemResult, other: SystemResult) -> Iterator[Tested]:
    """Differences between two systems, over the sources that each check applies to."""
    for name in CHECKS:
        ours, theirs = (_by_source(result.records, name) for result in (one, other))
        apart = {source: ours[source] - theirs[source] for source in ours if source in theirs}
        if not apart:
            continue
        estimate, p = paired_difference(list(map(float, apart.values())), list(apart), verdicts=True)
        labels: dict[str, Any] = {
            "system": one.name,
            "against": other.name,
            "error": name,
            "of": ROW,
            "better": "lower",
        }
        yield labels, estimate, p, count_wins([-each for each in apart.values()])
