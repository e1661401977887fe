"""The report: finished run folders become one HTML page, which needs no network and no other file."""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from babelscope.core.charts import Chart, slug
from babelscope.core.comparison import Comparison
from babelscope.core.results import Estimate, Result, grouped
from babelscope.core.tables import Line, Table
from babelscope.core.tables import render as render_tables
from babelscope.methods.registry import SUMMARIES, method_names
from babelscope.methods.reporting import Tone, count_of, plain
from babelscope.report.charts import Format, Series, as_file, as_svg, figure, swatch
from babelscope.report.differences import Difference
from babelscope.report.flows import flow_charts
from babelscope.report.items import CAP, count_shown, items_of
from babelscope.report.sections import Section, sections_of
from babelscope.runs.compare import NotComparable, group_runs, paired_differences, run_names
from babelscope.runs.reading import Run, read_run
from babelscope.util.errors import BabelscopeError, explain_damage
from babelscope.util.files import replacing
from babelscope.util.progress import progress
from babelscope.util.terminal import HIDDEN, mark_hidden
from babelscope.util.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_FINDINGS = 12
"""Lines about a system at the top of the page; the tables below have all."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A line of a method's first table, with a link to the items behind it."""

    system: str
    claim: str
    value: str
    interval: str
    size: str
    """How many items it is over, and evidence."""
    tag: str
    tone: Tone
    section: str
    query: Mapping[str, str]
    behind: int = 0
    """How many items the link shows in all, and how many of them are on the page; if 0, it shows all items."""
    on_page: int = 0
    bar: Sequence[str] = ()
    """Of proportions: where low end, value and high end stand on a line of 88 units."""

    @property
    def link(self) -> tuple[Mapping[str, str], str]:
        """The filter of items that the finding links to, and the text of the link."""
        if not self.behind:
            whole = {name: value for name, value in self.query.items() if name not in ("verdict", "group")}
            return whole, "all items"
        if self.on_page == self.behind:
            return self.query, count_of(self.behind, "items")
        return self.query, f"{self.on_page:,} of {count_of(self.behind, 'items')}"


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table in the page, with the signatures of the runs whose figures it has."""

    table: Table
    html: Markup
    signatures: Sequence[str]
    folded: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A chart and how the page shows it."""

    chart: Chart
    svg: Markup


@dataclass(frozen=True, slots=True)
class Part:
    """The charts and tables of a method on one test set."""

    name: str
    """METHOD-TESTS, for names of files."""
    title: str
    charts: Sequence[Drawn]
    tables: Sequence[ShownTable]


@dataclass(frozen=True, slots=True)
class Chapter:
    """One method in the page, with all test sets it was run on."""

    key: str
    about: Section
    """That of the first test set: title, question and how to read the figures are the same for all."""
    parts: Sequence[Part]
    items: Mapping[str, Any]
    findings: Sequence[Finding]
    differences: Sequence[Finding]
    """Differences between systems that are significant after correction."""
    is_compared: bool
    warnings: Sequence[str]

    @property
    def title(self) -> str:
        return self.about.title


@dataclass(frozen=True, slots=True)
class Report:
    """What the page shows."""

    runs: Sequence[Run]
    series: Series
    sections: Sequence[Chapter]
    flows: Sequence[Drawn] = ()
    apart: str = ""
    """Why the runs cannot be compared with each other; empty if they can."""
    findings: Mapping[str, Sequence[Finding]] = field(default_factory=dict)
    """Findings of each system, worst first."""

    @property
    def run_names(self) -> Mapping[str, str]:
        return run_names(self.runs)

    @property
    def studies(self) -> str:
        return ", ".join(dict.fromkeys(run.manifest.study or run.name for run in self.runs))

    @property
    def title(self) -> str:
        *names, last = self.series
        if len(names) > 2:
            return f"What {len(self.series)} systems get wrong"
        return f"What {', '.join(names)} and {last} get wrong" if names else f"What {last} gets wrong"

    @property
    def lede(self) -> str:
        """One sentence: how many systems, test sets, methods and items."""
        tests = dict.fromkeys(name for section in self.sections for name in section.items["tests"])
        asked = sum(job.items for run in self.runs for job in run.manifest.jobs)
        return (
            f"{count_of(len(self.series), 'systems')}, {count_of(len(tests), 'test sets')} ({', '.join(tests)}), "
            f"{count_of(len(self.sections), 'methods')}: {count_of(asked, 'items')} judged."
        )

    def tally(self, system: str) -> str:
        """One sentence: how many error rates were tested, and how many are significant."""
        tags = Counter(finding.tag for finding in self.findings[system])
        errors, others = tags["Error"], tags["Not significant"]
        if not errors + others:
            return ""
        tested = count_of(errors + others, "error rates")
        return f"{tested} tested: {errors or 'none'} significantly above the threshold."

    @property
    def short_titles(self) -> dict[str, str]:
        """Section -> its title up to the colon."""
        return {section.key: section.title.partition(":")[0] for section in self.sections}

    @property
    def compared(self) -> bool:
        return any(section.is_compared for section in self.sections)

    @property
    def charts(self) -> dict[str, Chart]:
        """All charts by the names of their files."""
        parts = [(part.name, part.charts) for section in self.sections for part in section.parts]
        return named_charts(
            (name, [drawn.chart for drawn in own]) for name, own in (*parts, ("flows", self.flows))
        )

    @property
    def differences(self) -> list[Finding]:
        return [finding for section in self.sections for finding in section.differences]

    @staticmethod
    def skipped(run: Run) -> int:
        return sum(sum(job.skipped.values()) for job in run.manifest.jobs)


