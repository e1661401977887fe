"""`babelscope make machine-references`: minimal pairs from machine translations of the same sources."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from babelscope.cli.common import (
    AsJson,
    Cache,
    Form,
    Seed,
    Systems,
    as_line,
    check_beam,
    file_option,
    folder_option,
    open_systems,
    write_file,
    write_rows,
)
from babelscope.cli.going_on import going_on
from babelscope.cli.shell import typed_options
from babelscope.util.errors import BabelscopeError
from babelscope.util.outputs import check_outputs

Mode = Annotated[
    str | None,
    typer.Option(metavar="MODE", help="For types with several: strict (the default), clean, as-released."),
]


def machine_references(
    context: typer.Context,
    tests: Annotated[str, typer.Option(metavar="TESTS", help="Minimal pairs with human references.")],
    system: Systems,
    to: Annotated[Path, file_option("Write the pairs that were made there, as JSON, one a line.")],
    share: Annotated[
        list[float] | None,
        typer.Option(
            metavar="SHARE", help="Of the sources, for each system in turn, as in 0.25; else equal shares."
        ),
    ] = None,
    queue: Annotated[Path | None, file_option("Where to write what a person must judge.")] = None,
    answers: Annotated[Path | None, file_option("An earlier queue with answers in it.")] = None,
    with_human: Annotated[
        bool, typer.Option("--with-human", help="Write the human pairs too, to compare both kinds.")
    ] = False,
    score_with: Annotated[
        str | None,
        typer.Option(
            metavar="SYSTEM", help="Also report how the discrepancy to this system's translations shifts."
        ),
    ] = None,
    mode: Mode = None,
    beam: Annotated[int, typer.Option(min=1, help="Of the translations.")] = 5,
    seed: Seed = 0,
    as_json: AsJson = False,
    cache: Cache = None,
    data_dir: Annotated[Path | None, folder_option("Folder of the named test sets.")] = None,
) -> None:
    """Make minimal pairs from machine translations of the sources of others, validated by the human references.

    What became of the pairs, and what that did to the test set, goes to stdout.
    """
    from babelscope.annotate.answers import read_judged
    from babelscope.making.machine_bias import bias_rows
    from babelscope.making.machine_references import check_answers
    from babelscope.making.machine_references import machine_references as make
    from babelscope.making.machine_tests import marked
    from babelscope.testsets import MinimalPair, load
    from babelscope.util.digests import digest_json
    from babelscope.util.progress import progress

    if "beam" in typed_options(context):
        check_beam([*system, *([score_with] if score_with is not None else [])])
    check_outputs({"--to": to, "--queue": queue}, inputs=[tests, answers, score_with, *system])
    if queue is not None and queue.exists() and check_answers(read_judged(queue)):
        raise BabelscopeError(f"{queue} has answers in it; give it as --answers, and another file as --queue")
    known = check_answers(read_judged(answers)) if answers is not None else []
    pairs = load(tests, data_dir=data_dir).items_of(MinimalPair, what_for="machine-references")
    opened = open_systems(system, "translate", cache=cache, what_for="machine-references")
    judges: list[Any] = []
    if score_with is not None:
        about = "the discrepancy"
        judges += open_systems([score_with], "score", "translate", cache=cache, what_for=about).values()
    how: dict[str, Any] = {"mode": mode, "beam": beam, "seed": seed}
    with going_on(
        "make machine-references",
        to,
        [*opened.values(), *judges],
        tests=digest_json([pair.as_json() for pair in pairs]),
        answers=digest_json(known),
        shares=share or [],
        scored=score_with is not None,
        **how,
    ) as (_, asked):
        translators, scorers = asked[: len(opened)], asked[len(opened) :]
        with progress("translating", len(pairs)) as advance:
            outcomes = []
            for outcome in make(pairs, translators, shares=share or (), answers=known, **how):
                outcomes.append(outcome)
                advance(1)
        human = [marked(outcome) for outcome in outcomes]
        made = [outcome.pair for outcome in outcomes if outcome.pair is not None]
        written = [*human, *made] if with_human else made
        write_file(to, Form.JSON, (as_line(pair.as_json()) for pair in written))
        queued = [outcome for outcome in outcomes if outcome.verdict == "queued"]
        if queue is not None:
            write_file(queue, Form.JSON, (as_line(outcome.question()) for outcome in queued))
        distances = _discrepancies(scorers[0], [*human, *made], beam) if scorers else None
        rows = bias_rows(outcomes, distances)
        # For people, all there is about the whole, and of each phenomenon how much is left.
        brief = [row for row in rows if row.labels["phenomenon"] == "all" or len(row.labels) == 1]
        write_rows(rows if as_json else brief, as_json=as_json)
        if queued and queue is None:
            typer.echo(f"{len(queued)} translations must be judged by a person; say --queue FILE", err=True)


def _discrepancies(scorer: Any, pairs: Sequence[Any], beam: int) -> dict[str, float]:
    """By item, the discrepancy to what the system itself says, where there is one."""
    from babelscope.runs.execute import run_method

    judged = run_method("contrast", scorer, pairs, discrepancy="paper", beam=beam, detect_in_output="no")
    found = {record["id"]: record["discrepancy"] for record in judged.records}
    return {name: value for name, value in found.items() if value is not None}
