"""Finds negation in English sources and German translations, for the polarity types and their detectors."""

from __future__ import annotations

import re
from itertools import pairwise

from babelscope.language.german.analysis import Analysed, word_set
from babelscope.language.german.errors.phrases import clause_around

_SOURCE = re.compile(
    r"\b(?:not|cannot|no|never|none|nobody|nothing|nowhere|neither|nor|without|lack\w*|fail\w*|refus\w*|hardly"
    r"|scarcely|barely)\b|n[’']t\b",
    re.IGNORECASE,
)
_SOURCE_PARTICLE = re.compile(r"\b(?:not|cannot)\b|n[’']t\b", re.IGNORECASE)
_SOURCE_NO = re.compile(r"\b(?:no|none|not? an?|not any|n[’']t any)\b", re.IGNORECASE)
_AFFIXED = re.compile(
    r"\b(?:un(?!til\b|der|ion|ite?[ds]?\b|iv|ique|less\b|cles?\b|anim)\w{3,}|non-\w+|non(?:exist|sens)\w*"
    r"|in(?:accur|act|adeq|app|cap|comp|conv|cor|dep|dir|eff|sec|sens|stab|suff|tol|val|vis|vol)\w*"
    r"|im(?:mor|pat|perf|pol|poss|prob)\w*|ir(?:rat|reg|rel|resp|rev)\w*|il(?:leg|lit|log)\w*"
    r"|dis(?:ab|adv|agr|app|bel|cont|hon|int|like|loy|obe|ord|resp|sat|tru)\w*|\w{3,}less(?:ly)?)\b",
    re.IGNORECASE,
)
_TARGET = re.compile(
    r"\b(?:nicht\w*|kein\w*|nie(?:mals|mand\w*)?|nirgend\w*|weder|ohne|nein|kaum|statt|anstatt|wenig\w*|fehl\w*"
    r"|mangel\w*|verweiger\w*|weiger\w*|sonst|sondern|un(?!d\b|ter|ser|s\b|i(?!n))\w+|miss\w{3,}|anti\w+"
    r"|in(?:akz|dir|effi|komp|kons|stab|tol|val)\w*|irr(?:eg|el|at)\w*|illeg\w*|gegen\w*|verlier\w*|verlor\w*"
    r"|\w{2,}(?:los|frei|leer|widrig)(?:e[nmrs]?|igkeit)?)\b",
    re.IGNORECASE,
)

# Words that need a negation right after or before them: "gar nicht", "nicht einmal", "noch kein".
_NEED_AFTER = word_set("gar überhaupt noch lange längst weitem oder ob wenn falls wie fast beinahe schon")
_NEED_BEFORE = word_set(
    "allein allzu bloß dass einmal eben etwa gerade lediglich länger mal mehr minder nur sonderlich umhin umsonst"
    " unbedingt wahr weiter weniger wirklich zuletzt"
)
# Words that need one in their clause, or in the sentence before them.
_NEED_IN_CLAUSE = re.compile(
    r"mehr|je|jemals|jeglich\w*|irgend\w*|geringste\w*|mindesten|brauch\w*|bevor|ehe|bis|ungefähr"
)
_NEED_IN_SENTENCE = word_set("sondern geschweige vielmehr jemals überhaupt außer ob")  # "nicht sicher, ob"
# What begins a contrast to a negation, if no verb follows: "kein Hund, aber eine Katze".
_CONTRAST = word_set("aber allenfalls bloß dafür doch höchstens jedoch lediglich nur wohl")
_NEGATION = re.compile(
    r"nicht|nichts|kein\w*|nie|niemals|niemand\w*|nirgend\w*|weder|ohne|kaum|nein", re.IGNORECASE
)
_NEGATIVE_PREFIX = re.compile(r"un(?!d$|ter|ser|s$|i(?!n))\w+", re.IGNORECASE)
# Words that limit what a negation means, so that adding one gives no opposite: "immer nicht", "schon kein".
_LIMITING = word_set(
    "nur schon bereits erst fast mal immer stets oft meist meistens manchmal noch gern sogar wieder fast beinahe rund"
    " etwa höchstens mindestens auch"
)


