"""Sankey diagrams of how senses or genders shift from training data to distilled data to student output."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from babelscope.methods.patterns.flow import STAGES, merge_words, with_other
from babelscope.report.charts import Drawn
from babelscope.report.sankey import sankey
from babelscope.runs.reading import Run
from babelscope.util.errors import BabelscopeError
from babelscope.util.json_lines import parse_json
from babelscope.util.text import read_bytes

FILE = "flows.json"
"""In a run folder: what `babelscope patterns flow --flows` writes, rows [from, to, count]."""

_MOST = 1000
_COLOURS = ("#3f7fbf", "#c8622f", "#4b9d77", "#9467bd")
_HEADINGS = {"data": "training data", "distilled": "distilled by the teacher", "student": "student’s output"}


def flow_pictures(runs: Sequence[Run]) -> list[Drawn]:
    """A Sankey diagram for each run folder with a file of flows."""
    return [_picture(run) for run in runs if (run.path / FILE).is_file()]


def _picture(run: Run) -> Drawn:
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
    nodes = list(dict.fromkeys(name for start, end, _ in flows for name in (start, end)))
    classes = sorted({name.partition("_")[2] for name in nodes}, key=lambda name: (name == "other", name))
    colours = dict(zip((name for name in classes if name != "other"), _COLOURS, strict=False))
    stages = [stage for stage in STAGES if any(name.startswith(f"{stage}_") for name in nodes)]
    total = sum(count for start, _, count in flows if start.startswith(f"{stages[0]}_"))
    if not total > 0:
        raise BabelscopeError(f"{path} has nothing that flows from {stages[0]}")
    ordered = sorted(flows, key=lambda flow: (_place(flow[0], classes), _place(flow[1], classes)))
    shares = "; ".join(f"{start} to {end}: {count / total:.1%}" for start, end, count in ordered)
    title = f"{', '.join(name for name in classes if name != 'other')}: from {' to '.join(stages)}"
    picture = sankey(
        ordered,
        title=title,
        description=f"Of {total:,.0f} occurrences, {shares}",
        labels={name: name.partition("_")[2] for name in nodes},
        colours={name: colours.get(name.partition("_")[2], "currentColor") for name in nodes},
        headings=[_HEADINGS.get(stage, stage) for stage in stages],
    )
    return Drawn(
        title[:1].upper() + title[1:],
        Markup(picture),
        f"{total:,.0f} occurrences of the words looked for, by how they are translated at each stage. What grows "
        "from left to right is what distillation amplifies. “other” is a translation that was not recognised.",
    )


def _place(node: str, classes: Sequence[str]) -> tuple[int, int]:
    stage, _, name = node.partition("_")
    return STAGES.index(stage), classes.index(name)
