"""Metrics that a command names, made ready before any system is asked."""

from __future__ import annotations

from collections.abc import Iterable

from babelscope.metrics.base import Metric, find_metric


def prepare_metrics(names: Iterable[str], *, yes: bool = False) -> list[Metric]:
    """The metrics of these names; one that runs in an environment of its own gets it, if the user agrees.

    With `yes` the user has agreed already.
    """
    found = [find_metric(name) for name in dict.fromkeys(names)]
    for metric in found:
        metric.prepare(yes=yes)
    return found
