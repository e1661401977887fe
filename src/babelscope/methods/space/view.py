"""The report section of hypothesis spaces: probability against quality, and errors that beam search hides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from babelscope.core.columns import Column, Group
from babelscope.core.page import (
    About,
    Answer,
    Caveat,
    Finding,
    Headline,
    Line,
    Measure,
    Section,
    Tone,
    View,
    count_of,
)
from babelscope.core.results import Record, Row
from babelscope.core.tables import Table
from babelscope.methods.languages import mismatch_caveats
from babelscope.methods.space.pictures import first_metric, pictures, rows_of
from babelscope.methods.space.regions import is_empty, is_proven, missed_by
from babelscope.methods.space.tables import PAPERS_METRIC, treatments
from babelscope.methods.space.treatments import warnings_of
from babelscope.methods.view import Figures, error_finding, headlines, noted_of, one, pivot

_DRAWING: Mapping[str, float] = {"temperature": 1.0, "top_p": 1.0, "epsilon": 0.0}
_MISSED = "missed by beam search"
_MEASURES = {
    f"{region}_{name}": Measure(f"{what} of {whose}", "ranking gain")
    for region, whose in (
        ("top", "its most probable translations"),
        ("beam", "beam search’s list"),
        ("samples", "its samples"),
    )
    for name, what in (("krg", "ranking (kRG)"), ("kqrg", "ranking and quality (kQRG)"))
}


def findings(group: Group) -> list[Finding]:
    found = []
    for column in group.columns:
        rows = rows_of(column)
        query = {"system": column.name, "tests": group.tests}
        empty = one(rows, "empty_mode", view="tokens")
        if empty and empty.estimate.n:
            found.append(
                error_finding(
                    column.name,
                    "Sentences whose most probable translation is empty",
                    empty.estimate,
                    "sentences",
                    query={**query, "verdict": "empty"},
                )
            )
        ranked = _largest(rows, "krg_above_random", "top")
        if ranked and ranked.estimate.n and ranked.estimate.low <= 0:
            found.append(
                Finding(
                    column.name,
                    "What its ranking of its own best translations gains over a random order, not shown to be "
                    "above 0 (at most 0.4)",
                    ranked.estimate,
                    "sentences",
                    "some",
                    query=query,
                    share=False,
                )
            )
        missed = one(rows, "search_error", decoding="beam")
        if missed and missed.estimate.n:
            found.append(
                Finding(
                    column.name,
                    "Sentences whose most probable translation beam search without length penalty misses",
                    missed.estimate,
                    "sentences",
                    "note",
                    query={**query, "verdict": _MISSED},
                )
            )
    return found


def headline(rows: Sequence[Row]) -> list[Headline]:
    """Empty modes, what probability gains over chance in ranking, and what beam search misses; else of samples."""
    return headlines(
        ("most probable is empty", one(rows, "empty_mode", view="tokens"), "percent"),
        ("kRG above random, top", _largest(rows, "krg_above_random", "top"), "plain"),
        ("search errors of the beam", one(rows, "search_error", decoding="beam"), "percent"),
    ) or headlines(
        ("quality of a sample", one(rows, "quality", decoding="samples"), "plain"),
        ("kRG above random, samples", _largest(rows, "krg_above_random", "samples"), "plain"),
    )


def over(rows: Sequence[Row]) -> list[Headline]:
    """What figures 2 and 3 and table 2 of the paper have over the size of models, and how sure these are."""
    gains = [
        Headline(
            name, row, "plain", f"top {row.labels['k']}" if region == "top" else f"{row.labels['k']} samples"
        )
        for name, measure in (("kRG", "krg"), ("kQRG", "kqrg"))
        for region in ("top", "samples")
        if (row := _largest(rows, measure, region))
    ]
    more = headlines(
        ("most probable is empty", one(rows, "empty_mode", view="tokens"), "percent"),
        ("kQRG, beam minus top", one(rows, "beam_minus_exact", measure="kqrg"), "plain"),
        ("entropy, nats a token", one(rows, "entropy", of="token"), "plain"),
        ("overconfidence in tokens", one(rows, "overconfidence"), "plain"),
    )
    return [*gains, *more]


def caveats(group: Group) -> list[Caveat]:
    """Who was not resolved and what that changes, then where our defaults are not the paper's."""
    found = [Caveat(column.name, text) for column in group.columns for text in _caveats(column)]
    return [*mismatch_caveats(group, lambda record: (record.get("best") or {}).get("text")), *found]


