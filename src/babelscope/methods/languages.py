"""Whether what a system writes is in the language of the references that it is held against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from babelscope.core.columns import Group
from babelscope.core.page import Caveat
from babelscope.core.results import Record
from babelscope.language.fitness import other_language_of_set
from babelscope.language.identifying import identify_all


def language_mismatch(translations: Sequence[str], references: Sequence[str]) -> tuple[str, str] | None:
    """The languages of two sets of texts, if each set is clearly not in the language of the other."""
    own, other = (identify_all(texts, "").language for texts in (translations, references))
    if own is None or other is None:
        return None
    if other_language_of_set(translations, other) and other_language_of_set(references, own):
        return own, other
    return None


def mismatch_caveats(group: Group, translation_of: Callable[[Record], Any]) -> list[Caveat]:
    """A caveat for each system whose translations, all together, are in another language than the references."""
    found = []
    for column in group.columns:
        judged = [
            (text, record["references"][0])
            for record in column.cell.records
            if record.get("references") and isinstance(text := translation_of(record), str)
        ]
        languages = language_mismatch([text for text, _ in judged], [reference for _, reference in judged])
        if languages:
            own, other = languages
            said = f"its translations are in the language {own}, the references in {other} (py3langid)"
            found.append(Caveat(column.name, f"{said}: figures that compare them say nothing."))
    return found
