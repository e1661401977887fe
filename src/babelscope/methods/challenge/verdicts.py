"""Whether a dependency survives in a translation: checks of two parsed sentences, the reference and the output."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from babelscope.core.results import Record, Row
from babelscope.language.align import Links, Words, align_ways, longest_sentence
from babelscope.language.constructions import (
    Construction,
    Sentence,
    construction,
    finite_of,
    has,
    has_orphan,
    lemmatizer_of,
    make_sentence,
    negations,
    particles_in,
    value,
)
from babelscope.language.fitness import check_language
from babelscope.language.parsers import open_parser, parser_language
from babelscope.language.ud import Tree, Word, is_finite, relation
from babelscope.methods.challenge.sets import ALL, SetName, read_instances, share_row
from babelscope.util.errors import BabelscopeError

Outcome = Literal["kept", "lost", "undecided"]
Judged = tuple[Outcome, str]
"""What became of a dependency, and why in a few words."""
_LEAST_OFTEN, _LEAST_SHARE = 2, 0.1
"""How often references must render two source words by a verb before it counts as another right one."""


class Undecided(Exception):
    """Why nothing can be said about a dependency; then what was compared in reference and output, if anything."""


def as_verdict(judged: Judged, reference: str = "", output: str = "") -> dict[str, str]:
    """A verdict as it is stored; `reference` and `output` show what was compared."""
    return {"verdict": judged[0], "why": judged[1], "reference": reference, "output": output}


@dataclass(frozen=True)
class Case:
    """A dependency in a reference and an output; positions count from 1, and are where alignment leads."""

    reference: Sentence
    output: Sentence
    head_in_reference: Sequence[int]
    dependent_in_reference: Sequence[int]
    head_in_output: Sequence[int]
    dependent_in_output: Sequence[int]
    particles: Collection[str]
    attested: Collection[str] = field(default_factory=frozenset)
    """Verbs that references of other sentences render the same two words by."""
    bare: Collection[str] = field(default_factory=frozenset)
    """Verbs without a particle that references have for the same dependent."""
    one_number: Collection[str] = field(default_factory=frozenset)
    """Pronouns that are always of one number as the subjects of references."""
    alone: bool = False
    """Whether the source has no other dependency of the phenomenon."""


def attested_verbs(counts: Mapping[str, int]) -> frozenset[str]:
    """The verbs that are seen often enough not to be mistakes of the aligner."""
    total = sum(counts.values())
    return frozenset(
        verb for verb, count in counts.items() if count >= _LEAST_OFTEN and count >= _LEAST_SHARE * total
    )


def anchor(sentence: Sentence, from_head: Sequence[int], from_dependent: Sequence[int]) -> Word | None:
    """The one verb that links of both ends lead to, else those of the head, else of the dependent."""
    ends = [
        {verb for position in positions if (verb := sentence.verb_of(position)) is not None}
        for positions in (from_head, from_dependent)
    ]
    return _only(ends[0] & ends[1] or ends[0] or ends[1])


def _only(found: Collection[Word]) -> Word | None:
    return next(iter(found)) if len(found) == 1 else None


def check(phenomenon: str, case: Case) -> dict[str, str]:
    """The verdict on a dependency of a phenomenon that CHECKS has."""
    if not case.output.words:
        return as_verdict(("lost", "the translation is empty"))
    try:
        return CHECKS[phenomenon](case)
    except Undecided as reason:
        why, *compared = reason.args
        return as_verdict(("undecided", why), *compared)


def _verbs(case: Case) -> tuple[Construction, Construction]:
    """The verb of the reference and that of the output; raises Undecided if they cannot be compared."""
    word = anchor(case.reference, case.head_in_reference, case.dependent_in_reference)
    if word is None:
        raise Undecided("no verb of the reference is aligned to it")
    wanted = construction(case.reference, word, case.particles)
    every = [construction(case.output, verb, case.particles) for verb in case.output.verbs]
    same = [each for each in every if each.stem == wanted.stem]
    linked = anchor(case.output, case.head_in_output, case.dependent_in_output)
    if len(same) > 1:
        same = [each for each in same if each.word == linked]
        if not same:
            raise Undecided("the output has the verb twice", wanted.text())
    if not same and linked is not None:
        other = construction(case.output, linked, case.particles)
        if other.verb in case.attested:
            return wanted, other
        raise Undecided("the output has another verb", wanted.text(), other.text())
    if not same:
        raise Undecided("no verb of the output is aligned to it", wanted.text())
    if linked is None and word not in map(case.reference.verb_of, case.head_in_reference):
        raise Undecided("only the dependent is aligned, and only in the reference", wanted.text())
    if linked is not None and linked != same[0].word:
        raise Undecided("the verb of the reference is in the output, for other words", wanted.text())
    return wanted, same[0]


def _particle(case: Case, wanted: Construction, other: Construction) -> Judged:
    for sentence, verb in ((case.reference, wanted), (case.output, other)):
        if not verb.particle and has_orphan(sentence):
            return "undecided", "a particle belongs to no verb in the parse"
    if other.verb == wanted.verb:
        return "kept", "the verb of the reference"
    if other.verb in case.attested:
        return "kept", "a verb of other references"
    if not wanted.particle or other.particle:
        return "undecided", "another particle"
    if other.stem in case.bare:
        return "undecided", "another reference has the verb without a particle"
    if any(word.form.lower() == wanted.particle for word in case.output.words):
        return "undecided", "the particle stands elsewhere"
    return "lost", f"the particle {wanted.particle} is missing"


def _reflexive(case: Case, wanted: Construction, other: Construction) -> Judged:
    if other.verb != wanted.verb:
        return "undecided", "another verb"
    if wanted.reflexive and other.reflexive:
        return "kept", "the reflexive verb of the reference"
    if other.reflexive:
        return "undecided", "reflexive, unlike the reference"
    theirs, pronouns = (
        [word for word in sentence.words if has(word, "Reflex=Yes")]
        for sentence in (case.reference, case.output)
    )
    if not wanted.reflexive:
        if len(pronouns) < len(theirs):
            return "undecided", "fewer reflexive pronouns than in the reference"
        return "kept", "the verb of the reference, which needs no pronoun"
    if not all(_reflexive_in(case, word) for word in pronouns):
        return "undecided", "the pronoun stands elsewhere"
    return "lost", "the reflexive pronoun is missing"


def _reflexive_in(case: Case, pronoun: Word) -> bool:
    """Whether a pronoun of the output belongs to a verb that is reflexive in the reference, too."""
    verb = case.output.verb_of(pronoun.id)
    own = construction(case.output, verb, case.particles) if verb else None
    others = [construction(case.reference, each, case.particles) for each in case.reference.verbs]
    return own is not None and any(each.reflexive and each.stem == own.stem for each in others)


def _preposition(case: Case, wanted: Construction, other: Construction) -> Judged:
    if other.verb != wanted.verb:
        return "undecided", "another verb"
    linked = {
        case.reference.lemma(word)
        for position in case.dependent_in_reference
        if (word := case.reference.words[position - 1]).upos == "ADP"
    }
    needed = wanted.prepositions & linked or wanted.prepositions
    if len(needed) > 1:
        return "undecided", "the verb of the reference has several prepositions"
    if not needed:
        if _adpositions(case.reference) - _adpositions(case.output):
            return "undecided", "not all prepositions of the reference"
        return "kept", "the verb of the reference, which needs no preposition"
    (preposition,) = needed
    if preposition in other.prepositions:
        return "kept", f"with {preposition} as in the reference"
    if any(case.output.lemma(word) == preposition for word in case.output.words):
        return "undecided", f"{preposition} stands elsewhere"
    return "lost", f"the preposition {preposition} is missing"


def _adpositions(sentence: Sentence) -> Counter[str]:
    return Counter(
        sentence.lemma(word)
        for word in sentence.words
        if word.upos == "ADP" and word.deprel != "compound:prt"
    )


def _negation(case: Case) -> dict[str, str]:
    """Whether what the reference negates, a verb or another predicate, is negated in the output."""
    reference, output = case.reference, case.output
    theirs = _negated_predicate(
        reference, case.head_in_reference, case.dependent_in_reference, alone=case.alone
    )
    if theirs is None:
        raise Undecided("no negation of the reference is aligned to it")
    stem = construction(reference, theirs, case.particles).stem
    predicates = {output.predicate_of(word) for word in output.words}
    same = {word for word in predicates if construction(output, word, case.particles).stem == stem}
    linked = _only({output.predicate_of(output.words[place - 1]) for place in case.head_in_output})
    ours = _only(same) or (linked if linked in same or not same else None)
    fewer = len(negations(output)) < len(negations(reference))
    if ours is None:
        ours = _negated_predicate(output, (), (), alone=case.alone)
        if same or ours is None or fewer:
            raise Undecided("what is negated is not in the output, or twice", theirs.form)
    judged: Judged = "kept", "the predicate is negated"
    if _negated(output, ours):
        if fewer:
            judged = "undecided", "fewer negations than in the reference"
    elif not same:
        judged = "undecided", "another predicate"
    elif fewer:
        judged = "lost", "the negation is missing"
    else:
        judged = "undecided", "the negation stands elsewhere"
    return as_verdict(judged, theirs.form, ours.form)


def _negated_predicate(
    sentence: Sentence, from_head: Sequence[int], from_dependent: Sequence[int], *, alone: bool
) -> Word | None:
    """The one negated predicate that links lead to, or the only one if the source has a single negation, too."""
    found = {word: sentence.predicate_of(word) for word in negations(sentence)}
    by_head = {sentence.predicate_of(sentence.words[place - 1]) for place in from_head} & {*found.values()}
    by_dependent = {predicate for word, predicate in found.items() if word.id in from_dependent}
    return _only(by_head & by_dependent or by_dependent or by_head or ({*found.values()} if alone else ()))


def _negated(sentence: Sentence, predicate: Word) -> bool:
    """Whether a negation belongs to a predicate, or to one next to it in the tree: parsers attach it to either."""
    near = {predicate.id, predicate.head, *(child.id for child in sentence.children[predicate.id])}
    return any(sentence.predicate_of(word).id in near for word in negations(sentence))


def _agreement(case: Case) -> dict[str, str]:
    """Whether the translation of the subject agrees with its verb in number.

    Forms of nouns and tags of parsers are ambiguous, so the reference must bear out what they say.
    """
    theirs = _subject(case.reference, case.head_in_reference, case.dependent_in_reference)
    if theirs is None:
        return _number_alone(case)
    lemma = case.reference.lemma(theirs)
    clause = {word for word in _subjects(case.output) if _same_clause(case, theirs, word)}
    same = {word for word in clause if case.output.lemma(word) == lemma}
    linked = _subject(case.output, case.head_in_output, case.dependent_in_output)
    ours = _only(same) or (linked if linked in clause else None if same else _only(clause))
    if ours is None:
        raise Undecided("no subject of the output is aligned to it, or several are")
    same_form = ours.form.lower() == theirs.form.lower()
    if not same_form and not {theirs.upos, ours.upos} <= {"NOUN", "PROPN"}:
        raise Undecided("the subject is another pronoun")
    _, meant, wanted = _numbers(case.reference, theirs, lenient=True)
    noun, verb, shown = _numbers(case.output, ours)
    inflected = not same_form and case.output.lemma(ours) == lemma
    judged: Judged = "lost", "subject and verb differ in number"
    if noun == verb and (verb == meant or inflected):
        judged = "kept", "subject and verb agree"
    elif noun == verb:
        judged = "undecided", "another number than in the reference, and the noun may be of either"
    elif verb == meant and same_form:
        judged = "kept", "noun and number of the verb as in the reference"
    elif verb == meant:
        judged = "undecided", "the parse may err about the noun"
    elif ours.upos not in ("NOUN", "PROPN") and ours.form.lower() not in case.one_number:
        judged = "undecided", "the pronoun may be of either number"
    return as_verdict(judged, wanted, shown)


def _number_alone(case: Case) -> dict[str, str]:
    """Whether the verb has the number of the reference, where neither expresses the subject: it is in the verb."""
    theirs, ours = (
        _only({word for place in places if _has_no_subject(sentence, word := sentence.words[place - 1])})
        for sentence, places in (
            (case.reference, case.head_in_reference),
            (case.output, case.head_in_output),
        )
    )
    if theirs is None:
        raise Undecided("no subject of the reference is aligned to it, or several are")
    if ours is None or case.output.lemma(ours) != case.reference.lemma(theirs):
        raise Undecided("the output has another verb, or a subject", theirs.form)
    if value(ours, "Number") == value(theirs, "Number"):
        return as_verdict(("kept", "the number of the verb"), theirs.form, ours.form)
    return as_verdict(("lost", "the verb has another number, and no subject"), theirs.form, ours.form)


def _has_no_subject(sentence: Sentence, word: Word) -> bool:
    """Whether a finite verb with a number is the predicate of a clause of its own that expresses no subject."""
    predicate = sentence.predicate_of(word)
    return (
        is_finite(word)
        and bool(value(word, "Number"))
        and relation(predicate) not in ("conj", "xcomp", "acl")
        and not any(
            relation(child) in ("nsubj", "csubj", "expl") for child in sentence.children[predicate.id]
        )
    )


def _subject(sentence: Sentence, from_head: Sequence[int], from_dependent: Sequence[int]) -> Word | None:
    """The one subject that links of the dependent lead to, or if they lead to none, those of its verb."""
    subjects = _subjects(sentence)
    by_dependent = {word for word in subjects if word.id in from_dependent}
    by_head = {word for word in subjects if not _verb_places(sentence, word).isdisjoint(from_head)}
    return _only(by_dependent & by_head or by_dependent or by_head)


def _verb_places(sentence: Sentence, subject: Word) -> set[int]:
    governor = sentence.words[subject.head - 1]
    finite = finite_of(sentence, governor)
    return {governor.id} if finite is None else {governor.id, finite.id}


def _same_clause(case: Case, reference: Word, output: Word) -> bool:
    """Whether the verb of a subject is the reference's, or what the source's verb is aligned to."""
    stem, its = (
        construction(sentence, sentence.words[word.head - 1], case.particles).stem
        for sentence, word in ((case.reference, reference), (case.output, output))
    )
    return stem == its or not _verb_places(case.output, output).isdisjoint(case.head_in_output)


def _subjects(sentence: Sentence) -> list[Word]:
    return [word for word in sentence.words if relation(word) == "nsubj" and word.head]


def _numbers(sentence: Sentence, subject: Word, *, lenient: bool = False) -> tuple[str, str, str]:
    """Numbers of a subject and of its verb, and both as one reads them; raises Undecided if they are unknown.

    If lenient, a verb of which the number is not in the parse has that of its subject: a reference is right.
    """
    finite = finite_of(sentence, sentence.words[subject.head - 1])
    shown = f"{subject.form} … {finite.form}" if finite else subject.form
    if any(relation(child) == "conj" for child in sentence.children[subject.id]):
        raise Undecided("the subject is coordinated", "", shown)
    if subject.upos not in ("NOUN", "PROPN", "PRON", "DET"):
        raise Undecided("the subject is no noun", "", shown)
    noun = value(subject, "Number")
    verb = (value(finite, "Number") if finite else "") or (noun if lenient else "")
    if not noun or not verb:
        raise Undecided("the number is not in the parse", "", shown)
    return noun, verb, shown


def _of_verbs(
    judge: Callable[[Case, Construction, Construction], Judged],
) -> Callable[[Case], dict[str, str]]:
    """A check that compares the verbs of reference and output, which its verdict shows."""

    def compare(case: Case) -> dict[str, str]:
        wanted, other = _verbs(case)
        return as_verdict(judge(case, wanted, other), wanted.text(), other.text())

    return compare


CHECKS: Mapping[str, Callable[[Case], dict[str, str]]] = {
    "particle": _of_verbs(_particle),
    "reflexive": _of_verbs(_reflexive),
    "preposition_stranding": _of_verbs(_preposition),
    "subject_verb_agreement": _agreement,
    "negation_scope": _negation,
}
"""The phenomena that can be judged; all others are undecided."""
FEWEST_PAIRS = 500
"""Sentence pairs from which the aligner must learn before anything is decided by it."""
FEWEST_SEEN = 3
"""Sentences that a word must be in before a link of it is believed."""
_SYMMETRIZATION = "grow-diag-final-and"
_SETTLED = 5
"""Subjects of references that a pronoun must be before it counts as always of one number."""
_STEM = 5
"""Letters of a source word that the aligner sees: inflected forms of a word are then mostly one."""
_TOKEN = re.compile(r"\w+|[^\w\s]")
_NEAR = 3
"""Words by which a position may differ between a parse and our count."""
_NO_TREE = Tree((), (), "", "", 1, 1)
_WITHOUT_VERB = 0.5
"""Share of references without a finite verb above which the parser does not fit them."""

Span = tuple[int, int]


def judge_dependencies(
    records: Sequence[Record], parser_spec: str, language: str | None = None
) -> list[list[dict[str, str]]]:
    """For each record, the verdicts on its dependencies, in their order; needs all records of a system at once."""
    parser = open_parser(parser_spec)  # first, since it may be refused: a stranger's run may name any file
    language = language or parser_language(parser_spec)
    references = [_one_line(record["references"][0]) for record in records]
    outputs = [_one_line(record["translation"]) for record in records]
    if language:
        check_language(references, language, what="the references", needed_by=f"the parser {parser_spec}")
    lemmatizer = lemmatizer_of(language)
    parsed, translated = (
        [make_sentence(tree or _NO_TREE, lemmatizer) for tree in parser(texts)]
        for texts in (references, outputs)
    )
    _require_verbs(parsed, parser_spec)
    sources = [[_stem(word) for word in _TOKEN.findall(record["source"])] for record in records]
    links = _align([*zip(sources, parsed, strict=True), *zip(sources, translated, strict=True)])
    seen = Counter(word for words in sources for word in set(words))
    halves = links[: len(records)], links[len(records) :]
    pairs = [_Pair(*each, seen) for each in zip(records, parsed, translated, *halves, strict=True)]
    return _verdicts(pairs)


def _stem(word: str) -> str:
    return word.lower()[:_STEM]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _require_verbs(sentences: Sequence[Sentence], parser: str) -> None:
    without = sum(all(finite_of(each, word) is None for word in each.words) for each in sentences)
    if without > _WITHOUT_VERB * len(sentences):
        raise BabelscopeError(
            f"the parser {parser} finds no finite verb in {without} of {len(sentences)} references; is it one of "
            "their language?"
        )


@dataclass(frozen=True, slots=True)
class _Alignment:
    """The links from a source to lemmas."""

    links: Links
    sure: Links
    """Those that are found in both directions."""

    def follow(self, source: Collection[int], believed: Collection[int]) -> list[int]:
        """Where source words lead to, positions from 1: by sure links, else by any of words that are `believed`."""
        sure = {target + 1 for place, target in self.sure if place in source}
        return sorted(
            sure or {target + 1 for place, target in self.links if place in source and place in believed}
        )


def _align(pairs: Sequence[tuple[Words, Sentence]]) -> list[_Alignment | None]:
    """The alignments of pairs; None where a sentence is too long or the pairs are too few."""
    longest = longest_sentence()
    short = [
        number
        for number, (source, target) in enumerate(pairs)
        if 0 < len(source) <= longest and 0 < len(target.words) <= longest
    ]
    found: list[_Alignment | None] = [None] * len(pairs)
    if len(short) < 2 * FEWEST_PAIRS:
        return found
    made = align_ways([(pairs[n][0], pairs[n][1].lemmas) for n in short], (_SYMMETRIZATION, "intersection"))
    for number, *links in zip(short, *made, strict=True):
        found[number] = _Alignment(*links)
    return found


@dataclass(frozen=True, slots=True)
class _Pair:
    """A record with its two parsed targets and their alignments to the source."""

    record: Record
    reference: Sentence
    output: Sentence
    to_reference: _Alignment | None
    to_output: _Alignment | None
    seen: Mapping[str, int]
    """Stems of sources -> number of sentences that have them."""

    def case(self, dependency: Mapping[str, Any], particles: frozenset[str], *, alone: bool) -> Case:
        """Where a dependency is in reference and output; raises Undecided if that is unknown."""
        if dependency["phenomenon"] not in CHECKS:
            raise Undecided("there is no check for this phenomenon")
        if self.to_reference is None or (self.to_output is None and self.output.words):
            raise Undecided("not aligned: too few sentences, or a sentence too long")
        target = dependency.get("side") == "target"
        places = []
        for end in ("head", "dependent"):
            span = span_of(dependency, end, self.record["references"][0] if target else self.record["source"])
            if span is None:
                raise Undecided(f"the place of the {end} is unknown")
            places.append(self._follow(span, target=target))
        (head, head_out), (dependent, dependent_out) = places
        places_found = head, dependent, head_out, dependent_out
        return Case(self.reference, self.output, *places_found, particles, alone=alone)

    def _follow(self, span: Span, *, target: bool) -> tuple[list[int], list[int]]:
        """Positions, from 1, in reference and output of what stands at these characters."""
        assert self.to_reference is not None
        tokens = list(_TOKEN.finditer(self.record["source"]))
        believed = {n for n, each in enumerate(tokens) if self.seen[_stem(each.group())] >= FEWEST_SEEN}
        if target:
            text = _one_line(self.record["references"][0])
            offsets = self.reference.tree.offsets(text) if self.reference.tree.matches(text) else []
            here = [n for n, each in enumerate(offsets, 1) if _overlap(each, span)]
            own = {source for source, place in self.to_reference.links if place + 1 in here}
        else:
            own = {n for n, each in enumerate(tokens) if _overlap(each.span(), span)}
            here = self.to_reference.follow(own, believed)
        return here, self.to_output.follow(own, believed) if self.to_output else []


def span_of(dependency: Mapping[str, Any], end: str, text: str) -> Span | None:
    """The characters of head or dependent: as given, else its form where it is nearest to its position."""
    given = dependency.get(f"{end}_at")
    if isinstance(given, list) and len(given) == 2 and all(isinstance(each, int) for each in given):
        return given[0], given[1]
    form, position = dependency.get(f"{end}_form"), dependency.get(end)
    if not isinstance(form, str) or not form:
        return None
    tokens = enumerate(_TOKEN.finditer(text), 1)
    found = [(number, each.span()) for number, each in tokens if each.group() == form]
    if len(found) > 1 and isinstance(position, int):
        # A parse counts otherwise than we do where it splits words, so a few words off is the same word.
        away = sorted((abs(number - position), number, span) for number, span in found)
        found = [away[0][1:]] if away[0][0] <= _NEAR and away[0][0] < away[1][0] else []
    return found[0][1] if len(found) == 1 else None


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _verdicts(pairs: Sequence[_Pair]) -> list[list[dict[str, str]]]:
    """The verdicts on each pair's dependencies, knowing how references render the same words elsewhere."""
    particles = particles_in(pair.reference for pair in pairs)
    one_number = _one_number(pair.reference for pair in pairs)
    # Phenomenon and words of a dependency -> the verbs that references render it by; phenomenon and dependent ->
    # those of them without a particle, whatever the head.
    attested: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    bare: dict[tuple[str, ...], set[str]] = defaultdict(set)
    cases: list[list[tuple[Mapping[str, Any], Case | str]]] = []
    for pair in pairs:
        holder = pair.record if "dependencies" in pair.record else pair.record["extra"]
        cases.append([])
        names = Counter(dependency["phenomenon"] for dependency in holder["dependencies"])
        for dependency in holder["dependencies"]:
            try:
                case = pair.case(dependency, particles, alone=names[dependency["phenomenon"]] == 1)
            except Undecided as reason:
                cases[-1].append((dependency, str(reason)))
                continue
            cases[-1].append((dependency, case))
            verb = anchor(case.reference, case.head_in_reference, case.dependent_in_reference)
            found = construction(case.reference, verb, particles) if verb else None
            if found and (found.particle or not has_orphan(case.reference)):
                attested[_key(dependency)][found.verb] += 1
                if not found.particle:
                    bare[_key(dependency)[:-1]].add(found.stem)

    def verdict(dependency: Mapping[str, Any], case: Case | str) -> dict[str, str]:
        if isinstance(case, str):
            return as_verdict(("undecided", case))
        key = _key(dependency)
        known = replace(
            case, attested=attested_verbs(attested[key]), bare=bare[key[:-1]], one_number=one_number
        )
        return check(dependency["phenomenon"], known)

    return [[verdict(*each) for each in own] for own in cases]