def write_report(
    runs: Sequence[str | Path],
    out: str | Path,
    *,
    cap: int = CAP,
    seed: int = 0,
    figures: str | Path | None = None,
    figure_format: Format = "pdf",
) -> Path:
    """Write one page about finished run folders; systems that were run on the same test sets are compared.

    In the folder `figures`, every chart becomes a file at paper size: METHOD-TESTS-NAME.pdf, .svg or .png.
    """
    with explain_damage(", ".join(map(str, runs))):
        report = collect([read_run(path) for path in runs], cap=cap, seed=seed)
        page = render(report)
    files = {Path(out): page.encode("utf-8")}
    if figures is not None:
        for name, chart in report.charts.items():
            path = Path(figures) / f"{name}.{figure_format}"
            files[path] = as_file(chart, report.series, figure_format)
    for path, data in files.items():
        with replacing(path) as file:
            file.write(data)
    return Path(out)


def collect(runs: Sequence[Run], *, cap: int = CAP, seed: int = 0) -> Report:
    """Collect the content of the page: sections, findings and items of all runs."""
    apart = ""
    try:
        groups = group_runs(runs)
    except BabelscopeError as error:
        # Runs that cannot be compared are shown one by one, and the page gives the reason.
        apart = error.reason if isinstance(error, NotComparable) else str(error)
        groups = [group for run in runs for group in group_runs([run])]
    groups = _with_distinct_names(groups)
    names = dict.fromkeys(result.name for group in groups for result in group.results)
    series = {name: place for place, name in enumerate(names)}
    ordered = sorted(groups, key=lambda group: _order(group.results[0].kind))
    together = grouped((group.method, group) for group in ordered)
    chapters: list[Chapter] = []
    found: dict[str, list[Finding]] = {name: [] for name in series}
    with progress("report", len(together)) as advance:
        for method, own in together.items():
            key = _key(method, len(chapters) + 1, [chapter.key for chapter in chapters])
            paths = dict.fromkeys(str(each.run.path) for group in own for each in group.results)
            with explain_damage(f"{method} in {', '.join(paths)}"):
                chapters.append(_chapter(key, own, series, len(runs) > 1, cap=cap, seed=seed))
                for finding in chapters[-1].findings:
                    found[finding.system].append(finding)
            advance(1)
    worst_first = {name: sorted(own, key=_severity) for name, own in found.items()}
    flows = _draw(flow_charts(runs), series, "flows")
    return Report(runs, series, chapters, flows, apart, worst_first)


def _severity(finding: Finding) -> tuple[int, bool]:
    """Sort key: errors first; of rates that are not significant, those above 0."""
    return TAGS.index(finding.tag), finding.tone == "none"


def _order(kind: str) -> int:
    """Methods stand on the page as `babelscope --help` lists them, those of plug-ins last."""
    known = [*SUMMARIES, *sorted({*method_names()} - {*SUMMARIES})]
    return known.index(kind) if kind in known else len(known)


def _key(method: str, number: int, taken: Sequence[str]) -> str:
    """The id of a section in links: its method's name, or `method-N` where that is no plain name or is taken."""
    key = method.lower().replace("_", "-").replace(" ", "-")
    of_ours = r"(summary|trust|flows|about)|(items|data|system|method|chart)-.*|.*-title"
    if re.fullmatch(r"[a-z][a-z0-9-]*", key) and not re.fullmatch(of_ours, key) and key not in taken:
        return key
    return f"method-{number}"


