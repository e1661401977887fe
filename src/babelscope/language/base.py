"""What a language brings: how its texts are analysed, its error types, its rules of gender, its lemmas."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Generic, Literal, Protocol, TypeVar

from babelscope.util.errors import BabelscopeError
from babelscope.util.extras import install_hint

LONGEST = 10_000
"""Characters of a reference: what is longer is no sentence, and its variants, all as long, would fill the memory."""

Spans = list[tuple[int, int]]
"""Start and end of each word and mark of a text."""

Gender = Literal["male", "female", "neutral", "unknown"]
GENDERS: tuple[Gender, ...] = ("male", "female", "neutral", "unknown")

GenderRules = Literal["published", "sound"]
"""published: with WinoMT's conventions, so that figures can be compared. sound: what is not found is unknown
rather than male, and the occupation and the articles are counted in the same words."""

_A = TypeVar("_A", covariant=True)


@dataclass(frozen=True, slots=True)
class Token:
    """A word or mark of the text: `text[start:end]`, its tag (German: STTS) and its lemma."""

    text: str
    start: int
    end: int
    tag: str
    lemma: str


@dataclass(frozen=True, slots=True)
class Analysed(Generic[_A]):
    """A text with its tokens, and the analyser to ask further."""

    text: str
    tokens: tuple[Token, ...]
    analyser: _A

    def replaced(self, *changes: tuple[Token, str]) -> str:
        """The text with some tokens written differently; an empty one goes with the space before it."""
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


class Analyser(Protocol):
    """Analyses texts of one language."""

    def analyse(self, text: str) -> Analysed[Any]:
        """The text with its tokens."""


class Morphology(Protocol):
    """Tells gender in one language."""

    def gender(self, found: Sequence[int], words: Sequence[str], occupation: str) -> Gender:
        """Of the occupation whose translation is at the positions `found` of the translation's words."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A wrong version of a reference, and what was changed in it."""

    text: str
    word: str
    """The word of the reference that was changed or deleted."""
    changed: str
    """What stands there instead; empty where it was deleted."""
    start: int
    """Where the word begins in the reference."""


Detector = Callable[[str, Analysed[Any]], bool]
"""Whether a free translation of a source seems to have an error."""


def _word_and_lemma(sentence: Analysed[Any], place: int, word: str) -> frozenset[str]:
    return frozenset({word, sentence.tokens[place].lemma.lower()})


def _any_token(_token: Token) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Overlap:
    """How another translation is seen to have the phenomenon of a human reference (minimal-pairs, 3.3)."""

    marks: Callable[[Analysed[Any], int, str], frozenset[str]] = _word_and_lemma
    """Words by which the phenomenon is known, given a token's place and the changed word there, made plain."""
    plain: Callable[[str], str] = str.lower
    """A changed word as it is compared."""
    can_be_wrong: Callable[[Token], bool] = _any_token
    """Whether a token that looks like the error can have it."""
    n_compared: int | None = None
    """How many of a variant's changed words must be found; all by default."""
    is_lost: Callable[[Analysed[Any], Analysed[Any], int], bool] | None = None
    """Whether a translation seems to lack, too, what a variant deletes from the reference at a token's place."""
    by_count: bool = False
    """Whether a translation with as many variants as the reference is right, whatever its words."""
    wrong_places: Callable[[str, Analysed[Any]], list[int] | None] | None = None
    """Where a translation of a source has the error, None if it has not; for types that need no reference."""


@dataclass(frozen=True, slots=True)
class ErrorType:
    """A kind of error: how to make it, and how to see it."""

    name: str
    language: str
    """The code of the language it is made in."""
    definition: str
    """What is wrong, in a full sentence: for annotators and documents."""
    make: Callable[..., list[Variant]] = field(repr=False)
    """All variants of an analysed reference; takes `mode` if there are several."""
    detect: Detector | None = field(default=None, repr=False)
    looks_for: Callable[[str], object] | None = field(default=None, repr=False)
    """What the detector looks for in the source before it looks at the translation; None: only at the latter."""
    modes: tuple[str, ...] = ()
    """Ways to make the variants, the first one by default; empty where there is only one."""
    plausible: bool = True
    """Whether systems are believed to make it; the implausible ones are controls."""
    overlap: Overlap = field(default=Overlap(), repr=False)
    """How machine references of this type are validated; by the changed word if nothing else is said."""
    version: int = 1
    """Raised when its variants or detections change."""
    label: str = ""
    """A few plain words for a reader who has not read the papers; the name if empty."""

    def variants(self, sentence: Analysed[Any], mode: str | None = None) -> list[Variant]:
        """The wrong versions of a reference; none of a text that is too long to be a sentence."""
        if len(sentence.text) > LONGEST:
            return []
        return self.make(sentence, mode=mode) if mode else self.make(sentence)


def words_and_marks(text: str) -> Spans:
    """Words, and every other character that is no space by itself."""
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


@dataclass(frozen=True, slots=True)
class Language:
    """A language: what can be known of its texts, each part opened when it is used."""

    code: str
    """As in ISO 639: `de`."""
    english: str
    """Its English name."""
    packages: tuple[str, ...] = ()
    """Distributions whose versions decide what its analysis says; a plug-in names itself."""
    extra: str = ""
    """The extra of Babelscope that has them; for a plug-in's language, see `install`."""
    install: str = ""
    """What pip installs them with, where they belong to a plug-in: its own distribution."""
    opener: Callable[[], Analyser] | None = field(default=None, repr=False)
    """Loads the analyser, once."""
    tokenise: Callable[[str], Spans] = field(default=words_and_marks, repr=False)
    morphology: Callable[[GenderRules], Morphology] | None = field(default=None, repr=False)
    lemmatiser: Callable[[], Callable[[list[str]], list[str]]] | None = field(default=None, repr=False)
    """Loads what gives the lemmas of a text's words."""

    def analyser(self) -> Analyser:
        """What analyses texts for the error types of the language."""
        if self.opener is None:
            raise BabelscopeError(f"there is no analyser of {self.english} texts")
        return self.opener()

    def analysis_version(self) -> str:
        """The packages that the analysis is made with, or nothing if one is not installed."""
        try:
            return ", ".join(f"{package} {version(package)}" for package in self.packages)
        except PackageNotFoundError:
            return ""

    def missing(self, what: str = "") -> BabelscopeError:
        """What to say where a package is not installed; all of them if not said which."""
        needed = what or " and ".join(self.packages)
        how = install_hint(self.extra) if self.extra else f"pip install '{self.install}'"
        return BabelscopeError(f"{self.english} analysis needs {needed}: {how}")


def replace_word(sentence: Analysed[Any], token: Token, new: str) -> Variant:
    """The reference with one word written differently, capitalised as before; an empty one deletes it."""
    if new and token.text[0].isupper():
        new = new[0].upper() + new[1:]
    return Variant(sentence.replaced((token, new)), token.text, new, token.start)
