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
from babelscope.core.comparison import SEED, Comparison
from babelscope.core.page import Answer, Finding, Line, Section, View, count_of
from babelscope.core.results import Record, Result, Row
from babelscope.core.tables import Table, all_rows, of_rows, table_html
from babelscope.methods.view import matches
from babelscope.report.charts import Series, as_file, as_svg, figure, swatch
from babelscope.report.flows import flow_charts
from babelscope.report.paired import differences_charts, paired_findings
from babelscope.report.sections import caveats_of, figure_of, shown_by
from babelscope.runs.compare import (
    NotComparable,
    group_runs,
    paired_differences,
    prompt_rows,
    prompts_table,
    run_names,
    seeds_table,
)
from babelscope.runs.reading import Run, read_run
from babelscope.util.errors import BabelscopeError, explain_damage
from babelscope.util.files import replacing
from babelscope.util.progress import progress
from babelscope.util.seeds import stream
from babelscope.util.terminal import HIDDEN, mark_hidden
from babelscope.util.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# --- Which items a page holds: all, or if they are too many, errors, close decisions and a random sample -----------

CAP = 5000
"""Most items of one method in a page."""


@dataclass(slots=True)
class Item:
    """An item of a test set with the answer of each system."""

    record: Record
    tests: int
    place: int
    answers: list[tuple[int, Answer]]

    @property
    def is_wrong(self) -> bool:
        return any(answer.tone in ("errors", "some") for _, answer in self.answers)

    @property
    def certainty(self) -> float:
        """The smallest absolute measure of its answers: how close the closest decision was."""
        return min(
            (abs(answer.measure) for _, answer in self.answers if answer.measure is not None),
            default=float("inf"),
        )


def items_of(
    groups: Sequence[Comparison],
    section: Section,
    view: View,
    series: Series,
    *,
    cap: int = CAP,
    seed: int = 0,
) -> dict[str, Any]:
    """The items of a method as JSON for the page's script; `note` says which were left out."""
    found = _joined(groups, view, series)
    chosen, note = choose(found, cap=cap, seed=seed)
    names = list(dict.fromkeys(column.name for group in groups for column in group.results))
    return {
        "systems": [{"name": name, "series": series[name]} for name in names],
        "tests": [group.tests for group in groups],
        "measure": section.measure,
        "group": section.group,
        "colors": section.colors,
        "note": note,
        "items": [_as_json(item, view) for item in chosen],
    }


def count_shown(data: Mapping[str, Any], query: Mapping[str, str]) -> int:
    """How many items of `items_of` a link shows, as the page's script filters them."""
    series = {each["name"]: each["series"] for each in data["systems"]}
    tests, system = query.get("tests"), query.get("system")
    return sum(
        (not tests or data["tests"][item["t"]] == tests)
        and any(
            (not system or each["s"] == series.get(system))
            and matches(item["g"], Answer(each["v"], each["c"], also=each.get("w", ())), query)
            for each in item["a"]
        )
        for item in data["items"]
    )


def _joined(groups: Sequence[Comparison], view: View, series: Series) -> list[Item]:
    """One entry an item, with the answers of all systems, in the order of the test sets."""
    found: dict[tuple[int, str], Item] = {}
    for number, group in enumerate(groups):
        for column in group.results:
            for record in column.records:
                key = (number, record["id"])
                if key not in found:
                    found[key] = Item(record, number, len(found), [])
                answer = view.answer(record, column.settings)
                found[key].answers.append((series[column.name], answer))
    return list(found.values())


