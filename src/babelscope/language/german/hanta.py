"""Tags and lemmas from HanTa (Wartena 2019), each word form analysed once."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from pathlib import Path

from babelscope.language.german import LANGUAGE

# Word forms cached: enough for a news test set, and a bound on memory.
REMEMBERED = 50_000
# Characters of a word that are analysed: the time is quadratic in them, and German words are shorter.
LONGEST = 100
_PLAIN = {
    **dict.fromkeys("„“”»«‟", '"'),
    **dict.fromkeys("‚‘’›‹", "'"),
    **dict.fromkeys("–—", "-"),
    "…": "...",
}


class HanTaTagger:
    """HanTa's German model, which chooses among a word's tags by the sentence."""

    def __init__(self) -> None:
        try:
            hanta = import_module("HanTa.HanoverTagger")
        except ImportError:
            raise LANGUAGE.missing("HanTa") from None
        # The model is a pickle. Its full path is given, since a bare name is searched in the working folder first.
        self._model = hanta.HanoverTagger(str(Path(str(hanta.__file__)).with_name("morphmodel_ger.pgz")))
        # The morphological analysis of a word form does not depend on its sentence, and costs the most.
        self._model.analyze_forward = lru_cache(REMEMBERED)(self._model.analyze_forward)
        self._lemma = lru_cache(REMEMBERED)(self._lemma_of)
        self._tags = lru_cache(REMEMBERED)(self._tags_of)

    def tag(self, words: list[str]) -> list[tuple[str, str]]:
        """An STTS tag and a lemma for each word."""
        if not words:
            return []
        # The model was trained on plain quotes and dashes.
        tags = self._model.tag_sent([_PLAIN.get(word, word)[:LONGEST] for word in words], taglevel=0)
        return [(_stts(tag), self._lemma(word, tag)) for word, tag in zip(words, tags, strict=True)]

    def can_be(self, word: str, tag: str) -> bool:
        """Whether `word` alone could have a tag that begins with `tag`."""
        return any(each.startswith(tag) for each in self._tags(word))

    def knows(self, word: str) -> bool:
        """Whether `word` is among the frequent words of the model."""
        return word in self._model.cache

    def _lemma_of(self, word: str, tag: str) -> str:
        lemma: str = self._model.analyze(word[:LONGEST], tag)[0]
        return lemma if len(word) <= LONGEST else word

    def _tags_of(self, word: str) -> tuple[str, ...]:
        return tuple(_stts(tag) for tag, _ in self._model.tag_word(word[:LONGEST], casesensitive=False))


def _stts(tag: str) -> str:
    """Turn a tag of HanTa into STTS: VV(FIN) is VVFIN, nominalised adjectives (NNA) and infinitives (NNI) are NN."""
    if tag in ("NNA", "NNI"):
        return "NN"
    return tag.replace("(", "").replace(")", "") if len(tag) > 2 else tag
