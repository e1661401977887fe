"""Questions of contrastive conditioning: the system translates, the evaluator scores (section 3.2)."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from babelscope.core.results import Record, finite_or_none
from babelscope.core.system import Question, Scored, capabilities, properties, score_tokens
from babelscope.methods.condition.figures import Conditioned
from babelscope.methods.condition.swapped_words import (
    Side,
    common_source,
    cue_size,
    side_of,
    swap_sense,
    words_of,
)
from babelscope.methods.measuring import grouped
from babelscope.systems.contract import (
    ask_answered,
    ask_score,
    ask_translate,
    leave_refused_targets,
    relocate_errors,
)
from babelscope.systems.stored.translations import ItemTranslations
from babelscope.testsets.items import AmbiguousSource, choice_of
from babelscope.util.errors import BabelscopeError, RefusedText

# Rounding can lift the log-probability of a certain token this far above 0.
_ROUNDING = 1e-3


def ask_items(
    systems: Mapping[str, Any], items: Sequence[AmbiguousSource], settings: Conditioned
) -> list[Record]:
    """One record per item: its translation, and how the evaluator scores it under every source with a cue."""
    system, evaluator = systems["system"], systems["evaluator"]
    if "item_scores" in capabilities(evaluator):
        return _records_of_stored_scores(system, evaluator, items, settings)
    translated = translations_or_reasons(system, items, settings)
    given = [_is_given(system, item, settings) for item in items]
    # A system that evaluates itself scores the tokens that it generated, not its text tokenized again.
    itself = system.fingerprint == evaluator.fingerprint
    pairs: list[tuple[Question, str | Scored]] = []
    owners: list[AmbiguousSource] = []
    for item, each in zip(items, translated, strict=True):
        if isinstance(each, Scored):
            cued = _cued_sources(item)
            target = each if itself and each.tokens else each.text
            pairs += [(replace(item.question, source=source), target) for source in cued]
            owners += [item] * len(cued)
    made = {
        each.text for each, own in zip(translated, given, strict=True) if isinstance(each, Scored) and not own
    }
    # One call for the whole chunk, so that the evaluator can fill its batches.
    score = leave_refused_targets(functools.partial(ask_score, evaluator), made, "the translation")
    names = {"source": "source with a cue", "target": "translation"}
    answers = iter(_ask_about_items(score, pairs, owners, names))
    records: list[Record] = []
    for item, each, own in zip(items, translated, given, strict=True):
        if isinstance(each, str):
            records.append({"unanswered": each})
            continue
        found: dict[str, Any] = {source: next(answers) for source in _cued_sources(item)}
        if reasons := [score for score in found.values() if isinstance(score, str)]:
            records.append({"unanswered": reasons[0]})
            continue
        notes = {*each.notes, *(note for score in found.values() for note in score.notes)}
        records.append(
            {
                **_item_fields(item, each.text, evaluator.name, given=own),
                "notes": sorted(notes),
                "under_correct": _scores_as_json(item.correct_sources if found else (), found),
                "under_incorrect": _scores_as_json(item.incorrect_sources if found else (), found),
            }
        )
    return records


def check_system(system: Any, items: Sequence[AmbiguousSource], settings: Conditioned) -> None:
    """Refuse a system beside translations of the items, unless the settings say which are judged."""
    of_items = system.fingerprint == ItemTranslations.fingerprint
    if "translations" in settings.model_fields_set or of_items:
        return
    if given := sum(item.translation is not None for item in items):
        raise BabelscopeError(
            f"{given} of {len(items)} items have a translation, and {system.name} has others: say which are judged, "
            'those of the system (--translations system, in a study translations = "system") or, where an item has '
            "one, that of the item (given); the system items:translations has none of its own"
        )


def _records_of_stored_scores(
    system: Any, evaluator: Any, items: Sequence[AmbiguousSource], settings: Conditioned
) -> list[Record]:
    """Records from stored scores: the best of each side, as an evaluator gave them elsewhere."""
    if not properties(system).stored:
        raise BabelscopeError(
            f"{evaluator.name} has scores of given translations: condition takes no system beside it that "
            f"translates now, as {system.name} does"
        )
    scores = evaluator.item_scores([choice_of(item) for item in items], best=False)
    if system.fingerprint == ItemTranslations.fingerprint:
        texts: list[str | None] = [item.translation for item in items]
        reasons = [""] * len(items)
    else:
        found = translations_or_reasons(system, items, settings)
        texts = [None if isinstance(each, str) else each.text for each in found]
        reasons = [each if isinstance(each, str) else "" for each in found]
    records: list[Record] = []
    for item, own, text, reason in zip(items, scores, texts, reasons, strict=True):
        if reason:
            records.append({"unanswered": reason})
            continue
        for number in (own.correct, *own.others):
            if number > _ROUNDING:
                raise BabelscopeError(
                    f"{own.place}: {number:g} is no log-probability, which is at most 0 (natural log, higher is "
                    "better)"
                )
        records.append(
            {
                **_item_fields(item, text, evaluator.name, given=text is not None),
                "correct_logprob": finite_or_none(own.correct),
                "incorrect_logprob": finite_or_none(own.others[0]),
            }
        )
    return records


def _is_given(system: Any, item: AmbiguousSource, settings: Conditioned) -> bool:
    """Whether the translation was made elsewhere: the item has one, or the system reads it from a file."""
    own = settings.translations == "given" and item.translation is not None
    return own or properties(system).stored


def _item_fields(item: AmbiguousSource, translation: str | None, evaluator: str, *, given: bool) -> Record:
    """The fields of a record that do not depend on the evaluator's scores."""
    return {
        "source": item.source,
        "category": item.category,
        "gold": item.gold,
        "translation": translation,
        "given": given,
        "evaluator": evaluator,
        "notes": [],
        # `babelscope agreement` joins MuCoW's annotations by these fields.
        **{name: item.extra[name] for name in ("word", "corpus") if name in item.extra},
    }


