"""LaTeX of tables: escaped text, keys in words, a `tabular` that fits the page."""

from __future__ import annotations

import re
from collections.abc import Sequence

from babelscope.util.terminal import visible

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    # pdflatex knows these in formulas only.
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "<": "$<$",
    ">": "$>$",
    "−": "$-$",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "§": r"\S{}",
    "¶": r"\P{}",
}
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
_KEY = re.compile(r"(?P<mark>\*?)(?P<key>[a-z][a-z0-9]*(_[a-z0-9]+)*)")
_MINUS = re.compile(r"(?<![^\s\[])-(?=\d)")
# A table of more columns is scaled to the width of the text.
_MOST_COLUMNS = 8


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_ESCAPED.get(each, each) for each in visible(text))


def escape_number(text: str) -> str:
    """The same, with a hyphen before a number as a minus."""
    return _MINUS.sub("$-$", escape_latex(text))


def readable(key: str) -> str:
    """A key such as `mbr_quality`, marked or not, in words; what is no key stays as it is."""
    if not (found := _KEY.fullmatch(key)):
        return key
    return found["mark"] + " ".join(_WORDS.get(word, word) for word in found["key"].split("_"))


def tabular(headings: Sequence[str], rows: Sequence[Sequence[str]], labels: int) -> str:
    """Escaped cells with the rules of the package booktabs; the first `labels` columns are flush left."""

    def line(cells: Sequence[str]) -> str:
        return " & ".join(cells) + r" \\"

    return "\n".join(
        [
            f"\\begin{{tabular}}{{{'l' * labels + 'r' * (len(headings) - labels)}}}",
            r"\toprule",
            line(headings),
            r"\midrule",
            *map(line, rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def small_table(
    title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], labels: int, notes: Sequence[str]
) -> str:
    """A small `tabular`, as wide as the text if it has many columns (package graphicx), with notes below."""
    made = tabular(headings, rows, labels)
    if len(headings) > _MOST_COLUMNS:
        made = f"\\resizebox{{\\textwidth}}{{!}}{{%\n{made}}}"
    comments = [f"% {visible(line)}" for line in title.split("\n") if line]
    return "\n".join(
        [*comments, r"{\small\noindent", made, *(f"\\par\\noindent {note}" for note in notes), r"\par}"]
    )
