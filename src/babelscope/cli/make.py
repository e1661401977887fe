"""`babelscope make`: test sets from parallel text."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from babelscope.cli.common import (
    AsJson,
    Form,
    Seed,
    ToFile,
    as_line,
    file_option,
    output,
    paragraph,
    print_json,
)
from babelscope.cli.cues import cues
from babelscope.cli.make_challenge import Ray, challenge
from babelscope.cli.make_counts import occupations, senses
from babelscope.cli.make_machine import Mode, machine_references
from babelscope.cli.shell import (
    NOTHING_KEPT,
    PARTS_KEPT,
    ShellGroup,
    refuse_unused,
    telling_what_is_kept,
)
from babelscope.util.errors import BabelscopeError
from babelscope.util.file_ranges import count_lines, stream_lines
from babelscope.util.files import replacing
from babelscope.util.journal import file_stamp
from babelscope.util.outputs import check_outputs
from babelscope.util.progress import progress
from babelscope.util.resumable import Streamed, resumable_output
from babelscope.util.terminal import write_data
from babelscope.util.text import require_equal_counts
from babelscope.util.version import __version__

if TYPE_CHECKING:
    from babelscope.making.pairs import PairsOfFiles

app = ShellGroup("Make test sets from sources and references.")
app.command("cues")(cues)
app.command("challenge")(challenge)
app.command("machine-references")(machine_references)
app.command("senses")(senses)
app.command("occupations")(occupations)

Type = Annotated[
    str, typer.Option("--type", metavar="TYPE", help="An error type, see `babelscope make types`.")
]
Types = Annotated[
    list[str],
    typer.Option(
        "--type",
        metavar="TYPE",
        help="An error type, see `babelscope make types`, or all; may be repeated.",
    ),
]
Sources = Annotated[Path, file_option("Sources, one a line; pairs without one are skipped.")]
References = Annotated[Path, file_option("References in the type's language, one a line.")]


@app.command("types")
def types(
    language: Annotated[
        str | None, typer.Option(metavar="CODE", help="Only those of one language, such as de.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the error types."""
    from babelscope.language.registry import error_types

    for name, made in error_types(language).items():
        row: dict[str, Any] = {"name": name, "plausible": made.plausible, "definition": made.definition}
        if as_json:
            detector = made.detect is not None
            print_json({**row, "detector": detector, "modes": list(made.modes), "language": made.language})
        else:
            told = f"{name:<28}{'' if made.plausible else '(control) '}{made.definition}"
            typer.echo(paragraph(told, " " * 28))


@app.command("pairs")
def pairs(
    context: typer.Context,
    type: Types,
    source: Sources,
    reference: References,
    kind: Annotated[Literal["human", "machine"], typer.Option(help="Who wrote the references.")] = "human",
    seed: Seed = 0,
    all_variants: Annotated[
        bool, typer.Option("--all", help="All variants of a sentence, not one chosen at random.")
    ] = False,
    mode: Mode = None,
    language: Annotated[
        str | None, typer.Option(metavar="CODE", help="Of the references, for --type all.")
    ] = None,
    to: ToFile = None,
    ray: Ray = None,
) -> None:
    """Make minimal pairs: each reference with a variant that has one error; as JSON, one a line.

    A reference is analysed once for all types. How many pairs each type gave goes to stderr.
    """
    from babelscope.making.pairs import PairsOfFiles

    refuse_unused(context, {"language": None if "all" in type else "--type all"})
    check_outputs({"--to": to}, inputs=[source, reference])
    choose = "all" if all_variants else "one"
    named = [each for each in type if each != "all"]
    types = list(dict.fromkeys([*(_all_types(language) if "all" in type else []), *named]))
    options = {"type": types, "kind": kind, "seed": seed, "choose": choose, "mode": mode}
    made = PairsOfFiles(source, reference, options)
    counts: Counter[str] = Counter()
    if ray is not None or (to is not None and made.can_be_split):
        _in_parts(made, to, ray, counts)
    else:
        with (
            progress("making pairs", _lines(source, reference)) as advance,
            replacing(to) if to is not None else contextlib.nullcontext(_Stdout()) as file,
        ):
            for lines in made.lines(advance, counts):
                file.write(lines)
    for name in types:
        print(f"{name:<28}{counts[name]:>8,} {'pair' if counts[name] == 1 else 'pairs'}", file=sys.stderr)


def _all_types(language: str | None) -> list[str]:
    """The error types of a language; it need not be said where all are of one."""
    from babelscope.language.registry import error_types

    found = error_types(language)
    languages = sorted({made.language for made in found.values()})
    if not found:
        raise BabelscopeError(f"there are no error types of the language {language!r}")
    if len(languages) > 1:
        raise BabelscopeError(f"there are error types of {', '.join(languages)}: say --language")
    return list(found)


@app.command("audit")
def audit(
    type: Type,
    source: Sources,
    reference: References,
    n: Annotated[int, typer.Option("-n", min=1, help="How many variants.")] = 30,
    seed: Seed = 0,
    mode: Mode = None,
    to: ToFile = None,
) -> None:
    """Draw a sample of variants to be read by hand; put yes or no at "really_wrong"."""
    from babelscope.making.audit import sample_for_audit
    from babelscope.making.pairs import report_progress

    check_outputs({"--to": to}, inputs=[source, reference])
    with progress("making pairs", _lines(source, reference)) as advance:
        texts = report_progress(stream_lines(source), advance), stream_lines(reference)
        rows = sample_for_audit(type, *texts, n=n, seed=seed, mode=mode)
    with output(to, Form.JSON) as write:
        for row in rows:
            write(as_line(row))


class _Stdout:
    """Whole lines of JSON to stdout."""

    def write(self, lines: bytes) -> int:
        for line in lines.decode("utf-8").split("\n")[:-1]:
            write_data(line, is_json=True)
        return len(lines)


def _in_parts(made: PairsOfFiles, to: Path | None, ray: str | None, counts: Counter[str]) -> None:
    """Write what is made of parts of the files, here or by workers; stopped, it goes on after the last part."""
    from babelscope.making.pairs import make_lines
    from babelscope.making.ray_tasks import SENTENCES, map_tasks

    asked = {
        "command": "make pairs",
        "version": __version__,
        "files": [file_stamp(made.source), file_stamp(made.reference)],
        **made.options,
    }
    cut = made.parts(SENTENCES)
    with (
        telling_what_is_kept(PARTS_KEPT if to is not None else NOTHING_KEPT),
        resumable_output(to, asked)
        if to is not None
        else contextlib.nullcontext(Streamed(_Stdout())) as file,
        map_tasks(make_lines, cut[file.stored :], ray) as lines,
        progress("making pairs", sum(part.ranges[0].count or 0 for part in cut)) as advance,
    ):
        for part in cut:
            first = part.ranges[0]
            counts.update(file.part(f"from line {first.number} on", lambda: next(lines)))
            advance(first.count or 0)


def _lines(source: Path, reference: Path) -> int:
    """How many lines both files have; 0 for pipes, which can be read only once: they are compared meanwhile."""
    if not (source.is_file() and reference.is_file()):
        return 0
    counts = {str(path): count_lines(path) for path in (source, reference)}
    require_equal_counts(counts)
    return counts[str(source)]
