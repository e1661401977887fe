"""Tables, warnings and charts of contrastive evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from babelscope.core.charts import Bar, Chart, Dot, Forest, Key, Scatter, point
from babelscope.core.comparison import CAUTIONS, Comparison, SystemResult
from babelscope.core.results import Record, Row, grouped
from babelscope.core.tables import Column, Note, Table, Verdict
from babelscope.language.registry import OWN_TYPES
from babelscope.methods.contrast.figures import SAMPLE, SECOND, TypeFigures, figures_by_type
from babelscope.methods.errors.figures import OTHER_LANGUAGE
from babelscope.methods.reporting import (
    FEWEST,
    NOT_RIGHT,
    Figure,
    Shown,
    complement,
    count_notes,
    count_of,
    find_row,
    percent,
    pivot,
    plain,
    summary_table,
    tooltip,
)
from babelscope.stats.verdicts import error_verdicts

REFERENCES = {"human": "human (robustness)", "machine": "machine (behavior)"}
"""What pairs test by who wrote their references (sections 5 and 6)."""
OWN = "†"
"""Mark of figures on references that the system wrote itself."""
_COUNTS = {
    "truncated": "were too long and were cut",
    "changed": "have a text that does not survive tokenization",
    "unfinished": "have a translation that was not finished",
    "infinite": "have a text that the system holds to be impossible",
}


# --- Tables --------------------------------------------------------------------------------------------------------


def summary(comparison: Comparison, ties: str, threshold: float) -> Table:
    """One line per system, error type and kind of reference."""
    types = [(each.name, own) for each in comparison.results for own in figures_by_type(each.rows)]
    rates = [own.forced.estimate for _, own in types if not own.is_control]
    verdicts = iter(error_verdicts(rates, threshold=threshold, fewest=FEWEST))
    figures = grouped((name, _figure(own, "" if own.is_control else next(verdicts))) for name, own in types)
    notes = [
        *(Note(text, result.name) for result in comparison.results for text in _warnings_of(result)),
        *count_notes(comparison, _COUNTS),
        *_between_systems(comparison),
    ]
    if len({own.reference for _, own in types}) > 1:
        notes.append(
            Note("human references test robustness on text it would not write, machine references behavior.")
        )
    if any(own.is_own for _, own in types):
        notes.append(Note(f"{OWN} on references that are its own output, on which it can hardly fail"))
    half = sum(own.forced.counts.get("ties", 0) for _, own in types) if ties == "half" else 0
    if half:
        notes.append(Note(f"{count_of(half, 'ties')} counted as half an error."))
    return summary_table(
        comparison,
        lambda result: figures.get(result.name, ()),
        title=f"The model prefers the error (1 - accuracy): {comparison.tests}",
        labels=("error type", "references"),
        value="error rate",
        more=(
            Column("in its own output", "percent"),
            Column("beyond controls (our estimate)", "percent"),
            Column("detectable beyond", "percent"),
            "reading",
        ),
        notes=notes,
        threshold=threshold,
    )


def _figure(own: TypeFigures, verdict: Verdict) -> Figure:
    """A line of the first table; `verdict` is that on the error rate in forced choice alone."""
    return Figure(
        (own.name, REFERENCES.get(own.reference, own.reference)),
        own.forced.estimate,
        is_control=own.is_control,
        verdict=own.verdict if verdict == "error" else verdict,
        query={"group": group_name(own.name, own.reference), "verdict": NOT_RIGHT},
        more=[
            *(row.estimate if row else None for row in (own.free, own.excess)),
            own.detectable,
            own.reading,
        ],
        marks=OWN if own.is_own else "",
    )


def group_name(phenomenon: str, reference: str) -> str:
    """What a page calls the items of one error type and kind of reference."""
    return f"{phenomenon}, {reference} reference"


def more_tables(comparison: Comparison) -> list[Table]:
    """The paper's table 1, and how far pairs and the system's own alternatives are from its translations."""
    by_type = pivot(
        comparison,
        "By error type (table 1 of the paper)",
        ("phenomenon", "reference", "control"),
        (
            Shown("discrepancy", lambda row: row.name == "discrepancy" and "phenomenon" in row.labels),
            Shown("accuracy", lambda row: row.name == row.labels.get("phenomenon"), "percent"),
            Shown("errors in its output", lambda row: row.name == "generated_errors", "percent"),
        ),
        name="paper",
        side_by_side=len(comparison.results),
    )
    distance = Shown(
        "below its own translation",
        lambda row: row.name in ("discrepancy", "spread") and "phenomenon" not in row.labels,
    )
    title = "Distance from its own translation"
    return [
        *(replace(table, notes=_between_systems(comparison)) for table in by_type),
        *pivot(comparison, title, ("reference", "of"), (distance,), name="distances"),
    ]


# --- Warnings: why the figures may mislead -------------------------------------------------------------------------


def _between_systems(comparison: Comparison) -> list[Note]:
    several = len(comparison.results) > 1
    known = any(row.name == "discrepancy" for row in comparison.results[0].rows)
    return [Note(f"discrepancy: {CAUTIONS['discrepancy']}.")] if several and known else []


def _warnings_of(result: SystemResult) -> Iterator[str]:
    rows = result.rows
    types = figures_by_type(rows)
    if alike := sum(map(_reads_alike, result.records)):
        pairs = count_of(len(result.records), "pairs")
        yield (
            f"in {alike} of {pairs} a right and a wrong translation are the same tokens to it: these ties say "
            "nothing."
        )
    yield from _about_making(rows)
    yield from _about_references(types, skipped=any(row.counts.get("skipped") for row in rows))
    yield from _about_distance(rows)
    for own in types:
        if own.is_control and own.forced.estimate.value:
            yield f"it prefers an error that nobody makes ({own.name}): other errors may be false, too."
    # What detectors could not read.
    notes = dict.fromkeys(str(row.labels.get("note", "")) for row in rows)
    whole = [f"{note}." for note in notes if "in the language" in note]
    yield from whole
    if not whole and (some := max((row.counts.get(OTHER_LANGUAGE, 0) for row in rows), default=0)):
        yield f"{count_of(some, 'translations')} in another language, which no detector was given."


def _reads_alike(record: Record) -> bool:
    """Whether a contrastive translation has the tokens of the correct one; unknown of stored scores."""
    tokens = record.get("correct", {}).get("tokens")
    if not tokens:
        return False
    return any(each["at"] == len(tokens) and not each["tokens"] for each in record["contrastive"])


def _about_making(rows: Sequence[Row]) -> Iterator[str]:
    """What became of the machine references that were made for the run."""
    kept = find_row(rows, "kept", phenomenon="all")
    if kept is None or not kept.estimate.n:
        return
    share, n = kept.estimate.text(percent), kept.estimate.n
    parts = [f"{share} of {n:,} human pairs got a validated machine reference"]
    for name, words in (("dropped", "dropped"), ("queued", "left for a person to judge")):
        row = find_row(rows, name, phenomenon="all")
        if row and row.estimate.value:
            reasons = [each for each in rows if each.name == name and "reason" in each.labels]
            why = [f"{_pairs(each):,} {each.labels['reason']}" for each in sorted(reasons, key=_pairs)[::-1]]
            parts.append(f"{words}: {_pairs(row):,}" + (f" ({', '.join(why)})" if why else ""))
    yield "; ".join(parts) + "."
    chosen, translated = (
        find_row(rows, "bias_discrepancy", phenomenon="all", shift=shift)
        for shift in ("selection", "translation")
    )
    if chosen and translated and translated.estimate.n:
        shifts = [row.estimate.text(plain) for row in (chosen, translated)]
        yield (
            f"choosing machine references shifts the discrepancy by {shifts[0]}, translating by {shifts[1]} nats."
        )


def _pairs(row: Row) -> int:
    return round(row.estimate.value * row.estimate.n)


def _about_references(types: Sequence[TypeFigures], *, skipped: bool) -> Iterator[str]:
    """Whether the system wrote the machine references, and what human ones alone may hide."""
    machine = [each for each in types if each.reference == "machine"]
    own, n = sum(each.own for each in machine), sum(each.forced.estimate.n for each in machine)
    if 2 * own > n:
        yield (
            f"it is judged on its own output: it wrote {own:,} of {n:,} machine references, on which it can hardly "
            "fail."
        )
    if types and not machine and not any(each.is_control for each in types):
        # Variants are made for error types only; of these ours, whichever plug-ins are installed.
        made = {each.name for each in types} <= set(OWN_TYPES)
        yield (
            f"human references and no controls{' among the items answered' if skipped else ''}: they test how "
            "robust it is on text that it would not write, and errors in forced choice may be ones that it never "
            f"writes ({'--machine-references, ' if made else ''}--control)."
        )


def _about_distance(rows: Sequence[Row]) -> Iterator[str]:
    """How far the pairs are from the system's output, compared with its own alternatives."""
    known = [row for row in rows if row.name == "discrepancy"]
    if not known:
        yield "how far the pairs are from its own translations is not known: it may never make such errors."
    kinds = dict.fromkeys(str(row.labels["reference"]) for row in known if "reference" in row.labels)
    # Of one kind of reference there is one figure, without that label.
    distances = {
        str(row.labels.get("reference") or next(iter(kinds), "")): row
        for row in known
        if "phenomenon" not in row.labels and (len(kinds) < 2 or "reference" in row.labels)
    }
    for kind, row in distances.items():
        alternatives = {
            "its own second-best translations": find_row(rows, "spread", of=SECOND),
            "machine references": distances.get("machine") if kind == "human" else None,
            "samples of its own": find_row(rows, "spread", of=SAMPLE),
        }
        nearer = [
            words for words, each in alternatives.items() if each and each.estimate.high < row.estimate.low
        ]
        if nearer:
            yield (
                f"it finds {kind} references less probable than {' and '.join(nearer)}: it would hardly write them, "
                "so errors there say little."
            )


