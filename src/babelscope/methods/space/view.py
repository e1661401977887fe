"""The report section of hypothesis spaces: probability against quality, and errors that beam search hides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from babelscope.core.charts import Bar, Chart, Cloud, Curve, Dots, Forest, Lines, Point, Unit
from babelscope.core.comparison import Comparison, SystemResult
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
    point,
)
from babelscope.core.results import Record, Row
from babelscope.core.tables import Table
from babelscope.methods.measuring import mismatch_caveats
from babelscope.methods.space.command import PAPERS_METRIC, treatments
from babelscope.methods.space.figures import warnings_of
from babelscope.methods.space.regions import is_empty, is_proven, missed_by
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

# --- Pictures of hypothesis spaces: quality, ranking over k, lengths, sizes of the beam ----------------------------

_MOST_POINTS = 4000
"""Points of a cloud; larger clouds are subsampled."""
_FEWEST_TOKENS = 30
"""Tokens of a bin of confidence that is drawn."""
_REGIONS = ("top", "beam", "samples")
_LENGTHS = {
    "mode": "most probable translation",
    "top": "the k most probable",
    "beam": "beam search",
    "beam-list": "beam search’s list",
    "samples": "a sample",
    "mbr": "minimum-risk choice among samples",
}
_DECODINGS = {
    "beam": "beam search",
    "mode": "most probable translation",
    "mbr": "minimum-risk choice among samples",
    "samples": "a sample",
}


def pictures(group: Comparison) -> list[Chart]:
    return [
        *_decodings(group),
        *(picture for region in _REGIONS for picture in _ranking(group, region)),
        *_lengths(group),
        *_sweep(group),
        *_entropy(group),
        *_calibration(group),
        *_clouds(group),
    ]


def _bars(
    group: Comparison, figure: str, label: str, names: Mapping[str, str]
) -> list[tuple[str, list[Bar]]]:
    """The bars of a figure, those of one value of a label together; `names` says what each value is called."""
    return by_name(
        (name, bar(column.name, name, row.estimate, "plain"))
        for column in group.results
        for row in rows_of(column)
        if row.name == figure and row.estimate.n
        for name in [names[str(row.labels[label])]]
    )


def _decodings(group: Comparison) -> list[Chart]:
    bars = _bars(group, "quality", "decoding", _DECODINGS)
    if not bars:
        return []
    return [
        Chart(
            "Quality of what can be drawn from the model",
            Forest(bars, f"mean quality of a sentence ({quality_name(group)})", keys(group), "plain"),
            "Mean quality of the translations that beam search gives, of the model’s most probable ones, of the "
            "sample that is most like the others, and of any sample.",
        )
    ]


def quality_name(group: Comparison) -> str:
    first = first_metric(group.results[0])
    return {"chrf": "chrF, 0 to 1", "bleu": "BLEU, 0 to 1"}.get(first, "as chosen")


def first_metric(column: SystemResult) -> str:
    """The metric of tables and pictures."""
    return str(column.settings["metric"][0])


def rows_of(column: SystemResult) -> list[Row]:
    """The figures of a column without those by further metrics."""
    first = first_metric(column)
    return [row for row in column.rows if row.labels.get("metric", first) == first]


def _rows_by_k(rows: Iterable[Row], name: str, region: str) -> dict[int, Row]:
    return {
        int(row.labels["k"]): row
        for row in rows
        if row.name == name and row.labels["region"] == region and row.labels["view"] == "tokens"
    }


def _ranking(group: Comparison, region: str) -> list[Chart]:
    """kRG and kQRG over k (figure 4), where there is more than one k."""
    if not any(len(_rows_by_k(rows_of(column), "krg", region)) > 1 for column in group.results):
        return []
    ranked, good = [], []
    for column in group.results:
        gains, above, qualities = (
            _rows_by_k(rows_of(column), name, region) for name in ("krg", "krg_above_random", "kqrg")
        )
        own, quality = (
            [(float(k), point(rows[k].estimate)) for k in sorted(rows)] for rows in (gains, qualities)
        )
        chance = [
            (float(k), Point(gains[k].estimate.value - above[k].estimate.value))
            for k in sorted(gains)
            if k in above
        ]
        ranked.append(Curve(column.name, column.name, own))
        ranked.append(Curve(column.name, f"{column.name}, random order", chance, dashed=True))
        good.append(Curve(column.name, column.name, quality))
    what = "the k most probable translations" if region == "top" else "k samples"
    return [
        Chart(
            f"How well probability ranks {what} (kRG)",
            Lines(ranked, "k", "ranking gain, kRG"),
            "kRG is 1 where better translations are always more probable. Compare it with the dashed line, the same "
            "translations in random order; it is never 0. Lines are 95 % intervals.",
        ),
        Chart(
            f"How good, and how well ranked, {what} are (kQRG)",
            Lines(good, "k", f"kQRG ({quality_name(group)})"),
            "kQRG is the mean quality of the translations, the more probable ones weighing more. Lines are 95 % "
            "intervals.",
        ),
    ]


def _lengths(group: Comparison) -> list[Chart]:
    """Length against the reference, of each decoding and region, and over the ranks of lists."""
    bars = _bars(group, "length_ratio", "of", _LENGTHS)
    if not bars:
        return []
    found = [
        Chart(
            "Length of translations against the reference",
            Forest(bars, "characters, divided by those of the reference", keys(group), "plain", zero=1.0),
            "1 is as long as the reference. All are of the same sentences. A model that believes in short "
            "translations has its most probable ones left of the line.",
        )
    ]
    curves = []
    for column in group.results:
        for of, name in (("top", "most probable"), ("beam-list", "beam search’s list")):
            own = [
                (float(row.labels["rank"]), point(row.estimate))
                for row in rows_of(column)
                if row.name == "length_ratio_by_rank" and row.labels["of"] == of
            ]
            if own:
                curves.append(Curve(column.name, f"{column.name}, {name}", own, dashed=of != "top"))
    if curves:
        chart = Lines(curves, "rank by probability", "length ratio")
        reading = "The length of the translation at each rank, divided by that of the reference."
        found.append(Chart("Length ratio over ranks", chart, reading))
    return found


def _sweep(group: Comparison) -> Iterator[Chart]:
    """Quality, search errors, log-probability and length over the size of the beam."""
    charts = {
        "beam_quality": ("Quality", f"mean quality ({quality_name(group)})", "plain"),
        "misses_mode": ("Translations that are not the mode,", "sentences", "percent"),
        "beam_logprob": ("Log-probability", "nats per sentence", "plain"),
        "beam_length_ratio": ("Length ratio", "length ratio", "plain"),
    }
    for name, (title, label, unit) in charts.items():
        curves = []
        for column in group.results:
            rows = [row for row in rows_of(column) if row.name == name and row.estimate.n]
            own = sorted((float(row.labels["beam"]), point(row.estimate)) for row in rows)
            curves += [Curve(column.name, column.name, own)] if own else []
        if curves:
            chart = Lines(curves, "size of the beam", label, cast(Unit, unit))
            reading = "Translations of the same sentences by each size of the beam."
            yield Chart(f"{title} over the size of the beam", chart, reading)


def _entropy(group: Comparison) -> Iterator[Chart]:
    """Entropy a token and a translation, each on an axis of its own."""
    for of in ("token", "translation"):
        bars = [
            bar(column.name, f"nats a {of}", row.estimate, "plain")
            for column in group.results
            for row in rows_of(column)
            if row.name == "entropy" and row.labels["of"] == of and row.estimate.n
        ]
        if bars:
            yield Chart(
                f"How undecided the model is, a {of}",
                Forest([("entropy", bars)], f"entropy, nats a {of}", keys(group), "plain", zero=0.0),
                "The mean of −log p over samples (natural logarithms): 0 if the model would always say the same.",
            )


def _calibration(group: Comparison) -> Iterator[Chart]:
    """Accuracy of tokens over the model's confidence in them, and mass over k."""
    curves: list[Curve] = []
    mass: list[Curve] = []
    for column in group.results:
        rows = rows_of(column)
        bins, sure = (
            {
                str(row.labels["bin"]): row.estimate
                for row in rows
                if row.name == name and row.estimate.n >= _FEWEST_TOKENS
            }
            for name in ("bin_accuracy", "bin_confidence")
        )
        own = [(float(name.split("-")[0]), point(each)) for name, each in bins.items()]
        stated = [(float(name.split("-")[0]), Point(each.value)) for name, each in sure.items()]
        if own:
            curves.append(Curve(column.name, column.name, own))
            curves.append(Curve(column.name, f"{column.name}, its confidence", stated, dashed=True))
        together = [(float(row.labels["k"]), point(row.estimate)) for row in rows if row.name == "top_mass"]
        mass += [Curve(column.name, column.name, together)] if len(together) > 1 else []
    if curves:
        chart = Lines(curves, "probability of the token, from", "tokens that are right", "percent")
        yield Chart(
            "Is the model as often right as it is sure?",
            chart,
            "Tokens of beam search’s translations, by the probability that the model gave them; right are those "
            "that the reference has in their place. Below its dashed line a model is too sure of itself. Bins of "
            f"fewer than {_FEWEST_TOKENS} tokens are left out.",
        )
    if mass:
        chart = Lines(mass, "k", "probability of the k most probable translations", "percent")
        reading = "All k together, the mean over sentences. The rest lies in translations beyond them."
        yield Chart("How much probability the most probable translations have", chart, reading)


