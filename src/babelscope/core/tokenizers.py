"""Tokenizers: how a text is split into words, which one a language has, and what one cannot split.

Chinese, Japanese, Thai, Lao, Khmer, Burmese and Tibetan are written without spaces between words. A tokenizer
that splits at spaces would take a whole clause of these for one word, so it refuses such texts.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from babelscope.core.registry import Registry, did_you_mean, resolve
from babelscope.util.errors import BabelscopeError

SCRIPTS: Mapping[str, str] = {
    "Han": "\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3038-\u303b\u3105-\u312f\u31a0-\u31bf\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003fffd",
    "Kana": "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001aff0-\U0001b16f",
    "Thai": "\u0e01-\u0e3a\u0e40-\u0e4e",
    "Lao": "\u0e81-\u0ece\u0edc-\u0edf",
    "Tibetan": "\u0f00\u0f40-\u0fbc",
    "Myanmar": "\u1000-\u103f\u1050-\u108f\u109a-\u109d\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f",
    "Khmer": "\u1780-\u17d3\u17d7\u17dc\u17dd",
}
"""Scripts without spaces between words -> their letters and vowel signs, as part of a character class."""
EVERY_SCRIPT = frozenset(SCRIPTS)

DEFAULT = "13a"
"""sacreBLEU's default, for all languages that are not in `BY_LANGUAGE`."""
BY_LANGUAGE: Mapping[str, str] = {
    **dict.fromkeys(("zh", "zho", "chi", "cmn", "yue", "wuu", "lzh", "hak", "nan"), "zh"),
    **dict.fromkeys(("ja", "jpn"), "ja-mecab"),
    **dict.fromkeys(("ko", "kor"), "ko-mecab"),
    **dict.fromkeys(
        ("th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bur", "bo", "bod", "tib", "dz"), "char"
    ),
}
"""Language -> its tokenizer, as sacreBLEU chooses it; `char` where sacreBLEU would not split words at all."""

# Above this share of its letters, a text that is not split is no longer one that only quotes a foreign name.
_SHARE = 0.2
# Words of segmented text have fewer letters than this on average, in all these scripts; clauses have more.
_LONGEST_MEAN_WORD = 8


@dataclass(frozen=True)
class Tokenizer:
    """How texts are split into words."""

    name: str
    split: Callable[[str], list[str]] = field(compare=False, repr=False)
    scripts: frozenset[str] = frozenset()
    """Those of `SCRIPTS` that it splits into words or characters, though they have no spaces."""
    identity: str = ""
    """What goes into a signature, if not the name: versions of dictionaries, the digest of a model."""
    unsplit: Callable[[str], str] = field(default=lambda text: text, compare=False, repr=False)
    """A text -> what of it would stay one word if it had no spaces; for one that knows some characters only."""

    @property
    def signed(self) -> str:
        """What goes into a signature."""
        return self.identity or self.name

    def spaced(self, text: str) -> str:
        """The text with spaces between its words."""
        return " ".join(self.split(text))


_SACRE = "babelscope.metrics.tokenizers"
TOKENIZERS: Registry[Tokenizer] = Registry(
    "tokenizer",
    "babelscope.core.tokenizers:Tokenizer",
    "babelscope.tokenizers",
    {
        "13a": f"{_SACRE}:MTEVAL_13A",
        "intl": f"{_SACRE}:INTERNATIONAL",
        "zh": f"{_SACRE}:CHINESE",
        "ja-mecab": f"{_SACRE}:JAPANESE",
        "ko-mecab": f"{_SACRE}:KOREAN",
        "char": f"{_SACRE}:CHARACTERS",
        "whitespace": Tokenizer("whitespace", str.split),
    },
)
_MODELS = {"spm": f"{_SACRE}:open_sentencepiece"}


def find_tokenizer(name: str) -> Tokenizer:
    """A tokenizer by its name: one that is registered, or `spm:FILE`, a sentencepiece model."""
    scheme, colon, rest = name.partition(":")
    if colon and scheme in _MODELS:
        found: Tokenizer = resolve(_MODELS[scheme])(rest)
        return found
    return _registered(name)