# --- Charts --------------------------------------------------------------------------------------------------------


def charts(comparison: Comparison) -> list[Chart]:
    """Error rates in forced choice and own translations, and accuracy over discrepancy."""
    types = [(result, own) for result in comparison.results for own in figures_by_type(result.rows)]
    kinds = list(dict.fromkeys(own.reference for _, own in types))
    sides = (("forced choice", True), ("own translations", False))
    bars = grouped(
        (
            own.name + (f", {own.reference}" if len(kinds) > 1 else ""),
            Bar(result.name, point(row.estimate), tooltip(f"{result.name}, {what}", row.estimate), hollow),
        )
        for result, own in types
        for row, (what, hollow) in zip((own.forced, own.free), sides, strict=True)
        if row is not None and row.estimate.n
    )
    dots = [dot for result in comparison.results for dot in _dots(result, kinds)]
    systems = [result.name for result in comparison.results]
    found = []
    if bars:
        keys = [Key(f"{name}, {what}", name, hollow=hollow) for name in systems for what, hollow in sides]
        found.append(
            Chart(
                "Errors in forced choice, and in its own translations",
                Forest(list(bars.items()), "error rate", keys, zero=0.0),
                "Hollow: how often the error is preferred; 50 % is what chance would give. Filled: how often a "
                "detector finds it in free translations, corrected for what the detector misses and for its false "
                "alarms. Where the filled interval reaches 0, the error was not shown to happen at all. Lines are "
                "95 % intervals.",
                "error-rates",
            )
        )
    if dots:
        keys = [Key(f"{name}, {kind}", name, shape=n) for name in systems for n, kind in enumerate(kinds)]
        found.append(
            Chart(
                "Accuracy against discrepancy",
                Scatter(dots, "discrepancy, nats per token", "accuracy in forced choice", keys, y_most=1.0),
                "Each mark is an error type. The farther right, the less likely the pair is compared with what the "
                "system would write itself, and the less its accuracy says about free translation. Shapes show "
                f"whose references the pairs were made from: {', '.join(kinds)}.",
                "discrepancy",
            )
        )
    return found


def _dots(result: SystemResult, kinds: Sequence[str]) -> Iterator[Dot]:
    """One dot per error type; the two with the lowest accuracy are labeled."""
    known = [
        (complement(own.forced.estimate), row.estimate, own)
        for own in figures_by_type(result.rows)
        if (row := find_row(result.rows, "discrepancy", phenomenon=own.name, reference=own.reference))
    ]
    lowest = sorted(accuracy.value for accuracy, _, _ in known if accuracy.value < 1)[:2]
    for accuracy, far, own in known:
        told = tooltip(f"{result.name}, {group_name(own.name, own.reference)}", accuracy)
        yield Dot(
            result.name,
            point(far),
            point(accuracy),
            kinds.index(own.reference),
            own.name if accuracy.value in lowest else "",
            f"{told}; discrepancy {far.text(plain)}",
        )
