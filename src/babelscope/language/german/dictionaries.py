"""Tags and lemmas from HanTa (Wartena 2019), each word form analyzed once."""

from __future__ import annotations

import csv
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

from babelscope.language.german import LANGUAGE
from babelscope.language.german.analysis import Case, Gender, Nominal, Number

# Word forms cached: enough for a news test set, and a bound on memory.
REMEMBERED = 50_000
# Characters of a word that are analyzed: the time is quadratic in them, and German words are shorter.
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
    """Turn a tag of HanTa into STTS: VV(FIN) is VVFIN, nominalized adjectives (NNA) and infinitives (NNI) are NN."""
    if tag in ("NNA", "NNI"):
        return "NN"
    return tag.replace("(", "").replace(")", "") if len(tag) > 2 else tag


# --- Readings of noun forms from german-nouns (the German Wiktionary) ----------------------------------------------


_CASES = {"nominativ": "nom", "genitiv": "gen", "dativ": "dat", "akkusativ": "acc"}
_NUMBERS = {"singular": "sg", "plural": "pl"}
# A reading is one bit of an integer, so that 350,000 forms take little memory.
_READINGS = [
    Nominal(gender, number, case)
    for gender in get_args(Gender)
    for number in get_args(Number)
    for case in get_args(Case)
]
_BIT = {reading: 1 << place for place, reading in enumerate(_READINGS)}
_ADJECTIVAL = 1 << len(_READINGS)
_NAME = _ADJECTIVAL << 1
_COUNTED = _NAME << 1
# Left out: names hardly take an article, and many look like other nouns.
_NO_NOUN = frozenset({"Vorname", "Nachname", "Buchstabe", "Symbol", "Affix", "Suffix", "Wortverbindung"})
_NAMES = frozenset({"Toponym", "Eigenname", "Straßenname", "Abkürzung", "Vorname", "Nachname"})
# Suffixes of derived nouns: gender, and ending of the plural.
_SUFFIXES: tuple[tuple[str, Gender, str], ...] = (
    ("ung", "f", "en"),
    ("heit", "f", "en"),
    ("keit", "f", "en"),
    ("schaft", "f", "en"),
    ("tion", "f", "en"),
    ("sion", "f", "en"),
    ("tät", "f", "en"),
    ("enz", "f", "en"),
    ("anz", "f", "en"),
    ("ik", "f", "en"),
    ("ie", "f", "n"),
    ("erei", "f", "en"),
    ("in", "f", "nen"),
    ("chen", "n", ""),
    ("lein", "n", ""),
    ("ment", "n", "e"),
    ("tum", "n", "er"),
    ("ismus", "m", ""),
    ("ling", "m", "e"),
    ("or", "m", "en"),
    ("eur", "m", "e"),
    ("er", "m", ""),
)
_SHORTEST_PART = 3
# Shorter last parts occur in many names, such as "Hartmann".
_SHORTEST_SURE_PART = 5


class NounList:
    """Readings of noun forms."""

    def __init__(self) -> None:
        spec = find_spec("german_nouns")
        if spec is None or not spec.submodule_search_locations:
            raise LANGUAGE.missing("german-nouns")
        self._forms = _load(Path(next(iter(spec.submodule_search_locations))) / "nouns.csv")
        self._longest = max(map(len, self._forms))
        self._mask = lru_cache(50_000)(self._mask_of)

    def readings(self, form: str) -> frozenset[Nominal]:
        """All readings of `form`; a compound has those of its last part, an unknown form none."""
        return _unpacked(self._mask(form))

    def listed(self, form: str) -> frozenset[Nominal]:
        """The readings of `form` if the whole form is listed; else none."""
        return _unpacked(self._forms.get(form, 0))

    def declines_as_adjective(self, form: str) -> bool:
        """Whether `form` can be an adjective used as a noun, as in "die Kranken"."""
        return bool(self._mask(form) & _ADJECTIVAL)

    def is_counted(self, form: str) -> bool:
        """Whether `form` belongs to a noun with a plural, so that it may follow "ein"."""
        return bool(self._mask(form) & _COUNTED)

    def is_common(self, form: str) -> bool:
        """Whether `form` is certainly a common noun: listed as one, or a compound with a long last part."""
        part = self.head(form)
        sure = part == form or len(part) >= _SHORTEST_SURE_PART
        return sure and len(part) > _SHORTEST_PART and not self._forms[part] & _NAME

    def _mask_of(self, form: str) -> int:
        part = self.head(form)
        return self._forms[part] if part else _by_suffix(form)

    def head(self, form: str) -> str:
        """The form itself if the list has it, else its longest last part that is there, or nothing."""
        if form in self._forms:
            return form
        # A hyphenated compound is what its last part is.
        last = form.rsplit("-", 1)[-1]
        last = last[:1].upper() + last[1:]
        if last in self._forms:
            return last
        first = max(2, len(last) - self._longest)
        parts = (last[start:].capitalize() for start in range(first, len(last) - _SHORTEST_PART + 1))
        return next((part for part in parts if part in self._forms), "")


def _by_suffix(form: str) -> int:
    for suffix, gender, plural in _SUFFIXES:
        if form.endswith(suffix) and len(form) > len(suffix) + 2:
            cases: tuple[Case, ...] = ("nom", "gen", "dat", "acc") if gender == "f" else ("nom", "dat", "acc")
            return sum(_BIT[Nominal(gender, "sg", case)] for case in cases)
        if gender != "f" and form.endswith(suffix + "s") and len(form) > len(suffix) + 3:
            return _BIT[Nominal(gender, "sg", "gen")]
        if plural and form.endswith(suffix + plural) and len(form) > len(suffix) + 4:
            return sum(_BIT[Nominal(gender, "pl", case)] for case in get_args(Case))
    return 0


def _load(path: Path) -> dict[str, int]:
    """Read german-nouns: form -> bits of its readings."""
    forms: dict[str, int] = {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        header = next(rows)
        columns = [(place, _column(name)) for place, name in enumerate(header) if name.split()[0] in _CASES]
        genders = [header.index(name) for name in ("genus", "genus 1", "genus 2", "genus 3", "genus 4")]
        for row in rows:
            kinds = set(row[1].split(","))
            if kinds & _NAMES:
                # Names without a paradigm must not be taken for compounds: "Italien" is no "Alien".
                forms[row[0]] = forms.get(row[0], 0) | _NAME
            if kinds & _NO_NOUN:
                continue
            marks = _ADJECTIVAL if "adjektivische Deklination" in kinds else 0
            marks |= _NAME if kinds & _NAMES else 0
            if any(row[place] for place, (_, number, _) in columns if number == "pl"):
                marks |= _COUNTED
            known = [row[place] for place in genders]
            for place, (case, number, variant) in columns:
                if form := row[place]:
                    own = [known[variant]] if variant and known[variant] else [g for g in known if g] or [""]
                    for gender in own:
                        if (reading := Nominal(gender, number, case)) in _BIT:  # type: ignore[arg-type]
                            forms[form] = forms.get(form, 0) | _BIT[reading] | marks
    return forms


def _column(name: str) -> tuple[Case, Number, int]:
    """`dativ singular 2` is the dative singular of the second gender."""
    case, number, *rest = name.replace("*", "").split()
    variant = int(rest[0]) if rest and rest[0].isdigit() else 0
    return _CASES[case], _NUMBERS[number], variant  # type: ignore[return-value]


@lru_cache(4096)
def _unpacked(mask: int) -> frozenset[Nominal]:
    return frozenset(reading for reading, bit in _BIT.items() if mask & bit)
