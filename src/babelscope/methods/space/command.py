"""`babelscope space`: what models believe beyond their 1-best, and how well they rank it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from babelscope.core.options import Option, reads, writes
from babelscope.core.results import Record, Row
from babelscope.core.system import METER
from babelscope.core.tables import Table, for_paper, with_sizes
from babelscope.methods.command import Given, JudgingCommand
from babelscope.methods.space.figures import MEASURES, TREATMENTS, by_measure, rows_named, warnings_of
from babelscope.methods.space.method import segment_lines
from babelscope.methods.space.regions import SpaceSettings
from babelscope.metrics.base import find_metric
from babelscope.metrics.corpus import prepare_metrics
from babelscope.systems.lists import lists_spec
from babelscope.util.errors import BabelscopeError
from babelscope.util.terminal import draw, terminal_width, visible, wrap
from babelscope.util.text import quoted

if TYPE_CHECKING:
    from babelscope.core.results import Result
    from babelscope.testsets.items import TestSet


# --- Hypothesis spaces for reading: the layouts of the paper's tables, who was left out ----------------------------

PAPERS_METRIC = "the paper has COMET in its main tables and chrF in table 8"
_Labels = dict[str, str | int]
_OUTSIDE = "its own, as the program or file gives it; higher is better"
_Column = tuple[str, _Labels, float]
"""Name of a row, its labels, and what it is multiplied by."""
_TOKENS: _Labels = {"view": "tokens"}
_PAIRED: _Labels = {"view": "paired"}
_MODELS: dict[str, _Column] = {
    "BLEU": ("bleu", {"decoding": "beam"}, 1),
    "chrF": ("chrf", {"decoding": "beam"}, 1),
    "empty modes, %": ("empty_mode", _TOKENS, 100),
    "kRG top": ("krg", {"region": "top", **_TOKENS}, 100),
    "kQRG top": ("kqrg", {"region": "top", **_TOKENS}, 100),
    "kRG samples": ("krg", {"region": "samples", **_TOKENS}, 100),
    "kQRG samples": ("kqrg", {"region": "samples", **_TOKENS}, 100),
}
_BIASES: dict[str, _Column] = {
    "kRG top": ("krg", {"region": "top", **_PAIRED}, 100),
    "kQRG top": ("kqrg", {"region": "top", **_PAIRED}, 100),
    "kRG beam": ("krg", {"region": "beam", **_PAIRED}, 100),
    "kQRG beam": ("kqrg", {"region": "beam", **_PAIRED}, 100),
    "kRG beam - top": ("beam_minus_exact", {"measure": "krg"}, 100),
    "kQRG beam - top": ("beam_minus_exact", {"measure": "kqrg"}, 100),
}
"""All of the same sentences, so that the last two are differences of those before."""
_SWEEP: dict[str, _Column] = {
    "quality": ("beam_quality", {}, 100),
    "modes missed, %": ("misses_mode", {}, 100),
    "log-probability": ("beam_logprob", {}, 1),
    "length ratio": ("beam_length_ratio", {}, 1),
}


def tables(rows: Sequence[Row], metric: str = "") -> list[Table]:
    """Tables 1 (errors of models), 2 (beam against exact search), 3 (correlation with MBR decoding), and others."""
    parts = []
    judged = f" (kQRG by {metric}; {PAPERS_METRIC})" if metric else ""
    for tests in dict.fromkeys(row.labels.get("tests", "") for row in rows):
        own = [row for row in rows if row.labels.get("tests", "") == tests]
        systems = list(dict.fromkeys(str(row.labels["system"]) for row in own if "system" in row.labels))
        by_system = {system: rows_named(own, system=system) for system in systems}
        for title, columns in (("Errors of models", _MODELS), ("Beam against exact search", _BIASES)):
            if any(_largest(some, each) for some in by_system.values() for each in columns.values()):
                parts.append(_table(f"{title}: {tests}{judged}", "system", by_system, columns))
        parts += [
            treatments(system, str(tests), some) for system, some in by_system.items() if by_measure(some)
        ]
        for system, some in by_system.items():
            if swept := rows_named(some, "beam_quality"):
                sizes = dict.fromkeys(row.labels["beam"] for row in swept)
                by_size = {str(size): [r for r in some if r.labels.get("beam") == size] for size in sizes}
                parts.append(_table(f"Sizes of the beam: {system}, {tests}", "beam", by_size, _SWEEP))
        if correlated := rows_named(own, "mbr_correlation"):
            parts.append(_correlations(tests, correlated))
    return parts


def scales(settings: Iterable[Any]) -> Table:
    """The scale of each metric, so that its numbers are not taken for those of another."""
    lines = []
    for name in dict.fromkeys(name for each in settings for name in each.metric):
        # A program that a run names is not opened, only to be described.
        told = _OUTSIDE if ":" in name else find_metric(name).scale.describe()
        lines.append([name, told])
    return Table("Scales of the metrics", ["metric", "scale"], lines, labels=2)


def _table(
    title: str, label: str, groups: Mapping[str, Sequence[Row]], columns: Mapping[str, _Column]
) -> Table:
    """One line per group, with n beside figures and the searches that were not resolved."""
    lines = []
    for name, rows in groups.items():
        found = [_largest(rows, column) for column in columns.values()]
        cells = [
            ("–", "") if row is None else (_estimate(row, column[2]), str(row.estimate.n))
            for row, column in zip(found, columns.values(), strict=True)
        ]
        open_ones = max((row.counts.get("unresolved", 0) for row in found if row is not None), default=0)
        lines.append(([name, str(open_ones)], cells))
    return Table(title, *with_sizes([label, "unresolved"], list(columns), lines))


def _largest(rows: Iterable[Row], column: _Column) -> Row | None:
    """The row of a column; curves add rows of smaller regions, and the table shows the largest."""
    name, labels, _ = column
    return max(rows_named(rows, name, **labels), key=lambda row: int(row.labels.get("k", 0)), default=None)


def treatments(system: str, tests: str, rows: Sequence[Row]) -> Table:
    """Figures with unresolved searches left out and kept, and what holds whatever these would have found."""
    warned = "; warning: who is left out changes figures by more than a point" if warnings_of(rows) else ""
    names = (*TREATMENTS, "at-least", "at-most")
    lines = []
    for measure, own in by_measure(rows).items():
        cells = [
            (_estimate(own[name], 100), str(own[name].estimate.n)) if name in own else ("–", "")
            for name in names
        ]
        open_ones = max(row.counts.get("unresolved", 0) for row in own.values())
        lines.append(([MEASURES[measure], str(open_ones)], cells))
    title = f"Unresolved searches left out, kept, and bounds: {system}, {tests}{warned}"
    return Table(title, *with_sizes(["figure", "unresolved"], names, lines))


def seconds_table(timed: Mapping[tuple[str, str], tuple[float, int]], rows: Sequence[Row]) -> list[Table]:
    """Seconds a sentence of what was asked in this command, beside expansions (the layout of tables 12 and 13).

    Nothing where nobody was asked. No row has them, since two runs of one study must not differ.
    """
    expansions = {row.labels.get("system"): row for row in rows if row.name == "expansions"}
    lines = []
    for (system, what), (seconds, asked) in timed.items():
        spent = expansions.get(system) if what.startswith("exact") else None
        expanded = "–" if spent is None else _estimate(spent, 1, 1)
        lines.append([system, what, str(asked), f"{seconds / asked:.4g}", expanded])
    headings = ["system", "what", "n", "seconds per sentence", "expansions per sentence"]
    return [Table("Cost, timed once in this command", headings, lines, 2)] if lines else []


def _correlations(tests: str | float, rows: Sequence[Row]) -> Table:
    statistics = list(dict.fromkeys(str(row.labels["statistic"]) for row in rows))
    lines = []
    for measure in dict.fromkeys(row.labels["measure"] for row in rows):
        found = {row.labels["statistic"]: row for row in rows_named(rows, measure=measure)}
        cells = [(_estimate(found[each], 1, 3), str(found[each].estimate.n)) for each in statistics]
        lines.append(([str(measure)], cells))
    title = f"Correlation with MBR decoding: {tests} (utility chrF; the paper's is BLEURT)"
    return Table(title, *with_sizes(["measure"], statistics, lines))


def _estimate(row: Row, scale: float, digits: int = 2) -> str:
    return row.estimate.text(lambda each: f"{scale * each:.{digits}f}")


def chosen_cases(records: Sequence[Record], which: str) -> list[Record]:
    """The cases that `--cases` asks for: so many, worst ranked first, or the item of an id."""
    name = case_id(which)
    if name is None:
        return worst_ranked(records, int(which))
    check_case_id(name, [str(record["id"]) for record in records])
    return [record for record in records if str(record["id"]) == name]


def case_id(which: str) -> str | None:
    """The id that `--cases` names; None if it is a number of cases."""
    return None if which.isascii() and which.isdigit() else which.removeprefix("id=")


def check_case_id(name: str, ids: Sequence[str]) -> None:
    """Refuse an id that no item has."""
    if name not in ids:
        raise BabelscopeError(
            f"--cases: no item is called {quoted(name)}; say a number of cases, or the id of an item "
            f"(id=7 for one that is a number), such as {quoted(ids[0]) if ids else 'none here'}"
        )


def worst_ranked(records: Sequence[Record], count: int) -> list[Record]:
    """The sentences whose top region has the lowest kRG, worst first; unresolved ones are left out."""
    known = [record for record in records if record["top_krg"] is not None]
    return sorted(known, key=lambda record: record["top_krg"])[:count]


def case(record: Record, width: int) -> str:
    """A sentence's top region as in appendix E: rank, log-probability, quality and text of each hypothesis."""
    shown = [(str(rank), each) for rank, each in enumerate(record["top"]["found"], 1)]
    shown += [(name, record[key]) for name, key in (("beam", "best"), ("mbr", "mbr")) if record[key]]
    reference = _figure(record["reference_logprob"])
    lines = [["ref", reference, "", quoted(text)] for text in record["references"][:1]]
    for rank, each in shown:
        figures = _figure(each["logprob"]), _figure(each["quality"])
        lines.append([rank, *figures, quoted(each["text"])])
    title = wrap(f"item {visible(str(record['id']))}: {quoted(record['source'])}", width)
    gains = f"kRG {_figure(record['top_krg'])}, kQRG {_figure(record['top_kqrg'])}"
    table = draw(["rank", "log-prob.", "quality", "hypothesis"], lines, right=(1, 2), width=width)
    return "\n".join([*title, gains, table])


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


