"""What a language offers: analysis of its texts, error types, rules of gender, lemmas."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Generic, Literal, Protocol, TypeVar

from babelscope.util.errors import BabelscopeError, install_hint

LONGEST = 10_000
"""Characters of a reference. A longer text is no sentence, and its variants, each as long, would fill the memory."""

Spans = list[tuple[int, int]]
"""Character offsets (start, end) of the words and punctuation marks of a text."""

Gender = Literal["male", "female", "neutral", "unknown"]
GENDERS: tuple[Gender, ...] = ("male", "female", "neutral", "unknown")

GenderRules = Literal["published", "sound"]
"""published: WinoMT's conventions, for comparable figures. sound: an occupation that is not found is unknown, not
male, and positions of occupations and articles are counted in the same words."""

_A = TypeVar("_A", covariant=True)


@dataclass(frozen=True, slots=True)
class Token:
    """A word or punctuation mark, `text[start:end]`, with its tag (German: STTS) and lemma."""

    text: str
    start: int
    end: int
    tag: str
    lemma: str


@dataclass(frozen=True, slots=True)
class Analyzed(Generic[_A]):
    """A text with its tokens, and the analyzer that made them."""

    text: str
    tokens: tuple[Token, ...]
    analyzer: _A

    def replaced(self, *changes: tuple[Token, str]) -> str:
        """The text with some tokens replaced; replacing one by "" also removes the space before it."""
        text = self.text
        for token, new in sorted(changes, key=lambda change: -change[0].start):
            before, after = text[: token.start], text[token.end :]
            if not new:
                if before.endswith(" "):
                    before = before[:-1]
                elif after.startswith(" "):
                    after = after[1:]
            text = before + new + after
        return text


class Analyzer(Protocol):
    """Analyses texts of one language."""

    def analyze(self, text: str) -> Analyzed[Any]:
        """The text with its tokens."""


class Morphology(Protocol):
    """Determines the gender of occupations in one language."""

    def gender(self, found: Sequence[int], words: Sequence[str], occupation: str) -> Gender:
        """Gender of the occupation whose translation is at the positions `found` of the translation's `words`."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A reference with one error in it, and what was changed."""

    text: str
    word: str
    """The word of the reference that was changed or deleted."""
    changed: str
    """The new word; empty if the old one was deleted."""
    start: int
    """Character offset of the word in the reference."""


Detector = Callable[[str, Analyzed[Any]], bool]
"""(source, analyzed translation) -> whether the translation seems to have the error."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """How to see that another translation has the phenomenon of a human reference (minimal-pairs, section 3.3)."""

    marks: Callable[[Analyzed[Any], int, str], frozenset[str]] = lambda sentence, place, word: frozenset(
        {word, sentence.tokens[place].lemma.lower()}
    )
    """(sentence, index of a token, its changed word after `plain`) -> keys; shared keys mean the same phenomenon."""
    plain: Callable[[str], str] = str.lower
    """Normalizes a changed word before it is compared."""
    can_be_wrong: Callable[[Token], bool] = lambda _: True
    """Whether a token that looks like the error can be one."""
    n_compared: int | None = None
    """How many of a variant's changed words must be found; None for all."""
    is_lost: Callable[[Analyzed[Any], Analyzed[Any], int], bool] | None = None
    """(translation, reference, index of the deleted token) -> whether the translation seems to lack it too."""
    by_count: bool = False
    """Whether a translation counts as right if it has at least as many variants as the reference."""
    wrong_places: Callable[[str, Analyzed[Any]], list[int] | None] | None = None
    """(source, translation) -> indices of wrong tokens, None without any; for types that need no reference."""


@dataclass(frozen=True, slots=True)
class ErrorType:
    """A kind of error: how to make variants with it, and how to detect it."""

    name: str
    language: str
    """The code of the language it is made in."""
    definition: str
    """What is wrong, in a full sentence: for annotators and documents."""
    make: Callable[..., list[Variant]] = field(repr=False)
    """Makes all variants of an analyzed reference; takes `mode` if it has modes, `source` if it reads the source."""
    detect: Detector | None = field(default=None, repr=False)
    looks_for: Callable[[str], object] | None = field(default=None, repr=False)
    """What the detector needs to find in the source; None if it looks at the translation alone."""
    modes: tuple[str, ...] = ()
    """Names of ways to make the variants, the first is the default; empty if there is only one way."""
    reads_source: bool = False
    """Whether its variants depend on the source, so that a variant is wrong with respect to it."""
    plausible: bool = True
    """Whether systems make this error; implausible types serve as controls."""
    overlap: Overlap = field(default=Overlap(), repr=False)
    """How machine references of this type are validated; by default by the changed word."""
    version: int = 1
    """Raised when its variants or detections change."""
    label: str = ""
    """A few plain words for a reader who has not read the papers; the name if empty."""

    def variants(
        self, sentence: Analyzed[Any], mode: str | None = None, *, source: str = ""
    ) -> list[Variant]:
        """All variants of a reference; none if it has more than `LONGEST` characters."""
        if len(sentence.text) > LONGEST:
            return []
        options = ({"mode": mode} if mode else {}) | ({"source": source} if self.reads_source else {})
        return self.make(sentence, **options)


def words_and_marks(text: str) -> Spans:
    """Offsets of words, and of every other character that is not a space."""
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


@dataclass(frozen=True, slots=True)
class Language:
    """A language with its tools, each loaded when it is used."""

    code: str
    """As in ISO 639: `de`."""
    english: str
    """Its English name."""
    packages: tuple[str, ...] = ()
    """Distributions whose versions its analysis depends on; a plug-in names its own."""
    extra: str = ""
    """The extra of Babelscope that has them; for a plug-in's language, see `install`."""
    install: str = ""
    """What pip installs them with, where they belong to a plug-in: its own distribution."""
    opener: Callable[[], Analyzer] | None = field(default=None, repr=False)
    """Loads the analyzer; called once."""
    tokenize: Callable[[str], Spans] = field(default=words_and_marks, repr=False)
    morphology: Callable[[GenderRules], Morphology] | None = field(default=None, repr=False)
    lemmatizer: Callable[[], Callable[[list[str]], list[str]]] | None = field(default=None, repr=False)
    """Loads a function from words to lemmas."""

    def analyzer(self) -> Analyzer:
        """The analyzer that the error types of the language use."""
        if self.opener is None:
            raise BabelscopeError(f"there is no analyzer of {self.english} texts")
        return self.opener()

    def analysis_version(self) -> str:
        """Names and versions of its packages; empty if one is not installed."""
        try:
            return ", ".join(f"{package} {version(package)}" for package in self.packages)
        except PackageNotFoundError:
            return ""

    def missing(self, what: str = "") -> BabelscopeError:
        """The error for a package that is not installed: the one named, or all."""
        needed = what or " and ".join(self.packages)
        how = install_hint(self.extra) if self.extra else f"pip install '{self.install}'"
        return BabelscopeError(f"{self.english} analysis needs {needed}: {how}")


def replace_word(sentence: Analyzed[Any], token: Token, new: str) -> Variant:
    """A variant of a reference with one word replaced, capitalized like the old one; "" deletes the word."""
    if new and token.text[0].isupper():
        new = new[0].upper() + new[1:]
    return Variant(sentence.replaced((token, new)), token.text, new, token.start)
