"""Which fields of a record can be compared between systems: data, so that it can be stored with a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from babelscope.core.results import Record

PartLabels = tuple[tuple[str, str], ...]
"""The labels of the items that are compared (category, phenomenon, measure); empty for all items."""

_SHARE = "share of items"


@dataclass(frozen=True, slots=True)
class Comparable:
    """A number that each record has, or a verdict that is worth one."""

    field: str | tuple[str, ...]
    """Field of the record; ("scores", "bleu") is the field `bleu` inside the field `scores`."""
    unit: str = _SHARE
    """What differences are counted in; values of a share are from 0 to 1, or true and false."""
    measure: str = ""
    """A label to distinguish it from other comparable fields of the method."""
    of: str = ""
    """The figure whose difference the mean difference of the field is: the name of a row, `{LABEL}` standing for the
    value of a field of `by`, and labels that tell it apart, as `compare --figure` has them."""
    by: tuple[str, ...] = ()
    """Fields of the record by whose values items are compared separately."""
    worth: Mapping[str, float] | None = None
    """Value of each verdict, if the field is a verdict; records with other verdicts are left out."""
    higher_is_better: bool = True
    cluster: str = "source"
    """Items with the same value of this field are resampled together: those of one source are not independent."""
    worst_of: str = ""
    """Compare only the groups by this field in which either system is worst, not all items."""
    weight: str = ""
    """Field of the record that says what it counts there; each system has its own."""
    unranked: tuple[str, ...] = ()
    """Values of `worst_of`, or of fields of `by`, that are no group."""

    def value(self, record: Record) -> float | None:
        """The number that is compared; None if the record has none."""
        found: Any = record
        for name in self._path:
            found = found.get(name) if isinstance(found, Mapping) else None
        if found is None:
            return None
        if self.worth is not None and isinstance(found, str):
            return self.worth.get(found)
        if self.worth is None and isinstance(found, int | float):
            return float(found) if math.isfinite(found) else None
        raise TypeError(f"the field {self.field!r} of a record cannot be {found!r}")

    @property
    def is_verdict(self) -> bool:
        """Whether its values are those of verdicts, each worth 0 to 1."""
        if self.worth is None:
            return self.unit == _SHARE
        return all(0 <= each <= 1 for each in self.worth.values())

    @property
    def _path(self) -> tuple[str, ...]:
        return (self.field,) if isinstance(self.field, str) else self.field

    def part(self, record: Record) -> PartLabels:
        """The labels of the part that the record belongs to."""
        measure = (("measure", self.measure),) if self.measure else ()
        own = {name: str(record.get(name, "")) for name in self.by}
        return (*measure, *own.items(), *((("of", self.figure(own)),) if self.of else ()))

    def figure(self, part: Mapping[str, str]) -> str:
        """The name of the figure of a part."""
        found = self.of
        for name, value in part.items():
            found = found.replace(f"{{{name}}}", value)
        return found
