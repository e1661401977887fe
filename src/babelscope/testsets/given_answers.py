"""What conditioning can be given instead of asking: translations, and the evaluator's best score of each side."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from babelscope.core.answers import Capability, Fingerprint, Scored
from babelscope.core.question import Asked, as_question
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.pattern_files import Given, match
from babelscope.testsets.sets import TestSet
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import read_lines, require_equal_counts, shorten

# Rounding can lift the log of a sure token this far above zero.
_ROUNDING = 1e-3


class GivenTranslations:
    """Stands for the system whose translations the items have; they are part of the test set's digest."""

    capabilities: frozenset[Capability] = frozenset({"translate"})
    fingerprint = Fingerprint("given")

    def __init__(self, name: str = "given") -> None:
        self.name = name

    def translate(self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:  # noqa: ARG002
        raise BabelscopeError(
            f"{self.name} has no translation of {shorten(as_question(questions[0]).source)}"
        )


class GivenScores:
    """Stands for an evaluator asked elsewhere: for each item id the best score of either side, natural logs."""

    capabilities: frozenset[Capability] = frozenset({"item_scores"})

    def __init__(self, scores: Mapping[str, tuple[float, float]], name: str = "given") -> None:
        self.name = name
        self._scores = dict(scores)
        for identity, pair in self._scores.items():
            if reason := next(filter(None, map(_fault, pair)), None):
                raise BabelscopeError(f"the scores of item {identity}: {reason}")

    @property
    def fingerprint(self) -> Fingerprint:
        # As text, since JSON has no minus infinity.
        listed = [[identity, *map(repr, pair)] for identity, pair in sorted(self._scores.items())]
        return Fingerprint("given", digest_json(listed))

    def of(self, identity: str) -> tuple[float, float]:
        """The best log score under a correct and under an incorrect cue."""
        if identity not in self._scores:
            raise BabelscopeError(f"{self.name} has no scores of item {identity}")
        return self._scores[identity]


def read_scores(path: str | Path, tests: TestSet) -> GivenScores:
    """`correct<tab>incorrect`, a line an item in the order of the test set, or `id<tab>correct<tab>incorrect`."""
    rows: list[list[str]] = []
    width = 2
    for number, line in enumerate(read_lines(path), 1):
        rows.append(row := line.split("\t"))
        width = len(rows[0])
        if len(row) != width or width not in (2, 3):
            raise BabelscopeError(
                f"{at(path, number)} has {len(row)} fields, but every line must have two scores with a tab "
                "between, and in all lines or in none the item's id before them"
            )
    if width == 2:
        require_equal_counts({f"the test set {tests.name}": len(tests), str(path): len(rows)})
        rows = [[item.id, *row] for item, row in zip(tests.items, rows, strict=True)]
    scores: dict[str, tuple[float, float]] = {}
    for number, (identity, correct, incorrect) in enumerate(rows, 1):
        place = at(path, number)
        if identity in scores:
            raise BabelscopeError(f"{place}: the item {identity!r} stands there twice")
        scores[identity] = _number(correct, place), _number(incorrect, place)
    known = {item.id for item in tests.items}
    lost = next((item.id for item in tests.items if item.id not in scores), None)
    if lost is not None:
        raise BabelscopeError(f"{path} has no scores of item {lost}")
    strange = next((identity for identity in scores if identity not in known), None)
    if strange is not None:  # it may be empty
        raise BabelscopeError(f"{path} has scores of {strange!r}, which the test set {tests.name} does not")
    return GivenScores(scores, Path(path).name)


def with_translations(
    tests: TestSet, given: Sequence[Given], *, what: str, skip_missing: bool = False
) -> TestSet:
    """The test set with translations from a file, found by source where the file has sources, else by line."""
    items = tests.items_of(AmbiguousSource, what_for="conditioning")
    matched = match(items, given, what=what, skip_missing=skip_missing)
    _refuse_ambiguous(items, given, what)
    translated = (
        dataclasses.replace(item, translation=None if number is None else given[number].translation)
        for item, number in zip(items, matched, strict=True)
    )
    return only_translated(dataclasses.replace(tests, items=tuple(translated)), skip_missing=skip_missing)


def only_translated(tests: TestSet, *, skip_missing: bool) -> TestSet:
    """The items that have a translation; others are an error, or left out and counted."""
    items = tests.items_of(AmbiguousSource, what_for="conditioning")
    kept = tuple(item for item in items if item.translation is not None)
    missing = len(items) - len(kept)
    if not missing:
        return tests
    if not skip_missing:
        first = next(item for item in items if item.translation is None)
        raise BabelscopeError(
            f"item {first.id} of the test set {tests.name} has no translation, and there is no system to ask "
            f"({missing} of {len(items)} have none)"
        )
    return dataclasses.replace(tests, items=kept, skipped={**tests.skipped, "no translation": missing})


def _refuse_ambiguous(items: Sequence[AmbiguousSource], given: Sequence[Given], what: str) -> None:
    """A repeated source is matched in order; that is safe only if it stands as often in both, or means the same."""
    texts: dict[str, list[str]] = {}
    for each in given:
        if each.source is not None:
            texts.setdefault(each.source.strip(), []).append(each.translation)
    wanted = Counter(item.source.strip() for item in items)
    for source, found in texts.items():
        if len(set(found)) > 1 and 0 < wanted[source] != len(found):
            raise BabelscopeError(
                f"{what} translates {shorten(source)} differently in {len(found)} lines, but the test set has "
                f"it {wanted[source]} times: which belongs to which cannot be told"
            )


def _number(text: str, place: str) -> float:
    try:
        number = math.nan if "_" in text else float(text)  # to Python, 1_0 is a number too
    except ValueError:
        raise BabelscopeError(f"{place}: {shorten(text)} is not a number") from None
    if reason := _fault(number):
        raise BabelscopeError(f"{place}: {reason}")
    return number


def _fault(number: float) -> str | None:
    """Why a number cannot be a log-probability, or None."""
    if math.isnan(number):
        return "a score is NaN"
    if number > _ROUNDING:
        return f"{number:g} is no log-probability, which is at most 0 (natural log, higher is better)"
    return None
