"""Verdicts on gold trees: references with known errors and known other changes are judged as translations.

`python tests/methods/challenge/test_verdicts_gold.py FOLDER` prints the table of docs/measured/checks.md.
"""

from __future__ import annotations

import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from babelscope.language.constructions import is_verb, make_sentence, negations, value
from babelscope.language.ud import Tree, Word, is_finite, read_trees, relation
from babelscope.language.ud_rules import Finder, choose_rules
from babelscope.methods.challenge import verdicts

PHENOMENA = ("reflexive", "subject_verb_agreement", "negation_scope")
Edit = Word | int
"""A word in place of that of the same position, or the position of a word to be dropped."""
Counts = Counter[tuple[str, str]]
"""(what is known, verdict) -> dependencies."""


def read(path: Path) -> dict[str, Tree]:
    return {tree.sent_id: tree for tree in read_trees(path) if tree is not None}


def text_of(words: Iterable[Word]) -> str:
    return " ".join(word.form.replace(" ", "") for word in words)


def edited(words: Sequence[Word], edits: Iterable[Edit]) -> list[Word]:
    """The words after edits; what depends on a dropped word depends on its head."""
    edits = list(edits)
    gone = {each for each in edits if isinstance(each, int)}
    other = {each.id: each for each in edits if isinstance(each, Word)}
    kept = [other.get(word.id, word) for word in words if word.id not in gone]
    places = {0: 0, **{word.id: number for number, word in enumerate(kept, 1)}}

    def place(head: int) -> int:
        while head in gone:
            head = words[head - 1].head
        return places[head]

    return [word._replace(id=places[word.id], head=place(word.head)) for word in kept]


class Corruption:
    """Errors and other changes that can be made in the sentences of a treebank."""

    def __init__(self, trees: Iterable[Tree]) -> None:
        self.forms: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
        self.nouns: list[Word] = []
        for tree in trees:
            for word in tree.words:
                self.forms[word.lemma, word.upos, word.feats][word.form.lower()] += 1
                self.nouns += [word] if word.upos == "NOUN" else []

    def errors(self, words: Sequence[Word], phenomenon: str) -> tuple[list[Edit], int]:
        """An edit for each dependency that can be lost, and how many dependencies there are."""
        tree = Tree(tuple(words), (), "", "", 1, 1)
        sentence = make_sentence(tree)
        found: list[Edit | None] = []
        if phenomenon == "subject_verb_agreement":
            # Of verbs without a subject, too: the number of the verb is all that such a sentence says of it.
            found += [self.other_number(word) for word in words if is_finite(word) and value(word, "Number")]
        else:
            marks = (
                negations(sentence)
                if phenomenon == "negation_scope"
                else [word for word in words if "Reflex=Yes" in word.feats.split("|")]
            )
            for word in marks:
                of_verb = phenomenon == "negation_scope" or (word.head and is_verb(words[word.head - 1]))
                found.append(word.id if of_verb and not sentence.children[word.id] else None)
        return [each for each in found if each is not None], len(found)

    def other_number(self, verb: Word) -> Word | None:
        number = value(verb, "Number")
        other = {"Sing": "Plur", "Plur": "Sing"}.get(number, "")
        feats = verb.feats.replace(f"Number={number}", f"Number={other}")
        forms = self.forms.get((verb.lemma, verb.upos, feats))
        form = forms.most_common(1)[0][0] if other and forms else verb.form.lower()
        return None if form == verb.form.lower() else verb._replace(form=form, feats=feats)

    def unrelated(self, words: Sequence[Word], rng: random.Random) -> list[Edit]:
        """Up to three changes that no dependency depends on."""
        heads = {word.head for word in words}
        found: list[Edit] = []
        for word in words:
            negative = "Polarity=Neg" in word.feats or "PronType=Neg" in word.feats
            if word.id not in heads and relation(word) in ("amod", "advmod", "nmod") and not negative:
                found.append(word.id)
            elif word.upos == "NOUN" and relation(word) in ("nmod", "obl", "obj", "conj"):
                noun = rng.choice(self.nouns)
                found.append(word._replace(form=noun.form, lemma=noun.lemma))
        return rng.sample(found, min(3, len(found)))


