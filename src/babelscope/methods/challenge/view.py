"""The report section of challenge sets: quality by phenomenon and distance, beside equally long sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from babelscope.core.charts import Band, Chart, Curve, Forest, Lines
from babelscope.core.comparison import Comparison, SystemResult
from babelscope.core.page import (
    FEWEST,
    About,
    Answer,
    Caveat,
    Finding,
    Headline,
    Line,
    Measure,
    Section,
    View,
    point,
)
from babelscope.core.results import Record, Row
from babelscope.core.tables import Table, of_rows
from babelscope.language.ud_rules import RULES, shipped_rules
from babelscope.making.challenge.reordering import LABELS, UNITS
from babelscope.methods.challenge.sets import ORDER_DISTANCES, ChallengeSettings, read_instances, unit_of
from babelscope.methods.challenge.verdicts import CHECKS
from babelscope.methods.measuring import mismatch_caveats
from babelscope.methods.view import (
    Figures,
    bar,
    by_name,
    complement,
    error_finding,
    keys,
    noted_of,
    one,
    pivot,
)
from babelscope.util.text import plain_words

VERDICTS = "dependency_kept"


def _shown(rows: Sequence[Row]) -> list[tuple[str, str, Row]]:
    """The phenomenon that is lost most surely, where there are several, and how it is told; then all together."""
    parts: dict[str, Row] = {}
    known = [row for row in rows if row.name == VERDICTS and row.estimate.n and "min_distance" in row.labels]
    for row in sorted(known, key=lambda row: int(row.labels["min_distance"])):
        side = "" if row.labels["side"] == "source" else f" ({row.labels['side']})"
        parts.setdefault(f"{row.labels['phenomenon']}{side}", row)
    whole = one(rows, VERDICTS, phenomenon="all")
    found = [("", "", whole)] if whole is not None else []
    if len(parts) < 2:
        return found
    name, worst = min(parts.items(), key=lambda part: (part[1].estimate.n < FEWEST, part[1].estimate.high))
    return [(name, f"worst of {len(parts)} phenomena, {plain_words(name)}, ", worst), *found]


def verdict_findings(group: Comparison) -> Iterator[Finding]:
    """For each system, the share of dependencies that were lost, in the worst phenomenon where there are several."""
    for column in group.results:
        for name, which, row in _shown(column.rows)[:1]:
            if row.estimate.n:
                query = {"system": column.name, "tests": group.tests, "verdict": "lost"}
                yield error_finding(
                    column.name,
                    f"Dependencies lost in translation, {which}of those that could be decided on",
                    complement(row.estimate),
                    "dependencies",
                    query={**query, "group": name} if name else query,
                    more=f"{row.counts['undecided']} more are undecided",
                )


def verdict_table(rows: Sequence[Row], shown: Mapping[str, str]) -> list[Table]:
    """Shares kept with their counts, for a terminal; `shown` are short names of systems."""
    some = [
        Row(
            "kept",
            row.estimate,
            {
                name: shown.get(str(value), value)
                for name, value in row.labels.items()
                if name not in ("method", "tests", "side")
            },
            {name: count for name, count in row.counts.items() if name != "skipped"},
        )
        for row in rows
        if row.name == VERDICTS
    ]
    title = "Dependencies by themselves: shares kept, of those decided on"
    return [of_rows(title, some, shown=("kept", "lost", "undecided"))] if some else []


def verdict_of(record: Record) -> str:
    """The worst verdict on a sentence's dependencies: lost, undecided or kept; empty if there is none."""
    said = {each["verdict"] for _, each in _judged(record)}
    return next((each for each in ("lost", "undecided", "kept") if each in said), "")


def verdict_lines(record: Record) -> list[Line]:
    """The verdict on each dependency, with what was compared."""
    found: list[Line] = []
    for phenomenon, each in _judged(record):
        compared = " / ".join(filter(None, (each["reference"], each["output"])))
        told = f"{each['why']}{f' ({compared})' if compared else ''}"
        found.append((f"{phenomenon}: {each['verdict']}", told))
    return found


def _judged(record: Record) -> list[tuple[str, Mapping[str, str]]]:
    """Phenomenon and verdict of the dependencies that there is a check for."""
    dependencies = record.get("extra", {}).get("dependencies", ())
    return [
        (str(dependency["phenomenon"]), verdict)
        for dependency, verdict in zip(dependencies, record.get("verdicts", ()), strict=False)
        if dependency["phenomenon"] in CHECKS
    ]


