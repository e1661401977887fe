"""Sankey diagrams of how senses or genders shift from training data to distilled data to student output."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from markupsafe import Markup

from babelscope.methods.patterns.flow import STAGES, merge_words, with_other
from babelscope.report.charts import Drawn, printable
from babelscope.runs.reading import Run
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import parse_json, read_bytes

# --- Draw a Sankey diagram as SVG: ribbons between nodes in columns, as thick as the counts that flow --------------

Flow = tuple[str, str, float]
"""From a node, to a node, how many."""

_BAR = 12.0  # width of a node
_MARGIN = 28.0  # above the first and below the last node, for headings
_LABEL = 130.0  # room for names beside the last column
_GAP = 14.0  # between nodes of a column


@dataclass(frozen=True, slots=True)
class _Node:
    """Position of a node: its column, its top and its height."""

    column: int
    top: float
    height: float


def sankey(
    flows: Sequence[Flow],
    *,
    title: str,
    description: str,
    labels: Mapping[str, str] | None = None,
    colors: Mapping[str, str] | None = None,
    headings: Sequence[str] = (),
    order: Sequence[str] = (),
    width: float = 760.0,
    height: float = 380.0,
) -> str:
    """The diagram as one `<svg>` element; text and lines have the color of the text around it.

    Nodes stand in the order given, then in that in which flows name them, in the column after all that flows into
    them. `labels` are what nodes are called, `colors` those of their outgoing ribbons (CSS colors; else that of the
    text).
    """
    if not flows or any(not count >= 0 for *_, count in flows) or not sum(count for *_, count in flows):
        raise BabelscopeError("a Sankey diagram needs flows, none of them negative")
    nodes = _placed(flows, height, order)
    last = max(node.column for node in nodes.values())
    step = (width - _LABEL - _BAR) / max(last, 1)
    identity = "sankey-" + hashlib.sha256(repr((flows, title)).encode()).hexdigest()[:10]
    called = {name: (labels or {}).get(name, name) for name in nodes}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="{identity}-t {identity}-d" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" width="{_n(width)}" height="{_n(height)}" '
        'fill="currentColor" font-family="system-ui, sans-serif" font-size="12">',
        f'<title id="{identity}-t">{_text(title)}</title>',
        f'<desc id="{identity}-d">{_text(description)}</desc>',
    ]
    for place, heading in enumerate(headings[: last + 1]):
        parts.append(f'<text x="{_n(place * step)}" y="14" font-weight="600">{_text(heading)}</text>')
    for path, name, told in _ribbons(flows, nodes, called, step):
        color = quoteattr(printable((colors or {}).get(name, "currentColor")))
        parts.append(f'<path d="{path}" fill={color} fill-opacity="0.35"><title>{_text(told)}</title></path>')
    for name, node in nodes.items():
        x = node.column * step
        middle = node.top + node.height / 2
        total = max(_sum(flows, 0, name), _sum(flows, 1, name))
        parts.append(
            f'<rect x="{_n(x)}" y="{_n(node.top)}" width="{_n(_BAR)}" height="{_n(max(node.height, 1))}"/>'
            f'<text x="{_n(x + _BAR + 5)}" y="{_n(middle)}" dominant-baseline="middle">'
            f"{_text(called[name])} {total:,.0f}</text>"
        )
    return "\n".join([*parts, "</svg>"])


def _placed(flows: Sequence[Flow], height: float, order: Sequence[str]) -> dict[str, _Node]:
    """Place nodes: the column is the length of the longest path to a node, the height its total flow."""
    named = dict.fromkeys(name for start, end, _ in flows for name in (start, end))
    names = list(dict.fromkeys([*(name for name in order if name in named), *named]))
    columns = dict.fromkeys(names, 0)
    for _ in names:
        later = {end: columns[start] + 1 for start, end, _ in flows if columns[end] <= columns[start]}
        if not later:
            break
        columns.update(later)
    else:
        raise BabelscopeError("a Sankey diagram cannot have flows in a circle")
    sizes = {name: max(_sum(flows, 0, name), _sum(flows, 1, name)) for name in names}
    most = max(columns.values())
    members = [[name for name in names if columns[name] == column] for column in range(most + 1)]
    room = height - 2 * _MARGIN
    gap = min(_GAP, *(0.4 * room / len(own) for own in members))
    scale = min(
        (room - gap * (len(own) - 1)) / max(sum(sizes[name] for name in own), 1e-9) for own in members
    )
    placed = {}
    for column, own in enumerate(members):
        top = _MARGIN
        for name in own:
            placed[name] = _Node(column, top, scale * sizes[name])
            top += scale * sizes[name] + gap
    return placed


def _ribbons(
    flows: Sequence[Flow], nodes: Mapping[str, _Node], called: Mapping[str, str], step: float
) -> Iterator[tuple[str, str, str]]:
    """(path, start node, tooltip) of each flow; ribbons are ordered so that they do not cross at a node."""
    scale = next(
        node.height / size
        for name, node in nodes.items()
        if (size := max(_sum(flows, 0, name), _sum(flows, 1, name)))
    )
    leaving = {name: node.top for name, node in nodes.items()}
    arriving = dict(leaving)
    starts: dict[int, float] = {}
    ends: dict[int, float] = {}
    order = range(len(flows))
    for number in sorted(order, key=lambda n: nodes[flows[n][1]].top):
        starts[number] = leaving[flows[number][0]]
        leaving[flows[number][0]] += scale * flows[number][2]
    for number in sorted(order, key=lambda n: nodes[flows[n][0]].top):
        ends[number] = arriving[flows[number][1]]
        arriving[flows[number][1]] += scale * flows[number][2]
    for number, (start, end, count) in enumerate(flows):
        if not count:
            continue
        left, right = nodes[start].column * step + _BAR, nodes[end].column * step
        half, thick = (left + right) / 2, scale * count
        one, other = starts[number], ends[number]
        path = (
            f"M{_n(left)} {_n(one)}C{_n(half)} {_n(one)} {_n(half)} {_n(other)} {_n(right)} {_n(other)}"
            f"V{_n(other + thick)}C{_n(half)} {_n(other + thick)} {_n(half)} {_n(one + thick)} "
            f"{_n(left)} {_n(one + thick)}Z"
        )
        yield (path, start, f"{called[start]} → {called[end]}: {count:,.0f}")


def _sum(flows: Sequence[Flow], side: int, name: str) -> float:
    return sum(flow[2] for flow in flows if flow[side] == name)


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _text(text: str) -> str:
    return escape(printable(text))


# --- Sankey diagrams of how senses or genders shift from training data to distilled data to student ----------------

FILE = "flows.json"
"""In a run folder: what `babelscope patterns flow --flows` writes, rows [from, to, count]."""

_MOST = 1000
_COLORS = ("#3f7fbf", "#c8622f", "#4b9d77", "#9467bd")
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
    colors = dict(zip((name for name in classes if name != "other"), _COLORS, strict=False))
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
        colors={name: colors.get(name.partition("_")[2], "currentColor") for name in nodes},
        headings=[_HEADINGS.get(stage, stage) for stage in stages],
    )
    return Drawn(
        title[:1].upper() + title[1:],
        Markup(picture),
        f"{total:,.0f} occurrences of the words looked for, by how they are translated at each stage. What grows "
        "from left to right is what distillation amplifies. “other” is a translation that was not recognized.",
    )


def _place(node: str, classes: Sequence[str]) -> tuple[int, int]:
    stage, _, name = node.partition("_")
    return STAGES.index(stage), classes.index(name)
