"""What is shown of hypothesis spaces: tables, those of the paper among them, and charts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from babelscope.core.charts import Bar, Chart, Cloud, Curve, Dots, Forest, Key, Lines, Unit, point
from babelscope.core.comparison import Comparison
from babelscope.core.results import Record, Row, grouped
from babelscope.core.system import METER
from babelscope.core.tables import Cell, Column, Line, Note, Table
from babelscope.methods.measuring import mismatch_notes, scale_of
from babelscope.methods.reporting import (
    Figure,
    count_notes_of,
    count_of,
    find_row,
    plain,
    summary_table,
    tooltip,
)
from babelscope.methods.space.figures import (
    BOUNDED,
    SAMPLES,
    STATISTICS,
    TOP,
    TREATMENTS,
    budget_bounds,
    budget_warnings,
    largest,
    mbr_correlations,
)
from babelscope.methods.space.regions import Labels, Region, SpaceSettings, has_region, nats
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream
from babelscope.util.text import quoted

MISSED = "missed by beam search"
"""Verdict of an item whose mode beam search does not find."""
_PAPERS_METRIC = "the paper has COMET in its main tables and chrF in table 8"
_OUTSIDE = "its own, as the program or file gives it; higher is better"
_SUMMARY: tuple[tuple[str, Unit, str, Labels], ...] = (
    ("empty modes", "percent", "empty_mode", TOP),
    ("search errors", "percent", "search_error", {"decoding": "beam"}),
    ("kRG, top", "plain", "krg", TOP),
    ("kRG above random, top", "plain", "krg_above_random", TOP),
    ("kQRG, top", "plain", "kqrg", TOP),
    ("kQRG, beam minus top", "plain", "beam_minus_exact", {"measure": "kqrg"}),
    ("kRG, samples", "plain", "krg", SAMPLES),
    ("kRG above random, samples", "plain", "krg_above_random", SAMPLES),
    ("kQRG, samples", "plain", "kqrg", SAMPLES),
    ("quality, beam", "plain", "quality", {"decoding": "beam"}),
    ("quality, mode", "plain", "quality", {"decoding": "mode"}),
    ("quality, MBR", "plain", "quality", {"decoding": "mbr"}),
    ("quality, samples", "plain", "quality", {"decoding": "samples"}),
    ("entropy, nats per token", "plain", "entropy", {"of": "token"}),
    ("overconfidence", "percent", "overconfidence", {}),
)
_QUERIES = {"empty_mode": {"verdict": "empty"}, "search_error": {"verdict": MISSED}}

_Columns = Mapping[str, tuple[Unit, str, Labels]]
"""Heading -> unit, name and labels of the row below it."""
_MODELS: _Columns = {
    "BLEU": ("plain", "bleu", {"decoding": "beam"}),
    "chrF": ("plain", "chrf", {"decoding": "beam"}),
    "empty modes": ("percent", "empty_mode", TOP),
    "kRG top": ("percent", "krg", TOP),
    "kQRG top": ("percent", "kqrg", TOP),
    "kRG samples": ("percent", "krg", SAMPLES),
    "kQRG samples": ("percent", "kqrg", SAMPLES),
}
# All of the same sentences, so that the last two are differences of those before.
_BIASES: _Columns = {
    **{
        f"{said} {region}": ("percent", measure, {"region": region, "view": "paired"})
        for region in ("top", "beam")
        for said, measure in (("kRG", "krg"), ("kQRG", "kqrg"))
    },
    "kRG beam - top": ("percent", "beam_minus_exact", {"measure": "krg"}),
    "kQRG beam - top": ("percent", "beam_minus_exact", {"measure": "kqrg"}),
}
_SWEEP: _Columns = {
    "quality": ("percent", "beam_quality", {}),
    "modes missed": ("percent", "misses_mode", {}),
    "log-probability": ("plain", "beam_logprob", {}),
    "length ratio": ("plain", "beam_length_ratio", {}),
}
_SURENESS: _Columns = {
    "entropy, nats per token": ("plain", "entropy", {"of": "token"}),
    "nats per translation": ("plain", "entropy", {"of": "translation"}),
    "mass of the mode": ("percent", "top_mass", {"k": 1}),
    "mass of the top": ("percent", "top_mass", {}),
    "confidence in tokens": ("percent", "token_confidence", {}),
    "tokens right": ("percent", "token_accuracy", {}),
    "overconfidence": ("percent", "overconfidence", {}),
}
_QUALITY: _Columns = {
    "mean quality": ("percent", "quality", {}),
    "BLEU": ("plain", "bleu", {}),
    "chrF": ("plain", "chrf", {}),
}
_RANKING: _Columns = {
    "kRG": ("percent", "krg", {}),
    "kRG in random order": ("percent", "krg_random", {}),
    "kRG above random": ("percent", "krg_above_random", {}),
    "kQRG": ("percent", "kqrg", {}),
}
# Searches that ended with their budget left out and kept, and what holds whatever they would have found.
_BOUNDS: _Columns = {
    name: ("percent", "by_treatment", {"treatment": name}) for name in (*TREATMENTS, "at-least", "at-most")
}
_Rows = Mapping[str, Sequence[Row]]
"""System -> its figures by the first metric."""


def _first_metric(comparison: Comparison, settings: SpaceSettings) -> _Rows:
    first = settings.metric[0]
    return {
        each.name: [row for row in each.rows if row.labels.get("metric", first) == first]
        for each in comparison.results
    }


def tables(comparison: Comparison, settings: SpaceSettings) -> list[Table]:
    """The summary, further figures, and tables 1 (errors of models), 2 (beam against exact search) and 3 (correlation
    with MBR decoding) of the paper."""
    rows, tests = _first_metric(comparison, settings), comparison.tests
    by_system = [([system], own) for system, own in rows.items()]
    by_decoding = _by_label(rows, "decoding", ("beam", "mode", "mbr", "samples"))
    by_region = _by_label(rows, "region", ("top", "beam", "samples"), view="tokens")
    sizes = {int(row.labels["beam"]) for own in rows.values() for row in own if row.name == "beam_quality"}
    by_size = _by_label(rows, "beam", sorted(sizes))
    by_measure = [
        ([system, BOUNDED[measure][0]], list(found.values()))
        for system, own in rows.items()
        for measure, found in budget_bounds(own).items()
    ]
    judged = f" (kQRG by {settings.metric[0]}; {_PAPERS_METRIC})"
    one = ["system"]
    return [
        summary_table(
            comparison,
            lambda result: _summary_figures(rows[result.name]),
            title=f"Hypothesis space: {tests}",
            notes=_notes(comparison, rows, settings),
            threshold=settings.error_threshold,
        ),
        *_table("quality", f"Quality of translations: {tests}", [*one, "decoding"], by_decoding, _QUALITY),
        *_table("ranking", f"Ranking: {tests}", [*one, "region"], by_region, _RANKING),
        *_table("paper-1", f"Errors of models: {tests}{judged}", one, by_system, _MODELS),
        *_table("paper-2", f"Beam against exact search: {tests}{judged}", one, by_system, _BIASES),
        *_correlation_table(comparison, settings),
        *_table("unresolved", f"Unresolved searches: {tests}", [*one, "figure"], by_measure, _BOUNDS),
        *_table("beam-sizes", f"Sizes of the beam: {tests}", [*one, "beam"], by_size, _SWEEP),
        *_table("confidence", f"How sure the model is: {tests}", one, by_system, _SURENESS),
        _scale_table(settings),
        *_cost_table(rows),
        *(_case_tables(comparison, settings.cases) if settings.cases else ()),
    ]


def _summary_figures(rows: Sequence[Row]) -> Iterator[Figure]:
    for label, unit, name, labels in _SUMMARY:
        if (row := largest(rows, name, **labels)) and row.estimate.n:
            is_error = name == "empty_mode"
            yield Figure(label, row.estimate, unit, is_error, query=_QUERIES.get(name, {"sort": "least"}))


def _table(
    name: str,
    title: str,
    labels: Sequence[str],
    groups: Iterable[tuple[Sequence[str], Sequence[Row]]],
    columns: _Columns,
) -> list[Table]:
    """One line per group of figures, with the searches that were not resolved; nothing where no group has any."""
    lines = []
    for names, rows in groups:
        found = [largest(rows, each, **own) for _, each, own in columns.values()]
        if any(found):
            unresolved = max(row.counts.get("unresolved", 0) for row in found if row is not None)
            cells = [None if row is None else row.estimate for row in found]
            lines.append(Line([*names, unresolved, *cells], names[0]))
    figures = [Column(heading, unit, 2) for heading, (unit, _, _) in columns.items()]
    return [Table(title, [*labels, "unresolved", *figures], lines, len(labels), name)] if lines else []


def _by_label(
    rows: _Rows, label: str, values: Iterable[str | int], **labels: str
) -> Iterator[tuple[list[str], Sequence[Row]]]:
    """The figures of each system for each value of a label."""
    for system, own in rows.items():
        for value in values:
            wanted = {label: value, **labels}
            yield [system, str(value)], [row for row in own if wanted.items() <= row.labels.items()]


def _correlation_table(comparison: Comparison, settings: SpaceSettings) -> list[Table]:
    by_measure = grouped((str(row.labels["measure"]), row) for row in mbr_correlations(comparison, settings))
    lines = [
        Line([measure, *(row.estimate if row.estimate.n else "not tested" for row in own)])
        for measure, own in by_measure.items()
    ]
    utility, judge = settings.utility, settings.metric[0]
    title = f"Correlation with MBR decoding: {comparison.tests} (utility {utility}, judged by {judge})"
    same = f"MBR decoding maximizes {judge}, which also judges it: choose another --set utility= or --metric."
    notes = [Note(same)] if utility == judge else []
    columns = [Column(each, digits=3) for each in STATISTICS]
    return [Table(title, ["measure", *columns], lines, 1, "paper-3", notes)] if lines else []


def _scale_table(settings: SpaceSettings) -> Table:
    """The scale of each metric, so that its numbers are not taken for those of another."""
    # A program or file that a run names is not opened, only to be described.
    lines = [
        [name, _OUTSIDE if name.startswith(("cmd:", "file:")) else scale_of(name).describe()]
        for name in settings.metric
    ]
    return Table("Scales of the metrics", ["metric", "scale"], lines, 2, "scales")


def _cost_table(rows: _Rows) -> list[Table]:
    """Seconds per sentence of what was asked in this process, with expansions (the layout of tables 12 and 13).

    No row has them, since two runs of one study must not differ.
    """
    lines: list[Sequence[Cell]] = []
    for (system, what), (seconds, asked) in METER.timed.items():
        if system in rows:
            spent = find_row(rows[system], "expansions") if what.startswith("exact") else None
            lines.append([system, what, asked, seconds / asked, None if spent is None else spent.estimate])
    figures = [Column("seconds per sentence"), Column("expansions per sentence", digits=1)]
    headings: list[str | Column] = ["system", "what", "questions", *figures]
    return [Table("Cost, timed in this process", headings, lines, 2, "cost")] if lines else []


# --- Single sentences ----------------------------------------------------------------------------------------------


def case_id(which: str) -> str | None:
    """The id that the setting `cases` names; None if it is a number of cases."""
    return None if which.isascii() and which.isdigit() else which.removeprefix("id=")


def check_cases(which: str, ids: Sequence[str]) -> None:
    """Refuse an id in the setting `cases` that no item has."""
    name = case_id(which)
    if name and name not in ids:
        raise BabelscopeError(
            f"cases: no item has the id {quoted(name)}; give a number of cases, or the id of an item (id=7 for one "
            f"that is a number), such as {quoted(ids[0]) if ids else 'none here'}"
        )


def _case_tables(comparison: Comparison, which: str) -> Iterator[Table]:
    """A region of some sentences as in appendix E: so many, worst ranked first, or the item of an id."""
    figures = [Column(name, digits=4) for name in ("log-probability", "quality", "kRG", "kQRG")]
    name = case_id(which)
    for result in comparison.results:
        region = shown_region(result.records)
        krg, kqrg = f"{region}_krg", f"{region}_kqrg"
        if name is None:
            known = [record for record in result.records if record[krg] is not None]
            chosen = sorted(known, key=lambda record: float(record[krg]))[: int(which)]
        else:
            chosen = [record for record in result.records if str(record["id"]) == name]
        for record in chosen:
            lines: list[list[Cell]] = [
                ["source", record["source"], None, None, record[krg], record[kqrg]],
                *(
                    ["reference", text, record["reference_logprob"], None, None, None]
                    for text in record["references"][:1]
                ),
                *(
                    [rank, each["text"] or "(empty)", each["logprob"], each["quality"], None, None]
                    for rank, each in ranked_hypotheses(record, region)
                ),
            ]
            title = f"{result.name}, item {record['id']}"
            yield Table(title, ["rank", "text", *figures], lines, 2, "cases")


def shown_region(records: Sequence[Record]) -> Region:
    """The region whose hypotheses are shown: the exact k best, else beam search's list, else samples."""
    regions: tuple[Region, ...] = ("top", "beam", "samples")
    return next((each for each in regions if any(has_region(record, each) for record in records)), "top")


