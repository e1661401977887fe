"""Agreement of annotators with each other and of methods with annotators (conditioning paper, appendix E)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Any, Literal

import numpy as np
from scipy.special import fdtri, ndtri, stdtrit

from babelscope.core.results import Estimate, Row
from babelscope.stats.intervals import (
    Array,
    Bounds,
    clustered_proportion,
    jackknife_variance,
    members_of,
    proportion,
    wilson_bounds,
)
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import json_number, shorten, whole_number

# --- What annotators say about translations, and how their labels are reduced to two for a comparison --------------

Task = Literal["mucow", "winomt", "machine-reference", "challenge", "extraction", "choice"]

# Of the conditioning paper, appendix E.
CORRECT, WRONG = "Correct Sense", "Wrong Sense"
MALE, FEMALE = "Male", "Female"
BOTH = "Both / Neutral / Ambiguous"
ILL_DEFINED = "Bad sample / Ill-defined senses"
TOO_BAD = "Translation too bad to tell"
THIRD_SENSE = f"{TOO_BAD} / Third sense"
# Of machine references (minimal pairs, section 3.3).
RIGHT, WRONG_REFERENCE = "Right", "Wrong"
# Of challenge sets (section 4.3).
TRANSLATED_RIGHT, TRANSLATED_WRONG = "Translated right", "Translated wrong"
REAL, NOT_REAL = "Real", "Not real"
# Of minimal pairs, beside the letters of the translations.
SEVERAL, NONE = "More than one", "None"
CANNOT_TELL = "Cannot tell"

LABELS: Mapping[Task, tuple[str, ...]] = {
    "mucow": (CORRECT, WRONG, BOTH, ILL_DEFINED, THIRD_SENSE),
    "winomt": (MALE, FEMALE, BOTH, TOO_BAD),
    "machine-reference": (RIGHT, WRONG_REFERENCE, CANNOT_TELL),
    "challenge": (TRANSLATED_RIGHT, TRANSLATED_WRONG, REAL, NOT_REAL, CANNOT_TELL),
    "extraction": (REAL, NOT_REAL, CANNOT_TELL),
    "choice": (*ascii_uppercase, SEVERAL, NONE, CANNOT_TELL),
}
_OTHER = {MALE: FEMALE, FEMALE: MALE}


@dataclass(frozen=True, slots=True)
class Judgment:
    """What one annotator said about one translation."""

    sample: str
    """Joins the annotators."""
    label: str
    source: str = ""
    word: str = ""
    """The ambiguous word (MuCoW)."""
    gold: str = ""
    """The gender that was asked for (WinoMT), or the letter of the correct translation (choice)."""
    row: int | None = None
    """Its row of the test set, from 0 (WinoMT)."""


Annotator = Mapping[str, Judgment]
"""An annotator's judgments by sample."""


def _mucow(judgment: Judgment) -> str | None:
    """What preserves the ambiguity is correct, what is too bad to tell is wrong (appendix E)."""
    edge_cases = {BOTH: CORRECT, THIRD_SENSE: WRONG, ILL_DEFINED: None}
    return edge_cases.get(judgment.label, judgment.label)


def _winomt(judgment: Judgment) -> str | None:
    """The same for genders; what has no gold gender is out of the study's scope (appendix E)."""
    gold = judgment.gold
    edge_cases = {BOTH: gold, TOO_BAD: _OTHER.get(gold)}
    return edge_cases.get(judgment.label, judgment.label) if gold in _OTHER else None


def _chosen(judgment: Judgment) -> str | None:
    """Whether the correct translation was chosen; what has several right ones, or none, leaves no choice."""
    if len(judgment.label) > 1 or not judgment.gold:
        return None
    return RIGHT if judgment.label == judgment.gold else WRONG_REFERENCE


def _decided(judgment: Judgment) -> str | None:
    return None if judgment.label == CANNOT_TELL else judgment.label


def _real(judgment: Judgment) -> str | None:
    return REAL if judgment.label in (TRANSLATED_RIGHT, TRANSLATED_WRONG) else _decided(judgment)


def _translated(judgment: Judgment) -> str | None:
    return judgment.label if judgment.label in (TRANSLATED_RIGHT, TRANSLATED_WRONG) else None


