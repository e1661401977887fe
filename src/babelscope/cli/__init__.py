"""The command line: global options, help and errors; `commands` lists what can be run."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from babelscope.cli.commands import CommandGroup
from babelscope.cli.shell import STOPPED
from babelscope.util.errors import BabelscopeError, explain_missing
from babelscope.util.terminal import filter_streams, visible
from babelscope.util.version import __version__

app = typer.Typer(
    name="babelscope",
    cls=CommandGroup,
    help="Shows what a machine translation model gets wrong.",
    no_args_is_help=True,
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


def main() -> None:
    """The `babelscope` command: bad input is reported in one sentence, without a traceback."""
    # Before any library is imported, so that its log goes through the filter, too.
    filter_streams()
    warnings.showwarning = _warn  # type: ignore[assignment]
    stdout = sys.stdout
    code = _exit_code(app)
    try:
        # The buffer of stdout may not fit on the disk: reported here, not by Python at exit.
        stdout.flush()
    except (BabelscopeError, OSError) as error:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        if not code:
            code = _exit_code(functools.partial(_raise, error))
    # Not imported by commands that ask no system.
    if not code and (answers := sys.modules.get("babelscope.systems.cache")) is not None:
        answers.forget_unfinished()
    sys.exit(code)


def _raise(error: Exception) -> NoReturn:
    raise error


def _exit_code(run: Callable[[], object]) -> int:
    """Run a function, print its error as one sentence, and return the exit code."""
    try:
        with explain_missing("this command"):
            run()
    except SystemExit as stopped:
        return stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
    except BabelscopeError as error:
        print(f"babelscope: error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:  # before the command began, or after it ended
        print("babelscope: stopped", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:
        return 1  # the reader is gone, which is no error to show
    except OSError as error:
        # An error of the operating system that nothing closer to its cause has explained.
        named = f"{error.filename!r}: " if error.filename else ""
        print(f"babelscope: error: {named}{error.strerror or error}", file=sys.stderr)
        return 1
    return 0


def _warn(message: Warning | str, *_where: object) -> None:
    print(f"babelscope: warning: {visible(str(message))}", file=sys.stderr)
