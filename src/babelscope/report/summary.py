"""What a command ends in: the figures that matter, findings in plain words, and where all the rest is."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

from babelscope.core.comparison import Comparison, SystemResult
from babelscope.core.page import Finding, Headline, Section, View, count_of
from babelscope.core.results import Result, Row
from babelscope.core.tables import Table, as_text, by_shape
from babelscope.report import sections
from babelscope.report.paired import paired_findings
from babelscope.report.sections import caveats_in, figure_of, shown_by
from babelscope.runs.compare import headlines_table
from babelscope.util.terminal import FIRM, draw, visible, wrap

MOST_LINES = 40
_TAGS = {"errors": "Errors", "some": "Weakness", "none": "None seen", "note": "Note"}
_COUNTS = ("ties", "within_noise", "skipped", "unresolved")
_AHEAD = (1, 1.0)
"""Differences between systems stand after weaknesses, and before what was not seen."""
_LEAST_LINES = 14
_MOST_OVER_PROMPTS = 4
_MOST_NAMES = 36
"""Characters of names before a warning, so that it has no more than two lines."""
_UNSAID = next(each.default for each in dataclasses.fields(View) if each.name == "headline")
"""The headline of a view that has none of its own."""
_INDENT, _HANGING = " " * 2, " " * 13


@dataclass(frozen=True, slots=True)
class _Shown:
    """A method on a test set, and what is shown of it."""

    group: Comparison
    section: Section
    headlines: Sequence[tuple[str, Sequence[Headline]]]
    """Of each system."""
    view: View
    overview: Table | None = None
    """The method's own table of these, if it has one."""

    def severity(self, system: str) -> tuple[int, float]:
        """How bad the worst finding about a system is; worst first."""
        return min(
            (each.severity for each in self.section.findings if each.system == system), default=(9, 0.0)
        )


@dataclass(frozen=True, slots=True)
class _Figure:
    """A line of the table of figures."""

    shown: _Shown
    system: str
    headline: Headline


