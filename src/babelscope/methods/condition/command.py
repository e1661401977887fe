"""`babelscope condition`: which sense translations have, judged by an evaluator under sources with cues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from babelscope.core.options import Option, reads
from babelscope.core.registry import resolve
from babelscope.methods.command import Given, JudgingCommand
from babelscope.methods.condition.figures import least_certain
from babelscope.methods.condition.settings import ConditionSettings
from babelscope.util.errors import BabelscopeError
from babelscope.util.terminal import visible
from babelscope.util.text import shorten

if TYPE_CHECKING:
    from babelscope.core.results import Record, Result


def _check(given: Given) -> None:
    """Refuse what would leave a choice open, before anything is loaded."""
    if given["system"] and given["translations"] is not None:
        raise BabelscopeError("--system and --translations exclude each other")
    if given["rejudge"] is None and (given["evaluator"] is None) == (given["scores"] is None):
        raise BabelscopeError("condition needs either --evaluator or --scores")
    if given["system"] and given["scores"] is not None:
        raise BabelscopeError("--scores are those of given translations: leave --system out")
    if given["rejudge"] is None and given["out"] is not None and not given["system"]:
        raise BabelscopeError(
            "--out makes a run folder of a system and an evaluator that are asked; "
            "for what is given use --records"
        )


def _of_given(given: Given) -> Result | None:
    """Judge translations that are given, by an evaluator or by scores that are given, too."""
    if given["system"]:
        return None
    from babelscope.systems.cached import remembering
    from babelscope.systems.opening import open_system
    from babelscope.testsets.given_answers import GivenTranslations, read_scores, with_translations
    from babelscope.testsets.loading import load
    from babelscope.testsets.pattern_files import read_translations

    tests, path = load(given["tests"], data_dir=given["data-dir"]), given["translations"]
    scores: Any = read_scores(given["scores"], tests) if given["scores"] is not None else None
    skip = given["skip-missing"]
    if path is not None:
        tests = with_translations(tests, read_translations(path), what=str(path), skip_missing=skip)
    settings = {name: value for name, value in given.settings.items() if name != "evaluator"}
    result: Result = resolve("babelscope.runs.judging:condition")(
        GivenTranslations(path.name) if path is not None else GivenTranslations(),
        scores or remembering(open_system(given["evaluator"]), given["cache"]),
        tests,
        skip_missing=skip,
        seed=given["seed"],
        **settings,
    )
    return result


def _show(result: Result, given: Given) -> str:
    """The figures, then the least certain items of each system."""
    lines = [str(result)]
    for system in dict.fromkeys(record["system"] for record in result.records) if given["least"] else ():
        own = [record for record in result.records if record["system"] == system]
        lines.append(f"\nleast certain, {visible(system)}:")
        lines += [_line(record) for record in least_certain(own, given["least"])]
    return "\n".join(lines)


def _line(record: Record) -> str:
    item = visible(f"{record['category']}  item {record['id']}")
    texts = [text for text in (record["source"], record["translation"]) if text is not None]
    first = f"{record['score']:.5f}  {record['verdict']:7}  {item}"
    return "\n    ".join([first, *(shorten(text, 100) for text in texts)])


COMMAND = JudgingCommand(
    "condition",
    "Tell by contrastive conditioning how often the sense or gender meant is the one translated.",
    "condition",
    ConditionSettings,
    options=(
        Option(
            "evaluator",
            "The system that judges them; may be the same.",
            metavar="SYSTEM",
            role="read",
            setting="evaluator",
        ),
        reads(
            "translations",
            "Translations instead of a system: a line an item, plain or `source ||| translation`.",
        ),
        reads(
            "scores", "Instead of an evaluator: best correct and best incorrect log score, a line an item."
        ),
        Option(
            "ask-all",
            "Ask the system also where an item has a translation.",
            bool,
            setting="translations",
            value="system",
        ),
        Option("skip-missing", "Count items without a translation instead of stopping.", bool),
        Option("least", "How many of the least certain items to list.", int, 10, minimum=0),
    ),
    changed={
        "tests": {"help": "The test set: sources with cues."},
        "system": {"help": "Whose translations are judged; may be repeated."},
    },
    check=_check,
    instead=_of_given,
    show=_show,
)