def _clouds(group: Comparison) -> Iterator[Chart]:
    """Log-probability against quality, a picture a region."""
    for region, what in (("top", "the k most probable translations"), ("samples", "samples")):
        dots = []
        for column in group.results:
            points = [
                place
                for record in column.records
                if record["top"]["found"]
                for place in _distances_and_qualities(record, region)
            ]
            if points:
                most = _MOST_POINTS // len(group.results)
                if len(points) > most:
                    drawn = stream(0, f"report/cloud/{column.name}").permutation(len(points))[:most]
                    points = [points[number] for number in drawn]
                dots.append(Dots(column.name, points))
        if not dots:
            continue
        ordered = sorted(x for own in dots for x, _ in own.points)
        chart = Cloud(
            dots,
            "nats below the sentence’s most probable translation",
            f"quality ({quality_name(group)})",
            min(ordered[len(ordered) // 50], -1e-3),
        )
        yield Chart(
            f"Log-probability against quality: {what}",
            chart,
            "Each dot is a translation (a sample of them where there are very many), lines are medians. If "
            "probability knew quality, the lines would rise to the right. The least probable 2 % are left out.",
        )


def _distances_and_qualities(record: Record, region: str) -> list[tuple[float, float]]:
    """(nats below the most probable translation of the sentence, quality) of each translation."""
    top = record["top"]["found"]
    answers = top if region == "top" else record["samples"]["hypotheses"]
    known = [each for each in answers if each["logprob"] is not None]
    return [(min(0.0, each["logprob"] - top[0]["logprob"]), each["quality"]) for each in known]


# --- The report section of hypothesis spaces: probability against quality ------------------------------------------

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


def findings(group: Comparison) -> Iterator[Finding]:
    for column in group.results:
        rows = rows_of(column)
        query = {"system": column.name, "tests": group.tests}
        empty = one(rows, "empty_mode", view="tokens")
        if empty and empty.estimate.n:
            yield error_finding(
                column.name,
                "Sentences whose most probable translation is empty",
                empty.estimate,
                "sentences",
                query={**query, "verdict": "empty"},
            )
        ranked = _largest(rows, "krg_above_random", "top")
        if ranked and ranked.estimate.n and ranked.estimate.low <= 0:
            yield Finding(
                column.name,
                "What its ranking of its own best translations gains over a random order, not shown to be "
                "above 0 (at most 0.4)",
                ranked.estimate,
                "sentences",
                "some",
                query=query,
                share=False,
            )
        missed = one(rows, "search_error", decoding="beam")
        if missed and missed.estimate.n:
            yield Finding(
                column.name,
                "Sentences whose most probable translation beam search without length penalty misses",
                missed.estimate,
                "sentences",
                "note",
                query={**query, "verdict": _MISSED},
            )


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
        ("entropy, nats per token", one(rows, "entropy", of="token"), "plain"),
        ("overconfidence in tokens", one(rows, "overconfidence"), "plain"),
    )
    return [*gains, *more]


def caveats(group: Comparison) -> list[Caveat]:
    """Who was not resolved and what that changes, then where our defaults are not the paper's."""
    found = [Caveat(column.name, text) for column in group.results for text in _caveats(column)]
    return [*mismatch_caveats(group, lambda record: (record.get("best") or {}).get("text")), *found]


def _caveats(column: SystemResult) -> Iterator[str]:
    rows, settings = rows_of(column), column.settings
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


def tables(group: Comparison) -> list[Table]:
    first = first_metric(group.results[0])

    def is_first(row: Row) -> bool:
        return row.labels.get("metric", first) == first

    decoded = (
        Figures("mean quality", lambda row: row.name == "quality" and is_first(row)),
        Figures("BLEU", lambda row: row.name == "bleu"),
        Figures("chrF", lambda row: row.name == "chrf"),
    )
    # The table shows the largest k of each region; curves show the others.
    sizes: dict[str, int] = {}
    for row in (row for column in group.results for row in rows_of(column) if row.name == "krg"):
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
            lambda row: row.name == "empty_mode" and row.labels["region"] == "top",
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
            treatments(column.name, group.tests, column.rows)
            for column in group.results
            if warnings_of(column.rows)
        ),
    ]