def records_of(
    sources: Mapping[str, Tree], language: str, targets: Mapping[str, Tree]
) -> list[dict[str, Any]]:
    finder = Finder(choose_rules(PHENOMENA, language=language))
    records = []
    for name in sources.keys() & targets.keys():
        tree = sources[name]
        offsets = tree.offsets(tree.text)
        found = [
            {
                **each.as_json(),
                "head_at": [*offsets[each.head - 1]],
                "dependent_at": [*offsets[each.dependent - 1]],
            }
            for each in finder(tree, "source")
        ]
        reference = text_of(targets[name].words)
        records.append(
            {"id": name, "source": tree.text, "references": [reference], "extra": {"dependencies": found}}
        )
    return sorted(records, key=lambda record: str(record["id"]))


def judge_with(trees: Mapping[str, Tree], records: Sequence[dict[str, Any]]) -> list[list[dict[str, str]]]:
    """The verdicts if the parser gives these trees of texts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdicts, "open_parser", lambda _: lambda texts: [trees.get(text) for text in texts])
        patch.setattr(verdicts, "parser_language", lambda _: None)
        return verdicts.judge_dependencies(records, "gold")


Change = Callable[[Sequence[Word]], tuple[list[Edit], Mapping[str, str]]]
"""The words of a reference -> edits, and what is then known about the dependencies of phenomena."""


def counted(folder: Path, source: str, target: str, seed: int = 1) -> dict[str, Counts]:
    """Verdicts on dependencies of gold trees, by phenomenon."""
    sources, targets = (read(folder / f"{code}_pud-ud-test.conllu") for code in (source, target))
    records = records_of(sources, source, targets)
    make, rng = Corruption(targets.values()), random.Random(seed)

    def lose(words: Sequence[Word]) -> tuple[list[Edit], Mapping[str, str]]:
        edits: list[Edit] = []
        known: dict[str, str] = {}
        for phenomenon in PHENOMENA:
            own, total = make.errors(words, phenomenon)
            edits += own
            known |= {phenomenon: "lost"} if own and len(own) == total else {}
        return edits, known

    def spare(words: Sequence[Word]) -> tuple[list[Edit], Mapping[str, str]]:
        return make.unrelated(words, rng), dict.fromkeys(PHENOMENA, "kept")

    counts: dict[str, Counts] = defaultdict(Counter)
    changes: tuple[Change, ...] = (lose, spare)
    for change in changes:
        trees: dict[str, Tree] = {}
        known: list[Mapping[str, str]] = []
        asked: list[dict[str, Any]] = []
        for record in records:
            words = targets[record["id"]].words
            edits, own = change(words)
            output = edited(words, edits)
            for each in (words, output):
                trees[text_of(each)] = Tree(tuple(each), (), "", "", 1, 1)
            known.append(own)
            asked.append({**record, "translation": text_of(output)})
        found = judge_with(trees, asked)
        for record, truths, judged in zip(asked, known, found, strict=True):
            for dependency, verdict in zip(record["extra"]["dependencies"], judged, strict=True):
                if truth := truths.get(dependency["phenomenon"]):
                    counts[dependency["phenomenon"]][truth, verdict["verdict"]] += 1
    return counts


def figures(own: Counts) -> dict[str, float]:
    """Number, share decided, and of *kept* and *lost* how many are right and how many there are."""
    decided = {
        said: sum(number for (_, verdict), number in own.items() if verdict == said)
        for said in ("kept", "lost")
    }
    return {
        "n": own.total(),
        "decided": sum(decided.values()) / own.total(),
        **decided,
        **{f"{said} right": own[said, said] for said in decided},
    }


@pytest.mark.slow
@pytest.mark.parametrize(("source", "target"), [("en", "es"), ("en", "de")])
def test_verdicts_on_gold_trees(shared: Path, source: str, target: str) -> None:
    pytest.importorskip("thot")
    found = counted(shared / "data" / "pud", source, target)
    for phenomenon in ("subject_verb_agreement", "negation_scope"):
        own = figures(found[phenomenon])
        assert own["n"] >= 100, phenomenon
        assert own["decided"] >= 0.5, (phenomenon, own)
        for said in ("kept", "lost"):
            assert own[said] >= 30, (phenomenon, own)
            assert own[f"{said} right"] >= 0.98 * own[said], (phenomenon, own)


def main() -> None:
    for pair in sys.argv[2:]:
        for phenomenon, counts in counted(Path(sys.argv[1]), pair[:2], pair[-2:]).items():
            own = figures(counts)
            kept, lost = (f"{own[f'{said} right']} of {own[said]}" for said in ("kept", "lost"))
            print(f"| {pair} | `{phenomenon}` | {own['n']} | {100 * own['decided']:.1f} | {kept} | {lost} |")


if __name__ == "__main__":
    main()
