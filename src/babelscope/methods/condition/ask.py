"""Questions of contrastive conditioning: the system translates, the evaluator scores (section 3.2)."""

from __future__ import annotations

import difflib
import functools
import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from babelscope.core.results import Record, finite_or_none, grouped
from babelscope.core.system import Question, Scored, capabilities, properties, score_tokens
from babelscope.core.tokenizers import DEFAULT, find_tokenizer, unsplit_script
from babelscope.methods.condition.figures import Conditioned
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
        translated = _stored_translations(systems, items, settings)
        given = [each is not None for each in translated]
        scores = _stored_scores(evaluator, items)
    else:
        translated = [*translations_or_reasons(system, items, settings)]
        own = settings.translations == "given"
        stored = properties(system).stored
        given = [stored or (own and item.translation is not None) for item in items]
        scores = _asked_scores(systems, items, translated, given)
    records: list[Record] = []
    for item, each, is_given, found in zip(items, translated, given, scores, strict=True):
        if isinstance(each, str) or isinstance(found, str):
            records.append({"unanswered": each if isinstance(each, str) else found})
            continue
        records.append(
            {
                "source": item.source,
                "category": item.category,
                "gold": item.gold,
                "translation": None if each is None else each.text,
                "given": is_given,
                "evaluator": evaluator.name,
                # `babelscope agreement` joins MuCoW's annotations by these fields.
                **{name: item.extra[name] for name in ("word", "corpus") if name in item.extra},
                **found,
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


def _stored_translations(
    systems: Mapping[str, Any], items: Sequence[AmbiguousSource], settings: Conditioned
) -> list[Scored | str | None]:
    """What stored scores are about: translations of a file, or of the items, which may have none."""
    system = systems["system"]
    if not properties(system).stored:
        raise BabelscopeError(
            f"{systems['evaluator'].name} has scores of given translations: condition takes no system beside it that "
            f"translates now, as {system.name} does"
        )
    if system.fingerprint != ItemTranslations.fingerprint:
        return [*translations_or_reasons(system, items, settings)]
    return [None if item.translation is None else Scored(item.translation) for item in items]


def _stored_scores(evaluator: Any, items: Sequence[AmbiguousSource]) -> list[Record | str]:
    """The best stored score of each side."""
    scores: list[Record | str] = []
    for own in evaluator.item_scores([choice_of(item) for item in items], best=False):
        if (most := max(own.correct, *own.others)) > _ROUNDING:
            raise BabelscopeError(
                f"{own.place}: {most:g} is no log-probability, which is at most 0 (natural log, higher is better)"
            )
        sides = {"correct_logprob": own.correct, "incorrect_logprob": own.others[0]}
        scores.append({"notes": [], **{side: finite_or_none(number) for side, number in sides.items()}})
    return scores


def _asked_scores(
    systems: Mapping[str, Any],
    items: Sequence[AmbiguousSource],
    translated: Sequence[Scored | str | None],
    given: Sequence[bool],
) -> list[Record | str]:
    """How the evaluator scores each translation under every source with a cue; or the reason for no answer."""
    evaluator = systems["evaluator"]
    # A system that evaluates itself scores the tokens that it generated, not its text tokenized again.
    itself = systems["system"].fingerprint == evaluator.fingerprint
    pairs: list[tuple[Question, str | Scored]] = []
    owners: list[AmbiguousSource] = []
    made: set[str] = set()
    for item, each, is_given in zip(items, translated, given, strict=True):
        if isinstance(each, Scored):
            target = each if itself and each.tokens else each.text
            cued = _cued_sources(item)
            pairs += [(replace(item.question, source=source), target) for source in cued]
            owners += [item] * len(cued)
            if not is_given:
                made.add(each.text)
    # One call for the whole chunk, so that the evaluator can fill its batches.
    score = leave_refused_targets(functools.partial(ask_score, evaluator), made, "the translation")
    places = {"source": "source with a cue", "target": "translation"}
    answers = iter(_ask_about_items(score, pairs, owners, places))
    scores: list[Record | str] = []
    for item, each in zip(items, translated, strict=True):
        if not isinstance(each, Scored):
            scores.append({})
            continue
        found = {source: next(answers) for source in _cued_sources(item)}
        reasons = [answer for answer in found.values() if isinstance(answer, str)]
        notes = {*each.notes, *(note for answer in found.values() if not reasons for note in answer.notes)}
        sides = {} if reasons else _both_sides(item.correct_sources, item.incorrect_sources, found)
        scores.append(reasons[0] if reasons else {"notes": sorted(notes), **sides})
    return scores


def _cued_sources(item: AmbiguousSource) -> list[str]:
    """Its distinct cued sources; none unless both sides have some, because one side alone decides nothing."""
    if not (item.correct_sources and item.incorrect_sources):
        return []
    return list(dict.fromkeys([*item.correct_sources, *item.incorrect_sources]))


def _both_sides(correct: Sequence[str], incorrect: Sequence[str], found: Mapping[str, Scored]) -> Record:
    """The evaluator's scores under sources with the right and with a wrong cue; empty if nothing was asked."""
    return {
        name: [{"source": source, **score_as_json(found[source])} for source in side if found]
        for name, side in (("under_correct", correct), ("under_incorrect", incorrect))
    }


def score_as_json(scored: Scored) -> Record:
    """What is stored of a score: total and log of the mean token probability in nats, EOS included; tokens."""
    return {
        "total": finite_or_none(scored.total),
        "tokens": len(scored.logprobs),
        "probability": finite_or_none(score_tokens(scored.logprobs, "probability")),
    }


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


# --- Known translations: those whose correctness is known, on which the evaluator is tested ------------------------

Side = Literal["for", "against", "neither", ""]
"""Which of two translations has more words of the reference: the one with the right cue (for), the one with the wrong
cue (against), or neither; empty where there is no reference."""
Role = Literal["system", "evaluator"]
FEW = 10
"""With fewer known translations, right or wrong, or fewer references that take a side, nothing is concluded."""
LEAST_SUPPORTED = 0.95
"""Of the references that take a side, how many must take that of the right cue."""


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
    made = [{one["maker"]: one["side"] for one in each["known"] if "maker" in one} for each in tested]
    system, evaluator = ([each[role] for each in made if role in each] for role in ("system", "evaluator"))
    better = _is_supported(evaluator) and not _is_supported(system)
    if better or any(each.get("maker") == "evaluator" for each in tested):
        unchecked = len(evaluator) - evaluator.count("for")
        return ReferenceSupport("evaluator", False, {"not_known": len(system), "unchecked": unchecked})
    strict = _decided(system) >= FEW
    kept = [side for side in system if not strict or side in ("for", "")]
    counts = {"not_known": len(system) - len(kept), "unchecked": len(kept) - kept.count("for")}
    return ReferenceSupport("system", strict, counts)


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
    # In turns, so that small categories leave their share to large ones.
    turns = itertools.zip_longest(*map(sorted, by_category.values()))
    places = (each[1] for turn in turns for each in turn if each)
    return frozenset(itertools.islice(places, settings.preflight))


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
    asked = [
        [
            (replace(items[known.place].question, source=source), known.text)
            for source in (*known.correct, *known.incorrect)
        ]
        for known in made.translations
    ]
    matched = {place: _of_two_sources(items, place, record) for place, record in records.items()}
    once = list(dict.fromkeys(itertools.chain(*asked, *matched.values())))
    scores = dict(zip(once, _usable(functools.partial(ask_score, evaluator), once), strict=True))
    known: dict[int, list[Record]] = {place: [] for place in records}
    for each, pairs in zip(made.translations, asked, strict=True):
        found = {question.source: scores[question, text] for question, text in pairs}
        if None not in found.values():
            known[each.place].append({**each.described, **_both_sides(each.correct, each.incorrect, found)})
    own: dict[int, str] = {}
    if _translates(evaluator):  # its own translations show its language
        questions = [items[place].question for place in records]
        answers = _usable(functools.partial(ask_translate, evaluator, beam=settings.beam), questions)
        own = {place: each[0].text for place, each in zip(records, answers, strict=True) if each}
    itself = systems["system"].fingerprint == evaluator.fingerprint
    preflights: dict[int, Record] = {}
    for place, pairs in matched.items():
        match = [score_as_json(scores[pair]) for pair in pairs if scores[pair]]
        preflights[place] = {
            "known": known[place],
            **made.stored(place),
            "match": match if len(match) == 2 else None,
            "own": own.get(place),
            "itself": itself,
        }
    return {place: {"preflight": found} for place, found in preflights.items()}


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
    known = [
        Known(
            place, reference, True, "reference", items[place].correct_sources, items[place].incorrect_sources
        )
        for place in places
        if (reference := _reference(items[place]))
    ]
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
    cues = {place: _cues(items[place], seed) for place in places}
    questions = []
    for place, (right, wrong) in cues.items():
        question = items[place].question
        plain = common_source(right, wrong) or question.source
        questions += [replace(question, source=source) for source in (right, wrong, plain)]
    translate = functools.partial(ask_translate, system, beam=settings.beam)
    made = iter(each[0].text if each else "" for each in _usable(translate, questions))
    known: list[Known] = []
    same = set()
    for (place, (right, wrong)), ours, theirs, plain in zip(cues.items(), made, made, made, strict=True):
        if not (ours.strip() and theirs.strip()):
            continue
        right_words, wrong_words, without = words_of(ours, theirs, plain)
        # Where both have all words of the translation without a cue, both have its sense, and the cue.
        if ours == theirs or (without and without <= right_words and without <= wrong_words):
            same.add(place)
            continue
        item, reference = items[place], _reference(items[place])
        # The cue may have been translated too, and would give its side away: other cues are asked, where there are.
        correct, incorrect = (
            [source for source in side if source != used] or [used]
            for side, used in ((item.correct_sources, right), (item.incorrect_sources, wrong))
        )
        side = side_of(ours, theirs, reference)
        swapped = swap_sense(ours, theirs, plain, reference, cue_size(right, wrong))
        texts = [(ours, True, role), (theirs, False, role)]
        for text, truth, by in (*texts, *((*each, "exchange") for each in swapped)):
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


def _usable(ask: Callable[[Sequence[Any]], list[Any]], asked: Sequence[Any]) -> list[Any]:
    """Answers, None where there is none: a test that cannot be asked must not end the run."""
    left = list(range(len(asked)))
    found: dict[int, Any] = {}
    while left and not found:
        try:
            answers = ask_answered(ask, [asked[number] for number in left])
            found = dict(zip(left, answers, strict=True))
        except RefusedText as error:
            del left[error.number - 1]
    answered = (found.get(number) for number in range(len(asked)))
    return [None if isinstance(each, str) else each for each in answered]


# --- Translations of sources with a right and a wrong cue, compared word by word -----------------------------------

_MARKS = re.compile(r"^\W+|\W+$")


def side_of(right: str, wrong: str, reference: str) -> Side:
    """Which of two translations shares more words with the reference."""
    if not reference:
        return ""
    ours, theirs, meant = words_of(right, wrong, reference)
    ahead = (ours & meant).total() - (theirs & meant).total()
    return "for" if ahead > 0 else "against" if ahead < 0 else "neither"


def words_of(*texts: str) -> list[Counter[str]]:
    """The words of texts without punctuation, in lower case; characters in scripts without spaces."""
    lower = [text.casefold() for text in texts]
    usual = find_tokenizer(DEFAULT)
    tokenizer = find_tokenizer("char") if unsplit_script(usual, lower) else usual
    return [Counter(word for word in tokenizer.split(text) if any(map(str.isalnum, word))) for text in lower]


def common_source(right: str, wrong: str) -> str:
    """What a source with a right cue and one with a wrong cue share: the sentence without its cue."""
    ours = right.split()
    matched = difflib.SequenceMatcher(None, ours, wrong.split(), autojunk=False).get_matching_blocks()
    return " ".join(word for block in matched for word in ours[block.a : block.a + block.size])


def cue_size(right: str, wrong: str) -> int:
    """In how many words a source with a cue differs from the other one, at most."""
    shared = len(common_source(right, wrong).split())
    return max(len(right.split()), len(wrong.split())) - shared


def swap_sense(right: str, wrong: str, plain: str, reference: str, cue: int) -> list[tuple[str, bool]]:
    """Texts with the sense of one translation and the cue's words of the other, and whether each is correct.

    Of the words in which a right and a wrong translation differ, those that the translation of the sentence without a
    cue (`plain`) has, on either side, show the sense. The others translate the cue, if they are at most as many as
    the `cue` words of the source. An evaluator that looks at the cue's translation, and not at the sense, misjudges
    the right translation with the wrong sense, the wrong one with the right sense, or the reference with the wrong
    sense, which may have the cue's translation too.
    """
    ours, theirs = right.split(), wrong.split()
    blocks = difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    if any(kind != "equal" and b - a != d - c for kind, a, b, c, d in blocks):
        return []
    known = set(_bare(plain.split()))
    apart = [place for place in range(len(ours)) if ours[place] != theirs[place]]
    pairs = list(zip(_bare(ours), _bare(theirs), strict=True))
    sense = [place for place in apart if not known.isdisjoint(pairs[place])]
    if not sense or len(apart) - len(sense) > cue:
        return []
    found = []
    if len(apart) > len(sense):
        both = list(enumerate(zip(ours, theirs, strict=True)))
        found += [
            (" ".join(b if place in sense else a for place, (a, b) in both), False),
            (" ".join(a if place in sense else b for place, (a, b) in both), True),
        ]
    if changed := _with_sense(reference.split(), ours, theirs, sense):
        found.append((changed, False))
    return found


def _with_sense(
    reference: list[str], ours: Sequence[str], theirs: Sequence[str], sense: Sequence[int]
) -> str:
    """The reference with the sense of the wrong translation; empty if it lacks a word that shows the sense."""
    matcher = difflib.SequenceMatcher(None, _bare(ours), _bare(reference), autojunk=False)
    places = {
        block.a + more: block.b + more
        for block in matcher.get_matching_blocks()
        for more in range(block.size)
    }
    if not all(place in places for place in sense):
        return ""
    for place in sense:
        old, new = _bare([ours[place], theirs[place]])
        reference[places[place]] = reference[places[place]].replace(old, new)
    return " ".join(reference)


def _bare(words: Sequence[str]) -> list[str]:
    """Words without the punctuation around them."""
    return [_MARKS.sub("", word) for word in words]
