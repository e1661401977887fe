"""`babelscope space`: what models believe beyond their 1-best, and how well they rank it."""

from __future__ import annotations

from typing import Any

from babelscope.core.options import Option, reads, writes
from babelscope.methods.command import Given, JudgingCommand
from babelscope.methods.space.method import LONGEST, segment_lines
from babelscope.methods.space.regions import SpaceSettings
from babelscope.metrics.corpus import prepare_metrics
from babelscope.systems.stored.nbest import lists_spec
from babelscope.util.errors import BabelscopeError


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
    if given["annotate"] and given["k"] > LONGEST:
        raise BabelscopeError(
            f"lists of {given['k']} translations are too long to judge; {LONGEST} are the most, so ask again with a "
            "smaller --k"
        )
    prepare_metrics(given["metric"], yes=given["yes"])


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
        Option("yes", "Make the environment that a metric needs (comet, cometkiwi) without asking.", bool),
        writes("segments", "Write all hypotheses there, for a metric to judge elsewhere."),
    ),
    changed={
        "tests": {"help": "Sentences with references."},
        "beams": {"kind": str, "metavar": "SIZES", "minimum": None},
        "cases": {"metavar": "N|ID", "not_with": ("json",)},
        "tokenize": {"metavar": "TOKENIZER", "role": "read"},
        "metric": {
            "metavar": "METRIC",
            "role": "read",
            "help": "chrf, chrf++, bleu, ter, ribes, comet, cometkiwi, cmd:COMMAND or file:NUMBERS?source=SEGMENTS "
            "(BLEURT, MetricX...); may be repeated.",
        },
    },
    check=_check,
    study=_study,
    files={"segments": lambda result, _given: segment_lines(result.records)},
)
