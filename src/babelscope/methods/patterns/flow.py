"""How senses or genders shift from data to distilled data to student (conditioning paper, figure 4)."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from babelscope.core.registry import Registry
from babelscope.core.results import Estimate, Row
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
_WORD = re.compile(r"\w+")


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
    files = {"source": source, **stages}
    lines = {name: read_lines(path, keep_separators=True) for name, path in files.items()}
    require_equal_counts({str(files[name]): len(own) for name, own in lines.items()})
    for name, own in lines.items():
        require_spaces(own, what=f"the lines of {files[name]}")
    split = ([_WORD.findall(text) for text in texts] for texts in zip(*lines.values(), strict=True))
    found = list(occurrences(((first, rest) for first, *rest in split), queries))
    if not found:
        raise BabelscopeError(
            f"{source} has none of the words looked for ({', '.join(list(queries)[:5])}, ...)"
        )
    return found


def mean_flows(models: Sequence[Sequence[Occurrence]], stages: Sequence[str] = STAGES) -> list[Flow]:
    """Flows averaged over models, as in the released counts."""
    total: Counter[tuple[str, str]] = Counter()
    for found in models:
        for start, end, count in flows_of(found, stages):
            total[start, end] += count  # type: ignore[assignment]
    return [(start, end, count / len(models)) for (start, end), count in total.items()]


def with_other(flows: Iterable[Flow]) -> list[Flow]:
    """Flows in which forms that are not identified are `other`; the released counts call them neutral."""
    flows = list(flows)
    if any(end.endswith("_other") for _, end, _ in flows):  # neutral is then a class of its own
        return flows
    return [(_as_other(start), _as_other(end), count) for start, end, count in flows]


def _as_other(node: str) -> str:
    return f"{node.removesuffix('_neutral')}_other" if node.endswith("_neutral") else node


def merge_words(flows: Iterable[Flow], stages: Sequence[str] = STAGES) -> list[Flow]:
    """Flows summed over words: `data_male` for `doctor_data_male`; flows from the bare word are left out."""
    total: Counter[tuple[str, str]] = Counter()
    for start, end, count in flows:
        ends = [node.rsplit("_", 2)[1:] for node in (start, end)]
        if all(len(each) == 2 and each[0] in stages for each in ends):
            total["_".join(ends[0]), "_".join(ends[1])] += count  # type: ignore[assignment]
    return [(start, end, count) for (start, end), count in sorted(total.items())]


def shift_rows(models: Sequence[Sequence[Occurrence]], stages: Sequence[str] = STAGES) -> list[Row]:
    """The share of each class at every stage, and by how much it changes from one stage to the next.

    Over several models (each with the stages of its own) shares and changes are means. Their intervals are always
    over sentences: what other sentences would show of these models. What other models would show is in rows of its
    own: `change over models` (Student's t), and the standard deviations that the paper reports.
    """
    first = models[0]
    clusters = [str(each.line) if each.line else f"occurrence {place}" for place, each in enumerate(first)]
    classes = sorted({name for found in models for each in found for name in each.classes})
    rows = []
    for place, stage in enumerate(stages):
        shares = {}
        for name in classes:
            held = [[float(each.classes[place] == name) for each in found] for found in models]
            shares[name] = _means(held)
            count = {"count": round(math.fsum(shares[name]))}
            labels: dict[str, str | int] = {"stage": stage, "class": name}
            rows.append(Row("share", clustered_proportion(shares[name], clusters), labels, count))
            if len(models) > 1 and place:  # the data are the same for all models
                rows.append(Row("share sd", _over_models(held)[1], labels))
        if {"male", "female"} <= set(classes):
            rows.append(_ratio_row(shares["male"], shares["female"], clusters, stage))
    for place, (before, after) in enumerate(itertools.pairwise(stages)):
        for name in classes:
            moved = [
                [float((each.classes[place + 1] == name) - (each.classes[place] == name)) for each in found]
                for found in models
            ]
            labels = {"from": before, "to": after, "class": name}
            rows.append(Row("change", paired_difference(_means(moved), clusters, verdicts=True)[0], labels))
            if len(models) > 1:
                mean, sd = _over_models(moved)
                rows += [Row("change over models", mean, labels), Row("change sd", sd, labels)]
    return rows


def _means(of_models: Sequence[Sequence[float]]) -> list[float]:
    """The mean over models of each occurrence."""
    return [math.fsum(own) / len(own) for own in zip(*of_models, strict=True)]


def _over_models(of_models: Sequence[Sequence[float]]) -> tuple[Estimate, Estimate]:
    """Mean and standard deviation of the models' own means."""
    return mean_and_sd([math.fsum(own) / len(own) for own in of_models], "models")


def _ratio_row(male: Sequence[float], female: Sequence[float], clusters: Sequence[str], stage: str) -> Row:
    """How many male forms there are for a female one (M:F, Saunders and Byrne 2020)."""
    gendered = [one + other for one, other in zip(male, female, strict=True)]
    shares = [one / both if both else 0.0 for one, both in zip(male, gendered, strict=True)]
    counts = {"male": round(math.fsum(male)), "female": round(math.fsum(female))}
    return Row(
        "male_to_female", odds(clustered_proportion(shares, clusters, gendered)), {"stage": stage}, counts
    )


# --- Flows with the word as a column (conditioning paper, figures 1 and 4) -----------------------------------------

MOST_FLOWS = 100_000
WORD_NODE = "word:"
"""What the nodes of words begin with: an occupation may be called as a stage is, student or teacher."""


def read_counts(path: str | Path) -> tuple[list[Flow], list[str]]:
    """Rows [from, to, count] and their stages in order: as released, or as `patterns flow --flows` writes them.

    Nodes are `<word>`, and then `<word>_<stage>_<class>` for each stage.
    """
    found = parse_json(read_bytes(path), path)
    if not isinstance(found, list) or not found or len(found) > MOST_FLOWS:
        raise BabelscopeError(f"{path} must be a list of 1 to {MOST_FLOWS:,} rows [from, to, count]")
    flows: list[Flow] = []
    stages: dict[str, None] = {}
    for number, row in enumerate(found, 1):
        count = json_number(row[2]) if isinstance(row, list) and len(row) == 3 else None
        if count is None or not count >= 0 or not all(isinstance(node, str) for node in row[:2]):
            raise BabelscopeError(f"{path}, row {number}: {shorten(str(row))} is no [from, to, count]")
        parts = row[1].rsplit("_", 2)
        if len(parts) != 3:
            raise BabelscopeError(f"{path}, row {number}: {shorten(row[1])} is no <word>_<stage>_<class>")
        stages.setdefault(parts[1])
        flows.append((row[0], row[1], count))
    return with_other(flows), _in_order(flows, list(stages), path)


def _in_order(flows: Sequence[Flow], stages: Sequence[str], path: str | Path) -> list[str]:
    """The stages, each after the one that flows into it."""
    before: dict[str, str] = {}
    for start, end, _ in flows:
        stage, parts = end.rsplit("_", 2)[1], start.rsplit("_", 2)
        before[stage] = parts[1] if len(parts) == 3 and parts[1] in stages else ""
    ordered: list[str] = []
    while len(ordered) < len(stages):
        after = ordered[-1] if ordered else ""
        following = [stage for stage in stages if before[stage] == after and stage not in ordered]
        if len(following) != 1:
            raise BabelscopeError(f"{path}: the stages {', '.join(stages)} do not follow one another")
        ordered += following
    return ordered


def choose_words(flows: Sequence[Flow], words: Sequence[str]) -> list[Flow]:
    """The flows of some words, all if none is named; `figure-4` stands for the words of the paper's figure."""
    if not words:
        return list(flows)
    wanted = list(itertools.chain.from_iterable(FIGURE_4 if word == "figure-4" else [word] for word in words))
    known = {_word(end) for _, end, _ in flows}
    if missing := [word for word in wanted if word not in known]:
        raise BabelscopeError(
            f"no flow is about {shorten(missing[0])}; known: {', '.join(sorted(known)[:10])}, ..."
        )
    chosen = set(wanted)
    return [flow for flow in flows if _word(flow[1]) in chosen]


def _word(node: str) -> str:
    return node.rsplit("_", 2)[0]


def flows_by_word(flows: Sequence[Flow], stages: Sequence[str]) -> list[Flow]:
    """From every word, the most frequent first, to classes at the first stage; then from stage to stage, merged."""
    into: dict[str, Counter[str]] = {}
    for _, end, count in flows:
        word, stage, name = end.rsplit("_", 2)
        if stage == stages[0]:
            into.setdefault(word, Counter())[f"{stage}_{name}"] += count  # type: ignore[assignment]
    order = sorted(into, key=lambda word: (-sum(into[word].values()), word))
    first = [
        (f"{WORD_NODE}{word}", node, float(count))
        for word in order
        for node, count in sorted(into[word].items())
    ]
    return [*first, *merge_words(flows, stages)]


def share_rows(flows: Sequence[Flow], stages: Sequence[str]) -> list[Row]:
    """The share of each class at every stage, and its changes.

    Counts that were made elsewhere may be means over models, of which neither the number nor the spread is known, so
    that changes have no interval.
    """
    totals: Counter[tuple[str, str]] = Counter()
    for _, end, count in flows:
        _, stage, name = end.rsplit("_", 2)
        totals[stage, name] += count  # type: ignore[assignment]
    classes = sorted({name for _, name in totals})
    whole = {stage: sum(totals[stage, name] for name in classes) for stage in stages}
    rows = []
    for stage, name in itertools.product(stages, classes):
        count = round(totals[stage, name])
        share = proportion(count, round(whole[stage]))
        rows.append(Row("share", share, {"stage": stage, "class": name}, {"count": count}))
    for (before, after), name in itertools.product(itertools.pairwise(stages), classes):
        change = totals[after, name] / whole[after] - totals[before, name] / whole[before]
        estimate = Estimate.without_interval(change, round(whole[after]), "counts without their spread")
        rows.append(Row("change", estimate, {"from": before, "to": after, "class": name}))
    return rows
