"""Finds negation in English sources and German translations, for the polarity types and their detectors."""

from __future__ import annotations

import re

from babelscope.language.german.analysis import Analysed

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


def source_has_particle(source: str) -> bool:
    """Whether an English sentence has "not"."""
    return bool(_SOURCE_PARTICLE.search(source))


def source_has_no(source: str) -> bool:
    """Whether an English sentence has "no" or "not a"."""
    return bool(_SOURCE_NO.search(source))


def source_has_affix(source: str) -> bool:
    """Whether an English sentence has a word negated by an affix."""
    return bool(_AFFIXED.search(source))


def source_is_positive(source: str) -> bool:
    """Whether nothing in an English sentence negates."""
    return not (_SOURCE.search(source) or _AFFIXED.search(source))


def translation_is_positive(translation: Analysed) -> bool:
    """Whether a German sentence has no negation in a wide sense, so that paraphrases are not taken for errors."""
    return not _TARGET.search(translation.text)