def choose(found: Sequence[Item], *, cap: int, seed: int) -> tuple[list[Item], str]:
    """Choose at most `cap` items, and say in a sentence which; the sentence is empty if all are chosen.

    Three fifths are errors, one fifth the closest decisions, one fifth a random sample of the others. Where there
    are fewer of one kind, the other kinds get its share.
    """
    if len(found) <= cap:
        return list(found), ""
    rng = stream(seed, "report/items")

    def some(members: Sequence[Item], most: int) -> list[Item]:
        drawn = rng.permutation(len(members))[:most] if len(members) > most else range(len(members))
        return [members[number] for number in drawn]

    wrong = [item for item in found if item.is_wrong]
    right = sorted((item for item in found if not item.is_wrong), key=lambda item: item.certainty)
    errors = some(wrong, max(cap * 3 // 5, cap - len(right)))
    close = right[: (cap - len(errors)) // 2]
    rest = some(right[len(close) :], cap - len(errors) - len(close))
    of_errors = f"all {len(wrong):,}" if len(errors) == len(wrong) else f"{len(errors):,} of {len(wrong):,}"
    note = (
        f"This page has {cap:,} of {count_of(len(found), 'items')}: {of_errors} with an error, "
        f"the {len(close):,} others closest to one, and {len(rest):,} at random (seed {seed}). "
        "All of them are in the run folder’s records.jsonl."
    )
    return sorted([*errors, *close, *rest], key=lambda item: item.place), note


def _as_json(item: Item, view: View) -> dict[str, Any]:
    about = view.about(item.record)
    return {
        "id": str(item.record["id"]),
        "t": item.tests,
        "g": list(about.groups),
        "k": about.kind,
        "s": about.source,
        "x": _lines(about.lines),
        "a": [
            {
                "s": system,
                "v": answer.verdict,
                "c": answer.tone,
                "m": None if answer.measure is None else round(answer.measure, 4),
                "x": _lines(answer.lines()),
                "f": answer.facts,
                **({"w": list(answer.also)} if answer.also else {}),
            }
            for system, answer in item.answers
        ],
    }


def _lines(lines: Iterable[Line]) -> list[list[Any]]:
    return [
        [
            label,
            shown
            if isinstance(shown, str)
            else [[each[0], None if each[1] is None else round(each[1], 3), *each[2:]] for each in shown],
        ]
        for label, shown in lines
    ]


# --- The report: finished run folders become one HTML page, which needs no network and no other file ---------------


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
    title: str
    about: Section
    """What the method measures and how; its findings and charts are of the first test set only: use `findings`."""
    parts: Sequence[Part]
    items: Mapping[str, Any]
    findings: Sequence[Finding]
    compared: Sequence[Finding]
    """Differences between systems that are significant after correction."""
    is_compared: bool
    caveats: Sequence[str]
    names: Mapping[str, str]


_Content = tuple[Comparison, Section, View]
"""A method on a test set, the section about it, and the view that shows its items."""


@dataclass(frozen=True, slots=True)
class Report:
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
        asked = sum(cell.items for run in self.runs for cell in run.manifest.cells)
        return (
            f"{count_of(len(self.series), 'systems')}, {count_of(len(tests), 'test sets')} ({', '.join(tests)}), "
            f"{count_of(len(self.sections), 'methods')}: {count_of(asked, 'items')} judged."
        )

    def tally(self, system: str) -> str:
        """One sentence: how many checks found errors, a weakness, or nothing."""
        kinds: Counter[str] = Counter(finding.tone for finding in self.findings[system])
        said = {"errors": "found errors", "some": "showed a weakness", "none": "saw no error"}
        parts = [f"{kinds[tone]} {words}" for tone, words in said.items() if kinds[tone]]
        if parts:
            return f"Of {count_of(sum(kinds[tone] for tone in said), 'checks')}, {', '.join(parts)}."
        return "" if self.findings[system] else "Nothing is said in words of its figures: they stand below."

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
        return [finding for section in self.sections for finding in section.compared]

    @staticmethod
    def skipped(run: Run) -> int:
        return sum(sum(cell.skipped.values()) for cell in run.manifest.cells)


def write_report(
    runs: Sequence[str | Path],
    out: str | Path,
    *,
    cap: int = CAP,
    seed: int = 0,
    figures: str | Path | None = None,
    figure_format: str = "pdf",
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
    names = dict.fromkeys(column.name for group in groups for column in group.results)
    series = {name: place for place, name in enumerate(names)}
    together: dict[tuple[int, str], list[_Content]] = {}
    for group in groups:
        with explain_damage(_describe([group])):
            section, view = shown_by(group)
            together.setdefault((section.order, group.method), []).append((group, section, view))
    chapters: list[Chapter] = []
    found: dict[str, list[Finding]] = {name: [] for name in series}
    with progress("report", len(together)) as advance:
        for (_, method), own in sorted(together.items(), key=lambda each: each[0]):
            key = _key(method, len(chapters) + 1, [chapter.key for chapter in chapters])
            with explain_damage(_describe([group for group, _, _ in own])):
                chapters.append(_chapter(key, own, series, len(runs) > 1, cap=cap, seed=seed))
                for finding in chapters[-1].findings:
                    found[finding.system].append(finding)
            advance(1)
    ordered = {name: sorted(own, key=lambda each: each.severity) for name, own in found.items()}
    flows = _draw(flow_charts(runs), series, "flows")
    return Report(runs, series, chapters, flows, apart, ordered)


def _describe(groups: Sequence[Comparison]) -> str:
    """The method of some groups and the folders they are from, for error messages."""
    paths = dict.fromkeys(str(column.run.path) for group in groups for column in group.results)
    return f"{groups[0].method} in {', '.join(paths)}"


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
        renamed.append(dataclasses.replace(group, tests=name, columns=tuple(columns)))
    return renamed


def _chapter(
    key: str, contents: Sequence[_Content], series: Series, several: bool, *, cap: int, seed: int
) -> Chapter:
    groups = [group for group, _, _ in contents]
    _, first, view = contents[0]
    parts: list[Part] = []
    compared: list[Finding] = []
    is_compared = False
    for group, section, _ in contents:
        differences = paired_differences(group) if len(group.results) > 1 else []
        is_compared |= bool(differences)
        compared += paired_findings(differences, section)
        parts.append(_part(f"{key}-{len(parts)}", group, section, series, differences, several))
    method, kind = groups[0].method, groups[0].columns[0].kind
    items = items_of(groups, first, view, series, cap=cap, seed=seed)
    findings = [
        dataclasses.replace(
            each,
            section=key,
            on_page=count_shown(items, each.query),
            # It must be clear which of several test sets it is of.
            claim=each.claim
            if len(contents) == 1 or group.tests in each.claim
            else f"{each.claim} ({group.tests})",
        )
        for group, section, _ in contents
        for each in section.findings
    ]
    return Chapter(
        key,
        first.title if method == kind else f"{first.title} ({method})",
        first,
        parts,
        items,
        findings,
        [dataclasses.replace(each, section=key) for each in compared],
        is_compared,
        caveats_of([(group, section) for group, section, _ in contents]),
        {name: words for _, section, _ in contents for name, words in section.names.items()},
    )


def _part(
    key: str, group: Comparison, section: Section, series: Series, differences: Sequence[Row], several: bool
) -> Part:
    runs = {str(column.run.path): column.run for column in group.results}
    signatures = [str(run.manifest.signature) for run in runs.values()]
    suffix = f" ({', '.join(run_names(runs.values()).values())})"
    title = f"{group.tests.removesuffix(suffix)}{suffix}" if several else group.tests
    tables = [_shown(table, signatures, note="") for table in section.tables]
    if differences:
        table = of_rows(
            "Differences, first system minus second", differences, shown=("wins", "losses", "ties")
        )
        tables.append(
            _shown(
                table,
                signatures,
                note="A difference is that of the figures named under “of”, over the items that both systems have. "
                "A win is an item on which the first system is better. p is the probability of such a difference "
                "if there were none; p_holm is corrected for the number of tests (Holm).",
            )
        )
    if over_seeds := _over_seeds(group):
        note = (
            "Systems that differ by their seed only. Intervals are over seeds, by Student’s t: they cover other "
            "trainings, not other sentences."
        )
        tables.append(_shown(over_seeds, signatures, note=note))
    if over := prompt_rows(group):
        note = (
            "Systems that differ by their prompt only. Prompts are chosen, not drawn: there is no interval."
        )
        tables.append(_shown(prompts_table(over), signatures, note=note))
    everything = [
        Row(row.name, row.estimate, {"system": column.name, **row.labels}, row.counts)
        for column in group.results
        for row in (*column.rows, *column.parts)
    ]
    table = all_rows(f"All figures: {group.method} on {group.tests}", everything)
    tables.append(_shown(table, signatures, folded=True, note="Proportions from 0 to 1, as in summary.json."))
    charts = [*section.pictures, *differences_charts(group, differences, section)]
    return Part(f"{group.method}-{group.tests}", title, _draw(charts, series, key), tables)


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


def plot(result: Result, name: str = "") -> Figure:
    """A chart of a result as a figure of matplotlib: that of the name, else the first."""
    found = named_charts((f"{group.method}-{group.tests}", _charts_of(group)) for group in result.groups)
    fitting = [full for full, chart in found.items() if name in ("", full, chart.slug)]
    if not fitting or (name and len(fitting) > 1):
        known = ", ".join(fitting or found)
        raise BabelscopeError(
            f"{'several charts are' if fitting else 'no chart is'} called {name!r}: {known}"
        )
    names = dict.fromkeys(column.name for group in result.groups for column in group.results)
    return figure(found[fitting[0]], {name: number for number, name in enumerate(names)})


def _charts_of(group: Comparison) -> list[Chart]:
    section, _ = shown_by(group)
    differences = paired_differences(group) if len(group.results) > 1 else []
    return [*section.pictures, *differences_charts(group, differences, section)]


def _over_seeds(group: Comparison) -> Table | None:
    """The figures that matter most over seeds, where a study names these."""
    _, view = shown_by(group)
    # Patterns are of names within one run; systems of several may have other names here.
    runs = {str(column.run.path): column.run.manifest.seed_groups for column in group.results}
    patterns = next(iter(runs.values())) if len(runs) == 1 else []
    if not patterns and not any(SEED in column.factors for column in group.results):
        return None
    shown = view.over or view.headline
    return seeds_table(group, lambda column: shown(column.rows), patterns)


def _shown(table: Table, signatures: Sequence[str], *, note: str, folded: bool = False) -> ShownTable:
    return ShownTable(table, table_html(table), signatures, folded, note)


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
    environment.filters["figure"] = _figure
    environment.filters["swatch"] = functools.cache(swatch)
    page = environment.get_template("page.html").render(
        report=report,
        version=__version__,
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


def _figure(finding: Finding) -> Mapping[str, Any]:
    """A finding's value and interval as text; of proportions also where they stand on a line of 88 units."""
    value, interval = figure_of(finding)
    estimate = finding.estimate
    places = [
        f"{1 + 88 * min(max(each, 0.0), 1.0):.1f}" for each in (estimate.low, estimate.value, estimate.high)
    ]
    has_bar = finding.share and not estimate.no_interval
    return {"value": value, "interval": interval, "bar": places if has_bar else []}
