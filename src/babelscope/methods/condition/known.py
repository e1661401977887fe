"""Translations whose truth is known: what the evaluator is tested with before its verdicts are believed."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from typing import Any, Protocol

from babelscope.core.answers import Scored, capabilities, properties
from babelscope.core.question import Question
from babelscope.core.results import Record
from babelscope.methods.condition.ask import score_as_json
from babelscope.methods.condition.exchanging import common_source, cue_size, exchange
from babelscope.methods.condition.makers import Role, Side, only_cue_differs, side_of
from babelscope.methods.condition.settings import ConditionSettings
from babelscope.systems.asking import ask_answered, ask_score, ask_translate
from babelscope.testsets.items import AmbiguousSource
from babelscope.util.errors import RefusedText


class Tested(Protocol):
    """The settings of a method whose evaluator is tested."""

    @property
    def preflight(self) -> int: ...
    @property
    def beam(self) -> int: ...


def sample(items: Sequence[AmbiguousSource], settings: Tested, seed: int) -> frozenset[int]:
    """Places of at most `settings.preflight` items, as many of each category, chosen by a hash of their ids."""
    by_category: dict[str, list[tuple[bytes, int]]] = {}
    for place, item in enumerate(items):
        if item.correct_sources and item.incorrect_sources:
            by_category.setdefault(item.category, []).append((_hash(seed, item.id), place))
    for own in by_category.values():
        own.sort()
    # In turns, so that small categories leave their share to large ones.
    longest = max(map(len, by_category.values()), default=0)
    turns = (own[turn][1] for turn in range(longest) for own in by_category.values() if turn < len(own))
    return frozenset(place for place, _ in zip(turns, range(settings.preflight), strict=False))


def _hash(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"preflight\0{seed}\0{name}".encode()).digest()


@dataclass(frozen=True, slots=True)
class Known:
    """A translation and its truth, with the sources that it is to be scored under."""

    place: int
    text: str
    truth: bool
    by: str
    correct: Sequence[str]
    incorrect: Sequence[str]
    maker: Role | None = None
    """Who made it, or the two that it was exchanged from; None for a reference."""
    side: Side = ""

    @property
    def described(self) -> Record:
        """What is stored of it beside what the evaluator says."""
        found: Record = {"translation": self.text, "truth": self.truth, "by": self.by}
        return found if self.maker is None else {**found, "maker": self.maker, "side": self.side}


@dataclass(frozen=True, slots=True)
class KnownTranslations:
    """All known translations of some items."""

    translations: Sequence[Known]
    same: frozenset[int]
    """Places of items whose cue changed nothing, or nothing but its own translation."""
    maker: Role | None
    """Who was asked first for translations of sources with a cue."""

    def stored(self, place: int) -> Record:
        """What the record of an item has of this, beside the translations."""
        return {"same": place in self.same, "maker": self.maker}


def ask_known(
    systems: Mapping[str, Any],
    items: Sequence[AmbiguousSource],
    records: Mapping[int, Record],
    settings: ConditionSettings,
    seed: int,
) -> dict[int, Record]:
    """For each sampled item: its known translations as the evaluator scores them, and whether it reads sources."""
    evaluator = systems["evaluator"]
    if "score" not in capabilities(evaluator) or properties(evaluator).asked_as_a_whole:
        return {}  # stored scores: nothing can be asked
    made = known_translations(systems, items, list(records), settings, seed)
    known = made.translations
    matched = {place: _of_two_sources(items, place, records[place]) for place in records}
    wanted: list[tuple[Question, str]] = []
    for each in known:
        question = items[each.place].question
        wanted += [
            (changed(question, source=source), each.text) for source in (*each.correct, *each.incorrect)
        ]
    for match in matched.values():
        wanted += match
    asked = list(dict.fromkeys(wanted))
    scores = dict(zip(asked, _usable(functools.partial(ask_score, evaluator), asked), strict=True))
    own = _own_translations(evaluator, items, list(records), settings)
    itself = systems["system"].fingerprint == evaluator.fingerprint
    found: dict[int, Record] = {}
    for place in records:
        under = [
            told
            for each in known
            if each.place == place and (told := _told(each, items[place].question, scores))
        ]
        two = [scores[pair] for pair in matched[place]]
        found[place] = {
            "preflight": {
                "known": under,
                **made.stored(place),
                "match": [_score(each) for each in two] if two and all(two) else None,
                "own": own.get(place),
                "itself": itself,
            }
        }
    return found


def known_translations(
    systems: Mapping[str, Any],
    items: Sequence[AmbiguousSource],
    places: Sequence[int],
    settings: Tested,
    seed: int,
) -> KnownTranslations:
    """References, and translations of sources with a cue: by the system, and by the evaluator where it may be needed.

    The evaluator is asked too where no reference bears out what the system made: `find_makers` says who counts.
    """
    known: list[Known] = []
    for place in places:
        item = items[place]
        if reference := _reference(item):
            known.append(
                Known(place, reference, True, "reference", item.correct_sources, item.incorrect_sources)
            )
    roles: list[Role] = [role for role in ("system", "evaluator") if _translates(systems[role])]
    if not roles:
        return KnownTranslations(known, frozenset(), None)
    first, *others = roles
    pairs, same = _translated_pairs(systems[first], first, items, places, settings, seed)
    if others and systems["system"].fingerprint != systems["evaluator"].fingerprint:
        settled = {each.place for each in pairs if each.side == "for"}
        left = [place for place in places if place not in settled and _reference(items[place])]
        pairs += _translated_pairs(systems["evaluator"], "evaluator", items, left, settings, seed)[0]
    return KnownTranslations([*known, *pairs], frozenset(same), first)


def _translated_pairs(
    system: Any,
    role: Role,
    items: Sequence[AmbiguousSource],
    places: Sequence[int],
    settings: Tested,
    seed: int,
) -> tuple[list[Known], set[int]]:
    """A system's translations of sources with a right and a wrong cue; and where the cue changed nothing."""
    known: list[Known] = []
    same = set()
    cues = {place: _cues(items[place], seed) for place in places}
    questions = []
    for place in places:
        question = items[place].question
        plain = common_source(*cues[place]) or question.source
        questions += [changed(question, source=source) for source in (*cues[place], plain)]
    translate = functools.partial(ask_translate, system, beam=settings.beam)
    made = iter(each[0].text if each else "" for each in _usable(translate, questions))
    for place in places:
        item, (right, wrong) = items[place], cues[place]
        ours, theirs, plain = next(made), next(made), next(made)
        if not (ours.strip() and theirs.strip()):
            continue
        if ours == theirs or only_cue_differs(ours, theirs, plain):
            same.add(place)
            continue
        # The cue may have been translated too, and would give its side away: other cues are asked, where there are.
        correct, incorrect = (
            [source for source in side if source != used] or [used]
            for side, used in ((item.correct_sources, right), (item.incorrect_sources, wrong))
        )
        side = side_of(ours, theirs, _reference(item))
        exchanged = exchange(ours, theirs, plain, _reference(item), cue_size(right, wrong))
        for text, truth, by in (
            (ours, True, role),
            (theirs, False, role),
            *((text, truth, "exchange") for text, truth in exchanged),
        ):
            known.append(Known(place, text, truth, by, correct, incorrect, role, side))
    return known, same


