"""`babelscope challenge`: quality by phenomenon and distance, its controls, and what people say of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from babelscope.core.options import Option, reads
from babelscope.core.results import Estimate, Row
from babelscope.core.tables import Sized, Table, as_markdown, as_text, for_paper, of_rows, with_sizes
from babelscope.making.challenge.reordering import CROSSING, DIFFERENCE, NORMALIZED, UNITS
from babelscope.methods.challenge.annotation import (
    agreement_rows,
    answer_rows,
    answers,
    check_annotatable,
    queue,
)
from babelscope.methods.challenge.sets import ALL, WORDS_BETWEEN, ChallengeSettings
from babelscope.methods.challenge.view import verdict_table
from babelscope.methods.command import Given, JudgingCommand
from babelscope.testsets.items import ParallelSentence
from babelscope.util.terminal import terminal_width
from babelscope.util.text import read_json_lines

if TYPE_CHECKING:
    from babelscope.core.results import Record, Result, Row
    from babelscope.testsets.items import TestSet


# --- The tables of `babelscope challenge`: one per metric, one line per subset and system --------------------------

NAMES = {
    "bleu": "BLEU",
    "bleu-lc": "BLEU, case ignored",
    "multi-bleu": "multi-bleu",
    "multi-bleu-lc": "multi-bleu, case ignored",
    "chrf": "chrF2",
    "ribes": "RIBES",
}
DIGITS = {**dict.fromkeys(NAMES, 2), "ribes": 4}

_SubsetKey = tuple[tuple[str, str | float], ...]
_SUBSET_LABELS = ("tests", "phenomenon", "side", "min_distance", "distance")


def tables(rows: Sequence[Row]) -> list[Table]:
    """All rows of a challenge."""
    shown = short_names(rows)
    named = dict.fromkeys(str(row.labels["metric"]) for row in rows if "metric" in row.labels)
    metrics = [metric for metric in named if any(row.name == metric for row in rows)]
    several = len({row.labels.get("tests") for row in rows}) > 1
    parts = [_quality_table(rows, metric, shown, several=several) for metric in metrics]
    for title, names, labels in (
        (
            "Quality against distance",
            ("distance_pearson", "distance_spearman"),
            ("tests", "system", "phenomenon", "over", "distances"),
        ),
        (
            "Quality against mean length, over random corpora of so many sentences",
            ("length_pearson", "length_spearman"),
            ("tests", "system", "sentences"),
        ),
        (
            "Differences between systems, paired by sentence",
            ("difference",),
            ("tests", "phenomenon", "system", "against"),
        ),
    ):
        some = [row for row in rows if row.name in names and row.estimate.n]
        if names == ("difference",):  # smaller subsets are only in --json
            some = [row for row in some if subset_key(row) in _widest(some)]
        if some:
            told = labels if several else labels[1:]
            parts.append(_metric_columns(title, some, told, metrics, shown))
    return [*parts, *verdict_table(rows, shown)]


def _quality_table(rows: Sequence[Row], metric: str, shown: Mapping[str, str], *, several: bool) -> Table:
    """One line a subset and system: score, difference from all sentences, and length-matched control."""
    scores = {(subset_key(row), str(row.labels["system"])): row for row in rows if row.name == metric}
    others = {
        (row.name, subset_key(row), str(row.labels["system"])): row.estimate
        for row in rows
        if row.labels.get("metric") == metric and "against" not in row.labels
    }
    lengths = {
        (subset_key(row), str(row.labels["system"])): row.estimate for row in rows if row.name == "length"
    }
    digits = DIGITS.get(metric, 3)
    lines: dict[tuple[str, ...], tuple[str, ...]] = {}
    for (part, system), row in scores.items():
        labels = dict(part)
        mean, sd, rank = (others.get((f"control_{name}", part, system)) for name in ("mean", "sd", "rank"))
        difference, away = (others.get((f"minus_{name}", part, system)) for name in ("all", "control"))
        between = ""
        if "unit" in row.labels:
            number = f"≥ {labels['min_distance']}" if "min_distance" in labels else labels["distance"]
            between = f"{number} {row.labels['unit']}"
        tests = str(labels.get("tests", ""))
        # Minimum distances that give the same sentences share one line, which shows the greatest.
        same = f"≥ n {row.estimate.n}" if "min_distance" in labels else between
        lines[tests, system, phenomenon_of(labels), same] = (
            *((tests,) if several else ()),
            shown[system],
            phenomenon_of(labels),
            between,
            str(row.estimate.n),
            f"{lengths[part, system].value:.1f}",
            with_interval(row.estimate, digits),
            with_interval(difference, digits, sign="+") if difference else "",
            f"{mean.value:.{digits}f} ± {sd.value:.{digits}f}" if mean and sd and mean.n else "",
            with_interval(away, digits, sign="+") if away else "",
            f"{rank.value:.0%} of {rank.n}" if rank else "",
        )
    name = NAMES.get(metric, metric)
    words = (*(("tests",) if several else ()), "system", "phenomenon", "distance")
    compared = ("n", "length", name, "minus all", "length-matched: mean ± sd", "minus this", "at or below")
    return Table(f"Quality by {name}", [*words, *compared], list(lines.values()), len(words))


def _metric_columns(
    title: str, rows: Sequence[Row], labels: Sequence[str], metrics: Sequence[str], shown: Mapping[str, str]
) -> Table:
    """One line for rows with the same labels, one column for each metric and row name."""
    figures = list(dict.fromkeys(row.name for row in rows))
    lines: dict[tuple[str, ...], dict[tuple[str, str], str]] = {}
    for row in rows:
        values = {**row.labels, "phenomenon": phenomenon_of(row.labels)}
        key = tuple(shown.get(str(values.get(name)), str(values.get(name, ""))) for name in labels)
        metric = str(row.labels["metric"])
        digits = DIGITS.get(metric, 3) if row.name == "difference" else 2
        lines.setdefault(key, {})[metric, row.name] = with_interval(row.estimate, digits, sign="+")
    pairs = [(metric, figure) for metric in metrics for figure in figures]
    headings = [f"{NAMES.get(metric, metric)} {figure.partition('_')[2]}".strip() for metric, figure in pairs]
    cells = [(*key, *(own.get(pair, "") for pair in pairs)) for key, own in lines.items()]
    return Table(title, [*labels, *headings], cells, len(labels))


def with_interval(estimate: Estimate, digits: int, sign: str = "") -> str:
    """A figure as a cell of a table."""
    return estimate.text(lambda each: f"{each:{sign}.{digits}f}")


def phenomenon_of(labels: Mapping[str, str | float]) -> str:
    """The name of a phenomenon, with its side where that is the target."""
    name = str(labels["phenomenon"])
    return f"{name} (target)" if labels.get("side") == "target" else name


def subset_key(row: Row) -> _SubsetKey:
    """What tells the set of a row from others."""
    return tuple((name, row.labels[name]) for name in _SUBSET_LABELS if name in row.labels)


def _widest(rows: Iterable[Row]) -> set[_SubsetKey]:
    """All sentences, and for each phenomenon the subset with the lowest minimum distance."""
    first: dict[tuple[str, ...], _SubsetKey] = {}
    for row in rows:
        if "distance" not in row.labels:
            # Rows come with rising minimum distance, so the first is the widest subset.
            of = (str(row.labels.get(name)) for name in ("tests", "phenomenon", "side"))
            first.setdefault(tuple(of), subset_key(row))
    return set(first.values())


def _without_constant_labels(row: Row, shown: Mapping[str, str]) -> Row:
    """The row without labels that are the same in all rows, and without the count `skipped`."""
    labels = {
        name: shown.get(str(value), value) if name in ("system", "against") else value
        for name, value in row.labels.items()
        if name not in ("method", "tests", "side", "min_distance")
    }
    return Row(row.name, row.estimate, labels, {k: v for k, v in row.counts.items() if k != "skipped"})


def short_names(rows: Iterable[Row]) -> dict[str, str]:
    """System name -> last component of its path, if these differ; else the whole name."""
    names = list(dict.fromkeys(str(row.labels["system"]) for row in rows if "system" in row.labels))
    short = [os.path.basename(name.partition("?")[0].partition(":")[2]) or name for name in names]
    return dict(zip(names, short if len(set(short)) == len(names) else names, strict=True))


_LEAST = {WORDS_BETWEEN: 1, UNITS[DIFFERENCE]: 5, UNITS[NORMALIZED]: 5, UNITS[CROSSING]: 0}
"""Unit -> table 4's minimum distance. A set of crossing links is made by tau, not by their number: all of it."""


