"""Readers of test sets, of what was made elsewhere and of what people answered, with good inputs to break."""

from __future__ import annotations

import contextlib
import functools
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from babelscope.annotate import answers as given
from babelscope.annotate.agreement import agreement_between_people, agreement_with_method
from babelscope.annotate.queue import read_tasks
from babelscope.core.system import ItemChoice, Unanswered
from babelscope.language.align import read_pharaoh
from babelscope.language.cues import read_candidates, read_cues
from babelscope.language.german.analysis import default_analyzer
from babelscope.language.registry import detectors, error_types
from babelscope.language.ud import read_trees
from babelscope.language.ud_rules import Finder, choose_rules, read_rules
from babelscope.making.challenge.reading import Corpus
from babelscope.making.pairs import make_pairs
from babelscope.methods.challenge.annotation import answers
from babelscope.metrics.base import Segment, sentence_qualities
from babelscope.metrics.ribes import sentence_ribes
from babelscope.metrics.tokenizers import MTEVAL_13A
from babelscope.runs.regression import read_column, read_table
from babelscope.runs.study import read_study
from babelscope.stats.agreement import parse_verdicts
from babelscope.systems.registry import open_system
from babelscope.systems.stored.formats import read_translations
from babelscope.systems.stored.scores import ScoresFile
from babelscope.testsets import pattern_files, readers
from babelscope.testsets.items import TestSet, make_items
from babelscope.testsets.ldd import read_ldd
from babelscope.testsets.loading import load
from babelscope.testsets.mucow import read_mucow
from babelscope.testsets.winomt import read_winomt
from babelscope.util.errors import SystemFailure
from babelscope.util.text import read_json_lines, read_lines, require_equal_counts, stream_lines
from tests.fuzz.fuzzing import Counts, Target


def lines(*records: Any) -> bytes:
    """JSON lines."""
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def text(*rows: str) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


def count(path: Path) -> int:
    """How many lines a file has, counted without our own code."""
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    return data.count(b"\n") + (data[-1:] not in (b"\n", b""))


def whole(tests: TestSet) -> int:
    """All items, those left out too; and what was read must be the same when written and read again."""
    again = list(make_items(("again", json.loads(json.dumps(item.as_json()))) for item in tests.items))
    assert again == list(tests.items)
    return len(tests) + sum(tests.skipped.values())


def _counted(
    name: str, read: Callable[[Path], Any], *seeds: bytes, values: Callable[[Any], int] = len
) -> Target:
    """A reader that gives as many values as its one file has lines."""
    return Target(
        name,
        lambda folder: (count(folder / "a"), values(read(folder / "a"))),
        [{"a": seed} for seed in seeds],
    )


_test_set = functools.partial(_counted, values=whole)


# -- test sets -----------------------------------------------------------------------------------------

