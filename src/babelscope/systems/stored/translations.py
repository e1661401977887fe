"""Translations made elsewhere: in a file (`file:`), n-best lists (`lists:`), those of the items (`items:`)."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn, cast

from babelscope.core.registry import Options
from babelscope.core.system import Asked, Fingerprint, ItemChoice, ItemScores, Scored, Unanswered, sources_of
from babelscope.systems.command import best
from babelscope.systems.stored.nbest import REGIONS, RegionLists, open_regions
from babelscope.systems.stored.reading import (
    Given,
    alternatives,
    find_lines,
    index_of,
    moses_lists,
    read_log,
    read_pairs,
    read_translations,
)
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError, RefusedText, at
from babelscope.util.text import (
    check_texts,
    json_number,
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
        """Whether it has no sources, so that only its lines' places say what they translate."""
        return self._lines is None

    def held_against(self, what: str, items: Sequence[ItemChoice]) -> TranslationsFile:
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
                "give one for each, or say ?source=FILE to find them by their source"
            )
        rows = list(zip(self._found, sources, strict=True))
        if all(len(own) > 1 and own[0].text == source for own, source in rows):
            raise BabelscopeError(
                f"{self.path}: the first column has the sources of {what}, not translations; leave it out, or "
                "write `source ||| translation` and say format=pairs"
            )
        held = copy.copy(self)
        held._source_path, held._key, held._lines = what, str, index_of(sources, str)
        return held

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
                    f"{len(self._found)}; say ?source=FILE to find them by their source"
                )
            numbers: Sequence[int | None] = range(len(sources))
        else:
            self._refuse_ambiguous(sources)
            numbers = find_lines(sources, self._lines, self._key)
            if None in numbers:
                self._miss(questions, sources, numbers)
        return [self._found[number] for number in numbers if number is not None]

    def _miss(
        self, questions: Sequence[Asked], sources: Sequence[str], numbers: Sequence[int | None]
    ) -> NoReturn:
        """Say which sources have no translation."""
        missing = [place for place, number in enumerate(numbers) if number is None]
        what = self._lacks
        if self._skip_missing:
            raise Unanswered(
                {(questions[each], None): f"{what} {shorten(sources[each])}" for each in missing}
            )
        told = f"({len(missing)} of {len(sources)} are missing)"
        raise RefusedText(
            "source", missing[0] + 1, f"is missing: {what} {shorten(sources[missing[0]])} {told}"
        )

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
        """A repeated source is found in order; that is safe only if it stands as often in both, or means the same."""
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
            raise Unanswered({(each, None): f"the item {reason}" for each in questions})
        raise RefusedText("source", 1, reason)


def open_items(rest: str, options: Options) -> ItemTranslations:
    """`items:translations?missing=error|skip`."""
    if rest != "translations":
        raise BabelscopeError(f"{options.spec}: items have translations; say items:translations")
    return ItemTranslations(options.spec, skip_missing=_skips(options))


def open_file(rest: str, options: Options) -> TranslationsFile:
    """`file:OUT.txt?source=SRC.txt&format=plain|tsv|moses|pairs|log|auto&missing=error|skip`."""
    _require_file(rest, options, "file:output.de?source=input.en")
    form, source = options.text("format"), options.text("source")
    if form:
        form = options.choice("format", ("plain", "tsv", "moses", *_WITH_SOURCES), "plain")
    how: dict[str, Any] = {"skip_missing": _skips(options), "name": options.spec}
    if not form and rest.endswith(".jsonl"):
        form = "log"
    if form not in _WITH_SOURCES:
        data = read_line_bytes(rest)
        lines = parse_lines(data, rest)
        if not form and lines and _is_json_object(lines[0]):
            raise BabelscopeError(
                f"{at(rest, 1)} is a JSON object, no translation; say format=log for objects with source and "
                "translation, format=plain if it is text all the same"
            )
        texts = alternatives(lines, form, rest)
        content = hashlib.sha256(data).hexdigest()
        return _with_source(rest, source, content, _bare(texts), {"format": form or "plain"}, how)
    given: list[Given] = _WITH_SOURCES[form](rest)
    if not given:
        raise BabelscopeError(f"{rest} has no translations")
    content = digest_json([[each.source, each.translation] for each in given])
    found = _bare([[each.translation] for each in given])
    how["given"] = given
    if given[0].source is None:
        return _with_source(rest, source, content, found, {"format": "plain"}, how)
    if source:
        raise BabelscopeError(
            f"{options.spec}: {rest} has its sources beside the translations; leave source= out"
        )
    sources = [each.source or "" for each in given]
    return TranslationsFile(rest, content, found, {"format": "pairs"}, sources=sources, **how)


