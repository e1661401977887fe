"""`babelscope space`: what models believe beyond their 1-best, and how well they rank it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from babelscope.core.options import Option, writes
from babelscope.methods.command import Given, JudgingCommand
from babelscope.methods.space.judge import segment_lines
from babelscope.methods.space.settings import SpaceSettings
from babelscope.methods.space.tables import case, tables, worst_ranked
from babelscope.util.errors import BabelscopeError
from babelscope.util.terminal import terminal_width, visible

if TYPE_CHECKING:
    from babelscope.core.results import Result


def _check(given: Given) -> None:
    if given["latex"] and given["json"]:
        raise BabelscopeError("--latex and --json print different things; say one of the two")


def _show(result: Result, given: Given) -> str:
    """Cases, if wanted; or the tables alone, in LaTeX."""
    if given["latex"]:
        from babelscope.core.latex import for_paper

        return "\n\n".join(for_paper(each, result.signature) for each in tables(result.rows))
    parts = []
    for name in dict.fromkeys(record["system"] for record in result.records) if given["cases"] else ():
        own = [record for record in result.records if record["system"] == name]
        worst = worst_ranked(own, given["cases"])
        parts += [f"{visible(name)}\n{case(record, terminal_width())}" for record in worst]
    return "\n\n".join(parts)


COMMAND = JudgingCommand(
    "space",
    "Look beyond the 1-best: the exact k best, and samples. Empty modes, how well models rank (kRG, "
    "kQRG), what beam search hides.",
    "space",
    SpaceSettings,
    options=(
        Option(
            "cases",
            "Show the top region of so many sentences, worst ranked first.",
            int,
            0,
            minimum=0,
            not_with=("json", "latex"),
        ),
        Option("latex", "Print the paper's tables 1 to 3 in LaTeX (booktabs), and nothing else.", bool),
        writes("segments", "Write all hypotheses there, for a metric to judge elsewhere."),
    ),
    changed={
        "tests": {"help": "Sentences with references."},
        "rejudge": {"old_names": ("from",)},
        "metric": {
            "metavar": "METRIC",
            "role": "read",
            "help": "chrf, chrf++, bleu, ter, ribes, cmd:COMMAND or file:NUMBERS?source=SEGMENTS (COMET, BLEURT...); "
            "may be repeated.",
        },
    },
    check=_check,
    show=_show,
    tables=lambda result, _given: tables(result.rows),
    files={"segments": lambda result, _given: segment_lines(result.records)},
)