PAIR = {
    "id": "1",
    "source": "The dog sleeps.",
    "correct": "Der Hund schläft.",
    "phenomenon": "verb",
    "contrastive": ["Der Hund schlafen.", "Der Hunde schläft."],
    "reference": "human",
    "note": {"a": [1]},
}
CUED = {
    "id": "1",
    "source": "The doctor left.",
    "category": "male",
    "gold": "male",
    "translation": "Der Arzt.",
    "correct_sources": ["The [male] doctor left."],
    "incorrect_sources": ["The [female] doctor left."],
}
SENTENCE = {"id": "1", "source": "A cat.", "reference": ["Eine Katze.", "Ein Kater."]}
_DEPENDENCY = {"id": "1", "phenomenon": "particle", "head": 2, "dependent": 5, "distance": 2}
CONLLU = (
    b"# sent_id = 1\n# text = Er gibt nie auf\n1\tEr\ter\tPRON\tPPER\tCase=Nom\t2\tnsubj\t_\t_\n"
    b"2\tgibt\tgeben\tVERB\tVVFIN\t_\t0\troot\t_\t_\n3\tnie\tnie\tADV\tADV\t_\t2\tadvmod\t_\t_\n"
    b"4\tauf\tauf\tADP\tPTKVZ\t_\t2\tcompound:prt\t_\t_\n\n"
    b"# text = Zum Haus\n1-2\tZum\t_\t_\t_\t_\t_\t_\t_\t_\n1\tZu\tzu\tADP\t_\t_\t3\tcase\t_\t_\n"
    b"2\tdem\tder\tDET\t_\t_\t3\tdet\t_\t_\n3\tHaus\tHaus\tNOUN\t_\tReflex=Yes\t0\troot\t_\t_\n"
    b"3.1\tleer\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
)
_GLUED = b"# sent_id = 241\tEr\ter\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\tgeht\tgehen\tVERB\t_\t_\t0\troot\t_\t_\n"
_CUES = lines(
    {"src_word": "bank", "correct_insertions": ["park", "wooden"], "incorrect_insertions": ["river"]},
    {"src_word": "bank", "correct_insertions": ["river"], "incorrect_insertions": ["money"]},
)
_MUCOW = {
    "en-de.text.txt": text("He sat on the bank.", "The banks of the river are green."),
    "en-de.key.tsv": text("b.1\tnews\tbank\tBank\tUfer Damm", "b.2\tnews\tbank\tUfer\tBank"),
    "en-de.ref.txt": text("Er saß auf der Bank.", "Die Ufer sind grün."),
    "en-de.domain.tsv": text("bank\tBank\tin", "bank\tUfer\tout"),
    "cues/en-de.insertions.jsonl": _CUES,
    "counts/senses_en-de_count_results.json": b'{"bank - Bank": 10, "bank - Ufer": 3}',
}
_WINOMT = text(
    "male\t1\tThe doctor, he left.\tdoctor\tpro",
    "female\t4\tThe man saw a construction worker.\tconstruction worker",
    "neutral\t0\tSomeone came.\tsomeone",
)
_SCORING = b"""[{"source": "on the bank", "reference": "auf der Bank", "ambig": "bank", "errors":
[{"contrastive": "auf dem Ufer", "replacement": "Ufer", "type": "inter"}]},
{"source": "", "reference": "leer", "errors": []}]"""
_NAMED = {
    "a.jsonl": lines(PAIR),
    "a.tsv": text("a\tb"),
    "a.en": text("a"),
    "a.de": text("b"),
    "w.tsv": _WINOMT,
}
_SPECS = (
    *(
        "jsonl:a.jsonl?skip_empty=yes",
        "winomt:w.tsv?neutral=no",
        "mucow:en-de?all=yes",
        "ldd:x,de",
        "a.jsonl",
    ),
    *("parallel:a.en,a.de", "tsv:a.tsv", "distil-lingeval:x.mt", "mucow-scoring:x.json", "mucow"),
)


def _parallel(folder: Path) -> Counts:
    paths = [folder / "a.en", folder / "a.de"]
    made = readers.read_parallel(paths, skip_empty=True)
    assert count(paths[0]) == count(paths[1])
    return count(paths[0]), whole(made)


def _distil(folder: Path) -> Counts:
    return count(folder / "verb.mt" / "src.en"), whole(readers.read_distil_lingeval(folder / "verb.mt"))


def _mucow_scoring(folder: Path) -> Counts:
    path = folder / "a.json"
    made = readers.read_mucow_scoring(path)
    assert len(readers.read_mucow_scoring(path, empty=True)) == whole(made)
    return len(json.loads(path.read_bytes())), whole(made)


def _mucow(folder: Path) -> Counts:
    made = read_mucow(folder / "en-de", all=(folder / "all").exists())
    return count(folder / "en-de.text.txt"), whole(made)


def _ldd(folder: Path) -> Counts | None:
    if (folder / "a.en").exists():
        return count(folder / "a.en"), whole(read_ldd(f"{folder},{folder / 'a.en'},{folder / 'a.de'}"))
    whole(read_ldd(f"{folder},{'de' if (folder / 'b.de').exists() else 'en'}"))
    return None


def _spec(folder: Path) -> None:
    """A name of a test set, as it would stand in a study."""
    spec = (folder / "spec").read_bytes().decode("utf-8", "replace")
    if spec.startswith("lab:"):  # reads no file, and makes as many items as it is asked for
        return
    with (
        contextlib.chdir(folder),
        mock.patch(
            "babelscope.util.published._download_file", side_effect=SystemFailure("not while fuzzing")
        ),
    ):
        load(spec, data_dir=folder / "data")