def open_lists(rest: str, options: Options) -> TranslationsFile | RegionLists:
    """`lists:FILE?format=moses|jsonl&scores=yes|no&source=SRC.txt`, or regions, `lists:?top=FILE&beam=FILE`."""
    if not rest and any(options.text(region) for region in REGIONS):
        return open_regions(options)
    _require_file(rest, options, "lists:output.nbest?format=moses&scores=yes&source=input.en")
    form = options.choice("format", ("moses", "jsonl"), "jsonl" if rest.endswith(".jsonl") else "moses")
    scored = options.choice("scores", ("yes", "no"), "yes" if form == "jsonl" else "no") == "yes"
    if form == "jsonl":
        found = _json_lists(rest, scored=scored)
    else:
        lists = moses_lists(parse_lines(read_line_bytes(rest), rest), rest)
        found = [[_whole(text, score if scored else None, rest) for text, score in own] for own in lists]
    content = digest_json([[[each.text, *map(repr, each.logprobs)] for each in own] for own in found])
    settings = {"format": form, "scores": scored}
    return _with_source(rest, options.text("source"), content, found, settings, {"name": options.spec})


def _with_source(
    path: str,
    source: str,
    content: str,
    found: Sequence[Sequence[Scored]],
    settings: Mapping[str, Any],
    how: Mapping[str, Any],
) -> TranslationsFile:
    """Answers with the sources of a line-parallel file, if one is named."""
    if not source:
        return TranslationsFile(path, content, found, settings, **how)
    data = read_line_bytes(source)
    sources = parse_lines(data, source)
    require_equal_counts({path: len(found), source: len(sources)})
    settings = {**settings, "source": hashlib.sha256(data).hexdigest()}
    return TranslationsFile(path, content, found, settings, sources=sources, source_path=source, **how)


def _json_lists(path: str, *, scored: bool) -> list[list[Scored]]:
    """A JSON object a translation: `id`, `text` and, in all or in none, `logprob`; an id is a source."""
    found: dict[str, list[Scored]] = {}
    known: set[bool] = set()
    for place, record in read_json_lines(path):
        text, score = record.get("text"), record.get("logprob")
        if "id" not in record or not isinstance(text, str):
            raise BabelscopeError(f"{place} has no id and text")
        known.add(score is not None)
        if len(known) > 1:
            raise BabelscopeError(f"{place}: all translations of a list have a logprob, or none has")
        if score is not None and json_number(score) is None:
            raise BabelscopeError(f"{place}: logprob must be a number, not {shorten(json.dumps(score))}")
        answer = _whole(text, None if score is None or not scored else str(score), place)
        found.setdefault(str(record["id"]), []).append(answer)
    return list(found.values())


def _whole(text: str, score: str | None, place: str) -> Scored:
    """A translation whose log-probability is known as a whole: one token stands for all, so that totals are right."""
    if score is None:
        return Scored(text)
    try:
        number = float(score)
    except ValueError:
        number = math.nan
    if math.isnan(number) or number > 0:
        raise BabelscopeError(
            f"{place}: {shorten(score)} is no log-probability of {shorten(text)}: a natural log, at most 0"
        )
    return Scored(text, (text,), (number,), ("whole",))


