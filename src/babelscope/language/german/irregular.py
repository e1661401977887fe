"""Principal parts of the irregular German verbs: infinitive, third person singular present, preterite."""

from __future__ import annotations

from pathlib import Path

Tense = tuple[str, str, str]


def _lines(name: str) -> list[str]:
    return Path(__file__).with_name(name).read_text("utf-8").strip().split("\n")


def _auxiliaries() -> dict[str, tuple[Tense, ...]]:
    """Forms of auxiliaries, and of verbs whose present looks like a preterite.

    Infinitive -> present, preterite, subjunctive I and II, each as (first singular, third singular, plural).
    """
    found = {}
    for line in _lines("auxiliaries.txt"):
        infinitive, tenses = line.split(": ")
        rows = (tense.split() for tense in tenses.split(", "))
        found[infinitive] = tuple((first, third, plural) for first, third, plural in rows)
    return found


AUXILIARIES = _auxiliaries()


def principal_parts() -> dict[str, tuple[str, str, str]]:
    """Infinitive -> (third person singular present, preterite, subjunctive II).

    The file has a subjunctive only where it is not the preterite with umlaut and -e.
    """
    found = {}
    for entry in ";".join(_lines("irregular_verbs.txt")).split(";"):
        infinitive, present, preterite, *subjunctive = entry.split()
        found[infinitive] = (present, preterite, subjunctive[0] if subjunctive else _umlauted(preterite))
    return found


def _umlauted(preterite: str) -> str:
    """The subjunctive II of a preterite: kam, käme; ging, ginge; schuf, schüfe."""
    stem = preterite.removesuffix("e")
    for place in range(len(stem) - 1, -1, -1):
        letter = stem[place]
        if letter in "aou":
            return stem[:place] + "äöü"["aou".index(letter)] + stem[place + 1 :] + "e"
        if letter in "eiäöü":
            break
    return stem + "e"