_NAMES = {"chrf": "chrF", "bleu": "BLEU", "ribes": "RIBES"}
_EXPLAINED = {
    "chrf": "chrF (letters shared with the reference, 0 to 100)",
    "bleu": "BLEU (words shared with the reference, 0 to 100)",
    "ribes": "RIBES (order of words as in the reference, 0 to 1)",
}
_MOST_CURVES = 6

Labels = dict[str, str | int]
Kind = tuple[str, str]
"""A phenomenon, and the side it is on."""


def _metrics(group: Comparison) -> dict[str, str]:
    """The metrics that sentences were scored by, the best known first, with what they are called."""
    known = [each.measure for each in group.results[0].comparable]
    return {name: _NAMES.get(name, name) for name in (*_NAMES, *known) if name in known}


def _metric(group: Comparison) -> str:
    return next(iter(_metrics(group)))


def _kinds(group: Comparison) -> list[Kind]:
    return list(
        dict.fromkeys(
            (str(row.labels["phenomenon"]), str(row.labels["side"]))
            for column in group.results
            for row in column.rows
            if "side" in row.labels
        )
    )


def _scores_by_distance(rows: Sequence[Row], metric: str, kind: Kind) -> dict[int, Row]:
    """Scores of a phenomenon by minimum distance."""
    return {
        int(row.labels["min_distance"]): row
        for row in rows
        if row.name == metric
        and "min_distance" in row.labels
        and (row.labels["phenomenon"], row.labels["side"]) == kind
    }


def _labels(kind: Kind, distance: int) -> Labels:
    return {"phenomenon": kind[0], "side": kind[1], "min_distance": distance}


def findings(group: Comparison) -> Iterator[Finding]:
    metric = _metric(group)
    known = group.results[0].comparable
    lower = any(each.measure == metric and not each.higher_is_better for each in known)
    than = "better or worse than" if lower else "above or below"
    needed = _verdict_from(group)
    for column in group.results:
        rows = column.rows
        parts = [
            (kind, distance, row.estimate)
            for kind in _kinds(group)
            for distance in _distinct_distances(_scores_by_distance(rows, metric, kind))
            if (row := one(rows, "minus_control", **_labels(kind, distance), metric=metric))
            if row.estimate.n >= needed and not row.estimate.no_interval
        ]
        if lower:  # negate, so that below 0 is worse
            parts = [(kind, far, a.converted(lambda score: -score)) for kind, far, a in parts]
        if not parts:
            continue
        kind, distance, away = min(parts, key=lambda part: part[2].high)
        yield Finding(
            column.name,
            f"Worst of {len(parts)} sets of sentences, {label(kind[0])}"
            f"{f', {distance} or more {unit_of(kind[0])}' if distance else ''}: points {than} "
            f"equally long sentences in {_EXPLAINED.get(metric, metric)}",
            away,
            "sentences",
            "some" if away.high < 0 else "none",
            query={"system": column.name, "tests": group.tests, "group": _part_name(kind, distance)},
            share=False,
            tag="" if away.high < 0 else "Not shown",
            more="the interval is for all sets at once" if len(parts) > 1 else "",
        )


def _distinct_distances(parts: Mapping[int, Row]) -> list[int]:
    """Minimum distances; of several that give the same sentences, the lowest."""
    seen: dict[tuple[int, float], int] = {}
    for distance in sorted(parts):
        estimate = parts[distance].estimate
        seen.setdefault((estimate.n, estimate.value), distance)
    return list(seen.values())


def _verdict_from(group: Comparison) -> int:
    """How many sentences a set needs for a verdict."""
    default = ChallengeSettings.model_fields["verdict_from"].default
    return int(group.results[0].settings.get("verdict_from", default))


def _part_name(kind: Kind, distance: int) -> str:
    """The name of the group of items, as `about` assigns it."""
    where = "" if kind[1] == "source" else f" ({kind[1]})"
    return f"{kind[0]}{where}" + (f", {distance} or more {unit_of(kind[0])}" if distance else "")


