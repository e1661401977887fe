"""Tables for papers, in LaTeX: even digits, values and intervals in columns of their own, names in words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from babelscope.core.results import number
from babelscope.core.tables import Table, as_latex

# Words that are written in another way than their keys.
_WORDS = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "ter": "TER",
    "ribes": "RIBES",
    "krg": "kRG",
    "kqrg": "kQRG",
    "mbr": "MBR",
    "sd": "SD",
    "logprob": "log-probability",
}
# Columns of names that their owners chose: they stay as they are.
_OWN_NAMES = ("system", "against", "tests", "run", "group", "evaluator", "evaluators", "verdicts")
_KEY = re.compile(r"(?P<mark>\*?)(?P<key>[a-z][a-z0-9]*(_[a-z0-9]+)*)")
_ESTIMATE = re.compile(
    r"(?P<value>[-+]?[\d.]+) (?P<interval>\[[-+]?[\d.]+, [-+]?[\d.]+\]|\(no interval: [^()]+\))(?P<mark>\W?)"
)
_NOTHING = ("", "–")
# Decimals of p-values and of the like, which methods give as labels.
_DIGITS_OF_LABELS = 4


def for_paper(table: Table, signature: str = "") -> str:
    """The table in LaTeX as a paper has it, and the signature as a comment."""
    columns = [
        _paper_columns(heading, [row[place] for row in table.rows], is_label=place < table.labels)
        for place, heading in enumerate(table.headings)
    ]
    labels = sum(len(own) for own in columns[: table.labels])
    named = [each for own in columns for each in own]
    rows = [[cells[line] for _, cells in named] for line in range(len(table.rows))]
    made = as_latex(Table(table.title, [heading for heading, _ in named], rows, labels))
    # A hyphen before a number is a minus.
    made = re.sub(r"(& |\[|, |^)-(?=\d)", r"\1$-$", made, flags=re.MULTILINE)
    return f"{made}\n% {signature}" if signature else made


def readable(key: str) -> str:
    """A key such as `mbr_quality`, marked or not, in words; what is no key stays as it is."""
    if not (found := _KEY.fullmatch(key)):
        return key
    return found["mark"] + " ".join(_WORDS.get(word, word) for word in found["key"].split("_"))


def _paper_columns(heading: str, cells: Sequence[str], *, is_label: bool) -> list[tuple[str, list[str]]]:
    """A column as one, or as two where its cells have values with intervals."""
    if heading in _OWN_NAMES:
        return [(readable(heading), list(cells))]
    if is_label:
        return [(readable(heading), _even(cells) or [readable(cell) for cell in cells])]
    found = [_ESTIMATE.fullmatch(cell) for cell in cells]
    known = [match is not None or cell in _NOTHING for match, cell in zip(found, cells, strict=True)]
    if not any(found) or not all(known):
        return [(readable(heading), list(cells))]
    values = [
        f"{match['value']}{match['mark']}" if match else cell
        for match, cell in zip(found, cells, strict=True)
    ]
    # Why there is none, a caption or footnote may say.
    intervals = [
        "" if not match else "–" if match["interval"][0] == "(" else match["interval"] for match in found
    ]
    return [(readable(heading), values), ("95 % interval", intervals)]


def _even(cells: Sequence[str]) -> list[str]:
    """Labels that are fractions, such as p-values, with as many decimals each; nothing if they are not."""
    try:
        values = [None if cell in _NOTHING else float(cell) for cell in cells]
    except ValueError:
        return []
    if all(value is None or value.is_integer() for value in values):
        return []
    least = 10.0**-_DIGITS_OF_LABELS
    return [
        cell
        if value is None
        else f"< {number(least, _DIGITS_OF_LABELS)}"
        if 0 < value < least
        else number(value, _DIGITS_OF_LABELS)
        for cell, value in zip(cells, values, strict=True)
    ]
