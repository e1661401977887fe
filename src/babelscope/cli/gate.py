"""`babelscope gate`: may the new system replace the old one?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from babelscope.cli.common import Cache, Form, Seed, ToFile, as_line, output
from babelscope.cli.shell import answers_kept, telling_what_is_kept, typed_options
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import check_outputs
from babelscope.util.terminal import terminal_width


def gate(
    context: typer.Context,
    old: Annotated[str, typer.Argument(metavar="[NAME=]OLD", help="The system in use.")],
    new: Annotated[str, typer.Argument(metavar="[NAME=]NEW", help="The system that may replace it.")],
    source: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Sources, one per line; no references are needed.")
    ] = None,
    tests: Annotated[
        list[str] | None,
        typer.Option(metavar="TESTS", help="A test set: a name, a file or FORMAT:FILE; may be repeated."),
    ] = None,
    source_language: Annotated[
        str, typer.Option(metavar="CODE", help="Of sources whose language is not stated: en.")
    ] = "",
    target_language: Annotated[str, typer.Option(metavar="CODE", help="Of the translations: es.")] = "",
    margin: Annotated[
        str, typer.Option(metavar="SHARE", help="The difference in error rates that is tolerated. [1%]")
    ] = "",
    alpha: Annotated[
        float | None, typer.Option(help="Error rate of the decision, over all checks together. [0.05]")
    ] = None,
    sequential: Annotated[
        bool, typer.Option("--sequential", help="Ask in batches, and stop as soon as the answer is known.")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="Settings: [gate], [[tests]] and [[methods]] as in a study."),
    ] = None,
    format: Annotated[
        Literal["text", "json", "junit"], typer.Option(help="How the decision is printed.")
    ] = "text",
    to: ToFile = None,
    seed: Seed = 0,
    cache: Cache = None,
) -> None:
    """Decide whether a new system may replace an old one.

    Exit code 0: in no check is the new system worse by more than the margin. 3: it is worse in at least one.
    4: too few items to tell.
    """
    from babelscope.decide.opening import GateFile, open_and_decide
    from babelscope.decide.show import as_json, as_junit, as_lines

    given = {
        "margin": margin or None,
        "alpha": alpha,
        "sequential": sequential or None,
    }
    check_outputs({"--to": to}, inputs=[old, new, *(tests or ()), *([source] if source else ())])
    file = GateFile.read(config) if config else GateFile()
    specs = [*([f"sources:{source}"] if source else []), *(tests or ())]
    if not specs and not file.tests:
        raise BabelscopeError("gate needs --source FILE or --tests")
    typed = typed_options(context)
    with telling_what_is_kept(answers_kept(cache)):
        found = open_and_decide(
            old,
            new,
            specs,
            file.with_settings({name: value for name, value in given.items() if value is not None}),
            languages=(source_language, target_language),
            seed=seed if "seed" in typed or file.seed is None else file.seed,
            cache=cache,
        )
    form = Form.JSON if format == "json" else Form.TEXT
    with output(to, form) as write:
        if format == "json":
            write(as_line(as_json(found)))
        else:
            write(as_junit(found).rstrip("\n") if format == "junit" else as_lines(found, terminal_width()))
    if to is not None:
        print(as_lines(found, terminal_width()).split("\n", 1)[0], file=sys.stderr)
    if found.exit_code:
        raise typer.Exit(found.exit_code)
