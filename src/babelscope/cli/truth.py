"""`babelscope lab truth`: conditioning's verdicts held against what the lab's grammar knows."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

import typer

from babelscope.cli.common import AsJson, OfWorld, Records, open_systems, then_records, write_rows
from babelscope.cli.going_on import going_on
from babelscope.util.outputs import check_outputs


class Suite(StrEnum):
    """Test sets of ambiguous sources."""

    gender = "gender"
    gender_marked = "gender-marked"
    senses = "senses"
    senses_other = "senses-other"


def truth(
    evaluator: Annotated[str, typer.Option(metavar="SYSTEM", help="The system that judges translations.")],
    system: Annotated[
        list[str], typer.Option(metavar="SYSTEM", help="Whose translations are judged; may be repeated.")
    ] = [],  # noqa: B006
    tests: Annotated[list[Suite], typer.Option(help="A test set of the lab; else all four.")] = [],  # noqa: B006
    n: Annotated[int, typer.Option("--n", min=24, help="Items of each test set.")] = 500,
    seed: Annotated[int, typer.Option(help="Of the test items, and of mistakes.")] = 2026,
    share: Annotated[
        float, typer.Option(min=0, max=1, help="How many of the grammar's translations get a mistake.")
    ] = 0.5,
    samples: Annotated[
        bool, typer.Option("--samples", help="Judge a random sample of each system's translations too.")
    ] = False,
    world: OfWorld = "easy",
    protocol: Annotated[
        Literal["checked", "strict", "paper"],
        typer.Option(
            help="strict: leave out verdicts within the evaluator's noise. paper: do not test the evaluator."
        ),
    ] = "checked",
    records: Records = None,
    as_json: AsJson = False,
) -> None:
    """How often conditioning agrees with the grammar: on systems' translations, and on made mistakes."""
    from babelscope.lab.experiments.truth import compare_with_truth
    from babelscope.lab.grammar.worlds import find_world
    from babelscope.systems.opening import require
    from babelscope.util.progress import progress

    check_outputs({"--records": records}, inputs=[evaluator, *system])
    specs = list(dict.fromkeys([evaluator, *system]))
    opened = dict(zip(specs, open_systems(specs, cache=None).values(), strict=True))
    require(opened[evaluator], "score", what_for="lab truth")
    for spec in system:
        require(opened[spec], *(("translate", "sample") if samples else ("translate",)), what_for="lab truth")
    suites: list[Any] = [suite.value for suite in tests or Suite]
    conditions = find_world(world)
    given: dict[str, Any] = {"n": n, "seed": seed, "share": share, "samples": samples}
    of = {} if world == "easy" else {"world": world}
    of |= {} if protocol == "checked" else {"protocol": protocol}
    asked_for = [opened[spec] for spec in (evaluator, *system)]
    with going_on("lab truth", records, asked_for, tests=suites, **given, **of) as (_, asked):
        rows, judged = [], []
        with progress("judging", len(suites)) as advance:
            for suite in suites:
                found, items = compare_with_truth(
                    asked[0], asked[1:], suite=suite, world=conditions, protocol=protocol, **given
                )
                rows += found
                judged += items
                advance(1)
        with then_records(records, judged):
            write_rows(rows, as_json=as_json)
