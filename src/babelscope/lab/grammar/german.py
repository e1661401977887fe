"""Realizes a meaning in German: one of many sentences, as the chooser decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from babelscope.lab.grammar.lexicon import (
    ADJECTIVE,
    ADJECTIVES,
    ADVERBS,
    CONJUNCTIONS,
    CONTRACTIONS,
    NOUNS,
    PREPOSITIONS,
    PRONOUN,
    RELATIVE,
    VERBS,
    GermanNoun,
    GermanVerb,
    column,
    declension,
    determiner,
    features,
    finite_features,
    nominal_features,
)
from babelscope.lab.grammar.meaning import (
    Adjunct,
    Chooser,
    Clause,
    Entity,
    Forms,
    Meaning,
    Relative,
    Word,
    join_clauses,
    punctuation,
)

T = TypeVar("T")
Order = Literal["main", "final", "zu"]
Gap = tuple[str, str, bool]  # role, gender and number of what a relative pronoun stands for
MARKED = {
    "m": frozenset("männlich" + e for e in ("e", "en", "er", "es", "em")),
    "f": frozenset("weiblich" + e for e in ("e", "en", "er", "es", "em")),
}


@dataclass(slots=True)
class Phrase:
    """Words around a head; `tail` is a relative clause, which may be moved away."""

    words: list[Word]
    head: Word
    tail: list[Word] = field(default_factory=list)

    @property
    def all(self) -> list[Word]:
        """The words with the relative clause in its place."""
        return self.words + self.tail


class Phrases:
    """Realizes noun phrases as the chooser decides, and remembers the gender of named entities."""

    def __init__(self, choose: Chooser) -> None:
        self.choose = choose
        self.genders: dict[str, str] = {}

    def clause(self, c: Clause, path: str, order: Order, gap: Gap | None = None) -> tuple[list[Word], Word]:
        """A clause, needed here for relative clauses."""
        raise NotImplementedError

    def pick(
        self, options: Sequence[tuple[T, float]], forms: Sequence[Forms] | None = None, *, facts: bool = False
    ) -> T:
        """One of several weighted alternatives."""
        if len(options) == 1:
            return options[0][0]
        return options[self.choose([weight for _, weight in options], forms, facts=facts)][0]

    def pick_word(
        self, options: Sequence[tuple[str, float]], upos: str, deprel: str, head: Word, key: str
    ) -> Word:
        """One of several synonyms that are never inflected."""
        form = self.pick(options, [frozenset((word,)) for word, _ in options])
        return Word(form, form, upos, "_", deprel, head, (key,))

    def maybe(self, share: float) -> bool:
        return self.choose((1 - share, share)) == 1

    def noun(self, entity: Entity) -> GermanNoun:
        """The German noun for a participant; a gender that English does not show is drawn by the share of women."""
        noun = NOUNS[entity.noun]
        options = list(noun.german)
        if noun.feminine:
            women = {"m": 0.0, "f": 1.0}.get(entity.gender, noun.women)
            options = []
            for nouns, share in ((noun.german, 1 - women), (noun.feminine, women)):
                total = sum(weight for _, weight in nouns)
                options += [(word, share * weight / total) for word, weight in nouns if share]
        return self.pick(options, [word.forms for word, _ in options], facts=bool(noun.feminine))

    def phrase(
        self, entity: Entity, case: str, path: str, deprel: str, head: Word | None, prep: str = ""
    ) -> Phrase:
        if entity.det == "pron":
            return self.pronoun(entity, case, path, deprel, head, prep)
        noun = self.noun(entity)
        if entity.name:
            self.genders[entity.name] = "p" if entity.plural else noun.gender
        col = column(noun.gender, entity.plural)
        feats = nominal_features(case, noun.gender, entity.plural)
        center = Word(noun.form(case, entity.plural), noun.lemma, "NOUN", feats, deprel, head, (path + ".n",))
        concept = NOUNS[entity.noun]
        if concept.feminine:
            center.tag = f"occupation:{concept.name}:{noun.gender}"
        elif concept.sense:
            center.tag = f"sense:{concept.english}:{concept.sense}"
        owner = self.possessive(entity)
        article = determiner(entity.det, case, col, owner)
        words: list[Word] = []
        contracted = CONTRACTIONS.get((prep, article), "")
        if contracted and not entity.relative:
            keys = (path + ".case", path + ".d")
            more = nominal_features(case, noun.gender, entity.plural, Definite="Def", PronType="Art")
            words.append(Word(contracted, prep, "ADP", more, "case", center, keys))
            article = ""
        elif prep:
            words.append(Word(prep, prep, "ADP", "_", "case", center, (path + ".case",)))
        if article:
            words.append(self.article(entity, article, owner, case, noun.gender, center, path + ".d"))
        names = [(name, f"{path}.a{i}") for i, name in enumerate(entity.adjectives)]
        if entity.marked:
            # Usually the noun alone shows the gender: "die Ärztin", seldom "die weibliche Ärztin".
            if self.choose((0.8, 0.2), (frozenset((center.form,)), MARKED[entity.gender])):
                names.append(("female" if entity.gender == "f" else "male", path + ".m"))
            else:
                center.keys += (path + ".m",)
        ending = ADJECTIVE[declension(entity.det, col)][case][col]
        for name, key in names:
            adjective = ADJECTIVES[name]
            more = nominal_features(case, noun.gender, entity.plural, Degree="Pos")
            words.append(Word(adjective.stem + ending, adjective.german, "ADJ", more, "amod", center, (key,)))
        words.append(center)
        if entity.modifier:
            words += self.adjunct(entity.modifier, path + ".p", "nmod", center).all
        if not entity.relative:
            return Phrase(words, center)
        return Phrase(words, center, self.relative(entity, entity.relative, noun.gender, path + ".x", center))

    def possessive(self, entity: Entity) -> str:
        """The stem of the possessive: sein for masculine and neuter owners, ihr for feminine and plural."""
        if entity.det != "poss":
            return ""
        return "ihr" if self.genders[entity.refers] in "fp" else "sein"

    def article(
        self, entity: Entity, form: str, owner: str, case: str, gender: str, head: Word, key: str
    ) -> Word:
        lemma, more = {
            "def": ("der", {"Definite": "Def", "PronType": "Art"}),
            "indef": ("ein", {"Definite": "Ind", "PronType": "Art"}),
            "no": ("kein", {"PronType": "Neg"}),
            "this": ("dieser", {"PronType": "Dem"}),
            "poss": (owner, {"Poss": "Yes", "PronType": "Prs"}),
        }[entity.det]
        deprel = "det:poss" if entity.det == "poss" else "det"
        feats = nominal_features(case, gender, entity.plural, **more)
        return Word(form, lemma, "DET", feats, deprel, head, (key,))

    def pronoun(
        self, entity: Entity, case: str, path: str, deprel: str, head: Word | None, prep: str
    ) -> Phrase:
        gender = self.genders[entity.refers]
        plural = gender == "p"
        feats = nominal_features(case, "" if plural else gender, plural, Person="3", PronType="Prs")
        col = column(gender, plural)
        word = Word(PRONOUN[case][col], PRONOUN["Nom"][col], "PRON", feats, deprel, head, (path + ".n",))
        before = [Word(prep, prep, "ADP", "_", "case", word, (path + ".case",))] if prep else []
        return Phrase([*before, word], word)

    def adjunct(self, adjunct: Adjunct, path: str, deprel: str, head: Word) -> Phrase:
        """A prepositional phrase, or the genitive that stands for "of"."""
        options = PREPOSITIONS[adjunct.preposition].german
        contracted = [[c for (prep, _), c in CONTRACTIONS.items() if prep == form] for form, _, _ in options]
        forms = [frozenset((form, *more)) for (form, _, _), more in zip(options, contracted, strict=True)]
        # The genitive has no word of its own, so no vocabulary can rule it out.
        open_ = forms if all(form for form, _, _ in options) else None
        index = self.choose([weight for _, _, weight in options], open_) if len(options) > 1 else 0
        form, case, _ = options[index]
        return self.phrase(adjunct.entity, case, path, deprel, head, form)

    def relative(self, entity: Entity, relative: Relative, gender: str, path: str, noun: Word) -> list[Word]:
        """A relative clause between commas."""
        words, head = self.clause(relative.clause, path, "final", gap=(relative.gap, gender, entity.plural))
        head.head, head.deprel = noun, "acl:relcl"
        return [punctuation(",", head), *words, punctuation(",", head)]

    def relative_pronoun(self, case: str, gap: Gap, path: str, deprel: str, head: Word, prep: str) -> Phrase:
        """der, die, das... with its preposition."""
        _, gender, plural = gap
        feats = nominal_features(case, gender, plural, PronType="Rel")
        form = RELATIVE[case][column(gender, plural)]
        word = Word(form, "der", "PRON", feats, deprel, head, (path + ".rel",))
        before = [Word(prep, prep, "ADP", "_", "case", word, ())] if prep else []
        return Phrase([*before, word], word)


def is_pronoun(phrase: Phrase) -> bool:
    return len(phrase.words) == 1 and phrase.head.upos == "PRON"


MODALS = {
    "can": ("können", "kann", "können", "konnte", "konnten"),
    "want": ("wollen", "will", "wollen", "wollte", "wollten"),
    "will": ("werden", "wird", "werden", "wird", "werden"),
    "would": ("werden", "würde", "würden", "würde", "würden"),
}
JOINS = {"and": (("und", 1.0),), "but": (("aber", 3.0), ("doch", 1.0))}
PERFECT_SHARE = 0.3


@dataclass(slots=True)
class Bracket:
    """The verbal bracket of a clause: finite verb, what closes the clause, and the head of the clause."""

    finite: list[Word]
    closing: list[Word]
    head: Word


class German(Phrases):
    """Realizes one German sentence."""

    def sentence(self, meaning: Meaning) -> list[Word]:
        return join_clauses(
            meaning,
            lambda clause, path: self.clause(clause, path, "main"),
            lambda link, head, key: self.pick_word(JOINS[link], "CCONJ", "cc", head, key),
            ".:",
        )

    # -- clauses -----------------------------------------------------------------------------------

    def clause(self, c: Clause, path: str, order: Order, gap: Gap | None = None) -> tuple[list[Word], Word]:
        """A clause and its head; `gap` is role, gender and number of what a relative pronoun stands for."""
        first: tuple[list[Word], Word] | None = None
        if c.linked and c.linked.first:
            first = self.linked(c, path)
        options = VERBS[c.verb].german
        verb = self.pick(options, [option.forms for option, _ in options])
        placeholder = Word("", "", "VERB")
        parts = self.parts(c, verb, path, placeholder, gap)
        subject = parts.get("subject")
        plural = (gap is not None and gap[0] == "subject" and gap[2]) or (
            subject is not None and "Number=Plur" in subject.head.feats
        )
        bracket = self.bracket(c, verb, path, order, plural)
        for part in parts.values():
            for word in part.words:
                if word.head is placeholder:
                    word.head = bracket.head
        self.negate(c, parts, bracket.head, path)
        lead: list[Word] = []
        if first:
            first[1].head = bracket.head
            lead = first[0]
        elif order == "main":
            lead = self.front(c, parts).all
        elif gap:
            lead = parts.pop("gap").words
        middle, after = self.middle(c, parts, bool(bracket.closing) or order != "main")
        if order == "main":
            words = lead + bracket.finite + middle + bracket.closing + after
        else:
            words = lead + middle + bracket.closing + bracket.finite + after
        if c.linked and not first:
            dependent, head = self.linked(c, path)
            head.head = bracket.head
            words += dependent
        return words, bracket.head

    def bracket(self, c: Clause, verb: GermanVerb, path: str, order: Order, plural: bool) -> Bracket:
        """The verb forms of a clause, for either order."""
        key = path + ".v"
        tense = "past" if c.tense == "past" else "pres"

        def word(form: str, lemma: str, upos: str, feats: str, name: str = key) -> Word:
            return Word(form, lemma, upos, feats, "root", None, (name,))

        if order == "zu":
            *zu, form = verb.zu_infinitive
            main = word(form, verb.lemma, "VERB", "VerbForm=Inf")
            marks = [Word("zu", "zu", "PART", "_", "mark", main, (path + ".to",)) for _ in zu]
            return Bracket([], [*marks, main], main)
        feats = finite_features(tense, plural)
        if c.predicate:
            adjective = ADJECTIVES[c.predicate].german
            main = word(adjective, adjective, "ADJ", "Degree=Pos", path + ".pred")
            finite = Word(verb.finite(tense, plural), verb.lemma, "AUX", feats, "cop", main, (key,))
            return Bracket([finite], [main], main)
        if c.modal:
            main = word(verb.lemma, verb.lemma, "VERB", "VerbForm=Inf")
            lemma, *forms = MODALS[c.modal]
            feats = finite_features(tense, plural, "Sub" if c.modal == "would" else "Ind")
            form = forms[(2 if tense == "past" else 0) + plural]
            return Bracket([Word(form, lemma, "AUX", feats, "aux", main, (path + ".aux",))], [main], main)
        if self.perfect(c, verb):
            main = word(verb.prefix + verb.participle, verb.lemma, "VERB", "VerbForm=Part")
            form = {"sein": ("ist", "sind"), "haben": ("hat", "haben")}[verb.auxiliary][plural]
            feats = finite_features("pres", plural)
            return Bracket([Word(form, verb.auxiliary, "AUX", feats, "aux", main, (key,))], [main], main)
        form = verb.finite(tense, plural)
        main = word(verb.prefix + form if order == "final" else form, verb.lemma, "VERB", feats)
        if order == "final" or not verb.prefix:
            return Bracket([main], [], main)
        particle = Word(verb.prefix, verb.prefix, "ADP", "_", "compound:prt", main, (key,))
        return Bracket([main], [particle], main)

    def perfect(self, c: Clause, verb: GermanVerb) -> bool:
        """Whether the past is expressed by the perfect."""
        if c.tense != "past" or c.verb in ("be", "have", "know"):
            return False
        participle = frozenset((verb.prefix + verb.participle,))
        return self.choose((1 - PERFECT_SHARE, PERFECT_SHARE), (verb.forms, participle)) == 1

    def parts(self, c: Clause, verb: GermanVerb, path: str, head: Word, gap: Gap | None) -> dict[str, Phrase]:
        """The phrases of a clause by role, not yet ordered."""
        parts: dict[str, Phrase] = {}
        role = gap[0] if gap else ""
        if gap and role == "subject":
            parts["gap"] = self.relative_pronoun("Nom", gap, path, "nsubj", head, "")
        elif c.subject:
            parts["subject"] = self.phrase(c.subject, "Nom", path + ".s", "nsubj", head)
        if c.recipient:
            parts["recipient"] = self.phrase(c.recipient, "Dat", path + ".r", "iobj", head)
        prep, _, case = verb.object.rpartition(" ")
        deprel = "obl:arg" if prep else "obj"
        if gap and role == "object":
            parts["gap"] = self.relative_pronoun(case, gap, path, deprel, head, prep)
        elif c.object:
            slot = "oblique" if prep else "object"
            parts[slot] = self.phrase(c.object, case, path + ".o", deprel, head, prep)
        plural = bool(c.subject and (c.subject.plural or self.genders.get(c.subject.refers) == "p"))
        if verb.reflexive:
            own = "self" in VERBS[c.verb].flags
            parts["sich"] = self.sich("Acc", plural, path, "obj" if own else "expl:pv", head)
        if c.for_self:
            if self.choose((0.25, 0.75), (frozenset({"für"}), frozenset({"sich"}))):
                parts["sich"] = self.sich("Dat", plural, path, "iobj", head)
            else:
                himself = self.sich("Acc", plural, path, "obl", head)
                case_ = Word("für", "für", "ADP", "_", "case", himself.head, (path + ".for",))
                parts["for"] = Phrase([case_, himself.head], himself.head)
        if c.place:
            if gap and role == "place":
                form, dative, _ = PREPOSITIONS[c.place.preposition].german[0]
                parts["gap"] = self.relative_pronoun(dative, gap, path, "obl", head, form)
            else:
                parts["place"] = self.adjunct(c.place, path + ".l", "obl", head)
        if c.extra:
            parts["extra"] = self.adjunct(c.extra, path + ".e", "obl", head)
        for name, adverb in (("time", c.time), ("manner", c.manner)):
            if adverb:
                word = self.pick_word(ADVERBS[adverb], "ADV", "advmod", head, f"{path}.{name}")
                parts[name] = Phrase([word], word)
        return parts

    def sich(self, case: str, plural: bool, path: str, deprel: str, head: Word) -> Phrase:
        number = "Plur" if plural else "Sing"
        feats = features(Case=case, Number=number, Person="3", PronType="Prs", Reflex="Yes")
        word = Word("sich", "sich", "PRON", feats, deprel, head, (path + ".self",))
        return Phrase([word], word)

    def negate(self, c: Clause, parts: dict[str, Phrase], head: Word, path: str) -> None:
        if c.negated:
            word = Word("nicht", "nicht", "PART", "Polarity=Neg", "advmod", head, (path + ".not",))
            parts["nicht"] = Phrase([word], word)

    def front(self, c: Clause, parts: dict[str, Phrase]) -> Phrase:
        """Take out the phrase that stands before the finite verb."""
        weights = {"subject": 0.62, "time": 0.25, "place": 0.13, "extra": 0.35}
        thing = c.object is not None and c.object.det in ("def", "this") and not NOUNS[c.object.noun].person
        if thing and c.object and c.subject and c.subject.det != "pron" and not c.object.relative:
            weights["object"] = 0.04
        if c.time == "always":
            del weights["time"]
        options = [(name, weight) for name, weight in weights.items() if name in parts]
        return parts.pop(self.pick(options))

    def middle(self, c: Clause, parts: dict[str, Phrase], closed: bool) -> tuple[list[Word], list[Word]]:
        """The order between the verbs, and a relative clause moved behind them."""
        light = [
            name for name in ("object", "sich", "recipient") if name in parts and is_pronoun(parts[name])
        ]
        heavy_object = "object" in parts and "object" not in light
        field = ["time", "recipient", "object", "for", "extra", "place", "nicht", "manner", "oblique"]
        if "place" in parts and "manner" in parts and "nicht" not in parts and self.maybe(0.6):
            move(field, "manner", before="place")
        elif "place" in parts and heavy_object and self.maybe(0.25):
            move(field, "place", before="object")
        definite = c.object is not None and c.object.det in ("def", "this", "poss") and not c.object.relative
        if "time" in parts and heavy_object and definite and self.maybe(0.3):
            move(field, "time", before="for")
        opening = ["subject", *light]
        movable = bool(light) and "subject" in parts and not is_pronoun(parts["subject"])
        # An indefinite subject comes late: "Gestern beeilte sich ein Arzt."
        late = c.subject is not None and c.subject.det in ("indef", "no")
        if movable and (late or self.maybe(0.5)):
            opening = [*light, "subject"]
        names = opening + [name for name in field if name not in light]
        phrases = [parts[name] for name in names if name in parts]
        if phrases and phrases[-1].tail and closed and self.maybe(0.4):
            return [w for p in phrases[:-1] for w in p.all] + phrases[-1].words, phrases[-1].tail
        return [w for p in phrases for w in p.all], []

    def linked(self, c: Clause, path: str) -> tuple[list[Word], Word]:
        assert c.linked is not None
        link, inner = c.linked.link, path + ".d"
        comma = inner + ".comma"
        if link == "to":
            words, head = self.clause(c.linked.clause, inner, "zu")
            head.deprel = "xcomp"
            return [punctuation(",", head), *words], head
        options = [option for option in CONJUNCTIONS[link] if option[0] != "denn" or not c.linked.first]
        form = self.pick(options, [frozenset((word,)) for word, _ in options])
        words, head = self.clause(c.linked.clause, inner, "main" if form == "denn" else "final")
        complement = link in ("that", "whether")
        head.deprel = "conj" if form == "denn" else "ccomp" if complement else "advcl"
        upos, relation = ("CCONJ", "cc") if form == "denn" else ("SCONJ", "mark")
        mark = Word(form, form, upos, "_", relation, head, (inner + ".link",))
        if c.linked.first:
            return [mark, *words, punctuation(",", head, comma)], head
        return [punctuation(",", head, comma), mark, *words], head


def move(field: list[str], name: str, before: str) -> None:
    """Move a name in a list to just before another."""
    field.remove(name)
    field.insert(field.index(before), name)
