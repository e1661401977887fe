"""Pictures of hypothesis spaces: quality, ranking over k, lengths, sizes of the beam, probability against quality."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from babelscope.core.columns import Column, Group
from babelscope.core.page import Bar, Cloud, Curve, Dots, Forest, Lines, Picture, Point, Unit, point
from babelscope.core.results import Record, Row
from babelscope.methods.view import bar, by_name, keys
from babelscope.util.seeds import stream

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


def pictures(group: Group) -> list[Picture]:
    return [
        *_decodings(group),
        *(picture for region in _REGIONS for picture in _ranking(group, region)),
        *_lengths(group),
        *_sweep(group),
        *_entropy(group),
        *_calibration(group),
        *_clouds(group),
    ]


def _bars(group: Group, figure: str, label: str, names: Mapping[str, str]) -> list[tuple[str, list[Bar]]]:
    """The bars of a figure, those of one value of a label together; `names` says what each value is called."""
    return by_name(
        (name, bar(column.name, name, row.estimate, "plain"))
        for column in group.columns
        for row in rows_of(column)
        if row.name == figure and row.estimate.n
        for name in [names[str(row.labels[label])]]
    )


def _decodings(group: Group) -> list[Picture]:
    bars = _bars(group, "quality", "decoding", _DECODINGS)
    if not bars:
        return []
    return [
        Picture(
            "Quality of what can be drawn from the model",
            Forest(bars, f"mean quality of a sentence ({quality_name(group)})", keys(group), "plain"),
            "Mean quality of the translations that beam search gives, of the model’s most probable ones, of the "
            "sample that is most like the others, and of any sample.",
        )
    ]


def quality_name(group: Group) -> str:
    first = first_metric(group.columns[0])
    return {"chrf": "chrF, 0 to 1", "bleu": "BLEU, 0 to 1"}.get(first, "as chosen")


def first_metric(column: Column) -> str:
    """The metric of tables and pictures."""
    settings = column.cell.settings
    first, *_ = settings["metric"] if "metric" in settings else [settings["quality"]]  # its earlier name
    return str(first)


def rows_of(column: Column) -> list[Row]:
    """The figures of a column without those by further metrics."""
    first = first_metric(column)
    return [row for row in column.cell.rows if row.labels.get("metric", first) == first]


def _rows_by_k(rows: Iterable[Row], name: str, region: str) -> dict[int, Row]:
    return {
        int(row.labels["k"]): row
        for row in rows
        if row.name == name and row.labels["region"] == region and row.labels["view"] == "tokens"
    }


def _ranking(group: Group, region: str) -> list[Picture]:
    """kRG and kQRG over k (figure 4), where there is more than one k."""
    if not any(len(_rows_by_k(rows_of(column), "krg", region)) > 1 for column in group.columns):
        return []
    ranked, good = [], []
    for column in group.columns:
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
        Picture(
            f"How well probability ranks {what} (kRG)",
            Lines(ranked, "k", "ranking gain, kRG"),
            "kRG is 1 where better translations are always more probable. Compare it with the dashed line, the same "
            "translations in random order; it is never 0. Lines are 95 % intervals.",
        ),
        Picture(
            f"How good, and how well ranked, {what} are (kQRG)",
            Lines(good, "k", f"kQRG ({quality_name(group)})"),
            "kQRG is the mean quality of the translations, the more probable ones weighing more. Lines are 95 % "
            "intervals.",
        ),
    ]


def _lengths(group: Group) -> list[Picture]:
    """Length against the reference, of each decoding and region, and over the ranks of lists."""
    bars = _bars(group, "length_ratio", "of", _LENGTHS)
    if not bars:
        return []
    found = [
        Picture(
            "Length of translations against the reference",
            Forest(bars, "characters, divided by those of the reference", keys(group), "plain", zero=1.0),
            "1 is as long as the reference. All are of the same sentences. A model that believes in short "
            "translations has its most probable ones left of the line.",
        )
    ]
    curves = []
    for column in group.columns:
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
        found.append(Picture("Length ratio over ranks", chart, reading))
    return found


def _sweep(group: Group) -> list[Picture]:
    """Quality, search errors, log-probability and length over the size of the beam."""
    charts = {
        "beam_quality": (
            "Quality over the size of the beam",
            f"mean quality ({quality_name(group)})",
            "plain",
        ),
        "misses_mode": (
            "Translations that are not the mode, over the size of the beam",
            "sentences",
            "percent",
        ),
        "beam_logprob": ("Log-probability over the size of the beam", "nats a sentence", "plain"),
        "beam_length_ratio": ("Length ratio over the size of the beam", "length ratio", "plain"),
    }
    found = []
    for name, (title, label, unit) in charts.items():
        curves = []
        for column in group.columns:
            rows = [row for row in rows_of(column) if row.name == name and row.estimate.n]
            own = sorted((float(row.labels["beam"]), point(row.estimate)) for row in rows)
            curves += [Curve(column.name, column.name, own)] if own else []
        if curves:
            chart = Lines(curves, "size of the beam", label, cast(Unit, unit))
            found.append(
                Picture(title, chart, "Translations of the same sentences by each size of the beam.")
            )
    return found


def _entropy(group: Group) -> list[Picture]:
    """Entropy a token and a translation, each on an axis of its own."""
    found = []
    for of in ("token", "translation"):
        bars = [
            bar(column.name, f"nats a {of}", row.estimate, "plain")
            for column in group.columns
            for row in rows_of(column)
            if row.name == "entropy" and row.labels["of"] == of and row.estimate.n
        ]
        if bars:
            found.append(
                Picture(
                    f"How undecided the model is, a {of}",
                    Forest([("entropy", bars)], f"entropy, nats a {of}", keys(group), "plain", zero=0.0),
                    "The mean of −log p over samples (natural logarithms): 0 if the model would always say the same.",
                )
            )
    return found


def _calibration(group: Group) -> list[Picture]:
    """Accuracy of tokens over the model's confidence in them, and mass over k."""
    curves: list[Curve] = []
    mass: list[Curve] = []
    for column in group.columns:
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
    found = []
    if curves:
        chart = Lines(curves, "probability of the token, from", "tokens that are right", "percent")
        found.append(
            Picture(
                "Is the model as often right as it is sure?",
                chart,
                "Tokens of beam search’s translations, by the probability that the model gave them; right are those "
                "that the reference has in their place. Below its dashed line a model is too sure of itself. Bins of "
                f"fewer than {_FEWEST_TOKENS} tokens are left out.",
            )
        )
    if mass:
        chart = Lines(mass, "k", "probability of the k most probable translations", "percent")
        reading = "All k together, the mean over sentences. The rest lies in translations beyond them."
        found.append(Picture("How much probability the most probable translations have", chart, reading))
    return found


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
            f"quality ({quality_name(group)})",
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
    known = [each for each in answers if each["logprob"] is not None]
    return [(min(0.0, each["logprob"] - top[0]["logprob"]), each["quality"]) for each in known]


def _subsample(points: Sequence[tuple[float, float]], most: int, rng: Any) -> list[tuple[float, float]]:
    if len(points) <= most:
        return list(points)
    return [points[number] for number in rng.permutation(len(points))[:most]]
