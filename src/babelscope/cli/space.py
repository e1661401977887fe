"""`babelscope space`: what models believe beyond their 1-best, and how well they rank it."""

from __future__ import annotations

import contextlib
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from babelscope.cli.common import (
    AsJson,
    Cache,
    Form,
    Records,
    Seed,
    print_json,
    study_of,
    then_records,
    write_file,
)
from babelscope.util.errors import BabelscopeError
from babelscope.util.outputs import check_outputs
from babelscope.util.terminal import visible

if TYPE_CHECKING:
    from babelscope.core.results import Result


class Normalise(StrEnum):
    """What kQRG is divided by."""

    bound = "bound"
    ideal = "ideal"


class Unresolved(StrEnum):
    """What counts of a search that ended with its budget."""

    leave_out = "leave-out"
    keep = "keep"


def space(
    context: typer.Context,
    tests: Annotated[
        str, typer.Option(metavar="TESTS", help="Sentences with references.", show_default=False)
    ] = "",
    system: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SYSTEM", help="A system, see `babelscope systems`; may be repeated.", show_default=False
        ),
    ] = None,
    finished: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FOLDER",
            help="A finished run, to judge again by another --quality.",
            show_default=False,
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", min=2, help="Hypotheses of the top region and of the beam.")] = 10,
    samples: Annotated[int, typer.Option(min=0, help="Samples a sentence; 0 for none.")] = 200,
    quality: Annotated[
        str,
        typer.Option(
            metavar="QUALITY",
            help="chrf, chrf++, bleu, ter, ribes, cmd:COMMAND or file:NUMBERS?source=SEGMENTS (COMET, BLEURT...).",
        ),
    ] = "chrf",
    normalise: Annotated[
        Normalise, typer.Option(help="kQRG over its upper bound, or over the ideal order.")
    ] = Normalise.bound,
    beam: Annotated[int, typer.Option(min=1, help="Of the translation scored as the system's own.")] = 5,
    mbr: Annotated[int, typer.Option(min=1, help="Samples that MBR decoding chooses among.")] = 100,
    budget_expansions: Annotated[
        int | None,
        typer.Option(min=1, help="Prefixes an exact search may expand a sentence.", show_default=False),
    ] = None,
    budget_seconds: Annotated[
        float | None, typer.Option(help="Seconds it may take; not reproducible.", show_default=False)
    ] = None,
    budget_bytes: Annotated[
        int | None, typer.Option(min=1, help="Memory it may hold at once.", show_default=False)
    ] = None,
    unresolved: Annotated[
        Unresolved,
        typer.Option(
            help="Searches that ended with their budget: count what they proved, or all they found."
        ),
    ] = Unresolved.leave_out,
    curves: Annotated[
        bool, typer.Option("--curves", help="Figures for smaller k and fewer samples too.")
    ] = False,
    cases: Annotated[
        int, typer.Option(min=0, help="Show the top region of so many sentences, worst ranked first.")
    ] = 0,
    segments: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write all hypotheses there, for a metric to judge elsewhere.",
            show_default=False,
        ),
    ] = None,
    records: Records = None,
    as_json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="A run folder, to keep and resume a run.", show_default=False),
    ] = None,
    seed: Seed = 0,
    cache: Cache = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of the named test sets.", show_default=False),
    ] = None,
) -> None:
    """The exact k best translations and samples of models: empty modes, kRG and kQRG, beam search's errors."""
    if (finished is None) == (not system or not tests):
        raise BabelscopeError("space needs --system and --tests, or --from a finished run")
    read = [tests, quality, finished, *(system or ())]
    check_outputs({"--records": records, "--segments": segments}, folder=out, inputs=read)
    settings: dict[str, Any] = {
        "k": k,
        "samples": samples,
        "quality": quality,
        "normalise": normalise.value,
        "beam": beam,
        "mbr": mbr,
        "budget_expansions": budget_expansions,
        "budget_seconds": budget_seconds,
        "budget_bytes": budget_bytes,
        "unresolved": unresolved.value,
        "curves": curves,
    }
    if finished is not None:
        from babelscope.runs.rejudging import rejudge

        given = {name for name in settings if _was_given(context, name)}
        result = rejudge(finished, {name: settings[name] for name in given}, method="space", out=out)
    else:
        result = _run(system or [], tests, settings, out, seed=seed, cache=cache, data_dir=data_dir)
    with contextlib.ExitStack() as after, then_records(records, [*result.records, *result.unanswered]):
        if segments is not None:
            from babelscope.methods.space.judge import segment_lines

            after.callback(write_file, segments, Form.JSON, segment_lines(result.records))
        _print(result, cases, as_json=as_json)


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _run(
    systems: list[str],
    tests: str | None,
    settings: dict[str, Any],
    out: Path | None,
    *,
    seed: int,
    cache: bool | None,
    data_dir: Path | None,
) -> Result:
    """As a study, which can be stopped and gone on with."""
    from babelscope.runs.study import judge_study

    study = {
        "study": {"name": "space", "seed": seed},
        "systems": [{"spec": spec} for spec in systems],
        "tests": [{"spec": tests}],
        "methods": [{"name": "space", **settings}],
        "run": {"data_dir": data_dir},
    }
    return judge_study(study_of(study), out=out, cache=cache)


def _print(result: Result, cases: int, *, as_json: bool) -> None:
    from babelscope.methods.space.tables import case, tables, worst_ranked

    if as_json:
        for number, row in enumerate(result.rows):
            signature = {} if number else {"signature": result.signature}
            print_json({**row.as_json(), **signature})
        return
    print(tables(result.rows), end="\n\n")
    print(result)
    for name in dict.fromkeys(record["system"] for record in result.records) if cases else ():
        own = [record for record in result.records if record["system"] == name]
        for record in worst_ranked(own, cases):
            print(f"\n{visible(name)}, {case(record)}")
    if result.folder is not None:
        print(f"run folder: {visible(str(result.folder))}", file=sys.stderr)
