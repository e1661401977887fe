"""Translations made elsewhere: in a file (`file:`), n-best lists (`lists:`), those of the items (`items:`)."""

from __future__ import annotations

import copy
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.registry import Options
from babelscope.core.system import Asked, Fingerprint, ItemChoice, Scored, Unanswered, sources_of
from babelscope.systems.command import best
from babelscope.systems.stored.alignment import find_lines, index_of
from babelscope.systems.stored.formats import (
    Given,
    alternatives,
    json_translations,
    moses_lists,
    read_log,
    read_pairs,
    read_translations,
)
from babelscope.systems.stored.nbest import REGIONS, RegionLists, open_regions
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError, RefusedText
from babelscope.util.text import (
    check_texts,
    parse_lines,
    read_json_lines,
    read_line_bytes,
    require_equal_counts,
    shorten,
)

_WITH_SOURCES = {"pairs": read_pairs, "log": read_log, "auto": read_translations}


class TranslationsFile:
    """Translations made elsewhere: found by the source's text, or by their line."""

    stored = True

    def __init__(
        self,
        path: str,
        content: str,
        found: Sequence[Sequence[Scored]],
        settings: Mapping[str, Any],
        *,
        sources: Sequence[str] | None = None,
        source_path: str = "",
        skip_missing: bool = False,
        name: str = "",
        given: Sequence[Given] = (),
    ) -> None:
        """`content` is the file's digest, `found` the answers of each line, `sources` what these are answers to.

        `given` are its lines, where they may have sources and lemmas beside the translations.
        """
        self.name = name or f"file:{path}"
        self.path, self.given = path, given
        self._found, self._skip_missing = found, skip_missing
        self._source_path = source_path
        self._key = str if source_path else str.strip
        self._lines = None if sources is None else index_of(sources, self._key)
        # By content, not by name: a moved or renamed file gives the same answers.
        self.fingerprint = Fingerprint("file", content, settings=settings)
        # An answer depends on its place, where the file's sources are not given, or repeated with other answers.
        repeated = (self._lines or {}).values()
        self.asked_as_a_whole = (
            sources is None or bool(source_path) or any(self._differing(own) is not None for own in repeated)
        )

    @property
    def by_line(self) -> bool:
        """Whether it has no sources, so that a translation is known by its line alone."""
        return self._lines is None

    def align_to(self, what: str, items: Sequence[ItemChoice]) -> TranslationsFile:
        """The same translations, found by the sources of `what`; an error unless there is one for each item."""
        sources = [item.source for item in items]
        if self._lines is not None:
            self._refuse_ambiguous(sources)
            missing = [n for n, own in enumerate(find_lines(sources, self._lines, self._key)) if own is None]
            if missing and (not self._skip_missing or len(missing) == len(items)):
                item = items[missing[0]]
                raise BabelscopeError(
                    f"{self._lacks} {shorten(item.source)} (item {item.id}; {len(missing)} of {len(items)} in {what} "
                    "are missing)"
                )
            return self
        if len(self._found) != len(items):
            last = "; its last line is empty" if self._found and not self._found[-1][0].text else ""
            raise BabelscopeError(
                f"{self.path} has translations of {len(self._found)} sources, but {what} has {len(items)}{last}: "
                "give one for each, or set ?source=FILE to find them by their source"
            )
        rows = list(zip(self._found, sources, strict=True))
        if all(
            (len(own) > 1 and own[0].text == source) or own[0].text.startswith(f"{source} ||| ")
            for own, source in rows
        ):
            raise BabelscopeError(
                f"{self.path}: the first column has the sources of {what}, not translations; leave it out, or "
                "write `source ||| translation` and set ?format=pairs"
            )
        aligned = copy.copy(self)
        aligned._source_path, aligned._key, aligned._lines = what, str, index_of(sources, str)
        return aligned

    def translate(
        self,
        questions: Sequence[Asked],
        *,
        beam: int = 5,  # noqa: ARG002 (the protocol's; these translations have been found already)
        n_best: int = 1,
    ) -> list[list[Scored]]:
        """The file's translations of the sources; with its sources in any order, without them all, in order."""
        sources = sources_of(questions)
        return [
            best(own, n_best, source=source, where=self.path)
            for source, own in zip(sources, self.all_translations(questions), strict=True)
        ]

    def all_translations(self, questions: Sequence[Asked]) -> list[Sequence[Scored]]:
        """All that the file has of each source, however many there are."""
        sources = sources_of(questions)
        check_texts(sources, what="source")
        if self._lines is None:
            if len(sources) != len(self._found):
                raise BabelscopeError(
                    f"{len(sources)} sources were asked for, but {self.path} has translations of "
                    f"{len(self._found)}; set ?source=FILE to find them by their source"
                )
            numbers: Sequence[int | None] = range(len(sources))
        else:
            self._refuse_ambiguous(sources)
            numbers = find_lines(sources, self._lines, self._key)
        missing = [place for place, number in enumerate(numbers) if number is None]
        reasons = [f"{self._lacks} {shorten(sources[place])}" for place in missing]
        if missing and self._skip_missing:
            raise Unanswered(dict(zip(missing, reasons, strict=True)))
        if missing:
            how_many = f"({len(missing)} of {len(sources)} are missing)"
            raise RefusedText("source", missing[0] + 1, f"is missing: {reasons[0]} {how_many}")
        return [self._found[number] for number in numbers if number is not None]

    @property
    def _lacks(self) -> str:
        """The beginning of a sentence about a source that is missing."""
        return (
            f"{self._source_path} has no line" if self._source_path else f"{self.path} has no translation of"
        )

    def _differing(self, own: Sequence[int]) -> int | None:
        """The first of these lines that has another answer than the first one, if any."""
        return next((number for number in own if self._found[number] != self._found[own[0]]), None)

    def _refuse_ambiguous(self, sources: Sequence[str]) -> None:
        """Refuse a repeated source with several translations, unless both have it equally often."""
        wanted = Counter(map(self._key, sources))
        for source, own in (self._lines or {}).items():
            if 0 < wanted[source] != len(own) and (other := self._differing(own)) is not None:
                raise BabelscopeError(
                    f"{self._source_path or self.path} has {shorten(source)} in lines {own[0] + 1} and "
                    f"{other + 1}, which {self.path} translates differently: ambiguous unless it is asked for as "
                    f"often as it stands there, {len(own)} times and not {wanted[source]}"
                )