def _with_distinct_names(groups: Sequence[Comparison]) -> list[Comparison]:
    """Rename systems that share a name, and test sets of one method that do: the name of the run is added."""
    runs = run_names(
        {str(column.run.path): column.run for group in groups for column in group.results}.values()
    )
    systems: dict[str, list[Mapping[str, Any]]] = {}
    tests = Counter((group.method, group.tests) for group in groups)
    for group in groups:
        for column in group.results:
            known = systems.setdefault(column.name, [])
            if column.fingerprint not in known:
                known.append(column.fingerprint)
    renamed = []
    for group in groups:
        own = dict.fromkeys(runs[str(column.run.path)] for column in group.results)
        several = tests[group.method, group.tests] > 1
        columns = [
            dataclasses.replace(column, name=f"{column.name} ({runs[str(column.run.path)]})")
            if len(systems[column.name]) > 1
            else column
            for column in group.results
        ]
        name = f"{group.tests} ({', '.join(own)})" if several else group.tests
        renamed.append(dataclasses.replace(group, tests=name, results=tuple(columns)))
    return renamed


def _chapter(
    key: str, groups: Sequence[Comparison], series: Series, several: bool, *, cap: int, seed: int
) -> Chapter:
    sections = [Section(group, paired_differences(group)) for group in groups]
    items = items_of(sections, series, cap=cap, seed=seed)
    findings, differences, warnings = [], [], []
    for section in sections:
        tests = section.comparison.tests if len(sections) > 1 else ""
        findings += _findings(key, section, items, tests)
        differences += [_difference(key, each, items) for each in section.significant]
        warnings += _warnings(section, tests)
    return Chapter(
        key,
        sections[0],
        [_part(f"{key}-{number}", section, series, several) for number, section in enumerate(sections)],
        items,
        findings,
        differences,
        any(section.differences for section in sections),
        list(dict.fromkeys(warnings)),
    )


TAGS = ("Error", "Unknown", "Not significant", "Too few items", "Figure", "Control")


def _findings(key: str, section: Section, items: Mapping[str, Any], tests: str) -> list[Finding]:
    """The lines of the first table, each with the number of items that its link shows."""
    table = section.tables[0]
    has_units = len(table.headings) > table.labels and table.columns[table.labels].unit == "percent"
    skipped = [column.heading for column in table.columns[: table.labels]].count("system")
    behind = _count_behind(section, [line.query for line in table.lines])
    found = []
    for line, number in zip(table.lines, behind, strict=True):
        estimate = line.cells[table.labels] if len(line.cells) > table.labels else None
        if not line.system or not isinstance(estimate, Estimate) or not estimate.n:
            continue
        claim = ", ".join(str(cell) for cell in line.cells[skipped : table.labels] if cell)
        share = has_units or claim.endswith(" (%)")
        if share and not has_units:
            claim = claim.removesuffix(" (%)")
            estimate = estimate.converted(lambda value: value / 100)
        heading = table.columns[table.labels].heading
        claim = claim if heading == "value" else f"{heading}, {claim}"
        claim = f"{claim} ({tests})" if tests and tests not in claim else claim
        tone, tag = _tone(line, estimate)
        form = _percent if share else plain
        found.append(
            Finding(
                line.system,
                f"{claim}{line.marks}",
                form(estimate.value),
                estimate.interval(form),
                f"n\xa0=\xa0{estimate.n:,}",
                tag,
                tone,
                key,
                line.query,
                number,
                count_shown(items, line.query),
                _bar(estimate) if share and line.verdict and not estimate.no_interval else (),
            )
        )
    return found


def _count_behind(section: Section, queries: Sequence[Mapping[str, str]]) -> list[int]:
    """How many items of the system that a query names it shows."""
    counts = [0] * len(queries)
    for result in section.comparison.results:
        own = [place for place, query in enumerate(queries) if query.get("system") == result.name]
        for record in result.records if own else ():
            view = section.method.show(record)
            for place in own:
                counts[place] += view.matches(queries[place])
    return counts


def _tone(line: Line, estimate: Estimate) -> tuple[Tone, str]:
    """How a line is colored, and what it is called."""
    if line.is_control:
        return "note", "Control"
    if line.verdict == "error":
        return "errors", "Error"
    if line.verdict == "not significant":
        return "some" if estimate.value else "none", "Not significant"
    return "note", {"too few items": "Too few items", "unknown": "Unknown"}.get(line.verdict, "Figure")


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _bar(estimate: Estimate) -> list[str]:
    ends = (estimate.low, estimate.value, estimate.high)
    return [f"{1 + 88 * min(max(each, 0.0), 1.0):.1f}" for each in ends]


def _difference(key: str, each: Difference, items: Mapping[str, Any]) -> Finding:
    query = {"tests": str(each.row.labels["tests"]), "sort": "differ"}
    shown = count_shown(items, query)
    value, _, interval = each.figure.partition(" [")
    return Finding(
        each.ahead,
        each.claim,
        value,
        f"[{interval}" if interval else "",
        each.evidence,
        f"{each.ahead} ahead",
        "note",
        key,
        query,
        shown,
        shown,
    )


