"""`babelscope plan`: how many sentences a decision needs, and which."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from babelscope.cli.common import (
    AsJson,
    Form,
    Seed,
    ToFile,
    as_line,
    figures,
    file_option,
    output,
    setting,
    write_file,
)
from babelscope.util.errors import BabelscopeError
from babelscope.util.terminal import terminal_width, visible


def plan(
    margin: Annotated[
        str, typer.Option(metavar="SHARE", help="The difference in error rates that is tolerated.")
    ] = "1%",
    difference: Annotated[
        str,
        typer.Option(metavar="SHARE", help="A difference that must be seen. (Default: twice the margin.)"),
    ] = "",
    discordant: Annotated[
        str,
        typer.Option(
            metavar="SHARE", help="Your guess of the share of sentences on which one system alone is wrong."
        ),
    ] = "5%",
    gate: Annotated[
        Path | None,
        file_option("What `gate --format json` printed: each check's own share instead of a guess."),
    ] = None,
    power: Annotated[float, setting("The probability of deciding right.")] = 0.8,
    pool: Annotated[
        Path | None, file_option("Sentences, one per line: draw those of them that test something.")
    ] = None,
    n: Annotated[int | None, typer.Option("--n", min=1, help="How many to draw from the pool.")] = None,
    source_language: Annotated[str, typer.Option(metavar="CODE", help="Of the pool, for the sample.")] = "",
    target_language: Annotated[
        str, typer.Option(metavar="CODE", help="Of the translations, for the sample.")
    ] = "",
    seed: Seed = 0,
    as_json: AsJson = False,
    to: ToFile = None,
) -> None:
    """Plan an evaluation: how many sentences a decision needs, and which.

    With --pool, the sentences drawn are printed as a test set for `gate`, with weights that make error rates
    those of the whole pool.
    """
    if pool is not None:
        _draw(pool, n, source_language, target_language, seed, to)
        return
    if n is not None:
        raise BabelscopeError("--n is the number of sentences to draw: name a --pool")
    from babelscope.core.tables import Cell, Column, Table, as_text
    from babelscope.decide.gate import as_share
    from babelscope.decide.plan import discordance_of, needs
    from babelscope.util.text import parse_json, read_bytes

    if not 0 < power < 1:
        raise BabelscopeError(f"--set power must be between 0 and 1, not {power}")
    tolerated = as_share(margin, "--margin")
    seen = as_share(difference, "--difference") if difference else 2 * tolerated
    shares = {"each check": as_share(discordant, "--discordant", zero=True)}
    if gate is not None:
        shares = discordance_of(parse_json(read_bytes(gate), gate), str(gate))
    found = needs(shares, margin=tolerated, difference=seen, power=power)
    with output(to, figures(as_json)) as write:
        if as_json:
            for each in found:
                row = {"check": each.check, "discordant": each.discordant, "to_clear": each.to_clear}
                write(
                    as_line(
                        {
                            **row,
                            "to_see": each.to_see,
                            "margin": tolerated,
                            "difference": seen,
                            "power": power,
                        }
                    )
                )
            return
        headings: list[str | Column] = [
            "check",
            Column("one alone is wrong", "percent"),
            f"to clear (margin {100 * tolerated:.3g} %)",
            f"to see ({100 * seen:.3g} % worse)",
        ]
        rows: list[list[Cell]] = [[each.check, each.discordant, each.to_clear, each.to_see] for each in found]
        title = f"Items needed, with a probability of {100 * power:.3g} % of deciding right"
        write(as_text(Table(title, headings, rows), terminal_width()))


def _draw(
    pool: Path, n: int | None, source_language: str, target_language: str, seed: int, to: Path | None
) -> None:
    """Write the sample, and report its strata on stderr."""
    from babelscope.decide.plan import draw_sample
    from babelscope.util.text import read_lines

    lines = [line for line in read_lines(pool) if line.strip()]
    if n is None:
        raise BabelscopeError("--pool needs --n, the number of sentences to draw")
    codes = {"source_language": source_language, "target_language": target_language}
    sample = draw_sample(lines, n, seed=seed, languages={name: code for name, code in codes.items() if code})
    if to is None:
        with output(None, Form.JSON) as write:
            for line in sample.lines:
                write(as_line(line))
    else:
        write_file(to, Form.JSON, map(as_line, sample.lines))
    for name, (of, drawn) in sample.strata.items():
        print(f"{visible(name)}: {drawn:,} of {of:,}", file=sys.stderr)
    print(
        f"Rates over all of them are as precise as those of {sample.worth:,.0f} drawn at random.",
        file=sys.stderr,
    )