def score_as_json(scored: Scored) -> Record:
    """What is stored of a score: total and log of the mean token probability in nats, EOS included; tokens."""
    return {
        "total": finite_or_none(scored.total),
        "tokens": len(scored.logprobs),
        "probability": finite_or_none(score_tokens(scored.logprobs, "probability")),
    }


def _scores_as_json(cued: Sequence[str], found: Mapping[str, Scored]) -> list[Record]:
    return [{"source": source, **score_as_json(found[source])} for source in cued]


def translations_or_reasons(
    system: Any, items: Sequence[AmbiguousSource], settings: Conditioned
) -> list[Scored | str]:
    """The translation of each item, given or by the system; or the reason why the system gave none."""
    own = [item.translation if settings.translations == "given" else None for item in items]
    asked = [item for item, text in zip(items, own, strict=True) if text is None]
    translate = functools.partial(ask_translate, system, beam=settings.beam)
    places = {"source": "source", "target": "target"}
    found = iter(_ask_about_items(translate, [item.question for item in asked], asked, places))
    first = (answers if isinstance(answers, str) else answers[0] for answers in found)
    return [Scored(text) if text is not None else next(first) for text in own]


def _ask_about_items(
    ask: Callable[[Sequence[Any]], list[Any]],
    asked: Sequence[Any],
    owners: Sequence[AmbiguousSource],
    places: Mapping[str, str],
) -> list[Any]:
    """The answer, or the reason for none, to each question; errors about a refused text name its item."""
    first = {each: item.id for each, item in zip(reversed(asked), reversed(owners), strict=True)}

    def ask_some(some: Sequence[Any]) -> list[Any]:
        with relocate_errors(lambda what, number: f"item {first[some[number - 1]]}: the {places[what]}"):
            return ask(some)

    return ask_answered(ask_some, asked)


def _cued_sources(item: AmbiguousSource) -> list[str]:
    """Its distinct cued sources; none unless both sides have some, because one side alone decides nothing."""
    if not (item.correct_sources and item.incorrect_sources):
        return []
    return list(dict.fromkeys([*item.correct_sources, *item.incorrect_sources]))


# --- Known translations: those whose correctness is known, on which the evaluator is tested ------------------------

