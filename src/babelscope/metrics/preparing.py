"""Metrics that a command names, made ready before any system is asked."""

from __future__ import annotations

from collections.abc import Iterable

from babelscope.core.tokenisers import find_tokeniser
from babelscope.metrics.base import Metric, find_metric
from babelscope.util.errors import BabelscopeError


def prepare_metrics(names: Iterable[str], *, yes: bool = False, tokenize: str = "") -> list[Metric]:
    """The metrics of these names; one that runs in an environment of its own gets it, if the user agrees.

    With `yes` the user has agreed already. Words are split by the tokeniser `tokenize`, if one is named.
    """
    found = [find_metric(name) for name in dict.fromkeys(names)]
    if tokenize:
        tokeniser = find_tokeniser(tokenize)
        if not any(metric.is_tokenised for metric in found):
            told = f"{found[-1].name} takes none" if found else "there is no --metric"
            raise BabelscopeError(f"--tokenize {tokenize} is for a metric that splits words, and {told}")
        found = [metric.tokenised(tokeniser) for metric in found]
    for metric in found:
        metric.prepare(yes=yes)
    return found