def ranked_hypotheses(record: Record, region: Region) -> list[tuple[str, Record]]:
    """The hypotheses of a region by rank, then what beam search and MBR decoding chose."""
    stored = {
        "top": record["top"]["found"],
        "beam": record.get("beam", ()),
        "samples": record["samples"]["hypotheses"],
    }
    ranked = sorted(stored[region], key=nats, reverse=True) if region != "top" else stored[region]
    own = [(str(rank), each) for rank, each in enumerate(ranked, 1)]
    return [*own, *((name, record[key]) for name, key in (("beam", "best"), ("MBR", "mbr")) if record[key])]


# --- Notes ---------------------------------------------------------------------------------------------------------


def _notes(comparison: Comparison, rows: _Rows, settings: SpaceSettings) -> Iterator[Note]:
    """Who was not resolved and what that changes, then where our defaults are not the paper's."""
    yield from mismatch_notes(comparison, lambda record: (record.get("best") or {}).get("text"))
    kept = settings.unresolved == "keep"
    words = {
        "unresolved": "could not be searched within the budget; "
        + ("figures are of the best that was found" if kept else "figures are of the others"),
        "undecided": "may or may not have an empty mode or a search error: the intervals of these cover both",
        "wordless": "have a most probable translation of marks alone, such as a full stop, "
        "which is not counted as empty",
        "short": "have fewer hypotheses than were asked for",
        "without_logprob": "have samples without a whole log-probability: kRG and kQRG of samples are without these",
    }
    for system, own in rows.items():
        counted = [row for row in own if row.name in ("krg", "empty_mode", "search_error", "quality")]
        yield from count_notes_of(system, counted, words)
        if warned := budget_warnings(own):
            moved = count_of(len(warned), "figures")
            matters = f"leaving out unresolved searches changes {moved} by more than a point"
            yield Note(f"{matters} (--table unresolved).", system)
        above = largest(own, "krg_above_random", **TOP)
        if above and above.estimate.n and above.estimate.high < 0:
            told = above.estimate.text(plain)
            worse = "the most probable translations are ranked worse than by chance"
            yield Note(f"{worse}: kRG above random is {told}.", system)
        if settings.samples and not settings.draws_from_model:
            fields = type(settings).model_fields
            said = ", ".join(
                f"{name.replace('_', '-')} {getattr(settings, name)}"
                for name in ("temperature", "top_p", "epsilon")
                if getattr(settings, name) != fields[name].default
            )
            yield Note(f"samples are drawn with {said}, not from the model’s own distribution.", system)
        if any(row.name == "kqrg" for row in own):
            yield Note(f"quality is {_called(settings.metric[0])}; {_PAPERS_METRIC}.", system)
            if find_row(own, "quality", decoding="mbr"):
                yield Note(
                    f"MBR decoding’s utility is {_called(settings.utility)}, the paper’s BLEURT.", system
                )


