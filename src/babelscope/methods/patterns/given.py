"""Translations in a file that names their sources, as the system `file:` opens them."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.core.answers import Fingerprint, Scored, Unanswered
from babelscope.core.question import Asked, as_question
from babelscope.core.specs import Options
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.pattern_files import match, read_translations
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import shorten


class TranslationsBySource:
    """Translations found by their sources, those of a repeated source in order."""

    asked_as_a_whole = True

    def __init__(self, path: str, *, skip_missing: bool = False, name: str = "") -> None:
        self.name = name or f"file:{path}"
        self._path = path
        self._skip_missing = skip_missing
        self._given = read_translations(path)
        listed = [[each.source, each.translation] for each in self._given]
        self.fingerprint = Fingerprint("file", digest_json(listed))

    def translate(self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:  # noqa: ARG002
        """The file's translations; what it lacks is an error, or not answered."""
        asked = [as_question(each) for each in questions]
        if self._given and self._given[0].source is None and len(asked) != len(self._given):
            raise BabelscopeError(
                f"{len(asked)} sources were asked for, but {self._path} has translations of {len(self._given)}"
            )
        items = [AmbiguousSource(str(n), each.source, (), (), "any") for n, each in enumerate(asked, 1)]
        found = match(items, self._given, what=self._path, skip_missing=self._skip_missing)
        missing = [question for question, number in zip(asked, found, strict=True) if number is None]
        if missing:
            told = f"{self._path} has no translation of"
            raise Unanswered({(each, None): f"{told} {shorten(each.source)}" for each in missing})
        return [[Scored(self._given[number].translation)] for number in found if number is not None]


def open_given(rest: str, options: Options) -> TranslationsBySource:
    """`file:FILE?format=pairs|log|auto&missing=error|skip`."""
    skip = options.choice("missing", ("error", "skip"), "error") == "skip"
    return TranslationsBySource(rest, skip_missing=skip, name=options.spec)
