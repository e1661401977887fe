"""`babelscope doctor`: what is wrong with a system, before it is used."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from babelscope.cli.common import AsJson, file_option, paragraph, print_json
from babelscope.util.errors import BabelscopeError

_MOST = 8


def doctor(
    system: Annotated[
        str, typer.Argument(metavar="[NAME=]SYSTEM", help="A system, see `babelscope systems`.")
    ],
    source: Annotated[Path | None, file_option("Sources of its language; else sentences of several.")] = None,
    target: Annotated[Path | None, file_option("Their translations, to see how probable they are.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check a system before use: weights, tokenizer, languages, prompt, scores.

    The first 8 lines of the files are used. The exit code is 1 if something is wrong.
    """
    from babelscope.systems.doctor import doctor as examine
    from babelscope.systems.registry import split_name
    from babelscope.util.text import read_lines, require_equal_counts

    if target and not source:
        raise BabelscopeError("--target has the translations of --source; name both")
    sources = read_lines(source) if source else []
    targets = read_lines(target) if target else []
    if source and target:
        require_equal_counts({str(source): len(sources), str(target): len(targets)})
    faults, (name, spec) = 0, split_name(system)
    for found in examine(spec, sources[:_MOST], targets[:_MOST]):
        faults += found.state == "fault"
        told = found.fault or found.skipped or found.detail
        if as_json:
            print_json({"name": found.check, "state": found.state, "text": told, "system": name or spec})
        else:
            print(paragraph(f"{found.state:<8}{found.check}{': ' if told else ''}{told}", " " * 8))
    if faults:
        raise typer.Exit(1)
