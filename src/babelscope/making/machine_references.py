"""Minimal pairs with machine references: retranslated sources, new variants, validated (minimal-pairs, 3.3)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from babelscope.core.tokenizers import is_unspaced
from babelscope.language.base import Analyzed, ErrorType, Overlap, Spans, Variant, replace_word
from babelscope.language.fitness import check_language, other_language
from babelscope.language.registry import can_detect, error_type, error_types, language
from babelscope.metrics.chrf import pairwise_chrf
from babelscope.stats.agreement import LABELS, RIGHT, WRONG_REFERENCE
from babelscope.systems.contract import ask_translate, relocate_errors
from babelscope.systems.stored.alignment import align_to_sources
from babelscope.testsets.items import BEGINNING, MISSPELLED, NO_SOURCE, MinimalPair
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream
from babelscope.util.text import shorten

# --- Whether machine translations translate their own sources ------------------------------------------------------

COPY = "copy of the source"
LENGTH = "too short or too long"
CLOSER = "closer to another human reference"
VAGUE = "by a system too often closer to another human reference"

_POOL = 100
"""Human references that each translation is compared with. A text that has nothing to do with its source is closest
to its own reference once in so many cases, whatever the language and the kind of text."""
_FACTOR = 2
"""How many times as long as its human reference a translation may be, or as short."""
_PASSES = 3
"""So many translations of a system must pass for each near miss. Near misses are vaguely related to their source;
where they are frequent, some vague translations are closest to their own reference, too, and cannot be told apart."""
_ENOUGH = 40
"""With fewer sentences, unrelated texts pass too often, and vague systems are not recognized reliably."""

_Rank = Literal["first", "near", "far"]


class Adequacy:
    """Compares translations with their own human reference and with those of other sentences, by chrF."""

    def __init__(self, pairs: Iterable[MinimalPair], seed: int) -> None:
        self._references: dict[str, list[str]] = {}
        for pair in pairs:
            own = self._references.setdefault(pair.source, [])
            if pair.correct not in own:
                own.append(pair.correct)
        if len(self._references) < _ENOUGH:
            warnings.warn(
                f"there are human references of {len(self._references)} sentences, too few to tell reliably whether "
                f"a translation is closer to its own than to others; at least {_ENOUGH} are needed",
                stacklevel=2,
            )
        order = stream(seed, "machine-references/adequacy").permutation(len(self._references))
        sources = list(self._references)
        self._pool = [sources[place] for place in order[:_POOL]]
        self._ranks: dict[str, dict[str, _Rank]] = {}

    def rejected(self, system: str, translations: Mapping[str, str]) -> dict[str, str]:
        """By source, the reason why a translation of the system must not become a reference, where there is one.

        Whether a system is vague is decided from all of its translations so far.
        """
        ranks = self._ranks.setdefault(system, {})
        ranks |= self._rank(translations)
        found = list(ranks.values())
        # Unrelated texts are rejected one by one: by chance, one of them is near for three that are far.
        misses = found.count("near") - found.count("far") / 3
        vague = found.count("first") < _PASSES * misses
        reasons = {}
        for source, text in translations.items():
            own = self._references[source]
            if text.casefold().split() == source.casefold().split() and text not in own:
                reasons[source] = COPY
            elif not any(len(each) <= _FACTOR * len(text) <= _FACTOR**2 * len(each) for each in own):
                reasons[source] = LENGTH
            elif ranks[source] != "first":
                reasons[source] = CLOSER
            elif vague:
                reasons[source] = VAGUE
        return reasons

    def _rank(self, translations: Mapping[str, str]) -> dict[str, _Rank]:
        """Whether its own reference is the closest to each translation, in the closest quarter, or farther off."""
        pool = [self._references[source][0] for source in self._pool]
        own = [self._references[source] for source in translations]
        references = list(dict.fromkeys([*pool, *(text for texts in own for text in texts)]))
        column = {text: number for number, text in enumerate(references)}
        found: dict[str, _Rank] = {}
        scores = pairwise_chrf(list(translations.values()), references)
        for source, texts, row in zip(translations, own, scores, strict=True):
            others = [
                text
                for other, text in zip(self._pool, pool, strict=True)
                if other != source and text not in texts
            ]
            best = max(row[column[text]] for text in texts)
            closer = sum(row[column[text]] >= best for text in others)
            found[source] = "far" if 4 * closer >= len(others) + 1 else "near" if closer else "first"
        return found


# --- Whether two translations share a phenomenon, judged by the words that show it ---------------------------------


def changed_words(correct: str, contrastive: str, tokenize: Callable[[str], Spans]) -> Variant:
    """The difference between the two texts of a pair, in whole words, as a Variant."""
    ours, theirs = tokenize(correct), tokenize(contrastive)
    here, there = (
        [text[start:end] for start, end in spans] for text, spans in ((correct, ours), (contrastive, theirs))
    )
    shortest = min(len(here), len(there))
    first = next((n for n in range(shortest) if here[n] != there[n]), shortest)
    rest = shortest - first
    same = next((n for n in range(rest) if here[-1 - n] != there[-1 - n]), rest)

    def between(text: str, spans: Spans) -> str:
        inside = spans[first : len(spans) - same]
        return text[inside[0][0] : inside[-1][1]] if inside else ""

    start = ours[first][0] if first < len(ours) else len(correct)
    return Variant(contrastive, between(correct, ours), between(contrastive, theirs), start)


def marks(overlap: Overlap, sentence: Analyzed[Any], variant: Variant) -> frozenset[str]:
    """The keys of the phenomenon in `sentence` that a variant of it changes (see `Overlap.marks`)."""
    return _marks(overlap, sentence, _place(sentence, variant.start), variant.word)


def find_same_error(
    overlap: Overlap, sentence: Analyzed[Any], wrong: Analyzed[Any], variant: Variant
) -> list[int]:
    """Indices of tokens at which `sentence` seems to have the error of `wrong`, the text of `variant`."""
    words = [overlap.plain(word) for word in variant.changed.split()][: overlap.n_compared]
    if not words:
        return []
    known = _marks(overlap, wrong, _place(wrong, variant.start), variant.changed)
    spoken = [overlap.plain(token.text) for token in sentence.tokens]
    return [
        place
        for place, token in enumerate(sentence.tokens)
        if spoken[place : place + len(words)] == words
        and overlap.can_be_wrong(token)
        and known & _marks(overlap, sentence, place, variant.changed)
    ]


def is_lost(overlap: Overlap, sentence: Analyzed[Any], reference: Analyzed[Any], variant: Variant) -> bool:
    """Whether `sentence` seems to lack what `variant` deletes from the human reference."""
    if overlap.is_lost is None:
        return False
    return overlap.is_lost(sentence, reference, _place(reference, variant.start))


def _marks(overlap: Overlap, sentence: Analyzed[Any], place: int, word: str) -> frozenset[str]:
    return overlap.marks(sentence, place, overlap.plain(word)) if sentence.tokens else frozenset()


def _place(sentence: Analyzed[Any], start: int) -> int:
    """Index of the token at or after a character offset."""
    at = (number for number, token in enumerate(sentence.tokens) if token.end > start)
    return next(at, max(0, len(sentence.tokens) - 1))


# --- Minimal pairs with machine references: retranslated sources, new variants, validated --------------------------

ANSWERS = LABELS["machine-reference"]
"""Answers that a person may give about a queued translation."""

# Pairs translated at once.
_CHUNK = 256


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a human pair: kept with a machine reference, queued for a person, or dropped."""

    human: MinimalPair
    system: str
    translation: str
    verdict: Literal["kept", "queued", "dropped"]
    reason: str
    pair: MinimalPair | None = None
    """The pair with a machine reference, if it was kept."""
    correction: str | None = None
    """A correct version to suggest to the annotator, if it was queued."""

    def question(self) -> dict[str, Any]:
        """The translation as a line of the annotation file, whatever became of the pair.

        Its `verdict` is what the automatic validation found: annotators do not see it, and `babelscope agreement
        --verdicts` compares it with their answers.
        """
        known = error_types().get(self.human.phenomenon)
        definition = known.definition if known else f"{self.human.phenomenon}, as in the reference below."
        found = {"kept": "correct", "queued": "wrong"}
        return {
            "id": _question(self.human, self.translation),
            "task": "machine-reference",
            "phenomenon": self.human.phenomenon,
            "source": self.human.source,
            "translation": self.translation,
            "correct": self.human.correct,
            "contrastive": self.human.contrastive[0],
            "system": self.system,
            "question": f"Does the translation have this error? {definition}",
            "choices": list(ANSWERS),
            "answer": None,
            "verdict": found.get(self.verdict, "undecided"),
            "reason": self.reason,
            "correction": self.correction,
        }