TEST_SETS = (
    _counted("lines", read_lines, text("a", "b")),
    _test_set(
        "jsonl",
        lambda path: readers.read_jsonl(path, skip_empty=True),
        *(lines(item, {**item, "id": "2"}) for item in (PAIR, CUED, SENTENCE, _DEPENDENCY)),
    ),
    _test_set(
        "tsv",
        lambda path: readers.read_tsv(path, skip_empty=True),
        text("A cat.\tKatze.\tKater.", "B\tb\tbb", "\tc\tc"),
    ),
    _test_set("winomt", read_winomt, _WINOMT),
    Target("parallel", _parallel, [{"a.en": text("A cat.", "", "C"), "a.de": text("Katze.", "b", "c")}]),
    Target(
        "distil-lingeval",
        _distil,
        [
            {
                f"verb.mt/{name}": text("a b", "c d")
                for name in ("src.en", "tgt.correct.de", "tgt.incorrect.de")
            }
        ],
    ),
    Target("mucow-scoring", _mucow_scoring, [{"a.json": _SCORING}]),
    Target("mucow", _mucow, [_MUCOW, {**_MUCOW, "all": b""}]),
    Target(
        "ldd",
        _ldd,
        [
            {"en_particle.ids": text("1", "2"), "a.en": text("a b", "c"), "a.de": text("x", "y")},
            {"de_particle2.ids": text("1"), "de_particle2.conllu": CONLLU.split(b"\n\n")[0] + b"\n\n"}
            | {"b.en": text("gives up"), "b.de": text("Er gibt nie auf")},
            {"en_x.ids": text("3", "1"), "en_x.en": text("c", "a"), "en_x.de": text("C", "A")},
            {"news_reorder2.ids": text("1"), "a.en": text("a b"), "a.de": text("b a")},
        ],
    ),
    Target(
        "names of test sets",
        _spec,
        [{**_NAMED, "spec": spec.encode()} for spec in _SPECS],
        broken=("spec",),
        share=2,
    ),
)

# -- parses, alignments, cues, rules and studies -------------------------------------------------------


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
    rows = (gzip.decompress(data) if path.suffix == ".gz" else data).split(b"\n")
    # A sentence begins where a line that is not empty follows one that is.
    return sum(bool(row and not before) for before, row in zip([b"", *rows], rows, strict=False)), len(trees)


def _pharaoh(folder: Path) -> Counts:
    made = read_pharaoh(folder / "a", [(3, 3), (2, 5)], parallel_to="the text")
    rows = read_lines(folder / "a")
    assert all(len(links) == len(row.split()) for links, row in zip(made, rows, strict=True))
    return count(folder / "a"), len(made)


def _corpus(folder: Path) -> Counts:
    skipped: dict[str, int] = {}
    corpus = Corpus(folder / "a.en", folder / "a.de", folder / "a.conllu", None, "target", folder / "a.links")
    pairs = list(corpus.pairs(Finder(choose_rules()), skipped=skipped))
    return count(folder / "a.en"), len(pairs) + sum(skipped.values())


def _rules(folder: Path) -> None:
    finder = Finder(choose_rules(more=read_rules(folder / "a.toml")))
    for tree in read_trees(folder / "a.conllu"):
        if tree is not None:
            finder(tree, "source")


