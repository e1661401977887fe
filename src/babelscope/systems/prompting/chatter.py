"""Chatter: what a model writes around a translation, recognized by stated rules (docs/howto/prompts.md)."""

from __future__ import annotations

import dataclasses
import functools
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from babelscope.core.registry import Options
from babelscope.core.system import (
    Asked,
    Fingerprint,
    ItemChoice,
    Note,
    Scored,
    StoredAnswers,
    TopK,
    as_question,
    capabilities,
)
from babelscope.language.fitness import identifier_version, other_language
from babelscope.systems.contract import ASK, Wrapper
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError

Clean = Literal["yes", "count", "no"]
_VERSION = 1
"""Raised when a rule changes, so that no stored answer keeps the notes of another one."""
_TABLES = Path(__file__).with_name("chatter.toml")
_COLONS = ":："
_BRACKETS = {"(": ")", "[": "]", "（": "）"}
_LONGEST = 20_000
"""Characters of an answer beyond which no rule looks at it: no translation of a sentence is that long."""
_PREAMBLE = 120
"""Characters of the longest preamble on a line."""
_REFUSAL = 600
_LETTERS = 12
"""With fewer letters an answer may be a name, whose script says nothing."""
_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Chatter:
    """How the answers of a system are looked at: notes are added to them and, with `yes`, the chatter is cut off."""

    clean: Clean = "no"
    target: str = ""
    """The language of translations, by its English name or its code; without it, an item's own if it has one."""

    @classmethod
    def of(cls, options: Options, default: Clean, target: str = "") -> Chatter:
        """As the option `clean` says."""
        known: tuple[Clean, ...] = ("yes", "count", "no")
        chosen = options.choice("clean", known, default)
        return cls(next(each for each in known if each == chosen), target)

    @property
    def settings(self) -> dict[str, str]:
        """What a fingerprint holds of it: texts depend on it, or their notes."""
        return (
            {}
            if self.clean == "no"
            else {"clean": self.clean, "chatter": f"{_digest()}, {identifier_version()}"}
        )

    def read(self, asked: Asked, text: str) -> tuple[str, tuple[Note, ...]]:
        """An answer's text, without chatter if that is asked for, and the notes on it."""
        if self.clean == "no" or not text.strip() or len(text) > _LONGEST:
            return text, ()
        question = as_question(asked)
        bare, notes = _read(question.source, text, self.target or question.target_language)
        if self.clean == "yes" and bare != text.strip():
            return bare, (*notes, "cleaned")
        return text, notes

    def clean_output(self, questions: Sequence[Asked], answers: Sequence[Any]) -> list[Any]:
        """Lists of answers, or the results of exact searches, with their chatter noted or cut off."""
        return [self._cleaned(asked, found) for asked, found in zip(questions, answers, strict=True)]

    def _cleaned(self, asked: Asked, found: Any) -> Any:
        if isinstance(found, TopK):
            return dataclasses.replace(found, found=tuple(self._cleaned(asked, found.found)))
        return [self._noted(asked, each) for each in found]

    def _noted(self, asked: Asked, answer: Scored) -> Scored:
        text, notes = self.read(asked, answer.text)
        if not notes:
            return answer
        return dataclasses.replace(answer, text=text, notes=tuple(sorted({*answer.notes, *notes})))


@functools.lru_cache(maxsize=20_000)  # samples repeat each other
def _read(source: str, answer: str, target: str) -> tuple[str, tuple[Note, ...]]:
    """An answer without its chatter, and the notes on it."""
    notes: dict[Note, None] = {}
    text = answer.strip()
    if _refuses(text) and not _refuses(source):
        return text, ("refused",)
    rules: tuple[tuple[Note, Any], ...] = (
        ("preamble", functools.partial(_after_preamble, target=target)),
        ("explained", _before_note),
        ("repeated", _without_source),
        ("quoted", _inside_quotes),
    )
    for _ in range(_ROUNDS):
        before = text
        for note, strip in rules:
            bare = strip(text, source).strip()
            if bare and bare != text:  # a rule that leaves nothing has not found a translation
                text = bare
                notes[note] = None
        if text == before:
            break
    if _is_wrong_language(text, target):
        notes["wrong_language"] = None
    return text, tuple(notes)