Role = Literal["system", "evaluator"]

FEW = 10
"""With fewer known translations, right or wrong, or fewer references that take a side, nothing is concluded."""
LEAST_SUPPORTED = 0.95
"""Of the references that take a side, how many must take that of the right cue. Where a cue is not followed, the two
translations differ by chance, and a reference is as often for as against it: one in twenty against is one in ten
pairs by chance, half of them for. So one pair in twenty that count is false, in one of its two translations: of the
right and of the wrong ones 2.5 %, as many as the evaluator's noise leaves out of account."""


@dataclass(frozen=True, slots=True)
class ReferenceSupport:
    """Which stored translations of sources with a cue count as known, and how many do not."""

    chosen: Role
    """Whose translations count."""
    strict: bool
    """Whether a pair of translations must have the reference on its side, where there is one."""
    counts: Mapping[str, int]
    """`not_known`: pairs of translations by the system that do not count. `unchecked`: pairs that count, though no
    reference supports them."""

    def counts_as_known(self, known: Mapping[str, Any]) -> bool:
        """Whether a stored translation counts; a reference always does."""
        if "maker" not in known:
            return True
        return known["maker"] == self.chosen and (not self.strict or known["side"] in ("for", ""))


def reference_support(records: Sequence[Record]) -> ReferenceSupport:
    """Whose translations count, of the records of a job.

    Nothing here depends on a score of the evaluator, so that it cannot choose what it is tested with. Where it makes
    translations itself, all of them count or none.
    """
    tested = [record["preflight"] for record in records if record.get("preflight")]
    sides: dict[Role, list[Side]] = {"system": [], "evaluator": []}
    for each in tested:
        made: dict[Role, Side] = {one["maker"]: one["side"] for one in each["known"] if "maker" in one}
        for role, side in made.items():
            sides[role].append(side)
    better = _is_supported(sides["evaluator"]) and not _is_supported(sides["system"])
    alone = any(each.get("maker") == "evaluator" for each in tested)
    chosen: Role = "evaluator" if better or alone else "system"
    strict = chosen == "system" and _decided(sides["system"]) >= FEW
    kept = [side for side in sides[chosen] if not strict or side in ("for", "")]
    counts = {
        "not_known": len(sides["system"]) - (len(kept) if chosen == "system" else 0),
        "unchecked": sum(side != "for" for side in kept),
    }
    return ReferenceSupport(chosen, strict, counts)


def _decided(sides: Sequence[Side]) -> int:
    return sum(side in ("for", "against") for side in sides)


def _is_supported(sides: Sequence[Side]) -> bool:
    return _decided(sides) >= FEW and sides.count("for") >= LEAST_SUPPORTED * _decided(sides)


def counted_known(records: Sequence[Record]) -> list[tuple[int, Mapping[str, Any]]]:
    """The stored translations that count as known, each with the number of its record."""
    support = reference_support(records)
    return [
        (number, known)
        for number, record in enumerate(records)
        for known in (record.get("preflight") or {}).get("known", ())
        if support.counts_as_known(known)
    ]


def is_independent(known: Mapping[str, Any], record: Record) -> bool:
    """Whether a known translation does not rest on the evaluator alone."""
    own = record["preflight"].get("itself") or known.get("maker", known["by"]) == "evaluator"
    return known["by"] == "reference" or not own or known.get("side") == "for"


