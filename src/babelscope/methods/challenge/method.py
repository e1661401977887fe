"""Quality on challenge sets: phenomena and distances against the whole corpus (Choshen and Abend 2019)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from babelscope.core.comparison import Comparison
from babelscope.core.results import Estimate, PairedField, Record, Row
from babelscope.core.system import Translates
from babelscope.core.tokenizers import DEFAULT, find_tokenizer
from babelscope.methods.base import Items, Method
from babelscope.methods.challenge.sets import (
    ChallengeSettings,
    Instance,
    Partition,
    Subset,
    greatest_distances,
    phenomena_and_sides,
    read_instances,
)
from babelscope.methods.challenge.verdicts import judge_dependencies, verdict_rows
from babelscope.methods.measuring import (
    answer_counts,
    check_reference_words,
    check_source_words,
    scale_of,
    score_sentences,
    sources,
    translated_records,
)
from babelscope.metrics.base import find_metric, is_allowed
from babelscope.metrics.corpus import (
    FEWEST,
    bounds_of,
    grouped_difference,
    grouped_estimate,
    source_groups,
    sums_without,
    tokenizers_of,
)
from babelscope.stats.correlation import correlation
from babelscope.stats.intervals import (
    Array,
    jackknife_bounds,
    jackknife_estimate,
    kish,
    mean_and_sd,
    proportion,
)
from babelscope.stats.paired import Tested, count_wins, tested_rows
from babelscope.testsets.items import ParallelSentence
from babelscope.util.seeds import stream

# --- Rows of the challenge method: quality by phenomenon and distance ----------------------------------------------

Labels = dict[str, str | int]
Coefficient = Literal["pearson", "spearman"]
COEFFICIENTS: tuple[Coefficient, ...] = ("pearson", "spearman")


@dataclass(frozen=True)
class SystemScores:
    """One system's scores as arrays, whose statistics can be summed over any subset of sentences."""

    subsets: Sequence[Subset]
    """The first is all sentences."""
    instances: Sequence[Sequence[Instance]]
    """Of each sentence."""
    lengths: Array
    """Source tokens of each sentence."""
    statistics: Mapping[str, Array]
    """By metric, [sentences, columns]: what corpus scores are computed from."""
    sentence_scores: Mapping[str, Array]
    """By metric, [sentences]."""
    groups: Array
    """Of each sentence, the group that it is left out with: equal for equal sources."""
    sources: Sequence[str] = ()

    def corpus_score(self, metric: str, members: Array) -> float:
        """The corpus score of the sentences with these numbers."""
        return corpus_score(metric, self.statistics[metric][members].sum(axis=0))

    def left_out(self) -> list[dict[str, Array]]:
        """For each subset its score without each group of sentences, by metric, and as `length` its mean length."""
        columns = [*self.statistics.values(), self.lengths[:, None], np.ones_like(self.lengths)[:, None]]
        edges = np.cumsum([each.shape[1] for each in columns])[:-1]
        # Below the least distance that occurs, all minimum distances give the same sentences.
        once = {subset.members.tobytes(): subset.members for subset in self.subsets}
        rest = sums_without(np.hstack(columns), list(once.values()), self.groups)
        found = {}
        for (key, members), sums in zip(once.items(), rest, strict=True):
            *own, lengths, counts = np.split(sums, edges, axis=1)
            scores = {}
            for metric, some in zip(self.statistics, own, strict=True):
                # Without sentences of other subsets only, the score is the same.
                scores[str(metric)] = np.full(len(sums), self.corpus_score(metric, members))
                for group in np.unique(self.groups[members]):
                    scores[str(metric)][group] = corpus_score(metric, some[group])
            with np.errstate(invalid="ignore"):  # of one group nothing is left
                found[key] = {**scores, "length": (lengths / counts)[:, 0]}
        return [found[subset.members.tobytes()] for subset in self.subsets]

    def estimate(self, value: float, left_out: Array, members: Array, metric: str = "") -> Estimate:
        """A figure of a subset, from its values without each group; with a metric, one on its scale."""
        within = (-math.inf, math.inf)
        if metric and ":" not in metric:
            within = bounds_of(find_metric(metric).scale)
        return grouped_estimate(value, left_out, self.groups[members], within=within)


def corpus_score(metric: str, sums: Array) -> float:
    """A corpus score from summed sentence statistics; for an external metric (`:` in its name) the mean."""
    if ":" in metric:
        return float(sums[0] / sums[1]) if sums[1] else math.nan
    return find_metric(metric).corpus(sums)


