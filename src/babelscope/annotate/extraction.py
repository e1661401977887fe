"""Is an extracted item real? A challenge set judged by people, with no system (section 4.3): queue and precision."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from babelscope.annotate.answers import Answered
from babelscope.annotate.items import Task
from babelscope.core.results import Record, Row
from babelscope.language.ud_rules import RULES
from babelscope.methods.challenge.annotation import shown_words
from babelscope.methods.challenge.sets import ALL, read_instances, unit_of
from babelscope.methods.queue import Drawn, Entry, Group, draw, share_out
from babelscope.stats.agreement import CANNOT_TELL, REAL, weighted
from babelscope.stats.intervals import proportion
from babelscope.testsets.items import ParallelSentence
from babelscope.testsets.loading import load
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import read_json_lines

TASK = "extraction"


def is_challenge_set(path: Path) -> bool:
    """Whether a file has items of a challenge set, not lines to be judged: its first line tells."""
    first = next(iter(read_json_lines(path)), None)
    return first is not None and "task" not in first[1] and isinstance(first[1].get("dependencies"), list)


def queue_of_set(spec: str, *, n: int, distances: Sequence[int] = (), seed: int = 0) -> Drawn:
    """Dependencies of a challenge set to be judged: of each phenomenon its share of `n`.

    With `distances`, only those of exactly these, equally many of each phenomenon and distance as far as there are
    (the paper: 1, 2 and 5). The same arguments give the same queue.
    """
    items = load(spec).items_of(ParallelSentence, what_for="judging an extraction")
    entries = [entry for item in items for entry in _entries(item, distances)]
    if not entries:
        told = f" of distance {', '.join(map(str, distances))}" if distances else ""
        raise BabelscopeError(
            f"{spec} has no dependency{told} whose two words are known, so that there is nothing to be judged"
        )

    def quotas(sizes: Mapping[Group, int]) -> Mapping[Group, int]:
        return dict.fromkeys(sizes, max(1, n // len(sizes))) if distances else share_out(sizes, n)

    lines = draw(entries, quotas, seed=seed, name=TASK)
    known = {entry.unit[0] for entry in entries}
    return Drawn(lines, len(entries), sum(item.id not in known for item in items))


def _entries(item: ParallelSentence, distances: Sequence[int]) -> Iterable[Entry]:
    """Every dependency of an item between two words that are known; reordering is between two languages."""
    rules = {rule.name: rule.definition for rule in RULES}
    for number, found in enumerate(read_instances(item.extra, f"item {item.id}")):
        words = shown_words(item.extra["dependencies"][number])
        if "head" not in words or "dependent" not in words or unit_of(found.phenomenon) != unit_of(""):
            continue
        if distances and found.distance not in distances:
            continue
        shown: Record = {"source": item.source, "phenomenon": found.phenomenon, **words}
        if item.references:
            shown["reference"] = item.references[0]
        if definition := rules.get(found.phenomenon):
            shown["question"] = f"Do the marked words form this construction: {definition}?"
        key = digest_json([item.id, number, shown])[:16]
        # Of a line only what the task shows is seen: neither the item nor the distance.
        line: Record = {"id": key, "task": TASK, **shown, "item": item.id, "distance": found.distance}
        of_distance = (f"{found.distance:g}",) if distances else ()
        yield Entry(line, (item.id, number), (found.phenomenon, found.side, *of_distance))


def precision_rows(answers: Mapping[str, Mapping[str, Answered]], tasks: Mapping[str, Task]) -> list[Row]:
    """The share of extracted items that are real: in all, by phenomenon, and by phenomenon and distance.

    For each annotator, of what they decided; with several also together (`all`), where the interval is over items.
    """
    together = {ALL: [each for own in answers.values() for each in own.values()]} if len(answers) > 1 else {}
    rows = []
    for who, said in {**together, **{name: list(own.values()) for name, own in answers.items()}}.items():
        groups: dict[tuple[tuple[str, str | int], ...], list[Answered]] = {}
        for each in said:
            if each.item not in tasks:
                raise BabelscopeError(
                    f"item {each.id}: the file of items is needed, which says what was extracted; it must lie beside "
                    "the answers, unchanged"
                )
            for labels in _labels(tasks[each.item]):
                groups.setdefault(labels, []).append(each)
        for labels, some in sorted(groups.items(), key=lambda group: str(group[0])):
            rows.append(
                _precision(some, {"task": TASK, "annotators": who, **dict(labels)}, pooled=who in together)
            )
    return rows


def _labels(task: Task) -> Iterable[tuple[tuple[str, str | int], ...]]:
    """The groups that an item belongs to, as labels of their rows."""
    phenomenon = ("phenomenon", str(task.get("phenomenon") or "unnamed"))
    side = ("side", str(task.get("side") or "source"))
    yield (("phenomenon", ALL),)
    yield phenomenon, side
    distance = task.get("distance")
    if isinstance(distance, int | float) and math.isfinite(distance):
        whole = int(distance) if distance == int(distance) else str(distance)
        yield phenomenon, side, ("distance", whole), ("unit", unit_of(phenomenon[1]))


def _precision(some: Sequence[Answered], labels: dict[str, str | int], *, pooled: bool) -> Row:
    """The share of real ones among those decided, with counts."""
    told: list[tuple[str, Any]] = [(each.item, each.answer.get("label")) for each in some]
    decided = [(item, label == REAL) for item, label in told if label != CANNOT_TELL]
    real = sum(yes for _, yes in decided)
    counts = {"real": real, "answered": len(told), "cannot_tell": len(told) - len(decided)}
    if not pooled:
        return Row("precision", proportion(real, len(decided)), labels, counts)
    sums: dict[str, list[float]] = {}
    for item, yes in decided:
        own = sums.setdefault(item, [0.0, 0.0])
        own[0] += yes
        own[1] += 1
    return Row("precision", weighted(sums.values()), labels, counts)