def _called(metric: str) -> str:
    """A metric as people call it; of a program or file, which of the two it is."""
    model = metric.partition("?")[0].removeprefix("comet:")
    return {"chrf": "chrF", "bleu": "BLEU"}.get(metric, model.split(":")[0])


# --- Charts --------------------------------------------------------------------------------------------------------

_MOST_POINTS = 4000
"""Points of a cloud; larger clouds are subsampled."""
_FEWEST_TOKENS = 30
"""Tokens of a bin of confidence that is drawn."""
_NAMES = {
    "beam": "beam search",
    "mode": "most probable translation",
    "mbr": "minimum-risk choice among samples",
    "samples": "a sample",
    "top": "the k most probable",
    "beam-list": "beam search’s list",
}


def charts(comparison: Comparison, settings: SpaceSettings) -> list[Chart]:
    """Quality by decoding, ranking over k, lengths, sizes of the beam, entropy, calibration, and all translations."""
    rows = _first_metric(comparison, settings)
    quality = {"chrf": "chrF, 0 to 1", "bleu": "BLEU, 0 to 1"}.get(settings.metric[0], "as chosen")
    return [
        *_forest(
            "quality",
            "Quality of what can be drawn from the model",
            "Mean quality of the translations that beam search gives, of the model’s most probable ones, of the "
            "sample that is most like the others, and of any sample.",
            rows,
            ("quality", "decoding", f"mean quality of a sentence ({quality})"),
        ),
        *_ranking_charts(rows, quality),
        *_length_charts(rows),
        *_beam_charts(rows, quality),
        *_confidence_charts(rows),
        *_clouds(comparison, quality),
    ]


