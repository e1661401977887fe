"""A metric as a system (`metric:`): it scores the right and the wrong translations of pairs, as a `scores:` file."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.core.registry import Options
from babelscope.core.system import Fingerprint, ItemChoice, ItemScores
from babelscope.metrics.base import Segment, find_metric, sentence_qualities
from babelscope.util.errors import BabelscopeError


class MetricScores:
    """Scores the texts of items by their source and their human reference; higher is better."""

    def __init__(self, name: str, metric: str) -> None:
        self.name = name
        self._metric = find_metric(metric)
        self.fingerprint = Fingerprint("metric", self._metric.identity)

    def item_scores(self, items: Sequence[ItemChoice], *, best: bool = True) -> list[ItemScores | None]:  # noqa: ARG002
        """The scores of items; None for one that has an empty text."""
        asked = [item for item in items if not item.empty]
        for item in asked:
            if not item.texts:
                raise BabelscopeError(
                    f"{self.name} scores the texts of minimal pairs; item {item.id} is none"
                )
            if self._metric.reads_references and not item.references:
                raise BabelscopeError(
                    f"item {item.id} has no human_reference, with which {self._metric.name} compares translations; "
                    "add one (DEMETR's items have it), or take a metric that needs none (cometkiwi)"
                )
        segments = [Segment(item.source, text, item.references) for item in asked for text in item.texts]
        qualities = iter(sentence_qualities(self._metric, segments))
        found: dict[str, ItemScores] = {}
        for item in asked:
            correct, *others = (next(qualities) for _ in item.texts)
            found[item.id] = ItemScores(correct, tuple(others))
        return [found.get(item.id) for item in items]


def open_metric(rest: str, options: Options) -> MetricScores:  # noqa: ARG001
    """`metric:NAME`, as `--metric` takes it: chrf, comet, cmd:COMMAND..."""
    for name in options.names:
        options.text(name)  # they are the metric's own
    return MetricScores(options.spec, options.spec.partition(":")[2])
