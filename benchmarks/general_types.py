"""General error types on parallel treebanks: pairs by type, false alarms of detectors, what they find, time.

    python benchmarks/general_types.py FOLDER LANGUAGE[=JUDGE]...

FOLDER has `LANGUAGE_pud-ud-test.conllu`, also of English, whose sentences have the same `sent_id`. A detector reads
each half with what the other half says of the language. JUDGE is a lexicon that did not make the variants: `licensed`
are the changed forms of agreement types that it reads as agreeing.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from babelscope.language.base import Variant
from babelscope.language.general import agreement
from babelscope.language.general.lexicons import Entry, Lexicon, open_lexicon
from babelscope.language.general.sentence import (
    Sentence,
    Source,
    compatible,
    features,
    with_person,
    word_class,
)
from babelscope.language.general.treebank import AGREEING, Link, Tools, read_treebank
from babelscope.language.general.types import GENERAL_TYPES
from babelscope.language.ud import read_trees


def main(folder: str, *languages: str) -> None:
    """Print a table of each language."""
    sources = {each.tree.sent_id: each for each in _read(Path(folder), "en")}
    for named in languages:
        code, _, judge = named.partition("=")
        sentences = _read(Path(folder), code)
        start = time.perf_counter()
        tools = read_treebank(sentences)
        rows = {name: _pairs(name, sentences, sources, tools) for name in GENERAL_TYPES}
        made = time.perf_counter() - start
        detected = _detected(sentences, sources)
        print(f"{code}: {len(sentences)} sentences, counted and all variants made in {made:.1f} s")
        known = _judged(sentences, tools, open_lexicon(judge)) if judge else {}
        for name, count in rows.items():
            told = " ".join(
                f"{what} {value}" for what, value in (detected.get(name, {}) | known.get(name, {})).items()
            )
            print(f"  {name:<20}{count:>6}  {told}")


def _read(folder: Path, code: str) -> list[Sentence]:
    trees = read_trees(folder / f"{code}_pud-ud-test.conllu")
    return [Sentence(tree) for tree in trees if tree is not None]


def _pairs(name: str, sentences: Sequence[Sentence], sources: Mapping[str, Sentence], tools: Tools) -> int:
    return sum(len(list(GENERAL_TYPES[name].make(each, _source(each, sources), tools))) for each in sentences)


def _source(sentence: Sentence, sources: Mapping[str, Sentence]) -> Source:
    found = sources[sentence.tree.sent_id]
    return Source(found.text, found)


def _detected(sentences: Sequence[Sentence], sources: Mapping[str, Sentence]) -> dict[str, dict[str, str]]:
    """False alarms on each half by the other half, and how many planted errors are found, by type."""
    halves = sentences[::2], sentences[1::2]
    counts: Counter[tuple[str, str]] = Counter()
    for half, other in (halves, halves[::-1]):
        tools = read_treebank(other)
        for name, made in GENERAL_TYPES.items():
            if made.find is None:
                continue
            for sentence in half:
                counts[name, "false"] += made.find(sentence, tools) is not None
                for variant in list(made.make(sentence, _source(sentence, sources), tools))[:1]:
                    planted = _planted(sentence, variant)
                    if planted is not None:
                        counts[name, "planted"] += 1
                        counts[name, "found"] += made.find(planted, tools) is not None
    return {
        name: {
            "false alarms": f"{counts[name, 'false']}/{len(sentences)}",
            "found": f"{counts[name, 'found']}/{counts[name, 'planted']}",
        }
        for name, made in GENERAL_TYPES.items()
        if made.find is not None
    }


def _planted(sentence: Sentence, variant: Variant) -> Sentence | None:
    """The gold tree with the changed word of a variant; None if the variant differs in several words."""
    starts = [start for start, _ in sentence.spans]
    if variant.start not in starts or not variant.changed:
        return None
    place = starts.index(variant.start)
    word = sentence.words[place]
    if sentence.changed((word, variant.changed)).text != variant.text:
        return None
    words = (*sentence.words[:place], word._replace(form=variant.changed), *sentence.words[place + 1 :])
    return Sentence(replace(sentence.tree, words=words, text=variant.text))


def _fits(link: Link, entry: Entry) -> bool:
    """Whether a reading can stand where a word stood: no noun for an adjective, no imperative with a subject, and
    none without any feature that the two words share, which says nothing."""
    feats = features(entry.feats)
    kind = "finite" if link.kind == "subject" else "nominal"
    noun = entry.upos in ("NOUN", "PROPN") and link.target.upos not in ("NOUN", "PROPN")
    marked = any(name in feats for name in ("Number", "Gender", "Case"))
    return (
        word_class(entry.upos, feats) == kind and not noun and "Imp" not in feats.get("Mood", ()) and marked
    )


def _judged(sentences: Sequence[Sentence], tools: Tools, judge: Lexicon) -> dict[str, dict[str, int]]:
    """By agreement type, how many changed forms another lexicon knows, and reads as agreeing."""
    found: dict[str, Counter[str]] = {}
    for name, made in GENERAL_TYPES.items():
        counts = found.setdefault(name, Counter())
        for sentence in sentences if made.agrees else ():
            for link, form in agreement.disagreeing(sentence, tools, *(made.agrees or ("", ""))):
                read = [features(each.feats) for each in judge.analyze(form.lower()) if _fits(link, each)]
                counts["known"] += bool(read)
                counts["licensed"] += any(
                    compatible(each, with_person(link.controller), AGREEING) for each in read
                )
    return {name: dict(counts) for name, counts in found.items()}


if __name__ == "__main__":
    main(*sys.argv[1:])
