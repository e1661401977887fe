"""Realises a meaning in German: one of many sentences, as the chooser decides."""

from __future__ import annotations

from dataclasses import dataclass

from babelscope.lab.grammar.lexicon import ADJECTIVES, ADVERBS, CONJUNCTIONS, NOUNS, PREPOSITIONS
from babelscope.lab.grammar.meaning import Clause, Meaning
from babelscope.lab.grammar.morphology import GermanVerb, features, finite_features
from babelscope.lab.grammar.phrases import Gap, Order, Phrase, Phrases, is_pronoun
from babelscope.lab.grammar.verbs import VERBS
from babelscope.lab.grammar.words import Word, join_clauses, punctuation

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
    """Realises one German sentence."""

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
