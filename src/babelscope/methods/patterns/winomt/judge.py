"""The gender an occupation was translated with, by alignment and morphology (Stanovsky et al. 2019, section 3)."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.core.results import Record
from babelscope.language.base import GenderRules
from babelscope.language.fitness import require_links
from babelscope.methods.patterns.morphology import check_translations, note_language, open_morphology
from babelscope.methods.patterns.winomt.settings import WinomtSettings

_ARTICLES = ("the", "a", "an")


def judge(records: Sequence[Record], settings: WinomtSettings) -> list[Record]:
    """The records with the words aligned to the occupation, and the gender that these show."""
    check_translations(records, settings.target, "the morphology")
    morphology = open_morphology(settings.target, settings.gender_rules)
    judged = []
    for record in records:
        words, occupation = record["translation"].split(), record["occupation"]
        asked = _positions(record["source"], record["index"], occupation, settings.gender_rules)
        linked: dict[int, list[int]] = {}
        for source, position in record["links"]:
            linked.setdefault(source, []).append(position)
        found = [position for source in asked for position in linked.get(source, [])]
        predicted = morphology.gender(found, words, occupation)
        judged.append(
            {
                **note_language(record, settings.target),
                "translated_as": " ".join(words[position] for position in found),
                "predicted": predicted,
                "correct": predicted == record["gold"],
            }
        )
    require_links([bool(record["translated_as"]) for record in judged], [1] * len(judged))
    return judged


def _positions(source: str, index: int, occupation: str, rules: GenderRules) -> list[int]:
    """Indices of the occupation and the article before it among the source's words, from 0."""
    tokens = source.split(" ")
    positions = [index - 1] if index and tokens[index - 1].lower() in _ARTICLES else []
    if rules == "published":
        return [*positions, index]
    # The index counts empty strings between two spaces; `split()` without argument does not have them.
    first = sum(bool(token) for token in tokens[:index])
    article = [first - 1] if positions else []
    return [*article, *range(first, first + len(occupation.split()))]
