"""Progress on stderr: bars on a terminal for work of more than two seconds, elsewhere a line every 30 seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TextIO, cast

from babelscope.util.terminal import Filtered, unfiltered, visible

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.text import Text

# Work that is done sooner shows no bar.
PATIENCE_SECONDS = 2.0
# Where there is no terminal, a line is printed this often.
LINE_SECONDS = 30.0
# The work that such lines are of, outermost first: work within other work is on its line once a step is done.
_running: list[_Line] = []
# The bars being shown, if any: work within other work is a further line there, since a terminal has room for one.
_shown: list[Progress] = []


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that `what` is in progress, and for how long."""
    with progress(what, None):
        yield


class Advance(Protocol):
    """Advances by an amount, with figures to show."""

    def __call__(self, count: int, figures: str = "", /) -> None: ...


@contextmanager
def progress(
    what: str,
    total: int | None,
    *,
    done: int = 0,
    of_bytes: bool = False,
    quiet: bool = False,
    within: bool = False,
) -> Iterator[Advance]:
    """Show the progress of `what` and the time left, unless `quiet`; `done` steps were done before; `within`: only
    where it is part of other work that is shown."""
    # Other threads have no line of their own: it would come and go with each of their pieces of work.
    alone = within and not (_shown or _running)
    if quiet or alone or threading.current_thread() is not threading.main_thread():
        yield lambda _count, _figures="": None
        return
    what = visible(what)
    if not sys.stderr.isatty():
        with _lines(what, total, done) as advance:
            yield advance
        return
    inner = bool(_shown)
    bar = _shown[0] if inner else _bars()
    task = bar.add_task(what, total=total, completed=done, of_bytes=of_bytes)

    def draw(count: int, figures: str = "") -> None:
        shown = f"{what}: {visible(figures)}" if figures else None
        bar.update(task, advance=count, description=shown)

    with nullcontext() if inner else _after_a_while(bar):
        try:
            yield draw
        finally:
            if inner:
                bar.remove_task(task)


@dataclass
class _Line:
    """How far some work is, in plain words."""

    what: str
    total: int | None
    done: int
    figures: str = ""

    def __post_init__(self) -> None:
        self.before, self.began = self.done, time.monotonic()

    def advance(self, count: int, figures: str = "") -> None:
        self.done += count
        self.figures = f" {figures}," if figures else self.figures

    def __str__(self) -> str:
        share = "" if self.total is None else f" {self.done} of {self.total},"
        took, left = time.monotonic() - self.began, ""
        if self.total and self.before < self.done < self.total:
            seconds = took * (self.total - self.done) / (self.done - self.before)
            left = f", about {seconds:.0f} s left"
        return f"{self.what}:{share}{self.figures} {took:.0f} s{left}"


@contextmanager
def _lines(what: str, total: int | None, done: int) -> Iterator[Advance]:
    """Prints a plain line every `LINE_SECONDS`, for logs."""
    line, over = _Line(what, total, done), threading.Event()

    def print_lines() -> None:
        while not over.wait(LINE_SECONDS):
            shown = "; ".join(str(each) for each in list(_running) if each is line or each.done > each.before)
            with suppress(OSError, ValueError):  # a stderr that cannot be written stops nothing
                print(shown, file=sys.stderr, flush=True)

    thread = None if _running else threading.Thread(target=print_lines, daemon=True)
    _running.append(line)
    if thread:
        thread.start()
    try:
        yield line.advance
    finally:
        _running.remove(line)
        over.set()
        if thread:
            thread.join()


def _bars() -> Progress:
    from rich import progress as rich
    from rich.console import Console

    bytes_done, speed = rich.DownloadColumn(), rich.TransferSpeedColumn()
    done, left, since = rich.MofNCompleteColumn(), rich.TimeRemainingColumn(), rich.TimeElapsedColumn()

    class Figures(rich.ProgressColumn):
        """The state of a task: bytes and speed, or steps done of all and the time left."""

        def render(self, task: rich.Task) -> Text:
            from rich.text import Text

            if task.total is None:
                columns: tuple[rich.ProgressColumn, ...] = (since,)
            else:
                columns = (bytes_done, speed) if task.fields["of_bytes"] else (done, left)
            return Text(" ").join(cast("Text", each.render(task)) for each in columns)

    return rich.Progress(
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        Figures(),
        # The filter would escape the codes that move the cursor.
        console=Console(file=unfiltered(sys.stderr)),
        transient=True,
        # A chunk may take longer than rich's 30 seconds, after which it would forget the speed and give no estimate.
        speed_estimate_period=3600,
        # Otherwise rich sends to stderr what is printed to a redirected stdout.
        redirect_stdout=sys.stdout.isatty(),
    )


@contextmanager
def _after_a_while(bar: Progress) -> Iterator[None]:
    """Show a progress bar if the block takes more than two seconds, and remove it at the end."""

    def start() -> None:
        bar.start()
        _filter_redirected()

    timer = threading.Timer(PATIENCE_SECONDS, start)
    timer.daemon = True
    _shown.append(bar)
    timer.start()
    try:
        yield
    finally:
        _shown.remove(bar)
        timer.cancel()
        # The timer may be starting the bar right now; wait, or nobody would stop it.
        timer.join()
        bar.stop()


def _filter_redirected() -> None:
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
