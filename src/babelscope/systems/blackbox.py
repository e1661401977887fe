"""Systems that give text only: translations in a file, and a command that reads and writes lines."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property

from babelscope.core.answers import Fingerprint, Scored
from babelscope.core.question import Asked, sources_of
from babelscope.core.registry import resolve
from babelscope.core.specs import Options
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError, SystemFailure, at
from babelscope.util.process import Program
from babelscope.util.text import (
    check_texts,
    parse_lines,
    read_line_bytes,
    require_equal_counts,
    shorten,
    whole_number,
)

_UNSAID = ""  # no format given: plain, but a tab is asked about rather than guessed at


def best(found: Sequence[str], n_best: int, *, source: str, where: str) -> list[Scored]:
    """The first `n_best` translations as answers without scores; too few is an error."""
    if n_best < 1:
        raise BabelscopeError(f"n_best is {n_best}, but must be at least 1")
    if len(found) < n_best:
        raise BabelscopeError(
            f"{where} has {len(found)} {'translation' if len(found) == 1 else 'translations'} of "
            f"{shorten(source)}, but n_best={n_best} asks for more"
        )
    return [Scored(text) for text in found[:n_best]]


def alternatives(lines: Sequence[str], form: str, where: str) -> list[list[str]]:
    """The translations of each source, best first.

    plain: a line a source. tsv: the same, alternatives separated by tabs. moses: a line a translation,
    `id ||| text ||| features ||| score`, ids counting the sources from 0; its scores are weighted features,
    not log-probabilities of tokens, and are left out.
    """
    if form == "tsv":
        return [line.split("\t") for line in lines]
    if form != "moses":
        for number, line in enumerate(lines, 1):
            if form == _UNSAID and "\t" in line:
                raise BabelscopeError(
                    f"{at(where, number)} has a tab inside: {shorten(line)}; say format=tsv if it separates "
                    "alternatives, format=plain if it belongs to the translation"
                )
        return [[line] for line in lines]
    found: list[list[str]] = []
    for number, line in enumerate(lines, 1):
        fields = line.split("|||")
        identity = whole_number(fields[0].strip())
        if len(fields) < 2 or identity is None:
            raise BabelscopeError(f"{at(where, number)} is not `id ||| text ||| ...`: {shorten(line)}")
        if identity == len(found):
            found.append([])
        elif identity != len(found) - 1:
            raise BabelscopeError(
                f"{at(where, number)} has id {identity}, but ids must count the sources from 0 in order: "
                f"{max(len(found) - 1, 0)} or {len(found)} was expected"
            )
        # Moses writes a space after every word, the last one too.
        found[-1].append(fields[1].strip(" "))
    return found


class TranslationsFile:
    """Translations made elsewhere: a line a source, found by the source's text or by position."""

    asked_as_a_whole = (
        True  # an answer depends on its place, where the file's sources are not given or repeated
    )

    def __init__(self, path: str, *, source: str = "", form: str = _UNSAID, name: str = "") -> None:
        self.name = name or f"file:{path}"
        self._path = path
        self._source_path = source
        data = read_line_bytes(path)
        self._found = alternatives(parse_lines(data, path), form, path)
        settings = {"format": form or "plain"}
        self._sources: list[str] | None = None
        self._lines: dict[str, list[int]] = {}
        if source:
            source_data = read_line_bytes(source)
            self._sources = parse_lines(source_data, source)
            require_equal_counts({path: len(self._found), source: len(self._sources)})
            settings["source"] = hashlib.sha256(source_data).hexdigest()
            for number, text in enumerate(self._sources):
                self._lines.setdefault(text, []).append(number)
        # By content, not by name: a moved or renamed file gives the same answers.
        self.fingerprint = Fingerprint("file", hashlib.sha256(data).hexdigest(), settings=settings)

    def translate(
        self,
        questions: Sequence[Asked],
        *,
        beam: int = 5,  # noqa: ARG002 (the protocol's; these translations have been found already)
        n_best: int = 1,
    ) -> list[list[Scored]]:
        """The file's translations of the sources; with `source=` in any order, without it all, in order."""
        sources = sources_of(questions)
        check_texts(sources, what="source")
        if self._sources is None:
            if len(sources) != len(self._found):
                raise BabelscopeError(
                    f"{len(sources)} sources were asked for, but {self._path} has translations of "
                    f"{len(self._found)}; say ?source=FILE to find them by their source"
                )
            numbers = list(range(len(sources)))
        elif sources == self._sources:
            # Asked in the file's order, a repeated source may have different translations.
            numbers = list(range(len(sources)))
        else:
            numbers = [self._line_of(source) for source in sources]
        return [
            best(self._found[number], n_best, source=source, where=self._path)
            for source, number in zip(sources, numbers, strict=True)
        ]

    def _line_of(self, source: str) -> int:
        """Where the translation of `source` is; refuses an unknown source and one with several answers."""
        numbers = self._lines.get(source)
        if numbers is None:
            raise BabelscopeError(f"{self._source_path} has no line {shorten(source)}")
        first = numbers[0]
        for other in numbers[1:]:
            if self._found[other] != self._found[first]:
                raise BabelscopeError(
                    f"{self._source_path} has {shorten(source)} in lines {first + 1} and {other + 1}, which "
                    f"{self._path} translates differently: ambiguous unless the whole file is asked in order"
                )
        return first


