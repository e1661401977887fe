"""CTXPro (Wicks and Post 2023): pronouns, formality, inflection and ellipsis that need the sentences before.

Apache-2.0, github.com/rewicks/ctxpro. A translation is right if it has the expected word form (the published measure
is generative), which is the item's rule. The documents themselves are OpenSubtitles, which the release does not have;
where an item names the sentence of the antecedent, that is its context.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babelscope.testsets.formats.shared import Row, collect, extra, field, numbered, read_document
from babelscope.testsets.items import TestSet

_LANGUAGES = re.compile(r"\.(?P<source>[a-z]{2})-(?P<target>[a-z]{2})\.")
_KEPT = ("ante distance", "rule", "src pronoun", "document id", "segment id")


def read_ctxpro(path: str | Path) -> TestSet:
    """Read a file such as gender.opensubtitles.en-es.dev.json: sentences with the word form to expect."""
    entries = read_document(path, list, "CTXPro")
    return collect(Path(path).name.removesuffix(".json"), _rows(Path(path), entries))


def _rows(path: Path, entries: list[Any]) -> Iterator[Row]:
    named = _LANGUAGES.search(path.name)
    languages = {f"{side}_language": named[side] for side in ("source", "target")} if named else {}
    for number, place, entry in numbered(path, entries):
        source = field(entry, "src segment", place)
        expected = field(entry, "expected", place)
        before = entry.get("src ante segment")
        context = [before] if isinstance(before, str) and before.strip() and before != source else []
        yield (
            place,
            {
                "id": str(number),
                "source": source,
                "reference": [field(entry, "ref segment", place)],
                **languages,
                **({"context_source": context} if context else {}),
                "phenomenon": path.name.partition(".")[0],
                "rules": [{"require": expected}],
                **extra(entry, *_KEPT),
            },
        )
