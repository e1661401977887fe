"""`babelscope space`: what models believe beyond their 1-best, and how well they rank it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from babelscope.core.options import Option, writes
from babelscope.methods.command import Given, JudgingCommand
from babelscope.methods.space import SpaceSettings, segments_of, with_correlations
from babelscope.methods.space.tables import case, tables, worst_ranked
from babelscope.util.errors import BabelscopeError
from babelscope.util.terminal import visible

if TYPE_CHECKING:
    from babelscope.core.results import Result


def _check(given: Given) -> None:
    if (given["from"] is None) == (not given["system"] or not given["tests"]):
        raise BabelscopeError("space needs --system and --tests, or --from a finished run")


def _show(result: Result, given: Given) -> str:
    """The paper's tables, all figures, and cases if wanted."""
    parts = [tables(result.rows), str(result)]
    for name in dict.fromkeys(record["system"] for record in result.records) if given["cases"] else ():
        own = [record for record in result.records if record["system"] == name]
        parts += [f"{visible(name)}, {case(record)}" for record in worst_ranked(own, given["cases"])]
    return "\n\n".join(parts)


def _segments(result: Result, _given: Given) -> Iterator[str]:
    """Every segment of the records once, as a JSON line, for a metric to judge elsewhere."""
    yield from dict.fromkeys(
        segment.as_line() for record in result.records for segment in segments_of(record)
    )


COMMAND = JudgingCommand(
    "space",
    "The exact k best translations and samples of models: empty modes, kRG and kQRG, beam search's errors.",
    "hypothesis_space",
    SpaceSettings,
    options=(
        Option(
            "from",
            "A finished run, to judge again by another --quality.",
            Path,
            metavar="FOLDER",
            role="read",
        ),
        Option("cases", "Show the top region of so many sentences, worst ranked first.", int, 0, minimum=0),
        writes("segments", "Write all hypotheses there, for a metric to judge elsewhere."),
    ),
    changed={
        "tests": {"help": "Sentences with references.", "required": False, "default": ""},
        "system": {"required": False},
        "quality": {
            "metavar": "QUALITY",
            "role": "read",
            "help": "chrf, chrf++, bleu, ter, ribes, cmd:COMMAND or file:NUMBERS?source=SEGMENTS (COMET, BLEURT...).",
        },
        "budget-expansions": {"help": "Prefixes an exact search may expand a sentence."},
        "budget-seconds": {"help": "Seconds it may take; not reproducible."},
        "budget-bytes": {"help": "Memory it may hold at once."},
    },
    check=_check,
    after=lambda result, _settings, _given: with_correlations(result),
    show=_show,
    files={"segments": _segments},
)
