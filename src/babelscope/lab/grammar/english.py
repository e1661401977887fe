"""Realizes a meaning in English: always the same sentence."""

from __future__ import annotations

from babelscope.lab.grammar.lexicon import (
    FREQUENCY,
    NOUNS,
    PREPOSITIONS,
    VERBS,
    Verb,
    features,
    finite_features,
    indefinite_article,
)
from babelscope.lab.grammar.meaning import (
    Adjunct,
    Clause,
    Entity,
    Linked,
    Meaning,
    Relative,
    Word,
    join_clauses,
    punctuation,
)

PERSONAL = {
    "m": ("he", "him", "his"),
    "f": ("she", "her", "her"),
    "n": ("it", "it", "its"),
    "p": ("they", "them", "their"),
}
REFLEXIVE = {"m": "himself", "f": "herself", "p": "themselves"}
GENDER = {"m": "Masc", "f": "Fem", "n": "Neut", "p": ""}
Phrase = tuple[list[Word], Word]


def make_word(
    form: str, upos: str, deprel: str, head: Word | None, *keys: str, feats: str = "_", lemma: str = ""
) -> Word:
    """A word whose lemma is its form unless given."""
    return Word(form, lemma or form, upos, feats, deprel, head, keys)


def pronoun_features(kind: str, **more: str) -> str:
    """Features of a pronoun of the third person."""
    number = "Plur" if kind == "p" else "Sing"
    return features(Gender=GENDER[kind], Number=number, Person="3", PronType="Prs", **more)


