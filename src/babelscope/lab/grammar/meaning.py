"""The meaning of a sentence, independent of language: the input of both realizers."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Det = Literal["def", "indef", "no", "this", "poss", "bare", "pron"]
Tense = Literal["pres", "past", "since"]
Modal = Literal["", "can", "want", "will", "would"]


@dataclass(frozen=True, slots=True)
class Entity:
    """A participant: a noun with what is said about it, or a pronoun (det "pron") for an earlier one."""

    noun: str
    det: Det = "def"
    plural: bool = False
    gender: str = ""  # of a person: "m", "f", or "" where English does not show it
    marked: bool = False  # English says "male" or "female" before the noun
    adjectives: tuple[str, ...] = ()
    modifier: Adjunct | None = None
    relative: Relative | None = None
    name: str = ""  # under this name pronouns, possessives and reflexives refer to it
    refers: str = ""  # the name that a pronoun or a possessive determiner refers to


@dataclass(frozen=True, slots=True)
class Adjunct:
    """A preposition (a key of lexicon.PREPOSITIONS) with its noun phrase."""

    preposition: str
    entity: Entity


@dataclass(frozen=True, slots=True)
class Relative:
    """A relative clause; `gap` is the role of the noun in it, which `clause` leaves out."""

    clause: Clause
    gap: str
    silent: bool = False  # English without "that"


@dataclass(frozen=True, slots=True)
class Linked:
    """A clause that depends on another: by a conjunction, as a complement ("that", "whether") or as "to"."""

    link: str
    clause: Clause
    first: bool = False  # before the main clause


@dataclass(frozen=True, slots=True)
class Clause:
    """A verb, its participants by role (subject, object, recipient) and its circumstances."""

    verb: str
    subject: Entity | None = None
    object: Entity | None = None
    recipient: Entity | None = None
    tense: Tense = "past"
    modal: Modal = ""
    negated: bool = False
    predicate: str = ""  # the adjective, with the verb "be"
    time: str = ""
    manner: str = ""
    place: Adjunct | None = None
    extra: Adjunct | None = None  # "according to the plan", "since the summer"
    for_self: bool = False  # "bought a book for herself"
    shifted: bool = False  # English "picked the book up", "gave the book to her", "found no key"
    linked: Linked | None = None


@dataclass(frozen=True, slots=True)
class Meaning:
    """One to three clauses; `joins` says what stands between them."""

    clauses: tuple[Clause, ...]
    joins: tuple[str, ...] = ()
    kind: str = ""


# --- Words under construction, and the finished tokens of a tree ---------------------------------------------------


PUNCTUATION = frozenset(".,;:")


@dataclass(slots=True, eq=False)
class Word:
    """A word before its position is decided; its head is a Word, not a position."""

    form: str
    lemma: str
    upos: str
    feats: str = "_"
    deprel: str = "dep"
    head: Word | None = None
    keys: tuple[str, ...] = ()  # words of both languages that share a key are aligned
    tag: str = ""  # what labels.py needs to know: "occupation:doctor:f", "sense:bank:rare"


@dataclass(frozen=True, slots=True)
class Token:
    """A row of CoNLL-U; `id` and `head` count from 1, head 0 is the root."""

    id: int
    form: str
    lemma: str
    upos: str
    feats: str
    head: int
    deprel: str
    space_after: bool = True

    def feature(self, name: str) -> str:
        for pair in self.feats.split("|"):
            if pair.startswith(name + "="):
                return pair[len(name) + 1 :]
        return ""


def punctuation(mark: str, head: Word, key: str = "") -> Word:
    """A punctuation mark that depends on `head`."""
    return Word(mark, mark, "PUNCT", "_", "punct", head, (key,) if key else ())


def join_clauses(
    meaning: Meaning,
    realize: Callable[[Clause, str], tuple[list[Word], Word]],
    conjunction: Callable[[str, Word, str], Word],
    capital_after: str,
) -> list[Word]:
    """The words of a sentence: its clauses, as `realize` makes them, with what joins them."""
    words, root = realize(meaning.clauses[0], "c0")
    root.deprel = "root"
    for number, (clause, join) in enumerate(zip(meaning.clauses[1:], meaning.joins, strict=True), 1):
        new, head = realize(clause, f"c{number}")
        mark, _, word = join.partition(" ")
        head.head, head.deprel = root, "conj" if word else "parataxis"
        words.append(punctuation(mark, head if mark == "," else root, f"j{number}"))
        words += [conjunction(word, head, f"j{number}.w"), *new] if word else new
    return tidy([*words, punctuation(".", root, "end")], capital_after)


def tidy(words: Sequence[Word], capital_after: str) -> list[Word]:
    """Keep one of two neighboring punctuation marks, and capitalize the start of sentences."""
    kept: list[Word] = []
    for word in words:
        if word.form in PUNCTUATION and kept and kept[-1].form in PUNCTUATION:
            if word.form == ",":
                continue
            kept.pop()
        kept.append(word)
    upper = True
    for word in kept:
        if upper:
            word.form = word.form[0].upper() + word.form[1:]
        upper = word.form in capital_after
    return kept


def tokens(words: Sequence[Word]) -> tuple[Token, ...]:
    """The finished tree of words in their final order."""
    position = {id(word): number for number, word in enumerate(words, 1)}
    last = len(words)
    return tuple(
        Token(
            number,
            word.form,
            word.lemma,
            word.upos,
            word.feats,
            position[id(word.head)] if word.head else 0,
            word.deprel,
            number < last and words[number].form not in PUNCTUATION,
        )
        for number, word in enumerate(words, 1)
    )


def align(english: Sequence[Word], german: Sequence[Word]) -> tuple[tuple[int, int], ...]:
    """Pairs of positions (from 0) whose words share a key."""
    places: dict[str, list[int]] = {}
    for j, word in enumerate(german):
        for key in word.keys:
            places.setdefault(key, []).append(j)
    pairs = {(i, j) for i, word in enumerate(english) for key in word.keys for j in places.get(key, ())}
    return tuple(sorted(pairs))


def plain_text(words: Sequence[Word]) -> str:
    """The text of words that are not a tree yet."""
    return "".join((" " if i and w.form not in PUNCTUATION else "") + w.form for i, w in enumerate(words))


def text(tree: Sequence[Token]) -> str:
    """The sentence of a tree."""
    return "".join(token.form + (" " if token.space_after else "") for token in tree).rstrip()


def conllu(tree: Sequence[Token], sent_id: str) -> str:
    """One sentence in CoNLL-U, with its final empty line."""
    rows = [f"# sent_id = {sent_id}", f"# text = {text(tree)}"]
    for t in tree:
        # Some treebanks mark the last token with SpaceAfter=No; we do not.
        misc = "_" if t.space_after or t.id == len(tree) else "SpaceAfter=No"
        rows.append(f"{t.id}\t{t.form}\t{t.lemma}\t{t.upos}\t_\t{t.feats}\t{t.head}\t{t.deprel}\t_\t{misc}")
    return "\n".join(rows) + "\n\n"


# --- Choices among German alternatives: drawn at random, or enumerated ---------------------------------------------


Forms = frozenset[str]


class Chooser(Protocol):
    """Picks the index of an alternative; `forms` are, for each, word forms of which it uses at least one.

    `facts`: the alternatives are not ways of saying the same, so that their weights hold for every translator.
    """

    def __call__(
        self, weights: Sequence[float], forms: Sequence[Forms] | None = None, *, facts: bool = False
    ) -> int: ...


def random_stream(seed: int, name: str) -> random.Random:
    """A random generator that is the same for a seed and name on every machine."""
    digest = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()
    return random.Random(int.from_bytes(digest, "big"))


def draw_index(rng: random.Random, weights: Sequence[float]) -> int:
    """An index with probability in proportion to its weight."""
    point = rng.random() * sum(weights)
    for index, weight in enumerate(weights):
        point -= weight
        if point < 0:
            return index
    return len(weights) - 1


class RandomChooser:
    """Draws alternatives by their weights; `even`: ways of saying the same are equally likely."""

    def __init__(self, rng: random.Random, *, even: bool = False) -> None:
        self.rng, self.even = rng, even

    def __call__(
        self,
        weights: Sequence[float],
        forms: Sequence[Forms] | None = None,  # noqa: ARG002
        *,
        facts: bool = False,
    ) -> int:
        if self.even and not facts:
            weights = [float(weight > 0) for weight in weights]
        return draw_index(self.rng, weights) if len(weights) > 1 else 0


class _ScriptedChooser:
    """Replays a list of decisions, then takes first alternatives; records all options at each step."""

    def __init__(self, decisions: list[int], vocabulary: Forms | None) -> None:
        self.decisions = decisions
        self.vocabulary = vocabulary
        self.options: list[list[int]] = []

    def __call__(
        self,
        weights: Sequence[float],
        forms: Sequence[Forms] | None = None,
        *,
        facts: bool = False,  # noqa: ARG002
    ) -> int:
        options = list(range(len(weights)))
        if forms is not None and self.vocabulary is not None:
            known = self.vocabulary
            options = [i for i in options if not known.isdisjoint(forms[i])]
        options = options or [0]
        step = len(self.options)
        self.options.append(options)
        if step == len(self.decisions):
            self.decisions.append(0)
        return options[self.decisions[step]]


def every_choice(vocabulary: Forms | None = None) -> Iterator[Chooser]:
    """A chooser for each combination of decisions; with a vocabulary, only those whose words are all in it.

    Use each chooser for a whole sentence before the next one is taken.
    """
    decisions: list[int] = []
    while True:
        script = _ScriptedChooser(decisions, vocabulary)
        yield script
        while decisions and decisions[-1] + 1 >= len(script.options[len(decisions) - 1]):
            decisions.pop()
        if not decisions:
            return
        decisions[-1] += 1