def _after_preamble(text: str, source: str, *, target: str) -> str:
    """Cut off reasoning in tags, and a beginning that speaks of the translation or names the language.

    The beginning ends in a colon, of which the source has fewer, or is a line of its own; a source that speaks of
    translations is left alone.
    """
    if (found := _thoughts().match(text)) and not _thoughts().match(source):
        return text[found.end() :]
    head, mark, rest = _split_at_colon(text)
    line, newline, below = text.partition("\n")
    if not (mark or newline) or _words("translation").search(source):
        return text
    labels = {target.casefold(), _language(target)[0]} - {""}
    speaks = _words("translation").search(head) or head.strip(" *_#").casefold() in labels
    if mark and speaks and _count(text, _COLONS) > _count(source, _COLONS):
        return rest.lstrip(" *_")
    if newline and "\n" not in source and len(line) <= _PREAMBLE and _words("translation").search(line):
        return below
    return text


def _before_note(text: str, source: str) -> str:
    """Cut off a note or an explanation that a word of the table begins, after a line, a sentence or in brackets."""
    if not _count(text, _COLONS) and text[-1] not in _BRACKETS.values():
        return text
    word = _words("note").pattern
    if re.search(rf"(?:{word})[^:：\n]{{0,30}}[:：]", source, re.IGNORECASE):
        return text
    # Repetitions are bounded everywhere, so that no answer takes more than linear time.
    marks = r"\n[ \t]{0,9}[(\[（*_#>\-]{0,4}[ \t]{0,9}"
    lines = re.search(rf"{marks}(?:{word})[^:：\n]{{0,30}}[:：]", text, re.IGNORECASE)
    if lines:
        return text[: lines.start()]
    for opening, closing in _BRACKETS.items():
        if opening in source or not text.endswith(closing):
            continue
        start = text.rfind(opening)
        if start > 0 and re.match(rf"\s{{0,9}}(?:{word})\W", text[start + 1 :], re.IGNORECASE):
            return text[:start]
    if _count(text, _COLONS) > _count(source, _COLONS):
        after = re.search(
            rf"(?<=[.!?。！？…\"'”“»」*])\s{{1,9}}(?:{word})\s{{0,3}}[:：]", text, re.IGNORECASE
        )
        if after:
            return text[: after.start()]
    return text


def _without_source(text: str, source: str) -> str:
    """Cut off the source where it stands as a line, before a dash, an arrow or a colon, or in brackets at the end."""
    wanted = _folded(source)
    if len(wanted.split()) < 2 and len(wanted) < _LETTERS:
        return text
    if "\n" in text and "\n" not in source:
        lines = text.split("\n")
        kept = [
            line for line in lines if _folded(line) != wanted and _folded(_split_at_colon(line)[2]) != wanted
        ]
        if kept and len(kept) < len(lines):
            return "\n".join(kept)
    for opening, closing in _BRACKETS.items():
        start = text.rfind(opening)
        if start > 0 and text.endswith(closing) and _folded(text[start + 1 : -1]) == wanted:
            return text[:start]
    head = text[: 2 * len(source) + 40]
    for found in re.finditer(r"\s{1,9}(?:->|→|=>|⇒|=|—|–|-|\|)\s|[:：]\s", head):
        if _folded(text[: found.start()]) == wanted:
            return text[found.end() :]
    return text


def _inside_quotes(text: str, source: str) -> str:
    """Cut off marks that enclose the whole answer, unless the source begins or ends with any such mark."""
    for opening, closing in _quotes():
        inside = text[len(opening) : -len(closing)]
        if (
            len(text) > len(opening) + len(closing)
            and text.startswith(opening)
            and text.endswith(closing)
            and opening not in inside
            and closing not in inside
        ):
            marks = tuple({mark for pair in _quotes() for mark in pair})
            own = source.strip()
            return text if own.startswith(marks) or own.endswith(marks) else inside
    return text


def _refuses(text: str) -> bool:
    """Whether a text begins as refusals do, and speaks of translating, of helping or of being a model."""
    begins, about = (_words("refusal", part) for part in ("begins", "about"))
    return len(text) <= _REFUSAL and bool(begins.match(text.lstrip("\"'“„«*> "))) and bool(about.search(text))


def _is_wrong_language(text: str, target: str) -> bool:
    """Whether most letters are of scripts that the language is not written in, or py3langid is clear about it."""
    code, *scripts = _language(target)
    letters = [each for each in text if each.isalpha()]
    if scripts and len(letters) >= _LETTERS:
        found = Counter(_script(each) for each in letters)
        if sum(found[script] for script in scripts) * 2 < len(letters):
            return True
    return bool(code) and other_language(text, code) is not None