class English:
    """Realizes one sentence, and remembers the entities that names refer to."""

    def __init__(self) -> None:
        self.referents: dict[str, Entity] = {}

    def sentence(self, meaning: Meaning) -> list[Word]:
        return join_clauses(
            meaning, self.clause, lambda word, head, key: make_word(word, "CCONJ", "cc", head, key), "."
        )

    # -- noun phrases ------------------------------------------------------------------------------

    def kind(self, entity: Entity) -> str:
        """The column of the pronoun tables for a participant."""
        if entity.plural:
            return "p"
        return entity.gender or {"man": "m", "boy": "m", "woman": "f"}.get(entity.noun, "n")

    def phrase(self, entity: Entity, path: str, deprel: str, head: Word | None, any_: bool = False) -> Phrase:
        """A noun phrase; `any_` replaces "no" by "a" or "any" under a negated verb."""
        if entity.name:
            self.referents[entity.name] = entity
        if entity.det == "pron":
            return self.pronoun(entity, path, deprel, head)
        noun = NOUNS[entity.noun]
        form, number = (noun.plural, "Number=Plur") if entity.plural else (noun.english, "Number=Sing")
        center = make_word(form, "NOUN", deprel, head, path + ".n", feats=number, lemma=noun.english)
        if noun.feminine:
            center.tag = f"occupation:{noun.name}:{entity.gender}"
        elif noun.sense:
            center.tag = f"sense:{noun.english}:{noun.sense}"
        words = [
            make_word(name, "ADJ", "amod", center, f"{path}.a{i}", feats="Degree=Pos")
            for i, name in enumerate(entity.adjectives)
        ]
        if entity.marked:
            word = "female" if entity.gender == "f" else "male"
            words.append(make_word(word, "ADJ", "amod", center, path + ".m", feats="Degree=Pos"))
        words.append(center)
        if article := self.article(entity, words[0].form, center, path + ".d", any_):
            words.insert(0, article)
        if entity.modifier:
            words += self.adjunct(entity.modifier, path + ".p", "nmod", center)
        if entity.relative:
            words += self.relative(entity, entity.relative, path + ".x", center)
        return words, center

    def article(self, entity: Entity, following: str, head: Word, key: str, any_: bool) -> Word | None:
        if entity.det == "poss":
            owner = self.kind(self.referents[entity.refers])
            feats = pronoun_features(owner, Case="Gen", Poss="Yes")
            return make_word(PERSONAL[owner][2], "PRON", "nmod:poss", head, key, feats=feats)
        if entity.det == "def":
            return make_word("the", "DET", "det", head, key, feats="Definite=Def|PronType=Art")
        if entity.det == "this":
            form = "these" if entity.plural else "this"
            feats = features(Number="Plur" if entity.plural else "Sing", PronType="Dem")
            return make_word(form, "DET", "det", head, key, feats=feats, lemma="this")
        if entity.det == "no" and not any_:
            return make_word("no", "DET", "det", head, key, feats="PronType=Neg")
        if entity.det == "no" and entity.plural:
            return make_word("any", "DET", "det", head, key, feats="PronType=Ind")
        if entity.det in ("indef", "no") and not entity.plural:
            form = indefinite_article(following)
            return make_word(form, "DET", "det", head, key, feats="Definite=Ind|PronType=Art", lemma="a")
        return None

    def pronoun(self, entity: Entity, path: str, deprel: str, head: Word | None) -> Phrase:
        kind = self.kind(self.referents[entity.refers])
        subject = deprel.startswith("nsubj")
        feats = pronoun_features(kind, Case="Nom" if subject else "Acc")
        form = PERSONAL[kind][0 if subject else 1]
        word = make_word(form, "PRON", deprel, head, path + ".n", feats=feats, lemma=PERSONAL[kind][0])
        return [word], word

    def reflexive(self, owner: Entity, path: str, deprel: str, head: Word) -> Word:
        kind = self.kind(self.referents.get(owner.refers, owner))
        feats = pronoun_features(kind, Case="Acc", Reflex="Yes")
        return make_word(REFLEXIVE[kind], "PRON", deprel, head, path + ".self", feats=feats)

    def adjunct(self, adjunct: Adjunct, path: str, deprel: str, head: Word) -> list[Word]:
        words, center = self.phrase(adjunct.entity, path, deprel, head)
        first, *rest = PREPOSITIONS[adjunct.preposition].english
        before = [make_word(first, "ADP", "case", center, path + ".case")]
        before += [make_word(word, "ADP", "fixed", before[0], path + ".case") for word in rest]
        return before + words

    def relative(self, entity: Entity, relative: Relative, path: str, noun: Word) -> list[Word]:
        words, head = self.clause(relative.clause, path, gap=relative.gap, gap_plural=entity.plural)
        head.head, head.deprel = noun, "acl:relcl"
        if relative.silent:
            return words
        key = path + ".rel"
        if relative.gap == "subject":
            form = "who" if NOUNS[entity.noun].person else "that"
            rel = make_word(form, "PRON", "nsubj", head, key, feats="PronType=Rel")
        elif relative.gap == "place" or VERBS[relative.clause.verb].preposition:
            # The stranded preposition stands for the oblique (obl), so that "that" only marks the clause.
            rel = make_word("that", "SCONJ", "mark", head, key)
        else:
            rel = make_word("that", "PRON", "obj", head, key, feats="PronType=Rel")
        return [rel, *words]

    # -- clauses -----------------------------------------------------------------------------------

    def clause(
        self, c: Clause, path: str, gap: str = "", gap_plural: bool = False, bare: bool = False
    ) -> Phrase:
        """A clause and its head; `gap` is a role that a relative pronoun fills, `bare` asks for an infinitive."""
        verb = VERBS[c.verb]
        # Realize a clause that comes first before the rest, so that pronouns find their referents.
        first = self.clause(c.linked.clause, path + ".d") if c.linked and c.linked.first else None
        before: list[Word] = []
        subject: list[Word] = []
        nsubj: Word | None = None
        plural = gap_plural
        if c.subject is not None and not bare and gap != "subject":
            subject, nsubj = self.phrase(c.subject, path + ".s", "nsubj", None)
            plural = self.kind(self.referents.get(c.subject.refers, c.subject)) == "p"
        group, main, root = self.group(c, verb, path, plural, bare)
        if nsubj is not None:
            nsubj.head = root
        after = self.complements(c, verb, path, main, gap)
        time = [make_word(c.time, "ADV", "advmod", main, path + ".time")] if c.time else []
        if c.time in FREQUENCY:
            # Before the lexical verb, after auxiliaries and the copula.
            place = group.index(main)
            place -= bool(place and group[place - 1].form == "to")
            group[place:place] = time
        elif time and c.linked and not c.linked.first and not gap:
            before = time
        else:
            after += time
        words = before + subject + group + after
        if c.linked:
            dependent = first or self.clause(c.linked.clause, path + ".d", bare=c.linked.link == "to")
            words = self.link(c.linked, path, words, main, root, dependent)
        return words, root

    def group(
        self, c: Clause, verb: Verb, path: str, plural: bool, bare: bool
    ) -> tuple[list[Word], Word, Word]:
        """Auxiliaries, negation and verb; the main verb (or predicate); the head of the clause."""
        negated = c.negated or bool(c.object and c.object.det == "no" and c.shifted)
        finite = finite_features(c.tense, plural)
        main = Word(verb.forms[0], verb.forms[0], "VERB", "VerbForm=Inf", "root", None, (path + ".v",))
        predicate = main
        if c.predicate:
            predicate = Word(c.predicate, c.predicate, "ADJ", "Degree=Pos", "root", None, (path + ".pred",))
            main.upos, main.deprel, main.head = "AUX", "cop", predicate
        if not (bare or c.modal):
            inflect(main, c, verb, plural, negated)
        helper = None if bare else auxiliary(c, path, plural, predicate)
        root, wants = predicate, helper is not None and c.modal == "want"
        if helper and wants:
            predicate.head, predicate.deprel, root = helper, "xcomp", helper
        before = [helper] if helper else []
        if negated:
            key = path + (".o.d" if c.object and c.object.det == "no" and not c.negated else ".not")
            negation = make_word("not", "PART", "advmod", root, key, feats="Polarity=Neg")
            if c.verb == "be" and helper is None and not bare:
                return [main, negation, predicate], predicate, root
            before = [negation, *before] if wants else [*before, negation]
            if (helper is None or wants) and not bare:
                form = "did" if c.tense == "past" else "do" if plural else "does"
                before.insert(0, Word(form, "do", "AUX", finite, "aux", root, ()))
                if helper:
                    helper.form, helper.feats = "want", "VerbForm=Inf"
        if bare or wants:
            before.append(make_word("to", "PART", "mark", predicate, path + ".to"))
        return [*before, main, *([predicate] if predicate is not main else [])], predicate, root

    def complements(self, c: Clause, verb: Verb, path: str, main: Word, gap: str) -> list[Word]:
        """Everything after the verb except time and dependent clauses."""
        key = path + ".v"
        words: list[Word] = []
        particle = [make_word(verb.particle, "ADP", "compound:prt", main, key)] if verb.particle else []
        late = particle if (c.shifted or "shift" in verb.flags) and c.object and gap != "object" else []
        if not late:
            words += particle
        if verb.adverb:
            words.append(make_word(verb.adverb, "ADV", "advmod", main, key))
        if "self" in verb.flags and c.subject:
            words.append(self.reflexive(c.subject, path, "obj", main))
        if c.for_self and not c.shifted and c.subject:
            words.append(self.reflexive(c.subject, path, "iobj", main))
        recipient = self.recipient(c, path, main)
        if not c.shifted:
            words += recipient
        object_ = self.object(c, verb, path, main, gap)
        # A pronoun goes before the particle: "picked him up".
        if particle and not late and c.object and c.object.det == "pron":
            words.remove(particle[0])
            late = particle
        words += object_ + late
        if c.shifted:
            words += recipient
        if c.for_self and c.shifted and c.subject:
            himself = self.reflexive(c.subject, path, "obl", main)
            words += [make_word("for", "ADP", "case", himself, path + ".for"), himself]
        if c.manner:
            words.append(make_word(c.manner, "ADV", "advmod", main, path + ".manner", feats="Degree=Pos"))
        if c.place:
            stranded = PREPOSITIONS[c.place.preposition].english[0]
            alone = [make_word(stranded, "ADP", "obl", main, path + ".l.case")]
            words += alone if gap == "place" else self.adjunct(c.place, path + ".l", "obl", main)
        if c.extra:
            words += self.adjunct(c.extra, path + ".e", "obl", main)
        return words

    def object(self, c: Clause, verb: Verb, path: str, main: Word, gap: str) -> list[Word]:
        """The object with its preposition; a preposition alone where the object is a gap."""
        if gap == "object":
            return (
                [make_word(verb.preposition, "ADP", "obl", main, path + ".o.case")]
                if verb.preposition
                else []
            )
        if c.object is None:
            return []
        any_ = c.object.det == "no" and c.shifted
        words, center = self.phrase(c.object, path + ".o", "obl" if verb.preposition else "obj", main, any_)
        if verb.preposition:
            return [make_word(verb.preposition, "ADP", "case", center, path + ".o.case"), *words]
        return words

    def recipient(self, c: Clause, path: str, main: Word) -> list[Word]:
        """The recipient: "the child", or "to the child" after the object."""
        if c.recipient is None:
            return []
        words, center = self.phrase(c.recipient, path + ".r", "obl" if c.shifted else "iobj", main)
        return [make_word("to", "ADP", "case", center), *words] if c.shifted else words

    def link(
        self, linked: Linked, path: str, words: list[Word], main: Word, root: Word, dependent: Phrase
    ) -> list[Word]:
        """The clause with its dependent clause before or after it."""
        new, head = dependent
        if linked.link == "to":
            head.head, head.deprel = main, "xcomp"
            return words + new
        mark = make_word(linked.link, "SCONJ", "mark", head, path + ".d.link")
        complement = linked.link in ("that", "whether")
        head.head, head.deprel = root, "ccomp" if complement else "advcl"
        if linked.first:
            return [mark, *new, punctuation(",", head, path + ".d.comma"), *words]
        comma = [punctuation(",", head, path + ".d.comma")] if linked.link == "although" else []
        return [*words, *comma, mark, *new]