@functools.cache  # since reading the entry points takes longer than splitting a sentence
def _registered(name: str) -> Tokenizer:
    known = [*TOKENIZERS.names(), "spm:FILE"]
    if name not in known[:-1]:
        hint = did_you_mean(name, known, f"known: {', '.join(known)}")
        raise BabelscopeError(f"there is no tokenizer {name!r}; {hint}")
    return TOKENIZERS.find(name)


def language_tokenizer(language: str | None) -> str:
    """The name of the tokenizer of a language (`zh`, `zh-TW`, `zho_Hans`); empty for one that has none of its own."""
    return BY_LANGUAGE.get(re.split(r"[-_]", language or "")[0].lower(), "")


def chosen_tokenizer(named: str, language: str | None) -> Tokenizer | None:
    """The tokenizer that is named, else the language's own; None for a measure's own default."""
    name = named or language_tokenizer(language)
    return find_tokenizer(name) if name else None


def unsplit_script(tokenizer: Tokenizer, texts: Sequence[str]) -> str:
    """The script that the tokenizer leaves unsplit in these texts, seen as a whole; empty if there is none.

    Letters count where they are more than a fifth of all, and no spaces between them show that words were split
    already. The texts decide, not what language somebody says they are in.
    """
    pattern = _pattern(tokenizer.scripts)
    if pattern is None:
        return ""
    found = dict.fromkeys(SCRIPTS, 0)
    gaps = 0
    for text in texts:
        if _ANY_SCRIPT.search(text):
            for match in pattern.finditer(tokenizer.unsplit(text)):
                found[str(match.lastgroup)] += len(match[0])
                gaps += _follows_space(match)
    unsplit = sum(found.values())
    if unsplit <= _LONGEST_MEAN_WORD * gaps:
        return ""
    # Vowel signs are no letters to Python, but they are in `SCRIPTS`.
    written = sum(character.isalpha() for text in texts for character in _ANY_SCRIPT.sub("", text))
    written += sum(len(match[0]) for text in texts for match in _ANY_SCRIPT.finditer(text))
    return max(found, key=found.__getitem__) if unsplit > _SHARE * written else ""


def require_split(tokenizer: Tokenizer, texts: Sequence[str], *, what: str, todo: str) -> None:
    """Refuse texts of a script that the tokenizer cannot split; `todo` says what to do instead."""
    if script := unsplit_script(tokenizer, texts):
        raise BabelscopeError(
            f"{what} are in a script without spaces between words ({script}), which {tokenizer.name} cannot "
            f"split; {todo}"
        )


AT_SPACES = Tokenizer("a split at spaces and marks", str.split)
"""Name of the tokenizer of metrics that split words themselves."""


def require_spaces(texts: Sequence[str], *, what: str, todo: str = "set words apart by spaces first") -> None:
    """Refuse texts without spaces between words, for what splits words at spaces and in no other way."""
    require_split(AT_SPACES, texts, what=what, todo=todo)


def is_unspaced(text: str) -> bool:
    """Whether a text has letters of a script without spaces between words."""
    return _ANY_SCRIPT.search(text) is not None


@functools.cache
def _pattern(split: frozenset[str]) -> re.Pattern[str] | None:
    """Runs of letters of the scripts that are not in `split`, a named group each; None if there is none."""
    left = [f"(?P<{name}>[{letters}]+)" for name, letters in SCRIPTS.items() if name not in split]
    return re.compile("|".join(left)) if left else None


_ANY_SCRIPT = re.compile(f"[{''.join(SCRIPTS.values())}]+")
_ENDS_BEFORE_SPACE = re.compile(rf"[{''.join(SCRIPTS.values())}]\s+\Z")


def _follows_space(match: re.Match[str]) -> bool:
    """Whether a run of letters stands after a space, and that after another letter of such a script."""
    before = match.string[max(0, match.start() - 4) : match.start()]
    return _ENDS_BEFORE_SPACE.search(before) is not None
