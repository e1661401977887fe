"""Whether texts are in the languages that figures need: translations beside references, items of one test set."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
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


def warn_of_pooled_languages(items: Iterable[Any]) -> None:
    """Warn if items state different target languages, which every figure over all of them pools."""
    stated = Counter(item.target_language for item in items if item.target_language)
    if len(stated) > 1:
        told = ", ".join(f"{language}: {count}" for language, count in stated.most_common())
        warnings.warn(
            f"the items have {len(stated)} target languages ({told}), and figures over all items pool them; "
            "--by target_language gives a figure for each",
            stacklevel=2,
        )