# --- `babelscope space`: what models believe beyond their 1-best, and how well they rank it ------------------------


def _check(given: Given) -> None:
    if not given["nbest"]:
        if given["reference"] or given["source"]:
            raise BabelscopeError("--reference and --source go with --nbest; a test set has its own")
    elif taken := [name for name in ("system", "rejudge") if given[name]]:
        raise BabelscopeError(f"--nbest takes lists as they are: leave --{taken[0]} out")
    elif bool(given["tests"]) == bool(given["reference"]):
        raise BabelscopeError("--nbest needs --reference FILE, or --tests and a test set with references")
    elif given["source"] and not given["reference"]:
        raise BabelscopeError("--source goes with --reference; a test set has its own")
    if given["latex"] and given["json"]:
        raise BabelscopeError("--latex and --json print different things; say one of the two")
    prepare_metrics(given["metric"], yes=given["yes"])


def _check_tests(tests: Mapping[str, TestSet], given: Given) -> None:
    """Refuse an id of `--cases` that no item has, before any system is asked."""
    if given["cases"] and (name := case_id(given["cases"])) is not None:
        check_case_id(name, [item.id for each in tests.values() for item in each.items])


def _study(given: Given) -> dict[str, Any]:
    """With --nbest, the lists are the system, and their references the test set."""
    if not given["nbest"]:
        return {}
    spec, name, k = lists_spec(given["nbest"])
    if k is not None and "k" in given.said and given["k"] != k:
        raise BabelscopeError(f"--nbest says k={k}, and --k {given['k']}; say it once")
    settings = {**given.settings, **({} if k is None else {"k": k})}
    if "samples" not in given.said:
        settings["samples"] = 0
    texts = [str(each) for each in (given["source"], given["reference"]) if each]
    form = "parallel" if given["source"] else "references"
    return {
        "systems": [{"spec": spec, "name": name}],
        "tests": [{"spec": given["tests"] or f"{form}:{','.join(texts)}"}],
        "methods": [{"name": "space", **settings}],
    }