REDUCTIONS: Mapping[Task, Mapping[str, Callable[[Judgment], str | None]]] = {
    "mucow": {"binary": _mucow},
    "winomt": {"binary": _winomt},
    "machine-reference": {"binary": _decided},
    "challenge": {"real": _real, "binary": _translated},
    "extraction": {"binary": _decided},
    "choice": {"binary": _chosen},
}
"""How the labels of a task become two; None drops the sample. `binary` tells right from wrong."""


def reduced(annotators: Sequence[Annotator], task: Task, how: str = "binary") -> list[dict[str, Judgment]]:
    """Their common samples with two labels only; what one of them drops is dropped for all."""
    reduction = REDUCTIONS[task][how]
    labels = {
        sample: [reduction(each[sample]) for each in annotators] for sample in common_samples(annotators)
    }
    return [
        {
            sample: replace(own[sample], label=label)
            for sample, found in labels.items()
            if None not in found and (label := found[number]) is not None
        }
        for number, own in enumerate(annotators)
    ]


def is_right(judgment: Judgment, task: Task) -> bool | None:
    """Whether the translation is right, according to the annotator; None where that was left open."""
    label = REDUCTIONS[task]["binary"](judgment)
    if label is None:
        return None
    return label == judgment.gold if task == "winomt" else label in (CORRECT, RIGHT, TRANSLATED_RIGHT, REAL)


def common_samples(annotators: Sequence[Annotator]) -> list[str]:
    """The samples that all of them judged, in the order of the first."""
    first, *others = annotators
    return [sample for sample in first if all(sample in each for each in others)]


# --- Agreement beyond chance, with intervals for few items: Cohen's kappa, Krippendorff's alpha --------------------

# One item more, its labels equally likely in all combinations: a few items without a disagreement, or without a
# label, do not prove that there is none.
_PRIOR = 1.0


def _by_chance(observed: Array, smoothed: Array, expected: Array, variance: Array, items: Any) -> Bounds:
    """The interval of 1 - observed / expected disagreement: Wilson's of the observed one.

    Its sample size is that at which the logarithm of a proportion varies as that of the quotient does.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = np.minimum((1 - smoothed) / (smoothed * variance), items)
    low, high = wilson_bounds(np.minimum(observed, 1.0), alike)
    return np.maximum(1 - high / expected, -1.0), np.minimum(1 - low / expected, 1.0)


def kappa_bounds(tables: Array) -> Bounds:
    """The interval of Cohen's kappa, from counts [..., first label, second label]."""
    names = tables.shape[-1]
    n = tables.sum(axis=(-1, -2))
    observed = 1 - np.einsum("...kk->...", tables) / n
    shares = (tables + _PRIOR / names**2) / (n + _PRIOR)[..., None, None]
    first, second = shares.sum(axis=-1), shares.sum(axis=-2)
    disagreement = 1 - np.einsum("...kk->...", shares)
    chance = (first * second).sum(axis=-1)
    # What each cell adds to the logarithm of observed / expected (the delta method).
    influence = (
        (1 - np.eye(names)) / disagreement[..., None, None]
        - 1
        + (second[..., :, None] + first[..., None, :] - 2 * chance[..., None, None])
        / (1 - chance)[..., None, None]
    )
    variance = (shares * influence**2).sum(axis=(-1, -2)) / (n + _PRIOR)
    return _by_chance(observed, disagreement, 1 - chance, variance, n)


def cohens_kappa(first: Sequence[str], second: Sequence[str]) -> Estimate:
    """Cohen's kappa; 1 without an interval if both said one and the same thing throughout."""
    n = len(first)
    if not n:
        return Estimate.empty()
    names = sorted({*first, *second})
    if len(names) == 1:  # chance agreement is certain too, and the quotient is 0 / 0
        return Estimate.without_interval(1.0, n, "one label only")
    table = np.zeros((len(names), len(names)))
    for one, other in zip(first, second, strict=True):
        table[names.index(one), names.index(other)] += 1
    chance = float(table.sum(axis=0) @ table.sum(axis=1)) / n**2
    value = 1 - (1 - float(np.trace(table)) / n) / (1 - chance)
    low, high = kappa_bounds(table)
    return Estimate.around(value, low, high, n)


Level = Literal["nominal", "interval"]
"""What a difference between two values is: any or none, or as large as it is."""