def paper_tables(rows: Sequence[Row]) -> list[Table]:
    """For each metric: all sentences and every phenomenon by system and corpus, then dependencies by distance."""
    metrics = [name for name in _names(rows, "metric") if any(row.name == name for row in rows)]
    made = []
    for metric in metrics:
        own = [row for row in rows if row.name == metric and "distance" not in row.labels]
        made.append(_by_corpus(own, metric))
        if any(row.labels.get("unit") == WORDS_BETWEEN for row in own):
            made.append(_by_distance(own, rows, metric))
    return made


def _names(rows: Iterable[Row], label: str) -> list[str]:
    return list(dict.fromkeys(str(row.labels[label]) for row in rows if label in row.labels))


def _by_corpus(own: Sequence[Row], metric: str) -> Table:
    """Table 4, of RIBES table 6: one line per phenomenon, one column per system and corpus."""
    shown, tests = short_names(own), _names(own, "tests")
    columns = [(system, each) for system in shown for each in tests or [""]]
    cells = []
    for name in dict.fromkeys(phenomenon_of(row.labels) for row in own):
        chosen, distance = _at_one_distance([row for row in own if phenomenon_of(row.labels) == name])
        by_column = {(str(row.labels["system"]), str(row.labels.get("tests", ""))): row for row in chosen}
        cells.append(([name, distance], [_cell(by_column.get(where), metric) for where in columns]))
    headings = [f"{shown[system]}, {each}" if len(tests) > 1 else shown[system] for system, each in columns]
    labels = ["phenomenon", "distance"]
    made = with_sizes(labels, headings, cells)
    return Table(f"{NAMES.get(metric, metric)} by phenomenon", *made, len(labels))