def _warnings(section: Section, tests: str) -> list[str]:
    """The notes of the first table, those of several systems joined."""
    systems: dict[str, list[str]] = {}
    for note in section.tables[0].notes:
        systems.setdefault(note.text, []).extend([note.system] if note.system else [])
    every = len(section.comparison.results)
    found = []
    for text, own in systems.items():
        whom = [", ".join(own)] if 0 < len(own) < every else []
        found.append(": ".join([*whom, *filter(None, [tests]), text]))
    return found


def _part(key: str, section: Section, series: Series, several: bool) -> Part:
    comparison = section.comparison
    runs = {str(each.run.path): each.run for each in comparison.results}
    signatures = [str(run.manifest.signature) for run in runs.values()]
    suffix = f" ({', '.join(run_names(runs.values()).values())})"
    title = f"{comparison.tests.removesuffix(suffix)}{suffix}" if several else comparison.tests

    def shown(table: Table, *, note: str = "", folded: bool = False) -> ShownTable:
        return ShownTable(table, Markup(render_tables([table], "html")), signatures, folded, note)

    tables = [shown(table) for table in section.tables if table.rows]
    tables += [shown(table, note=note) for table, note in section.comparing()]
    tables += [shown(table, folded=True) for table in section.by_field()]
    note = "Proportions from 0 to 1, as in summary.json."
    tables.append(shown(section.every_row(), note=note, folded=True))
    name = f"{comparison.method}-{comparison.tests}"
    return Part(name, title, _draw(section.charts, series, key), tables)


def _draw(charts: Iterable[Chart], series: Series, key: str) -> list[Drawn]:
    """Charts as SVG; no others on the page have ids that begin with the key."""
    return [
        Drawn(chart, as_svg(chart, series, f"chart-{key}-{number}")) for number, chart in enumerate(charts)
    ]


def named_charts(parts: Iterable[tuple[str, Iterable[Chart]]]) -> dict[str, Chart]:
    """Charts by what they are of and their own name; of the same name, the second is NAME-2."""
    found: dict[str, Chart] = {}
    for of, charts in parts:
        for chart in charts:
            name = f"{slug(of)}-{chart.slug}"
            same = sum(each == name or bool(re.fullmatch(rf"{name}-\d+", each)) for each in found)
            found[f"{name}-{same + 1}" if same else name] = chart
    return found


def find_chart(result: Result, name: str = "") -> tuple[Chart, Series]:
    """A chart of a result, that of the name, else the first; and the places of its systems among all colors."""
    found = named_charts(
        (f"{each.comparison.method}-{each.comparison.tests}", each.charts) for each in sections_of(result)
    )
    fitting = [full for full, chart in found.items() if name in ("", full, chart.slug)]
    if not found:
        raise BabelscopeError("the methods of this result have no chart")
    if not fitting or (name and len(fitting) > 1):
        known = ", ".join(fitting or found)
        raise BabelscopeError(
            f"{'several charts are' if fitting else 'no chart is'} called {name!r}: {known}"
        )
    names = dict.fromkeys(each.name for group in result.groups for each in group.results)
    return found[fitting[0]], {name: number for number, name in enumerate(names)}


def plot(result: Result, name: str = "") -> Figure:
    """A chart of a result as a figure of matplotlib: that of the name, else the first."""
    return figure(*find_chart(result, name))


def render(report: Report) -> str:
    """The page as HTML; its content security policy allows one style sheet and one script, by their hashes."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    folder = files("babelscope.report")
    style, script = ((folder / name).read_text("utf-8") for name in ("page.css", "page.js"))
    script = (files("babelscope.util") / "visible.js").read_text("utf-8") + script
    environment = Environment(
        loader=PackageLoader("babelscope", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["embedded"] = embedded
    environment.filters["swatch"] = functools.cache(swatch)
    page = environment.get_template("page.html").render(
        report=report,
        version=__version__,
        most=_MOST_FINDINGS,
        style=Markup(style),
        script=Markup(script),
        policy="; ".join(
            (
                "default-src 'none'",
                f"script-src {_hash(script)}",
                f"style-src {_hash(style)}",
                "img-src data:",
                "base-uri 'none'",
                "form-action 'none'",
            )
        ),
    )
    # In the finished page, since names and labels stand in many places; the script marks those of items.
    return mark_hidden(page)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode()}'"


def embedded(value: Any) -> Markup:
    """JSON for a `<script>` element: no text in it can end the element, and hidden characters are escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], text)
    return Markup(text.replace("<", "\\u003c"))
