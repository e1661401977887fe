"""`--by-answer`, which `contrast` and `condition` share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from babelscope.core.options import Option, reads
from babelscope.methods.command import KEPT, Given
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import read_bytes

_KEPT = frozenset(option.name for option in KEPT if not option.name.startswith("annotate"))


def options(places: str) -> tuple[Option, ...]:
    """The options; `places` are those that a question must have."""
    return (
        Option(
            "by-answer",
            "Ask in words which of two is right, in both orders, where a system gives no log-probabilities of given "
            "texts: another measure, not to be compared with likelihoods.",
            bool,
        ),
        replace(
            reads("question", f"The question that is asked, with {places}; A names the first, B the second."),
            only_with=("by-answer",),
        ),
    )


def check(given: Given, also: frozenset[str]) -> None:
    """Refuse options that are of likelihoods; those in `also` are of both measures."""
    allowed = (
        _KEPT | also | {"tests", "system", "rejudge", "by-answer", "question", "ties", "error-threshold"}
    )
    if given["by-answer"] and (others := sorted(given.typed - allowed)):
        raise BabelscopeError(f"--{others[0]} has no effect beside --by-answer: leave one of them out")


def settings_of(given: Given, names: frozenset[str]) -> dict[str, Any]:
    """The settings of the method by answer: those in `names` are of both measures, and a tie is an undecided item."""
    found: dict[str, Any] = {
        name: given.settings[name] for name in names | {"error_threshold"} if name in given.settings
    }
    if "ties" in given.said:
        found["undecided"] = given.settings["ties"]
    if given["question"] is not None:
        try:
            found["prompt"] = read_bytes(given["question"]).decode()
        except UnicodeDecodeError:
            raise BabelscopeError(f"{given['question']}: not UTF-8") from None
    return found