def _one_number(references: Iterable[Sentence]) -> frozenset[str]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for sentence in references:
        for word in _subjects(sentence):
            found[word.form.lower()][value(word, "Number")] += 1
    return frozenset(form for form, own in found.items() if len(own) == 1 and own.total() >= _SETTLED)


def _key(dependency: Mapping[str, Any]) -> tuple[str, ...]:
    names = ("phenomenon", "side", "dependent_form", "head_form")
    return tuple(str(dependency.get(name, "")).lower() for name in names)


def verdict_rows(records: Sequence[Record], distances: Sequence[int]) -> list[Row]:
    """Of the dependencies that were decided on, how many were kept: of all, by phenomenon, and by distance."""
    groups: dict[SetName, list[tuple[str, str]]] = {}
    for record in records:
        found = read_instances(record.get("extra", {}), f"item {record['id']}")
        for instance, verdict in zip(found, record.get("verdicts", ()), strict=False):
            if instance.phenomenon in CHECKS:
                least = [each for each in distances if instance.distance >= each]
                sets = (SetName(instance.phenomenon, instance.side, each) for each in least)
                for name in (SetName(ALL), *sets):
                    groups.setdefault(name, []).append((verdict["verdict"], record["source"]))
    rows = []
    for name, verdicts in groups.items():
        counts = Counter(verdict for verdict, _ in verdicts)
        numbers = {each: counts[each] for each in ("kept", "lost", "undecided")}
        decided = [(verdict == "kept", source) for verdict, source in verdicts if verdict != "undecided"]
        labels = {each: value for each, value in name.labels.items() if each != "unit"}
        rows.append(share_row("dependency_kept", labels, decided, numbers))
    return sorted(rows, key=lambda row: [str(each) for each in row.labels.values()])
