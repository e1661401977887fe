"""Readers of what was made elsewhere: parses, alignments, cues, scores, translations; of rules and studies."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Iterable
from pathlib import Path

from babelscope.core.answers import ItemChoice, Unanswered
from babelscope.language.align import read_pharaoh
from babelscope.language.cues import read_candidates, read_cues
from babelscope.language.detecting import detectors
from babelscope.language.german.analysis import default_analyser
from babelscope.language.registry import error_types
from babelscope.language.rule_files import read_rules
from babelscope.language.ud import read_trees
from babelscope.language.ud_rules import Finder, choose_rules
from babelscope.making.challenge.reading import Corpus
from babelscope.making.pairs import make_pairs
from babelscope.methods.patterns.flow import read_queries
from babelscope.metrics.base import Segment, sentence_qualities
from babelscope.metrics.ribes import sentence_ribes
from babelscope.metrics.tokenisers import MTEVAL_13A
from babelscope.runs.covariates import read_column, read_table
from babelscope.runs.study import read_study
from babelscope.systems.opening import open_system
from babelscope.systems.scores import ScoresFile
from babelscope.systems.translation_files import read_translations
from babelscope.testsets import pattern_files
from babelscope.testsets.items import AmbiguousSource, MinimalPair
from babelscope.testsets.sets import TestSet
from babelscope.util.file_ranges import stream_lines
from babelscope.util.text import read_lines, require_equal_counts
from tests.fuzz.fuzzing import Counts, Target
from tests.fuzz.targets import CONLLU, CUED, GLUED, MUCOW_FILES, PAIR, count, done, lines, text


def _conllu(folder: Path) -> Counts:
    path = next(folder.glob("a.conllu*"))
    skipped: dict[str, int] = {}
    trees = list(read_trees(path, skipped=skipped))
    finder = Finder(choose_rules(), roots=True)
    for tree in trees:
        if tree is not None:
            finder(tree, "source")
            joined = " ".join(tree.tokens)
            assert tree.matches(joined)
            assert len(tree.offsets(joined)) == len(tree.words)
    assert trees.count(None) == sum(skipped.values())
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    return _blocks(data.split(b"\n")), len(trees)


def _blocks(rows: Iterable[bytes]) -> int:
    """How often a line that is not empty follows one that is."""
    found, before = 0, b""
    for row in rows:
        found += bool(row and not before)
        before = row
    return found


def _pharaoh(folder: Path) -> Counts:
    made = read_pharaoh(folder / "a", [(3, 3), (2, 5)], parallel_to="the text")
    assert all(
        len(links) == len(row.split()) for links, row in zip(made, read_lines(folder / "a"), strict=True)
    )
    return count(folder / "a"), len(made)


def _corpus(folder: Path) -> Counts:
    skipped: dict[str, int] = {}
    corpus = Corpus(folder / "a.en", folder / "a.de", folder / "a.conllu", None, "target", folder / "a.links")
    pairs = list(corpus.pairs(Finder(choose_rules()), skipped=skipped))
    return count(folder / "a.en"), len(pairs) + sum(skipped.values())


def _rules(folder: Path) -> None:
    rules = read_rules(folder / "a.toml")
    finder = Finder(choose_rules(more=rules))
    for tree in read_trees(folder / "a.conllu"):
        if tree is not None:
            finder(tree, "source")


def _error_types(folder: Path) -> Counts:
    """Pairs of each error type, and what its detector says; the last thousand characters of each text, and all."""
    sources, references = (list(stream_lines(folder / name)) for name in ("a.en", "a.de"))
    require_equal_counts({"a.en": len(sources), "a.de": len(references)})
    for name, type in error_types().items():
        for mode in type.modes or (None,):
            for pair in make_pairs(name, sources, references, mode=mode, choose="all"):
                assert pair.contrastive[0] != "" or pair.correct
    read = [default_analyser().analyse(text[:20_000]) for text in references]
    for detect in detectors().values():
        for source, analysed in zip(sources, read, strict=True):
            detect(source, analysed)
    return count(folder / "a.en"), len(sources)


def _qualities(folder: Path) -> Counts:
    """TER is left out: sacreBLEU's takes ten seconds for five hundred words out of order."""
    texts, references = ([line[:50_000] for line in read_lines(folder / name)] for name in ("a.out", "a.ref"))
    require_equal_counts({"a.out": len(texts), "a.ref": len(references)})
    segments = [
        Segment("a", *pair) for pair in zip(texts, [(each or "a",) for each in references], strict=True)
    ]
    for metric in ("bleu", "chrf", "chrf++"):
        assert len(sentence_qualities(metric, segments)) == len(texts)
    for segment in segments:
        if words := MTEVAL_13A.split(segment.references[0]):
            sentence_ribes(MTEVAL_13A.split(segment.hypothesis)[:5_000], [words[:5_000]])
    return count(folder / "a.out"), len(texts)


