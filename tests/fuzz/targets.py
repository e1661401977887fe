"""Readers of test sets, each with good inputs of our own to break."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from babelscope.testsets import readers
from babelscope.testsets.ldd import read_ldd
from babelscope.testsets.loading import load
from babelscope.testsets.mucow import read_mucow
from babelscope.testsets.sets import TestSet, make_items
from babelscope.testsets.winomt import read_winomt
from babelscope.util.text import read_lines
from tests.fuzz.fuzzing import Counts, Target


def lines(*records: Any) -> bytes:
    """JSON lines."""
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def text(*rows: str) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


def count(path: Path) -> int:
    """How many lines a file has, counted without our own code."""
    data = path.read_bytes()
    return data.count(b"\n") + (data[-1:] not in (b"\n", b""))


def done(_: object) -> None:
    """It was read, and there is nothing to count."""


def whole(tests: TestSet) -> int:
    """All items, those left out too; and what was read must be the same when written and read again."""
    again = list(make_items(("again", json.loads(json.dumps(item.as_json()))) for item in tests.items))
    assert again == list(tests.items)
    return len(tests) + sum(tests.skipped.values())


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
    "correct_sources": ["The [male] doctor left."],
    "incorrect_sources": ["The [female] doctor left."],
    "category": "male",
    "gold": "male",
    "translation": "Der Arzt ging.",
}
SENTENCE = {"id": "1", "source": "A cat.", "reference": ["Eine Katze.", "Ein Kater."]}
DEPENDENCY = {"id": "1", "phenomenon": "particle", "head": 2, "dependent": 5, "distance": 2}
ITEMS = (PAIR, CUED, SENTENCE, DEPENDENCY)
CONLLU = (
    b"# sent_id = 1\n# text = Er gibt nie auf\n1\tEr\ter\tPRON\tPPER\tCase=Nom\t2\tnsubj\t_\t_\n"
    b"2\tgibt\tgeben\tVERB\tVVFIN\t_\t0\troot\t_\t_\n3\tnie\tnie\tADV\tADV\t_\t2\tadvmod\t_\t_\n"
    b"4\tauf\tauf\tADP\tPTKVZ\t_\t2\tcompound:prt\t_\t_\n\n"
    b"# text = Zum Haus\n1-2\tZum\t_\t_\t_\t_\t_\t_\t_\t_\n1\tZu\tzu\tADP\t_\t_\t3\tcase\t_\t_\n"
    b"2\tdem\tder\tDET\t_\t_\t3\tdet\t_\t_\n3\tHaus\tHaus\tNOUN\t_\tReflex=Yes\t0\troot\t_\t_\n"
    b"3.1\tleer\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
)
GLUED = b"# sent_id = 241\tEr\ter\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\tgeht\tgehen\tVERB\t_\t_\t0\troot\t_\t_\n"


def _jsonl(folder: Path) -> Counts:
    path = folder / "a.jsonl"
    return count(path), whole(readers.read_jsonl(path, skip_empty=True))


def _parallel(folder: Path) -> Counts:
    paths = [folder / "a.en", folder / "a.de"]
    made = readers.read_parallel(paths, skip_empty=True)
    assert count(paths[0]) == count(paths[1])
    return count(paths[0]), whole(made)


def _tsv(folder: Path) -> Counts:
    return count(folder / "a.tsv"), whole(readers.read_tsv(folder / "a.tsv", skip_empty=True))


def _distil(folder: Path) -> Counts:
    return count(folder / "verb.mt" / "src.en"), whole(readers.read_distil_lingeval(folder / "verb.mt"))


def _mucow_scoring(folder: Path) -> Counts:
    path = folder / "a.json"
    made = readers.read_mucow_scoring(path)
    assert len(readers.read_mucow_scoring(path, empty=True)) == whole(made)
    return len(json.loads(path.read_bytes())), whole(made)


def _winomt(folder: Path) -> Counts:
    return count(folder / "a.tsv"), whole(read_winomt(folder / "a.tsv"))


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
    with contextlib.chdir(folder):
        load(spec, data_dir=folder / "data")


MUCOW_FILES = {
    "en-de.text.txt": text("He sat on the bank.", "The banks of the river are green."),
    "en-de.key.tsv": text("b.1\tnews\tbank\tBank\tUfer Damm", "b.2\tnews\tbank\tUfer\tBank"),
    "en-de.ref.txt": text("Er saß auf der Bank.", "Die Ufer sind grün."),
    "en-de.domain.tsv": text("bank\tBank\tin", "bank\tUfer\tout"),
    "cues/en-de.insertions.jsonl": lines(
        {"src_word": "bank", "correct_insertions": ["park", "wooden"], "incorrect_insertions": ["river"]},
        {"src_word": "bank", "correct_insertions": ["river"], "incorrect_insertions": ["money"]},
    ),
    "counts/senses_en-de_count_results.json": b'{"bank - Bank": 10, "bank - Ufer": 3}',
}
_WINOMT = text(
    "male\t1\tThe doctor, he left.\tdoctor\tpro",
    "female\t4\tThe man saw a construction worker.\tconstruction worker",
    "neutral\t0\tSomeone came.\tsomeone",
)
_SCORING = json.dumps(
    [
        {
            "source": "on the bank",
            "reference": "auf der Bank",
            "ambig": "bank",
            "errors": [{"contrastive": "auf dem Ufer", "replacement": "Ufer", "type": "inter"}],
        },
        {"source": "", "reference": "leer", "errors": []},
    ]
).encode()

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

TEST_SETS = (
    Target(
        "lines", lambda folder: (count(folder / "a"), len(read_lines(folder / "a"))), [{"a": text("a", "b")}]
    ),
    Target("jsonl", _jsonl, [{"a.jsonl": lines(item, {**item, "id": "2"})} for item in ITEMS]),
    Target("parallel", _parallel, [{"a.en": text("A cat.", "", "C"), "a.de": text("Katze.", "b", "c")}]),
    Target("tsv", _tsv, [{"a.tsv": text("A cat.\tKatze.\tKater.", "B\tb\tbb", "\tc\tc")}]),
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
    Target("winomt", _winomt, [{"a.tsv": _WINOMT}]),
    Target("mucow", _mucow, [MUCOW_FILES, {**MUCOW_FILES, "all": b""}]),
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
    ),
)
