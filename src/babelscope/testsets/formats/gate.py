"""GATE (Rarrick et al. 2023): English sentences that leave genders open, with translations for every choice.

MIT, github.com/MicrosoftTranslator/GATE. English into Spanish, French and Italian. Files with 2, 4 and 8 variants
have 1, 2 and 3 people whose gender is open. An item per variant: its translation, judged under sources whose cue
(female or male, before the person's word) fits it or does not.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from babelscope.testsets.formats.shared import Row, collect
from babelscope.testsets.items import TestSet
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import parse_lines, read_line_bytes

_CUES = {"f": "female", "m": "male"}
_VARIANT = re.compile(r"[fm]{1,3}")
_LANGUAGE = re.compile(r"(?P<code>[A-Z]{2})_[248]")
# Words before which an adjective cannot stand.
_NO_NOUN = re.compile(
    r"(i|you|we|they|me|us|them|my|your|our|their|mine|yours|ours|theirs|myself|yourself|ourselves|yourselves|"
    r"themselves|themself|someone|somebody|anyone|anybody|everyone|everybody|nobody|one|who|whom|both|all|each|those|"
    r"these|[^a-z].*)",
    re.IGNORECASE,
)


def read_gate(path: str | Path) -> TestSet:
    """Read a table such as ES_2_variants.tsv; sentences whose cue has no place are left out and counted."""
    skipped: dict[str, int] = {}
    return collect(Path(path).stem, _rows(Path(path), skipped), skipped)


def _rows(path: Path, skipped: dict[str, int]) -> Iterator[Row]:
    # Some files of the release have Windows line ends.
    data = read_line_bytes(path).replace(b"\r\n", b"\n")
    lines = parse_lines(data, path, keep_separators=True)
    table = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    header = next(table, [])
    variants = [name for name in header if _VARIANT.fullmatch(name)]
    if "source" not in header or "kw_s" not in header or not variants:
        raise BabelscopeError(
            f"{path} is no GATE file: its first line must name source, kw_s and variants (f, m, ff...)"
        )
    named = _LANGUAGE.match(path.name)
    target = {"target_language": named["code"].lower()} if named else {}
    for number, cells in enumerate(table, 2):
        if len(cells) > len(header):
            raise BabelscopeError(
                f"{at(path, number)} has {len(cells)} columns, the first line has {len(header)}"
            )
        row = dict(zip(header, cells, strict=False))
        people = [_word(each) for each in row.get("kw_s", "").split(";")]
        sources = {each: _with_cues(row["source"], people, each) for each in variants}
        if len(people) != len(variants[0]) or not all(sources.values()):
            skipped["no place for a cue"] = skipped.get("no place for a cue", 0) + 1
            continue
        for variant in variants:
            if not row.get(variant, "").strip():
                continue
            yield (
                at(path, number),
                {
                    "id": f"{number - 1}/{variant}",
                    "source": row["source"],
                    "correct_sources": [sources[variant]],
                    "incorrect_sources": [sources[each] for each in variants if each != variant],
                    "category": variant,
                    "translation": row[variant],
                    "source_language": "en",
                    **target,
                },
            )


def _word(keyword: str) -> str:
    """The word for a person: of `boss=boss` and `some [colleagues]` the noun."""
    bracketed = re.search(r"\[([^\]]+)\]", keyword)
    return (bracketed[1] if bracketed else keyword.partition("=")[0]).strip()


def _with_cues(source: str, people: Sequence[str], variant: str) -> str:
    """The source with a cue before each person's word; empty if one has no place."""
    if len(people) != len(variant):
        return ""
    place = 0
    for word, gender in zip(people, variant, strict=True):
        found = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)").search(source, place) if word else None
        if not found or _NO_NOUN.fullmatch(word):
            return ""
        cue = f"{_CUES[gender]} "
        source = source[: found.start()] + cue + source[found.start() :]
        place = found.end() + len(cue)
    return source