_RULES = b"""[light_verb]
definition = "a light verb and its noun"
dependent = { relation = ["obj"], upos = ["NOUN"], features = "Number=Sing" }
head = { lemma = ["make", "take"] }
languages = ["en"]

[negation]
dependent = { form = "nicht" }
"""

LANGUAGE = (
    Target("conllu", _conllu, [{"a.conllu": CONLLU}, {"a.conllu": GLUED}]),
    Target("conllu.gz", _conllu, [{"a.conllu.gz": gzip.compress(CONLLU, mtime=0)}], share=0.5),
    Target("pharaoh", _pharaoh, [{"a": b"0-0 1-2\n1-4 0-1\n"}, {"a": b"\n0-0"}]),
    Target(
        "parses and alignments",
        _corpus,
        [
            {
                "a.en": text("He never gives up", "To the house"),
                "a.conllu": CONLLU,
                "a.de": text("Er gibt nie auf", "Zum Haus"),
                "a.links": b"0-0 1-2\n0-0 2-1\n",
            }
        ],
    ),
    Target(
        "error types",
        _error_types,
        [
            {
                "a.en": text("The dog is not here. It has no bone.", "He could not go, unless he came."),
                "a.de": text(
                    "Der Hund ist nicht da. Er hat keinen Knochen.", "Er sagte, die unfaire Frau geht."
                ),
            }
        ],
        share=0.03,
    ),
    Target(
        "qualities",
        _qualities,
        [{"a.out": text("Der Hund ist da.", "a b a c"), "a.ref": text("Ein Hund war da.", "a a b")}],
        share=0.03,
    ),
    Target("rules", _rules, [{"a.toml": _RULES, "a.conllu": CONLLU}]),
    Target(
        "cues",
        lambda folder: (count(folder / "a.jsonl"), len(read_cues(folder / "a.jsonl"))),
        [{"a.jsonl": MUCOW_FILES["cues/en-de.insertions.jsonl"]}],
    ),
    Target(
        "candidates",
        lambda folder: done(read_candidates(folder / "a.json")),
        [{"a.json": b'{"bank": {"Bank": ["park", "old"], "Ufer": ["river"]}, "tap": {}}'}],
    ),
    Target(
        "queries",
        lambda folder: done(read_queries(str(folder / "a.json"))),
        [
            {
                "a.json": b'{"cook": {"src_forms": ["cook"], "tgt_forms_male": ["Koch"], "tgt_forms_female": ["x"]}}'
            }
        ],
    ),
)


_PAIRS = TestSet("pairs", (MinimalPair.from_json(PAIR), MinimalPair.from_json({**PAIR, "id": "2"})))
_CUED = TestSet("cued", (AmbiguousSource.from_json(CUED), AmbiguousSource.from_json({**CUED, "id": "2"})))


def _scores(folder: Path) -> Counts:
    choices = [ItemChoice(item.id, len(item.contrastive)) for item in _PAIRS.items]  # type: ignore[union-attr]
    found = ScoresFile(str(folder / "a"), lines="interleaved").item_scores(choices)
    return len(_PAIRS), sum(scores is not None and bool(scores.others) for scores in found)