def nominal_bounds(counts: Array) -> Bounds:
    """The interval of Krippendorff's alpha for names, from how often units got each [..., units, names]."""
    units, names = counts.shape[-2:]
    sizes = counts.sum(axis=-1)
    disagreed = (sizes**2 - (counts**2).sum(axis=-1)) / (sizes - 1)
    one, other = np.divmod(np.arange(names**2), names)
    pairs = np.eye(names)[one] + np.eye(names)[other]
    weight = _PRIOR / names**2
    totals = counts.sum(axis=-2) + weight * pairs.sum(axis=0)
    whole, differing = totals.sum(axis=-1), disagreed.sum(axis=-1) + weight * 2.0 * (one != other).sum()
    products = whole**2 - (totals**2).sum(axis=-1)

    def influence(own: Array, of: Array, size: Array) -> Array:
        """What a unit adds to the logarithm of observed / expected."""
        chance = size * whole[..., None] - (of * totals[..., None, :]).sum(axis=-1)
        found: Array = (
            own / differing[..., None] - 2 * chance / products[..., None] + size / (whole - 1)[..., None]
        )
        return found

    variance = (influence(disagreed, counts, sizes) ** 2).sum(axis=-1)
    variance = variance + weight * (influence(2.0 * (one != other), pairs, np.full(names**2, 2.0)) ** 2).sum(
        axis=-1
    )
    known = ndtri(0.975) / stdtrit(max(units - 1, 1), 0.975)
    return _by_chance(
        disagreed.sum(axis=-1) / sizes.sum(axis=-1),
        differing / whole,
        products / (whole * (whole - 1)),
        variance / known**2,
        # A unit with m values has m - 1 independent chances to disagree.
        units * (sizes.mean(axis=-1) - 1) * known**2,
    )


def interval_bounds(means: Array, within: Array, sizes: Array) -> Bounds:
    """The interval of alpha for numbers, from units' means, sums of squares within and sizes [..., units].

    Alpha is then an intra-class correlation, a function of F, the mean square between units by that within. The
    interval is the wider of the F distribution's (Shrout and Fleiss 1979), exact for normal values, and the
    jackknife's of log F (Arvesen 1969), which long tails do not mislead.
    """
    units = means.shape[-1]
    total = sizes.sum(axis=-1)

    def log_ratio(axis_sums: Sequence[Array], count: int) -> Array:
        size, first, second, inside = axis_sums
        between = np.maximum(second - first**2 / size, 0.0) / (count - 1)
        with np.errstate(divide="ignore"):
            found: Array = np.log(between) - np.log(inside / (size - count))
        return found

    columns = [sizes, sizes * means, sizes * means**2, within]
    sums = [column.sum(axis=-1) for column in columns]
    ratio = log_ratio(sums, units)
    degrees = units - 1, total - units
    low, high = (ratio - np.log(fdtri(*degrees, q)) for q in (0.975, 0.025))
    if units > 3:
        left_out = log_ratio(
            [whole[..., None] - column for whole, column in zip(sums, columns, strict=True)], units - 1
        )
        reach = stdtrit(units - 1, 0.975) * np.sqrt(jackknife_variance(left_out))
        low, high = np.fmin(low, ratio - reach), np.fmax(high, ratio + reach)
    usual = (total - (sizes**2).sum(axis=-1) / total) / (units - 1)

    def correlation(logarithm: Array) -> Array:
        found: Array = (np.exp(logarithm) - 1) / (np.exp(logarithm) + usual - 1)
        return found

    return np.maximum(correlation(low), -1.0), np.minimum(correlation(high), 1.0)


def krippendorffs_alpha(units: Sequence[Sequence[Any]], *, level: Level = "nominal") -> Estimate:
    """Krippendorff's alpha of what annotators said about each unit.

    1 minus observed by expected disagreement (Krippendorff 2011, "Computing Krippendorff's
    Alpha-Reliability"). A unit with fewer than two values says nothing about agreement and is left out;
    `n` counts the others. It is 1 if everything is one and the same value, as kappa is.
    """
    told = [list(unit) for unit in units if len(unit) > 1]
    n = len(told)
    if not told:
        return Estimate.empty()
    values = sorted({value for unit in told for value in unit})
    if len(values) == 1:
        return Estimate.without_interval(1.0, n, "one label only" if level == "nominal" else "one value only")
    counts = np.array([[unit.count(value) for value in values] for unit in told], dtype=float)
    if level == "nominal":
        distances: Array = 1.0 - np.eye(len(values))
    else:
        distances = np.subtract.outer(values, values).astype(float) ** 2
    sizes, drawn = counts.sum(axis=1), counts.sum(axis=0)
    observed = float((np.einsum("uc,cd,ud->u", counts, distances, counts) / (sizes - 1)).sum())
    value = 1.0 - observed * (float(drawn.sum()) - 1) / float(drawn @ distances @ drawn)
    if n == 1:
        return Estimate.without_interval(value, n, "1 item")
    if level == "nominal":
        low, high = nominal_bounds(counts)
    else:
        numbers = np.array(values, dtype=float) - float(np.mean(values))
        means = counts @ numbers / sizes
        within = counts @ numbers**2 - sizes * means**2
        if float(within.sum()) <= 1e-12 * float(drawn @ numbers**2):
            return Estimate.without_interval(value, n, "all annotators alike")
        low, high = interval_bounds(means, np.maximum(within, 0.0), sizes)
    return Estimate.around(value, low, high, n)


