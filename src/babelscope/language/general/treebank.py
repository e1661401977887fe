"""What a treebank says about its language: what agrees, which cases words take, which orders are fixed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import permutations
from typing import NamedTuple

from babelscope.language.general.lexicons import Apertium, Entry, Lexicon, Lexicons, Table, entries_of
from babelscope.language.general.sentence import (
    Features,
    Sentence,
    compatible,
    features,
    subjects,
    with_person,
    word_class,
)
from babelscope.language.ud import Word, relation

AGREEING = ("Number", "Person", "Gender", "Case")
_CELL = (*AGREEING, "Animacy", "Mood", "Tense", "Definite")
"""Features that name a cell of a paradigm."""
_SYNCRETIC = 0.15
"""The share of paradigms in which two cells have the same form, from which it is taken for possible in others whose
form has the same last letter."""
_NEARLY_ALWAYS_SYNCRETIC = 0.5
"""The same for any last letter."""
_CONCORD = 0.8
_WELL_KNOWN = 3
_LEAST_PAIRS = 20
_LEAST_AGREEMENT = 0.9
_LEAST_ABOVE_CHANCE = 0.6
_FIXED = 0.98
"""The lower bound of the share of a fixed order."""
_LEAST_FORMS = 5
"""How many forms with an ending must be known before the ending says anything about another form."""
_LONGEST_ENDING = 5
_MOST_NAMES = 2_000
_MOST_READINGS = 100_000


class Link(NamedTuple):
    """Two words that may have to agree."""

    kind: str
    """np, subject or predicate."""
    detail: str
    target: Word
    """The word that takes the features of the other one."""
    controller: Word


@dataclass
class Agreement:
    """How often two kinds of words agree in a feature."""

    pairs: int = 0
    agreeing: int = 0
    controllers: Counter[str] = field(default_factory=Counter)
    targets: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        return self.agreeing / self.pairs if self.pairs else 0.0

    @property
    def chance(self) -> float:
        """The share of agreeing pairs if the two words did not depend on each other."""
        all_targets = self.targets.total() or 1
        return sum(
            count / self.pairs * self.targets[value] / all_targets
            for value, count in self.controllers.items()
        )

    @property
    def is_rule(self) -> bool:
        """Whether the words have to agree: they nearly always do, and far more often than by chance."""
        if self.pairs < _LEAST_PAIRS or self.share < _LEAST_AGREEMENT or len(self.targets) < 2:
            return False
        return self.share - self.chance > _LEAST_ABOVE_CHANCE * (1 - self.chance)


def links(sentence: Sentence) -> tuple[Link, ...]:
    """The pairs of words of a sentence that agree in some languages; found once."""
    found: tuple[Link, ...] | None = sentence.__dict__.get("links")
    if found is None:
        found = sentence.__dict__["links"] = tuple(_links(sentence))
    return found


def _links(sentence: Sentence) -> Iterator[Link]:
    """The pairs of words that agree in some languages."""
    for word in sentence.words:
        head = sentence.head(word)
        if head is None:
            continue
        name = relation(word)
        if name in ("det", "amod", "acl", "nummod") and head.upos in ("NOUN", "PROPN"):
            feats = features(word.feats)
            if word_class(word.upos, feats) == "nominal" and not sentence.below(word, "nsubj"):
                yield Link("np", f"{name} {word.upos}", word, head)
    for subject, head in subjects(sentence):
        if (verb := sentence.finite(head)) is not None:
            yield Link("subject", "relative" if relation(head) == "acl" else "", verb, subject)
        if word_class(head.upos, features(head.feats)) == "nominal" and head.upos in ("ADJ", "VERB", "AUX"):
            parts = {each.deprel for each in sentence.below(head, "aux", "cop")}
            voice = "passive" if subject.deprel == "nsubj:pass" or "aux:pass" in parts else ""
            how = "copula" if "cop" in parts else "auxiliary" if "aux" in parts else ""
            yield Link("predicate", f"{head.upos} {voice or how}", head, subject)


@dataclass
class Treebank:
    """Counts over parsed sentences."""

    sentences: int = 0
    agreements: dict[tuple[str, str, str], Agreement] = field(default_factory=lambda: defaultdict(Agreement))
    """By kind and detail of a link, and feature."""
    odd_controllers: set[tuple[str, str]] = field(default_factory=set)
    """(feature, lemma) of words that others disagree with: collective nouns."""
    used: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    """(kind of link, target's form) -> features of controllers that it was seen with."""
    cases: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Adposition -> cases of what it governs."""
    noun_cases: Counter[str] = field(default_factory=Counter)
    roles: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Relation -> cases of subjects, objects and attributes without an adposition."""
    orders: dict[tuple[str, ...], list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    """(relation, tags of dependent and head), or (relation, lemma) -> how often before the head, and after."""
    verbs: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(feature, value) of finite verbs."""
    endings: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """(class of words, ending) -> number of forms by their features."""
    names: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    """Features of names -> names."""
    pronouns: dict[tuple[str, str], None] = field(default_factory=dict)
    """(form, features) of personal pronouns that are subjects."""
    negators: Counter[str] = field(default_factory=Counter)
    negator_places: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(negating word, where it stands)."""
    partners: Counter[str] = field(default_factory=Counter)
    """Negating words that stand with another one at the same head."""
    clauses_negated: Counter[str] = field(default_factory=Counter)
    """Words that stand with a negation at the same head: how often."""
    words: Counter[str] = field(default_factory=Counter)
    """How often such words stand anywhere."""
    forms: Counter[str] = field(default_factory=Counter)
    """How often each form was seen."""
    lexicon: Table = field(default_factory=lambda: Table("the treebank", ()))
    _seen: set[tuple[str, str, str]] = field(default_factory=set, repr=False)

    def add(self, sentence: Sentence) -> None:
        """Count a sentence."""
        self.sentences += 1
        self.lexicon.add(entries_of(sentence.tree))
        for entry in entries_of(sentence.tree):
            self._add_ending(entry)
        for word in sentence.words:
            self._add_word(sentence, word)
        for link in links(sentence):
            self._add_link(link)

    def _add_ending(self, entry: Entry) -> None:
        feats = features(entry.feats)
        kind = word_class(entry.upos, feats)
        shown = _shown(feats, AGREEING)
        form = entry.form.lower()
        if kind not in ("finite", "nominal") or (kind, form, shown) in self._seen:
            return
        self._seen.add((kind, form, shown))
        for length in range(1, min(_LONGEST_ENDING, len(form)) + 1):
            self.endings[kind, form[-length:]][shown] += 1

    def _add_word(self, sentence: Sentence, word: Word) -> None:
        feats = features(word.feats)
        self.forms[word.form.lower()] += 1
        head, name = sentence.head(word), relation(word)
        if word.upos in ("ADV", "PRON", "DET", "PART"):
            self.words[word.lemma] += 1
        if word.upos == "PRON" and name == "nsubj" and feats.get("PronType", frozenset({"Prs"})) == {"Prs"}:
            self.pronouns[word.form.lower(), word.feats] = None
        if word_class(word.upos, feats) == "finite":
            self.verbs.update((feature, value) for feature in AGREEING for value in feats.get(feature, ()))
        if word.upos == "NOUN":
            self.noun_cases.update(feats.get("Case", ()))
        if word.upos == "PROPN" and word.form.isalpha() and len(self.names[word.feats]) < _MOST_NAMES:
            self.names[word.feats][word.form] = None
        if head is not None:
            after = word.id > head.id
            self.orders[word.deprel, word.upos, head.upos][after] += 1
            self.orders[word.deprel, word.lemma][after] += 1
        adpositions = [each for each in sentence.below(word, "case") if each.upos == "ADP"]
        if len(adpositions) == 1 and "Case" in feats:
            self.cases[adpositions[0].lemma].update(feats["Case"])
        if word.upos == "NOUN" and "Case" in feats and is_bare(sentence, word):
            self.roles[word.deprel].update(feats["Case"])
        if head is not None and is_negator(word):
            form = word.form.lower().replace("’", "'")
            self.negators[form] += 1
            partners = [each for each in sentence.children[head.id] if each != word and is_negator(each)]
            self.partners[form] += bool(partners)
            self.clauses_negated.update({each.lemma for each in sentence.children[head.id]} - {word.lemma})
            found = list(places(sentence, head))
            self.negator_places.update((form, place) for place, at in found if at == word.id)
            self.negator_places[form, ""] += bool(found)

    def _add_link(self, link: Link) -> None:
        target, controller = features(link.target.feats), with_person(link.controller)
        self.used[link.kind, link.target.form.lower()].add(link.controller.feats)
        for name in AGREEING:
            if name not in target:
                continue
            count = self.agreements[link.kind, link.detail, name]
            count.targets.update(target[name])
            if name in controller:
                count.pairs += 1
                count.controllers.update(controller[name])
                agrees = bool(target[name] & controller[name])
                count.agreeing += agrees
                if not agrees:
                    self.odd_controllers.add((name, link.controller.lemma))

    def is_rule(self, kind: str, detail: str, name: str) -> bool:
        found = self.agreements.get((kind, detail, name))
        if found is None:
            return False
        if kind == "subject":  # verbs without a subject count: they say what others are possible
            found = Agreement(found.pairs, found.agreeing, found.controllers, self._verb_values(name))
        return found.is_rule

    def _verb_values(self, name: str) -> Counter[str]:
        return Counter({value: count for (feature, value), count in self.verbs.items() if feature == name})

    @cached_property
    def negation(self) -> str | None:
        """The word that negates a verb alone; None if there is none."""
        alone = {form: n - self.partners[form] for form, n in self.negators.items()}
        form = max(alone, key=lambda each: alone[each], default="")
        return form if form and alone[form] >= _LEAST_FORMS and not self.needs_partner(form) else None

    def is_negative_only(self, lemma: str) -> bool:
        """Whether a word hardly ever stands without a negation: Russian никогда, never."""
        together = self.clauses_negated[lemma]
        return together > 1 and together >= _CONCORD * self.words[lemma] > 0

    @cached_property
    def syncretism(self) -> dict[tuple[str, str, str], list[Features]]:
        """(class of words, cell of a paradigm, last letter or "") -> other cells that often have the same form."""
        same: Counter[tuple[str, str, str, str]] = Counter()
        both: Counter[tuple[str, str, str, str]] = Counter()
        for (_, upos), entries in self.lexicon.lemmas():
            cells: dict[tuple[str, str], set[str]] = defaultdict(set)
            for entry in entries:
                feats = features(entry.feats)
                if (kind := word_class(upos, feats)) in ("nominal", "finite"):
                    cells[kind, _cell(entry.feats)].add(entry.form.lower())
            for ((kind, one), forms), ((other_kind, other), others) in permutations(cells.items(), 2):
                for ending in {"", *(form[-1] for form in forms)} if kind == other_kind else ():
                    both[kind, one, ending, other] += 1
                    same[kind, one, ending, other] += any(form.endswith(ending) for form in forms & others)
        found: dict[tuple[str, str, str], list[Features]] = defaultdict(list)
        for (kind, one, ending, other), count in same.items():
            least = _SYNCRETIC if ending else _NEARLY_ALWAYS_SYNCRETIC
            if count > 1 and count >= least * both[kind, one, ending, other]:
                found[kind, one, ending].append(features(other))
        return dict(found)

    def needs_partner(self, form: str) -> bool:
        """Whether a negating word mostly stands with another one: French ne ... pas."""
        return 2 * self.partners[form] > self.negators[form]


@lru_cache(maxsize=50_000)
def _cell(feats: str) -> str:
    return _shown(features(feats), _CELL)


def _shown(feats: Features, names: Iterable[str]) -> str:
    return "|".join(f"{name}={','.join(sorted(feats[name]))}" for name in names if name in feats)


def _fixed_side(counts: Sequence[int]) -> int | None:
    if not sum(counts):
        return None
    from babelscope.stats.intervals import wilson_bounds

    side = int(counts[1] > counts[0])
    low, _ = wilson_bounds(counts[side] / sum(counts), sum(counts))
    return side if low > _FIXED else None


def is_bare(sentence: Sentence, word: Word) -> bool:
    """Whether a word is a subject, an object or a noun's attribute, without an adposition."""
    head, name = sentence.head(word), relation(word)
    if head is None or sentence.below(word, "case"):
        return False
    return name in ("nsubj", "obj") or (name == "nmod" and head.upos == "NOUN")


def is_negator(word: Word) -> bool:
    """Whether a word of its own negates a clause."""
    feats = features(word.feats)
    return (
        word.upos in ("PART", "ADV", "AUX")
        and "Neg" in feats.get("Polarity", ())
        and (relation(word) in ("advmod", "aux"))
    )


def places(sentence: Sentence, head: Word) -> Iterator[tuple[str, int]]:
    """(name of a place in a clause, the position of the word that is there if the place is taken)."""
    verb = sentence.finite(head)
    if verb is None:
        return
    yield "before verb", verb.id - 1
    yield "after verb", verb.id + 1
    first = verb.id
    while first > 1:
        word = sentence.words[first - 2]
        is_pronoun = word.upos == "PRON" and not sentence.children[word.id] and relation(word) != "nsubj"
        if word.head != head.id or not (
            is_pronoun or (word.upos == "AUX" and relation(word) in ("aux", "cop"))
        ):
            break
        first -= 1
    yield "before clitics", first - 1


@dataclass(frozen=True)
class Tools:
    """A treebank's counts and the lexicons of its language."""

    treebank: Treebank
    lexicons: Lexicons

    _values: dict[tuple[str, str], list[str]] = field(default_factory=dict, repr=False)
    _agreeing: dict[tuple[str, ...], bool] = field(default_factory=dict, repr=False)
    _rules: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict, repr=False)
    _readings: dict[tuple[str, str], list[Features]] = field(default_factory=dict, repr=False)
    _fixed: dict[tuple[str, ...], int | None] = field(default_factory=dict, repr=False)

    def knows_well(self, form: str) -> bool:
        """Whether a lexicon has all readings of a form, or the treebank has it often enough to have shown them."""
        complete = any(part.complete and part.analyze(form) for part in self.lexicons.parts)
        return complete or self.treebank.forms[form.lower()] >= _WELL_KNOWN

    def values(self, kind: str, name: str) -> list[str]:
        """The values of a feature in which words of a kind of link have to agree."""
        key = kind, name
        if key not in self._values:
            found = {
                value
                for (own, detail, feature), count in self.treebank.agreements.items()
                if (own, feature) == key and name in self.rules(kind, detail)
                for value in count.targets
            }
            if kind == "subject" and found:
                found.update(value for feature, value in self.treebank.verbs if feature == name)
            self._values[key] = sorted(found)
        return self._values[key]

    def rules(self, kind: str, detail: str) -> tuple[str, ...]:
        """The features in which words of a link have to agree."""
        key = kind, detail
        if key not in self._rules:
            self._rules[key] = tuple(name for name in AGREEING if self.treebank.is_rule(kind, detail, name))
        return self._rules[key]

    def fixed_side(self, *key: str) -> int | None:
        """Whether words stand before (0) or after (1) their head in nearly all cases; None if neither."""
        if key not in self._fixed:
            self._fixed[key] = _fixed_side(self.treebank.orders.get(key, [0, 0]))
        return self._fixed[key]

    def readings(self, form: str, kind: str) -> list[Features]:
        """The features that a form can have as a word of this class, by the lexicons and by its ending."""
        key = form.lower(), kind
        if key not in self._readings:
            if len(self._readings) >= _MOST_READINGS:
                self._readings.clear()
            self._readings[key] = self._read(*key)
        return self._readings[key]

    def _read(self, form: str, kind: str) -> list[Features]:
        entries = [
            entry
            for entry in self.lexicons.analyze(form)
            if word_class(entry.upos, features(entry.feats)) == kind
        ]
        found = [features(entry.feats) for entry in entries]
        if not any(part.complete and part.analyze(form) for part in self.lexicons.parts):
            found += [other for entry in entries for other in self._same_form(kind, entry)]
            found += self._guess(kind, form)
        return [each for n, each in enumerate(found) if each not in found[:n]]

    def _same_form(self, kind: str, entry: Entry) -> list[Features]:
        """Cells of a word's paradigm that are not known, and that have the same form in other paradigms."""
        cell = _cell(entry.feats)
        syncretism = self.treebank.syncretism
        likely = [
            each for end in ("", entry.form[-1:].lower()) for each in syncretism.get((kind, cell, end), ())
        ]
        known = {_cell(each.feats) for each in self.treebank.lexicon.paradigm(entry)}
        return [feats for feats in likely if _shown(feats, _CELL) not in known]

    def _guess(self, kind: str, form: str) -> list[Features]:
        """The features of known forms with the longest ending that several of them share with this one."""
        for length in range(min(_LONGEST_ENDING, len(form)), 0, -1):
            found = self.treebank.endings.get((kind, form[-length:]))
            if found is not None and found.total() >= _LEAST_FORMS:
                return [features(shown) for shown, count in found.items() if count > 1]
        return []

    def can_agree(self, form: str, link: Link) -> bool:
        """Whether a form can stand where the target of a link stands, in any of its readings."""
        word = link.controller
        key = form.lower(), link.kind, link.detail, word.form.lower(), word.upos, word.feats
        if key not in self._agreeing:
            if len(self._agreeing) >= _MOST_READINGS:
                self._agreeing.clear()
            self._agreeing[key] = self._can_agree(form, link)
        return self._agreeing[key]

    def _can_agree(self, form: str, link: Link) -> bool:
        names = self.rules(link.kind, link.detail)
        own = self._with_any_gender(link.controller)
        fixed = ("Person",) if link.controller.upos == "PRON" else ("Person", "Gender")
        controllers = [own]
        for feats in self.readings(link.controller.form, "nominal"):
            if compatible(feats, own, fixed):
                controllers.append({**feats, **{name: own[name] for name in fixed if name in own}})
        kind = "finite" if link.kind == "subject" else "nominal"
        mine = self.readings(form, kind)
        if any(compatible(one, other, names) for one in mine for other in controllers):
            return True
        used = self.treebank.used.get((link.kind, form.lower()), ())
        return any(compatible(features(each), own, AGREEING) for each in used)

    def _with_any_gender(self, word: Word) -> Features:
        """The features of a word, its gender any that the same word is known with: students may be men or women."""
        own = with_person(word)
        key = word.lemma.lower(), word.upos
        entries = self.lexicons.analyze(word.form)
        known = [features(each.feats) for each in entries if (each.lemma.lower(), each.upos) == key]
        if "Gender" not in own or word.upos != "NOUN":
            return own
        if all("Gender" in feats for feats in known):
            return {**own, "Gender": own["Gender"].union(*(feats["Gender"] for feats in known))}
        return {name: values for name, values in own.items() if name != "Gender"}


def read_treebank(sentences: Iterable[Sentence], lexicons: Iterable[Lexicon] = ()) -> Tools:
    """Count sentences; the treebank is the first lexicon."""
    treebank = Treebank()
    for sentence in sentences:
        treebank.add(sentence)
    others = tuple(lexicons)
    for lexicon in others:
        if isinstance(lexicon, Apertium):
            lexicon.prepare(form for form in treebank.lexicon.forms())
    return Tools(treebank, Lexicons((treebank.lexicon, *others)))