def summarize(result: Result, *, width: int, places: Sequence[str] = (), most: int = MOST_LINES) -> str:
    """A result in about `most` lines: title, figures, findings, all caveats, then where the rest is."""
    shown = [_shown(group, alone=len(result.groups) == 1) for group in result.groups]
    title = _title(result, width)
    figures = [
        _Figure(each, system, headline)
        for each in shown
        for system, own in each.headlines
        for headline in own
    ]
    findings, caveats = _findings(result, shown, width), _caveats(shown, width)
    closing = _closing(result, len(result.rows), places, width)
    over, counted = _over_prompts(shown, width)
    # Warnings are never cut: what they leave is for figures and findings, but enough for some of each.
    room = max(_LEAST_LINES, most - len(title) - len(closing) - len(over) - 1 - _height(caveats))
    table, count = _fitted(shown, figures, width, max(room // 2, room - _height(findings)))
    room -= len(table) + (1 if table else 0)
    said = _part("What stands out, worst first:", findings, room, "findings")
    kept = ["", "Keep in mind:", *(line for lines in caveats for line in lines)] if caveats else []
    closing = _closing(result, len(result.rows) - count - counted, places, width)
    parts = [[*title, "", *table] if table else title, over, said, kept, ["", *closing]]
    return "\n".join(line for part in parts for line in part)


def frame(result: Result, text: str, *, width: int, places: Sequence[str] = ()) -> str:
    """Another text in the place of figures, findings and caveats: title, text, then where all the rest is."""
    return "\n".join([*_title(result, width), text, "", *_closing(result, len(result.rows), places, width)])


def everything(
    result: Result, tables: Sequence[Table], *, width: int | None, places: Sequence[str] = ()
) -> str:
    """Every row, in tables folded to the width, after those that the method has of its own."""
    parts = [as_text(table, width) for table in (*tables, *by_shape(result.rows))]
    closing = [result.signature] if width is None else _closing(result, 0, places, width)
    return "\n\n".join([*parts, result.told_unanswered() + "\n".join(closing)])


def _shown(group: Comparison, *, alone: bool) -> _Shown:
    """What is shown of a group; the method's own table only if it is `alone`, since tables cannot be joined."""
    section, view = shown_by(group)
    overview = view.overview(group) if view.overview and alone else None
    headlines = [(column.name, _headlines(column, view, whole=overview is None)) for column in group.results]
    return _Shown(group, section, headlines, view, overview)


def _headlines(cell: SystemResult, view: View, *, whole: bool) -> list[Headline]:
    """The figures of a cell that matter most (`whole`), then the first of them for each value of a field."""
    headline = sections.headline if view.headline is _UNSAID else view.headline
    first_of_all = [*headline(cell.rows)]
    if not first_of_all:  # a part of what cannot be believed cannot be, either
        return []
    found = first_of_all if whole else []
    parts: dict[str, list[Row]] = {}
    for row in cell.parts:
        by = str(row.labels["by"])
        parts.setdefault(f"{by} {row.labels[by]}", []).append(row)
    for name, rows in parts.items():
        for first in [*headline(rows)][:1]:
            found.append(dataclasses.replace(first, name=f"{first.name}, {name}"))
    return found


def _title(result: Result, width: int) -> list[str]:
    """What was judged, and what was left out."""
    groups = result.groups
    methods = dict.fromkeys(group.method for group in groups)
    tests = dict.fromkeys(group.tests for group in groups)
    systems = dict.fromkeys(column.system for group in groups for column in group.results)
    asked = [
        _named(each, what)
        for each, what in ((systems, "systems"), (tests, "test sets"), (methods, "methods"))
    ]
    said = f"{'; '.join(asked)}; {count_of(len(result.records), 'answers')} judged"
    lines = wrap(said, width)
    return [*lines, *wrap(result.told_unanswered().rstrip("\n"), width)] if result.unanswered else lines


def _named(names: Sequence[str] | dict[str, None], what: str) -> str:
    """One by its name, several by their number."""
    only, *others = names
    return count_of(len(names), what) if others else f"{what.removesuffix('s')} {visible(only)}"


# -- figures --------------------------------------------------------------------------------------------


def _fitted(
    shown: Sequence[_Shown], figures: Sequence[_Figure], width: int, room: int
) -> tuple[list[str], int]:
    """A method's own table, then that of other figures, in at most `room` lines; and how many figures there are."""
    own = [each.overview for each in shown if each.overview is not None]
    if not own:
        return _fitted_table(figures, width, room)
    lines, count = _fitted_overview(own[0], width, room // 2 if figures else room)
    below, more = _cut_table(figures, "first", width, room - len(lines) - 1)
    return [*lines, *([""] if below else []), *below], count + more


def _fitted_overview(table: Table, width: int, room: int) -> tuple[list[str], int]:
    """A table without the last lines that have no room, and how many figures it has."""
    rows = list(table.rows)
    while rows:
        left = len(table.rows) - len(rows)
        told = [f"… {count_of(left, 'lines')} more: --all"] if left else []
        drawn = [*as_text(dataclasses.replace(table, rows=rows), width).split("\n"), *told]
        if len(drawn) <= room:
            # The first column after the labels is n.
            figures = [cell for row in rows for cell in row[table.labels + 1 :]]
            return drawn, sum(cell not in ("", "–") for cell in figures)
        rows.pop()
    return [], 0


def _fitted_table(figures: Sequence[_Figure], width: int, room: int) -> tuple[list[str], int]:
    """The table of figures in at most `room` lines, and how many it has: all, or the first of each, worst first."""
    if len(drawn := _table(figures, width)) <= room:
        return drawn, len(figures)
    main = [each for each in figures if each.headline is dict(each.shown.headlines)[each.system][0]]
    if len(drawn := _table(main, width)) <= room:
        return drawn, len(main)
    main.sort(key=lambda each: each.shown.severity(each.system))
    return _cut_table(main, "worst", width, room)


def _cut_table(figures: Sequence[_Figure], which: str, width: int, room: int) -> tuple[list[str], int]:
    """As many figures as have room, in their order, and how many these are; `which` says what the first are."""
    if figures and len(drawn := _table(figures, width)) <= room:
        return drawn, len(figures)
    fitting = list(figures[: max(0, room)])
    while fitting and len(drawn := _table(fitting, width)) >= room:
        fitting.pop()
    if not fitting:
        return [], 0
    return [f"The {which} {len(fitting)} of {count_of(len(figures), 'figures')}:", *drawn], len(fitting)


def _table(figures: Sequence[_Figure], width: int) -> list[str]:
    """One line per figure; test set and method only where there are several."""
    if not figures:
        return []
    cells = [(each.shown.group, each.headline) for each in figures]
    labels = {
        "method": [group.method for group, _ in cells],
        "test set": [group.tests for group, _ in cells],
        "system": [each.system for each in figures],
        "figure": [headline.name for _, headline in cells],
    }
    if not _are_alike([group for group, _ in cells]):
        del labels["method"]
    if len(set(labels["test set"])) == 1:
        del labels["test set"]
    counts = [name for name in _COUNTS if any(headline.row.counts.get(name) for _, headline in cells)]
    rows = [
        [*told, *_numbers(headline), *(str(headline.row.counts.get(name, "")) for name in counts)]
        for told, (_, headline) in zip(zip(*labels.values(), strict=True), cells, strict=True)
    ]
    headings = [*labels, "value", "95 % interval", "n", *counts]
    return draw(headings, rows, right=range(len(labels), len(headings)), width=width).split("\n")


def _are_alike(groups: Sequence[Comparison]) -> bool:
    """Whether a method is there twice, under other settings: the name of a figure does not say whose it is."""
    return len({group.method for group in groups}) > len({group.results[0].kind for group in groups})


def _numbers(headline: Headline) -> list[str]:
    """Value, interval and n as text."""
    estimate = headline.row.estimate
    if not estimate.n:
        return ["–", "–", "0"]
    if headline.unit == "percent":
        return [
            f"{100 * estimate.value:.1f} %",
            estimate.interval(lambda each: f"{100 * each:.1f}"),
            f"{estimate.n:,}",
        ]
    form = "{:.4g}".format
    return [form(estimate.value), estimate.interval(form), f"{estimate.n:,}"]


def _over_prompts(shown: Sequence[_Shown], width: int) -> tuple[list[str], int]:
    """The first figures over several prompts, with their spread, and how many rows have these."""

    def headlines(each: _Shown) -> Callable[[SystemResult], Sequence[Headline]]:
        return lambda column: _headlines(column, each.view, whole=True)

    table = headlines_table((each.group, headlines(each)) for each in shown)
    if table is None:
        return [], 0
    sizes = sorted({row[-1] for row in table.rows})
    whole = len(sizes) > 1  # else the title says how many prompts there are
    headings, *kept = (
        list(row) if whole else row[:-1] for row in (table.headings, *table.rows[:_MOST_OVER_PROMPTS])
    )
    drawn = draw(headings, kept, right=range(table.labels, len(headings)), width=width).split("\n")
    left = len(table.rows) - len(kept)
    more = [f"… {count_of(left, 'figures')} more over prompts: --all"] if left else []
    title = f"Over {'several' if whole else sizes[0]} prompts (chosen, not drawn: no interval):"
    return ["", title, *drawn, *more], 4 * len(kept)


# -- findings and caveats -------------------------------------------------------------------------------


def _findings(result: Result, shown: Sequence[_Shown], width: int) -> list[list[str]]:
    """Every finding and significant difference as lines, worst first."""
    several = len({each.group.tests for each in shown}) > 1
    alike = _are_alike([each.group for each in shown])
    found: list[tuple[tuple[int, float], list[str]]] = []
    for each in shown:
        tests = each.group.tests
        for finding in each.section.findings:
            subject = [finding.system, each.group.method] if alike else [finding.system]
            subject += [tests] if several and tests not in finding.claim else []
            tag = finding.tag or _TAGS[finding.tone]
            found.append((finding.severity, _said(tag, ", ".join(subject), finding, width)))
        for finding in paired_findings(_differences(result, each.group), each.section):
            found.append((_AHEAD, _said("Difference", finding.tag, finding, width)))
    return [lines for _, lines in sorted(found, key=lambda pair: pair[0])]


def _said(tag: str, subject: str, finding: Finding, width: int) -> list[str]:
    value, interval = (each.replace(" ", FIRM) for each in figure_of(finding))
    size = f"{'of' if finding.share else 'over'} {finding.estimate.n:,}{FIRM}{finding.of}"
    more = f"; {visible(finding.more)}" if finding.more else ""
    claim = f"{visible(subject)}: {visible(finding.claim)}: {value} {interval} {size}{more}"
    first = f"{_INDENT}{tag.replace(' ', FIRM)}"
    return wrap(claim, width, indent=f"{first:<{len(_HANGING)}}", hanging=_HANGING)


def _differences(result: Result, group: Comparison) -> list[Row]:
    """Systems compared item by item, with a p-value that is corrected for their number."""
    own = group.labels.items()
    compared = result.rows[len(result.rows) - result.comparisons :]
    return [
        row
        for row in compared
        if row.name == "difference" and "p_holm" in row.labels and own <= row.labels.items()
    ]


def _caveats(shown: Sequence[_Shown], width: int) -> list[list[str]]:
    """Every warning, equal ones once: whom they hold for, then the text; counts that differ as a range."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for each in shown:
        for caveat in caveats_in(each.group, each.section):
            key = caveat.text if "[" in caveat.text else _COUNT.sub("#", caveat.text)
            found.setdefault(key, []).append((caveat.system, each.group.tests, caveat.text))
    systems = {column.name for each in shown for column in each.group.results}
    tests = {each.group.tests for each in shown}
    lines = []
    for own in found.values():
        whom = _named_or_counted([system for system, _, _ in own], systems, "systems")
        where = {place for _, place, _ in own}
        if where != tests:
            whom += f", {_named_or_counted(sorted(where), tests, 'test sets')}"
        said = f"{whom}: {_joined([text for _, _, text in own])}"
        lines.append(wrap(visible(said), width, indent=_INDENT, hanging="    "))
    return lines


_COUNT = re.compile(r"(?<!\S)\d[\d,]*(?!\S)")


def _joined(texts: Sequence[str]) -> str:
    """Texts that differ in counts at most as one, with ranges."""
    numbers = zip(
        *([int(each.replace(",", "")) for each in _COUNT.findall(text)] for text in texts), strict=True
    )
    ranges = iter(
        [f"{min(own):,} to {max(own):,}" if len(set(own)) > 1 else f"{own[0]:,}" for own in numbers]
    )
    return _COUNT.sub(lambda _found: next(ranges), texts[0]) if len(set(texts)) > 1 else texts[0]


def _named_or_counted(names: Sequence[str], of: Set[str], what: str) -> str:
    """Some of several by their names, or by their number where these are long."""
    known = list(dict.fromkeys(names))
    if len(known) == len(of) > 1:
        return f"all {len(of)} {what}"
    named = ", ".join(known)
    if len(named) <= _MOST_NAMES:
        return named
    return f"{len(known)} of {len(of)} {what}" if len(known) > 1 else f"…{named[1 - _MOST_NAMES :]}"


def _height(entries: Sequence[Sequence[str]]) -> int:
    """Lines that a part takes: an empty one, its heading, and all entries."""
    return 2 + sum(map(len, entries)) if entries else 0


def _part(heading: str, entries: Sequence[Sequence[str]], room: int, what: str) -> list[str]:
    """A heading and as many entries as fit, then how many are left out."""
    if not entries:
        return []
    whole = ["", heading, *(line for lines in entries for line in lines)]
    if len(whole) <= room:
        return whole
    found = ["", heading]
    left = len(entries)
    for lines in entries:
        if len(found) + len(lines) + 1 > room:
            break
        found += lines
        left -= 1
    return [*found, f"{_INDENT}… {count_of(left, what)} more, which a report shows"]


# -- the end --------------------------------------------------------------------------------------------


def _closing(result: Result, left: int, places: Sequence[str], width: int) -> list[str]:
    """How many rows were not shown, where all of it is, and the end of the signature."""
    whole = "summary.json" if result.folder else "--json"
    more = wrap(f"… {count_of(left, 'rows')} more: --all, or {whole}", width) if left else []
    return [*more, *places, *wrap(f"signature: {result.short_signature} (whole: {whole})", width)]
