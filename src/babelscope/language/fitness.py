"""Whether texts are what a linguistic tool was made for: by their language, and by what a parser makes of them."""

from __future__ import annotations

import functools
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Literal

from babelscope.language.ud import Tree
from babelscope.util.errors import BabelscopeError

Verdict = Literal["yes", "no", "unknown"]

CLEAR = 10.0
"""By how many nats another language must be likelier than the one that is expected. py3langid's features are not
independent, so that its log-likelihoods differ by tens of nats even for a short sentence in the language it names."""
_LETTERS = 12
"""With fewer letters a text says nothing about its language: names, numbers, "Ja."."""
_SAMPLE = 200
"""So many texts of a set are read, spread evenly over it."""
# Varieties that py3langid tells apart and that users may name by either code; and old or long codes.
_GROUPS = (
    {"hr", "bs", "sr", "sh", "cnr"},
    {"no", "nb", "nn"},
    {"id", "ms"},
    {"zh", "wuu", "yue", "cmn"},
    {"ar", "ary", "arz"},
    {"tl", "fil"},
    {"uz", "uzs"},
    {"he", "iw", "hbo"},
    {"el", "grc"},
    {"fa", "prs"},
)


@dataclass(frozen=True, slots=True)
class Identified:
    """Whether texts are in the language that is expected, and the one that fits them best."""

    verdict: Verdict
    language: str | None
    """py3langid's code of the likeliest language; None where the texts say nothing."""


def is_known(language: str) -> bool:
    """Whether py3langid knows the language, so that it can tell that a text is not in it."""
    return not _codes(language).isdisjoint(_scores("any text"))


def identify(text: str, expected: str) -> Identified:
    """Whether one text is in the expected language; unknown where it is short or the language is not known."""
    import py3langid

    if sum(map(str.isalpha, text)) < _LETTERS:
        return Identified("unknown", None)
    best = str(py3langid.classify(text)[0])  # several times faster than all likelihoods
    if best in _codes(expected):
        return Identified("yes", best)
    return _compare(_scores(text), expected)