def system_scores(records: Sequence[Record], partition: Partition) -> SystemScores:
    """The judged records of one system on one test set, as arrays."""
    subsets, found = partition.of_records(records)
    names = list(records[0]["scores"]) if records else []
    scores = {name: np.array([record["scores"][name] for record in records]) for name in names}
    statistics = {
        name: (
            np.array([record["statistics"][name] for record in records], dtype=float)
            if name in records[0]["statistics"]
            else np.stack([own, np.ones(len(records))], axis=1)
        )
        for name, own in scores.items()
    }
    lengths = np.array([record["lengths"]["source"] for record in records], dtype=float)
    texts = sources(records)
    return SystemScores(subsets, found, lengths, statistics, scores, source_groups(texts), texts)


def quality_rows(
    own: SystemScores, left_out: Sequence[Mapping[str, Array]], counts: Mapping[str, int]
) -> Iterator[Row]:
    """For every subset: its scores, their difference from all sentences (`minus_all`), and the mean source length."""
    for subset, rest in zip(own.subsets, left_out, strict=True):
        whole = subset is own.subsets[0]
        shown = {"instances": subset.instances, **(counts if whole else {})}
        if len(subset.members) < len(subset.having):
            shown["drawn_from"] = len(subset.having)
        for metric in own.statistics:
            value = own.corpus_score(metric, subset.members)
            estimate = own.estimate(value, rest[metric], subset.members, metric)
            yield Row(metric, estimate, subset.labels, shown)
            if not whole:
                apart = value - own.corpus_score(metric, own.subsets[0].members)
                difference = own.estimate(apart, rest[metric] - left_out[0][metric], subset.members)
                yield Row("minus_all", difference, {**subset.labels, "metric": metric})
        mean = float(own.lengths[subset.members].mean())
        yield Row("length", own.estimate(mean, rest["length"], subset.members), subset.labels)


def distance_rows(own: SystemScores, left_out: Sequence[Mapping[str, Array]]) -> Iterator[Row]:
    """How quality goes with distance, over minimum distances (table 5's last column) and over sentences.

    Over sets: the score of each subset of a phenomenon against its minimum distance. The subsets are nested, so
    the interval is over sentences, not over independent points. Minimum distances that leave
    all of the phenomenon's sentences in are one subset, and only the greatest of them counts. Over sentences:
    the sentence's score against the greatest distance in it.
    """
    for phenomenon, side in phenomena_and_sides(own.instances):
        numbers, greatest = greatest_distances(own.instances, phenomenon, side)
        first: dict[str, str] = {}  # source -> place of its first sentence, which names its cluster
        clusters = [first.setdefault(own.sources[n], str(place)) for place, n in enumerate(numbers)]
        chosen = [
            number
            for number, subset in enumerate(own.subsets)
            if (subset.phenomenon, subset.side) == (phenomenon, side) and subset.min_distance is not None
        ]
        sizes = [len(own.subsets[number].members) for number in chosen]
        chosen = chosen[max(0, sizes.count(max(sizes, default=0)) - 1) :]
        labels: Labels = {"phenomenon": phenomenon, "side": side}
        points = np.array([own.subsets[number].min_distance for number in chosen], dtype=float)
        distances = ",".join(f"{point:g}" for point in points)
        for metric, coefficient in itertools.product(own.statistics, COEFFICIENTS):
            estimate = Estimate.of_nothing()
            if len(chosen) > 2:  # two points always lie on a line
                values = np.array(
                    [own.corpus_score(metric, own.subsets[number].members) for number in chosen]
                )
                rest = np.array([left_out[number][metric] for number in chosen])
                value = float(_coefficients(points, values[:, None], coefficient)[0])
                fewest = min((own.groups[own.subsets[number].members] for number in chosen), key=len)
                estimate = _over_sets(value, _coefficients(points, rest, coefficient), len(chosen), fewest)
            here: Labels = {**labels, "metric": metric}
            name = f"distance_{coefficient}"
            yield Row(name, estimate, {**here, "over": "sets", "distances": distances})
            scores = own.sentence_scores[metric][numbers].tolist()
            over = correlation(greatest.tolist(), scores, coefficient, clusters, independent=True)
            yield Row(name, over, {**here, "over": "sentences"})