class ItemTranslations:
    """Stands for the system whose translations the items have; they are part of the test set's digest."""

    stored = True
    fingerprint = Fingerprint("given")

    def __init__(self, name: str = "given", *, skip_missing: bool = False) -> None:
        self.name = name
        self._skip_missing = skip_missing

    def translate(self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:  # noqa: ARG002
        """It is asked only about items that have no translation, and has none either."""
        reason = f"has no translation, and there is no system to ask ({len(questions)} have none)"
        if self._skip_missing:
            raise Unanswered(dict.fromkeys(range(len(questions)), f"the item {reason}"))
        raise RefusedText("source", 1, reason)


def open_items(rest: str, options: Options) -> ItemTranslations:
    """`items:translations?missing=error|skip`."""
    if rest != "translations":
        raise BabelscopeError(f"{options.spec}: items have translations; use items:translations")
    return ItemTranslations(options.spec, skip_missing=_skips(options))


def open_file(rest: str, options: Options) -> TranslationsFile:
    """`file:OUT.txt?source=SRC.txt&format=plain|tsv|moses|pairs|log|auto&missing=error|skip`."""
    _require_file(rest, options, "file:output.de?source=input.en")
    form = options.text("format")
    if form:
        form = options.choice("format", ("plain", "tsv", "moses", *_WITH_SOURCES), "plain")
    elif rest.endswith(".jsonl"):
        form = "log"
    skip = _skips(options)
    if form in _WITH_SOURCES:
        given: list[Given] = _WITH_SOURCES[form](rest)
        if not given:
            raise BabelscopeError(f"{rest} has no translations")
        content = digest_json([[each.source, each.translation] for each in given])
        found = [[Scored(each.translation)] for each in given]
        if given[0].source is None:
            return _open(options, rest, content, found, {"format": "plain"}, skip_missing=skip, given=given)
        if options.text("source"):
            raise BabelscopeError(
                f"{options.spec}: {rest} has its sources beside the translations; leave source= out"
            )
        own = [each.source or "" for each in given]
        return _open(options, rest, content, found, {"format": "pairs"}, own, skip_missing=skip, given=given)
    data = read_line_bytes(rest)
    lines = parse_lines(data, rest)
    found = [[Scored(text) for text in texts] for texts in alternatives(lines, form, rest)]
    content = hashlib.sha256(data).hexdigest()
    return _open(options, rest, content, found, {"format": form or "plain"}, skip_missing=skip)


def open_lists(rest: str, options: Options) -> TranslationsFile | RegionLists:
    """`lists:FILE?format=moses|jsonl&scores=yes|no&source=SRC.txt`, or regions, `lists:?top=FILE&beam=FILE`."""
    if not rest and any(options.text(region) for region in REGIONS):
        return open_regions(options)
    _require_file(rest, options, "lists:output.nbest?format=moses&scores=yes&source=input.en")
    form = options.choice("format", ("moses", "jsonl"), "jsonl" if rest.endswith(".jsonl") else "moses")
    scored = options.choice("scores", ("yes", "no"), "yes" if form == "jsonl" else "no") == "yes"
    lists: dict[str, list[Given]] = {}
    if form == "jsonl":
        for each in json_translations(read_json_lines(rest)):
            lists.setdefault(each.sentence, []).append(each)
    else:
        lists = {own[0].sentence: own for own in moses_lists(parse_lines(read_line_bytes(rest), rest), rest)}
    found = [
        [
            # JSON may leave log-probabilities out; Moses has a field for them.
            each.scored()
            if scored and (form == "moses" or each.score is not None)
            else Scored(each.translation)
            for each in own
        ]
        for own in lists.values()
    ]
    content = digest_json([[[each.text, *map(repr, each.logprobs)] for each in own] for own in found])
    return _open(options, rest, content, found, {"format": form, "scores": scored})


def _open(
    options: Options,
    path: str,
    content: str,
    found: Sequence[Sequence[Scored]],
    settings: Mapping[str, Any],
    sources: Sequence[str] | None = None,
    *,
    skip_missing: bool = False,
    given: Sequence[Given] = (),
) -> TranslationsFile:
    """Answers with sources: those given, or the lines of the file that the options name."""
    source_path = options.text("source")
    if source_path:
        data = read_line_bytes(source_path)
        sources = parse_lines(data, source_path)
        require_equal_counts({path: len(found), source_path: len(sources)})
        settings = {**settings, "source": hashlib.sha256(data).hexdigest()}
    return TranslationsFile(
        path,
        content,
        found,
        settings,
        sources=sources,
        source_path=source_path,
        skip_missing=skip_missing,
        name=options.spec,
        given=given,
    )


def _skips(options: Options) -> bool:
    return options.choice("missing", ("error", "skip"), "error") == "skip"


def _require_file(rest: str, options: Options, example: str) -> None:
    if not rest:
        raise BabelscopeError(f"{options.spec} names no file; example: {example}")
