"""The report section of hypothesis spaces: probability against quality, and errors that beam search hides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from babelscope.core.columns import Group
from babelscope.core.page import (
    About,
    Answer,
    Caveat,
    Cloud,
    Curve,
    Dots,
    Finding,
    Forest,
    Headline,
    Line,
    Lines,
    Measure,
    Picture,
    Point,
    Section,
    Tone,
    View,
    point,
)
from babelscope.core.results import Record, Row, minus_inf_if_none
from babelscope.core.tables import Table
from babelscope.methods.space.regions import is_empty
from babelscope.methods.view import (
    Figures,
    bar,
    by_name,
    error_finding,
    headlines,
    keys,
    noted_of,
    one,
    pivot,
)
from babelscope.util.seeds import stream

_MOST_POINTS = 4000
"""Points of a cloud; larger clouds are subsampled."""
_MISSED = "missed by beam search"
_REGIONS = {"top": "most probable", "beam": "beam search’s best", "samples": "samples"}
_DECODINGS = {
    "beam": "beam search",
    "mode": "most probable translation",
    "mbr": "minimum-risk choice among samples",
    "samples": "a sample",
}
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
        rows = column.cell.rows
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
                    "Sentences in which beam search misses the model’s most probable translation",
                    missed.estimate,
                    "sentences",
                    "note",
                    query={**query, "verdict": _MISSED},
                )
            )
    return found


def headline(rows: Sequence[Row]) -> list[Headline]:
    """Empty modes, what probability gains over chance in ranking, and what beam search misses."""
    return headlines(
        ("most probable is empty", one(rows, "empty_mode", view="tokens"), "percent"),
        ("kRG above random, top", _largest(rows, "krg_above_random", "top"), "plain"),
        ("beam misses the best", one(rows, "search_error", decoding="beam"), "percent"),
    )


def caveats(group: Group) -> list[Caveat]:
    return [
        caveat
        for column in group.columns
        for caveat in noted_of(
            column.name,
            [row for row in column.cell.rows if row.name in ("krg", "empty_mode", "quality")],
            {
                "unresolved": "could not be searched within the budget; figures are of the others",
                "short": "have fewer hypotheses than were asked for",
            },
        )
    ]


def pictures(group: Group) -> list[Picture]:
    return [
        *_decodings(group),
        *(_curve(group, region) for region in _REGIONS if _has_curve(group, region)),
        *_clouds(group),
    ]


def _decodings(group: Group) -> list[Picture]:
    bars = by_name(
        (name, bar(column.name, name, row.estimate, "plain"))
        for column in group.columns
        for row in column.cell.rows
        if row.name == "quality" and row.estimate.n
        for name in [_DECODINGS.get(str(row.labels["decoding"]), str(row.labels["decoding"]))]
    )
    if not bars:
        return []
    return [
        Picture(
            "Quality of what can be drawn from the model",
            Forest(bars, f"mean quality of a sentence ({_quality_name(group)})", keys(group), "plain"),
            "Mean quality of the translations that beam search gives, of the model’s most probable ones, of the "
            "sample that is most like the others, and of any sample.",
        )
    ]


def _quality_name(group: Group) -> str:
    settings = group.columns[0].cell.settings
    first, *_ = settings["metric"] if "metric" in settings else [settings["quality"]]  # its earlier name
    return {"chrf": "chrF, 0 to 1", "bleu": "BLEU, 0 to 1"}.get(str(first), "as chosen")


def _largest(rows: Sequence[Row], name: str, region: str) -> Row | None:
    found = [
        row
        for row in rows
        if row.name == name and row.labels["region"] == region and row.labels["view"] == "tokens"
    ]
    return max(found, key=lambda row: int(row.labels["k"]), default=None)


def _rows_by_k(rows: Iterable[Row], name: str, region: str) -> dict[int, Row]:
    return {
        int(row.labels["k"]): row
        for row in rows
        if row.name == name and row.labels["region"] == region and row.labels["view"] == "tokens"
    }


def _has_curve(group: Group, region: str) -> bool:
    return any(len(_rows_by_k(column.cell.rows, "krg", region)) > 1 for column in group.columns)


def _curve(group: Group, region: str) -> Picture:
    curves = []
    for column in group.columns:
        gains, above = (_rows_by_k(column.cell.rows, name, region) for name in ("krg", "krg_above_random"))
        own = [(float(k), point(gains[k].estimate)) for k in sorted(gains)]
        chance = [
            (float(k), Point(gains[k].estimate.value - above[k].estimate.value))
            for k in sorted(gains)
            if k in above
        ]
        curves.append(Curve(column.name, column.name, own))
        curves.append(Curve(column.name, f"{column.name}, random order", chance, dashed=True))
    what = "the k most probable translations" if region == "top" else "k samples"
    return Picture(
        f"How well probability ranks {what} (kRG)",
        Lines(curves, "k", "ranking gain, kRG"),
        "kRG is 1 where better translations are always more probable. Compare it with the dashed line, the same "
        "translations in random order; it is never 0. Lines are 95 % intervals.",
    )


def _clouds(group: Group) -> list[Picture]:
    """Log-probability against quality, a picture a region."""
    found = []
    for region, what in (("top", "the k most probable translations"), ("samples", "samples")):
        dots = []
        for column in group.columns:
            points = [
                place
                for record in column.cell.records
                if record["top"]["found"]
                for place in _distances_and_qualities(record, region)
            ]
            if points:
                rng = stream(0, f"report/cloud/{column.name}")
                dots.append(Dots(column.name, _subsample(points, _MOST_POINTS // len(group.columns), rng)))
        if not dots:
            continue
        ordered = sorted(x for own in dots for x, _ in own.points)
        chart = Cloud(
            dots,
            "nats below the sentence’s most probable translation",
            f"quality ({_quality_name(group)})",
            min(ordered[len(ordered) // 50], -1e-3),
        )
        found.append(
            Picture(
                f"Log-probability against quality: {what}",
                chart,
                "Each dot is a translation (a sample of them where there are very many), lines are medians. If "
                "probability knew quality, the lines would rise to the right. The least probable 2 % are left out.",
            )
        )
    return found


def _distances_and_qualities(record: Record, region: str) -> list[tuple[float, float]]:
    """(nats below the most probable translation of the sentence, quality) of each translation."""
    top = record["top"]["found"]
    answers = top if region == "top" else record["samples"]["hypotheses"]
    return [(min(0.0, each["logprob"] - top[0]["logprob"]), each["quality"]) for each in answers]


def _subsample(points: Sequence[tuple[float, float]], most: int, rng: Any) -> list[tuple[float, float]]:
    if len(points) <= most:
        return list(points)
    return [points[number] for number in rng.permutation(len(points))[:most]]


def tables(group: Group) -> list[Table]:
    decoded = (
        Figures("mean quality", lambda row: row.name == "quality"),
        Figures("BLEU", lambda row: row.name == "bleu"),
        Figures("chrF", lambda row: row.name == "chrf"),
    )
    # The table shows the largest k of each region; curves show the others.
    sizes: dict[str, int] = {}
    for row in (row for column in group.columns for row in column.cell.rows if row.name == "krg"):
        region, k = str(row.labels["region"]), int(row.labels["k"])
        sizes[region] = max(k, sizes.get(region, 0))

    def is_whole(row: Row) -> bool:
        return row.labels["view"] == "tokens" and row.labels["k"] == sizes[str(row.labels["region"])]

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
    hidden = (Figures("beam minus exact", lambda row: row.name == "beam_minus_exact"),)
    wrong = (
        Figures(
            "most probable one empty",
            # Earlier runs have no region here, since there was one only.
            lambda row: row.name == "empty_mode" and row.labels.get("region", "top") == "top",
            "percent",
        ),
        Figures("missed by beam search", lambda row: row.name == "search_error", "percent"),
    )
    return [
        *pivot(group, "Errors of model and search", ("view", "decoding"), wrong),
        *pivot(group, "Quality of translations", ("decoding",), decoded),
        *pivot(group, "Ranking", ("region", "k"), ranked),
        *pivot(group, "What beam search hides", ("measure", "k"), hidden),
    ]


def _is_empty(record: Record) -> bool:
    return is_empty(record["top"]["found"][0])


def _mode_is_known(record: Record, settings: Mapping[str, Any]) -> bool:
    """Whether the first hypothesis is taken as the most probable: proven to be, or not asked to be."""
    top = record["top"]
    bound = minus_inf_if_none(top["bound"])
    kept = settings.get("unresolved") == "keep"
    return bool(top["found"]) and (kept or top["exact"] or top["found"][0]["logprob"] >= bound)


def about(record: Record) -> About:
    return About(record["source"], lines=[("reference", text) for text in record["references"]])


def answer(record: Record, settings: Mapping[str, Any]) -> Answer:
    missed = record["missed_by"]["beam"]
    facts = [
        f"{name} {record[field]:.2f}"
        for name, field in (("kRG", "top_krg"), ("kQRG", "top_kqrg"))
        if record[field] is not None
    ]
    measure = record["top_krg"]
    if not _mode_is_known(record, settings):
        return Answer("not resolved", "note", measure, ", ".join(facts), lambda: _lines(record))
    if missed:
        facts.append(f"missed by {missed:.2f} nats")
    searched = [] if missed is None else [_MISSED if missed else "found by beam search"]
    verdict, *also = (
        ["empty", *searched] if _is_empty(record) else searched or ["not known if beam search finds it"]
    )
    tone: Tone = "errors" if verdict == "empty" else "some" if verdict == _MISSED else "none"
    return Answer(verdict, tone, measure, ", ".join(facts), lambda: _lines(record), also)


def _lines(record: Record) -> list[Line]:
    shown = [(f"{rank}", each) for rank, each in enumerate(record["top"]["found"], 1)]
    shown += [(name, record[key]) for name, key in (("beam", "best"), ("minimum risk", "mbr")) if record[key]]
    return [
        (f"{name} · {each['logprob']:.2f} · {each['quality']:.2f}", each["text"] or "(empty)")
        for name, each in shown
    ]


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


VIEW = View(section, about, answer, headline)