def _caveats(column: Column) -> Iterator[str]:
    rows, settings = rows_of(column), column.cell.settings
    counted = [row for row in rows if row.name in ("krg", "empty_mode", "quality")]
    kept = settings.get("unresolved") == "keep"
    words = {
        "unresolved": "could not be searched within the budget; "
        + ("figures are of the best that was found" if kept else "figures are of the others"),
        "wordless": "have a most probable translation of marks alone, such as a full stop, "
        "which is not counted as empty",
        "short": "have fewer hypotheses than were asked for",
        "without_logprob": "have samples without a whole log-probability: kRG and kQRG of samples are without these",
    }
    yield from (caveat.text for caveat in noted_of(column.name, counted, words))
    if warned := warnings_of(rows):
        moved = count_of(len(warned), "figures")
        yield f"who is left out matters: unresolved searches move {moved} by more than a point (table: --all)."
    drawing = [
        (name, settings[name]) for name in _DRAWING if settings.get(name, _DRAWING[name]) != _DRAWING[name]
    ]
    if drawing and settings.get("samples"):
        said = ", ".join(f"{name.replace('_', '-')} {value}" for name, value in drawing)
        yield f"samples are drawn with {said}, not from the model’s own distribution."
    if any(row.name == "kqrg" for row in rows):
        mbr = any(row.labels.get("decoding") == "mbr" for row in rows)
        first = first_metric(column)
        name = {"chrf": "chrF", "bleu": "BLEU"}.get(first, first.split(":")[0])
        yield f"quality is {name}; {PAPERS_METRIC}."
        if mbr:
            yield "MBR decoding’s utility is chrF, the paper’s BLEURT."


def _largest(rows: Sequence[Row], name: str, region: str) -> Row | None:
    found = [
        row
        for row in rows
        if row.name == name and row.labels["region"] == region and row.labels["view"] == "tokens"
    ]
    return max(found, key=lambda row: int(row.labels["k"]), default=None)


def tables(group: Group) -> list[Table]:
    first = first_metric(group.columns[0])

    def is_first(row: Row) -> bool:
        return row.labels.get("metric", first) == first

    decoded = (
        Figures("mean quality", lambda row: row.name == "quality" and is_first(row)),
        Figures("BLEU", lambda row: row.name == "bleu"),
        Figures("chrF", lambda row: row.name == "chrf"),
    )
    # The table shows the largest k of each region; curves show the others.
    sizes: dict[str, int] = {}
    for row in (row for column in group.columns for row in rows_of(column) if row.name == "krg"):
        region, k = str(row.labels["region"]), int(row.labels["k"])
        sizes[region] = max(k, sizes.get(region, 0))

    def is_whole(row: Row) -> bool:
        is_largest = row.labels["k"] == sizes.get(str(row.labels["region"]))
        return row.labels["view"] == "tokens" and is_largest and is_first(row)

    measures = {
        "kRG": "krg",
        "in random order": "krg_random",
        "above random": "krg_above_random",
        "kQRG": "kqrg",
    }
    ranked = tuple(
        Figures(heading, lambda row, name=name: row.name == name and is_whole(row))  # type: ignore[misc]
        for heading, name in measures.items()
    )
    hidden = tuple(
        Figures(
            f"{heading}, {what}",
            lambda row, name=name, what=what: is_first(row) and _hidden(row) == (name, what),  # type: ignore[misc]
        )
        for heading, name in (("kRG", "krg"), ("kQRG", "kqrg"))
        for what in ("top", "beam", "beam minus top")
    )
    wrong = (
        Figures(
            "most probable one empty",
            # Earlier runs have no region here, since there was one only.
            lambda row: row.name == "empty_mode" and row.labels.get("region", "top") == "top",
            "percent",
        ),
        Figures("search errors", lambda row: row.name == "search_error", "percent"),
    )
    return [
        *pivot(group, "Errors of model and search", ("view", "decoding"), wrong),
        *pivot(group, "Quality of translations", ("decoding",), decoded),
        *pivot(group, "Ranking", ("region", "k"), ranked),
        *pivot(group, "What beam search hides", ("k",), hidden, side_by_side=0),
        *pivot(group, "How sure the model is", (), _sureness(group), side_by_side=0),
        *(
            treatments(column.name, group.tests, column.cell.rows)
            for column in group.columns
            if warnings_of(column.cell.rows)
        ),
    ]


