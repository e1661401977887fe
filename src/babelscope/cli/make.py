"""`babelscope make`: test sets from parallel text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from babelscope.cli.common import AsJson, OutFile, Seed, as_line, output
from babelscope.cli.cues import cues
from babelscope.cli.make_challenge import challenge
from babelscope.cli.make_machine import machine_references
from babelscope.errors import BabelscopeError
from babelscope.text import read_lines, require_equal_counts

app = typer.Typer(help="Make test sets from sources and references.", no_args_is_help=True)
app.command("cues")(cues)
app.command("challenge")(challenge)
app.command("machine-references")(machine_references)

Type = Annotated[
    str, typer.Option("--type", metavar="TYPE", help="An error type, see `babelscope make types`.")
]
Sources = Annotated[
    Path, typer.Option(metavar="FILE", help="Sources, one a line; pairs without one are skipped.")
]
References = Annotated[Path, typer.Option(metavar="FILE", help="Their German references, one a line.")]
Mode = Annotated[
    str | None,
    typer.Option(
        metavar="MODE",
        help="For types with several: strict (the default), clean, stanza-compatible, as-released.",
        show_default=False,
    ),
]


@app.command("types")
def types(as_json: AsJson = False) -> None:
    """List the error types."""
    from babelscope.making.pairs import ERROR_TYPES, error_type

    for name in ERROR_TYPES:
        made = error_type(name)
        row: dict[str, Any] = {"name": name, "plausible": made.plausible, "definition": made.definition}
        if as_json:
            typer.echo(as_line({**row, "detector": made.detect is not None, "modes": list(made.modes)}))
        else:
            typer.echo(f"{name:<28}{'' if made.plausible else '(control) '}{made.definition}")


@app.command("pairs")
def pairs(
    type: Type,
    source: Sources,
    reference: References,
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="Who wrote the references: human or machine.")
    ] = "human",
    seed: Seed = 0,
    all_variants: Annotated[
        bool, typer.Option("--all", help="All variants of a sentence, not one chosen at random.")
    ] = False,
    mode: Mode = None,
    out: OutFile = None,
) -> None:
    """Make minimal pairs: each reference with a variant that has an error of one type; as JSON, one a line."""
    from babelscope.making.pairs import make_pairs
    from babelscope.progress import progress

    if kind not in ("human", "machine"):
        raise BabelscopeError(f"--kind must be human or machine, not {kind!r}")
    sources, references = _parallel(source, reference)
    with output(out) as write, progress("making pairs", len(sources)) as advance:
        made = make_pairs(
            type,
            _counted(sources, advance),
            references,
            kind=kind,  # type: ignore[arg-type]
            seed=seed,
            choose="all" if all_variants else "one",
            mode=mode,
        )
        for pair in made:
            write(as_line(pair.as_json()))


@app.command("audit")
def audit(
    type: Type,
    source: Sources,
    reference: References,
    n: Annotated[int, typer.Option("-n", min=1, help="How many variants.")] = 30,
    seed: Seed = 0,
    mode: Mode = None,
    out: OutFile = None,
) -> None:
    """Draw a sample of variants to be read by hand; put yes or no at "really_wrong"."""
    from babelscope.making.pairs.audit import sample_for_audit

    sources, references = _parallel(source, reference)
    with output(out) as write:
        for row in sample_for_audit(type, sources, references, n=n, seed=seed, mode=mode):
            write(as_line(row))


def _parallel(source: Path, reference: Path) -> tuple[list[str], list[str]]:
    sources = read_lines(source, keep_separators=True)
    references = read_lines(reference, keep_separators=True)
    require_equal_counts({str(source): len(sources), str(reference): len(references)})
    return sources, references


def _counted(lines: list[str], advance: Any) -> Any:
    for line in lines:
        yield line
        advance(1)
