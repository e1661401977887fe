"""`babelscope contrast`: do systems prefer correct translations to ones with an error?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from babelscope.core.options import Option, reads
from babelscope.core.results import Row
from babelscope.core.tables import Sized, Table, for_paper, with_sizes
from babelscope.methods.command import Given, JudgingCommand, Tables
from babelscope.methods.contrast.figures import OWN, is_own_output, measure_of
from babelscope.methods.contrast.method import CAUTION, ContrastSettings
from babelscope.methods.prompted_choice import command as by_answer
from babelscope.stats.intervals import mean_and_sd
from babelscope.systems.files import DIRECTIONS, LAYOUTS
from babelscope.testsets.loading import spec_for_scores
from babelscope.util.errors import BabelscopeError
from babelscope.util.terminal import visible

if TYPE_CHECKING:
    from babelscope.core.results import Result


PROTOCOLS: Mapping[str, Mapping[str, Any]] = {
    "checked": {},
    "paper": {"score": "mean", "ties": "wrong", "discrepancy": "paper", "beam": 5},
    "released": {"score": "mean", "ties": "correct", "discrepancy": "clipped", "beam": 5},
}
"""Protocol -> settings. In the paper an item counts if the right one is preferred; its code counts ties, too."""


def _adjust(given: Given) -> Given:
    """The settings of the protocol, of which none may be said otherwise."""
    settings = PROTOCOLS[given["protocol"]]
    for name, value in settings.items():
        if name in given.said and given.settings[name] != value:
            raise BabelscopeError(
                f"--protocol {given['protocol']} means --{name} {value}: leave one of them out, or say the same"
            )
    if given["scores"]:  # by which score and beam these were made is not known, nor need they have 1-bests
        settings = {name: value for name, value in settings.items() if name == "ties"}
    if given["rejudge"] is not None:
        settings = {name: value for name, value in settings.items() if name != "beam"}
    return replace(given, settings={**given.settings, **settings}, said=given.said | settings.keys())


def _check(given: Given) -> None:
    by_answer.check(given, frozenset({"machine-references", "seed-group"}))
    if given["rejudge"] is None and bool(given["system"]) == bool(given["scores"]):
        raise BabelscopeError("contrast needs --system or --scores, one of the two")
    if sum(map(bool, (given["table"], given["latex"], given["json"]))) > 1:
        raise BabelscopeError("--table, --latex and --json print different things; say one of them")
    if given["rejudge"] is not None and given["scores"]:
        raise BabelscopeError("--rejudge takes a finished run as it is: leave --scores out")
    if given["rejudge"] is not None and given["seed-group"] and not (given["table"] or given["latex"]):
        raise BabelscopeError(
            "a finished run has its groups of seeds: --seed-group is for --table and --latex"
        )


def _study(given: Given) -> Tables:
    """Files of scores are systems, on the test set as such files count it."""
    tables: Tables = {"study": {"seed_groups": given["seed-group"]}}
    if given["by-answer"]:
        settings = by_answer.settings_of(given, frozenset())
        tables = {**tables, "methods": [{"name": "contrast_answers", **settings}]}
    if given["machine-references"]:
        made = {"spec": given["tests"], "machine_references": list(given["machine-references"])}
        return {**tables, "tests": [made]}
    tests, lines = spec_for_scores(given["tests"])
    if not given["scores"]:
        keeps = given["without-variants"] == "correct" and tests != given["tests"]
        return {**tables, "tests": [{"spec": tests}]} if keeps else tables
    how = f"direction={given['direction']}&layout={given['layout']}&lines={lines}"
    # What score a file has, and by which beam, is not known.
    settings = {name: value for name, value in given.settings.items() if name not in ("score", "beam")}
    if settings["detect_in_output"] == "auto":
        settings["detect_in_output"] = "no"
    return {
        **tables,
        "systems": [{"spec": f"scores:{path}?{how}", "name": str(path)} for path in given["scores"]],
        "tests": [{"spec": tests}],
        "methods": [{"name": "contrast", **settings}],
    }


def _table(result: Result, given: Given) -> str:
    if not given["table"] and not given["latex"]:
        return ""
    if given["latex"]:
        return for_paper(layout(result.rows, given["seed-group"]), result.signature)
    return f"{table(result.rows, given['seed-group'])}\n{result.signature}"


COMMAND = JudgingCommand(
    "contrast",
    "Test if systems prefer right translations to ones with an error. Contrastive evaluation on minimal pairs, "
    "by systems or from stored scores.",
    "contrast",
    ContrastSettings,
    "contrast_answers",
    options=(
        reads("scores", "Stored scores instead of a system; may be repeated.", repeat=True),
        Option(
            "direction",
            "Which scores are better.",
            default="higher",
            choices=DIRECTIONS,
            only_with=("scores",),
        ),
        Option(
            "layout",
            "Of the score file. blocks: all correct targets, then all contrastive (DistilLingEval's). "
            "interleaved: item by item (MuCoW's). columns: correct, contrastive and 1-best, tabs between. auto: "
            "columns if there are tabs, else that of the test set's publishers; where they define none, say it.",
            default="auto",
            choices=LAYOUTS,
            only_with=("scores",),
        ),
        Option(
            "protocol",
            "Settings together. paper: a tie is wrong, and --discrepancy paper. released: as its code has it, a tie "
            "is right, and --discrepancy clipped. checked: as the settings say.",
            default="checked",
            choices=tuple(PROTOCOLS),
        ),
        Option(
            "machine-references",
            "A system that translates the sources again: pairs are made of its translations, too, validated by the "
            "human references. May be repeated: each has an equal share of the sources.",
            metavar="SYSTEM",
            repeat=True,
            role="read",
            not_with=("scores", "rejudge"),
        ),
        Option(
            "seed-group",
            "Systems that differ by their seed only, as in 'lab:teacher-*'; may be repeated.",
            metavar="PATTERN",
            repeat=True,
        ),
        Option(
            "table",
            "Print a table for papers, as Markdown: one line per phenomenon, one column per system.",
            bool,
            not_with=("all",),
        ),
        Option("latex", "Print the same table in LaTeX (booktabs).", bool, not_with=("all",)),
        *by_answer.options("{source}, {first} and {second}"),
    ),
    changed={
        "tests": {"help": "A test set of minimal pairs."},
        # What score a file has, and by which beam, is not known.
        "score": {"not_with": ("scores",)},
        "beam": {"not_with": ("scores",)},
        "controls": {
            "name": "control",
            "metavar": "TYPE",
            "help": "An implausible error type; may be repeated. Else placeholder_ding and hypercorrect_genitive.",
        },
    },
    adjust=_adjust,
    check=_check,
    study=_study,
    instead=_table,
)


# --- The layout of the paper's table 1: one line per phenomenon and reference kind --------------------------------

_MEASURES = {"discrepancy": "discrepancy", "accuracy": "accuracy %", "generated_errors": "generated errors %"}
_BETWEEN = f"discrepancy: {CAUTION}"
_EXPLAINED = (
    "* a control: nobody makes this error in free translation",
    "° not measurable in free output: the interval, or that of each seed, covers 0",
    f"{OWN} on references that are its own output, on which it can hardly fail",
)


def table(rows: Sequence[Row], seed_groups: Sequence[str] = ()) -> str:
    """The table in Markdown, and what must be known to read it."""
    made = layout(rows, seed_groups)
    rule = ["---"] * len(made.headings)
    lines = [f"| {' | '.join(map(visible, row))} |" for row in (made.headings, rule, *made.rows)]
    return "\n".join([*lines, *filter(None, [made.title])])


def _told(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """What the marks in a table mean, a line each; and that discrepancies of several systems do not compare."""
    marks = [
        each
        for each in _EXPLAINED
        if any(each[0] in (cell[:1], cell[-1:]) for line in lines for cell in line)
    ]
    several = sum(heading.startswith("discrepancy, ") for heading in headings) > 1
    return "\n".join([*marks, *([_BETWEEN] if several else [])])


def layout(rows: Sequence[Row], seed_groups: Sequence[str] = ()) -> Table:
    """One column per measure and system: value [95 % interval], or mean ± sd over a group's seeds."""
    systems = list(dict.fromkeys(str(row.labels["system"]) for row in rows if measure_of(row)))
    alone = [name for name in systems if not any(fnmatchcase(name, group) for group in seed_groups)]
    lines = sorted(
        {
            (str(row.labels["phenomenon"]), str(row.labels["reference"]), "control" in row.labels)
            for row in rows
            if measure_of(row) and "phenomenon" in row.labels
        }
    )
    columns: list[tuple[str, Callable[[str, str], Sized]]] = []
    for measure, heading in _MEASURES.items():
        of_measure = [row for row in rows if measure_of(row) == measure]
        for name in (*seed_groups, *alone) if of_measure else ():
            columns.append((f"{heading}, {name}", _column(of_measure, measure, name)))
    cells = []
    for phenomenon, reference, control in lines:
        shown = [cell(phenomenon, reference) for _, cell in columns]
        cells.append(([f"{'*' if control else ''}{phenomenon}", reference], shown))
    headings, made = with_sizes(["phenomenon", "reference"], [heading for heading, _ in columns], cells)
    return Table(_told(headings, made), headings, made, labels=2)


def _column(rows: Sequence[Row], measure: str, name: str) -> Callable[[str, str], Sized]:
    """A function (phenomenon, reference) -> cell text and its n, for one system or a group of seeds."""
    factor, digits = (1, 3) if measure == "discrepancy" else (100, 1)

    def cell(phenomenon: str, reference: str) -> Sized:
        found = [
            row
            for row in rows
            if (row.labels.get("phenomenon"), row.labels.get("reference")) == (phenomenon, reference)
            and fnmatchcase(str(row.labels["system"]), name)
            and row.estimate.n
        ]
        values = [factor * row.estimate.value for row in found]
        if not values:
            return "–", ""
        sizes = sorted({row.estimate.n for row in found})
        size = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(sizes[0])
        seen = any(row.estimate.no_interval or row.estimate.low > 0 for row in found)
        own = any(is_own_output(row) for row in found)
        mark = "°" if measure == "generated_errors" and not seen else OWN if own else ""
        if len(values) > 1:
            mean, sd = mean_and_sd(values)
            return f"{mean.value:.{digits}f} ± {sd.value:.{digits}f}{mark}", size
        return found[0].estimate.text(lambda each: f"{factor * each:.{digits}f}") + mark, size

    return cell
