"""English sentences of our own that test what checks look for: where nothing else is at hand, `probes:en`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from babelscope.testsets.items import TestSet, make_items
from babelscope.util.errors import BabelscopeError

_PEOPLE = ("Maria Keller", "Tom Baker", "Anna Lindqvist", "Peter Novak", "Laura Rossi", "David Cohen")
_PLACES = ("Vienna", "Lisbon", "Toronto", "Nairobi", "Osaka", "Warsaw")

_NEGATED = (
    "The new bridge is not open yet.",
    "She did not sign the contract.",
    "We have never been to that museum.",
    "Nobody told the driver about the detour.",
    "There is no doctor on the island.",
    "The medicine must not be taken with milk.",
    "He left without paying the bill.",
    "They could not find the key.",
    "This ticket is not valid on weekends.",
    "I have nothing to add to the report.",
    "The engine does not start in the cold.",
    "None of the lamps works.",
    "Do not open the window.",
    "The children were not allowed to swim.",
    "Our neighbors do not speak French.",
    "The letter never arrived.",
    "It was not the manager who called.",
    "You should not drink this water.",
    "The shop has no bread left.",
    "My sister does not eat meat.",
)
_NUMBERS = (
    "The train leaves at 7:45 and arrives at 12:10.",
    "The factory employs 1,250 people in 14 countries.",
    "Prices rose by 3.5 percent in 2019.",
    "The tower is 318 meters high.",
    "Add 250 g of flour and 3 eggs.",
    "The meeting is on 17 March 2026 in room 204.",
    "He ran 42 km in 3 hours and 51 minutes.",
    "The package weighs 18 kg and costs 46 euros.",
    "Only 27 of the 93 seats were free.",
    "The company was founded in 1874.",
    "About 6,400 tickets were sold in 2 days.",
    "The temperature fell to -12 degrees.",
    "Chapter 9 begins on page 311.",
    "The loan of 75,000 dollars runs for 15 years.",
)
_COPIED = (
    "Send the form to office@example.org before Friday.",
    "More details are at https://www.example.com/help/start.",
    "Hello {name}, your order has been shipped.",
    "Press `Ctrl+S` to save the file.",
    "The value of max_size must be positive.",
    "Visit www.example.net for the timetable.",
    "You have %d new messages in your inbox.",
    "Call the function get_user() first.",
    "The part number is XJ-4402.",
    "See you at the concert tonight 🎵!",
    "Please write to {support_email} if the problem persists.",
    "The tag <b>new</b> must stay in the text.",
)
_MARKS = (
    "The report (published in May) was ignored.",
    'She said, "I will come tomorrow," and hung up.',
    'The word "home" has many meanings.',
    "The second edition [with maps] is sold out.",
    "Is the library open on Sundays?",
    "What a beautiful garden!",
    'The sign read "No parking" in red letters.',
    "All members (old and new) may vote.",
)
_LONG = (
    "Although the weather forecast had promised sunshine for the whole week, the hikers who set out on Monday were "
    "surprised by a storm in the afternoon and had to spend the night in a small hut near the lake.",
    "The committee, which had been asked to review the plans for the new hospital before the end of the year, said "
    "after a long discussion that more time was needed to study the costs and to hear the people who live nearby.",
    "When the old baker closed his shop after forty years, many of his customers brought flowers, and some of them "
    "stayed until late at night to talk about old times.",
    "The ship that carried the first machines for the mine reached the harbor in the spring, but because the road "
    "into the mountains had been washed away by the rain, the workers had to wait until the summer to begin.",
)
_PLAIN = (
    "The cat sleeps on the warm stove.",
    "Please close the door behind you.",
    "Our teacher reads the newspaper every morning.",
    "The river is deep and cold.",
    "Fresh bread smells good.",
    "The farmers sell apples at the market.",
    "My brother repairs old bicycles.",
    "The museum opens in the afternoon.",
    "A small boat crossed the lake.",
    "The students wrote a letter to the mayor.",
)


def read_probes(language: str) -> TestSet:
    """The sentences in a language; there are English ones only."""
    if language != "en":
        raise BabelscopeError(
            f"probes:{language} is not there: our own sentences are English (probes:en); give a text in your language"
        )
    return TestSet("probes", tuple(make_items(_rows())))


def _rows() -> Iterator[tuple[str, dict[str, Any]]]:
    kinds: Mapping[str, Sequence[str]] = {
        "negation": _NEGATED,
        "number": _NUMBERS,
        "copy": _COPIED,
        "marks": _MARKS,
        "long": _LONG,
        "plain": _PLAIN,
        "name": tuple(_with_names()),
    }
    for kind, sentences in kinds.items():
        for number, source in enumerate(sentences, 1):
            fields = {"id": f"{kind}/{number}", "source": source, "source_language": "en", "phenomenon": kind}
            yield f"probes:en, {kind} {number}", fields


def _with_names() -> Iterator[str]:
    for number, (person, place) in enumerate(zip(_PEOPLE, _PLACES, strict=True)):
        friend = _PEOPLE[number - 1]
        yield f"Yesterday {person} moved from {place} to the coast."
        yield f"The committee elected {person} and {friend}."
