"""Sankey diagrams of how senses or genders shift from training data to distilled data to student output."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.core.charts import Chart, Flow
from babelscope.making.counts import Flow as Counted
from babelscope.making.flows import STAGES, WORD_NODE, merge_words, with_other
from babelscope.runs.reading import Run
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import parse_json, read_bytes

FILE = "flows.json"
"""In a run folder: what `babelscope flow --flows` writes, rows [from, to, count]."""

_MOST = 1000
_HEADINGS = {"data": "training data", "distilled": "distilled by the teacher", "student": "student’s output"}


def flow_charts(runs: Sequence[Run]) -> list[Chart]:
    """A Sankey diagram for each run folder with a file of flows."""
    return [_chart(run) for run in runs if (run.path / FILE).is_file()]


def _chart(run: Run) -> Chart:
    path = run.path / FILE
    found = parse_json(read_bytes(path), path)
    try:
        flows = merge_words(with_other((str(start), str(end), float(count)) for start, end, count in found))
    except (TypeError, ValueError):
        raise BabelscopeError(f"{path} must be a list of [from, to, count]") from None
    if not flows:
        raise BabelscopeError(f"{path} has no flows between {', '.join(STAGES)}")
    if len(flows) > _MOST:
        raise BabelscopeError(f"{path} has {len(flows):,} flows; a diagram shows {_MOST:,} at most")
    nodes = {name for start, end, _ in flows for name in (start, end)}
    stages = [stage for stage in STAGES if any(name.startswith(f"{stage}_") for name in nodes)]
    total = sum(count for start, _, count in flows if start.startswith(f"{stages[0]}_"))
    if not total > 0:
        raise BabelscopeError(f"{path} has nothing that flows from {stages[0]}")
    return flow_chart(
        flows,
        stages,
        [_HEADINGS[stage] for stage in stages],
        f"{total:,.0f} occurrences of the words looked for, by how they are translated at each stage. What grows "
        "from left to right is what distillation amplifies. “other” is a translation that was not recognized.",
    )


def flow_chart(
    flows: Sequence[Counted], stages: Sequence[str], headings: Sequence[str], caption: str = ""
) -> Chart:
    """The classes from stage to stage, with "other" in the middle; words, where they are nodes, on the left."""
    nodes = dict.fromkeys(name for start, end, _ in flows for name in (start, end))
    words = {name: name.removeprefix(WORD_NODE) for name in nodes if name.startswith(WORD_NODE)}
    labels = {name: words.get(name, name.partition("_")[2]) for name in nodes}
    classes = {label for name, label in labels.items() if name not in words}
    first, *others = [*sorted(classes - {"other"}), *(classes & {"other"})]
    ordered = [first, *sorted(others, key=lambda name: name != "other")]
    known = [name for name in (first, *others) if name != "other"]
    drawing = Flow(
        flows,
        labels,
        {name: known.index(label) for name, label in labels.items() if name not in words and label in known},
        [*([""] if words else []), *headings],
        [*words, *(f"{stage}_{name}" for stage in stages for name in ordered)],
    )
    title = f"{', '.join(known)}: from {' to '.join(stages)}"
    return Chart(title[:1].upper() + title[1:], drawing, caption, name="-".join(stages))
