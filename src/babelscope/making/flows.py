"""How senses or genders shift from data to distilled data to student (conditioning paper, figure 4)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from babelscope.core.registry import Registry
from babelscope.core.results import Estimate, Row, grouped
from babelscope.core.tokenizers import require_spaces
from babelscope.making.counts import FIGURE_4, Flow, Forms, Occurrence, flows_of, occurrences
from babelscope.stats.intervals import clustered_proportion, mean_and_sd, odds, proportion
from babelscope.stats.paired import paired_difference
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import (
    json_number,
    parse_json,
    read_bytes,
    read_lines,
    require_equal_counts,
    shorten,
)

STAGES = ("data", "distilled", "student")
QUERIES: Registry[Callable[[str], dict[str, Forms]]] = Registry(
    "set of queries", "collections.abc:Callable", "babelscope.queries", {}
)
MOST_FLOWS = 100_000
WORD_NODE = "word:"
"""Prefix of the nodes of words: an occupation may have the name of a stage, student or teacher."""
_WORD = re.compile(r"\w+")
_Key = TypeVar("_Key")


def read_queries(spec: str) -> dict[str, Forms]:
    """Words to look for: a file of queries (`{word: {src_forms, tgt_forms_CLASS...}}`), or those of a plug-in.

    A plug-in's are `NAME:REST`; its entry point NAME in `babelscope.queries` is a function that is given REST.
    """
    name, colon, rest = spec.partition(":")
    if colon and name in QUERIES.names():
        return QUERIES.find(name)(rest)
    found = parse_json(read_bytes(spec), spec)
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise BabelscopeError(f"{spec} must be an object of queries, one per word")
    queries = {}
    for word, record in found.items():
        try:
            queries[word] = Forms.from_json(record)
        except BabelscopeError as error:
            raise BabelscopeError(f"{spec}: {word}: {error}") from None
    return queries


def find_occurrences(
    source: str | Path, stages: Mapping[str, str | Path], queries: Mapping[str, Forms]
) -> list[Occurrence]:
    """Every occurrence of the queried words in line-parallel files: a source, and a translation at each stage."""
    paths = [source, *stages.values()]
    lines = [read_lines(path, keep_separators=True) for path in paths]
    require_equal_counts({str(path): len(own) for path, own in zip(paths, lines, strict=True)})
    for path, own in zip(paths, lines, strict=True):
        require_spaces(own, what=f"the lines of {path}")
    split = ([_WORD.findall(text) for text in texts] for texts in zip(*lines, strict=True))
    found = list(occurrences(((first, rest) for first, *rest in split), queries))
    if not found:
        raise BabelscopeError(
            f"{source} has none of the words looked for ({', '.join(list(queries)[:5])}, ...)"
        )
    return found


def shift_rows(models: Sequence[Sequence[Occurrence]], stages: Sequence[str] = STAGES) -> list[Row]:
    """The share of each class at every stage, and by how much it changes from one stage to the next.

    Over several models (each with its own stages) shares and changes are means. Their intervals are always over
    sentences: what other sentences would show of these models. What other models would show is in separate rows:
    `change over models` (Student's t), and the standard deviations that the paper reports.
    """
    clusters = [
        str(each.line) if each.line else f"occurrence {place}" for place, each in enumerate(models[0])
    ]
    found = np.array([[each.classes for each in own] for own in models])
    classes = [str(name) for name in np.unique(found)]
    is_in = {name: (found == name).astype(float) for name in classes}  # [models, occurrences, stages]
    several = len(models) > 1
    rows = []
    for place, stage in enumerate(stages):
        shares = {name: own[:, :, place].mean(axis=0) for name, own in is_in.items()}
        for name, own in shares.items():
            labels = {"stage": stage, "class": name}
            share = clustered_proportion(own.tolist(), clusters)
            rows.append(Row("share", share, labels, {"count": round(own.sum())}))
            if several and place:  # the data are the same for all models
                rows.append(Row("share sd", _over_models(is_in[name][:, :, place])[1], labels))
        if {"male", "female"} <= shares.keys():
            # How many male forms there are for a female one (M:F, Saunders and Byrne 2020).
            gendered = shares["male"] + shares["female"]
            male = np.divide(shares["male"], gendered, out=np.zeros_like(gendered), where=gendered > 0)
            ratio = odds(clustered_proportion(male.tolist(), clusters, gendered.tolist()))
            counts = {name: round(shares[name].sum()) for name in ("male", "female")}
            rows.append(Row("male_to_female", ratio, {"stage": stage}, counts))
    for (place, before), after in zip(enumerate(stages), stages[1:], strict=False):
        for name, own in is_in.items():
            moved = own[:, :, place + 1] - own[:, :, place]
            labels = {"from": before, "to": after, "class": name}
            change, *_ = paired_difference(moved.mean(axis=0).tolist(), clusters, verdicts=True)
            rows.append(Row("change", change, labels))
            if several:
                mean, sd = _over_models(moved)
                rows += [Row("change over models", mean, labels), Row("change sd", sd, labels)]
    return rows


def _over_models(values: np.ndarray) -> tuple[Estimate, Estimate]:
    """Mean and standard deviation of the models' own means [models, occurrences]."""
    return mean_and_sd(values.mean(axis=1).tolist(), "models")


# --- Flows: nodes are <word>, then <word>_<stage>_<class> for each stage (conditioning paper, figures 1 and 4) ------


def _parts(node: str) -> tuple[str, str, str]:
    """Word, stage and class of a node; the bare word has no stage."""
    word, stage, name = node.rsplit("_", 2) if node.count("_") > 1 else (node, "", "")
    return word, stage, name


def _totals(pairs: Iterable[tuple[_Key, float]]) -> dict[_Key, float]:
    return {key: sum(counts) for key, counts in grouped(pairs).items()}


def mean_flows(models: Sequence[Sequence[Occurrence]], stages: Sequence[str] = STAGES) -> list[Flow]:
    """Flows averaged over models, as in the released counts."""
    total = _totals(
        ((start, end), count) for found in models for start, end, count in flows_of(found, stages)
    )
    return [(start, end, count / len(models)) for (start, end), count in total.items()]


def with_other(flows: Iterable[Flow]) -> list[Flow]:
    """Flows in which forms that are not identified are `other`; the released counts call them neutral."""
    flows = list(flows)
    if any(end.endswith("_other") for _, end, _ in flows):  # neutral is then a class of its own
        return flows
    return [
        (re.sub("_neutral$", "_other", start), re.sub("_neutral$", "_other", end), count)
        for start, end, count in flows
    ]


def merge_words(flows: Iterable[Flow], stages: Sequence[str] = STAGES) -> list[Flow]:
    """Flows summed over words: `data_male` for `doctor_data_male`; flows from the bare word are left out."""
    moved = []
    for start, end, count in flows:
        (_, before, old), (_, after, new) = _parts(start), _parts(end)
        if before in stages and after in stages:
            moved.append(((f"{before}_{old}", f"{after}_{new}"), count))
    return [(start, end, count) for (start, end), count in sorted(_totals(moved).items())]


def flows_by_word(flows: Sequence[Flow], stages: Sequence[str]) -> list[Flow]:
    """From every word, the most frequent first, to classes at the first stage; then from stage to stage, merged."""
    first = [(_parts(end), count) for _, end, count in flows if _parts(end)[1] == stages[0]]
    sizes = _totals((word, count) for (word, *_), count in first)
    ordered = sorted(_totals(first).items(), key=lambda each: (-sizes[each[0][0]], each[0]))
    return [
        *((f"{WORD_NODE}{word}", f"{stage}_{name}", count) for (word, stage, name), count in ordered),
        *merge_words(flows, stages),
    ]


def choose_words(flows: Sequence[Flow], words: Sequence[str]) -> list[Flow]:
    """The flows of some words, all if none is named; `figure-4` stands for the words of the paper's figure."""
    if not words:
        return list(flows)
    wanted = [each for word in words for each in (FIGURE_4 if word == "figure-4" else [word])]
    known = {_parts(end)[0] for _, end, _ in flows}
    if missing := [word for word in wanted if word not in known]:
        raise BabelscopeError(
            f"no flow is about {shorten(missing[0])}; known: {', '.join(sorted(known)[:10])}, ..."
        )
    return [flow for flow in flows if _parts(flow[1])[0] in wanted]


def read_counts(path: str | Path) -> tuple[list[Flow], list[str]]:
    """Rows [from, to, count] and their stages in order: as released, or as `flow --flows` writes them."""
    found = parse_json(read_bytes(path), path)
    if not isinstance(found, list) or not found or len(found) > MOST_FLOWS:
        raise BabelscopeError(f"{path} must be a list of 1 to {MOST_FLOWS:,} rows [from, to, count]")
    flows: list[Flow] = []
    for number, row in enumerate(found, 1):
        count = json_number(row[2]) if isinstance(row, list) and len(row) == 3 else None
        if count is None or not count >= 0 or not all(isinstance(node, str) for node in row[:2]):
            raise BabelscopeError(f"{path}, row {number}: {shorten(str(row))} is no [from, to, count]")
        if not _parts(row[1])[1]:
            raise BabelscopeError(f"{path}, row {number}: {shorten(row[1])} is no <word>_<stage>_<class>")
        flows.append((row[0], row[1], count))
    return with_other(flows), _stages_in_order(flows, path)


def _stages_in_order(flows: Sequence[Flow], path: str | Path) -> list[str]:
    """The stages, each after the one that flows into it."""
    stages = {_parts(end)[1] for _, end, _ in flows}
    # A bare word may look like a node of no stage.
    before = {_parts(end)[1]: _parts(start)[1] for start, end, _ in flows}
    after = {old if old in stages else "": new for new, old in before.items()}
    ordered: list[str] = []
    while (following := after.get(ordered[-1] if ordered else "")) and following not in ordered:
        ordered.append(following)
    if len(ordered) < len(stages):
        raise BabelscopeError(f"{path}: the stages {', '.join(before)} do not follow one another")
    return ordered


def share_rows(flows: Sequence[Flow], stages: Sequence[str]) -> list[Row]:
    """The share of each class at every stage, and its changes.

    Counts that were made elsewhere may be means over models, of which neither the number nor the spread is known, so
    that changes have no interval.
    """
    totals = _totals((_parts(end)[1:], count) for _, end, count in flows)
    classes = sorted({name for _, name in totals})
    counts = {stage: [totals.get((stage, name), 0.0) for name in classes] for stage in stages}
    rows = []
    for stage, own in counts.items():
        for name, count in zip(classes, own, strict=True):
            share = proportion(round(count), round(sum(own)))
            rows.append(Row("share", share, {"stage": stage, "class": name}, {"count": round(count)}))
    for before, after in itertools.pairwise(stages):
        for name, old, new in zip(classes, counts[before], counts[after], strict=True):
            whole = sum(counts[after])
            change = Estimate.without_interval(
                new / whole - old / sum(counts[before]), round(whole), "counts without their spread"
            )
            rows.append(Row("change", change, {"from": before, "to": after, "class": name}))
    return rows