# --- Agreement of annotators with each other and of methods with annotators ----------------------------------------


def rank_agreement(scores: Mapping[str, Mapping[str, float]]) -> Estimate:
    """Mean Spearman correlation over all pairs of evaluators that scored the same systems (section 3.5).

    Without an interval: pairs share their evaluators, and a few chosen evaluators are no sample of others.
    """
    from scipy.stats import spearmanr

    if len(scores) < 2:
        raise BabelscopeError("agreement of evaluators needs at least two of them")
    systems = sorted(next(iter(scores.values())))
    for name, own in scores.items():
        if sorted(own) != systems:
            raise BabelscopeError(f"the evaluator {name} scored other systems than the first one")
    columns = [[own[system] for system in systems] for own in scores.values()]
    found = [float(spearmanr(one, other).statistic) for one, other in itertools.combinations(columns, 2)]
    spread = f"{len(found)} pairs of evaluators, {min(found):.3g} to {max(found):.3g}"
    return Estimate.without_interval(math.fsum(found) / len(found), len(found), spread)


def parse_judgments(rows: Iterable[tuple[str, Mapping[str, Any]]], task: Task) -> dict[str, Judgment]:
    """An annotator's file, a JSON object a line with `label` (a list of one) and `Sample ID`."""
    found: dict[str, Judgment] = {}
    for place, record in rows:
        label = record.get("label")
        label = label[0] if isinstance(label, list) and len(label) == 1 else label
        if label not in LABELS[task]:
            known = ", ".join(LABELS[task])
            raise BabelscopeError(f"{place}: {shorten(str(label))} is no label of {task}; they are: {known}")
        sample, row = str(record.get("Sample ID", "")), str(record.get("Index", ""))
        if not sample:
            raise BabelscopeError(f"{place}: field 'Sample ID' is missing")
        if sample in found:
            raise BabelscopeError(f"{place}: the sample {shorten(sample)} is labeled twice")
        gold = str(record.get("Gold Gender", "")).title()
        if task == "winomt" and (gold not in (MALE, FEMALE) or whole_number(row) is None):
            raise BabelscopeError(f"{place} needs 'Gold Gender', male or female, and 'Index', a row from 0")
        found[sample] = Judgment(
            sample,
            str(label),
            str(record.get("Source Sentence", "")),
            str(record.get("Word", "")),
            gold,
            whole_number(row),
        )
    return found


def parse_earlier(rows: Iterable[Mapping[str, str]], where: str) -> dict[str, Judgment]:
    """WinoMT's own annotations, a table with `Index`, whether the entity was found, and M, F or N."""
    names = {"M": MALE, "F": FEMALE, "N": BOTH}
    found = {}
    for number, row in enumerate(rows, 2):  # the first line is the heading
        try:
            index, there, gender = row["Index"], row["Find entity? [Y/N]"], row["Gender? [M/F/N]"]
        except KeyError as error:
            raise BabelscopeError(f"{where} has no column {error}") from None
        if whole_number(index or "") is None:
            raise BabelscopeError(f"{where}:{number}: {shorten(str(index))} is no index of a row")
        if index in found:
            raise BabelscopeError(f"{where}:{number}: row {index} stands there twice")
        if there == "Y" and gender in names:
            found[index] = Judgment(index, names[gender], row=int(index))
    return found


