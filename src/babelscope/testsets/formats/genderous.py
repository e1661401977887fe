"""GENDEROUS (Hackenbuchner et al. 2025): English occupations whose gender is open, with labeled translations.

No license stated, github.com/jhacken/GENDEROUS. 30 sentences, 30 with "their" and 450 with adjectives; translations
by DeepL, Google, GPT-4o and EuroLLM into German, Greek, Spanish and Dutch, labeled F, M or N by people.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from babelscope.testsets.formats.shared import Row, collect, read_csv
from babelscope.testsets.items import TestSet
from babelscope.util.errors import BabelscopeError

_CUES = {"F": "female", "M": "male"}


def read_genderous(path: str | Path, *, language: str = "") -> TestSet:
    """Read a table of sentences, or the labeled translations of `language` in a table of annotations.

    A label is the gender that the translation shows: its item has the cue for it as the correct source. Translations
    with other labels, which no cue stands for, are left out and counted.
    """
    skipped: dict[str, int] = {}
    rows = _labeled(Path(path), language.upper(), skipped) if language else _sentences(Path(path))
    return collect(Path(path).stem, rows, skipped)


def _sentences(path: Path) -> Iterator[Row]:
    for number, place, row in read_csv(path, (), "GENDEROUS", delimiter="\t"):
        # Column names differ from file to file.
        source = row.get("sentences") or row.get("source_sentences") or ""
        base = next((row[name] for name in ("base_type", "type", "base") if name in row), "")
        fields = {"id": str(number), "source": source, "source_language": "en", "phenomenon": base}
        yield place, {name: value for name, value in fields.items() if value or name == "source"}


def _labeled(path: Path, language: str, skipped: dict[str, int]) -> Iterator[Row]:
    for number, place, row in read_csv(path, ("base", "sentences"), "GENDEROUS", delimiter="\t"):
        label, text = row.get(f"{language}_annotation"), _translation(row, language)
        if label is None or text is None:
            raise BabelscopeError(f"{path} has no labeled translations into {language.lower()}")
        sources = {each: _with_cue(row["sentences"], row["base"], cue) for each, cue in _CUES.items()}
        if label not in _CUES or not all(sources.values()):
            reason = f"label {label}" if label not in _CUES else "no place for a cue"
            skipped[reason] = skipped.get(reason, 0) + 1
            continue
        yield (
            place,
            {
                "id": str(number),
                "source": row["sentences"],
                "correct_sources": [sources[label]],
                "incorrect_sources": [sources[other] for other in _CUES if other != label],
                "category": _CUES[label],
                "translation": text,
                "source_language": "en",
                "target_language": language.lower(),
                "occupation": row["base"],
            },
        )


def _translation(row: Mapping[str, str], language: str) -> str | None:
    """The cell of the system: the column before the labels, such as DE_DeepL."""
    names = list(row)
    place = names.index(f"{language}_annotation") if f"{language}_annotation" in row else 0
    return row[names[place - 1]] if place and names[place - 1].startswith(f"{language}_") else None


def _with_cue(source: str, occupation: str, cue: str) -> str:
    found = re.search(rf"(?<!\w){re.escape(occupation)}(?!\w)", source) if occupation else None
    return f"{source[: found.start()]}{cue} {source[found.start() :]}" if found else ""