def _forest(
    slug: str, title: str, caption: str, rows: _Rows, shown: tuple[str, str, str], **more: Any
) -> list[Chart]:
    """A mark per system for each value of a label; `shown` are the row's name, the label and the axis."""
    name, label, axis = shown
    bars = grouped(
        (said, Bar(system, point(row.estimate), tooltip(f"{system}, {said}", row.estimate, "plain")))
        for system, own in rows.items()
        for row in own
        if row.name == name and row.estimate.n
        for said in [_NAMES.get(str(row.labels[label]), str(row.labels[label]))]
    )
    forest = Forest(list(bars.items()), axis, [Key(each, each) for each in rows], "plain", **more)
    return [Chart(title, forest, caption, slug)] if bars else []


def _lines(
    slug: str, title: str, caption: str, curves: Sequence[Curve], axes: tuple[str, str], unit: Unit = "plain"
) -> list[Chart]:
    return [Chart(title, Lines(curves, *axes, unit), caption, slug)] if curves else []


def _curves(
    rows: _Rows, name: str, x: str, said: str = "", *, dashed: bool = False, fewest: int = 1, **labels: Any
) -> list[Curve]:
    """A line per system through the figures of a name, over a label that is a number, or begins with one."""
    found = []
    for system, own in rows.items():
        points = [
            (float(str(row.labels[x]).partition("-")[0]), point(row.estimate))
            for row in own
            if row.name == name and row.estimate.n >= fewest and labels.items() <= row.labels.items()
        ]
        if points:
            title = f"{system}, {said}" if said else system
            found.append(Curve(system, title, sorted(points, key=lambda each: each[0]), dashed))
    return found