def auxiliary(c: Clause, path: str, plural: bool, predicate: Word) -> Word | None:
    """The modal or auxiliary of a clause that is not negated; "want" is a verb with an infinitive."""
    finite = finite_features(c.tense, plural)
    if c.modal == "want":
        form = "wanted" if c.tense == "past" else "want" if plural else "wants"
        return Word(form, "want", "VERB", finite, "root", None, (path + ".aux",))
    if c.modal:
        form = "could" if (c.modal, c.tense) == ("can", "past") else c.modal
        return Word(form, c.modal, "AUX", "VerbForm=Fin", "aux", predicate, (path + ".aux",))
    if c.tense == "since":
        return Word("have" if plural else "has", "have", "AUX", finite, "aux", predicate, ())
    return None


def inflect(main: Word, c: Clause, verb: Verb, plural: bool, negated: bool) -> None:
    """Inflect a verb without modal; negated verbs except "be" stay infinitives, after "do"."""
    base, third, past, participle = verb.forms
    if c.tense == "since":
        main.form, main.feats = participle, "Tense=Past|VerbForm=Part"
        return
    if c.verb == "be":
        main.form = ("were" if plural else "was") if c.tense == "past" else ("are" if plural else "is")
    elif negated:
        return
    else:
        main.form = past if c.tense == "past" else base if plural else third
    main.feats = finite_features(c.tense, plural)
