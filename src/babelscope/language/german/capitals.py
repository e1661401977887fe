"""Corrects tags by capital letters, which mark nouns inside a German sentence."""

from __future__ import annotations

from babelscope.language.german.analysis import word_set
from babelscope.language.german.nouns import NounList

_NOMINALISED = tuple(word_set("ADJ VVINF VVIZU VVPP VVFIN VMFIN VVIMP PIS PIAT ADV FM XY CARD"))
_BEFORE_NOUN = ("ART", "ADJA", "PPOSAT", "APPRART", "PIAT", "PDAT", "CARD", "PIS", "PWAT")
_INDEFINITE = tuple(word_set("ein kein mein dein sein unser euer ihr jede viele einige mehrere"))
_QUOTES = "\"'„“”»«‚‘’`´()[]-–—…/"
# Written with a capital in letters, or for politeness.
_POLITE = word_set("sie ihr ihre ihrem ihren ihrer ihres ihnen du dich dir euch")


def begins_sentence(words: list[str], tags: list[str], place: int) -> bool:
    """Whether the word at `place` may have a capital because it begins a sentence."""
    before = place - 1
    while before >= 0 and words[before] in _QUOTES:
        # A sentence may begin after an opening quote or bracket.
        if words[before] not in "-–—/" or before == 0:
            return True
        before -= 1
    return before < 0 or tags[before] == "$." or words[before] in (":", "...", "…", "|", "*")


def nouns_by_capital(
    words: list[str], tagged: list[tuple[str, str]], nouns: NounList
) -> list[tuple[str, str]]:
    """Tag as NN words that only a capital shows to be nouns, and common nouns tagged as names."""
    tags = [tag for tag, _ in tagged]
    found = list(tagged)
    for place, word in enumerate(words):
        tag = tags[place]
        # Words in capitals, or with capitals inside, are names and abbreviations, unless a compound ends in a noun.
        titled = word[0].isupper() and word[1:].islower() and word.lower() not in _POLITE
        if not titled and not (_hyphenated(word) and tag in ("ADJA", "ADJD", "NE", "FM")):
            continue
        before = tags[place - 1] if place else ""
        after = tags[place + 1] if place + 1 < len(words) else ""
        if tag.startswith(_NOMINALISED) and not begins_sentence(words, tags, place):
            # Names have capital adjectives: "der Europäische Rat", "die Berliner Mauer".
            part_of_name = tag in ("ADJA", "PIAT", "CARD") and after in ("NN", "NE", "ADJA", "KON")
            if not part_of_name:
                found[place] = ("NN", word)
        elif tag == "NE" and before.startswith(_BEFORE_NOUN) and after not in ("NE", "NN"):
            # "der Donau" is a name, "ein Dingsda" is none.
            if nouns.readings(word) or words[place - 1].lower().startswith(_INDEFINITE):
                found[place] = ("NN", word)
        elif tag == "NE" and "NE" not in (before, after) and nouns.is_common(word):
            found[place] = ("NN", word)
    return found


def _hyphenated(word: str) -> bool:
    """Whether the last part of a hyphenated compound has a capital, as in "US-Präsident"."""
    last = word.rsplit("-", 1)[-1]
    return "-" in word and last[:1].isupper() and last[1:].islower()