def _error_types(folder: Path) -> Counts:
    """Pairs of each error type, and what its detector says."""
    sources, references = (list(stream_lines(folder / name)) for name in ("a.en", "a.de"))
    require_equal_counts({"a.en": len(sources), "a.de": len(references)})
    for name, type in error_types().items():
        for mode in type.modes or (None,):
            for pair in make_pairs(name, sources, references, mode=mode, choose="all"):
                assert pair.contrastive[0] != "" or pair.correct
    read = [default_analyzer().analyze(text[:20_000]) for text in references]
    for detect in detectors().values():
        for source, analyzed in zip(sources, read, strict=True):
            detect(source, analyzed)
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
_STUDY = b"""study = { name = "mine", seed = 3 }
systems = [{ spec = "lab:teacher", name = "teacher" }]
tests = [{ spec = "parallel:a.en,a.de" }]
methods = [{ name = "likelihood", label = "l", tests = ["x"], per = "token" }]
[run]
out = "runs/mine"
cache = true
chunk = 64
data_dir = "data"
"""
_ALIGNED = {
    "a.en": text("He never gives up", "To the house"),
    "a.conllu": CONLLU,
    "a.de": text("Er gibt nie auf", "Zum Haus"),
    "a.links": b"0-0 1-2\n0-0 2-1\n",
}
_GERMAN = {
    "a.en": text("The dog is not here. It has no bone.", "He could not go, unless he came."),
    "a.de": text("Der Hund ist nicht da. Er hat keinen Knochen.", "Er sagte, die unfaire Frau geht."),
}
_TRANSLATED = {"a.out": text("Der Hund ist da.", "a b a c"), "a.ref": text("Ein Hund war da.", "a a b")}
_CANDIDATES = b'{"bank": {"Bank": ["park", "old"], "Ufer": ["river"]}, "tap": {}}'

LANGUAGE = (
    Target("conllu", _conllu, [{"a.conllu": CONLLU}, {"a.conllu": _GLUED}]),
    Target("conllu.gz", _conllu, [{"a.conllu.gz": gzip.compress(CONLLU, mtime=0)}], share=0.5),
    Target("pharaoh", _pharaoh, [{"a": b"0-0 1-2\n1-4 0-1\n"}, {"a": b"\n0-0"}]),
    Target("parses and alignments", _corpus, [_ALIGNED]),
    Target("error types", _error_types, [_GERMAN], share=0.03),
    Target("qualities", _qualities, [_TRANSLATED], share=0.03),
    Target("rules", _rules, [{"a.toml": _RULES, "a.conllu": CONLLU}]),
    _counted("cues", read_cues, _CUES),
    Target("candidates", lambda folder: read_candidates(folder / "a"), [{"a": _CANDIDATES}]),
    Target("study", lambda folder: read_study(folder / "a.toml"), [{"a.toml": _STUDY}]),
)

# -- scores and translations of other systems ----------------------------------------------------------


def _scores(folder: Path) -> Counts:
    choices = [ItemChoice("1", 2), ItemChoice("2", 2)]
    found = ScoresFile(str(folder / "a"), lines="interleaved").item_scores(choices)
    return 2, sum(scores is not None and bool(scores.others) for scores in found)


def _given_scores(folder: Path) -> Counts:
    choices = [ItemChoice("1"), ItemChoice("2")]
    found = ScoresFile(str(folder / "a"), layout="columns").item_scores(choices, best=False)
    return count(folder / "a"), sum(scores is not None and len(scores.others) == 1 for scores in found)


def _translations(folder: Path) -> Counts:
    path = next(folder.glob("a.*"))
    found = read_translations(path)
    pattern_files.read_lemmas(folder / "lemmas", found, parallel_to=str(path))
    with contextlib.suppress(Unanswered):
        open_system(f"file:{path}?format=auto&missing=skip").translate(["The doctor left."] * 2)
    return count(path), len(found)


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


_MOSES = text("0 ||| a ||| -1", "0 ||| b ||| F= 1 ||| -2", "1 ||| c ||| -inf")
_LEMMATIZED = {"sentence": "The doctor left.", "translation": "Der Arzt", "translation_lemmatized": "der"}
_TWO = text("one", "two")

ELSEWHERE = (
    Target(
        "n-best lists with scores",
        _lists,
        [
            {"a.nbest": _MOSES, "src": _TWO},
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
            {"a.jsonl": lines(_LEMMATIZED), "lemmas": text("der")},
        ],
    ),
    Target(
        "n-best lists",
        _n_best,
        [
            {"plain.out": text("eins", "zwei"), "src": _TWO},
            {"tsv.out": text("eins\tein", "zwei"), "src": _TWO},
            {"moses.out": text("0 ||| eins ||| f ||| -1", "0 ||| ein", "1 ||| zwei"), "src": _TWO},
        ],
    ),
    Target("table", _table, [{"a.tsv": text("system\tbleu\tdistilled", "a\t12.5\tyes", "b\t3\tno")}]),
)