def machine_references(
    pairs: Sequence[MinimalPair],
    systems: Sequence[Any],
    *,
    shares: Sequence[float] = (),
    seed: int = 0,
    beam: int = 5,
    mode: str | None = None,
    answers: Sequence[Mapping[str, Any]] = (),
) -> Iterator[Outcome]:
    """Translate the source of each human pair again, and yield what becomes of the pair, in order.

    Each system translates a share of the sources, drawn by the seed; equal shares by default. A translation that
    has the phenomenon in the same words as the human reference is right, and one of its own variants makes the
    new pair, unless it does not seem to translate its source (`making.adequacy`). One that seems to have the error
    of the human variant is queued for a person; `answers` are the lines that came back. Any other is dropped.
    Pairs whose source is a beginning (`testsets.items.BEGINNING`) are continued instead; of pairs without a source
    (`NO_SOURCE`) the right sentence is translated by the first system and back by the second (`_with_same_error`).
    """
    if any(BEGINNING in pair.extra for pair in pairs):
        yield from _continuations(pairs, systems, shares, seed, beam)
        return
    if any(NO_SOURCE in pair.extra for pair in pairs):
        if shares:
            raise BabelscopeError(
                "pairs without a source are translated by two systems in turn: leave shares out"
            )
        yield from _round_trips(pairs, systems, beam)
        return
    human = _human_pairs(pairs, mode)
    chosen = assign_systems([pair.source for pair in human], len(systems), shares, seed)
    answered = {str(answer["id"]): answer for answer in answers}
    known = {_id(pair) for pair in human}
    if strange := [name for name in answered if name.rpartition("/")[0] not in known]:
        raise BabelscopeError(f"the answer {min(strange)!r} belongs to no pair of the test set")
    _check_languages(human, [pair.correct for pair in human], "the human references")
    maker = _Maker(seed, mode, answered)
    adequacy = Adequacy(human, seed)
    asked = [pair for pair in human if chosen[pair.source] is not None]
    for start in range(0, len(asked), _CHUNK):
        some = asked[start : start + _CHUNK]
        translations = _translations(some, systems, chosen, beam)
        rejected: dict[str, str] = {}
        for number, system in enumerate(systems):
            own = [pair for pair in some if chosen[pair.source] == number]
            texts = [translations[pair.source] for pair in own]
            _check_languages(own, texts, f"the translations of {system.name}")
            told = {pair.source: translations[pair.source] for pair in own}
            rejected |= adequacy.rejected(system.name, told)
        for pair in some:
            system = systems[chosen[pair.source] or 0]
            reason = rejected.get(pair.source)
            yield maker.outcome(pair, system.name, translations[pair.source], reason)


