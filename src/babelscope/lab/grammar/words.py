"""Words under construction, and the finished tokens of a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from babelscope.lab.grammar.meaning import Clause, Meaning

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
    realise: Callable[[Clause, str], tuple[list[Word], Word]],
    conjunction: Callable[[str, Word, str], Word],
    capital_after: str,
) -> list[Word]:
    """The words of a sentence: its clauses, as `realise` makes them, with what joins them."""
    words, root = realise(meaning.clauses[0], "c0")
    root.deprel = "root"
    for number, (clause, join) in enumerate(zip(meaning.clauses[1:], meaning.joins, strict=True), 1):
        new, head = realise(clause, f"c{number}")
        mark, _, word = join.partition(" ")
        head.head, head.deprel = root, "conj" if word else "parataxis"
        words.append(punctuation(mark, head if mark == "," else root, f"j{number}"))
        words += [conjunction(word, head, f"j{number}.w"), *new] if word else new
    return tidy([*words, punctuation(".", root, "end")], capital_after)


def tidy(words: Sequence[Word], capital_after: str) -> list[Word]:
    """Keep one of two neighbouring punctuation marks, and capitalise the start of sentences."""
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