def headline(rows: Sequence[Row]) -> list[Headline]:
    """Quality over all sentences, by each metric; then the share of dependencies kept, of those decided on."""
    whole = {
        row.name: row
        for row in rows
        if row.labels.get("phenomenon") == "all" and "metric" not in row.labels
        if row.name not in ("length", VERDICTS)
    }
    ordered = [name for name in dict.fromkeys([*_NAMES, *whole]) if name in whole]
    scores = [Headline(f"{_NAMES.get(name, name)}, all sentences", whole[name]) for name in ordered]
    kept = [
        Headline(
            f"Dependencies kept, {which}of those decided on ({row.counts['undecided']} undecided)",
            row,
            "percent",
        )
        for _, which, row in _shown(rows)
    ]
    return [*scores, *kept]


def caveats(group: Comparison) -> Iterator[Caveat]:
    yield from mismatch_caveats(group, lambda record: record.get("translation"))
    metric = _metric(group)
    for column in group.results:
        yield from _too_small(group, column, metric)
        alone = {
            (str(row.labels["phenomenon"]), str(row.labels["side"]))
            for row in column.rows
            if row.name == "control_mean" and not row.estimate.n
        }
        if alone:
            yield Caveat(
                column.name,
                f"phenomena without length-matched controls, for want of other sentences as long: {len(alone)} "
                "(--controls all).",
            )
        yield from noted_of(
            column.name,
            column.rows,
            {"empty": "have an empty translation", "unfinished": "have a translation that was not finished"},
        )


def _too_small(group: Comparison, column: SystemResult, metric: str) -> Iterator[Caveat]:
    """How many sets are below the size that a verdict needs."""
    needed = _verdict_from(group)
    sizes = {
        _part_name(kind, distance): scores[distance].estimate.n
        for kind in _kinds(group)
        if (scores := _scores_by_distance(column.rows, metric, kind))
        for distance in _distinct_distances(scores)
    }
    small = {name: n for name, n in sizes.items() if n < needed}
    if not small:
        return
    largest = max(small, key=lambda name: small[name])
    which = f"All {len(sizes)} sets" if len(small) == len(sizes) else f"{len(small)} of {len(sizes)} sets"
    yield Caveat(
        column.name,
        f"{which} {'has' if len(small) == 1 else 'have'} fewer than the {needed} sentences that a verdict needs "
        f"(--verdict-from), the largest {small[largest]:,}.",
    )


def pictures(group: Comparison) -> list[Chart]:
    metric = _metric(group)
    bars = []
    for column in group.results:
        rows = column.rows
        if whole := one(rows, metric, phenomenon="all"):
            bars.append(("all sentences", bar(column.name, "all", whole.estimate, "plain")))
        for kind in _kinds(group):
            if parts := _scores_by_distance(rows, metric, kind):
                least = parts[min(parts)].estimate
                bars.append((_part_name(kind, 0), bar(column.name, kind[0], least, "plain")))
    if not bars:
        return []
    by_phenomenon = Chart(
        "Quality by phenomenon",
        Forest(
            by_name(bars), f"{_NAMES.get(metric, metric)} of the sentences that have it", keys(group), "plain"
        ),
        "Scores of all sentences, and of those in which a phenomenon occurs. Lines are 95 % intervals.",
    )
    curved = [
        kind
        for kind in _kinds(group)
        if any(
            len(_distinct_distances(_scores_by_distance(column.rows, metric, kind))) > 1
            for column in group.results
        )
    ]
    return [by_phenomenon, *(_by_distance(group, kind) for kind in curved[:_MOST_CURVES])]


def _by_distance(group: Comparison, kind: Kind) -> Chart:
    """Curves, each with the band of its own controls."""
    metric = _metric(group)
    curves, bands, sizes = [], [], ""
    for column in group.results:
        parts = _scores_by_distance(column.rows, metric, kind)
        points = [(float(distance), point(parts[distance].estimate)) for distance in sorted(parts)]
        curves.append(Curve(column.name, column.name, points))
        sizes = ", ".join(f"{d}: {parts[d].estimate.n}" for d in sorted(parts))
        band = []
        for distance in sorted(parts):
            labels: Labels = {**_labels(kind, distance), "metric": metric}
            mean, sd = (one(column.rows, f"control_{name}", **labels) for name in ("mean", "sd"))
            if mean and sd and mean.estimate.n:
                spread = 1.96 * sd.estimate.value
                band.append((float(distance), mean.estimate.value - spread, mean.estimate.value + spread))
        if band:
            bands.append(Band(column.name, f"{column.name}, equally long", band))
    return Chart(
        f"Quality by distance: {_part_name(kind, 0)}",
        Lines(curves, f"at least so many {unit_of(kind[0])}", _NAMES.get(metric, metric), bands=bands),
        f"{label(kind[0]).capitalize()}: scores of the sentences with at least so many {unit_of(kind[0])}. Bands "
        f"have 95 % of random sets of equally long sentences. Sentences in each set: {sizes}.",
    )


