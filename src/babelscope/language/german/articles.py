"""Determiners: gender, number and case of each form."""

from __future__ import annotations

from babelscope.language.german.analysis import Case, Gender, Nominal, Number

_CASES: tuple[Case, ...] = ("nom", "gen", "dat", "acc")
# Columns of the paradigm: masculine, feminine, neuter, plural; rows: nominative, genitive, dative, accusative.
_GENDERS: tuple[Gender, ...] = ("m", "f", "n")
_DEFINITE = ("der die das die", "des der des der", "dem der dem den", "den die das die")
_KEIN = (
    "kein keine kein keine",
    "keines keiner keines keiner",
    "keinem keiner keinem keinen",
    "keinen keine kein keine",
)


def _readings(paradigm: tuple[str, ...]) -> dict[str, frozenset[Nominal]]:
    found: dict[str, set[Nominal]] = {}
    for case, row in zip(_CASES, paradigm, strict=True):
        *singular, plural = row.split()
        for gender, form in zip(_GENDERS, singular, strict=True):
            found.setdefault(form, set()).add(Nominal(gender, "sg", case))
        for each in (*_GENDERS, ""):
            found.setdefault(plural, set()).add(Nominal(each, "pl", case))
    return {form: frozenset(readings) for form, readings in found.items()}


DEFINITE = _readings(_DEFINITE)
KEIN = _readings(_KEIN)


def definite_article(gender: Gender, number: Number, case: Case) -> str:
    """The form of the definite article."""
    row = _DEFINITE[_CASES.index(case)].split()
    return row[3] if number == "pl" else row[_GENDERS.index(gender)]