def identify_all(texts: Sequence[str], expected: str) -> Identified:
    """The same of a set of texts, from the sum of the log-likelihoods of a sample of them."""
    step = max(1, len(texts) // _SAMPLE)
    chosen = [text for text in texts[::step][:_SAMPLE] if any(map(str.isalpha, text))]
    if sum(map(str.isalpha, "".join(chosen))) < _LETTERS:
        return Identified("unknown", None)
    totals: dict[str, float] = {}
    for text in chosen:
        for language, score in _scores(text).items():
            totals[language] = totals.get(language, 0.0) + score
    return _compare(totals, expected)


def _compare(scores: Mapping[str, float], expected: str) -> Identified:
    best = max(scores, key=lambda language: scores[language])
    codes = _codes(expected)
    own = max((scores[code] for code in codes if code in scores), default=None)
    if own is None:
        return Identified("unknown", best)
    if best in codes:
        return Identified("yes", best)
    return Identified("no" if scores[best] - own > CLEAR else "unknown", best)


@functools.cache
def _codes(language: str) -> frozenset[str]:
    """The code without region or script, and those of the same group."""
    code = language.replace("_", "-").partition("-")[0].lower()
    return frozenset({code}.union(*(group for group in _GROUPS if code in group)))


@functools.lru_cache(maxsize=2_000)  # about 10 kB each
def _scores(text: str) -> Mapping[str, float]:
    """The log-likelihood of a text under each language, in nats, up to a constant."""
    import py3langid

    return {str(language): float(score) for language, score in py3langid.rank(text)}


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

_UNKNOWN_WARNED, _UNKNOWN_REFUSED = 0.25, 0.5
"""Shares of unknown words. A model of 12,500 English sentences does not know 11 % of the words of other news and
Wikipedia, one of 1,500 does not know 23 %."""
_ENOUGH_WORDS = 500
_WATCHED_WORDS = 5_000
_WATCHED_TREES = 500
_ENOUGH_RARE = 700
_RARE_FUNCTION = 0.1
"""Share of function words among words that occur once: in gold trees of ten languages 0.09 at most where there are
700 such words or more, and falling with more; 0.11 to 0.21 where a parser was given text it was not made for."""
_FUNCTION = frozenset(("ADP", "AUX", "CCONJ", "DET", "PART", "PRON", "SCONJ"))
_HIGHEST_SHARES = {
    "particle": 0.126,  # German
    "reflexive": 0.370,  # Czech
    "preposition_stranding": 0.022,  # English
    "extraposed_relative": 0.066,  # German
    "wh_movement": 0.098,  # Czech
    "negation_scope": 0.224,  # English
    "verb_final": 0.129,  # German
}
"""Highest share of sentences in which our rules find a phenomenon in gold trees; the lowest is 0 for each. Trees are
UD's PUD of ten languages, German GSD and English EWT, each kind of text with 500 sentences or more (news, reviews...)
by itself. Not here: subject_verb_agreement, in up to 0.96 of them (French), and light_verb, in 0.22 at most (Turkish)
but about once a sentence in Persian, which is not among the ten."""
_TOO_OFTEN = 2
"""How many times the highest share is implausible, in sentences of ordinary length; more in longer ones, which have
more of everything: 2.4 times the highest share in those of more than 45 words of EWT."""
_OFTEN = 0.1
"""Share that is never implausible: what is rare differs most, stranding between 0.005 and 0.022 in the kinds of text
of EWT, and 0.045 in the lab's English."""
_ORDINARY = 20
"""Words of a sentence."""
_SURE = 0.99


def identifier_version() -> str:
    """The package that decides, and its version; figures depend on it."""
    return f"py3langid {version('py3langid')}"


def other_language(text: str, expected: str) -> str | None:
    """The language of one text, if that is clearly not the expected one; None also for short texts."""
    if _letters([text]) < LONG:
        return None
    found = identify(text[:_READ], expected)
    return found.language if found.verdict == "no" else None


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


def watch_words(known: Iterable[str], needed_by: str) -> Callable[[Iterable[str]], None]:
    """A function to call with a text's words, part by part: it refuses texts of which a tool knows too few words.

    `known` are the words that the tool was trained on, in lower case; names of tools in `needed_by`.
    """
    lexicon = frozenset(known)
    seen = unknown = 0
    warned = False

    def watch(words: Iterable[str]) -> None:
        nonlocal seen, unknown, warned
        if seen >= _WATCHED_WORDS:
            return
        found = [word.lower() not in lexicon for word in words if any(map(str.isalpha, word))]
        seen, unknown = seen + len(found), unknown + sum(found)
        if seen < _ENOUGH_WORDS or unknown <= _UNKNOWN_WARNED * seen:
            return
        told = f"{needed_by} was not trained on {unknown} of the first {seen} words"
        if unknown > _UNKNOWN_REFUSED * seen:
            raise BabelscopeError(
                f"{told}: it was made for other text; take a parser that was made for this one"
            )
        if not warned:
            warned = True
            warnings.warn(f"{told}: {_MAY_BE_WRONG}", stacklevel=2)

    return watch


def watch_trees(trees: Iterable[Tree | None], needed_by: str) -> Iterator[Tree | None]:
    """Yield trees; warn if the first ones look like those of a parser that was given text it was not made for.

    Such a parser takes many words for function words that occur only once, which function words hardly ever do.
    """
    tags: dict[str, str | None] = {}
    left = _WATCHED_TREES
    for tree in trees:
        yield tree
        if tree is not None and left:
            left -= 1
            for word in tree.words:
                if any(map(str.isalpha, word.form)):
                    form = word.form.lower()
                    tags[form] = None if form in tags else word.upos
            if not left:
                _warn_of_tags(tags, needed_by)
                tags.clear()
    if left:
        _warn_of_tags(tags, needed_by)


def _warn_of_tags(tags: dict[str, str | None], needed_by: str) -> None:
    rare = [tag for tag in tags.values() if tag is not None]
    function = sum(tag in _FUNCTION for tag in rare)
    if len(rare) >= _ENOUGH_RARE and function > _RARE_FUNCTION * len(rare):
        warnings.warn(
            f"{needed_by} takes {function} of {len(rare)} words that occur once for function words, as parsers do "
            f"with text of another language or kind than they were made for; {_MAY_BE_WRONG}",
            stacklevel=2,
        )


def warn_of_counts(found: Mapping[str, int], sentences: int, words: float) -> None:
    """Warn of phenomena that are `found` in far more sentences than in gold trees, by more than chance can explain.

    `words` is the mean length of a sentence.
    """
    from babelscope.stats.intervals import wilson_bounds

    for name, number in found.items():
        highest = _HIGHEST_SHARES.get(name)
        if highest is None or not sentences:
            continue
        low, _ = wilson_bounds(number / sentences, sentences, outside=1 - _SURE)
        if low > max(_OFTEN, _TOO_OFTEN * highest) * max(1, words / _ORDINARY):
            warnings.warn(
                f"{name} was found in {number} of {sentences} sentences; in gold trees of ten languages it is in "
                f"0 to {100 * highest:.0f} % of them: unless the text was chosen for it, "
                "the parser or the rule may not fit",
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
