"""Scores of items made elsewhere, in a file that is parallel to their test set (`scores:`)."""

from __future__ import annotations

import copy
import hashlib
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, cast

from babelscope.core.registry import Options
from babelscope.core.system import Fingerprint, ItemChoice, ItemScores
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import parse_lines, read_line_bytes, shorten

Direction = Literal["higher", "lower"]
DIRECTIONS: tuple[Direction, ...] = ("higher", "lower")
Layout = Literal["auto", "blocks", "interleaved", "columns"]
LAYOUTS: tuple[Layout, ...] = ("auto", "blocks", "interleaved", "columns")
"""blocks: scores of all correct targets, then those of all others (DistilLingEval). interleaved: item by item, the
correct one first (MuCoW). columns: one line per item, tabs between the correct one, the others and, if known, the
1-best; or the item's id, the correct one and the other. auto: columns if there are tabs, else what `lines` says."""


class ScoresFile:
    """Scores made elsewhere, higher is better once read; which lines are an item's depends on all items."""

    stored = True
    asked_as_a_whole = True
    by_line = True

    def __init__(
        self, path: str, *, direction: Direction = "higher", layout: Layout = "auto", lines: str = ""
    ) -> None:
        self.name = Path(path).name
        self._path = path
        data = read_line_bytes(path)
        self._rows = [line.split("\t") for line in parse_lines(data, path)]
        tabs = bool(self._rows) and len(self._rows[0]) > 1
        if layout == "auto" and not tabs and not lines:
            raise BabelscopeError(
                f"{path} has no tabs; set layout=blocks (all correct targets, then all others) or "
                "layout=interleaved (item by item), since either fits"
            )
        self._layout = layout if layout != "auto" else "columns" if tabs else lines
        self._all: Sequence[ItemChoice] | None = None
        self._sign = 1.0 if direction == "higher" else -1.0
        settings = {"direction": direction, "layout": self._layout}
        # By content, not by name: a moved or renamed file gives the same answers.
        self.fingerprint = Fingerprint("scores", hashlib.sha256(data).hexdigest(), settings=settings)

    def align_to(self, what: str, items: Sequence[ItemChoice]) -> ScoresFile:
        """The same scores, for any of these items; an error unless there are as many lines as they need."""
        ids = {item.id for item in items}
        if self._three and len(self._rows) != len(items) and any(row[0] in ids for row in self._rows):
            self._by_id(items)  # it says which item is missing, or too many
        self._counted(items, what)
        aligned = copy.copy(self)
        aligned._all = items
        return aligned

    def item_scores(self, items: Sequence[ItemChoice], *, best: bool = True) -> list[ItemScores | None]:
        """The scores of items; None for one without texts if the file leaves them all out.

        The items are all of a test set, unless the file was aligned to one. With `best`, a last column is the
        1-best's; three columns without it begin with the item's id, and so do three whose first is all the ids.
        """
        everything = items if self._all is None else self._all
        if self._three and (not best or {row[0] for row in self._rows} == {item.id for item in everything}):
            found = self._by_id(everything)
        else:
            found = self._by_line(self._counted(everything), best=best)
        return [found.get(item.id) for item in items]

    @property
    def _three(self) -> bool:
        return self._layout == "columns" and bool(self._rows) and len(self._rows[0]) == 3

    def _counted(self, items: Sequence[ItemChoice], what: str = "the test set") -> Sequence[ItemChoice]:
        """The items that the file has lines of: all, or those that have texts to be scored."""
        asked = [item for item in items if not item.empty]
        for some in (items, asked):
            if self._expected(some, self._layout) == len(self._rows):
                return some
        expected = [
            f"{self._expected(items, tried)} lines in the layout {tried}"
            for tried in (LAYOUTS[1:] if self._layout != "columns" else ("columns",))
        ]
        less = f" ({len(asked)} without empty texts)" if len(asked) < len(items) else ""
        raise BabelscopeError(
            f"{self._path} has {len(self._rows)} lines; {what} has {len(items)} items{less}: {', '.join(expected)}"
        )

    @staticmethod
    def _expected(items: Sequence[ItemChoice], layout: str) -> int:
        return len(items) if layout == "columns" else len(items) + sum(item.others for item in items)

    def _by_line(self, items: Sequence[ItemChoice], *, best: bool) -> dict[str, ItemScores]:
        if self._layout == "columns":
            rows = enumerate(zip(self._rows, items, strict=True), 1)
            return {item.id: self._from_columns(row, item, number, best=best) for number, (row, item) in rows}
        for number, row in enumerate(self._rows, 1):
            if len(row) > 1:
                raise BabelscopeError(
                    f"{at(self._path, number)} has {len(row)} columns; the layout {self._layout} has one"
                )
        flat = [self._number(row[0], number) for number, row in enumerate(self._rows, 1)]
        first = len(items) if self._layout == "blocks" else 0
        rest = iter(flat[first:])
        correct = iter(flat[:first]) if first else rest
        return {
            item.id: ItemScores(next(correct), tuple(itertools.islice(rest, item.others)), place=self._path)
            for item in items
        }

    def _from_columns(self, row: Sequence[str], item: ItemChoice, number: int, *, best: bool) -> ItemScores:
        place, others = at(self._path, number), item.others
        if len(row) not in (1 + others, 2 + others if best else 1 + others):
            more = (
                f" or {2 + others} (and the 1-best)"
                if best
                else ", in all lines or in none after the item's id"
            )
            raise BabelscopeError(
                f"{place} has {len(row)} columns; it must have {1 + others} (correct, contrastive){more}"
            )
        scores = [self._number(cell, number) for cell in row]
        known = scores[-1] if len(row) > 1 + others else None
        return ItemScores(scores[0], tuple(scores[1 : 1 + others]), known, place)

    def _by_id(self, items: Sequence[ItemChoice]) -> dict[str, ItemScores]:
        """Lines that begin with the id of their item, in any order."""
        found: dict[str, ItemScores] = {}
        wanted = {item.id: item for item in items}
        for number, (identity, *row) in enumerate(self._rows, 1):
            place = at(self._path, number)
            if identity in found:
                raise BabelscopeError(f"{place}: the item {identity!r} stands there twice")
            if identity not in wanted:
                raise BabelscopeError(f"{place} has scores of {identity!r}, which the test set does not have")
            found[identity] = self._from_columns(row, wanted[identity], number, best=False)
        if lost := next((identity for identity in wanted if identity not in found), None):
            raise BabelscopeError(f"{self._path} has no scores of item {lost}")
        return found

    def _number(self, text: str, line: int) -> float:
        place = at(self._path, line)
        try:
            # To Python, 1_0 is a number too.
            number = math.nan if "_" in text else float(text)
            fault = "is no score" if math.isnan(number) else None
        except ValueError:
            fault = "is not a number"
        if fault:
            raise BabelscopeError(f"{place}: {shorten(text)} {fault}")
        if self._sign * number == math.inf:
            raise BabelscopeError(
                f"{place}: {shorten(text)} is better than any score; is the direction right?"
            )
        return self._sign * number


def open_scores(rest: str, options: Options) -> ScoresFile:
    """`scores:FILE?direction=higher|lower&layout=auto|blocks|interleaved|columns&lines=blocks|interleaved`."""
    if not rest:
        raise BabelscopeError(f"{options.spec} names no file; example: scores:model.scores?layout=blocks")
    return ScoresFile(
        rest,
        direction=cast(Direction, options.choice("direction", DIRECTIONS, "higher")),
        layout=cast(Layout, options.choice("layout", LAYOUTS, "auto")),
        lines=options.choice("lines", ("", "blocks", "interleaved"), ""),
    )