# -- what people are asked and what they answered ------------------------------------------------------

_SHOWN = {"id": 1, "source": "A cat.", "translation": "Katze."}
_CASES: tuple[dict[str, Any], ...] = (
    {**_SHOWN, "task": "assessment", "system": "s"},
    {**_SHOWN, "task": "ranking", "translations": ["Katze.", "Kater."]},
    {
        **_SHOWN,
        "task": "mucow",
        "word": "cat",
        "lemmas": ["Ufer"],
        "wrong_lemmas": ["Bank"],
        "questions": ["?"],
    },
    {**_SHOWN, "task": "winomt", "occupation": "cat", "gold": "male"},
    {**_SHOWN, "task": "challenge", "tokens": ["A", "cat", "."], "head": 2, "dependent": 3}
    | {"head_form": "cat", "phenomenon": "particle", "reference": "He gives up"},
    {**_SHOWN, "task": "extraction", "head": "A", "dependent": "cat", "distance": 0},
    {**_SHOWN, "task": "choice", "translations": ["Katze.", "Hund."], "gold": "A"},
    {"task": "machine-reference", **PAIR, "translation": "Hund", "correction": "Der Hund"},
)
_ANSWERS = [
    {"id": "1", "item": f"d-{task}", "task": task, "answer": answer, "annotator": "me", "time": "t"}
    for task, answer in (
        ("assessment", {"score": 70}),
        ("ranking", {"scores": [10, 20], "overall": 3}),
        ("mucow", {"label": "Correct Sense"}),
        ("challenge", {"label": "Not real"}),
        ("machine-reference", {"label": "Wrong", "correction": "Der Hund"}),
    )
]
_VERDICT = {"id": 3, "correct": True, "weight": 0.5, "sentence": "A", "predicted": "male"}
_QUEUES = {
    "a.jsonl": lines({"id": "1", "answer": "Not real"}, {"id": "2", "answer": None}),
    "q.answers.me.jsonl": lines(_ANSWERS[3]),
}


def _tasks(folder: Path) -> Counts:
    tasks = read_tasks(folder / "a.jsonl", "assessment")
    for task in tasks:
        json.dumps([task.digest, task.question, [block.pieces for block in task.blocks]]).encode()
    return count(folder / "a.jsonl"), len(tasks)


def _agreement(folder: Path) -> None:
    paths = [folder / "q.answers.a.jsonl", folder / "q.answers.b.jsonl"]
    said, tasks = given.read_annotators(paths), given.items_of(paths)
    records = pattern_files.read_verdicts(folder / "records.jsonl")
    agreement_with_method(said, tasks, records, name="m", field="score")
    agreement_between_people(said, tasks)


def _answer_file(folder: Path) -> None:
    given.AnswerFile(folder / "q.jsonl", "a", read_tasks(folder / "q.jsonl", "mucow")).close()


def _queue(folder: Path) -> None:
    answers(read_json_lines(folder / "a.jsonl"))
    answers(given.read_judged(folder / "q.answers.me.jsonl"))


PEOPLE = (
    Target("tasks to annotate", _tasks, [{"a.jsonl": lines(case)} for case in _CASES]),
    Target(
        "answers",
        _agreement,
        [
            {
                "q.answers.a.jsonl": lines(one),
                "q.answers.b.jsonl": lines({**one, "annotator": "b"}),
                "records.jsonl": lines({**_VERDICT, "id": "1", "system": "", "score": 0.5}),
            }
            for one in _ANSWERS
        ],
    ),
    Target(
        "answer file",
        _answer_file,
        [
            {
                "q.jsonl": lines(*({**case, "id": id} for id, case in enumerate(_CASES))),
                "q.answers.a.jsonl": lines(*_ANSWERS),
            }
        ],
        share=0.5,
    ),
    _counted(
        "verdicts",
        lambda path: parse_verdicts(pattern_files.read_verdicts(path), "winomt"),
        lines(_VERDICT),
    ),
    Target("queues", _queue, [_QUEUES]),
)

READERS = (*TEST_SETS, *LANGUAGE, *ELSEWHERE, *PEOPLE)
