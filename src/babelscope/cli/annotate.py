"""`babelscope annotate`: a page on this machine where a person judges translations."""

from __future__ import annotations

import contextlib
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from babelscope.cli.common import AsJson, Seed, print_json


class Task(StrEnum):
    """What is judged."""

    machine_reference = "machine-reference"
    mucow = "mucow"
    winomt = "winomt"
    challenge = "challenge"
    assessment = "assessment"
    ranking = "ranking"


def annotate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What is to be judged, a JSON object a line.")],
    annotator: Annotated[
        str, typer.Option(metavar="NAME", help="Who judges; answers go to FILE.answers.NAME.jsonl.")
    ] = "me",
    task: Annotated[
        Task | None, typer.Option(help="What is judged, for lines without `task`.", show_default=False)
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0: a free one.")] = 0,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
    as_json: AsJson = False,
    seed: Seed = 0,
) -> None:
    """Judge translations in the browser: blind, by keyboard, every answer saved at once."""
    import secrets
    from urllib.parse import quote

    from babelscope.annotate.items import read_tasks
    from babelscope.annotate.server import LOOPBACK, Desk, build_app, listening, serve

    tasks = read_tasks(file, task.value if task else None)
    desk = Desk(file, tasks, seed=seed)
    answers = desk.file_of(annotator)
    if answers.strange:
        print(
            f"babelscope: warning: {answers.path} has {answers.strange} answers to items that {file} does not "
            "have (any more); they are kept, and not shown",
            file=sys.stderr,
        )
    try:
        with listening(port) as listener:
            token = secrets.token_urlsafe(24)
            at = listener.getsockname()[1]
            url = f"http://{LOOPBACK}:{at}/{token}/?annotator={quote(annotator)}"
            if as_json:
                start = {"url": url, "answers": str(answers.path), "annotator": annotator}
                print_json({**start, "judged": desk.judged(annotator), "items": len(tasks)})
                sys.stdout.flush()
            else:
                print(f"{annotator} has judged {desk.judged(annotator)} of {len(tasks)}: {answers.path}")
                print(f"Go on at {url}\nCtrl-C ends; every answer is saved at once.", flush=True)
            if open_page and _has_desktop():
                import webbrowser

                webbrowser.open(url)
            with contextlib.suppress(KeyboardInterrupt):
                serve(build_app(desk, token=token, port=at, annotator=annotator), listener)
            if not as_json:
                print(f"\n{annotator} has judged {desk.judged(annotator)} of {len(tasks)}.")
    finally:
        desk.close()


def _has_desktop() -> bool:
    """Without one, a browser in this terminal would be opened."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