def _over_sets(value: float, left_out: Array, sets: int, fewest: Array) -> Estimate:
    """A correlation over sets of sentences, from those without each group; Fisher's z, which has no ends.

    `fewest` are the groups of the sentences of the smallest set.
    """
    if math.isnan(value):
        return Estimate.of_nothing()
    clusters = len(np.unique(fewest))
    if clusters < FEWEST:
        return Estimate.without_interval(value, sets, f"a set of {len(fewest)}")
    if abs(value) >= 1 - 1e-12 or not (np.abs(left_out) < 1 - 1e-12).all() or not np.ptp(left_out):
        return Estimate.without_interval(value, sets, f"{sets} sets")
    z, rest = math.atanh(value), np.arctanh(left_out)
    low, high = (math.tanh(end) for end in jackknife_bounds(z, rest, clusters))
    return Estimate(value, min(value, low), max(value, high), sets)


def _coefficients(points: Array, values: Array, coefficient: Coefficient) -> Array:
    """Correlation of points [k] with each column of values [k, columns]; NaN where all of a column are equal."""
    unknown = np.isnan(values).any(axis=0)
    if coefficient == "spearman":
        from scipy.stats import rankdata

        points, values = rankdata(points), rankdata(values, axis=0)
    x, y = points - points.mean(), values - values.mean(axis=0)
    scale = np.sqrt((x**2).sum() * (y**2).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(scale > 0, np.clip(x @ y / scale, -1.0, 1.0), math.nan)
    return np.where(unknown, math.nan, found)


def length_rows(own: SystemScores, *, seed: int, corpora: int, sizes: Sequence[int]) -> Iterator[Row]:
    """Correlation of mean length with score over random corpora (section 4.3); sizes too large are left out."""
    sentences = len(own.lengths)
    for size in (size for size in sizes if size < sentences):
        rng = stream(seed, f"challenge/lengths/{size}")
        drawn = [rng.choice(sentences, size, replace=False) for _ in range(corpora)]
        lengths = np.array([own.lengths[corpus].mean() for corpus in drawn])
        for metric, statistics in own.statistics.items():
            scores = np.array([corpus_score(metric, statistics[corpus].sum(axis=0)) for corpus in drawn])
            for coefficient in COEFFICIENTS:
                labels: Labels = {"phenomenon": "all", "metric": metric, "sentences": size}
                estimate = correlation(lengths.tolist(), scores.tolist(), coefficient)
                yield Row(f"length_{coefficient}", estimate, labels)


def difference_rows(
    systems: Mapping[str, tuple[SystemScores, Sequence[Mapping[str, Array]]]],
) -> list[Row]:
    """score(system) - score(against) of every two systems on every subset, paired by sentence.

    Holm's correction is over the tests on the whole test set, and over those on its parts by themselves.
    """
    found: dict[bool, list[Tested]] = {True: [], False: []}
    for (first, (own, rest)), (second, (other, others)) in itertools.combinations(systems.items(), 2):
        for number, subset in enumerate(own.subsets):
            for metric in own.statistics:
                value = own.corpus_score(metric, subset.members) - other.corpus_score(metric, subset.members)
                apart = rest[number][metric] - others[number][metric]
                tested = grouped_difference(value, apart, own.groups[subset.members])
                lower: Labels = {"better": "lower"} if scale_of(metric).better == "lower" else {}
                named = dict.fromkeys(("metric", "measure", "of"), metric)
                labels: Labels = {"system": first, "against": second, **subset.labels, **named, **lower}
                scores = (each.sentence_scores[metric][subset.members] for each in (own, other))
                better = np.subtract(*scores) * (-1 if lower else 1)
                found[number == 0].append((labels, *tested, count_wins(better.tolist())))
    return [*tested_rows("difference", found[True]), *tested_rows("difference", found[False])]


_MOST_UNMATCHED = 0.05
"""Of a set's sentences; with more of them unmatched, its controls would have other lengths than it has."""


@dataclass(frozen=True, slots=True)
class Controls:
    """How length-matched corpora are drawn."""

    draws: int
    apart: int
    """Tokens by which a sentence may be longer or shorter than the one it stands for."""
    pool: Literal["others", "all"]
    """Sentences that do not belong to the set, or all."""

    def candidates(self, sentences: int, subset: Subset) -> Array:
        """Numbers of the sentences that may be drawn."""
        pool = np.arange(sentences)
        return np.setdiff1d(pool, subset.having) if self.pool == "others" else pool

    def corpora(self, lengths: Array, subset: Subset, rng: np.random.Generator) -> tuple[Array, int]:
        """Sentence numbers [draws, matched members], and the number of members that have no match."""
        pool = self.candidates(len(lengths), subset)
        order = pool[np.argsort(lengths[pool], kind="stable")]
        ordered, wanted = lengths[order], lengths[subset.members]
        first = np.searchsorted(ordered, wanted - self.apart, side="left")
        last = np.searchsorted(ordered, wanted + self.apart, side="right")
        matched = first < last
        drawn = rng.integers(first[matched], last[matched], size=(self.draws, int(matched.sum())))
        return order[drawn], int((~matched).sum())

    def expected(
        self, columns: Array, lengths: Array, subset: Subset, groups: Array
    ) -> tuple[Array, Array, float]:
        """The sums [k] of a corpus on average, and without each group of sentences in turn [groups, k].

        A sentence of the set is represented by the mean of its candidates, so leaving out a group changes both whom
        controls stand for and what they are drawn from. The last value is how many equally weighted groups the
        candidates are worth (Kish).
        """
        pool, width = self.candidates(len(lengths), subset), columns.shape[1]
        wanted, own = np.unique(lengths[subset.members], return_inverse=True)
        first = np.searchsorted(wanted, lengths[pool] - self.apart, side="left")
        times = np.searchsorted(wanted, lengths[pool] + self.apart, side="right") - first
        # Each candidate once for each length that it may stand for.
        drawn = np.repeat(pool, times)
        length = np.repeat(first - np.cumsum(times) + times, times) + np.arange(len(drawn))
        members, candidates = (np.bincount(each, minlength=len(wanted)) for each in (own, length))
        sums = _sums_by(length, columns[drawn], len(wanted))
        whole = _represented(members, candidates, sums)
        # The same of each group and length, for the pairs that occur.
        keys = np.concatenate([groups[subset.members], groups[drawn]]) * len(wanted)
        pairs, place = np.unique(keys + np.concatenate([own, length]), return_inverse=True)
        group, at = np.divmod(pairs, len(wanted))
        mine, theirs = place[: len(own)], place[len(own) :]
        rest = _represented(
            members[at] - np.bincount(mine, minlength=len(pairs)),
            candidates[at] - np.bincount(theirs, minlength=len(pairs)),
            sums[at] - _sums_by(theirs, columns[drawn], len(pairs)),
        )
        total = whole.sum(axis=0)
        without = total + _sums_by(group, rest - whole[at], int(groups.max()) + 1)
        weights = np.bincount(groups[drawn], weights=(members / np.maximum(candidates, 1))[length])
        return total, without.reshape(-1, width), float(kish(weights))


def _sums_by(places: Array, rows: Array, count: int) -> Array:
    """Sums of rows [n, k] by place [count, k]."""
    found = np.zeros((count, rows.shape[1]))
    np.add.at(found, places, rows)
    return found


def _represented(members: Array, candidates: Array, sums: Array) -> Array:
    """For each length: the mean of candidates, as often as there are members; 0 without candidates."""
    found: Array = (members * (candidates > 0) / np.maximum(candidates, 1))[:, None] * sums
    return found


@dataclass(frozen=True, slots=True)
class _Compared:
    """A set and its controls by one metric."""

    value: float
    scores: Sequence[float]
    """Of the random corpora."""
    left_out: Array
    """The score minus that expected of controls, without each group of sentences."""
    clusters: float
    """How many groups they are worth."""
    n: int

    def figures(self, sets: int) -> dict[str, Estimate]:
        """Its figures by name; the interval of the difference holds for so many sets at once (Bonferroni)."""
        mean, sd = mean_and_sd(self.scores, "corpora")
        away = jackknife_estimate(
            self.value - mean.value,
            self.left_out,
            self.n,
            fewest=FEWEST,
            clusters=self.clusters,
            outside=0.05 / max(sets, 1),
            noise=sd.value**2 / len(self.scores),
        )
        found = {"control_mean": mean, "control_sd": sd, "minus_control": away}
        if sd.value > 0:
            found["control_z"] = away.converted(lambda each: each / sd.value)
        below = sum(each <= self.value for each in self.scores)
        return {**found, "control_rank": proportion(below, len(self.scores))}


def control_rows(
    own: SystemScores, left_out: Sequence[Mapping[str, Array]], controls: Controls, *, seed: int
) -> Iterator[Row]:
    """Each subset against random corpora of the same size, matched to its source lengths sentence by sentence.

    `control_mean` and `control_sd` are over the corpora. `minus_control` is score - mean, with an interval over the
    sentences of the set and over those that controls are drawn from, which has 95 % for all sets of the metric
    together (count `sets`). `control_z` is the same in units of sd, `control_rank` the share of corpora at or below
    the score. `unmatched` counts the sentences of the set for which no other is of that length; with too many, there
    is no figure.
    """
    compared: dict[tuple[bytes, bytes], tuple[int, dict[str, _Compared]]] = {}
    for subset, rest in zip(own.subsets[1:], left_out[1:], strict=True):
        if _key(subset) not in compared:
            # The same corpora for every metric, and for every system on this test set.
            corpora, unmatched = controls.corpora(own.lengths, subset, stream(seed, "challenge/controls"))
            matched = unmatched <= _MOST_UNMATCHED * len(subset.members)
            found = _compare(own, rest, subset, controls, corpora) if matched else {}
            compared[_key(subset)] = unmatched, found
    sets = sum(any(len(each.left_out) >= FEWEST for each in found.values()) for _, found in compared.values())
    for subset in own.subsets[1:]:
        unmatched, found = compared[_key(subset)]
        counts = {"unmatched": unmatched} if unmatched else {}
        for metric in own.statistics:
            labels: Labels = {**subset.labels, "metric": metric}
            figures = (
                found[metric].figures(sets) if metric in found else {"control_mean": Estimate.of_nothing()}
            )
            for name, estimate in figures.items():
                more = {"sets": sets} if name in ("minus_control", "control_z") else {}
                if name == "control_rank":
                    more = {"at_or_below": round(estimate.value * estimate.n)}
                yield Row(name, estimate, labels, {**more, **counts})


def _key(subset: Subset) -> tuple[bytes, bytes]:
    """Equal for sets of the same sentences, as several minimum distances may give."""
    return subset.members.tobytes(), subset.having.tobytes()


def _compare(
    own: SystemScores, rest: Mapping[str, Array], subset: Subset, controls: Controls, corpora: Array
) -> dict[str, _Compared]:
    """A set and its controls by each metric; `rest` has its scores without each group of sentences."""
    columns = np.hstack(list(own.statistics.values()))
    edges = np.cumsum([each.shape[1] for each in own.statistics.values()])[:-1]
    total, without, worth = controls.expected(columns, own.lengths, subset, own.groups)
    changed = (without != total).any(axis=1)
    mine, sizes = np.unique(own.groups[subset.members], return_counts=True)
    found = {}
    for metric, whole, some in zip(
        own.statistics, np.split(total, edges), np.split(without, edges, axis=1), strict=True
    ):
        expected = np.full(len(some), corpus_score(metric, whole))
        expected[changed] = [corpus_score(metric, sums) for sums in some[changed]]
        apart = rest[metric] - expected
        found[str(metric)] = _Compared(
            own.corpus_score(metric, subset.members),
            [corpus_score(metric, own.statistics[metric][corpus].sum(axis=0)) for corpus in corpora],
            # Of too few sentences, others cannot make an interval.
            apart if len(mine) >= FEWEST else apart[mine],
            min(float(kish(sizes.astype(float))), worth),
            len(subset.members),
        )
    return found


# --- Quality on challenge sets: phenomena and distances against the whole corpus (Choshen and Abend 2019) ----------

DEPENDENCIES = "dependencies"
_SENTENCES_AT_ONCE = 100  # sentences scored between two steps of the progress bar


def ask(
    systems: Mapping[str, Translates],
    items: Sequence[ParallelSentence],
    settings: ChallengeSettings,
    _seed: int,
) -> list[Record]:
    """A record a sentence with its translation; the dependencies stay in the field `extra`.

    That is filled in after `judge`, so `judge` finds them in a field of their own, if it needs them.
    """
    records = translated_records(systems["system"], items, settings.beam)
    if settings.target_parser is None:
        return records
    return [
        {**record, DEPENDENCIES: item.extra["dependencies"]}
        for record, item in zip(records, items, strict=True)
    ]


def judge(records: Sequence[Record], settings: ChallengeSettings) -> list[Record]:
    """The records with lengths in tokens, sentence scores, and the statistics for corpus scores.

    And with a verdict on each dependency, if a parser of the targets is given.
    """
    judged: list[Record] = []
    for start in range(0, len(records), _SENTENCES_AT_ONCE):
        some = records[start : start + _SENTENCES_AT_ONCE]
        measured = {name: score_sentences(name, some, settings.tokenize) for name in settings.metrics}
        lengths = _lengths(some, settings)
        for number, record in enumerate(some):
            judged.append(
                {
                    **record,
                    "lengths": lengths[number],
                    "scores": {name: scores[number] for name, (scores, _) in measured.items()},
                    # A metric whose corpus score is the mean of sentence scores stores no statistics.
                    "statistics": {name: rows[number] for name, (_, rows) in measured.items() if rows},
                }
            )
    gone = {DEPENDENCIES} if settings.target_parser else {DEPENDENCIES, "verdicts"}
    bare = [{name: value for name, value in each.items() if name not in gone} for each in judged]
    if settings.target_parser is None:
        return bare
    # A stored run may be a stranger's: the model that it names is not opened, the stored verdicts are kept.
    if not is_allowed(settings.target_parser) and all("verdicts" in each for each in judged):
        return bare
    found = judge_dependencies(judged, settings.target_parser, settings.target_language)
    return [{**record, "verdicts": own} for record, own in zip(bare, found, strict=True)]


def _lengths(records: Sequence[Record], settings: ChallengeSettings) -> list[dict[str, int]]:
    """Words of each source, first reference and translation."""
    sources = tokenizers_of(records, settings.source_tokenize, "source")
    targets = tokenizers_of(records, settings.tokenize)
    usual = find_tokenizer(DEFAULT)
    return [
        {
            "source": len((own or usual).split(record["source"])),
            "reference": len((other or usual).split(record["references"][0])),
            "translation": len((other or usual).split(record["translation"])),
        }
        for record, own, other in zip(records, sources, targets, strict=True)
    ]


def summarize(records: Sequence[Record], settings: ChallengeSettings, seed: int) -> list[Row]:
    """Rows for all sentences and every phenomenon and distance: quality, controls, correlations."""
    own = system_scores(records, settings.partition(seed))
    counts = answer_counts(records)
    left_out = own.left_out()
    controls = Controls(settings.matched_corpora, settings.length_tolerance, settings.controls)
    return [
        *quality_rows(own, left_out, counts),
        *control_rows(own, left_out, controls, seed=seed),
        *distance_rows(own, left_out),
        *length_rows(own, seed=seed, corpora=settings.length_corpora, sizes=settings.length_sizes),
        *verdict_rows(records, settings.distances),
    ]


def comparable(settings: ChallengeSettings) -> list[PairedField]:
    """The sentence score by each metric."""
    scales = {name: scale_of(name) for name in settings.metrics}
    return [
        PairedField(
            ("scores", name),
            "points" if scale.unit == "percent" else name,
            name,
            higher_is_better=scale.better == "higher",
        )
        for name, scale in scales.items()
    ]


def system_differences(group: Comparison, settings: ChallengeSettings, seed: int) -> list[Row]:
    """Differences of corpus scores between every two systems, over the sentences that all systems answered."""
    by_system = {column.name: column.records for column in group.results}
    if len(by_system) < 2:
        return []
    common = set.intersection(*({record["item"] for record in own} for own in by_system.values()))
    found: dict[str, tuple[SystemScores, Any]] = {}
    for system, records in by_system.items():
        both = [record for record in records if record["item"] in common]
        own = system_scores(both, settings.partition(seed))
        found[system] = own, own.left_out()
    return difference_rows(found)


def check_items(items: Sequence[ParallelSentence], settings: ChallengeSettings) -> None:
    """Refuse items without dependencies, those of a plain parallel test set, and texts that cannot be split."""
    for item in items:
        read_instances(item.extra, f"item {item.id}")
    # Lengths are in words of the same tokenizer, whatever the metric.
    check_reference_words(items, dict.fromkeys(("bleu", *settings.metrics)), settings.tokenize)
    check_source_words(items, settings.source_tokenize)


class Challenge(Method):
    """BLEU, chrF and RIBES by phenomenon and distance, against the whole and length-matched corpora"""

    name = "challenge"
    items = (ParallelSentence,)
    Settings = ChallengeSettings
    part_labels = frozenset({"phenomenon"})

    def check(self, items: Sequence[Any], systems: Mapping[str, Any] | None = None) -> None:
        super().check(items, systems)
        if systems is None:
            check_items(items, self.settings)

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:
        return ask(systems, items, self.settings, seed)

    def judge(self, records: Sequence[Record]) -> list[Record]:
        return judge(records, self.settings)

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:
        return summarize(records, self.settings, seed)

    def paired(self) -> list[PairedField]:
        return comparable(self.settings)

    def compare(self, comparison: Comparison, seed: int) -> list[Row]:
        return system_differences(comparison, self.settings, seed)
