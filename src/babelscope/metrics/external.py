"""Metrics computed outside of our environment, such as COMET: by a program, or stored in a file of numbers.

Both give one number for each segment (a JSON object, `Segment.as_line`); higher is better.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from babelscope.core.registry import Options, split_spec
from babelscope.core.system import Fingerprint
from babelscope.metrics.base import Metric, References, Scale, Segment, Texts
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.process import Program, Worker
from babelscope.util.text import (
    check_name,
    json_number,
    parse_lines,
    read_line_bytes,
    require_equal_counts,
    shorten,
)

AT_ONCE = 1024
"""Segments asked for at once, unless told otherwise."""
_open: dict[Program, Worker] = {}
"""Programs that were asked to stay open."""


@dataclass(frozen=True)
class External(Metric):
    """A metric whose numbers come from a program or a file."""

    ask: Callable[[Sequence[str]], Sequence[str]]
    """Lines of segments -> the number written for each, as text."""
    fingerprint: Callable[[], Fingerprint]
    """What the numbers depend on: contents of files, not their paths."""

    def sentence(self, hypotheses: Texts, references: References, sources: Texts = ()) -> list[float]:
        """The number given for each segment; an error if one is not finite."""
        if len(sources) != len(hypotheses):
            raise BabelscopeError(f"{self.name} needs the source of every translation")
        triples = zip(sources, hypotheses, references, strict=True)
        lines = [
            Segment(source, text, tuple(own) if self.reads_references else ()).as_line()
            for source, text, own in triples
        ]
        answers = self.ask(lines) if lines else ()
        return [_parse_number(self.name, *pair) for pair in zip(answers, hypotheses, strict=True)]

    @property
    def identity(self) -> str:
        """What goes into a signature: the scheme, and the digest of the program or files."""
        return f"{self.name.partition(':')[0]} {self.fingerprint().digest}"


def _parse_number(name: str, written: str, hypothesis: str) -> float:
    with contextlib.suppress(ValueError):
        if math.isfinite(value := float(written)):
            return value
    given = f"{name} gave {shorten(written)} as the quality of {shorten(hypothesis)}"
    raise BabelscopeError(f"{given}; it must be a finite number")


def parse_scores(name: str, line: str, count: int) -> list[float]:
    """The numbers of a list in JSON: as many as asked for, and all finite."""
    try:
        answer: Any = json.loads(line)
    except ValueError:
        answer = None
    if not isinstance(answer, list):
        raise SystemFailure(f"{name} answered {shorten(line)}, which is no list of scores")
    if len(answer) != count:
        raise SystemFailure(f"{name} gave {len(answer)} scores of {count} translations")
    numbers = [json_number(each) for each in answer]
    for number, given in zip(numbers, answer, strict=True):
        if number is None or not math.isfinite(number):
            raise SystemFailure(f"{name} gave {given} as a score; it must be a finite number")
    return [number for number in numbers if number is not None]


def open_command(spec: str, rest: str) -> External:
    """Open `cmd:COMMAND?bound=NUMBER&reference=yes|no&open=yes|no&shell=yes|no&batch=N&timeout=SECONDS`."""
    command, options = parse_spec(spec, rest)
    program = Program(spec, command, shell=options.flag("shell"), timeout=options.seconds("timeout", 3600.0))
    batch, stays_open = options.integer("batch", AT_ONCE), options.flag("open")
    scale, reads, stated = stated_options(options)
    if stays_open and program.shell:
        raise BabelscopeError(f"{spec}: a program that stays open is started without a shell")

    def ask(lines: Sequence[str]) -> list[str]:
        written: list[str] = []
        for start in range(0, len(lines), batch):
            part = lines[start : start + batch]
            if stays_open:
                written += _ask_open(program, part)
                continue
            numbers, stderr = program.run(part)
            if len(numbers) != len(part):
                raise SystemFailure(f"{spec} was given {len(part)} lines but wrote {len(numbers)}{stderr}")
            written += numbers
        return written

    def fingerprint() -> Fingerprint:
        settings = {"command": command, "shell": program.shell, "format": "plain", **stated}
        return Fingerprint("command", digest_json(program.file_digests()), settings=settings)

    return External(spec, scale, ask, fingerprint, reads_references=reads, reads_sources=True)


def _ask_open(program: Program, lines: Sequence[str]) -> list[str]:
    """The numbers of segments by a program that is started once: a JSON list a line in, one a line out."""
    program.check_unchanged()
    if program not in _open or not _open[program].is_open:
        _open[program] = Worker(program.name, program.words, env=os.environ, timeout=program.timeout)
    worker = _open[program]
    try:
        scores = parse_scores(program.name, worker.ask(f"[{', '.join(lines)}]"), len(lines))
        program.check_unchanged()
    except SystemFailure:
        worker.close()  # it may have more to say, which would be taken for the next answer
        raise
    return [repr(number) for number in scores]


def open_file(spec: str, rest: str) -> External:
    """Open `file:NUMBERS?source=SEGMENTS&bound=NUMBER&reference=yes|no`, a number a segment."""
    path, options = parse_spec(spec, rest)
    if not (source := options.text("source")):
        raise BabelscopeError(f"{spec} needs ?source=SEGMENTS, the segments of its numbers, a line each")
    scale, reads, stated = stated_options(options)
    data, source_data = read_line_bytes(path), read_line_bytes(source)
    numbers, segments = parse_lines(data, path), parse_lines(source_data, source)
    require_equal_counts({path: len(numbers), source: len(segments)})
    found: dict[str, str] = {}
    for line, (segment, number) in enumerate(zip(segments, numbers, strict=True), 1):
        if found.setdefault(segment, number) != number:
            raise BabelscopeError(f"{source}:{line} repeats a segment to which {path} gives another number")

    def ask(lines: Sequence[str]) -> list[str]:
        if unknown := next((line for line in lines if line not in found), None):
            raise BabelscopeError(f"{source} has no line {shorten(unknown)}")
        return [found[line] for line in lines]

    settings = {"format": "plain", "source": hashlib.sha256(source_data).hexdigest(), **stated}
    fingerprint = Fingerprint("file", hashlib.sha256(data).hexdigest(), settings=settings)
    return External(spec, scale, ask, lambda: fingerprint, reads_references=reads, reads_sources=True)


def parse_spec(spec: str, rest: str) -> tuple[str, Options]:
    """What a name has after its colon, and its options."""
    path, options = split_spec(check_name(spec), rest)
    if not path:
        raise BabelscopeError(
            f"{spec!r} says nothing after the colon; examples: cmd:COMMAND, file:NUMBERS?source=SEGMENTS, comet:MODEL"
        )
    return path, options


def stated_options(options: Options, *, bound: float | None = None) -> tuple[Scale, bool, dict[str, Any]]:
    """The scale that the options give, whether references are read, and the part of both in the signature.

    Raises for unknown options.
    """
    named = options.number("bound", 1.0) if options.text("bound") else None
    reads = options.choice("reference", ("yes", "no"), "yes") == "yes"
    options.refuse_unused()
    if named is not None and not 0 < named < math.inf:
        raise BabelscopeError(f"{options.spec}: bound={named:g} is not a positive number")
    stated: dict[str, Any] = {} if named is None else {"bound": named}
    return Scale(None, named or bound), reads, stated if reads else {**stated, "reference": False}
