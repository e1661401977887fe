"""The sense of a translated word: known words among the tokens, then among the lemmas (Raganato et al. 2019)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from babelscope.core.results import Record
from babelscope.core.tokenisers import is_unspaced, require_spaces
from babelscope.language.lemmas import lemmatise
from babelscope.methods.patterns.morphology import check_translations, note_language
from babelscope.methods.patterns.mucow.settings import MucowSettings


@dataclass(frozen=True, slots=True)
class Rules:
    """How a translation is split into tokens, and how words are normalised before they are compared."""

    tokens: re.Pattern[str]
    normalise: Callable[[str], str]


def fold(word: str) -> str:
    """A word in lower case without accents, as the lemmas in the released logs are."""
    plain = word.lower().replace("ß", "ss")
    return "".join(
        letter for letter in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(letter)
    )


RULES = {
    # The suite's own evaluation; Moses leaves hyphenated words together.
    "mucow": Rules(re.compile(r"\w+(?:-\w+)*|[^\w\s]"), str.lower),
    # That of the conditioning paper (appendix E): hyphenated words are split.
    "conditioning": Rules(re.compile(r"\w+|[^\w\s]"), fold),
}


def rules_name(records: Sequence[Record], settings: MucowSettings) -> str:
    """The name of the rules to use; `auto` decides by the form of the lemmas."""
    if settings.word_matching != "auto":
        return settings.word_matching
    return "conditioning" if any(record["folded"] for record in records) else "mucow"


def judge(records: Sequence[Record], settings: MucowSettings) -> list[Record]:
    """The records with lemmas and a verdict: correct, wrong, or unknown (null).

    A known wrong word makes it wrong, whatever else is there. Lemmas are looked at only if no token is known.
    """
    rules = RULES.get(rules_name(records, settings))
    lemmas: list[str | None] = [record["given_lemmas"] for record in records]
    if settings.lemmatise and all(own is None for own in lemmas):
        check_translations(records, settings.lemmatise, "the lemmatiser")
        lemmas = [" ".join(own) for own in lemmatise([r["translation"] for r in records], settings.lemmatise)]
    if rules is not None:
        _require_words(records, lemmas)
    judged = []
    for record, own in zip(records, lemmas, strict=True):
        if rules is None:
            correct, where = record.get("stored"), None
        else:
            correct, where = _verdict(record, (own or "").replace(settings.compound_mark, ""), rules)
        judged.append(
            {
                **note_language(record, settings.lemmatise),
                "lemmas": own,
                "correct": correct,
                "found_in": where,
            }
        )
    return judged


def _require_words(records: Sequence[Record], lemmas: Sequence[str | None]) -> None:
    """Refuse translations without spaces in which words of such a script are looked for, unless there are lemmas."""
    texts = [
        record["translation"]
        for record, own in zip(records, lemmas, strict=True)
        if not own and any(map(is_unspaced, (*record["right_words"], *record["wrong_words"])))
    ]
    require_spaces(texts, what="the translations", todo="give them as --lemmas FILE, words apart by spaces")


def _verdict(record: Record, lemmas: str, rules: Rules) -> tuple[bool | None, str | None]:
    """The verdict (None if no word is known), and whether tokens or lemmas decided it."""
    right = {rules.normalise(word) for word in record["right_words"]}
    wrong = {rules.normalise(word) for word in record["wrong_words"]}
    places = {"tokens": rules.tokens.findall(record["translation"]), "lemmas": lemmas.split(" ")}
    for where, words in places.items():
        found = {rules.normalise(word) for word in words}
        if found & wrong:
            return False, where
        if found & right:
            return True, where
    return None, None
