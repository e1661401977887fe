"""The command `babelscope parrot`: any function with typer's annotations is one."""

from __future__ import annotations

from typing import Annotated

import typer


def parrot(
    text: Annotated[str, typer.Argument(help="What is to be said.")],
    times: Annotated[int, typer.Option(min=1, help="How often it is said.")] = 2,
) -> None:
    """Say it again."""
    print(" ".join([text] * times))
