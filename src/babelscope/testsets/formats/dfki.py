"""The DFKI test suite (Macketanz et al. 2022): sentences for 119 phenomena, with rules for their translations.

CC BY-NC-SA 4.0, github.com/DFKI-NLP/mt-testsuite. 2,324 items English-German in 13 categories. A translation is right
if it is one of the right ones or matches the positive expression, wrong by the negative ones, and else undecided.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babelscope.testsets.formats.shared import Row, collect, extra, field, numbered, read_document, texts
from babelscope.testsets.items import TestSet

_PAIR = re.compile(r"([a-z]{2})([a-z]{2})")


def read_dfki(path: str | Path) -> TestSet:
    """Read a file of items; one with neither expressions nor translations decides nothing, and is kept as such."""
    document = read_document(path, dict, "DFKI test suite")
    return collect(Path(path).stem, _rows(path, field(document, "items", str(path), list)))


def _rows(path: str | Path, entries: list[Any]) -> Iterator[Row]:
    seen: dict[str, int] = {}
    for _, place, entry in numbered(path, entries):
        name = str(field(entry, "id", place))
        seen[name] = seen.get(name, 0) + 1
        pair = _PAIR.fullmatch(str(entry.get("langpair", "")))
        languages = {"source_language": pair[1], "target_language": pair[2]} if pair else {}
        rules: list[dict[str, Any]] = []
        for kind, verdict in (("positive", "right"), ("negative", "wrong")):
            rules += [{verdict: text} for text in texts(entry, f"{kind}_tokens", place)]
            if expression := entry.get(f"{kind}_regex"):
                rules.append({verdict: expression, "regex": True})
        yield (
            place,
            {
                "id": name if seen[name] == 1 else f"{name}/{seen[name]}",
                "source": field(entry, "source_sentence", place),
                **languages,
                "rules": rules,
                **extra(entry, "category", "phenomenon"),
            },
        )
