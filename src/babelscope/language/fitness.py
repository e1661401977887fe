"""Whether texts are in the language that a linguistic tool was made for: sets are refused, single texts counted."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version

from babelscope.language.identifying import identify_all, is_clearly_other, is_known
from babelscope.util.errors import BabelscopeError

LONG = 40
"""Letters that a text, or a set of texts together, needs before it is said to be in another language."""
_MAY_BE_WRONG = "what is made of them may be wrong"
_READ = 2_000
"""Characters of a text that are read for this."""
_BLOCK = 200
"""Texts of a stream that are decided on together."""
_BLOCK_CHARACTERS = 1_000_000
_ENOUGH_SENTENCES = 20
_LINKED = 0.1
"""Share of words below which an alignment has hardly any links; in translations most words have one."""


def identifier_version() -> str:
    """The package that decides, and its version; figures depend on it."""
    return f"py3langid {version('py3langid')}"


def other_language(text: str, expected: str) -> str | None:
    """The language of one text, if that is clearly not the expected one; None also for short texts."""
    if _letters([text]) < LONG:
        return None
    return is_clearly_other(text[:_READ], expected)


def other_language_of_set(texts: Sequence[str], expected: str) -> str | None:
    """The language of most of a set of texts, if that is clearly not the expected one."""
    if _letters(texts) < LONG:
        return None
    found = identify_all([text[:_READ] for text in texts], expected)
    return found.language if found.verdict == "no" else None


def check_language(texts: Sequence[str], expected: str, *, what: str, needed_by: str) -> None:
    """Refuse a set of texts in another language than its tool is for; warn where nobody can tell.

    `what` names the texts, `needed_by` the tool: "the references", "German rules".
    """
    if texts and not is_known(expected):
        warnings.warn(
            f"nobody checks that {what} are in the language {expected}, which {identifier_version()} does not know",
            stacklevel=2,
        )
    elif found := other_language_of_set(texts, expected):
        raise BabelscopeError(
            f"{what} are in the language {found}, but {needed_by} can judge {expected} only; "
            f"give texts in {expected}"
        )


def watch_language(
    texts: Iterable[str], expected: str, *, what: str, needed_by: str, then: str = _MAY_BE_WRONG
) -> Iterator[str]:
    """Yield the texts of a stream, refused as a set in blocks; at the end, warn of single ones in other languages.

    `then` says what becomes of those: the caller decides.
    """
    others: Counter[str] = Counter()
    n = 0
    for block in _blocks(texts):
        # The last texts of a long stream are few, and one of them may well be a quotation.
        if not n or len(block) == _BLOCK:
            check_language(
                block if is_known(expected) or not n else (), expected, what=what, needed_by=needed_by
            )
        others.update(found for text in block if (found := other_language(text, expected)))
        n += len(block)
        yield from block
    warn_of_others(others, n, expected, what=what, then=then)


def warn_of_others(
    others: Counter[str], n: int, expected: str, *, what: str, then: str = _MAY_BE_WRONG
) -> None:
    """Warn of texts among `n` that are in other languages, given how many are in each."""
    if others:
        named = ", ".join(f"{count} in {name}" for name, count in others.most_common())
        warnings.warn(
            f"{others.total()} of {n} texts among {what} are not in the language {expected} ({named}); {then}",
            stacklevel=2,
        )


def require_links(linked: Sequence[int], words: Sequence[int]) -> None:
    """Refuse word alignments with hardly any links: `linked` of each sentence's `words` have one."""
    if len(words) < _ENOUGH_SENTENCES or sum(linked) >= _LINKED * sum(words):
        return
    raise BabelscopeError(
        f"the word alignment links {sum(linked)} of {sum(words)} words: too few to say where words were translated "
        "to; are these translations of each other?"
    )


def _letters(texts: Iterable[str]) -> int:
    found = 0
    for text in texts:
        found += sum(map(str.isalpha, text[:_READ]))
        if found >= LONG:
            break
    return found


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    block: list[str] = []
    size = 0
    for text in texts:
        block.append(text)
        size += len(text)
        if len(block) == _BLOCK or size >= _BLOCK_CHARACTERS:
            yield block
            block, size = [], 0
    if block:
        yield block