def compare(annotators: Mapping[str, Annotator], task: Task) -> list[Row]:
    """Kappa and proportion of agreement of every two annotators, with raw and with two labels (table A3)."""
    rows = []
    for (one, first), (other, second) in itertools.combinations(annotators.items(), 2):
        names = {"task": task, "annotators": f"{one}, {other}"}
        common = common_samples([first, second])
        alone = {"only_first": len(first) - len(common), "only_second": len(second) - len(common)}
        versions: dict[str, Sequence[Annotator]] = {
            "raw": [first, second],
            **{how: reduced([first, second], task, how) for how in REDUCTIONS[task]},
        }
        for labels, (a, b) in versions.items():
            kept = common_samples([a, b])
            counts = {**alone, "skipped": len(common) - len(kept)}
            said, others = ([each[sample].label for sample in kept] for each in (a, b))
            rows += _pair(said, others, {**names, "labels": labels}, counts)
    return rows


def compare_with_earlier(name: str, annotator: Annotator, earlier_name: str, earlier: Annotator) -> list[Row]:
    """An annotator against WinoMT's own annotations, by row; too bad to tell is left out (table A4)."""
    own = {str(each.row): each for each in annotator.values() if each.label != TOO_BAD}
    kept = common_samples([own, earlier])
    labels = {"task": "winomt", "annotators": f"{name}, {earlier_name}", "labels": "raw"}
    pair = [[each[row].label for row in kept] for each in (own, earlier)]
    return _pair(pair[0], pair[1], labels, {"skipped": len(annotator) - len(own)})


def _pair(
    first: list[str], second: list[str], labels: Mapping[str, str], counts: Mapping[str, int]
) -> list[Row]:
    same = sum(one == other for one, other in zip(first, second, strict=True))
    labels = {**labels, "weighting": "none"}
    return [
        Row("kappa", cohens_kappa(first, second), labels, counts),
        Row("agreement", proportion(same, len(first)), labels, {**counts, "agreed": same}),
    ]


Quirk = Literal["shared-labels", "inflated-coverage"]
"""What the published agreement of pattern matching on MuCoW rests on: the last annotator's labels stand for all
(the authors' notebook shares its objects); uncovered / (1 - coverage) covered samples are added, one too many for
each uncovered."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a method said about one translation."""

    place: str
    correct: bool | None
    """None where it could not tell."""
    weight: float = 1.0
    source: str = ""
    word: str = ""
    corpus: str = ""
    row: int | None = None
    category: str = ""
    """The group within which weights were ranked."""


def parse_verdicts(rows: Iterable[tuple[str, Mapping[str, Any]]], task: Task) -> list[Verdict]:
    """Records with `correct` (or null), perhaps `weight`; MuCoW's have source and word, WinoMT's an `id`."""
    found = []
    for place, record in rows:
        if record.get("verdict") == "undecided":
            continue  # it has said nothing: counted as missing, not as the gold sense
        correct, number = record.get("correct"), record.get("id")
        if correct is not None and not isinstance(correct, bool):
            raise BabelscopeError(f"{place}: field 'correct' must be true, false or null")
        weight = weight_of(record, place)
        if task == "winomt":
            if whole_number(str(number)) is None:
                raise BabelscopeError(f"{place}: field 'id' must be the number of a row, from 1")
            # Neither gender is no decision.
            correct = None if record.get("predicted") in ("neutral", "unknown") else correct
        source, word, corpus = (str(record.get(name) or "") for name in ("source", "word", "corpus"))
        row = int(str(number)) - 1 if task == "winomt" else None
        category = str(record.get("category") or "")
        found.append(Verdict(place, correct, weight, source, word, corpus, row, category))
    return found


def weight_of(record: Mapping[str, Any], place: str) -> float:
    """What a verdict counts; 1 where it does not say."""
    stored = record.get("weight")
    weight = json_number(1.0 if stored is None else stored)
    if weight is None or not 0 <= weight < math.inf:
        raise BabelscopeError(f"{place}: field 'weight' must be a number and not negative")
    return weight