def _show(result: Result, given: Given) -> str:
    """Cases, if wanted; or the tables alone, in LaTeX."""
    if given["latex"]:
        return "\n\n".join(for_paper(each, result.signature) for each in _tables(result))
    parts = []
    for name in dict.fromkeys(record["system"] for record in result.records) if given["cases"] else ():
        own = [record for record in result.records if record["system"] == name]
        chosen = chosen_cases(own, given["cases"])
        parts += [f"{visible(name)}\n{case(record, terminal_width())}" for record in chosen]
    return "\n\n".join(parts)


def _tables(result: Result) -> list[Table]:
    """The tables of a result, with the metric of its first figures."""
    (settings,) = result.settings.values()
    return tables(result.rows, metric=settings.metric[0])


COMMAND = JudgingCommand(
    "space",
    "Look beyond the 1-best: the exact k best, and samples. Empty modes, how well models rank (kRG, "
    "kQRG), what beam search hides.",
    "space",
    SpaceSettings,
    options=(
        Option(
            "nbest",
            "A list made elsewhere in the place of a system: top=FILE, or beam=FILE?per_file=5&detokenize=de; may "
            "be repeated.",
            metavar="REGION=FILE",
            repeat=True,
        ),
        reads("reference", "References for --nbest, one line per sentence."),
        reads("source", "Their sources, if they are known."),
        Option(
            "cases",
            "Show the top region of so many sentences, worst ranked first, or of the item of this id (id=7 for one "
            "that is a number).",
            default="",
            metavar="N|ID",
            not_with=("json", "latex"),
        ),
        Option("latex", "Print the tables in LaTeX (booktabs), the paper's first, and nothing else.", bool),
        Option("yes", "Make the environment that a metric needs (comet, cometkiwi) without asking.", bool),
        writes("segments", "Write all hypotheses there, for a metric to judge elsewhere."),
    ),
    changed={
        "tests": {"help": "Sentences with references."},
        "beams": {"kind": str, "metavar": "SIZES", "minimum": None},
        "tokenize": {"metavar": "TOKENIZER", "role": "read"},
        "metric": {
            "metavar": "METRIC",
            "role": "read",
            "help": "chrf, chrf++, bleu, ter, ribes, comet, cometkiwi, cmd:COMMAND or file:NUMBERS?source=SEGMENTS "
            "(BLEURT, MetricX...); may be repeated.",
        },
    },
    check=_check,
    check_tests=_check_tests,
    study=_study,
    show=_show,
    tables=lambda result, _given: [
        *_tables(result),
        scales(result.settings.values()),
        *seconds_table(METER.take_timed(), result.rows),
    ],
    files={"segments": lambda result, _given: segment_lines(result.records)},
)