def tables(group: Comparison) -> list[Table]:
    scores = tuple(
        Figures(heading, lambda row, name=name: row.name == name and "distance" not in row.labels)  # type: ignore[misc]
        for name, heading in _metrics(group).items()
    )
    metric = _metric(group)
    away = Figures(
        f"{_NAMES.get(metric, metric)} minus equally long",
        lambda row: (
            row.name == "minus_control" and row.labels["metric"] == metric and "distance" not in row.labels
        ),
    )
    kept = Figures("kept, of those decided on", lambda row: row.name == VERDICTS, "percent")
    labels = ("phenomenon", "side", "min_distance")
    return [
        *pivot(group, "By phenomenon and minimum distance", (*labels, "unit"), (*scores, away)),
        *pivot(group, "Dependencies by themselves", labels, (kept,)),
    ]


def label(phenomenon: str) -> str:
    """A phenomenon in a few plain words; by its name where it is neither a reordering nor one of our rules."""
    known = {**LABELS, **{rule.name: rule.label for rule in (*reversed(shipped_rules()), *RULES)}}
    return known.get(phenomenon) or plain_words(phenomenon)


def names(group: Comparison) -> dict[str, str]:
    return {kind: label(kind) for kind, _ in _kinds(group)}


def about(record: Record) -> About:
    groups = []
    for each in read_instances(record.get("extra", {}), f"item {record['id']}"):
        kind = (each.phenomenon, each.side)
        known = (
            ORDER_DISTANCES
            if each.phenomenon in UNITS
            else ChallengeSettings.model_fields["distances"].default
        )
        groups += [_part_name(kind, distance) for distance in known if distance <= each.distance]
    dependencies = {
        (
            str(each["phenomenon"]),
            f"{each['head_form']} … {each['dependent_form']} ({each['distance']:g})",
        ): None
        for each in record.get("extra", {}).get("dependencies", ())
        if each.get("head_form") and each.get("dependent_form")
    }
    references = (("reference", text) for text in record["references"])
    return About(record["source"], tuple(dict.fromkeys(groups)), lines=[*dependencies, *references])


def answer(record: Record, _settings: Mapping[str, Any]) -> Answer:
    scores = record["scores"]
    preferred = (scores[metric] for metric in ("chrf", "bleu", "ribes") if metric in scores)
    measure = next(preferred, next(iter(scores.values())))
    facts = ", ".join(f"{_NAMES.get(metric, metric)} {score:.3g}" for metric, score in scores.items())
    lines: list[Line] = [("translation", record["translation"] or "(empty)"), *verdict_lines(record)]
    verdict = verdict_of(record)
    return Answer(verdict, "errors" if verdict == "lost" else "note", measure, facts, lambda: lines)


_READING = (
    "Sentences are sorted by what occurs in them (a verb far from its particle, say) and by how many words stand "
    "between; reordering has units of its own. Each set is scored as a corpus: chrF and BLEU compare letters and "
    "words with the reference, 0 to 100; RIBES compares their order, 0 to 1.",
    "Sentences in which words are far apart are long, and long sentences score differently anyway. So each set "
    "is compared with random sets of equally long sentences. The construction itself is hard where the whole "
    "interval of “minus equally long” lies below 0 (above 0, if lower scores are better). These intervals hold for "
    "all sets at once, so that the worst of many sets is not a weakness by chance.",
)


def section(group: Comparison) -> Section:
    """The report section of one test set."""
    return Section(
        title="Challenge sets: phenomena and distance",
        question="Are sentences with a difficult construction translated worse than others?",
        reading=_READING,
        measure="score of the sentence",
        group="phenomenon",
        order=40,
        findings=[*findings(group), *verdict_findings(group)],
        caveats=[*caveats(group)],
        pictures=pictures(group),
        tables=tables(group),
        names=names(group),
        measures={each.measure: Measure(each.measure, each.unit) for each in group.results[0].comparable},
    )


VIEW = View(section, about, answer, headline)
