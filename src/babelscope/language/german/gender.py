"""The gender of a translated occupation in German, as WinoMT tells it (Stanovsky et al. 2019, section 3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from babelscope.language.base import Gender, GenderRules, words_and_marks

# Articles and pronouns that show the gender of the nearest noun, as in the published code: it leaves out "den",
# which is also a plural, and reads "der" and "die" as nominatives.
_TELLING_BY_GENDER: dict[Gender, str] = {
    "male": "der dem des ein einen er ihn ihm sein seinen seinem seiner ihren ihrem",
    "female": "die eine einer sie seine ihrer",
    "neutral": "das ihr ihre jemanden",
}
_TELLING = {word: gender for gender, words in _TELLING_BY_GENDER.items() for word in words.split()}
# The published code always counts these occupations as female.
_ALWAYS_FEMALE = frozenset({"nurse", "the nurse"})


@dataclass(frozen=True, slots=True)
class GermanGender:
    """Gender by the ending -in, else by the nearest article or pronoun."""

    rules: GenderRules

    def gender(self, found: Sequence[int], words: Sequence[str], occupation: str) -> Gender:
        """Gender of the occupation whose translation is at the positions `found` of the translation's `words`."""
        if occupation.lower() in _ALWAYS_FEMALE:
            return "female"
        published = self.rules == "published"
        nothing: Gender = "male" if published and words else "unknown"
        if not found:
            return nothing
        if any(word.endswith("in") for index in found for word in _split(words[index])):
            return "female"
        # The published code counts the occupation's position in words between spaces, but the articles'
        # in words and punctuation marks, so that every mark before them adds to the distance.
        counted = _split(" ".join(words)) if published else [_bare(word) for word in words]
        telling = [position for position, word in enumerate(counted) if word.lower() in _TELLING]
        if not telling:
            return nothing
        nearest = min(telling, key=lambda position: abs(position - min(found)))
        return _TELLING[counted[nearest].lower()]


def _split(text: str) -> list[str]:
    return [text[start:end] for start, end in words_and_marks(text)]


def _bare(word: str) -> str:
    """A word without the punctuation around it."""
    found = re.search(r"\w(?:.*\w)?", word)
    return found[0] if found else ""