def _ranking_charts(rows: _Rows, quality: str) -> Iterator[Chart]:
    """kRG and kQRG over k (figure 4), where there is more than one k."""
    regions: tuple[tuple[dict[str, Any], str], ...] = (
        (TOP, "the k most probable translations"),
        (SAMPLES, "k samples"),
    )
    for labels, what in regions:
        ranked = _curves(rows, "krg", "k", **labels)
        if not any(len(curve.points) > 1 for curve in ranked):
            continue
        chance = _curves(rows, "krg_random", "k", "random order", dashed=True, **labels)
        yield from _lines(
            f"krg-{labels['region']}",
            f"How well probability ranks {what} (kRG)",
            "kRG is 1 where better translations are always more probable. Compare it with the dashed line, the same "
            "translations in random order; it is never 0. Lines are 95 % intervals.",
            [*ranked, *chance],
            ("k", "ranking gain, kRG"),
        )
        yield from _lines(
            f"kqrg-{labels['region']}",
            f"How good, and how well ranked, {what} are (kQRG)",
            "kQRG is the mean quality of the translations, the more probable ones weighing more. Lines are 95 % "
            "intervals.",
            _curves(rows, "kqrg", "k", **labels),
            ("k", f"kQRG ({quality})"),
        )


def _length_charts(rows: _Rows) -> Iterator[Chart]:
    yield from _forest(
        "lengths",
        "Length of translations against the reference",
        "1 is as long as the reference. All are of the same sentences. A model that believes in short "
        "translations has its most probable ones left of the line.",
        rows,
        ("length_ratio", "of", "characters, divided by those of the reference"),
        zero=1.0,
    )
    by_rank = _curves(rows, "length_ratio_by_rank", "rank", "most probable", of="top")
    by_rank += _curves(rows, "length_ratio_by_rank", "rank", _NAMES["beam-list"], dashed=True, of="beam-list")
    caption = "The length of the translation at each rank, divided by that of the reference."
    axes = ("rank by probability", "length ratio")
    yield from _lines("lengths-by-rank", "Length ratio over ranks", caption, by_rank, axes)