def _continuations(
    pairs: Sequence[MinimalPair], systems: Sequence[Any], shares: Sequence[float], seed: int, beam: int
) -> Iterator[Outcome]:
    """What becomes of pairs whose source is a beginning: the systems' own continuations are the references."""
    if not all(BEGINNING in pair.extra and pair.reference == "human" for pair in pairs):
        raise BabelscopeError("beginnings to be continued and other pairs cannot be mixed")
    chosen = assign_systems([pair.source for pair in pairs], len(systems), shares, seed)
    asked = [pair for pair in pairs if chosen[pair.source] is not None]
    for start in range(0, len(asked), _CHUNK):
        some = asked[start : start + _CHUNK]
        found = _translations(some, systems, chosen, beam)
        for pair in some:
            system = systems[chosen[pair.source] or 0].name
            yield _with_same_error(pair, system, found[pair.source], BEGINNING)


def _round_trips(pairs: Sequence[MinimalPair], systems: Sequence[Any], beam: int) -> Iterator[Outcome]:
    """What becomes of pairs without a source: right sentences, translated and back, are the references."""
    if not all(NO_SOURCE in pair.extra and pair.reference == "human" for pair in pairs):
        raise BabelscopeError("pairs without a source and other pairs cannot be mixed")
    if len(systems) != 2:
        raise BabelscopeError(
            "pairs without a source are translated into another language and back: name two systems, one for each "
            f"direction in this order, not {len(systems)}"
        )
    name = " and ".join(system.name for system in systems)
    for start in range(0, len(pairs), _CHUNK):
        some = pairs[start : start + _CHUNK]
        texts = {pair.correct: pair.correct for pair in some}
        for system in systems:
            asked = list(dict.fromkeys(text for text in texts.values() if text.strip()))
            held = align_to_sources(system, "the distinct sentences of the pairs", asked)

            def locate(what: str, at: int, asked: list[str] = asked) -> str:
                return f"{shorten(asked[at - 1])}: {what}"

            with relocate_errors(locate):
                answers = ask_translate(held, asked, beam=beam) if asked else []
            found = {text: own[0].text for text, own in zip(asked, answers, strict=True)}
            texts = {right: found.get(text, "") for right, text in texts.items()}
        for pair in some:
            yield _with_same_error(pair, name, texts[pair.correct], NO_SOURCE)


