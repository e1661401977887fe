"""How good our German analysis is, on the gold treebank UD German-GSD."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from babelscope.language.base import Variant
from babelscope.language.german.analysis import default_analyzer
from babelscope.language.german.errors.clause_omission import boundaries
from babelscope.language.german.morphology import DEFINITE
from babelscope.language.registry import error_type
from babelscope.util.text import read_lines

Row = dict[str, Any]
Gold = dict[tuple[int, int], list[str]]
_CASES = {"Nom": "nom", "Gen": "gen", "Dat": "dat", "Acc": "acc"}


def ud_rows(folder: Path, *, step: int = 1) -> Iterator[Row]:
    """Figures for nouns, articles, finite verbs and clause boundaries."""
    texts = [text for path in sorted(folder.glob("de_gsd*.conllu")) for text in _sentences(path)]
    if not texts:
        return
    counts: dict[str, list[int]] = {}

    def count(name: str, hit: bool) -> None:
        counts.setdefault(name, [0, 0])
        counts[name][0] += hit
        counts[name][1] += 1

    analyzer = default_analyzer()
    articles, verbs = error_type("np_agreement"), error_type("subj_verb_agreement")
    for text, gold in texts[::step]:
        sentence = analyzer.analyze(text)
        # Hyphenated words are several in the treebank: what counts is their end.
        ends = {end: row for (_, end), row in gold.items()}
        for token in sentence.tokens:
            if token.tag == "NN":
                row = ends.get(token.end)
                upos, xpos = (row[3], row[4]) if row else ("", "")
                # The universal tags take weekdays, months and parts of names for names, the German ones do not.
                count("noun precision", upos == "NOUN" or xpos == "NN")
                count("noun precision by UPOS alone", upos == "NOUN")
        # The last mode takes every article and verb that the analysis finds.
        _count_articles(articles.variants(sentence, mode=articles.modes[-1]), gold, count)
        changed = verbs.variants(sentence, mode=verbs.modes[-1])
        ours = {(variant.start, variant.start + len(variant.word)) for variant in changed}
        finite = {span for span, row in gold.items() if "VerbForm=Fin" in row[5]}
        for span in ours:
            count("finite-verb precision", span in finite)
        for span in finite:
            count("finite-verb recall", span in ours)
    for (one, _), (other, _) in pairwise(texts):
        joined = f"{one} {other}"
        for cut in boundaries(joined):
            # Colons and semicolons divide clauses inside sentences; stops must not.
            if joined[:cut].rstrip()[-1] not in ":;":
                count("clause accidents (clean)", cut != len(one) + 1)
    for name, (hits, n) in counts.items():
        yield {"name": f"UD German-GSD: {name}", "value": hits / n, "n": n}


def _count_articles(variants: list[Variant], gold: Gold, count: Callable[[str, bool], None]) -> None:
    counted = set()
    for variant in variants:
        row = gold.get((variant.start, variant.start + len(variant.word)))
        features = dict(each.split("=") for each in row[5].split("|") if "=" in each) if row else {}
        singular = row is not None and row[3] == "DET" and features.get("Number") == "Sing"
        if variant.start not in counted:
            counted.add(variant.start)
            count("article singular precision", singular)
        if singular and "Case" in features:
            case = _CASES[features["Case"]]
            kept = any(
                each.case == case and each.number == "sg" for each in DEFINITE[variant.changed.lower()]
            )
            count("article case kept", kept)


def _sentences(path: Path) -> Iterator[tuple[str, Gold]]:
    """Each text with the CoNLL-U rows of its words, by their place in it; contracted words keep one row."""
    text, rows = "", []
    for line in read_lines(path, keep_separators=True):
        if line.startswith("# text = "):
            text = line.removeprefix("# text = ")
        elif line and not line.startswith("#"):
            rows.append(line.split("\t"))
        elif not line and rows:
            yield text, _placed(text, rows)
            rows = []


def _placed(text: str, rows: list[list[str]]) -> Gold:
    found: Gold = {}
    place = covered = 0
    for row in rows:
        if "." in row[0]:
            continue
        if "-" in row[0]:
            covered = int(row[0].split("-")[1])
        elif int(row[0]) <= covered:
            continue
        start = text.find(row[1], place)
        if start >= 0:
            place = start + len(row[1])
            found[start, place] = row
    return found
