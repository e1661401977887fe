"""`babelscope annotate`: a page on this machine where a person judges translations."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from babelscope.cli.agreement import Protocol
from babelscope.cli.common import AsJson, Form, Seed, as_line, file_option, paragraph, print_json, write_file
from babelscope.cli.shell import refuse_unused
from babelscope.util.errors import BabelscopeError, explain_damage
from babelscope.util.files import check_outputs
from babelscope.util.terminal import visible
from babelscope.util.text import shorten

if TYPE_CHECKING:
    from babelscope.annotate.answers import AnswerFile
    from babelscope.annotate.server import Desk
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
            help="What is to be judged, one JSON object per line; a finished run folder; or a challenge set, whose "
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
    from babelscope.annotate.server import (
        LOOPBACK,
        Desk,
        build_app,
        guidelines_path,
        listen_locally,
        read_markdown,
        serve,
    )
    from babelscope.runs.reading import check_if_of_a_run, queue_of_run

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
            _announce(desk, urls, as_json=as_json)
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


def _announce(desk: Desk, urls: Mapping[str, str], *, as_json: bool) -> None:
    """Print where each annotator goes on, and how much they have judged."""
    for name, url in urls.items():
        path, judged, of = desk.files[name].path, desk.judged(name), len(desk.tasks[name])
        if as_json:
            start = {"url": url, "answers": str(path), "annotator": name}
            print_json({**start, "judged": judged, "items": of})
            sys.stdout.flush()
        else:
            print(f"{name} has judged {judged} of {of}: {path}\nGo on at {url}")
    if not as_json:
        if len(urls) > 1:
            print("Who has an address judges under its name: give each person theirs only.")
        print("Ctrl-C ends; every answer is saved at once.", flush=True)


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


def sample(
    context: typer.Context,
    to: Annotated[Path, typer.Option("--to", metavar="FILE.jsonl", help="Where the queue goes.")],
    judged: Annotated[
        Path | None,
        typer.Argument(
            metavar="RUN|RECORDS",
            help="A finished run of `patterns` or `condition`, or what their --records wrote.",
        ),
    ] = None,
    tests: Annotated[
        str,
        typer.Option(
            metavar="TESTS", help="Without a run: a test set of ambiguous sources, in any language pair."
        ),
    ] = "",
    translations: Annotated[Path | None, file_option("And one's own translations of it.")] = None,
    patterns: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN|RECORDS",
            help="What pattern matching said of the same translations; it tells what is undecided.",
        ),
    ] = None,
    n: Annotated[
        int, typer.Option(min=1, metavar="N", help="Most undecided translations; of all if all are decided.")
    ] = 200,
    most: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Most translations in all: fewer of both kinds, in the same proportion."
        ),
    ] = None,
    assume_decided: Annotated[
        bool,
        typer.Option(
            "--assume-decided",
            help="Ask only about what is undecided; `agreement --patterns` then takes what was decided for right, "
            "in proportion, as the paper does.",
        ),
    ] = False,
    protocol: Annotated[
        Protocol, typer.Option(help="paper: as in appendix E, 200 undecided ones with --assume-decided.")
    ] = "checked",
    annotator: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Who judges, for --overlap; may be repeated.")
    ] = None,
    overlap: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Items that all judge; the others are shared out. (Default: all judge all.)",
        ),
    ] = None,
    guidelines: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.md",
            help="Your own guidelines, in Markdown; a copy goes beside the queue, and the page shows it.",
        ),
    ] = None,
    method: OfMethod = "",
    of_tests: OfTests = "",
    system: OfSystems = None,
    as_json: AsJson = False,
    seed: Seed = 0,
) -> None:
    """Draw what people should judge: what pattern matching cannot decide, and of the rest in proportion."""
    from babelscope.annotate.answers import check_names
    from babelscope.annotate.sampling import draw_sample, records_of, records_of_translations, share_among
    from babelscope.annotate.server import guidelines_path, read_markdown

    if (judged is None) == (not tests or translations is None):
        raise BabelscopeError("annotate sample needs a run or records, or --tests and --translations")
    of_run = None if judged is not None else "a run or records"
    refuse_unused(
        context,
        {
            **dict.fromkeys(("method", "of_tests", "system"), of_run),
            **dict.fromkeys(
                ("tests", "translations"), None if judged is None else "translations without a run"
            ),
            "annotator": None if overlap is not None else "--overlap; without it, all judge all",
        },
    )
    names = annotator or []
    check_names(names)
    beside = guidelines_path(to) if guidelines is not None else None
    check_outputs({"--to": to, "--guidelines": beside}, inputs=[judged, translations, patterns, guidelines])
    for path in (to, beside):
        if path is not None and path.exists():
            raise BabelscopeError(
                f"{path} exists, and there may be answers to it; choose another file for --to"
            )
    if guidelines is not None:
        read_markdown(guidelines)
    with explain_damage(", ".join(str(each) for each in (judged, patterns) if each is not None)):
        records = (
            records_of(judged, method=method, tests=of_tests, systems=system or ())
            if judged is not None
            else records_of_translations(tests, translations or Path())
        )
        by = None if patterns is None else [(str(patterns), each) for each in records_of(patterns)]
        assumed = assume_decided or protocol == "paper"
        drawn = draw_sample(records, by=by, n=n, most=most, assume_decided=assumed, seed=seed)
    lines = drawn.lines if overlap is None else share_among(drawn.lines, names, overlap)
    if guidelines is not None and beside is not None:
        write_file(beside, Form.LINES, [guidelines.read_text("utf-8").rstrip("\n")])
    write_file(to, Form.JSON, map(as_line, lines))
    if as_json:
        print_json(
            {"queue": str(to), "drawn": len(lines), "of": dict(drawn.sizes), "left_out": drawn.left_out}
        )
        return
    who = "".join(f" --annotator {name}" for name in names)
    print(f"{to}: {drawn}", file=sys.stderr)
    print(paragraph(f"to judge them: babelscope annotate {to}{who}"))
