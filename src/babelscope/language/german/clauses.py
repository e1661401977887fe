"""Corrects tags by the structure of German clauses: every clause has a finite verb."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from babelscope.language.german.analysis import word_set
from babelscope.language.german.dictionaries import HanTaTagger, NounList

_NOMINALIZED = tuple(word_set("ADJ VVINF VVIZU VVPP VVFIN VMFIN VVIMP PIS PIAT ADV FM XY CARD"))
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
        if tag.startswith(_NOMINALIZED) and not begins_sentence(words, tags, place):
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


# Words that open a clause with its finite verb at the end; they may be the second or third word of it.
_OPENERS = ("KOUS", "PRELS", "PRELAT", "PWAV", "PWS", "PWAT")
_RELATIVE = word_set("der die das dem den denen deren dessen")
_INFINITE = ("VVINF", "VVPP", "VMINF", "VAINF", "VMPP")
_CONJOINED = ("ADJA", "ADJD", "ART", "CARD", "PIAT", "TRUNC")


def correct_tags(
    words: list[str], tagged: list[tuple[str, str]], tagger: HanTaTagger, nouns: NounList
) -> list[tuple[str, str]]:
    """Correct the tags of nouns and finite verbs."""
    found = nouns_by_capital(words, tagged, nouns)
    clauses = _Clauses(words, [tag for tag, _ in found], tagger)
    clauses.correct()
    return [(tag, lemma) for tag, (_, lemma) in zip(clauses.tags, found, strict=True)]


@dataclass(slots=True)
class _Clauses:
    words: list[str]
    tags: list[str]
    tagger: HanTaTagger

    def correct(self) -> None:
        """Find the finite verb of each clause that seems to have none."""
        self._conjoined()
        waiting = 0  # number of subordinate clauses interrupted before their finite verb
        for start, end in self._segments():
            has_finite = any(tag.endswith("FIN") for tag in self.tags[start:end])
            opened = self._is_opened(start, end)
            if has_finite:
                waiting = max(0, waiting - (not opened))
            elif opened or waiting:
                place = self._last_verb(start, end)
                if place is not None and self._make_finite(place):
                    waiting -= not opened
                else:
                    waiting += opened
            elif start == 0 or self.tags[start - 1] == "$." or self.words[start - 1] in ":;":
                self._main_clause(start, end)
            else:
                self._continued(start, end)
            if opened:
                self._first_of_two(start, end)

    def _segments(self) -> list[tuple[int, int]]:
        """Ranges of tokens between punctuation marks, which divide clauses."""
        marks = [p for p, tag in enumerate(self.tags) if tag in ("$,", "$.") or self.words[p] in ":;–-()"]
        cuts = [-1, *marks, len(self.words)]
        return [(a + 1, b) for a, b in pairwise(cuts) if b > a + 1]

    def _is_opened(self, start: int, end: int) -> bool:
        """Whether a segment begins a subordinate clause."""
        if any(tag in _OPENERS for tag in self.tags[start : min(start + 3, end)]):
            return True
        if start == 0 or self.words[start - 1] != ",":
            return False
        first = start + (self.tags[start] == "APPR")
        # A relative pronoun that was tagged as an article: ", die Freunde helfen".
        return (
            first < end
            and self.words[first] in _RELATIVE
            and self.tags[end - 1] in ("VVINF", "VMINF", "VAINF")
        )

    def _last_verb(self, start: int, end: int) -> int | None:
        """Index of the last infinitive or participle of a segment, which may be finite; None after "zu"."""
        for place in range(end - 1, start, -1):
            if self.tags[place] in _INFINITE:
                return None if self.tags[place - 1] == "PTKZU" else place
        return None

    def _main_clause(self, start: int, end: int) -> None:
        """Find the finite verb of a main clause: the first candidate that does not begin it."""
        for place in range(start + 1, end):
            tag = self.tags[place]
            if (
                tag in ("VVINF", "VMINF", "VAINF")
                and self.tags[place - 1] != "PTKZU"
                and self._make_finite(place)
            ):
                return
        for place in range(start + 1, end):
            follows = self.tags[place - 1] in ("NN", "NE", "ADV", "PPER", "PRF")
            past = self.tags[place] in ("ADJA", "ADJD", "VVPP") and self.words[place].endswith(
                ("te", "ten", "t")
            )
            if follows and past and self._make_finite(place):
                return

    def _continued(self, start: int, end: int) -> None:
        """Find the finite verb of a clause that continues after another one: "lachten Kinder", "kommen können"."""
        if self.tags[start] == "ADJA" and self.words[start].endswith(("te", "ten")):
            self._make_finite(start)
        elif (
            end - start > 1
            and self.tags[end - 1] in ("VMINF", "VAINF")
            and self.tags[end - 2] in ("VVINF", "VVPP")
        ):
            self._make_finite(end - 1)

    def _first_of_two(self, start: int, end: int) -> None:
        """Find the first of two conjoined finite verbs: "die Bäume pflanzen und den Garten pflegen"."""
        last = max((n for n in range(start, end) if self.tags[n].endswith("FIN")), default=-1)
        for place in range(start + 1, end - 3):
            conjoined = self.tags[place] in ("VVINF", "VAINF") and self.tags[place + 1] == "KON"
            # "die lesen und schreiben können" has one finite verb.
            shared = self.tags[place + 2].startswith("V") or self.tags[place - 1] == "PTKZU"
            if conjoined and not shared and last >= place + 2:
                self._make_finite(place)

    def _conjoined(self) -> None:
        """Find preterites after "und" that were tagged as adjectives: "er sang und erntete Applaus"."""
        finite = "VVFIN" in self.tags[:1]
        for place in range(2, len(self.words) - 1):
            finite = finite or self.tags[place - 1] == "VVFIN"
            if (
                self.tags[place] != "ADJA"
                or self.tags[place - 1] != "KON"
                or self.tags[place - 2] in _CONJOINED
            ):
                continue
            if self.words[place].endswith(("te", "ten")) and finite:
                self._make_finite(place)

    def _make_finite(self, place: int) -> bool:
        """Tag a verb as finite if its form allows it; returns whether it does."""
        word, tag = self.words[place].lower(), self.tags[place]
        finite = (tag[:2] if tag[0] == "V" else "VV") + "FIN"
        participle = tag == "VVPP" and word.startswith("ge") and not self.tagger.can_be(word, finite)
        if participle or not (tag.endswith("INF") or word.endswith(("t", "te", "ten", "en"))):
            return False
        if tag in ("ADJA", "ADJD") and not self.tagger.can_be(word, finite):
            return False
        self.tags[place] = finite
        return True
