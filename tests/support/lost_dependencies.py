"""Translations by the lab's grammar in which one dependency of the source is lost, and records to judge them by."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from babelscope.lab.grammar.analysis import _GERMAN_VERBS, PREFIXES
from babelscope.lab.grammar.corpus import generate
from babelscope.lab.grammar.german import MODALS, German
from babelscope.lab.grammar.meaning import RandomChooser, Word, plain_text
from babelscope.lab.grammar.oracle import is_exact
from babelscope.lab.grammar.sentences import SentencePair, english_words
from babelscope.language.parsers import Parser, open_parser
from babelscope.language.ud_rules import Finder, Instance, choose_rules

PHENOMENA = ("particle", "reflexive", "preposition_stranding", "subject_verb_agreement", "negation_scope")
RARE = PHENOMENA[1:3]
COMMON = "subject_verb_agreement"
Truth = tuple[int, str, bool]
"""(number of the record, phenomenon, whether the dependency is kept) of each dependency."""


def lose(words: list[Word], phenomenon: str, clause: str, rng: random.Random) -> list[Word] | None:
    """The German words with a dependency of a clause (`c0`) dropped or garbled; None where it has none."""
    if phenomenon == "subject_verb_agreement":
        return _other_number(words, clause)
    if phenomenon == "negation_scope":
        return _without(
            words,
            lambda word: (
                f"{clause}.not" in word.keys
                or (word.lemma == "kein" and word.keys[0].startswith(f"{clause}.o"))
            ),
        )
    verb = next((word for word in words if f"{clause}.v" in word.keys and word.upos == "VERB"), None)
    if verb is None:
        return None
    garbled = rng.random() < 0.3
    if phenomenon == "particle":
        prefix = next((each.prefix for each in _GERMAN_VERBS if each.lemma == verb.lemma and each.prefix), "")
        other = rng.choice(sorted(PREFIXES - {prefix})) if garbled else ""
        alone = next((w for w in words if w.deprel == "compound:prt" and w.head is verb), None)
        if alone is not None:
            alone.form = other
        elif prefix and verb.form.lower().startswith(prefix):
            verb.form = other + verb.form[len(prefix) :]
        else:
            return None
        return [word for word in words if word.form]
    if phenomenon == "reflexive":
        chosen = [word for word in words if word.lemma == "sich" and word.head is verb]
        other = "ihn"
    else:
        chosen = [
            word
            for word in words
            if word.deprel == "case"
            and word.head
            and "PronType=Rel" in word.head.feats
            and word.head.head is verb
        ]
        other = rng.choice(("über", "mit", "auf", "bei", "an", "von"))
    if not chosen or chosen[0].form.lower() == other:
        return None
    chosen[0].form = other if garbled else ""
    return [word for word in words if word.form]


def _without(words: list[Word], drop: Any) -> list[Word] | None:
    kept = [word for word in words if not drop(word)]
    return kept if len(kept) < len(words) else None


def _other_number(words: list[Word], clause: str) -> list[Word] | None:
    """Put the finite verb of a clause into the other number."""
    other = {"hat": "haben", "ist": "sind", "war": "waren", "hatte": "hatten"}
    for _, singular, plural, past, pasts in MODALS.values():
        other |= {singular: plural, past: pasts}
    for verb in _GERMAN_VERBS:
        for prefix in {"", verb.prefix}:
            for tense in ("pres", "past"):
                other.setdefault(prefix + verb.finite(tense, False), prefix + verb.finite(tense, True))
    back = {plural: singular for singular, plural in other.items()}
    for word in words:
        own = f"{clause}.v" in word.keys or f"{clause}.aux" in word.keys
        if own and "VerbForm=Fin" in word.feats:
            table = back if "Number=Plur" in word.feats else other
            form = table.get(word.form.lower(), word.form.lower())
            if form == word.form.lower():
                return None
            word.form = form if word.form[0].islower() else form.capitalize()
            return words
    return None


def lab_records(n: int, seed: int, *, lost: float = 0.5) -> tuple[list[dict[str, Any]], list[Truth]]:
    """Records of n sentences with dependencies, as the method judges them, and the truth about each dependency."""
    rng = random.Random(seed)
    parser = open_parser("udpipe:lab-en")
    finder = Finder(choose_rules(PHENOMENA, language="en"))
    records: list[dict[str, Any]] = []
    truths: list[Truth] = []
    for pair, found in _chosen(n, seed, parser, finder, rng):
        number = len(records)
        output, gone = _translation(pair, found, rng, lost)
        spans = _spans(pair)
        dependencies = [
            {**each.as_json(), "head_at": spans[each.head - 1], "dependent_at": spans[each.dependent - 1]}
            for each in found
        ]
        records.append(
            {
                "id": str(number),
                "source": pair.source,
                "references": [pair.target],
                "translation": output,
                "notes": [],
                "extra": {"dependencies": dependencies},
            }
        )
        truths += [(number, each.phenomenon, place != gone) for place, each in enumerate(found)]
    return records, truths


def _chosen(
    n: int, seed: int, parser: Parser, finder: Finder, rng: random.Random
) -> Iterator[tuple[SentencePair, list[Instance]]]:
    """Sentences with dependencies; those with rare ones all, of the others some."""
    made = 0
    for pair in generate(100 * n, seed, "all"):
        names = {each.name for each in pair.labels.phenomena if each.side == "en"}
        if not names & set(RARE) and rng.random() > (0.5 if "particle" in names else 0.1):
            continue
        (tree,) = parser([pair.source])
        if tree is None or len(tree.words) != len(pair.english):
            continue
        if found := finder(tree, "source"):
            yield pair, found
            made += 1
        if made == n:
            return


def _translation(
    pair: SentencePair, found: Sequence[Instance], rng: random.Random, share: float
) -> tuple[str, int | None]:
    """A translation, and which dependency is lost in it; None for none."""
    english = english_words(pair.meaning)
    if rng.random() < share:
        order = sorted(range(len(found)), key=lambda n: (found[n].phenomenon == COMMON, rng.random()))
        for place in order[:2]:
            own = german(pair, rng)
            head = english[found[place].head - 1]
            while not head.keys and head.head:  # an auxiliary
                head = head.head
            clause = head.keys[0].rpartition(".")[0]
            words = lose(own, found[place].phenomenon, clause, rng)
            if words is not None:
                said = plain_text(words)
                if not is_exact(pair.meaning, said):
                    return said, place
    return plain_text(german(pair, rng)), None


def german(pair: SentencePair, rng: random.Random) -> list[Word]:
    """Words of some German sentence for the meaning."""
    return German(RandomChooser(rng)).sentence(pair.meaning)


def _spans(pair: SentencePair) -> list[list[int]]:
    spans, place = [], 0
    for token in pair.english:
        spans.append([place, place + len(token.form)])
        place += len(token.form) + token.space_after
    return spans
