"""`babelscope lab truth`: conditioning's verdicts held against what the lab's grammar knows."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from babelscope.cli.common import AsJson, as_line, open_systems
from babelscope.cli.going_on import going_on


class Suite(StrEnum):
    """Test sets of ambiguous sources."""

    gender = "gender"
    gender_marked = "gender-marked"
    senses = "senses"
    senses_other = "senses-other"


def truth(
    evaluator: Annotated[str, typer.Option(metavar="SYSTEM", help="The system that judges translations.")],
    system: Annotated[
        list[str],
        typer.Option(
            metavar="SYSTEM", help="Whose translations are judged; may be repeated.", show_default=False
        ),
    ] = [],  # noqa: B006
    tests: Annotated[
        list[Suite], typer.Option(help="A test set of the lab; else all four.", show_default=False)
    ] = [],  # noqa: B006
    n: Annotated[int, typer.Option("--n", min=24, help="Items of each test set.")] = 500,
    seed: Annotated[int, typer.Option(help="Of the test items, and of mistakes.")] = 2026,
    share: Annotated[
        float, typer.Option(min=0, max=1, help="How many of the grammar's translations get a mistake.")
    ] = 0.5,
    samples: Annotated[
        bool, typer.Option("--samples", help="Judge a random sample of each system's translations too.")
    ] = False,
    records: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a JSON object an item there.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """How often conditioning agrees with the grammar: on systems' translations, and on made mistakes."""
    from babelscope.files import replacing
    from babelscope.lab.truth import hold_against_truth
    from babelscope.progress import progress
    from babelscope.results import record_line, render
    from babelscope.systems.opening import require

    opened = open_systems(list(dict.fromkeys([evaluator, *system])), cache=False)
    by_spec = dict(zip(dict.fromkeys([evaluator, *system]), opened.values(), strict=True))
    require(by_spec[evaluator], "score", what_for="lab truth")
    for spec in system:
        require(
            by_spec[spec], *(("translate", "sample") if samples else ("translate",)), what_for="lab truth"
        )
    chosen = tests or list(Suite)
    with going_on(
        "lab truth",
        records,
        [by_spec[spec] for spec in (evaluator, *system)],
        tests=[suite.value for suite in chosen],
        n=n,
        seed=seed,
        share=share,
        samples=samples,
    ) as (_, asked):
        rows = []
        judged = []
        with progress("judging", len(chosen)) as advance:
            for suite in chosen:
                found, items = hold_against_truth(
                    asked[0],
                    asked[1:],
                    suite=suite.value,
                    n=n,
                    seed=seed,
                    samples=samples,
                    share=share,
                )
                rows += found
                judged += items
                advance(1)
        if records is not None:
            with replacing(records) as file:
                file.writelines(record_line(record) for record in judged)
        print("\n".join(as_line(row.as_json()) for row in rows) if as_json else render(rows))