def _beam_charts(rows: _Rows, quality: str) -> Iterator[Chart]:
    """Quality, search errors, log-probability and length over the size of the beam."""
    shown: dict[str, tuple[str, str, Unit]] = {
        "beam_quality": ("Quality", f"mean quality ({quality})", "plain"),
        "misses_mode": ("Translations that are not the mode,", "sentences", "percent"),
        "beam_logprob": ("Log-probability", "nats per sentence", "plain"),
        "beam_length_ratio": ("Length ratio", "length ratio", "plain"),
    }
    caption = "Translations of the same sentences by each size of the beam."
    for name, (said, label, unit) in shown.items():
        title, axes = f"{said} over the size of the beam", ("size of the beam", label)
        yield from _lines(name, title, caption, _curves(rows, name, "beam"), axes, unit)


def _confidence_charts(rows: _Rows) -> Iterator[Chart]:
    """Entropy, accuracy of tokens over the model's confidence in them, and mass over k."""
    for of in ("token", "translation"):
        own = {system: [row for row in some if row.labels.get("of") == of] for system, some in rows.items()}
        yield from _forest(
            f"entropy-{of}",
            f"How undecided the model is, per {of}",
            "The mean of −log p over samples (natural logarithms): 0 if the model would always say the same.",
            own,
            ("entropy", "of", f"entropy, nats per {of}"),
            zero=0.0,
        )
    right = _curves(rows, "bin_accuracy", "bin", fewest=_FEWEST_TOKENS)
    sure = _curves(rows, "bin_confidence", "bin", "its confidence", dashed=True, fewest=_FEWEST_TOKENS)
    yield from _lines(
        "calibration",
        "Is the model as often right as it is sure?",
        "Tokens of beam search’s translations, by the probability that the model gave them; right are those that the "
        "reference has in their place. Below its dashed line a model is too sure of itself. Bins of fewer than "
        f"{_FEWEST_TOKENS} tokens are left out.",
        [*right, *sure],
        ("probability of the token, from", "tokens that are right"),
        "percent",
    )
    yield from _lines(
        "mass",
        "How much probability the most probable translations have",
        "All k together, the mean over sentences. The rest lies in translations beyond them.",
        [curve for curve in _curves(rows, "top_mass", "k") if len(curve.points) > 1],
        ("k", "probability of the k most probable translations"),
        "percent",
    )


def _clouds(comparison: Comparison, quality: str) -> Iterator[Chart]:
    """Log-probability against quality, one chart per region."""
    most = _MOST_POINTS // len(comparison.results)
    for region, what in (("top", "the k most probable translations"), ("samples", "samples")):
        dots = []
        for result in comparison.results:
            points = [
                (min(0.0, each["logprob"] - top[0]["logprob"]), each["quality"])
                for record in result.records
                if (top := record["top"]["found"])
                for each in (top if region == "top" else record["samples"]["hypotheses"])
                if each["logprob"] is not None
            ]
            if len(points) > most:
                drawn = stream(0, f"report/cloud/{result.name}").permutation(len(points))[:most]
                points = [points[number] for number in drawn]
            dots += [Dots(result.name, points)] if points else []
        if not dots:
            continue
        ordered = sorted(x for own in dots for x, _ in own.points)
        lowest = min(ordered[len(ordered) // 50], -1e-3)
        below = "nats below the sentence’s most probable translation"
        yield Chart(
            f"Log-probability against quality: {what}",
            Cloud(dots, below, f"quality ({quality})", lowest),
            "Each dot is a translation (a sample of them where there are very many), lines are medians. If "
            "probability knew quality, the lines would rise to the right. The least probable 2 % are left out.",
            f"cloud-{region}",
        )
