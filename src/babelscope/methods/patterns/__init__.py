"""Pattern-matching baselines: what was used before contrastive conditioning (its paper, section 3.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.results import Record, Result, Row
from babelscope.language.align import Links, align
from babelscope.language.base import GenderRules
from babelscope.methods.patterns import mucow as patterns_mucow
from babelscope.methods.patterns import winomt as patterns_winomt
from babelscope.methods.patterns.morphology import lemmatise
from babelscope.methods.patterns.mucow import Translated
from babelscope.methods.patterns.winomt import Aligned, Rounding
from babelscope.systems.translation_files import Given
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.pattern_files import match
from babelscope.testsets.sets import TestSet
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream
from babelscope.util.version import __version__

Verdicts = Sequence[tuple[str, Mapping[str, Any]]]
"""Where a stored verdict stands, and what it says."""


def words_of(given: Sequence[Given], items: Sequence[AmbiguousSource]) -> list[tuple[list[str], list[str]]]:
    """The words between spaces of every source and translation, which alignments count."""
    if given and given[0].source is None and len(given) != len(items):
        raise BabelscopeError(f"there are {len(given)} translations of {len(items)} sources")
    return [
        ((each.source if each.source is not None else items[number].source).split(), each.translation.split())
        for number, each in enumerate(given)
    ]


def winomt(
    tests: TestSet,
    given: Sequence[Given],
    *,
    target: str,
    links: Sequence[Links] | None = None,
    rules: GenderRules = "published",
    rounding: Rounding = "exact",
    lists: Mapping[str, Sequence[AmbiguousSource]] | None = None,
    skip_missing: bool = False,
    what: str = "the file of translations",
    labels: Mapping[str, str | int] | None = None,
    seed: int = 0,
) -> Result:
    """WinoMT's figures for given translations; without `links` they are aligned here, all together.

    `lists` are WinoMT's own files of pro- and anti-stereotypical sentences, which differ from the test
    set's column in two sentences; the published delta S is made with them.
    """
    items = tests.items_of(AmbiguousSource, what_for="patterns winomt")
    matched = match(items, given, what=what, skip_missing=skip_missing)
    pairs = words_of(given, items)
    alignment = "given" if links is not None else "forward"
    links = align(pairs) if links is None else links
    if len(links) != len(given):
        raise BabelscopeError(f"there are {len(links)} alignments of {len(given)} translations")
    records = patterns_winomt.judge(
        items,
        [None if number is None else Aligned(pairs[number][1], links[number]) for number in matched],
        target=target,
        rules=rules,
        stereotypes=patterns_winomt.stereotypes_of(items, lists) if lists else None,
    )
    counts = _counts(tests, matched)
    rows = patterns_winomt.summarise(
        records, stream(seed, "patterns winomt"), rounding=rounding, counts=counts
    )
    own = {"target": target, "alignment": alignment, "rules": rules, "rounding": rounding}
    settings = {
        **own,
        "links": digest_json(links) if alignment == "given" else None,
        "stereotypes": {name: [item.id for item in each] for name, each in lists.items()} if lists else None,
    }
    return _result("patterns winomt", settings, tests, given, records, rows, {**(labels or {}), **own}, seed)


def mucow(
    tests: TestSet,
    given: Sequence[Given] = (),
    *,
    stored: Verdicts | None = None,
    rules: str = "",
    compound_mark: str = "",
    target: str = "",
    skip_missing: bool = False,
    what: str = "the file of translations",
    labels: Mapping[str, str | int] | None = None,
    seed: int = 0,
) -> Result:
    """MuCoW's figures for given translations, or for verdicts stored earlier; given both, also how many agree.

    `target` makes lemmas here for translations that have none. Without `rules` they are those of the
    suite, or of the conditioning paper for translations from its log, whose lemmas have lost their accents.
    """
    items = tests.items_of(AmbiguousSource, what_for="patterns mucow")
    before = patterns_mucow.from_verdicts(items, stored) if stored is not None else None
    if not given:
        if before is None:
            raise BabelscopeError("patterns mucow needs translations or stored verdicts")
        records, own = before, {"rules": "stored"}
        counts = {"missing": len(items) - len(before), "skipped": sum(tests.skipped.values())}
        settings: dict[str, Any] = {**own, "verdicts": digest_json(before)}
    else:
        matched = match(items, given, what=what, skip_missing=skip_missing)
        counts = _counts(tests, matched)
        translated = [Translated(each.translation, each.lemmas) for each in given]
        if target and all(each.lemmas is None for each in translated):
            lemmas = lemmatise([each.text for each in translated], target)
            translated = [
                Translated(t.text, " ".join(own)) for t, own in zip(translated, lemmas, strict=True)
            ]
        rules = rules or ("conditioning" if any(each.folded for each in given) else "mucow")
        records = patterns_mucow.judge(
            items,
            [None if number is None else translated[number] for number in matched],
            rules=rules,
            compound_mark=compound_mark,
        )
        own = {"rules": rules}
        settings = {
            **own,
            "compound_mark": compound_mark,
            "lemmas": digest_json([t.lemmas for t in translated]),
        }
    rows = patterns_mucow.summarise(records, stream(seed, "patterns mucow"), counts=counts)
    if given and before is not None:
        rows.append(patterns_mucow.same_verdicts(records, before))
    return _result("patterns mucow", settings, tests, given, records, rows, {**(labels or {}), **own}, seed)


def _counts(tests: TestSet, matched: Sequence[int | None]) -> dict[str, int]:
    return {"missing": sum(number is None for number in matched), "skipped": sum(tests.skipped.values())}


def _result(
    name: str,
    settings: Mapping[str, Any],
    tests: TestSet,
    given: Sequence[Given],
    records: Sequence[Record],
    rows: Sequence[Row],
    labels: Mapping[str, str | int],
    seed: int,
) -> Result:
    translations = digest_json([[each.source, each.translation] for each in given])
    config = {
        "methods": [{"name": name, "settings": dict(settings), "roles": {}}],
        "systems": [{"translations": translations}],
        "tests": [tests.identity],
        "seed": seed,
        "version": __version__,
    }
    labelled = [Row(row.name, row.estimate, {**labels, **row.labels}, row.counts) for row in rows]
    return Result(config, labelled, records)
