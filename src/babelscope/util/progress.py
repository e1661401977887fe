"""Progress bars on stderr: on a terminal only, and only for work of more than two seconds."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from babelscope.util.terminal import Filtered, unfiltered, visible

if TYPE_CHECKING:
    from rich.console import Console

# Work that is done sooner shows no bar.
PATIENCE_SECONDS = 2.0


@contextmanager
def progress(what: str, total: int, *, of_bytes: bool = False) -> Iterator[Callable[[int], None]]:
    """Show a bar for the block; call the function it gives with the number of things (or bytes) done since."""
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
        # Otherwise rich sends to stderr what is printed to a redirected stdout.
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
        # The timer may be starting the bar right now; wait, or nobody would stop it.
        timer.join()
        bar.stop()


def live_console() -> Console:
    """A console on the unfiltered stderr: the filter would escape the codes that move the cursor."""
    from rich.console import Console

    return Console(file=unfiltered(sys.stderr))


def filter_redirected() -> None:
    """Filter the streams that rich puts in place of stdout and stderr while it draws."""
    from rich.file_proxy import FileProxy

    for name in ("stdout", "stderr"):
        if isinstance(stream := getattr(sys, name), FileProxy):
            setattr(sys, name, cast(TextIO, Filtered(cast(TextIO, stream), name=name, may_fail=True)))


def hub_bar() -> type[Any]:
    """A progress bar class for downloads from the Hugging Face hub, drawn on the unfiltered stderr."""
    from huggingface_hub.utils.tqdm import tqdm

    class Bar(tqdm):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            ours = {"desc": visible(options.get("desc") or ""), "file": unfiltered(sys.stderr)}
            super().__init__(*arguments, **{**options, **ours})  # type: ignore[no-untyped-call]

    return Bar
