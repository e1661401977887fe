"""Sections of a report: from the method's view, else as the run has stored them, else a table of all figures."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from babelscope.core.comparison import Comparison, StoredRun, figure_key
from babelscope.core.page import About, Answer, Caveat, Finding, Headline, Line, Section, Tone, View, plain
from babelscope.core.results import Record, Row
from babelscope.core.system import TOLD
from babelscope.methods.view import count_behind, every_figure, find_view, noted_of
from babelscope.methods.view import section_of as section_of_view

# --- The view of methods that have none: all figures, and the fields of their records ------------------------------

_KEYS = ("method", "system", "tests", "item", "id", "source", "extra")
_FEW = 3
"""Figures of a cell in a summary."""
_TONES: Mapping[str, Tone] = {"correct": "none", "right": "none", "wrong": "errors", "tie": "some"}


def about(record: Record) -> About:
    groups = [str(record[name]) for name in ("phenomenon", "category", "reference") if name in record]
    return About(str(record.get("source", "")), tuple(groups), ", ".join(groups))


def answer(record: Record, _settings: Mapping[str, Any]) -> Answer:
    verdict = record.get("verdict")
    known = verdict if isinstance(verdict, str) else ""
    score = next(
        (record[name] for name in ("margin", "score") if isinstance(record.get(name), int | float)), None
    )
    return Answer(known, _TONES.get(known, "note"), score, lines=lambda: _lines(record))


def _lines(record: Record) -> list[Line]:
    """Every field that is text or a number, or a list of such, by its name."""
    found: list[Line] = []
    for name, value in record.items():
        if name not in _KEYS:
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, str | int | float):
                    found.append((name, f"{each:.4g}" if isinstance(each, float) else str(each)))
    return found


def generic_section(group: Comparison) -> Section:
    """Every figure, a line each."""
    cell = group.results[0]
    summary = cell.run.manifest.methods[cell.method].summary
    return Section(
        title=cell.kind.replace("_", " ").capitalize(),
        question=f"{summary[:1].upper()}{summary[1:]}." if summary else "",
        tables=every_figure(group),
    )


def headline(rows: Sequence[Row]) -> list[Headline]:
    """The first figures over all items: those without a label of their own, or whose labels say `all`."""
    labels = [dict(figure_key(row)[1]) for row in rows]
    names = dict.fromkeys(name for own in labels for name in own)
    varying = [name for name in names if len({own.get(name) for own in labels}) > 1]
    told = [[str(own[name]) for name in varying if name in own and own[name] != "all"] for own in labels]
    named = []
    for row, said in zip(rows, told, strict=True):
        name = row.name.replace("_", " ")
        named.append(Headline(f"{name} ({', '.join(said)})" if said else name, row))
    whole = [headline for headline, said in zip(named, told, strict=True) if not said]
    return (whole or named)[:_FEW]


VIEW = View(generic_section, about, answer, headline)


# --- Sections of a report: from the method's view, else as the run has stored them ---------------------------------

_MOST_WHY = 90
"""Characters of reasons, so that a warning has no more than two lines."""


def shown_by(group: Comparison) -> tuple[Section, View]:
    """The section of a group, and the view that shows its items."""
    view = find_view(group.results[0].kind)
    if view is None:
        # Items are shown by their fields then, so links are counted by what these filter.
        section = stored(group) or generic_section(group)
        return count_behind(section, group, VIEW), VIEW
    return section_of_view(group, view), view


def caveats_of(contents: Sequence[tuple[Comparison, Section]]) -> list[str]:
    """The caveats of one method: each text once, after the systems and test sets it holds for."""
    found: dict[str, dict[str, list[str]]] = {}
    for group, section in contents:
        for caveat in caveats_in(group, section):
            found.setdefault(caveat.text, {}).setdefault(caveat.system, []).append(group.tests)
    said = []
    for text, systems in found.items():
        names = [
            f"{name} ({', '.join(tests)})" if len(contents) > 1 else name for name, tests in systems.items()
        ]
        said.append(f"{', '.join(names)}: {text}")
    return said


def caveats_in(group: Comparison, section: Section) -> list[Caveat]:
    """What must be known of each system: what no figure counts, then what the method says."""
    return [*_counted(group), *section.caveats]


def _counted(group: Comparison) -> Iterator[Caveat]:
    """What no figure counts, and why, where the reading of the test set says so; and answers with chatter."""
    for column in group.results:
        cell = column
        reasons = {
            reason: count
            for part in cell.run.manifest.jobs
            if (part.method, part.system, part.tests) == (cell.method, cell.system, cell.tests)
            for reason, count in part.skipped.items()
        }
        why = "; ".join(f"{count} {reason}" for reason, count in reasons.items())
        why = (
            f" ({why if len(why) <= _MOST_WHY else f'{len(reasons)} reasons: manifest.json'})" if why else ""
        )
        names = {"skipped": f"were skipped and are in no figure{why}", **TOLD}
        yield from noted_of(column.name, cell.rows, names)


def figure_of(finding: Finding) -> tuple[str, str]:
    """A finding's value and its interval."""
    form: Callable[[float], str] = (lambda each: f"{100 * each:.1f} %") if finding.share else plain
    return form(finding.estimate.value), finding.estimate.interval(form)


def stored(group: Comparison) -> Section | None:
    """The stored sections of a group's runs joined, with the page's names; None if a run has stored none."""
    names: dict[str, dict[str, str]] = {}
    cells = {}
    for column in group.results:
        path = str(column.run.path)
        cells[path] = column
        names.setdefault(path, {})[column.system] = column.name
    found = []
    for path, cell in cells.items():
        section = section_of(cell.run, cell.method, cell.tests)
        if section is None:
            return None
        found.append(Section.from_json(_renamed(section, names[path], group.tests)))
    return dataclasses.replace(
        found[0],
        findings=[each for section in found for each in section.findings],
        caveats=[each for section in found for each in section.caveats],
        pictures=[each for section in found for each in section.pictures],
        tables=[each for section in found for each in section.tables],
    )


def section_of(run: StoredRun, method: str, tests: str) -> object:
    """The section that a run has stored of a method on a test set, as JSON; None if it has none."""
    for each in run.sections:
        if (each["method"], each["tests"]) == (method, tests):
            return each["section"]
    return None


def _renamed(value: Any, systems: Mapping[str, str], tests: str) -> Any:
    """Replace the names of systems and test set in a stored section by those that the page uses."""
    if isinstance(value, list):
        return [_renamed(each, systems, tests) for each in value]
    if not isinstance(value, dict):
        return value
    found = {name: _renamed(each, systems, tests) for name, each in value.items()}
    if isinstance(found.get("system"), str):
        found["system"] = systems.get(found["system"], found["system"])
    return found | ({"tests": tests} if "tests" in found else {})
