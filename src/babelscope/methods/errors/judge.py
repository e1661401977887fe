"""From translations to alarms of detectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from babelscope.core.results import Record
from babelscope.language.detecting import analysis_version, missing_analysis_error
from babelscope.methods.errors.detect import detect_in_pairs, detect_in_parallel
from babelscope.methods.errors.settings import ErrorsSettings
from babelscope.testsets.items import MinimalPair

_JUDGED_FIELDS = ("detected", "variants", "alarms", "verdict")


def judge(records: Sequence[Record], settings: ErrorsSettings) -> list[Record]:
    """The records with what detectors say (`detected`), their `alarms` by error type, and a verdict."""
    if not analysis_version():
        if not all("verdict" in record for record in records):
            raise missing_analysis_error()
        return list(records)  # judged where the analyser is installed, which it is not here
    pairs = [record for record in records if "phenomenon" in record]
    parallel = [record for record in records if "phenomenon" not in record]
    found = iter(detect_in_pair_records(pairs, _pair_texts))
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


def detect_in_pair_records(
    records: Sequence[Record], texts: Callable[[Record], tuple[str, Sequence[str]]]
) -> list[Record]:
    """`detect_in_pairs` of records with a 1-best; `texts` gives the correct translation and the variants of each."""
    pairs = []
    for record in records:
        correct, contrastive = texts(record)
        pairs.append(
            MinimalPair(
                id="pair",
                source=record["source"],
                correct=correct,
                contrastive=tuple(contrastive),
                phenomenon=record["phenomenon"],
                reference=record["reference"],
                for_scores=True,  # as the test set was read
            )
        )
    return detect_in_pairs(pairs, {record["source"]: record["best"]["text"] for record in records})


def _pair_texts(record: Record) -> tuple[str, Sequence[str]]:
    return record["texts"]["correct"], record["texts"]["contrastive"]


def _alarms(record: Record, detected: Mapping[str, object]) -> dict[str, bool]:
    best = detected.get("best")
    if isinstance(best, Mapping):
        return {str(name): bool(alarm) for name, alarm in best.items()}
    return {} if best is None else {record["phenomenon"]: bool(best)}
