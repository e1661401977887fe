"""The lab's systems, test sets, queries and parsers, offered by entry points in pyproject.toml like a plug-in's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from babelscope.systems.registry import Scheme
from babelscope.testsets.loading import Format
from babelscope.util.errors import BabelscopeError

if TYPE_CHECKING:
    from babelscope.making.counts import Forms

MODELS = Path(__file__).parent / "models"
ENGLISH_PARSER = MODELS / "parsers" / "lab-en.udpipe"
GERMAN_PARSER = MODELS / "parsers" / "lab-de.udpipe"

SCHEME = Scheme(
    "lab",
    "babelscope.lab.shipped:open_lab",
    "our own small English-German models, in the package: teacher, student, control, unsmoothed, llm, context",
    "lab:teacher",
    frozenset({"translate", "score", "sample", "top_k", "next_tokens"}),
    "models",
    prompted=("llm", "llm-*"),
)
FORMAT = Format(
    "lab",
    "babelscope.lab.shipped:read_lab",
    "the lab's own: parallel, pairs, gender, senses, pronouns",
    "lab:gender?n=200&seed=3",
    numbers=("n", "seed"),
)


def queries(name: str) -> dict[str, Forms]:
    """The queries of `lab:NAME`, words to count in translations; NAME is `occupations` or `senses`."""
    from babelscope.lab.grammar.queries import occupations, senses

    known = {"occupations": occupations, "senses": senses}
    if name not in known:
        raise BabelscopeError(f"there are no lab queries {name!r}; there are {', '.join(known)}")
    return known[name]()