def _sureness(group: Group) -> tuple[Figures, ...]:
    """What `confidence` adds, with the mass of the largest k."""
    rows = [row for column in group.columns for row in rows_of(column) if row.name == "top_mass"]
    most = max((int(row.labels["k"]) for row in rows), default=0)

    def is_mass(row: Row, k: int) -> bool:
        return row.name == "top_mass" and row.labels["k"] == k

    return (
        Figures(
            "entropy, nats a token", lambda row: (row.name, row.labels.get("of")) == ("entropy", "token")
        ),
        Figures(
            "nats a translation", lambda row: (row.name, row.labels.get("of")) == ("entropy", "translation")
        ),
        Figures("mass of the best", lambda row: is_mass(row, 1), "percent"),
        *([Figures(f"of the best {most}", lambda row: is_mass(row, most), "percent")] if most > 1 else []),
        Figures("confidence in tokens", lambda row: row.name == "token_confidence", "percent"),
        Figures("tokens right", lambda row: row.name == "token_accuracy", "percent"),
        Figures("overconfidence", lambda row: row.name == "overconfidence", "percent"),
    )


def _hidden(row: Row) -> tuple[str, str]:
    """Measure and region of a row about the sentences that have both, top and beam; their difference too."""
    if row.name == "beam_minus_exact":
        return str(row.labels["measure"]), "beam minus top"
    return (row.name, str(row.labels["region"])) if row.labels.get("view") == "paired" else ("", "")


def _mode_is_known(record: Record, settings: Mapping[str, Any]) -> bool:
    """Whether the first hypothesis is taken as the most probable: proven to be, or not asked to be."""
    kept = settings.get("unresolved") == "keep"
    return bool(record["top"]["found"]) and (kept or is_proven(record, 1))


def about(record: Record) -> About:
    return About(record["source"], lines=[("reference", text) for text in record["references"]])


def answer(record: Record, settings: Mapping[str, Any]) -> Answer:
    missed = missed_by(record, "beam", str(settings.get("unresolved")))
    region = "top" if settings.get("k") else "samples"
    facts = [
        f"{name} {record[field]:.2f}"
        for name, field in (("kRG", f"{region}_krg"), ("kQRG", f"{region}_kqrg"))
        if record[field] is not None
    ]
    measure = record[f"{region}_krg"]
    if region == "samples":
        return Answer("sampled", "note", measure, ", ".join(facts), lambda: _lines(record))
    if not _mode_is_known(record, settings):
        return Answer("not resolved", "note", measure, ", ".join(facts), lambda: _lines(record))
    if missed:
        facts.append(f"missed by {missed:.2f} nats")
    searched = [] if missed is None else [_MISSED if missed else "found by beam search"]
    verdict, *also = (
        ["empty", *searched]
        if is_empty(record["top"]["found"][0])
        else searched or ["not known if beam search finds it"]
    )
    tone: Tone = "errors" if verdict == "empty" else "some" if verdict == _MISSED else "none"
    return Answer(verdict, tone, measure, ", ".join(facts), lambda: _lines(record), also)


def _lines(record: Record) -> list[Line]:
    shown = [(f"{rank}", each) for rank, each in enumerate(record["top"]["found"], 1)]
    shown += [(name, record[key]) for name, key in (("beam", "best"), ("minimum risk", "mbr")) if record[key]]
    return [
        (f"{name} · {_short(each['logprob'])} · {each['quality']:.2f}", each["text"] or "(empty)")
        for name, each in shown
    ]


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


_READING = (
    "A model gives a probability to every possible translation; beam search shows one of them. Here the k most "
    "probable of all are found by exact search, and others are drawn at random as the model’s own probabilities "
    "say (samples). Each gets a quality by comparison with the references.",
    "kRG (k-approximated ranking gain) is 1 if the translations, ordered by probability, are ordered by quality "
    "too. kQRG also counts how good they are. “Beam minus exact” is what beam search’s list has over the most "
    "probable translations: where it is above 0, the search hides errors of the model.",
    "Numbers before a translation are its rank, log-probability (nats) and quality.",
)


def section(group: Group) -> Section:
    """The report section of one test set."""
    return Section(
        title="Hypothesis space: what the model believes",
        question="Are better translations more probable, and what does beam search hide?",
        reading=_READING,
        measure="kRG of the most probable translations",
        order=30,
        findings=findings(group),
        caveats=caveats(group),
        pictures=pictures(group),
        tables=tables(group),
        measures=_MEASURES,
    )


VIEW = View(section, about, answer, headline, over)