def _is_json_object(line: str) -> bool:
    if not line.startswith("{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _bare(texts: Sequence[Sequence[str]]) -> list[list[Scored]]:
    return [[Scored(text) for text in own] for own in texts]


def _skips(options: Options) -> bool:
    return options.choice("missing", ("error", "skip"), "error") == "skip"


def _require_file(rest: str, options: Options, example: str) -> None:
    if not rest:
        raise BabelscopeError(f"{options.spec} names no file; example: {example}")


# --- Scores of items in a file that is parallel to their test set (`scores:`) --------------------------------------


Direction = Literal["higher", "lower"]
DIRECTIONS: tuple[Direction, ...] = ("higher", "lower")
Layout = Literal["auto", "blocks", "interleaved", "columns"]
LAYOUTS: tuple[Layout, ...] = ("auto", "blocks", "interleaved", "columns")
"""blocks: scores of all correct targets, then those of all others (DistilLingEval). interleaved: item by item, the
correct one first (MuCoW). columns: one line per item, tabs between the correct one, the others and, if known, the
1-best; or the item's id, the correct one and the other. auto: columns if there are tabs, else what `lines` says."""


class ScoresFile:
    """Scores made elsewhere, higher is better once they are read; which lines are whose only all items can tell."""

    stored = True
    asked_as_a_whole = True
    by_line = True

    def __init__(
        self, path: str, *, direction: Direction = "higher", layout: Layout = "auto", lines: str = ""
    ) -> None:
        self.name = Path(path).name
        self._path = path
        data = read_line_bytes(path)
        self._rows = [line.split("\t") for line in parse_lines(data, path)]
        tabs = bool(self._rows) and len(self._rows[0]) > 1
        if layout == "auto" and not tabs and not lines:
            raise BabelscopeError(
                f"{path} has no tabs; say layout=blocks (all correct targets, then all others) or "
                "layout=interleaved (item by item), since either fits"
            )
        self._layout = layout if layout != "auto" else "columns" if tabs else lines
        self._all: Sequence[ItemChoice] | None = None
        self._sign = 1.0 if direction == "higher" else -1.0
        settings = {"direction": direction, "layout": self._layout}
        # By content, not by name: a moved or renamed file gives the same answers.
        self.fingerprint = Fingerprint("scores", hashlib.sha256(data).hexdigest(), settings=settings)

    def held_against(self, what: str, items: Sequence[ItemChoice]) -> ScoresFile:
        """The same scores, for any of these items; an error unless there are as many lines as they need."""
        ids = {item.id for item in items}
        if self._three and len(self._rows) != len(items) and any(row[0] in ids for row in self._rows):
            self._by_id(items)  # it says which item is missing, or too many
        self._counted(items, what)
        held = copy.copy(self)
        held._all = items
        return held

    def item_scores(self, items: Sequence[ItemChoice], *, best: bool = True) -> list[ItemScores | None]:
        """The scores of items; None for one without texts if the file leaves them all out.

        The items are all of a test set, unless the file was held against one. With `best`, a last column is the
        1-best's; three columns without it begin with the item's id, and so do three whose first is all the ids.
        """
        everything = items if self._all is None else self._all
        if self._three and (not best or {row[0] for row in self._rows} == {item.id for item in everything}):
            found = self._by_id(everything)
        else:
            found = self._by_line(self._counted(everything), best=best)
        return [found.get(item.id) for item in items]

    @property
    def _three(self) -> bool:
        return self._layout == "columns" and bool(self._rows) and len(self._rows[0]) == 3

    def _counted(self, items: Sequence[ItemChoice], what: str = "the test set") -> Sequence[ItemChoice]:
        """The items that the file has lines of: all, or those that have texts to be scored."""
        asked = [item for item in items if not item.empty]
        for some in (items, asked):
            if self._expected(some, self._layout) == len(self._rows):
                return some
        told = [
            f"{self._expected(items, tried)} lines in the layout {tried}"
            for tried in (LAYOUTS[1:] if self._layout != "columns" else ("columns",))
        ]
        less = f" ({len(asked)} without empty texts)" if len(asked) < len(items) else ""
        raise BabelscopeError(
            f"{self._path} has {len(self._rows)} lines; {what} has {len(items)} items{less}: {', '.join(told)}"
        )

    @staticmethod
    def _expected(items: Sequence[ItemChoice], layout: str) -> int:
        return len(items) if layout == "columns" else len(items) + sum(item.others for item in items)

    def _by_line(self, items: Sequence[ItemChoice], *, best: bool) -> dict[str, ItemScores]:
        if self._layout == "columns":
            rows = enumerate(zip(self._rows, items, strict=True), 1)
            return {item.id: self._from_columns(row, item, number, best=best) for number, (row, item) in rows}
        for number, row in enumerate(self._rows, 1):
            if len(row) > 1:
                raise BabelscopeError(
                    f"{at(self._path, number)} has {len(row)} columns; the layout {self._layout} has one"
                )
        flat = [self._number(row[0], number) for number, row in enumerate(self._rows, 1)]
        first = len(items) if self._layout == "blocks" else 0
        rest = iter(flat[first:])
        correct = iter(flat[:first]) if first else rest
        return {
            item.id: ItemScores(next(correct), tuple(itertools.islice(rest, item.others)), place=self._path)
            for item in items
        }

    def _from_columns(self, row: Sequence[str], item: ItemChoice, number: int, *, best: bool) -> ItemScores:
        place, others = at(self._path, number), item.others
        if len(row) not in (1 + others, 2 + others if best else 1 + others):
            more = (
                f" or {2 + others} (and the 1-best)"
                if best
                else ", in all lines or in none after the item's id"
            )
            raise BabelscopeError(
                f"{place} has {len(row)} columns; it must have {1 + others} (correct, contrastive){more}"
            )
        scores = [self._number(cell, number) for cell in row]
        known = scores[-1] if len(row) > 1 + others else None
        return ItemScores(scores[0], tuple(scores[1 : 1 + others]), known, place)

    def _by_id(self, items: Sequence[ItemChoice]) -> dict[str, ItemScores]:
        """Lines that begin with the id of their item, in any order."""
        found: dict[str, ItemScores] = {}
        wanted = {item.id: item for item in items}
        for number, (identity, *row) in enumerate(self._rows, 1):
            place = at(self._path, number)
            if identity in found:
                raise BabelscopeError(f"{place}: the item {identity!r} stands there twice")
            if identity not in wanted:
                raise BabelscopeError(f"{place} has scores of {identity!r}, which the test set does not have")
            found[identity] = self._from_columns(row, wanted[identity], number, best=False)
        if lost := next((identity for identity in wanted if identity not in found), None):
            raise BabelscopeError(f"{self._path} has no scores of item {lost}")
        return found

    def _number(self, text: str, line: int) -> float:
        place = at(self._path, line)
        try:
            # To Python, 1_0 is a number too.
            number = math.nan if "_" in text else float(text)
            fault = "is no score" if math.isnan(number) else None
        except ValueError:
            fault = "is not a number"
        if fault:
            raise BabelscopeError(f"{place}: {shorten(text)} {fault}")
        if self._sign * number == math.inf:
            raise BabelscopeError(
                f"{place}: {shorten(text)} is better than any score; is the direction right?"
            )
        return self._sign * number


def open_scores(rest: str, options: Options) -> ScoresFile:
    """`scores:FILE?direction=higher|lower&layout=auto|blocks|interleaved|columns&lines=blocks|interleaved`."""
    if not rest:
        raise BabelscopeError(f"{options.spec} names no file; example: scores:model.scores?layout=blocks")
    return ScoresFile(
        rest,
        direction=cast(Direction, options.choice("direction", DIRECTIONS, "higher")),
        layout=cast(Layout, options.choice("layout", LAYOUTS, "auto")),
        lines=options.choice("lines", ("", "blocks", "interleaved"), ""),
    )
