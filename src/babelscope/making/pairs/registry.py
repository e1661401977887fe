"""The error types by name, each loaded when asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from babelscope.core.registry import did_you_mean
from babelscope.language.german import Analysed
from babelscope.making.pairs.base import LONGEST, ErrorType, Variant
from babelscope.util.errors import BabelscopeError

# Those of the paper's table 2, then the other types of LingEval97. A new type is a module and a name here.
PAPER_TYPES = (
    "clause_omission",
    "hypercorrect_genitive",
    "np_agreement",
    "placeholder_ding",
    "polarity_affix_del",
    "polarity_particle_kein_del",
    "polarity_particle_nicht_del",
    "subj_verb_agreement",
)
ERROR_TYPES = (
    *PAPER_TYPES,
    "auxiliary",
    "compound",
    "polarity_affix_ins",
    "polarity_particle_kein_ins",
    "polarity_particle_nicht_ins",
    "subj_adequacy",
    "transliteration",
    "verb_particle",
)


@cache
def error_type(name: str) -> ErrorType:
    """The error type called `name`."""
    if name not in ERROR_TYPES:
        hint = did_you_mean(name, ERROR_TYPES, f"known are {', '.join(ERROR_TYPES)}", cutoff=0.5)
        raise BabelscopeError(f"no error type {name!r}; {hint}")
    module = import_module(f"babelscope.making.pairs.{name}")

    def variants(sentence: Analysed, **options: str) -> list[Variant]:
        return module.variants(sentence, **options) if len(sentence.text) <= LONGEST else []

    return ErrorType(
        name=name,
        definition=module.DEFINITION,
        plausible=module.PLAUSIBLE,
        variants=variants,
        detect=getattr(module, "detect", None),
        modes=getattr(module, "MODES", ()),
    )
