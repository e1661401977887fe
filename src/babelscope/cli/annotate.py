"""`babelscope annotate`: a local web page where people judge translations."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from babelscope.cli.common import (
    AsJson,
    Form,
    Seed,
    as_line,
    file_option,
    option,
    paragraph,
    print_json,
    setting,
    write_file,
)
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


def _number(help: str, low: int = 1) -> Any:
    return option(help, min=low, metavar="N")


def _name(help: str, metavar: str = "NAME") -> Any:
    return option(help, metavar=metavar)


OfMethod = Annotated[str, _name("Method to judge, for a run with several.")]
OfTests = Annotated[str, _name("Test set to judge, for a run with several.")]
OfSystems = Annotated[list[str] | None, _name("Systems of the run to judge; repeatable. [default: all]")]


def annotate(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|RUN|TESTS",
            help="What to judge: JSON lines, a finished run, or a challenge set (whether its dependencies "
            "are real). With --sample: a run of `condition`, its records, or a test set.",
        ),
    ],
    annotator: Annotated[
        list[str] | None,
        _name("Name of an annotator, whose answers go to FILE.answers.NAME.jsonl; repeatable. [default: me]"),
    ] = None,
    task: Annotated[
        Task | None, _name(f"For lines without `task`: {', '.join(get_args(Task))}.", "TASK")
    ] = None,
    method: OfMethod = "",
    tests: OfTests = "",
    system: OfSystems = None,
    queue_size: Annotated[
        int | None,
        _number("Items to draw, in proportion to groups. [default: 100; with --sample, 200 undecided ones]"),
    ] = None,
    queue_per_group: Annotated[
        int | None, _number("Items to draw per group (phenomenon, category) of a run.")
    ] = None,
    queue_only: Annotated[bool, option("Only write --queue; do not serve the page.", "--queue-only")] = False,
    distance: Annotated[
        list[int] | None,
        setting("Challenge set: exact number of words between head and dependent; repeatable.", min=0),
    ] = None,
    queue: Annotated[Path | None, file_option("File of the drawn items. [default: RUN.queue.jsonl]")] = None,
    sample: Annotated[
        bool,
        option(
            "Only write --queue, for a validation study: what pattern matching cannot decide, and a "
            "proportional share of the rest.",
            "--sample",
        ),
    ] = False,
    translations: Annotated[
        Path | None, setting("With --sample: your own translations of the test set.")
    ] = None,
    patterns: Annotated[
        Path | None,
        setting("With --sample: verdicts of pattern matching on the same translations."),
    ] = None,
    most: Annotated[
        int | None,
        setting("With --sample: maximum number of translations, in the same proportion.", min=1),
    ] = None,
    corpus: Annotated[
        list[str] | None,
        setting("With --sample: only items of this corpus or domain; not:NAME, all others; repeatable."),
    ] = None,
    assume_decided: Annotated[
        bool,
        setting(
            "With --sample: ask only about undecided ones; `agreement --patterns` then counts the "
            "decided ones as right, in proportion, like the paper (appendix E)."
        ),
    ] = False,
    overlap: Annotated[
        int | None,
        _number(
            "With --sample: items judged by all annotators; the others are divided. [default: all]", low=0
        ),
    ] = None,
    guidelines: Annotated[
        Path | None,
        _name("Guidelines in Markdown. [default: FILE.guidelines.md if it exists, else ours]", "FILE.md"),
    ] = None,
    port: Annotated[int, option("Local port; 0: a free one.", min=0, max=65535)] = 0,
    open_page: Annotated[bool, option("Open the page in the browser.", "--open/--no-open")] = True,
    as_json: AsJson = False,
    seed: Seed = 0,
) -> None:
    """Judge translations in the browser, blind, by keyboard. Each answer is saved at once."""
    from babelscope.annotate.queue import queue_of_set, read_tasks
    from babelscope.annotate.server import Desk, guidelines_path, read_markdown
    from babelscope.runs.reading import check_if_of_a_run, queue_of_run

    n = queue_size
    only = ("translations", "patterns", "most", "corpus", "assume_decided", "overlap")
    unshared = None if overlap is not None else "--overlap; without it, every annotator judges all items"
    unjudged = dict.fromkeys(
        ("task", "distance", "queue_per_group", "queue_only", "port", "open_page"), "judging, not --sample"
    )
    refuse_unused(context, {**unjudged, "annotator": unshared} if sample else dict.fromkeys(only, "--sample"))
    if sample:
        drawn = {"n": n or 200, "most": most, "corpora": corpus or ()}
        drawn |= {"assume_decided": assume_decided, "seed": seed}
        of_judged = {"method": method, "tests": tests, "systems": system or ()}
        _write_sample(
            file,
            queue,
            translations,
            patterns,
            of_judged,
            drawn,
            annotator or [],
            overlap,
            guidelines,
            as_json,
        )
        return
    names = annotator or ["me"]
    only_of_run: dict[str, Any] = {"--method": method, "--tests": tests, "--system": system}
    only_of_run["--queue-per-group"] = queue_per_group
    if file.is_dir():
        _refuse_given({"--set distance": distance}, f"only applies to a challenge set, but {file} is a run")
        if queue_per_group is not None:
            refuse_unused(context, {"queue_size": "a queue without --queue-per-group"})
        of_run: Any = {"method": method, "tests": tests, "systems": system or ()}
        draw = partial(queue_of_run, **of_run, per_group=queue_per_group)
        file = _write_queue(queue, file, draw, n=n or 100, seed=seed)
    elif _is_challenge_set(file, task):
        _refuse_given(only_of_run, f"only applies to a run folder, but {file} is a challenge set")
        draw = partial(queue_of_set, distances=distance or ())
        file = _write_queue(queue, file, draw, n=n or 100, seed=seed)
    else:
        drawing = {**only_of_run, "--set distance": distance, "--queue-size": n, "--queue": queue}
        drawing["--queue-only"] = queue_only
        _refuse_given(drawing, f"only applies to a run folder or a challenge set, but {file} is neither")
    if queue_only:
        return
    tasks = read_tasks(check_if_of_a_run(file), task)
    own = guidelines or guidelines_path(file)
    rules = read_markdown(own) if guidelines is not None or own.exists() else []
    desk = Desk(file, tasks, names, seed=seed, guidelines=rules)
    try:
        for answers in desk.files.values():
            _warn(answers, file)
        _serve(desk, names, port, open_page=open_page, as_json=as_json)
    finally:
        desk.close()


def _refuse_given(options: Mapping[str, Any], about: str) -> None:
    if given := [option for option, value in options.items() if value]:
        raise BabelscopeError(f"{given[0]} {about}")


def _is_challenge_set(file: Path, task: Task | None) -> bool:
    """Whether the path is a challenge set, and not a file of items with tasks."""
    from babelscope.annotate.queue import is_challenge_set
    from babelscope.testsets.loading import FORMATS

    if task not in (None, "extraction"):
        return False
    scheme, colon, _ = str(file).partition(":")
    return is_challenge_set(file) if file.exists() else bool(colon) and scheme in FORMATS.names()


def _write_queue(path: Path | None, of: Path, draw: Callable[..., Drawn], *, n: int, seed: int) -> Path:
    """Draw a queue and write it, unless the file exists."""
    from babelscope.util.text import read_bytes

    if path is None:
        if not of.exists():
            raise BabelscopeError(f"say with --queue FILE where what is drawn from {of} goes")
        place = of if of.name not in ("", "..") else of.resolve()
        path = place.with_name(f"{place.name.removesuffix('.jsonl')}.queue.jsonl")
    check_outputs({"--queue": path}, inputs=[of])
    drawn = draw(str(of), n=n, seed=seed)
    lines = [as_line(line) for line in drawn.lines]
    if not path.exists():
        write_file(path, Form.JSON, lines)
        print(f"{visible(str(path))}: {drawn}", file=sys.stderr)
    elif read_bytes(path) != "".join(f"{line}\n" for line in lines).encode():
        raise BabelscopeError(
            f"{path} has other items than are drawn from {of} now; give the same options as when it was "
            f"written, judge the file itself (babelscope annotate {path}), or name another with --queue"
        )
    return path


def _warn(answers: AnswerFile, file: Path) -> None:
    """Warn about answers that are not shown."""
    if answers.unknown:
        print(
            f"babelscope: warning: {answers.path} has {answers.unknown} answers to items that {file} "
            "does not have; they stay in the file but are not shown",
            file=sys.stderr,
        )
    if answers.torn:
        torn = shorten(answers.torn.decode("utf-8", "replace"), 200)
        print(
            f"babelscope: warning: the last line of {answers.path} is an incomplete answer (the "
            f"process was killed); it is removed, and its item is asked again: {torn}",
            file=sys.stderr,
        )


def _serve(desk: Desk, names: list[str], port: int, *, open_page: bool, as_json: bool) -> None:
    """Print an address per annotator, and serve the page until Ctrl-C."""
    import secrets
    import webbrowser

    from babelscope.annotate.server import LOOPBACK, build_app, listen_locally, serve

    with listen_locally(port) as listener:
        tokens = {name: secrets.token_urlsafe(24) for name in names}
        at = listener.getsockname()[1]
        for name, token in tokens.items():
            url = f"http://{LOOPBACK}:{at}/{token}/"
            path, judged, of = desk.files[name].path, desk.judged(name), len(desk.tasks[name])
            if as_json:
                start = {"url": url, "answers": str(path), "annotator": name}
                print_json({**start, "judged": judged, "items": of})
            else:
                print(f"{name} has judged {judged} of {of}: {path}\nThe page is at {url}")
            # Without a desktop, a browser in this terminal would be opened.
            if open_page and len(names) == 1 and _has_desktop():
                webbrowser.open(url)
        if not as_json:
            if len(names) > 1:
                print("Anyone with an address judges under its name: give each person only their own.")
            print("Stop with Ctrl-C; each answer is saved at once.")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            serve(build_app(desk, tokens=tokens, port=at), listener)
    if not as_json:
        done = {name: f"{desk.judged(name)} of {len(desk.tasks[name])}" for name in names}
        print("".join(f"\n{name} has judged {count}." for name, count in done.items()))


def _has_desktop() -> bool:
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _write_sample(
    judged: Path,
    queue: Path | None,
    translations: Path | None,
    patterns: Path | None,
    of_judged: Mapping[str, Any],
    drawing: Mapping[str, Any],
    names: list[str],
    overlap: int | None,
    guidelines: Path | None,
    as_json: bool,
) -> None:
    """Draw a sample to judge: what pattern matching cannot decide, and a proportional share of the rest."""
    from babelscope.annotate.answers import check_names
    from babelscope.annotate.queue import draw_sample, records_of, records_of_translations, share_among
    from babelscope.annotate.server import guidelines_path, read_markdown

    if queue is None:
        raise BabelscopeError("--sample needs --queue FILE for the drawn items")
    if translations is not None and any(of_judged.values()):
        raise BabelscopeError("--method, --tests and --system only apply to a run, not to --set translations")
    check_names(names)
    copy = guidelines_path(queue) if guidelines is not None else None
    check_outputs(
        {"--queue": queue, "--guidelines": copy}, inputs=[judged, translations, patterns, guidelines]
    )
    for path in (queue, copy):
        if path is not None and path.exists():
            raise BabelscopeError(f"{path} exists and may have answers; choose another file for --queue")
    if guidelines is not None:
        read_markdown(guidelines)
    with explain_damage(", ".join(str(each) for each in (judged, patterns) if each is not None)):
        records = (
            records_of(judged, **of_judged)
            if translations is None
            else records_of_translations(str(judged), translations)
        )
        by = None if patterns is None else [(str(patterns), each) for each in records_of(patterns)]
        lines, sizes = draw_sample(records, by=by, **drawing)
    left_out = len(records) - sum(sizes.values())
    if guidelines is not None and copy is not None:
        write_file(copy, Form.LINES, [guidelines.read_text("utf-8").rstrip("\n")])
    write_file(
        queue, Form.JSON, map(as_line, lines if overlap is None else share_among(lines, names, overlap))
    )
    if as_json:
        print_json({"queue": str(queue), "drawn": len(lines), "of": sizes, "left_out": left_out})
        return
    drawn = [
        f"{sum(line['stratum'] == name for line in lines)} of {size} {name}" for name, size in sizes.items()
    ]
    left = f"; {left_out} records have nothing to be judged" if left_out else ""
    print(f"{queue}: drew {' and '.join(drawn)}{left}", file=sys.stderr)
    who = "".join(f" --annotator {name}" for name in names)
    print(paragraph(f"to judge them: babelscope annotate {queue}{who}"))
