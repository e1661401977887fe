"""The error types that any language may have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from babelscope.language.base import Variant
from babelscope.language.general import agreement, content
from babelscope.language.general.sentence import Sentence, Source
from babelscope.language.general.treebank import Tools
from babelscope.language.ud import Word

Make = Callable[[Sentence, Source, Tools], Iterator[Variant]]
"""(reference, source if it is parsed, treebank and lexicons) -> the reference with the error, in all places."""
Find = Callable[[Sentence, Tools], Word | None]
"""(translation, treebank and lexicons) -> a word that is wrong."""


@dataclass(frozen=True, slots=True)
class GeneralType:
    """An error type that is defined over parsed sentences of any language."""

    name: str
    definition: str
    """What is wrong, in a full sentence."""
    make: Make = field(repr=False)
    find: Find | None = field(default=None, repr=False)
    agrees: tuple[str, str] | None = None
    """(kind of link, feature) of types about agreement."""
    plausible: bool = True
    """Whether systems make this error; implausible types serve as controls."""


_KINDS = {
    "subj_verb": ("subject", "The verb does not agree with its subject in {}."),
    "np": ("np", "A determiner or adjective does not agree with its noun in {}."),
    "predicate": (
        "predicate",
        "A predicative adjective or participle does not agree with the subject in {}.",
    ),
}


def _agreement_types() -> Iterator[GeneralType]:
    for prefix, (kind, told) in _KINDS.items():
        for feature in ("Number", "Person", "Gender", "Case"):
            if (kind == "subject") <= (feature != "Case") and (kind == "subject" or feature != "Person"):
                yield GeneralType(
                    f"{prefix}_{feature.lower()}",
                    told.format(feature.lower()),
                    partial(agreement.disagreements, kind=kind, name=feature),
                    partial(agreement.find_disagreement, kind=kind, name=feature),
                    (kind, feature),
                )


_TYPES = (
    *_agreement_types(),
    GeneralType(
        "adposition_case",
        "A noun phrase is in a case that its adposition does not take.",
        agreement.adposition_case,
        agreement.find_wrong_adposition_case,
    ),
    *(
        GeneralType(
            f"{name}_case",
            f"{'A' if name[0] not in 'ao' else 'An'} {name} is in a case that it does not take.",
            partial(agreement.case_of_role, role=role),
            partial(agreement.find_wrong_case, role=role),
        )
        for name, role in (("subject", "nsubj"), ("object", "obj"), ("attribute", "nmod"))
    ),
    GeneralType("negation_deleted", "A negation of the source is missing.", content.delete_negation),
    GeneralType(
        "negation_inserted", "The translation is negated, the source is not.", content.insert_negation
    ),
    GeneralType("number_changed", "A number differs from that of the source.", content.change_number),
    GeneralType("name_changed", "A name of the source is replaced by another one.", content.change_name),
    GeneralType("pronoun_gender", "A pronoun has the wrong gender.", content.change_pronoun),
    GeneralType("clause_omitted", "A clause of the source is missing.", content.omit_clause),
    GeneralType(
        "word_order",
        "A function word stands on the wrong side of the word that it belongs to.",
        content.swap_order,
        content.find_swapped_order,
    ),
    GeneralType(
        "garbled_word",
        "The letters inside a noun are in reverse order, which no translator does.",
        content.garble,
        plausible=False,
    ),
)
GENERAL_TYPES = {each.name: each for each in _TYPES}
"""All general error types by name."""


def exists(type: GeneralType, tools: Tools) -> bool:
    """Whether a language can have an error: by a rule of agreement, or by cases that its words are marked for."""
    if type.agrees is None:
        return not type.name.endswith("_case") or bool(tools.treebank.noun_cases)
    kind, feature = type.agrees
    known = tools.treebank.agreements
    return any(feature in tools.rules(own, detail) for own, detail, _ in known if own == kind)


def why_none(type: GeneralType, tools: Tools) -> str:
    """Why a type yields nothing in a language, from the treebank's counts."""
    treebank = tools.treebank
    if type.agrees is not None:
        if exists(type, tools):
            return "no word that has to agree has a known form that is surely wrong"
        kind, feature = type.agrees
        pooled = [
            (count.agreeing, count.pairs)
            for (own, _, name), count in treebank.agreements.items()
            if (own, name) == (kind, feature)
        ]
        agreeing, pairs = map(sum, zip(*pooled, strict=True)) if pooled else (0, 0)
        return (
            f"{agreeing} of {pairs} pairs agree in {feature.lower()}: no rule, or too few to tell"
            if pairs
            else f"the parses mark no {feature.lower()} on such words"
        )
    if type.name.endswith("_case"):
        if not exists(type, tools):
            return "the parses mark no case there"
        return "no noun phrase has a known form that is surely in a wrong case"
    if type.name.startswith("negation"):
        return f"{treebank.negators.total()} negations, none that can be deleted or put in one fixed place"
    if type.name == "pronoun_gender":
        return "no subject pronoun of one gender whose source has only that gender (it must be parsed)"
    return "no sentence has a place for it"