def _cues(item: AmbiguousSource, seed: int) -> tuple[str, str]:
    """A source with a right cue and one with a wrong cue, chosen by a hash."""
    number = int.from_bytes(_hash(seed, f"{item.id}\0cue")[:8], "big")
    right, wrong = item.correct_sources, item.incorrect_sources
    return right[number % len(right)], wrong[number % len(wrong)]


def _reference(item: AmbiguousSource) -> str:
    found = item.extra.get("reference")
    return found if isinstance(found, str) and found.strip() else ""


def _translates(system: Any) -> bool:
    """Whether it can be asked for translations of its own, of any source and by itself."""
    how = properties(system)
    return "translate" in capabilities(system) and not (how.stored or how.asked_as_a_whole)


def _of_two_sources(
    items: Sequence[AmbiguousSource], place: int, record: Record
) -> list[tuple[Question, str]]:
    """A translation with its own source, and with that of an item far from it; nothing if there is none."""
    item = items[place]
    text = _reference(item) or record.get("translation") or ""
    others = (items[(place + len(items) // 2 + more) % len(items)] for more in range(min(50, len(items))))
    other = next((each for each in others if _is_another(each, item)), None)
    if other is None or not text.strip():
        return []
    return [(item.question, text), (changed(item.question, source=other.source), text)]


def _is_another(one: AmbiguousSource, item: AmbiguousSource) -> bool:
    """Not the sentence itself, nor the same with a word exchanged (test sets have such twins)."""
    words = [set(each.source.lower().split()) for each in (one, item)]
    return len(words[0] & words[1]) <= len(words[0] | words[1]) / 2


def _own_translations(
    evaluator: Any, items: Sequence[AmbiguousSource], places: Sequence[int], settings: ConditionSettings
) -> dict[int, str]:
    """What the evaluator itself would write, which shows its language; nothing if it cannot translate."""
    if not _translates(evaluator):
        return {}
    questions = [items[place].question for place in places]
    answers = _usable(functools.partial(ask_translate, evaluator, beam=settings.beam), questions)
    return {place: each[0].text for place, each in zip(places, answers, strict=True) if each}


def _told(each: Known, question: Question, scores: Mapping[tuple[Question, str], Scored | None]) -> Record:
    """A known translation as stored; nothing if the evaluator did not answer."""
    sides = []
    for side in (each.correct, each.incorrect):
        found = [scores[changed(question, source=source), each.text] for source in side]
        if not all(found):
            return {}
        sides.append([{"source": source, **_score(one)} for source, one in zip(side, found, strict=True)])
    return {**each.described, "under_correct": sides[0], "under_incorrect": sides[1]}


def _score(scored: Scored | None) -> Record:
    assert scored is not None
    return score_as_json(scored)


def _usable(ask: Callable[[Sequence[Any]], list[Any]], asked: Sequence[Any]) -> list[Any]:
    """Answers, None where there is none: a test that cannot be asked must not end the run."""
    left = list(range(len(asked)))
    while left:
        try:
            answers = ask_answered(ask, [asked[number] for number in left])
        except RefusedText as error:
            del left[error.number - 1]
        else:
            found = dict(zip(left, answers, strict=True))
            answered = (found.get(number) for number in range(len(asked)))
            return [None if isinstance(each, str) else each for each in answered]
    return [None] * len(asked)