def _with_same_error(human: MinimalPair, system: str, text: str, kind: str) -> Outcome:
    """Keep a text that begins with the words in which the human one is right, and make these wrong in it.

    What stands before them is the same, so that what is wrong in the human pair is wrong here, too.
    """
    words = text.split()
    right, wrong = (text.split() for text in (human.correct, human.contrastive[0]))
    end = 0
    while end < min(len(right), len(wrong)) - 1 and right[-1 - end] == wrong[-1 - end]:
        end += 1
    critical, changed = right[: len(right) - end], wrong[: len(wrong) - end]
    if not words:
        return Outcome(human, system, text, "dropped", "empty translation")
    # Of a beginning, all that stands before is the source; else there must be words that show what is wrong.
    alone = kind == NO_SOURCE and critical[:1] != changed[:1]
    if len(human.contrastive) > 1 or changed == critical or alone or words[: len(critical)] != critical:
        return Outcome(human, system, text, "dropped", "no overlap")
    variant = " ".join([*changed, *words[len(critical) :]])
    extra = {kind: True, "system": system, "human": human.id, "validated": "as in the human reference"}
    pair = MinimalPair(
        _id(human), human.source, " ".join(words), (variant,), human.phenomenon, "machine", extra=extra
    )
    return Outcome(human, system, text, "kept", "as in the human reference", pair)


_SHORTEST = 5  # letters of a word that is misspelled


def misspelled(pairs: Sequence[MinimalPair], seed: int) -> list[MinimalPair]:
    """For each right sentence a pair in which two neighboring letters within a word are exchanged.

    The result is no word of the test set, and the word is neither the first, nor has it a capital or a digit. In
    scripts without spaces between words there are none.
    """
    words = {word.strip(".,;:!?").lower() for pair in pairs for word in pair.correct.split()}
    made = {}
    for pair in pairs:
        sentence = pair.correct.split()
        found = [
            (place, word[:at] + word[at + 1] + word[at] + word[at + 2 :])
            for place, word in enumerate(sentence[1:], 1)
            if word.isalpha() and word == word.lower() and len(word) >= _SHORTEST and not is_unspaced(word)
            for at in range(1, len(word) - 2)
            if word[at] != word[at + 1]
        ]
        known = [(place, wrong) for place, wrong in found if wrong not in words]
        if not known or (pair.correct, pair.reference) in made:
            continue
        place, wrong = known[int(stream(seed, f"machine-references/{pair.id}").integers(len(known)))]
        variant = " ".join([*sentence[:place], wrong, *sentence[place + 1 :]])
        made[pair.correct, pair.reference] = MinimalPair(
            f"{pair.id}/{MISSPELLED}",
            pair.source,
            " ".join(sentence),
            (variant,),
            MISSPELLED,
            pair.reference,
            extra={NO_SOURCE: True},
        )
    return list(made.values())


def check_answers(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Mapping[str, Any]]:
    """Check the answers about queued translations, given as (place, row) by `annotate.answers.read_judged`."""
    found: dict[str, Mapping[str, Any]] = {}
    for place, row in rows:
        answer, name = row.get("answer"), row.get("id")
        if answer is None:
            continue
        if answer not in ANSWERS or not isinstance(name, str):
            raise BabelscopeError(
                f"{place}: 'answer' must be {', '.join(ANSWERS)} or null, and 'id' a text; "
                f"they are {shorten(str(answer))} and {shorten(str(name))}"
            )
        if name in found:
            raise BabelscopeError(f"{place}: {name!r} is answered twice")
        found[name] = row
    return list(found.values())