def sample(items: Sequence[AmbiguousSource], settings: Conditioned, seed: int) -> frozenset[int]:
    """Places of at most `settings.preflight` items, as many of each category, chosen by a hash of their ids."""
    by_category = grouped(
        (item.category, (_hash(seed, item.id), place))
        for place, item in enumerate(items)
        if item.correct_sources and item.incorrect_sources
    )
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
    """A translation that is known to be right or wrong, with the sources that it is to be scored under."""

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
        """What is stored of it beside the evaluator's answers."""
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
    settings: Conditioned,
    seed: int,
) -> dict[int, Record]:
    """For each sampled item: its known translations as the evaluator scores them, and whether it reads sources."""
    evaluator = systems["evaluator"]
    if "score" not in capabilities(evaluator) or properties(evaluator).asked_as_a_whole:
        return {}  # stored scores: nothing can be asked
    made = known_translations(systems, items, list(records), settings, seed)
    matched = {place: _of_two_sources(items, place, records[place]) for place in records}
    wanted: list[tuple[Question, str]] = []
    for each in made.translations:
        question = items[each.place].question
        wanted += [
            (replace(question, source=source), each.text) for source in (*each.correct, *each.incorrect)
        ]
    for match in matched.values():
        wanted += match
    asked = list(dict.fromkeys(wanted))
    scores = dict(zip(asked, _usable(functools.partial(ask_score, evaluator), asked), strict=True))
    own: dict[int, str] = {}
    if _translates(evaluator):  # its own translations show its language
        questions = [items[place].question for place in records]
        answers = _usable(functools.partial(ask_translate, evaluator, beam=settings.beam), questions)
        own = {place: each[0].text for place, each in zip(records, answers, strict=True) if each}
    itself = systems["system"].fingerprint == evaluator.fingerprint
    found: dict[int, Record] = {}
    for place in records:
        known = [
            stored
            for each in made.translations
            if each.place == place and (stored := _scored_known(each, items[place].question, scores))
        ]
        two = [scores[pair] for pair in matched[place]]
        found[place] = {
            "preflight": {
                "known": known,
                **made.stored(place),
                "match": [score_as_json(each) for each in two if each] if two and all(two) else None,
                "own": own.get(place),
                "itself": itself,
            }
        }
    return found


def known_translations(
    systems: Mapping[str, Any],
    items: Sequence[AmbiguousSource],
    places: Sequence[int],
    settings: Conditioned,
    seed: int,
) -> KnownTranslations:
    """References, and translations of sources with a cue: by the system, and by the evaluator where it may be needed.

    The evaluator is asked too where no reference supports the system's translations: `reference_support` decides
    whose count.
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
    settings: Conditioned,
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
        questions += [replace(question, source=source) for source in (*cues[place], plain)]
    translate = functools.partial(ask_translate, system, beam=settings.beam)
    made = iter(each[0].text if each else "" for each in _usable(translate, questions))
    for place in places:
        item, (right, wrong) = items[place], cues[place]
        ours, theirs, plain = next(made), next(made), next(made)
        if not (ours.strip() and theirs.strip()):
            continue
        right_words, wrong_words, without = words_of(ours, theirs, plain)
        # Where both have all words of the translation without a cue, both have its sense, and the cue.
        if ours == theirs or (without and without <= right_words and without <= wrong_words):
            same.add(place)
            continue
        # The cue may have been translated too, and would give its side away: other cues are asked, where there are.
        correct, incorrect = (
            [source for source in side if source != used] or [used]
            for side, used in ((item.correct_sources, right), (item.incorrect_sources, wrong))
        )
        side = side_of(ours, theirs, _reference(item))
        swapped = swap_sense(ours, theirs, plain, _reference(item), cue_size(right, wrong))
        for text, truth, by in (
            (ours, True, role),
            (theirs, False, role),
            *((text, truth, "exchange") for text, truth in swapped),
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
    words = set(item.source.lower().split())
    for other in others if text.strip() else ():
        theirs = set(other.source.lower().split())
        # Not the sentence itself, nor the same with a word exchanged: test sets have such twins.
        if len(words & theirs) <= len(words | theirs) / 2:
            return [(item.question, text), (replace(item.question, source=other.source), text)]
    return []


def _scored_known(
    known: Known, question: Question, scores: Mapping[tuple[Question, str], Scored | None]
) -> Record:
    """A known translation as stored; nothing if the evaluator did not answer."""
    found = {
        source: scores[replace(question, source=source), known.text]
        for source in (*known.correct, *known.incorrect)
    }
    answered = {source: each for source, each in found.items() if each is not None}
    if len(answered) < len(found):
        return {}
    return {
        **known.described,
        "under_correct": _scores_as_json(known.correct, answered),
        "under_incorrect": _scores_as_json(known.incorrect, answered),
    }


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