def winomt_agreement(annotators: Sequence[Annotator], verdicts: Sequence[Verdict]) -> Row:
    """Agreement of verdicts with the annotators' binary labels, weighted where the verdicts are (table 2).

    No decision counts as the gold gender, "to treat pattern matching as fairly as possible".
    """
    by_row = {verdict.row: verdict for verdict in verdicts}
    judged = reduced(annotators, "winomt")
    sums: list[tuple[float, float]] = []
    counts = {"judgments": 0, "agreed": 0, "unknown": 0, "missing": 0}
    for sample in judged[0]:
        verdict = by_row.get(judged[0][sample].row)
        if verdict is None:
            counts["missing"] += 1
            continue
        judgment = judged[0][sample]
        if verdict.source and judgment.source and verdict.source.strip() != judgment.source.strip():
            raise BabelscopeError(
                f"{verdict.place}: row {verdict.row} is about {shorten(verdict.source)}, but the annotators' is "
                f"about {shorten(judgment.source)}"
            )
        said = verdict.correct is not False
        agreed = sum((each[sample].label == each[sample].gold) == said for each in judged)
        counts["judgments"] += len(judged)
        counts["agreed"] += agreed
        counts["unknown"] += len(judged) * (verdict.correct is None)
        sums.append((verdict.weight * agreed, verdict.weight * len(judged)))
    return Row("agreement", weighted(sums), {"task": "winomt", "labels": "binary"}, counts)


def mucow_agreement(
    annotators: Sequence[Annotator],
    patterns: Sequence[Verdict],
    *,
    verdicts: Sequence[Verdict] | None = None,
    quirks: Sequence[Quirk] = (),
) -> Row:
    """Agreement with annotators who judged what pattern matching could not (table 2, appendix E).

    `patterns` are its verdicts on the samples they were drawn from. What it did decide is taken to be
    right, and added in proportion to its coverage. `verdicts` are those of the method asked about; without
    them it is pattern matching itself, which calls wrong what it does not know (recall B).
    """
    known = [verdict for verdict in patterns if verdict.correct is not None]
    unknown = {(verdict.source, verdict.word) for verdict in patterns if verdict.correct is None}
    said = {(verdict.source, verdict.word): verdict for verdict in verdicts or ()}
    judged = reduced(annotators, "mucow")
    if "shared-labels" in quirks:
        judged = [judged[-1]] * len(judged)
    sums: list[tuple[float, float]] = []
    counts = {"judgments": 0, "agreed": 0, "covered": 0, "missing": 0}
    for sample, judgment in judged[0].items():
        # The annotators' spreadsheet took an apostrophe at the beginning for a mark of text.
        keys = [(judgment.source, judgment.word), (f"'{judgment.source}", judgment.word)]
        key = next((each for each in keys if each in unknown), None)
        verdict = Verdict("", False) if verdicts is None else said.get(key or keys[0])
        if key is None or verdict is None:
            counts["missing"] += 1
            continue
        agreed = sum((each[sample].label == CORRECT) == (verdict.correct is True) for each in judged)
        counts["judgments"] += len(judged)
        counts["agreed"] += agreed
        sums.append((verdict.weight * agreed, verdict.weight * len(judged)))
    if not known or not sums:
        raise BabelscopeError("no judged sample is among those that pattern matching could not decide")
    # coverage / (1 - coverage) of the judgments, in whole numbers, which rounding cannot make one less.
    covered = len(patterns) if "inflated-coverage" in quirks else len(known)
    counts["covered"] = counts["judgments"] * covered // (len(patterns) - len(known))
    scale = counts["covered"] / len(known)
    for pattern in known:
        verdict = pattern if verdicts is None else said.get((pattern.source, pattern.word))
        if verdict is not None:
            agreed = verdict.correct is pattern.correct
            sums.append((scale * verdict.weight * agreed, scale * verdict.weight))
    return Row("agreement", weighted(sums), {"task": "mucow", "labels": "binary"}, counts)


def weighted(sums: Iterable[Sequence[float]]) -> Estimate:
    """The share of what agreed, from what agreed and what was judged in each item; weightless ones are left out."""
    weighty = [each for each in sums if each[1] > 0]
    shares = [agreed / judged for agreed, judged in weighty]
    items = [str(number) for number in range(len(weighty))]
    return clustered_proportion(shares, items, [judged for _, judged in weighty])


def rank_among_annotated(annotators: Sequence[Annotator], verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts on annotated rows, their weights ranked anew among these within each category: n, ..., 1.

    Weights of a whole test set rank an item among items that nobody annotated. Their order is that of the evaluator's
    confidence, so nothing else is needed to rank some of them; equal weights stay equal.
    """
    from scipy.stats import rankdata

    rows = {each.row for own in annotators for each in own.values()}
    kept = [verdict for verdict in verdicts if verdict.row in rows]
    for places in members_of([verdict.category for verdict in kept]).values():
        for place, rank in zip(places, rankdata([kept[each].weight for each in places]), strict=True):
            kept[place] = replace(kept[place], weight=float(rank))
    return kept
