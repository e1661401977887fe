"""Progress bars: on a terminal only, on stderr, and only for what takes a while."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from babelscope.util.terminal import Filtered, unfiltered, visible

if TYPE_CHECKING:
    from rich.console import Console

# What is done sooner needs no bar.
PATIENCE_SECONDS = 2.0


@contextmanager
def progress(what: str, total: int, *, of_bytes: bool = False) -> Iterator[Callable[[int], None]]:
    """Shows how far `what` is; the function it gives is called with the number of things done since."""
    if not sys.stderr.isatty():
        yield lambda _count: None
        return
    from rich import progress as rich

    columns = (
        (rich.DownloadColumn(), rich.TransferSpeedColumn())
        if of_bytes
        else (rich.MofNCompleteColumn(), rich.TimeRemainingColumn())
    )
    bar = rich.Progress(
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        *columns,
        console=live_console(),
        transient=True,
        # Else rich would print on stderr also what belongs into the file or pipe that stdout is.
        redirect_stdout=sys.stdout.isatty(),
    )
    task = bar.add_task(visible(what), total=total)

    def start() -> None:
        bar.start()
        filter_redirected()

    timer = threading.Timer(PATIENCE_SECONDS, start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda count: bar.advance(task, count)
    finally:
        timer.cancel()
        # It may just be starting the bar, which would then never be stopped.
        timer.join()
        bar.stop()


def live_console() -> Console:
    """Where rich draws: stderr without the filter, which would show what moves the cursor."""
    from rich.console import Console

    return Console(file=unfiltered(sys.stderr))


def filter_redirected() -> None:
    """While it draws, rich has streams of its own in place of ours: put the filter on them too."""
    from rich.file_proxy import FileProxy

    for name in ("stdout", "stderr"):
        if isinstance(stream := getattr(sys, name), FileProxy):
            setattr(sys, name, cast(TextIO, Filtered(cast(TextIO, stream), name=name, may_fail=True)))


def hub_bar() -> type[Any]:
    """The bar of downloads from the Hugging Face hub, drawn without the filter too."""
    from huggingface_hub.utils.tqdm import tqdm

    class Bar(tqdm):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            told = {"desc": visible(options.get("desc") or ""), "file": unfiltered(sys.stderr)}
            super().__init__(*arguments, **{**options, **told})  # type: ignore[no-untyped-call]

    return Bar