def _given_scores(folder: Path) -> Counts:
    choices = [ItemChoice(item.id) for item in _CUED.items]
    found = ScoresFile(str(folder / "a"), layout="columns").item_scores(choices, best=False)
    return count(folder / "a"), sum(scores is not None and len(scores.others) == 1 for scores in found)


def _translations(folder: Path) -> Counts:
    path = next(folder.glob("a.*"))
    given = read_translations(path)
    pattern_files.read_lemmas(folder / "lemmas", given, parallel_to=str(path))
    with contextlib.suppress(Unanswered):
        open_system(f"file:{path}?format=auto&missing=skip").translate(
            [item.question for item in _CUED.items if isinstance(item, AmbiguousSource)]
        )
    return count(path), len(given)


def _n_best(folder: Path) -> None:
    form = next(folder.glob("*.out")).stem
    system = open_system(f"file:{folder / f'{form}.out'}?source={folder / 'src'}&format={form}")
    sources = read_lines(folder / "src")
    assert [len(answer) for answer in system.translate(sources)] == [1] * len(sources)


def _lists(folder: Path) -> None:
    path = next(folder.glob("a.*"))
    sources = read_lines(folder / "src")
    system = open_system(f"lists:{path}?scores=yes&source={folder / 'src'}")
    assert all(own[0].total <= 0 for own in system.translate(sources) if own[0].has_scores)


def _table(folder: Path) -> Counts:
    table = read_table(folder / "a.tsv")
    read_column(table, "bleu", folder / "a.tsv")
    return count(folder / "a.tsv") - 1, len(table)


ELSEWHERE = (
    Target(
        "n-best lists with scores",
        _lists,
        [
            {
                "a.nbest": text("0 ||| a ||| -1", "0 ||| b ||| F= 1 ||| -2", "1 ||| c ||| -inf"),
                "src": text("x", "y"),
            },
            {"a.jsonl": lines({"id": 0, "text": "a", "logprob": -1}), "src": text("x")},
        ],
    ),
    Target(
        "scores",
        _scores,
        [
            {"a": text("-1.5", "-2", "-3", "-1", "-1", "-1")},
            {"a": text("-1\t-2\t-3", "-1\t-1\t-inf\t-0.5")},
        ],
    ),
    Target(
        "scores of conditioning",
        _given_scores,
        [{"a": text("-1\t-2", "-3\t-4")}, {"a": text("2\t-1\t-2", "1\t0\t-4")}],
    ),
    Target(
        "given translations",
        _translations,
        [
            {"a.txt": text("Der Arzt ging.", "Die Ärztin ging."), "lemmas": text("der Arzt", "die Ärztin")},
            {"a.txt": text("The doctor left. ||| Der Arzt ging.", "x ||| "), "lemmas": text("der", "y")},
            {
                "a.jsonl": lines(
                    {
                        "sentence": "The doctor left.",
                        "translation": "Der Arzt",
                        "translation_lemmatized": "der",
                    }
                ),
                "lemmas": text("der"),
            },
        ],
    ),
    Target(
        "n-best lists",
        _n_best,
        [
            {"plain.out": text("eins", "zwei"), "src": text("one", "two")},
            {"tsv.out": text("eins\tein", "zwei"), "src": text("one", "two")},
            {
                "moses.out": text("0 ||| eins ||| f ||| -1", "0 ||| ein", "1 ||| zwei"),
                "src": text("one", "two"),
            },
        ],
    ),
    Target("table", _table, [{"a.tsv": text("system\tbleu\tdistilled", "a\t12.5\tyes", "b\t3\tno")}]),
)


_STUDY = b"""[study]
name = "mine"
seed = 3
[[systems]]
spec = "lab:teacher"
name = "teacher"
[[tests]]
spec = "parallel:a.en,a.de"
[[methods]]
name = "likelihood"
label = "l"
tests = ["x"]
per = "token"
[run]
out = "runs/mine"
cache = true
chunk = 64
data_dir = "data"
"""

STUDIES = (Target("study", lambda folder: done(read_study(folder / "a.toml")), [{"a.toml": _STUDY}]),)
