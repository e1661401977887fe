"""A user's glossary: terms that a translation of a word must or must not have."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from babelscope.util.errors import BabelscopeError
from babelscope.util.expressions import TooCostlyError, check_expression, has_expression, has_word
from babelscope.util.text import parse_toml, read_bytes, shorten

_MOST_TERMS = 10_000


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


_Texts = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]


class Term(BaseModel):
    """What translations of a source with `source` must have (one of `required`) and must not have (`banned`)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str = ""
    """A word of the source; empty for all sources."""
    required: _Texts = ()
    banned: _Texts = ()
    regex: bool = False
    """Whether these are regular expressions; else they are whole words, in any case."""
    items: _Texts = ()
    """Ids of the items that it is about; empty for all."""


@dataclass(frozen=True, slots=True)
class Glossary:
    """Terms of a user."""

    terms: tuple[Term, ...]

    def applies(self, source: str, item: str = "") -> bool:
        """Whether any term is about the source."""
        return any(_is_about(term, source, item) for term in self.terms)

    def check(self, source: str, translation: str, item: str = "") -> str | None:
        """A term that is missing, or a banned one that is there."""
        for term in self.terms:
            if not _is_about(term, source, item):
                continue
            if banned := next((each for each in term.banned if _has(each, translation, term)), None):
                return f"banned: {banned}"
            if term.required and not any(_has(each, translation, term) for each in term.required):
                return f"missing: {' or '.join(term.required)}"
        return None


def _is_about(term: Term, source: str, item: str) -> bool:
    return (not term.items or item in term.items) and (not term.source or _has(term.source, source, term))


def _has(pattern: str, text: str, term: Term) -> bool:
    if not term.regex:
        return has_word(pattern, text, ignore_case=True)
    try:
        return has_expression(pattern, text)
    except TooCostlyError:
        warnings.warn(
            f"the expression {shorten(pattern)} of the glossary takes too much time or memory: sentences in which "
            "it cannot be told are left out of this check",
            stacklevel=2,
        )
        raise


def read_glossary(path: Path) -> Glossary:
    """Read a TOML file with a table `[[term]]` for each term."""
    content = parse_toml(read_bytes(path), path)
    rows = content.get("term")
    if not isinstance(rows, Sequence) or isinstance(rows, str) or not rows or set(content) != {"term"}:
        raise BabelscopeError(f"{path}: a glossary has a table [[term]] for each term, and nothing else")
    if len(rows) > _MOST_TERMS:
        raise BabelscopeError(f"{path} has {len(rows)} terms; at most {_MOST_TERMS} are read")
    terms = []
    for number, row in enumerate(rows, 1):
        try:
            term = Term.model_validate(row)
        except ValidationError as error:
            fault = error.errors()[0]
            raise BabelscopeError(f"{path}: term {number}: {fault['msg']}") from None
        for pattern in (term.source, *term.required, *term.banned):
            if term.regex:
                check_expression(pattern)
        if not term.required and not term.banned:
            raise BabelscopeError(f"{path}: term {number} has neither required nor banned terms")
        terms.append(term)
    return Glossary(tuple(terms))
