"""`babelscope contrast`: do systems prefer correct translations to ones with an error?"""

from __future__ import annotations

from babelscope.core.options import Option, reads
from babelscope.methods.command import Given, JudgingCommand, Tables
from babelscope.methods.contrast.settings import ContrastSettings
from babelscope.methods.prompted_choice import command as by_answer
from babelscope.systems.stored.scores import DIRECTIONS, LAYOUTS
from babelscope.testsets.loading import spec_for_scores
from babelscope.util.errors import BabelscopeError


def _check(given: Given) -> None:
    by_answer.check(given, frozenset({"machine-references", "seed-group"}))
    if given["rejudge"] is None and bool(given["system"]) == bool(given["scores"]):
        raise BabelscopeError("contrast needs --system or --scores, one of the two")
    if given["rejudge"] is not None and given["scores"]:
        raise BabelscopeError("--rejudge takes a finished run as it is: leave --scores out")


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
    # The score and the beam that made a file are unknown.
    settings = {name: value for name, value in given.settings.items() if name not in ("score", "beam")}
    if settings["detect_in_output"] == "auto":
        settings["detect_in_output"] = "no"
    return {
        **tables,
        "systems": [{"spec": f"scores:{path}?{how}", "name": str(path)} for path in given["scores"]],
        "tests": [{"spec": tests}],
        "methods": [{"name": "contrast", **settings}],
    }


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
            not_with=("rejudge",),
        ),
        *by_answer.options("{source}, {first} and {second}"),
    ),
    changed={
        "tests": {"help": "A test set of minimal pairs."},
        "score": {"not_with": ("scores",)},
        "beam": {"not_with": ("scores",)},
        "controls": {
            "name": "control",
            "metavar": "TYPE",
            "help": "An implausible error type; may be repeated. Else placeholder_ding and hypercorrect_genitive.",
        },
    },
    check=_check,
    study=_study,
)