def _sureness(group: Comparison) -> tuple[Figures, ...]:
    """What `confidence` adds, with the mass of the largest k."""
    rows = [row for column in group.results for row in rows_of(column) if row.name == "top_mass"]
    most = max((int(row.labels["k"]) for row in rows), default=0)

    def is_mass(row: Row, k: int) -> bool:
        return row.name == "top_mass" and row.labels["k"] == k

    return (
        Figures(
            "entropy, nats per token", lambda row: (row.name, row.labels.get("of")) == ("entropy", "token")
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
    # The first hypothesis is taken as the most probable if that is proven, or not asked for.
    if not record["top"]["found"] or not (settings.get("unresolved") == "keep" or is_proven(record, 1)):
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
        (
            f"{name} · {'–' if each['logprob'] is None else format(each['logprob'], '.2f')} · {each['quality']:.2f}",
            each["text"] or "(empty)",
        )
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


def section(group: Comparison) -> Section:
    """The report section of one test set."""
    return Section(
        title="Hypothesis space: what the model believes",
        question="Are better translations more probable, and what does beam search hide?",
        reading=_READING,
        measure="kRG of the most probable translations",
        order=30,
        findings=[*findings(group)],
        caveats=caveats(group),
        pictures=pictures(group),
        tables=tables(group),
        measures=_MEASURES,
    )


VIEW = View(section, about, answer, headline, over)
