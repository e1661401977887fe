"""What is shown of one method on one test set: its tables with all warnings, its charts, and what differs."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from babelscope.core.charts import Chart
from babelscope.core.comparison import SEED, Comparison, SystemResult
from babelscope.core.results import Result, Row, grouped
from babelscope.core.settings import MethodSettings
from babelscope.core.system import REPORTED_FLAGS
from babelscope.core.tables import Note, Table, all_rows
from babelscope.methods.base import Method
from babelscope.methods.registry import method_names
from babelscope.methods.reporting import count_notes_of
from babelscope.report.differences import Difference, difference_charts, differences_table, significant
from babelscope.report.factors import factor_charts, factor_notes
from babelscope.runs.compare import prompt_rows, seed_rows, spread_table

_MOST_WHY = 90
"""Characters of reasons, so that a warning has no more than two lines."""


def method_of(result: SystemResult) -> Method:
    """The method of a result under its settings; where it is not installed, one that shows plain rows and records."""
    if result.kind in method_names():
        found: Method = result.run.manifest.method_of(result.method)
        return found
    summary = result.run.manifest.methods[result.method].summary
    title = summary or result.kind.replace("_", " ").capitalize()
    unknown = type("Unknown", (Method,), {"__doc__": title, "name": result.kind, "items": ()})
    made: Method = unknown(MethodSettings.model_construct(), label=result.method)
    return made


def sections_of(result: Result) -> list[Section]:
    """What is shown of each method and test set of a result."""
    differences = [row for row in result.comparisons if row.name == "difference" and "p_holm" in row.labels]
    return [
        Section(group, [row for row in differences if group.labels.items() <= row.labels.items()])
        for group in result.groups
    ]


@dataclass(frozen=True)
class Section:
    """One method on one test set."""

    comparison: Comparison
    differences: Sequence[Row]
    """Rows `difference` between its systems."""

    @cached_property
    def method(self) -> Method:
        return method_of(self.comparison.results[0])

    @cached_property
    def tables(self) -> list[Table]:
        """The tables of the method; the first has all warnings."""
        first, *others = self.method.tables(self.comparison)
        notes = [*_count_notes(self.comparison), *first.notes, *factor_notes(self.comparison)]
        return [dataclasses.replace(first, notes=notes), *others]

    @cached_property
    def charts(self) -> list[Chart]:
        return [
            *self.method.charts(self.comparison),
            *factor_charts(self.comparison, self.tables[0]),
            *difference_charts(self.comparison, self.differences),
        ]

    @property
    def significant(self) -> list[Difference]:
        return list(significant(self.differences))

    @property
    def title(self) -> str:
        title = _paragraphs(self.method)[0].removesuffix(".")
        label, kind = self.comparison.method, self.method.name
        return title if label == kind else f"{title} ({label})"

    @property
    def question(self) -> str:
        return next(iter(_paragraphs(self.method)[1:]), "")

    @property
    def reading(self) -> list[str]:
        """How to read the figures, in paragraphs."""
        return _paragraphs(self.method)[2:]

    def by_field(self) -> Iterator[Table]:
        """The first table for each value of the fields by which figures were asked for."""
        parts: dict[tuple[str, str], list[SystemResult]] = {}
        for result in self.comparison.results:
            for key, rows in grouped(map(_without_part, result.parts)).items():
                parts.setdefault(key, []).append(dataclasses.replace(result, all_rows=rows, load=tuple))
        for (name, value), results in parts.items():
            part_of = dataclasses.replace(self.comparison, results=tuple(results))
            table = self.method.tables(part_of)[0]
            yield dataclasses.replace(table, title=f"{name} {value}: {table.title}", notes=(), name="")

    def comparing(self) -> Iterator[tuple[Table, str]]:
        """Tables about several systems together, each with how to read it."""
        if self.differences:
            yield (
                differences_table(self.differences),
                "A difference is that of the figures named under “of”, over the items that both systems have. A win "
                "is an item on which the first system is better. p is the probability of such a difference if there "
                "were none; p_holm is corrected for the number of tests (Holm).",
            )
        if seeds := self._seeds():
            yield (
                spread_table(seeds),
                "Systems that differ by their seed only. Intervals are over seeds, by Student’s t: they cover other "
                "trainings, not other sentences.",
            )
        if prompts := prompt_rows(self.comparison):
            yield (
                spread_table(prompts),
                "Systems that differ by their prompt only. Prompts are chosen, not drawn: there is no interval.",
            )

    def _seeds(self) -> list[Row]:
        """Means over seeds, where a study names these."""
        results = self.comparison.results
        # Patterns are of names within one run; systems of several may have other names here.
        patterns = {str(each.run.path): each.run.manifest.seed_groups for each in results}
        own = next(iter(patterns.values())) if len(patterns) == 1 else []
        if not own and not any(SEED in each.factors for each in results):
            return []
        return [row for row in seed_rows(self.comparison, own) if row.name != "seed_difference"]

    def every_row(self) -> Table:
        """A table of all rows."""
        rows = [
            dataclasses.replace(row, labels={"system": each.name, **row.labels})
            for each in self.comparison.results
            for row in each.all_rows
        ]
        return all_rows(f"All figures: {self.comparison.method} on {self.comparison.tests}", rows)


def _without_part(row: Row) -> tuple[tuple[str, str], Row]:
    """The field and value that a row is limited to, and the row without them."""
    name = str(row.labels["by"])
    labels = {key: value for key, value in row.labels.items() if key not in ("by", name)}
    return (name, str(row.labels[name])), dataclasses.replace(row, labels=labels)


def _paragraphs(method: Method) -> list[str]:
    """The docstring of a method: title, question, and how to read its figures."""
    text = inspect.cleandoc(type(method).__doc__ or method.name)
    return [" ".join(part.split()) for part in text.split("\n\n")]


def _count_notes(comparison: Comparison) -> Iterator[Note]:
    """What no figure counts, and why, where the reading of the test set gives a reason; and flagged answers."""
    for result in comparison.results:
        reasons = {
            reason: count
            for job in result.run.manifest.jobs
            if (job.method, job.system, job.tests) == (result.method, result.system, result.tests)
            for reason, count in job.skipped.items()
        }
        why = "; ".join(f"{count} {reason}" for reason, count in reasons.items())
        short = why if len(why) <= _MOST_WHY else f"{len(reasons)} reasons: manifest.json"
        names = {
            "skipped": f"were skipped and are in no figure{f' ({short})' if why else ''}",
            **REPORTED_FLAGS,
        }
        yield from count_notes_of(result.name, result.rows, names)
