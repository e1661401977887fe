"""Agreement of annotators with each other and of methods with annotators (conditioning paper, appendix E)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from babelscope.core.results import Estimate, Row
from babelscope.stats.intervals import clustered_proportion, proportion
from babelscope.stats.labels import (
    BOTH,
    CORRECT,
    FEMALE,
    LABELS,
    MALE,
    REDUCTIONS,
    TOO_BAD,
    Annotator,
    Judgement,
    Task,
    common_samples,
    reduced,
)
from babelscope.stats.reliability import cohens_kappa
from babelscope.util.errors import BabelscopeError
from babelscope.util.json_lines import json_number
from babelscope.util.text import shorten, whole_number


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


def parse_judgements(rows: Iterable[tuple[str, Mapping[str, Any]]], task: Task) -> dict[str, Judgement]:
    """An annotator's file, a JSON object a line with `label` (a list of one) and `Sample ID`."""
    found: dict[str, Judgement] = {}
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
            raise BabelscopeError(f"{place}: the sample {shorten(sample)} is labelled twice")
        gold = str(record.get("Gold Gender", "")).title()
        if task == "winomt" and (gold not in (MALE, FEMALE) or whole_number(row) is None):
            raise BabelscopeError(f"{place} needs 'Gold Gender', male or female, and 'Index', a row from 0")
        found[sample] = Judgement(
            sample,
            str(label),
            str(record.get("Source Sentence", "")),
            str(record.get("Word", "")),
            gold,
            whole_number(row),
        )
    return found


def parse_earlier(rows: Iterable[Mapping[str, str]], where: str) -> dict[str, Judgement]:
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
            found[index] = Judgement(index, names[gender], row=int(index))
    return found


def compare(annotators: Mapping[str, Annotator], task: Task) -> list[Row]:
    """Kappa and proportion of agreement of every two annotators, with raw and with two labels (table A3)."""
    rows = []
    for (one, first), (other, second) in itertools.combinations(annotators.items(), 2):
        names: dict[str, str | int] = {"task": task, "annotators": f"{one}, {other}"}
        common = common_samples([first, second])
        alone = {"only_first": len(first) - len(common), "only_second": len(second) - len(common)}
        versions: dict[str, Sequence[Annotator]] = {
            "raw": [first, second],
            **{how: reduced([first, second], task, how) for how in REDUCTIONS[task]},
        }
        for labels, (a, b) in versions.items():
            kept = common_samples([a, b])
            counts = {**alone, "skipped": len(common) - len(kept)}
            rows += _pair(
                [a[sample].label for sample in kept],
                [b[sample].label for sample in kept],
                {**names, "labels": labels},
                counts,
            )
    return rows


def compare_with_earlier(name: str, annotator: Annotator, earlier_name: str, earlier: Annotator) -> list[Row]:
    """An annotator against WinoMT's own annotations, by row; too bad to tell is left out (table A4)."""
    own = {str(each.row): each for each in annotator.values() if each.label != TOO_BAD}
    kept = common_samples([own, earlier])
    labels: dict[str, str | int] = {
        "task": "winomt",
        "annotators": f"{name}, {earlier_name}",
        "labels": "raw",
    }
    pair = [[each[row].label for row in kept] for each in (own, earlier)]
    return _pair(pair[0], pair[1], labels, {"skipped": len(annotator) - len(own)})


def _pair(
    first: list[str], second: list[str], labels: dict[str, str | int], counts: dict[str, int]
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
    counts = {"judgements": 0, "agreed": 0, "unknown": 0, "missing": 0}
    for sample in judged[0]:
        verdict = by_row.get(judged[0][sample].row)
        if verdict is None:
            counts["missing"] += 1
            continue
        _check_source(verdict, judged[0][sample])
        said = verdict.correct is not False
        agreed = sum((each[sample].label == each[sample].gold) == said for each in judged)
        counts["judgements"] += len(judged)
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
    counts = {"judgements": 0, "agreed": 0, "covered": 0, "missing": 0}
    for sample, judgement in judged[0].items():
        # The annotators' spreadsheet took an apostrophe at the beginning for a mark of text.
        keys = [(judgement.source, judgement.word), (f"'{judgement.source}", judgement.word)]
        key = next((each for each in keys if each in unknown), None)
        verdict = Verdict("", False) if verdicts is None else said.get(key or keys[0])
        if key is None or verdict is None:
            counts["missing"] += 1
            continue
        agreed = sum((each[sample].label == CORRECT) == (verdict.correct is True) for each in judged)
        counts["judgements"] += len(judged)
        counts["agreed"] += agreed
        sums.append((verdict.weight * agreed, verdict.weight * len(judged)))
    if not known or not sums:
        raise BabelscopeError("no judged sample is among those that pattern matching could not decide")
    # coverage / (1 - coverage) of the judgements, in whole numbers, which rounding cannot make one less.
    covered = len(patterns) if "inflated-coverage" in quirks else len(known)
    counts["covered"] = counts["judgements"] * covered // (len(patterns) - len(known))
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


def _check_source(verdict: Verdict, judgement: Judgement) -> None:
    if verdict.source and judgement.source and verdict.source.strip() != judgement.source.strip():
        raise BabelscopeError(
            f"{verdict.place}: row {verdict.row} is about {shorten(verdict.source)}, but the annotators' is "
            f"about {shorten(judgement.source)}"
        )


def rank_among_annotated(annotators: Sequence[Annotator], verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts on annotated rows, their weights ranked anew among these within each category: n, ..., 1.

    Weights of a whole test set rank an item among items that nobody annotated. Their order is that of the evaluator's
    confidence, so nothing else is needed to rank some of them; equal weights stay equal.
    """
    from scipy.stats import rankdata

    rows = {each.row for own in annotators for each in own.values()}
    kept = [verdict for verdict in verdicts if verdict.row in rows]
    by_category: dict[str, list[int]] = {}
    for place, verdict in enumerate(kept):
        by_category.setdefault(verdict.category, []).append(place)
    for places in by_category.values():
        for place, rank in zip(places, rankdata([kept[each].weight for each in places]), strict=True):
            kept[place] = replace(kept[place], weight=float(rank))
    return kept
