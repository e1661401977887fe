"""`babelscope condition`: which sense translations have, judged by an evaluator under sources with cues."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from babelscope.core.options import Option, reads
from babelscope.methods.answers import command as by_answer
from babelscope.methods.command import Given, JudgingCommand, Tables
from babelscope.methods.condition.figures import least_certain
from babelscope.methods.condition.settings import ConditionSettings
from babelscope.util.errors import BabelscopeError
from babelscope.util.tables import wrap
from babelscope.util.terminal import terminal_width, visible
from babelscope.util.text import quoted

if TYPE_CHECKING:
    from babelscope.core.results import Record, Result

_INDENT = " " * 4


def _check(given: Given) -> None:
    """Refuse what would leave a choice open, before anything is loaded."""
    asked = {"evaluator", "translations", "ask-all", "ask-missing", "skip-missing", "beam", "preflight"}
    by_answer.check(given, frozenset(asked))
    if given["system"] and given["translations"] is not None:
        raise BabelscopeError("--system and --translations exclude each other")
    if given["rejudge"] is None and (given["evaluator"] is None) == (given["scores"] is None):
        raise BabelscopeError("condition needs either --evaluator or --scores")
    if given["system"] and given["scores"] is not None:
        raise BabelscopeError("--scores are those of given translations: leave --system out")
    if given["ask-all"] and given["ask-missing"]:
        raise BabelscopeError("--ask-all and --ask-missing exclude each other")


def _study(given: Given) -> Tables:
    """Files of translations and of scores are systems, and so are the translations that the items have."""
    tables: dict[str, Any] = {}
    settings = dict(given.settings)
    missing = "missing=skip" if given["skip-missing"] else "missing=error"
    if (path := given["translations"]) is not None:
        tables["systems"] = [{"spec": f"file:{path}?format=auto&{missing}", "name": path.name}]
        settings["translations"] = "system"  # the file's, also where an item has one
    elif not given["system"]:
        tables["systems"] = [{"spec": f"items:translations?{missing}", "name": "given"}]
    if given["scores"] is not None:
        settings["evaluator"] = f"scores:{given['scores']}?layout=columns"
    if given["by-answer"]:
        both = frozenset({"evaluator", "translations", "beam", "preflight"})
        settings = by_answer.settings_of(dataclasses.replace(given, settings=settings), both)
        return {**tables, "methods": [{"name": "condition_answers", **settings}]}
    return {**tables, "methods": [{"name": "condition", **settings}]}


def _show(result: Result, given: Given) -> str:
    """The least certain items of each system."""
    lines = []
    for system in (
        dict.fromkeys(record["system"] for record in result.records) if given["show-uncertain"] else ()
    ):
        own = [record for record in result.records if record["system"] == system]
        lines.append(f"least certain, {visible(system)}:")
        lines += [_line(record) for record in least_certain(own, given["show-uncertain"])]
    return "\n".join(lines)


def _line(record: Record) -> str:
    item = visible(f"{record['category']}  item {record['id']}")
    texts = [text for text in (record["source"], record["translation"]) if text is not None]
    first = f"{record['score']:.5f}  {record['verdict']:7}  {item}"
    lines = [wrap(quoted(text), terminal_width(), indent=_INDENT, hanging=_INDENT) for text in texts]
    return "\n".join([first, *(line for wrapped in lines for line in wrapped)])


COMMAND = JudgingCommand(
    "condition",
    "Test if the sense or gender meant is the one translated. By contrastive conditioning: an evaluator scores "
    "the translation under sources with cues.",
    "condition",
    ConditionSettings,
    "condition_answers",
    options=(
        Option(
            "evaluator",
            "The system that judges them; may be the same.",
            metavar="SYSTEM",
            role="read",
            setting="evaluator",
            not_with=("rejudge", "scores"),
        ),
        dataclasses.replace(
            reads(
                "translations",
                "Translations instead of a system: a line an item, plain or `source ||| translation`.",
            ),
            not_with=("rejudge",),
        ),
        dataclasses.replace(
            reads(
                "scores",
                "Instead of an evaluator: best correct and best incorrect log score, a line an item.",
            ),
            not_with=("rejudge",),
        ),
        Option(
            "ask-all",
            "Ask the system also where an item has a translation.",
            bool,
            setting="translations",
            value="system",
            only_with=("system",),
        ),
        Option(
            "ask-missing",
            "Ask the system only where an item has no translation.",
            bool,
            setting="translations",
            value="given",
            only_with=("system",),
        ),
        Option(
            "skip-missing",
            "Count items without a translation instead of stopping.",
            bool,
            not_with=("system", "rejudge"),
        ),
        Option(
            "show-uncertain",
            "List so many items of which the evaluator is least sure.",
            int,
            0,
            metavar="N",
            minimum=0,
            not_with=("json",),
        ),
        *by_answer.options("{translation}, {first} and {second}"),
    ),
    changed={
        "tests": {"help": "The test set: sources with cues."},
        "system": {"help": "Whose translations are judged; may be repeated."},
    },
    check=_check,
    study=_study,
    show=_show,
)