def can_lose_negation(sentence: Analysed, place: int) -> bool:
    """Whether a clause without its negation at `place` is grammatical and says the opposite."""
    tokens = sentence.tokens
    clause = clause_around(tokens, place)
    others = [token.text.lower() for token in clause if token is not tokens[place]]
    before = [token.text.lower() for token in tokens[max(0, place - 2) : place]]
    after = tokens[place + 1].text.lower() if place + 1 < len(tokens) else ""
    return not (
        set(before[-1:]) & _NEED_AFTER
        or "noch" in before
        or after in _NEED_BEFORE
        or any(_NEED_IN_CLAUSE.fullmatch(word) for word in others)
        or is_negated(sentence, place)
        or _goes_on(sentence, place)
        or any(token.text.lower() in _NEED_IN_SENTENCE for token in tokens[place:])
        # "Arzt und nicht Lehrer", "Arzt, nicht Lehrer"
        or (place > 0 and tokens[place - 1].tag == "KON")
        or not any(token.tag.endswith("FIN") or token.tag in ("PTKZU", "VVIZU") for token in clause)
        or is_asked(sentence, place)
    )


def _goes_on(sentence: Analysed, place: int) -> bool:
    """Whether another part of the sentence needs the negation: "kein Hund, auch bei ihr nicht", "..., wohl aber"."""
    tokens = sentence.tokens
    also = any(token.text.lower() == "auch" for token in clause_around(tokens, place))
    marks = [here for here, token in enumerate(tokens) if token.tag in ("$,", "$.")]
    for start, end in pairwise((-1, *marks, len(tokens))):
        part = tokens[start + 1 : end]
        between = tokens[min(place, end) : max(place, start + 1)]
        if start < place < end or any(token.tag == "$." for token in between):
            continue  # its own part, or another sentence
        words = [token.text.lower() for token in part]
        negated = any(_NEGATION.fullmatch(word) for word in words)
        if any(token.tag.endswith("FIN") or token.tag in ("PTKZU", "VVIZU") for token in part):
            if words[:2] == ["wohl", "aber"] or (negated and (also or "auch" in words)):
                return True
        elif negated or (place < start and not _CONTRAST.isdisjoint(words[:2])):
            return True
    return False


def is_negated(sentence: Analysed, place: int) -> bool:
    """Whether another word of the clause at `place` negates."""
    clause = clause_around(sentence.tokens, place)
    return any(_NEGATION.fullmatch(token.text) for token in clause if token is not sentence.tokens[place])


def can_take_negation(sentence: Analysed, place: int) -> bool:
    """Whether a clause has a finite verb, no negation, and nothing that would limit one."""
    clause = clause_around(sentence.tokens, place)
    return (
        any(token.tag.endswith("FIN") for token in clause)
        and not any(token.text.lower() in _LIMITING for token in clause)
        and not is_negated(sentence, place)
        and not is_asked(sentence, place)
    )


def is_asked(sentence: Analysed, place: int) -> bool:
    """Whether the sentence at `place` is a question, which a negation does not turn round."""
    ends = (token.text for token in sentence.tokens[place:] if token.text in (".", "!", "?"))
    return next(ends, "") == "?"


def source_has_particle(source: str) -> bool:
    """Whether an English sentence has "not"."""
    return bool(_SOURCE_PARTICLE.search(source))


def source_has_no(source: str) -> bool:
    """Whether an English sentence has "no" or "not a"."""
    return bool(_SOURCE_NO.search(source))


def source_has_affix(source: str) -> bool:
    """Whether an English sentence has a word negated by an affix."""
    return bool(_AFFIXED.search(source))


def source_negates(source: str, sentence: Analysed) -> bool:
    """Whether an English sentence has a negation for each one of its translation, which may be free or mistaken."""
    n_source = len(_SOURCE.findall(source)) + len(_AFFIXED.findall(source))
    words = [token.text for token in sentence.tokens]
    return n_source >= sum(
        bool(_NEGATION.fullmatch(word) or _NEGATIVE_PREFIX.fullmatch(word)) for word in words
    )


def source_is_positive(source: str) -> bool:
    """Whether nothing in an English sentence negates."""
    return not (_SOURCE.search(source) or _AFFIXED.search(source))


def translation_is_positive(translation: Analysed) -> bool:
    """Whether a German sentence has no negation in a wide sense, so that paraphrases are not taken for errors."""
    return not _TARGET.search(translation.text)