class Command:
    """A command that reads source lines on its standard input and writes translation lines."""

    def __init__(
        self,
        command: str,
        *,
        shell: bool = False,
        batch: int = 1024,
        timeout: float = 3600.0,
        form: str = _UNSAID,
        name: str = "",
    ) -> None:
        self.name = name or f"cmd:{command}"
        self._program = Program(self.name, command, shell=shell, timeout=timeout)
        self._batch = batch
        self._form = form

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """The command line, and the content of the program and of every file the command line names."""
        program = self._program
        settings = {"command": program.command, "shell": program.shell, "format": self._form or "plain"}
        return Fingerprint("command", digest_json(program.file_digests()), settings=settings)

    def translate(
        self,
        questions: Sequence[Asked],
        *,
        beam: int = 5,  # noqa: ARG002 (the protocol's; a command's beam is set in the command)
        n_best: int = 1,
    ) -> list[list[Scored]]:
        """What the command writes for the sources, run once every `batch` sources."""
        sources = sources_of(questions)
        check_texts(sources, what="source")
        answers = []
        for start in range(0, len(sources), self._batch):
            part = sources[start : start + self._batch]
            for source, found in zip(part, self._run(part), strict=True):
                answers.append(best(found, n_best, source=source, where=f"the output of {self.name}"))
        return answers

    def _run(self, sources: Sequence[str]) -> list[list[str]]:
        """One run of the command: the translations of each source."""
        lines, stderr = self._program.run(sources)
        found = alternatives(lines, self._form, f"the output of {self.name}")
        if len(found) != len(sources):
            raise SystemFailure(
                f"{self.name} was given {len(sources)} lines but wrote translations of {len(found)}{stderr}"
            )
        return found


def _format(options: Options) -> str:
    return options.choice("format", ("plain", "tsv", "moses"), "plain") if options.text("format") else _UNSAID


def open_file(rest: str, options: Options) -> TranslationsFile:
    """`file:OUT.txt?source=SRC.txt&format=plain|tsv|moses`."""
    if not rest:
        raise BabelscopeError(f"{options.spec} names no file; example: file:output.de?source=input.en")
    if options.text("format") in ("pairs", "log", "auto"):
        found: TranslationsFile = resolve("babelscope.methods.patterns.given:open_given")(rest, options)
        return found
    return TranslationsFile(rest, source=options.text("source"), form=_format(options), name=options.spec)


def open_command(rest: str, options: Options) -> Command:
    """`cmd:COMMAND?shell=yes|no&batch=N&timeout=SECONDS&format=plain|tsv|moses`."""
    return Command(
        rest,
        shell=options.flag("shell"),
        batch=options.integer("batch", 1024),
        timeout=options.seconds("timeout", 3600.0),
        form=_format(options),
        name=options.spec,
    )
