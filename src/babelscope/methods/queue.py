"""What people are asked about the records of a method: how its queue is found, and what is drawn of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from babelscope.core.results import Record, grouped
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream

if TYPE_CHECKING:
    from babelscope.methods.base import Method

Group = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing to be judged."""

    line: Record
    """What `babelscope annotate` reads: `id`, `task`, its texts. An annotator sees the texts that the task shows."""
    unit: tuple[str | int, ...]
    """The id of its item, and what tells it from others of that item. Entries of one unit, such as the translations
    of one item by several systems, are drawn together."""
    group: Group = ()
    """What it is drawn by: phenomenon, category..."""


def entry(record: Record, task: str, *, group: Sequence[str] = (), **shown: Any) -> Entry:
    """An entry about one system's answer to an item; `shown` are the fields of the task beside the source."""
    names = {name: record[name] for name in ("id", "system", "tests")}
    return Entry({**names, "task": task, "source": record["source"], **shown}, (record["id"],), tuple(group))


def all_entries(method: Method, records: Iterable[Record]) -> list[Entry]:
    """All that people can be asked about the records of one or several systems on one test set."""
    return [entry for record in records for entry in method.show(record).questions]


@dataclass(frozen=True, slots=True)
class Drawn:
    """The lines of a queue in random order, and what they were drawn from."""

    lines: Sequence[Record]
    of: int
    """How many could have been drawn."""
    left_out: int
    """Items that have nothing to be judged."""

    def __str__(self) -> str:
        left = f"; {self.left_out} items have nothing to be judged" if self.left_out else ""
        return f"{len(self.lines)} of {self.of} are drawn to be judged{left}"


def draw_queue(
    method: Method, records: Sequence[Record], *, n: int, seed: int, per_group: int | None = None
) -> Drawn:
    """`n` units of the records of one test set, or all if there are fewer; of each group its share.

    With `per_group`, so many units of each group instead.
    """
    entries = all_entries(method, records)
    if not entries:
        raise BabelscopeError(
            f"none of these {len(records)} records of {method.name} has anything that people could judge"
        )

    def quotas(sizes: Mapping[Group, int]) -> dict[Group, int]:
        return dict.fromkeys(sizes, per_group) if per_group else share_out(sizes, n)

    lines = draw(entries, quotas, seed=seed, name=method.name)
    known = {each.unit[0] for each in entries}
    left_out = len({record["id"] for record in records} - known)
    return Drawn(lines, len({_key(each.line) for each in entries}), left_out)


def draw(
    entries: Sequence[Entry],
    quotas: Callable[[Mapping[Group, int]], Mapping[Group, int]],
    *,
    seed: int,
    name: str,
) -> list[Record]:
    """The lines of some units, in random order; `quotas` says of the sizes of groups how many units of each."""
    units = grouped((each.unit, each) for each in entries)
    groups = grouped((members[0].group, members) for members in units.values())
    wanted = quotas({group: len(some) for group, some in groups.items()})
    rng = stream(seed, f"{name}/annotation")
    lines: dict[tuple[str, str], Record] = {}
    for group in sorted(groups, key=str):
        for number in rng.permutation(len(groups[group]))[: wanted[group]]:
            # What stands there twice, such as one translation of several systems, is asked once.
            lines |= {_key(each.line): each.line for each in groups[group][number]}
    keys = sorted(lines)
    return [lines[keys[number]] for number in rng.permutation(len(keys))]


def _key(line: Record) -> tuple[str, str]:
    return str(line["id"]), str(line.get("system", ""))


def share_out(sizes: Mapping[Group, int], n: int) -> dict[Group, int]:
    """`n` units shared by the sizes of groups, so that figures over all that is drawn are those of all items."""
    total = sum(sizes.values())
    n = min(n, total)
    shares = {group: divmod(n * size, total) for group, size in sizes.items()}
    left = n - sum(whole for whole, _ in shares.values())
    most = sorted(shares, key=lambda group: (-shares[group][1], str(group)))[:left]
    return {group: whole + (group in most) for group, (whole, _) in shares.items()}