def _human_pairs(pairs: Sequence[MinimalPair], mode: str | None) -> list[MinimalPair]:
    """The pairs with human references; an error if variants of one of them cannot be made."""
    human = [pair for pair in pairs if pair.reference == "human"]
    if not human:
        raise BabelscopeError("there are no pairs with human references to start from")
    for pair in human:
        if pair.phenomenon not in error_types():
            raise BabelscopeError(
                f"item {pair.id}: {pair.phenomenon!r} is no error type whose variants can be made again; "
                f"there are {', '.join(error_types())}"
            )
    if mode is not None and not any(mode in error_type(pair.phenomenon).modes for pair in human):
        raise BabelscopeError(f"none of the error types has a mode {mode!r}")
    return human


def _check_languages(pairs: Sequence[MinimalPair], texts: Sequence[str], what: str) -> None:
    """Refuse texts, one per pair, that are as a set in another language than the error types of the pairs."""
    found: dict[str, list[str]] = {}
    for pair, text in zip(pairs, texts, strict=True):
        found.setdefault(error_type(pair.phenomenon).language, []).append(text)
    for code, own in found.items():
        check_language(own, code, what=what, needed_by="the rules of these error types")


def assign_systems(
    sources: Sequence[str], systems: int, shares: Sequence[float], seed: int
) -> dict[str, int | None]:
    """Index of the system that translates each source; None for sources beyond all shares."""
    if not systems:
        raise BabelscopeError("there is no system to translate with")
    shares = shares or [1 / systems] * systems
    if len(shares) != systems:
        raise BabelscopeError(f"{systems} systems need as many shares, not {len(shares)}")
    if min(shares) <= 0 or sum(shares) > 1 + 1e-9:
        raise BabelscopeError("shares must be above 0, and together at most 1")
    distinct = list(dict.fromkeys(sources))
    order = stream(seed, "machine-references/shares").permutation(len(distinct))
    found: dict[str, int | None] = dict.fromkeys(distinct)
    for number in range(systems):
        first, last = (round(sum(shares[:upto]) * len(distinct)) for upto in (number, number + 1))
        found |= {distinct[place]: number for place in order[first:last]}
    return found


def _translations(
    pairs: Sequence[MinimalPair], systems: Sequence[Any], chosen: Mapping[str, int | None], beam: int
) -> dict[str, str]:
    found: dict[str, str] = {}
    first = {pair.source: pair.id for pair in reversed(pairs)}
    for number, system in enumerate(systems):
        distinct = list(dict.fromkeys(pair.source for pair in pairs))
        held = align_to_sources(system, "the distinct sources of the pairs", distinct)
        sources = [source for source in distinct if chosen[source] == number]

        def locate(what: str, at: int, sources: list[str] = sources) -> str:
            return f"item {first[sources[at - 1]]}: {what}"

        if sources:
            with relocate_errors(locate):
                answers = ask_translate(held, sources, beam=beam)
            found |= {source: answer[0].text for source, answer in zip(sources, answers, strict=True)}
    return found


def _id(human: MinimalPair) -> str:
    return f"{human.id}/machine"


def _question(human: MinimalPair, translation: str) -> str:
    """Id of a queued translation; its digest keeps answers from being used for another translation."""
    return f"{_id(human)}/{digest_json(translation)[:8]}"


def _difference(made: ErrorType, correct: str, contrastive: str) -> Variant:
    return changed_words(correct, contrastive, language(made.language).tokenize)


def _analyzed(made: ErrorType, text: str) -> Analyzed[Any]:
    return language(made.language).analyzer().analyze(text)


