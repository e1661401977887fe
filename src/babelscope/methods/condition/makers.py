"""Whose translations of sources with a cue count as known: those that follow their cues, as references show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from babelscope.core.results import Record
from babelscope.core.tokenisers import DEFAULT, find_tokeniser, unsplit_script

Side = Literal["for", "against", "neither", ""]
"""Which of two translations has more words of the reference: the one with the right cue (for), the one with the wrong
cue (against), or neither; empty where there is no reference."""
Role = Literal["system", "evaluator"]

FEW = 10
"""With fewer known translations of either truth, or fewer references that take a side, nothing is said."""
LEAST_BORNE_OUT = 0.95
"""Of the references that take a side, how many must take that of the right cue. Where a cue is not followed, the two
translations differ by chance, and a reference is as often for as against it: one in twenty against is one in ten
pairs by chance, half of them for. So one pair in twenty that count is false, in one of its two translations: of the
right and of the wrong ones 2.5 %, as many as the evaluator's noise leaves out of account."""


def side_of(right: str, wrong: str, reference: str) -> Side:
    """Which of two translations shares more words with the reference (characters, where no spaces part words)."""
    if not reference:
        return ""
    ours, theirs, meant = _words(right, wrong, reference)
    ahead = (ours & meant).total() - (theirs & meant).total()
    return "for" if ahead > 0 else "against" if ahead < 0 else "neither"


def only_cue_differs(right: str, wrong: str, plain: str) -> bool:
    """Whether both translations have all words of the one without a cue: then both have its sense, and the cue."""
    ours, theirs, without = _words(right, wrong, plain)
    return bool(without) and without <= ours and without <= theirs


def _words(*texts: str) -> list[Counter[str]]:
    """The words of texts (characters, where no spaces part words), marks and capitals aside."""
    lower = [text.casefold() for text in texts]
    usual = find_tokeniser(DEFAULT)
    tokeniser = find_tokeniser("char") if unsplit_script(usual, lower) else usual
    return [Counter(word for word in tokeniser.split(text) if any(map(str.isalnum, word))) for text in lower]


@dataclass(frozen=True, slots=True)
class Makers:
    """Which stored translations of sources with a cue count as known, and how many do not."""

    chosen: Role
    strict: bool
    """Whether a pair of translations must have the reference on its side, where there is one."""
    counts: Mapping[str, int]
    """`not_known`: pairs of translations by the system that do not count. `unchecked`: pairs that count, though no
    reference bears them out."""

    def count(self, known: Mapping[str, Any]) -> bool:
        """Whether a stored translation counts: a reference does, and all of runs of earlier versions."""
        if "maker" not in known:
            return True
        return known["maker"] == self.chosen and (not self.strict or known["side"] in ("for", ""))


def find_makers(records: Sequence[Record]) -> Makers:
    """Whose translations count, of the records of a cell.

    Nothing here depends on a score of the evaluator, so that it cannot choose what it is tested with. Where it makes
    translations itself, all of them count or none.
    """
    tested = [record["preflight"] for record in records if record.get("preflight")]
    sides: dict[Role, list[Side]] = {"system": [], "evaluator": []}
    for each in tested:
        made: dict[Role, Side] = {one["maker"]: one["side"] for one in each["known"] if "maker" in one}
        for role, side in made.items():
            sides[role].append(side)
    better = _is_borne_out(sides["evaluator"]) and not _is_borne_out(sides["system"])
    alone = any(each.get("maker") == "evaluator" for each in tested)
    chosen: Role = "evaluator" if better or alone else "system"
    strict = chosen == "system" and _decided(sides["system"]) >= FEW
    kept = [side for side in sides[chosen] if not strict or side in ("for", "")]
    counts = {
        "not_known": len(sides["system"]) - (len(kept) if chosen == "system" else 0),
        "unchecked": sum(side != "for" for side in kept),
    }
    return Makers(chosen, strict, counts)


def counted_known(records: Sequence[Record]) -> list[tuple[int, Mapping[str, Any]]]:
    """The stored translations that count as known, each with the number of its record."""
    makers = find_makers(records)
    return [
        (number, known)
        for number, record in enumerate(records)
        for known in (record.get("preflight") or {}).get("known", ())
        if makers.count(known)
    ]


def is_independent(known: Mapping[str, Any], record: Record) -> bool:
    """Whether a known translation does not rest on the evaluator alone."""
    own = record["preflight"].get("itself") or known.get("maker", known["by"]) == "evaluator"
    return known["by"] == "reference" or not own or known.get("side") == "for"


def _decided(sides: Sequence[Side]) -> int:
    return sum(side in ("for", "against") for side in sides)


def _is_borne_out(sides: Sequence[Side]) -> bool:
    return _decided(sides) >= FEW and sides.count("for") >= LEAST_BORNE_OUT * _decided(sides)
