"""A system that gives text only: a command that reads and writes lines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TypeVar

from babelscope.core.registry import Options
from babelscope.core.system import Asked, Fingerprint, Scored, sources_of
from babelscope.systems.stored.formats import UNSAID, alternatives
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.process import Program
from babelscope.util.text import check_texts, shorten

_BATCH = 1024
_Translation = TypeVar("_Translation", str, Scored)


def best(found: Sequence[_Translation], n_best: int, *, source: str, where: str) -> list[_Translation]:
    """The first `n_best` translations; too few is an error."""
    if n_best < 1:
        raise BabelscopeError(f"n_best is {n_best}, but must be at least 1")
    if len(found) < n_best:
        raise BabelscopeError(
            f"{where} has {len(found)} {'translation' if len(found) == 1 else 'translations'} of "
            f"{shorten(source)}, but n_best={n_best} asks for more"
        )
    return list(found[:n_best])


class Command:
    """A command that reads source lines on its standard input and writes translation lines."""

    def __init__(self, command: str, options: Options) -> None:
        """`cmd:COMMAND?shell=yes|no&batch=N&timeout=SECONDS&format=plain|tsv|moses`."""
        self.name = options.spec
        shell, timeout = options.flag("shell"), options.seconds("timeout", 3600.0)
        self._batch = options.integer("batch", _BATCH)
        is_stated = bool(options.text("format"))
        self._form = options.choice("format", ("plain", "tsv", "moses"), "plain") if is_stated else UNSAID
        self._program = Program(self.name, command, shell=shell, timeout=timeout)

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """The command line, and the content of the program and of every file the command line names."""
        program = self._program
        settings = {"command": program.command, "shell": program.shell, "format": self._form or "plain"}
        settings |= {} if self._batch == _BATCH else {"batch": self._batch}
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
                texts = best(found, n_best, source=source, where=f"the output of {self.name}")
                answers.append([Scored(text) for text in texts])
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