@dataclass(slots=True)
class _Maker:
    """Makes a machine pair from a human pair and a translation, or gives the reason why not."""

    seed: int
    mode: str | None
    answers: Mapping[str, Mapping[str, Any]]
    made: set[tuple[str, ...]] = field(default_factory=set)
    """Phenomenon and texts of the pairs made so far."""

    def outcome(self, human: MinimalPair, system: str, translation: str, rejected: str | None) -> Outcome:
        """What becomes of a human pair, given a translation of its source and the reason to reject that, if any.

        A person may still judge a rejected one: a translation that lacks a clause is too short, and is an error.
        """

        def dropped(reason: str) -> Outcome:
            return Outcome(human, system, translation, "dropped", reason)

        if not translation.strip():
            return dropped("empty translation")
        if rejected == COPY:
            return dropped(COPY)
        made = error_type(human.phenomenon)
        if other_language(translation, made.language):
            return dropped("another language")
        read = _analyzed(made, translation)
        own = self._variants(made, human, read)
        right = self._right(made, human, read, own)
        if right and rejected:
            return dropped(rejected)
        if right:
            return self._kept(human, system, translation, right, "as in the human reference")
        places = self._doubtful(made, human, read)
        if places is None:
            return dropped("no overlap" if own else "no variant")
        answer = self.answers.get(_question(human, translation), {})
        said = answer.get("answer")
        if said == WRONG_REFERENCE:
            return self._corrected(human, system, translation, answer)
        if said == RIGHT and own:
            return self._kept(human, system, translation, own, "a person says right")
        if said is not None:
            return dropped(
                "a person says right, but it has no variant" if said == RIGHT else "a person cannot tell"
            )
        changed = _difference(made, human.correct, human.contrastive[0])
        single = len(places) == 1 and changed.word and " " not in changed.word + changed.changed
        correction = replace_word(read, read.tokens[places[0]], changed.word).text if single else None
        return Outcome(human, system, translation, "queued", "contrastive word", correction=correction)

    def _variants(self, made: ErrorType, human: MinimalPair, read: Analyzed[Any]) -> list[Variant]:
        return made.variants(read, self.mode if self.mode in made.modes else None, source=human.source)

    def _right(
        self, made: ErrorType, human: MinimalPair, read: Analyzed[Any], own: list[Variant]
    ) -> list[Variant]:
        """Variants of the translation, if it has the phenomenon in the same words as the human reference."""
        overlap = made.overlap
        if overlap.wrong_places is not None and not overlap.by_count:
            return own if overlap.wrong_places(human.source, read) is None else []
        reference = _analyzed(made, human.correct)
        if overlap.by_count:
            return own if len(own) >= len(self._variants(made, human, reference)) else []
        changed = _difference(made, human.correct, human.contrastive[0])
        known = marks(overlap, reference, changed)
        fitting = [each for each in own if known & marks(overlap, read, each)]
        return [each for each in fitting if each.changed.lower() == changed.changed.lower()] or fitting

    def _doubtful(self, made: ErrorType, human: MinimalPair, read: Analyzed[Any]) -> list[int] | None:
        """Indices of tokens where the translation seems to have the human variant's error; None if it has not."""
        if made.overlap.wrong_places is not None:
            return made.overlap.wrong_places(human.source, read)
        changed = _difference(made, human.correct, human.contrastive[0])
        if not changed.changed:
            lost = is_lost(made.overlap, read, _analyzed(made, human.correct), changed)
            return [] if lost and can_detect(made.name, human.source) else None
        wrong = _analyzed(made, human.contrastive[0])
        return find_same_error(made.overlap, read, wrong, changed) or None

    def _kept(
        self, human: MinimalPair, system: str, translation: str, variants: Sequence[Variant], reason: str
    ) -> Outcome:
        number = stream(self.seed, f"machine-references/{human.id}").integers(len(variants))
        return self._pair(human, system, translation, translation, variants[int(number)], reason)

    def _corrected(
        self, human: MinimalPair, system: str, translation: str, answer: Mapping[str, Any]
    ) -> Outcome:
        """The pair of a person's correction and the translation as its wrong variant."""
        correction = answer.get("correction")
        if not isinstance(correction, str) or not correction.strip() or correction == translation:
            raise BabelscopeError(
                f"answer {_id(human)}: a wrong translation needs a right version of it in the field 'correction'"
            )
        variant = _difference(error_type(human.phenomenon), correction, translation)
        return self._pair(human, system, translation, correction, variant, "a person says wrong")

    def _pair(
        self, human: MinimalPair, system: str, translation: str, correct: str, variant: Variant, reason: str
    ) -> Outcome:
        key = (human.phenomenon, human.source, correct, variant.text)
        if key in self.made:
            return Outcome(human, system, translation, "dropped", "duplicate")
        self.made.add(key)
        extra = {
            "word": variant.word,
            "changed": variant.changed,
            "position": variant.start,
            "system": system,
            "human": human.id,
            "validated": reason,
        }
        pair = MinimalPair(
            _id(human), human.source, correct, (variant.text,), human.phenomenon, "machine", extra=extra
        )
        return Outcome(human, system, translation, "kept", reason, pair)
