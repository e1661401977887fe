"""The command line: one file a command, each a single call of the public API."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated

import typer

from babelscope.cli import (
    agreement,
    annotate,
    challenge,
    compare,
    condition,
    contrast,
    correlate,
    data,
    demo,
    lab,
    make,
    merge,
    patterns,
    report,
    run,
    sample,
    score,
    space,
    systems,
    translate,
)
from babelscope.cli.common import RayCommand
from babelscope.errors import BabelscopeError
from babelscope.version import __version__

app = typer.Typer(
    name="babelscope",
    help="Shows what a machine translation model gets wrong.",
    no_args_is_help=True,
    add_completion=False,
    # Plain text: an error stays one sentence on one line, and help needs no rich.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"babelscope {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    pass


app.command("translate")(translate.translate)
app.command("sample")(sample.sample)
app.command("score")(score.score)
app.command("contrast")(contrast.contrast)
app.command("condition")(condition.condition)
app.command("space")(space.space)
app.command("challenge")(challenge.challenge)
app.command("run", cls=RayCommand)(run.run)
app.command("merge")(merge.merge)
app.command("compare")(compare.compare)
app.command("report")(report.report)
app.command("demo")(demo.demo)
app.command("systems")(systems.systems)
app.add_typer(data.app, name="data")
app.add_typer(make.app, name="make")
app.add_typer(patterns.app, name="patterns")
app.command("annotate")(annotate.annotate)
app.command("agreement")(agreement.agreement)
app.command("correlate")(correlate.correlate)
app.add_typer(lab.app, name="lab")


def main() -> None:
    """The `babelscope` command: bad input is told in one sentence, without a traceback."""
    # What we read and write is UTF-8, whatever the locale says. A file's name may be no text at all.
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
    sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    warnings.showwarning = _warn  # type: ignore[assignment]
    try:
        try:
            app()
        except SystemExit as ended:
            # Answers are kept by a module that commands which ask nobody do not need.
            answers = sys.modules.get("babelscope.systems.answers")
            if answers is not None and not ended.code:
                answers.forget_unfinished()
            raise
    except BabelscopeError as error:
        print(f"babelscope: error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except OSError as error:
        # A disk or a name that the system refuses, where nothing better is known to say than what and why.
        named = f"{error.filename!r}: " if error.filename else ""
        print(f"babelscope: error: {named}{error.strerror or error}", file=sys.stderr)
        sys.exit(1)


def _warn(message: Warning | str, *_where: object) -> None:
    print(f"babelscope: warning: {message}", file=sys.stderr)
