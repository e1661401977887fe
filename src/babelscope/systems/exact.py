"""What an exact search of many sources found: proofs, modes and effort as figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from babelscope.core.results import Result, Row
from babelscope.core.system import LengthRule, TopK
from babelscope.util.digests import digest_json
from babelscope.util.version import __version__

VERSION = 1
"""Raised when what is found, or its figures change."""
# Sources searched between two writes to the journal: enough to share forward passes, and a kill loses these.
SOURCES_AT_ONCE = 64

Searched = Sequence[tuple[str, TopK | str]]
"""Each source with its answer, or with the reason why there is none."""


def result_of(
    systems: Mapping[str, Any],
    sources: Sequence[str],
    settings: Mapping[str, Any],
    searched: Mapping[str, Mapping[LengthRule, Searched]],
) -> Result:
    """For each system, and each length searched by itself: what was proven, and what the best hypotheses are."""
    config = {
        "methods": [{"name": "top-k", "version": VERSION, "settings": dict(settings), "roles": {}}],
        "systems": [each.fingerprint.as_json() for each in systems.values()],
        "tests": [{"kind": "sources", "digest": digest_json(list(sources))}],
        "seed": 0,
        "chunk": SOURCES_AT_ONCE,
        "version": __version__,
    }
    rows: list[Row] = []
    for name, by_rule in searched.items():
        for rule, some in by_rule.items():
            length = {"length": rule.exactly} if rule.exactly else {}
            rows += _rows(some, {"system": name, **length}, rule)
    return Result(config, rows)


def _rows(some: Searched, labels: Mapping[str, str | int], rule: LengthRule) -> Iterator[Row]:
    from babelscope.stats.intervals import clustered_mean, clustered_proportion

    answered = [(source, answer) for source, answer in some if not isinstance(answer, str)]
    skipped = {"skipped": len(some) - len(answered)} if len(some) > len(answered) else {}
    sources = [source for source, _ in answered]
    exact = [float(each.exact) for _, each in answered]
    yield Row("proven", clustered_proportion(exact, sources), labels, skipped)
    # A best hypothesis without proof may not be the best, so that it counts in no figure about that.
    proven = [(source, each) for source, each in answered if each.exact or each.proven(rule)]
    left_out = {"unresolved": len(answered) - len(proven), **skipped}
    best = [(source, each.found[0]) for source, each in proven if each.found]
    of = [source for source, _ in best]
    lengths = [len(each.tokens) for _, each in best]
    if not rule.exactly:
        empty = [float(length == 1) for length in lengths]
        counts = {"empty": int(sum(empty)), **left_out}
        yield Row("empty_mode", clustered_proportion(empty, of), labels, counts)
    none = {"none": len(proven) - len(best)} if len(proven) > len(best) else {}
    negative, positive = (-math.inf, 0.0), (0.0, math.inf)
    totals = [each.total for _, each in best]
    yield Row("logprob", clustered_mean(totals, of, within=negative), labels, {**left_out, **none})
    if rule.penalty:
        ranks = [rule.rank(total, length) for total, length in zip(totals, lengths, strict=True)]
        yield Row("normalized", clustered_mean(ranks, of, within=negative), labels, {**left_out, **none})
    if not rule.exactly:
        tokens = clustered_mean([float(length) for length in lengths], of, within=positive)
        yield Row("tokens", tokens, labels, left_out)
    for name, scale in (("mass", (0.0, 1.0)), ("expansions", positive)):
        effort = [float(getattr(each, name)) for _, each in answered]
        yield Row(name, clustered_mean(effort, sources, within=scale), labels, skipped)
