"""`babelscope annotate`: a page on this machine where a person judges translations."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from babelscope.cli.common import AsJson, Form, Seed, as_line, file_option, print_json, write_file
from babelscope.util.errors import BabelscopeError
from babelscope.util.terminal import visible
from babelscope.util.text import shorten

if TYPE_CHECKING:
    from babelscope.annotate.answers import AnswerFile
    from babelscope.methods.queue import Drawn


Task = Literal[
    "machine-reference", "mucow", "winomt", "challenge", "extraction", "assessment", "ranking", "choice"
]
OfMethod = Annotated[str, typer.Option(metavar="NAME", help="Of a run with several methods.")]
OfTests = Annotated[str, typer.Option(metavar="NAME", help="Of a run on several test sets.")]
OfSystems = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Of a run; may be repeated. All unless said.")
]


def annotate(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|RUN|TESTS",
            help="What is to be judged, a JSON object a line; a finished run folder; or a challenge set, whose "
            "dependencies are judged with no system: are they real?",
        ),
    ],
    annotator: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Who judges; answers go to FILE.answers.NAME.jsonl. Repeat it for several people: "
            "each gets an address of their own. (Default: me.)",
        ),
    ] = None,
    task: Annotated[
        Task | None,
        typer.Option(
            metavar="TASK", help=f"What is judged, for lines without `task`: {', '.join(get_args(Task))}."
        ),
    ] = None,
    method: OfMethod = "",
    tests: OfTests = "",
    system: OfSystems = None,
    n: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Items to draw from a run or a challenge set, of each group its share. (Default: 100.)",
        ),
    ] = None,
    distance: Annotated[
        list[int] | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Of a challenge set: dependencies with exactly N words between, equally many of each phenomenon; "
            "may be repeated.",
        ),
    ] = None,
    queue: Annotated[
        Path | None, file_option("Where what is drawn goes. (Default: RUN.queue.jsonl.)")
    ] = None,
    guidelines: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.md",
            help="Your own guidelines, in Markdown, in the place of ours. (Default: FILE.guidelines.md, if it is "
            "there.)",
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0: a free one.")] = 0,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
    as_json: AsJson = False,
    seed: Seed = 0,
) -> None:
    """Judge translations in the browser, blind and by keyboard. Every answer is saved at once.

    `babelscope annotate sample` draws what people should judge in a validation study.
    """
    import secrets

    from babelscope.annotate.extraction import queue_of_set
    from babelscope.annotate.items import read_tasks
    from babelscope.annotate.markdown import guidelines_path, read_markdown
    from babelscope.annotate.server import LOOPBACK, Desk, build_app, listen_locally, serve
    from babelscope.runs.queue import queue_of_run
    from babelscope.runs.reading import check_if_of_a_run

    names = annotator or ["me"]
    of_run = {"--method": method, "--tests": tests, "--system": system}
    drawn_by = {**of_run, "--distance": distance, "--n": n, "--queue": queue}
    if file.is_dir():
        _refuse_said({"--distance": distance}, f"about a challenge set, and {file} is a run")
        chosen = {"method": method, "tests": tests, "systems": system or ()}
        file = _kept(queue or _queue_beside(file), file, queue_of_run, n=n or 100, seed=seed, **chosen)
    elif _is_challenge_set(file, task):
        _refuse_said(of_run, f"about a run folder, and {file} is a challenge set")
        path = queue or _queue_beside(file)
        file = _kept(path, file, queue_of_set, n=n or 100, distances=distance or (), seed=seed)
    else:
        _refuse_said(drawn_by, f"about a run folder or a challenge set, and {file} is none")
    tasks = read_tasks(check_if_of_a_run(file), task)
    own = guidelines or guidelines_path(file)
    rules = read_markdown(own) if guidelines is not None or own.exists() else []
    desk = Desk(file, tasks, names, seed=seed, guidelines=rules)
    try:
        for answers in desk.files.values():
            _warn(answers, file)
        with listen_locally(port) as listener:
            tokens = {name: secrets.token_urlsafe(24) for name in names}
            at = listener.getsockname()[1]
            urls = {name: f"http://{LOOPBACK}:{at}/{token}/" for name, token in tokens.items()}
            for name, url in urls.items():
                path, judged, of = desk.files[name].path, desk.judged(name), len(desk.tasks[name])
                if as_json:
                    start = {"url": url, "answers": str(path), "annotator": name}
                    print_json({**start, "judged": judged, "items": of})
                    sys.stdout.flush()
                else:
                    print(f"{name} has judged {judged} of {of}: {path}\nGo on at {url}")
            if not as_json:
                if len(names) > 1:
                    print("Who has an address judges under its name: give each person theirs only.")
                print("Ctrl-C ends; every answer is saved at once.", flush=True)
            if open_page and len(names) == 1 and _has_desktop():
                import webbrowser

                webbrowser.open(urls[names[0]])
            with contextlib.suppress(KeyboardInterrupt):
                serve(build_app(desk, tokens=tokens, port=at), listener)
            if not as_json:
                done = {name: f"{desk.judged(name)} of {len(desk.tasks[name])}" for name in names}
                print("".join(f"\n{name} has judged {count}." for name, count in done.items()))
    finally:
        desk.close()


def _refuse_said(options: Mapping[str, Any], about: str) -> None:
    if said := [option for option, value in options.items() if value]:
        raise BabelscopeError(f"{said[0]} is {about}")


def _is_challenge_set(file: Path, task: Task | None) -> bool:
    """Whether it is a test set by its name, or a file of one; lines that are given a task are items to judge."""
    from babelscope.annotate.extraction import is_challenge_set
    from babelscope.testsets.loading import FORMATS

    if task not in (None, "extraction"):
        return False
    scheme, colon, _ = str(file).partition(":")
    return is_challenge_set(file) if file.exists() else bool(colon) and scheme in FORMATS.names()


def _queue_beside(of: Path) -> Path:
    """Where what is drawn from a run or a challenge set goes if nothing else is said."""
    if not of.exists():
        raise BabelscopeError(f"say with --queue FILE where what is drawn from {of} goes")
    place = of if of.name not in ("", "..") else of.resolve()
    return place.with_name(f"{place.name.removesuffix('.jsonl')}.queue.jsonl")


def _kept(path: Path, of: Path, draw: Callable[..., Drawn], **chosen: Any) -> Path:
    """The file of what is drawn, written unless it is there already."""
    from babelscope.util.outputs import check_outputs
    from babelscope.util.text import read_bytes

    check_outputs({"--queue": path}, inputs=[of])
    drawn = draw(str(of), **chosen)
    lines = [as_line(line) for line in drawn.lines]
    if not path.exists():
        write_file(path, Form.JSON, lines)
        print(f"{visible(str(path))}: {drawn}", file=sys.stderr)
    elif read_bytes(path) != "".join(f"{line}\n" for line in lines).encode():
        raise BabelscopeError(
            f"{path} has other items than are drawn from {of} now; say the same options as when it was written, "
            f"judge the file itself (babelscope annotate {path}), or name another with --queue"
        )
    return path


def _warn(answers: AnswerFile, file: Path) -> None:
    """Say what is not shown of the answers, and why."""
    if answers.strange:
        print(
            f"babelscope: warning: {answers.path} has {answers.strange} answers to items that {file} does not "
            "have (any more); they are kept, and not shown",
            file=sys.stderr,
        )
    if answers.torn:
        torn = shorten(answers.torn.decode("utf-8", "replace"), 200)
        print(
            f"babelscope: warning: the last line of {answers.path} is an answer whose process was killed before "
            f"it was saved; it is cut off, and its item is asked again: {torn}",
            file=sys.stderr,
        )


def _has_desktop() -> bool:
    """Without one, a browser in this terminal would be opened."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
