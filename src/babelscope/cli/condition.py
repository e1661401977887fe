"""`babelscope condition`: which sense translations have, judged by an evaluator under sources with cues."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from babelscope.cli.common import (
    AsJson,
    Cache,
    Records,
    Seed,
    open_systems,
    print_json,
    study_of,
    then_records,
)
from babelscope.core.ties import TiesOption
from babelscope.util.errors import BabelscopeError
from babelscope.util.outputs import check_outputs
from babelscope.util.terminal import visible

if TYPE_CHECKING:
    from babelscope.core.results import Record, Result


class Likelihood(StrEnum):
    """mean: a token, as in the paper. total: of the whole translation."""

    mean = "mean"
    total = "total"


class Base(StrEnum):
    """What is raised to a log-probability: e, or 2 as in the released code."""

    e = "e"
    two = "2"


class Equal(StrEnum):
    """Items equally confident share their weights, or weigh by their order, as in the released code."""

    shared = "shared"
    order = "order"


def condition(
    tests: Annotated[str, typer.Option(metavar="TESTS", help="The test set: sources with cues.")],
    system: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SYSTEM", help="Whose translations are judged; may be repeated.", show_default=False
        ),
    ] = None,
    evaluator: Annotated[
        str | None,
        typer.Option(
            metavar="SYSTEM", help="The system that judges them; may be the same.", show_default=False
        ),
    ] = None,
    translations: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Translations instead of a system: a line an item, plain or `source ||| translation`.",
            show_default=False,
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Instead of an evaluator: best correct and best incorrect log score, a line an item.",
            show_default=False,
        ),
    ] = None,
    likelihood: Annotated[
        Likelihood, typer.Option(help="Log-probability a token, or of the whole.")
    ] = Likelihood.mean,
    base: Annotated[Base, typer.Option(help="Raised to the log-probability; 2: the released code.")] = Base.e,
    ties: Annotated[TiesOption, typer.Option(help="What a score of 0.5 counts as.")] = TiesOption.correct,
    equal: Annotated[Equal, typer.Option(help="How items equally confident weigh.")] = Equal.shared,
    ask_all: Annotated[
        bool, typer.Option("--ask-all", help="Ask the system also where an item has a translation.")
    ] = False,
    beam: Annotated[int, typer.Option(min=1, help="Beam size of the system.")] = 5,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Count items without a translation instead of stopping.")
    ] = False,
    least: Annotated[int, typer.Option(min=0, help="How many of the least certain items to list.")] = 10,
    records: Records = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="A run folder; started again, it goes on there.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    cache: Cache = None,
) -> None:
    """Tell by contrastive conditioning how often the sense or gender meant is the one translated."""
    settings = {
        "likelihood": likelihood.value,
        "base": base.value,
        "ties": ties.value,
        "equal": equal.value,
        "translations": "system" if ask_all else "given",
        "beam": beam,
    }
    _check(system, evaluator, translations, scores)
    if out is not None and (translations is not None or scores is not None or not system):
        raise BabelscopeError(
            "--out makes a run folder of a system and an evaluator that are asked; "
            "for what is given use --records"
        )
    read = [tests, translations, scores, evaluator, *(system or ())]
    check_outputs({"--records": records}, folder=out, inputs=read)
    if out is not None and system:
        result = _into_folder(
            tests, system, {"evaluator": evaluator, **settings}, out, seed=seed, cache=cache
        )
    else:
        result = _at_once(
            tests, system, evaluator, translations, scores,
            {**settings, "seed": seed, "skip_missing": skip_missing}, cache=cache,
        )  # fmt: skip
    with then_records(records, [*result.records, *result.unanswered]):
        _print(result, least, as_json=as_json)


def _check(
    system: list[str] | None, evaluator: str | None, translations: Path | None, scores: Path | None
) -> None:
    """Refuse what would leave a choice open, before anything is loaded."""
    if system and translations is not None:
        raise BabelscopeError("--system and --translations exclude each other")
    if (evaluator is None) == (scores is None):
        raise BabelscopeError("condition needs either --evaluator or --scores")
    if system and scores is not None:
        raise BabelscopeError("--scores are those of given translations: leave --system out")


def _at_once(
    spec: str,
    systems: list[str] | None,
    evaluator: str | None,
    translations: Path | None,
    scores: Path | None,
    settings: dict[str, Any],
    *,
    cache: bool | None,
) -> Result:
    """Judge without a run folder."""
    from babelscope.runs.judging import condition as judge
    from babelscope.testsets.given_answers import GivenTranslations, read_scores, with_translations
    from babelscope.testsets.loading import load
    from babelscope.testsets.pattern_files import read_translations

    tests = load(spec)
    judging: Any = read_scores(scores, tests) if scores is not None else None
    asked: Any = GivenTranslations()
    if translations is not None:
        given = read_translations(translations)
        what = str(translations)
        tests = with_translations(tests, given, what=what, skip_missing=settings["skip_missing"])
        asked = GivenTranslations(translations.name)
    # A system that evaluates itself is opened once.
    specs = list(dict.fromkeys([*(systems or ()), *([evaluator] if evaluator else ())]))
    opened = dict(zip(specs, open_systems(specs, cache=cache).values() if specs else (), strict=True))
    if systems:
        asked = [opened[each] for each in systems]
    return judge(asked, judging or opened[str(evaluator)], tests, **settings)


def _into_folder(
    tests: str, systems: list[str], settings: dict[str, Any], out: Path, *, seed: int, cache: bool | None
) -> Result:
    """Run it as a study, which can be killed and go on."""
    from babelscope.runs.study import run_study

    study = {
        "study": {"name": "condition", "seed": seed},
        "systems": [{"spec": each} for each in systems],
        "tests": [{"spec": tests}],
        "methods": [{"name": "condition", **settings}],
    }
    return run_study(study_of(study), out=out, cache=cache)


def _print(result: Result, least: int, *, as_json: bool) -> None:
    if as_json:
        for row in result.rows:
            whole = {"signature": result.signature} if row.name == "all" else {}
            print_json({**row.as_json(), **whole})
        return
    print(result)
    from babelscope.methods.condition.figures import least_certain

    for system in dict.fromkeys(record["system"] for record in result.records) if least else ():
        own = [record for record in result.records if record["system"] == system]
        print(f"\nleast certain, {visible(system)}:")
        for record in least_certain(own, least):
            print(_line(record))


def _line(record: Record) -> str:
    from babelscope.util.text import shorten

    item = visible(f"{record['category']}  item {record['id']}")
    told = f"{record['score']:.5f}  {record['verdict']:7}  {item}"
    translation = record["translation"]
    return f"{told}\n    {shorten(record['source'], 100)}" + (
        f"\n    {shorten(translation, 100)}" if translation is not None else ""
    )
