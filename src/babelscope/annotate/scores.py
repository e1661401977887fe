"""Scores that people gave on the page, as `correlate` reads human scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from babelscope.annotate.agreement import SCORED, require_same_list
from babelscope.annotate.answers import Answered, is_complete, read_annotators
from babelscope.annotate.verdicts import listed
from babelscope.util.errors import BabelscopeError


@dataclass(frozen=True, slots=True)
class HumanScores:
    """Complete answers with scores: of a list the rating of the whole, else the score."""

    answers: Sequence[Answered]
    unfinished: int

    def rows(self) -> list[tuple[str, Mapping[str, Any]]]:
        """A JSON object an answer, with its place: `system`, `id`, `score`."""
        return [
            (
                f"the answer of {each.annotator} to item {each.id}",
                {"system": each.system, "id": each.id, "score": each.answer[SCORED[each.task][-1]]},
            )
            for each in self.answers
        ]

    def check_lists(self, rows: Sequence[tuple[str, Mapping[str, Any]]], field: str) -> None:
        """Refuse scores of lists that are longer or shorter than those which people judged."""
        judged = {(each.system, each.id): each for each in self.answers}
        for place, record in rows:
            answered = judged.get((str(record.get("system")), str(record.get("id"))))
            if answered is not None and record.get(field) is not None:
                require_same_list(answered, listed(record, field), place)


def read_scores(paths: Sequence[Path]) -> HumanScores:
    """The last answers of all annotators in these files; labels are refused."""
    found = [each for own in read_annotators(paths).values() for each in own.values()]
    if strange := [each for each in found if each.task not in SCORED]:
        raise BabelscopeError(
            f"{paths[0]}: {strange[0].task} is answered with labels, not with scores; see `babelscope agreement`"
        )
    complete = [each for each in found if is_complete(each.answer)]
    if not complete:
        raise BabelscopeError(f"{paths[0]} has no complete answer yet")
    return HumanScores(complete, len(found) - len(complete))
