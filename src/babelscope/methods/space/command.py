"""`babelscope space`: what models believe beyond their 1-best, and how well they rank it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from babelscope.core.cost import METER
from babelscope.core.options import Option, reads, writes
from babelscope.methods.command import Given, JudgingCommand
from babelscope.methods.space.judge import segment_lines
from babelscope.methods.space.settings import SpaceSettings
from babelscope.methods.space.tables import (
    case,
    case_id,
    check_case_id,
    chosen_cases,
    scales,
    seconds_table,
    tables,
)
from babelscope.metrics.preparing import prepare_metrics
from babelscope.systems.list_specs import lists_spec
from babelscope.util.errors import BabelscopeError
from babelscope.util.terminal import terminal_width, visible

if TYPE_CHECKING:
    from babelscope.core.results import Result
    from babelscope.core.tables import Table
    from babelscope.testsets.sets import TestSet


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
        from babelscope.core.latex import for_paper

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
        reads("reference", "References for --nbest, a line a sentence."),
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
        "tokenize": {"metavar": "TOKENISER", "role": "read"},
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
