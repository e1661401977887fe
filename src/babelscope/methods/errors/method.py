"""Errors in a system's own translations, found by detectors and corrected for what these miss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from babelscope.core.answers import Scored
from babelscope.core.notes import told_counts
from babelscope.core.results import Record, Row
from babelscope.language.detecting import analysis_version, missing_analysis_error
from babelscope.language.registry import error_type
from babelscope.methods.base import Method
from babelscope.methods.errors.detect import detect_in_pairs, detect_in_parallel
from babelscope.methods.errors.figures import generated_error_rows, system_differences
from babelscope.methods.errors.settings import ErrorsSettings, check, identity
from babelscope.methods.grouping import pair_texts
from babelscope.methods.queue import Entry
from babelscope.stats.labels import LABELS
from babelscope.systems.asking import ask_translate, relocate_errors
from babelscope.testsets.items import MinimalPair, ParallelSentence


def ask(
    systems: Mapping[str, Any],
    items: Sequence[MinimalPair | ParallelSentence],
    settings: ErrorsSettings,
    _seed: int,
) -> list[Record]:
    """A record an item: its texts, and what the system writes itself (`best`)."""
    system = systems["system"]
    with relocate_errors(lambda what, number: f"item {items[number - 1].id}: {what}"):
        answers = ask_translate(system, [item.question for item in items], beam=settings.beam)
    return [_record(item, answer[0]) for item, answer in zip(items, answers, strict=True)]


def _record(item: MinimalPair | ParallelSentence, best: Scored) -> Record:
    answer = {"text": best.text, "notes": list(best.notes)}
    if isinstance(item, MinimalPair):
        return {
            "source": item.source,
            "phenomenon": item.phenomenon,
            "reference": item.reference,
            "texts": {"correct": item.correct, "contrastive": list(item.contrastive)},
            "best": answer,
        }
    told = {"target_language": item.target_language} if item.target_language else {}
    return {"source": item.source, "references": list(item.references), **told, "best": answer}


_JUDGED_FIELDS = ("detected", "variants", "alarms", "verdict")


def judge(records: Sequence[Record], settings: ErrorsSettings) -> list[Record]:
    """The records with what detectors say (`detected`), their `alarms` by error type, and a verdict."""
    if not analysis_version():
        if not all("verdict" in record for record in records):
            raise missing_analysis_error()
        return list(records)  # judged where the analyser is installed, which it is not here
    pairs = [record for record in records if "phenomenon" in record]
    parallel = [record for record in records if "phenomenon" not in record]
    found = iter(detect_in_pairs(pairs))
    if parallel:
        code = settings.parallel_language()
        more = iter(detect_in_parallel(parallel, settings.chosen(code), code))
    judged = []
    for record in records:
        kept = {name: value for name, value in record.items() if name not in _JUDGED_FIELDS}
        if "phenomenon" in record:
            own = next(found)
            own = own if record["phenomenon"] in settings.chosen() else {}
        else:
            own = next(more)
        alarms = _alarms(record, own.get("detected", {}))
        verdict = "error" if any(alarms.values()) else "none" if alarms else "untold"
        judged.append({**kept, **own, "alarms": alarms, "verdict": verdict})
    return judged


def _alarms(record: Record, detected: Mapping[str, object]) -> dict[str, bool]:
    best = detected.get("best")
    if isinstance(best, Mapping):
        return {str(name): bool(alarm) for name, alarm in best.items()}
    return {} if best is None else {record["phenomenon"]: bool(best)}


def summarise(records: Sequence[Record], settings: ErrorsSettings, _seed: int) -> list[Row]:
    """`generated_errors` by error type, and by kind of reference where there are several."""
    notes = Counter(note for record in records for note in record["best"]["notes"])
    told = {
        "empty": sum(not record["best"]["text"].strip() for record in records),
        **{note: notes[note] for note in ("truncated", "unfinished")},
        **told_counts(notes),
    }
    return [
        Row(row.name, row.estimate, row.labels, {**row.counts, **told})
        for row in generated_error_rows(records, controls=settings.controls)
    ]


def queue(records: Sequence[Record], _settings: ErrorsSettings) -> list[Entry]:
    """Every translation that a detector looked at, with a reference into which the same error was put."""
    return [entry for record in records for entry in _entries(record)]


def _entries(record: Record) -> Iterator[Entry]:
    for name, alarm in record["alarms"].items():
        texts = _known_texts(record, name)
        if texts is None or not record["best"]["text"].strip():
            continue
        correct, contrastive = texts
        line = {
            "id": record["id"] if "phenomenon" in record else f"{record['id']}/{name}",
            "system": record["system"],
            "tests": record["tests"],
            "task": "machine-reference",
            "phenomenon": name,
            "source": record["source"],
            "translation": record["best"]["text"],
            "correct": correct,
            "contrastive": contrastive,
            "question": f"Does the translation have this error? {error_type(name).definition}",
            "choices": list(LABELS["machine-reference"]),
        }
        yield Entry(line, (record["id"], name), (name, "alarm" if alarm else "no alarm"))


def _known_texts(record: Record, name: str) -> tuple[str, str] | None:
    """A right translation and the same with the error; None if the error has no place in a reference."""
    if "phenomenon" in record:
        correct, variants = pair_texts(record)
        return correct, variants[0]
    made = record["variants"].get(name)
    return (made[0][0], made[0][1]) if made else None


METHOD = Method(
    name="errors",
    summary="errors that detectors find in a system's own translations, corrected for what detectors miss",
    kind=MinimalPair,
    also=(ParallelSentence,),
    settings=ErrorsSettings,
    ask=ask,
    judge=judge,
    summarise=summarise,
    asks=frozenset({"beam"}),
    identity=identity,
    check_items=check,
    across=system_differences,
    measure_of=lambda row: row.name,
    view="babelscope.methods.errors.view:VIEW",
    queue=queue,
)
