"""Gender of translated occupations and lemmas of translations, from the languages that offer them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from babelscope.core.notes import told_counts
from babelscope.core.results import Record, Row
from babelscope.language.base import GenderRules, Morphology
from babelscope.language.fitness import check_language, other_language
from babelscope.language.registry import LANGUAGES
from babelscope.util.errors import BabelscopeError


def open_morphology(target: str, rules: GenderRules = "published") -> Morphology:
    """The gender analysis of a target language, as in WinoMT (Stanovsky et al. 2019, section 3)."""
    known = {code: each.morphology for code, each in LANGUAGES.all().items() if each.morphology}
    if target not in known:
        raise BabelscopeError(f"there is no WinoMT morphology for {target!r}; known: {', '.join(known)}")
    return known[target](rules)


def check_translations(records: Sequence[Record], target: str, tool: str) -> None:
    """Refuse translations that are, all together, in another language than the tool is for."""
    texts = [record["translation"] for record in records]
    check_language(texts, target, what="the translations", needed_by=tool)


def note_language(record: Record, target: str) -> Record:
    """The record, with the field `other_language` if its translation is clearly in another one than the target."""
    other = other_language(record["translation"], target) if target else None
    kept = {name: value for name, value in record.items() if name != "other_language"}
    return {**kept, "other_language": other} if other else kept


def count_other_languages(rows: Sequence[Row], records: Sequence[Record]) -> list[Row]:
    """The rows, each with the number of translations in other languages and with chatter, if there are any."""
    others = sum("other_language" in record for record in records)
    told = {"other_language": others} if others else {}
    told |= told_counts(Counter(note for record in records for note in record.get("notes", ())))
    return [Row(row.name, row.estimate, row.labels, {**row.counts, **told}) for row in rows]