def _at_one_distance(rows: Sequence[Row]) -> tuple[list[Row], str]:
    """Of a phenomenon's sets those of one minimum distance, the nearest to table 4's, and that distance."""
    if rows[0].labels["phenomenon"] == ALL:
        return list(rows), ""
    unit = str(rows[0].labels["unit"])
    known = {int(row.labels["min_distance"]) for row in rows}
    least = min(sorted(known), key=lambda distance: abs(distance - _LEAST[unit]))
    return [row for row in rows if row.labels["min_distance"] == least], f"≥ {least} {unit}"


def _cell(row: Row | None, metric: str) -> Sized:
    if row is None:
        return "", ""
    return with_interval(row.estimate, DIGITS.get(metric, 3)), f"{row.estimate.n:,}"


def _by_distance(own: Sequence[Row], rows: Sequence[Row], metric: str) -> Table:
    """Table 5: one line per system, corpus and phenomenon, a column a minimum number of words between."""
    shown, several = short_names(own), len(_names(own, "tests")) > 1
    lexical = [row for row in own if row.labels.get("unit") == WORDS_BETWEEN]
    distances = sorted({int(row.labels["min_distance"]) for row in lexical})
    names = ("tests", "system", "phenomenon", "side")

    def key(row: Row) -> tuple[str, ...]:
        return tuple(str(row.labels.get(name, "")) for name in names)

    by_line: dict[tuple[str, ...], dict[int, Row]] = {}
    for row in lexical:
        by_line.setdefault(key(row), {})[int(row.labels["min_distance"])] = row
    over_sets = {
        (row.name, key(row)): row
        for row in rows
        if row.labels.get("over") == "sets" and row.labels.get("metric") == metric
    }
    cells = []
    for line, kept in by_line.items():
        first = next(iter(kept.values()))
        told = [line[0]] if several else []
        figures = [_cell(kept.get(distance), metric) for distance in distances]
        for name in ("distance_pearson", "distance_spearman"):
            found = over_sets.get((name, line))
            sets = f"{found.estimate.n} sets" if found else ""
            figures.append((with_interval(found.estimate, 2, "+") if found else "", sets))
        cells.append(([*told, shown[line[1]], phenomenon_of(first.labels)], figures))
    labels = [*(["tests"] if several else []), "system", "phenomenon"]
    headings = ["all" if not distance else f"≥ {distance}" for distance in distances]
    made = with_sizes(labels, [*headings, "Pearson", "Spearman"], cells)
    return Table(f"{NAMES.get(metric, metric)} by words between", *made, len(labels))


# --- `babelscope challenge`: quality by phenomenon and distance, its controls, and what people say of it -----------


def _check(given: Given) -> None:
    for path in given["answers"]:  # read here too, since translating comes first
        answers(read_json_lines(path))