@functools.cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(_TABLES.read_text("utf-8"))


@functools.cache
def _digest() -> str:
    return digest_json([_VERSION, _tables()])[:16]


@functools.cache
def _quotes() -> list[tuple[str, str]]:
    """Longer marks first: three backticks are not one and two."""
    return sorted(((a, b) for a, b in _tables()["quotes"]), key=lambda pair: -len(pair[0]))


@functools.cache
def _thoughts() -> re.Pattern[str]:
    names = "|".join(_tables()["thoughts"])
    return re.compile(rf"\s*<({names})>.*?</\1>", re.IGNORECASE | re.DOTALL)


@functools.cache
def _words(*path: str) -> re.Pattern[str]:
    """The words of a table, in all its languages."""
    table: Any = _tables()
    for name in path:
        table = table[name]
    every = {word for words in table.values() for word in words}
    return re.compile("|".join(_word(each) for each in sorted(every)), re.IGNORECASE)


def _word(word: str) -> str:
    """A whole word, or the beginning of one (`*`); where words are not set apart by spaces, any place."""
    if _script(word[0]) in ("CJK", "HIRAGANA", "KATAKANA", "HANGUL"):
        return re.escape(word)
    if word.endswith("*"):
        return rf"\b{re.escape(word[:-1])}\w*"
    return rf"\b{re.escape(word)}\b"


@functools.cache
def _language(target: str) -> tuple[str, ...]:
    """Code and scripts of a language, by its English name or its code; an empty code if it is not in the table."""
    wanted = target.strip().casefold()
    code = wanted.replace("_", "-").partition("-")[0]
    for name, (own, *scripts) in _tables()["languages"].items():
        if wanted == name.casefold() or code == own:
            return (own, *scripts)
    return ("",)


@functools.lru_cache(maxsize=10_000)
def _script(letter: str) -> str:
    """The script of a letter: the first word of its Unicode name."""
    return unicodedata.name(letter, "").partition(" ")[0]


def _split_at_colon(text: str) -> tuple[str, str, str]:
    """A first line up to its first colon that white space follows, the colon, and the rest; or all, and nothing."""
    found = re.match(rf"([^\n{_COLONS}]{{1,{_PREAMBLE}}})([{_COLONS}])(?=[\s*_\"'“„«「]|(?<=：))", text)
    return (found[1], found[2], text[found.end() :]) if found else (text, "", "")


def _folded(text: str) -> str:
    """A text for comparing: case, white space and enclosing marks left out."""
    return " ".join(text.casefold().split()).strip("\"'`*“”„‘’‚«»‹›「」『』")


def _count(text: str, marks: Iterable[str]) -> int:
    return sum(text.count(mark) for mark in marks)


def with_clean_output(system: Any, chatter: Chatter) -> Any:
    """`system` with the chatter in its answers noted or cut off; itself with `clean=no`."""
    if chatter.clean == "no":
        return system
    if "translate" not in capabilities(system):
        raise BabelscopeError(
            f"{system.name} does not translate, so that clean={chatter.clean} has no effect"
        )
    kind = CleanStoredOutput if isinstance(system, StoredAnswers) else CleanOutput
    return kind(system, chatter)


class CleanOutput(Wrapper):
    """A system with the chatter in its answers noted or cut off."""

    def __init__(self, inner: Any, chatter: Chatter) -> None:
        super().__init__(inner)
        self._chatter = chatter

    @property
    def fingerprint(self) -> Fingerprint:
        inner: Fingerprint = self.inner.fingerprint
        return dataclasses.replace(inner, settings={**inner.settings, **self._chatter.settings})

    def _ask(self, method: str, asked: Sequence[Any], how: Mapping[str, Any]) -> list[Any]:
        answers = ASK[method](self.inner, asked, **how)
        return answers if method == "score" else self._chatter.clean_output(asked, answers)


class CleanStoredOutput(CleanOutput):
    """The same for stored answers, which are aligned to a test set."""

    @property
    def by_line(self) -> bool:
        return bool(self.inner.by_line)

    def align_to(self, what: str, items: Sequence[ItemChoice]) -> CleanStoredOutput:
        return CleanStoredOutput(self.inner.align_to(what, items), self._chatter)
