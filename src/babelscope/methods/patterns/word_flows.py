"""Flows with the word as a column (conditioning paper, figures 1 and 4), and released counts as they are."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from babelscope.core.results import Estimate, Row
from babelscope.making.occupations import FIGURE_4, Flow
from babelscope.methods.patterns.flow import merge_words, with_other
from babelscope.stats.intervals import proportion
from babelscope.util.errors import BabelscopeError
from babelscope.util.json_lines import json_number, parse_json
from babelscope.util.text import read_bytes, shorten

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
        rows.append(
            Row(
                "share",
                proportion(count, round(whole[stage])),
                {"stage": stage, "class": name},
                {"count": count},
            )
        )
    for (before, after), name in itertools.product(itertools.pairwise(stages), classes):
        change = totals[after, name] / whole[after] - totals[before, name] / whole[before]
        estimate = Estimate.without_interval(change, round(whole[after]), "counts without their spread")
        rows.append(Row("change", estimate, {"from": before, "to": after, "class": name}))
    return rows