def _check_tests(tests: Mapping[str, TestSet], given: Given) -> None:
    if given["annotate"] is not None:
        for name, each in tests.items():
            items = [item for item in each.items if isinstance(item, ParallelSentence)]
            check_annotatable(name, items, given["annotate-distance"])


def _answered(result: Result, given: Given) -> list[Row]:
    """What annotators say, each told apart by the name of the file."""
    if not (files := given["answers"]):
        return []
    names = [path.stem for path in files]
    annotators = {
        path.stem if names.count(path.stem) == 1 else str(path): answers(read_json_lines(path))
        for path in files
    }
    return [*answer_rows(result.records, annotators), *agreement_rows(result.records, annotators)]


def _said(result: Result, given: Given) -> str:
    """What annotators say, if their answers are given."""
    shown = short_names(result.rows)  # systems are named as in the tables
    rows = [_without_constant_labels(row, shown) for row in _answered(result, given)]
    return as_text(of_rows("What annotators say", rows), terminal_width()) if rows else ""


def _printed(result: Result, given: Given) -> str:
    """The paper's tables in Markdown, or all tables in LaTeX, if wanted."""
    if given["table"]:
        return "\n\n".join([*map(as_markdown, paper_tables(result.rows)), result.signature])
    if not given["latex"]:
        return ""
    return "\n\n".join(for_paper(each, result.signature) for each in tables(result.rows))


def _queue(result: Result, given: Given) -> list[Record]:
    return queue(
        result.records,
        per_phenomenon=given["per-phenomenon"],
        distances=given["annotate-distance"],
        seed=given["seed"],
    )


COMMAND = JudgingCommand(
    "challenge",
    "Measure quality by phenomenon and distance between words. BLEU, chrF and RIBES, against the whole test set and "
    "length-matched controls.",
    "challenge",
    ChallengeSettings,
    options=(
        Option(
            "annotate-distance",
            "Only instances with exactly N words between in the queue; may be repeated.",
            int,
            metavar="N",
            minimum=0,
            repeat=True,
            only_with=("annotate",),
        ),
        reads("answers", "A queue that was answered; one for each annotator.", repeat=True),
        Option(
            "table",
            "Print the paper's tables 4 to 6 as Markdown: phenomena by system and corpus, then by distance.",
            bool,
            not_with=("json", "all", "answers", "latex"),
        ),
        Option("latex", "Print the tables in LaTeX (booktabs).", bool, not_with=("json", "all", "answers")),
    ),
    changed={
        "tests": {"help": "A test set of `babelscope make challenge`, or ldd:..."},
        "metrics": {"name": "metric", "help": "May be repeated; all if not given."},
        "tokenize": {"metavar": "TOKENIZER", "role": "read"},
        "source-tokenize": {"metavar": "TOKENIZER", "role": "read"},
        "distances": {
            "name": "distance",
            "metavar": "N",
            "help": "A set of at least N words between; may be repeated. Else 0 to 6.",
        },
        "order-distances": {
            "name": "order-distance",
            "metavar": "N",
            "help": "The same for reordering, in its own unit (positions apart, words off the diagonal, links "
            "crossed); 0: all that was found. May be repeated. Else 0, 5, 10, 15 and 20.",
        },
        "max-sentences": {"metavar": "N"},
        "beam": {"help": "Of the translations."},
        "target-parser": {
            "metavar": "PARSER",
            "help": "Judge each dependency, too: kept, lost or undecided. Parses references and translations; "
            "udpipe:MODEL or stanza:LANGUAGE.",
        },
        "target-language": {
            "metavar": "CODE",
            "help": "Of the references, where the parser's name does not say it.",
            "only_with": ("target-parser",),
        },
        "annotate": {
            "help": "Write a blind queue for annotators there: was the dependency translated right?"
        },
        "annotate-n": {
            "name": "per-phenomenon",
            "default": 30,
            "metavar": "N",
            "help": "Instances of each phenomenon in the queue.",
        },
        "length-sizes": {
            "name": "length-size",
            "metavar": "N",
            "help": "Sentences in each of them; may be repeated. Else 1000, 100 and 10.",
        },
    },
    check=_check,
    check_tests=_check_tests,
    show=_said,
    instead=_printed,
    tables=lambda result, _given: tables(result.rows),
    signed=lambda row: row.labels.get("phenomenon") == "all" and "metric" not in row.labels,
    more=_answered,
    queue=_queue,
)
