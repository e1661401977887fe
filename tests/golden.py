"""`python tests/golden.py make FOLDER`, `... compare OLD NEW`: figures and records of commands before and after a change.

Made with the code of one commit and compared with that of another: every row and every field of a record that was
there before must be there after, the same to the bit. Needs ../shared (BABELSCOPE_SHARED) for half of its commands.
"""

# ruff: noqa: E501
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SHARED = Path(os.environ.get("BABELSCOPE_SHARED", Path(__file__).parents[2] / "shared"))
DATA, MODEL = f"{SHARED}/data", f"hf:{SHARED}/models/m30k-ende"
BABELSCOPE = [sys.executable, "-c", "from babelscope.cli import main; main()"]
BOTH = "--system lab:teacher --system lab:student"
STUDY = """
[[systems]]
spec = "lab:teacher"
[[systems]]
spec = "lab:student"
[[tests]]
name = "sentences"
spec = "lab:parallel?n=40&seed=5"
[[tests]]
name = "pairs"
spec = "lab:pairs?n=6&seed=5"
[[methods]]
name = "likelihood"
tests = ["sentences"]
[[methods]]
name = "contrast"
[[methods]]
name = "hypothesis_space"
tests = ["sentences"]
k = 3
samples = 10
mbr = 5
[run]
chunk = 16
"""
_COMMIT = ("config.version", "versions.babelscope")  # what names the commit in JSON, beside signatures
# Name: commands, one after another, in a folder of their own; what --json prints and the files it leaves are golden.
COMMANDS = {
    "translate": ["translate --system lab:teacher in.en --json"],
    "score": ["score --system lab:teacher --source in.en --target in.de --json"],
    "sample": ["sample --system lab:teacher --source in.en --n 5 --json"],
    "contrast": [f"contrast {BOTH} --tests lab:pairs?n=8&seed=1 --json --records records.jsonl"],
    "contrast-run": [
        f"contrast {BOTH} --tests lab:pairs?n=8&seed=1 --json --out run",
        "report run -o page.html",
    ],
    "contrast-scores": [
        f"contrast --tests mucow-scoring:{DATA}/mucow-scoring/cs-en.json "
        f"--scores {DATA}/mucow-scoring/cs-en.nematus.scores --direction lower --ties wrong --json "
        "--records records.jsonl"
    ],
    "contrast-real": [
        f"contrast --system {MODEL} --tests distil-lingeval:{DATA}/distil-lingeval/polarity_affix_del.human --json"
    ],
    "condition-gender": [
        f"condition {BOTH} --evaluator lab:teacher --tests lab:gender?n=40&seed=1 --json --records records.jsonl"
    ],
    "condition-senses": [
        "condition --system lab:student --evaluator lab:teacher --tests lab:senses?n=40 --json --out run"
    ],
    "condition-translations": [
        f"condition --tests winomt:{DATA}/winomt/test.tsv --translations {DATA}/winomt/translations/aws.en-de.txt "
        f"--evaluator {MODEL} --json"
    ],
    "space": [
        f"space {BOTH} --system lab:unsmoothed --tests lab:parallel?n=15&seed=1 --k 4 --samples 20 --mbr 10 --curves "
        "--json --out run --segments segments.jsonl",
        "space --from run --quality bleu --json --records records.jsonl",
        "report run -o page.html",
    ],
    "challenge": [
        f"challenge {BOTH} --tests lab:challenge?n=80&seed=1 --json --out run",
        "compare run --json",
    ],
    "challenge-ldd": [
        f"challenge --system file:{DATA}/newstest/text/wmt13.de --tests ldd:{DATA}/ldd/news,{DATA}/newstest/text/wmt13.de,"
        f"{DATA}/newstest/text/wmt13.en --draws 10 --resamples 100 --json"
    ],
    "study": ["run study.toml --json --out run", "compare run --json"],
    "shards": [
        "run study.toml --shard 1/3 --out one --json",
        "run study.toml --shard 2/3 --out two --json",
        "run study.toml --shard 3/3 --out three --json",
        "merge one two three --out run --json",
    ],
    "patterns-winomt": [
        f"patterns winomt --tests winomt:{DATA}/winomt/test.tsv --translations {DATA}/winomt/translations/aws.en-de.txt "
        f"--alignments {DATA}/winomt/alignments/aws.en-de.align --target de --json"
    ],
    "patterns-mucow": [
        f"patterns mucow --tests mucow:{DATA}/mucow/en-de --translations {DATA}/mucow/en-de.ref.txt --lemmatise de --json"
    ],
    "patterns-flow": [
        "patterns flow --source in.en --data in.de --distilled in.de --student in.de --words lab:occupations --json"
    ],
    "agreement": [
        f"agreement --task mucow {DATA}/human-validation/mucow/en-de.annotator1.jsonl "
        f"{DATA}/human-validation/mucow/en-de.annotator2.jsonl --json"
    ],
    "make-pairs": ["make pairs --type np_agreement --source in.en --reference in.de --out pairs.jsonl"],
    "make-machine": [
        "make machine-references --tests lab:pairs?n=10&seed=3 --system lab:control --system lab:unsmoothed --out both.jsonl --json"
    ],
    "lab-evaluate": ["lab evaluate --system lab:teacher --n 40 --json"],
    "lab-truth": ["lab truth --evaluator lab:teacher --system lab:student --n 40 --json"],
    "demo": ["demo --out run --n 16"],
}


def make(folder: Path, names: list[str]) -> int:
    """Run the commands, each in a folder of its own below `folder`."""
    failed = 0
    for name in names or COMMANDS:
        here = folder / name
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir(parents=True)
        (here / "study.toml").write_text(STUDY)
        for side, text in zip(("en", "de"), _text(), strict=True):
            (here / f"in.{side}").write_text(text)
        begun = time.monotonic()
        for number, command in enumerate(COMMANDS[name]):
            ran = subprocess.run(
                [*BABELSCOPE, *command.split()],
                cwd=here,
                env={**os.environ, "OMP_NUM_THREADS": "1", "BABELSCOPE_CACHE": str(here / "cache.sqlite")},
                capture_output=True,
                check=False,
            )
            (here / f"out{number}").write_bytes(ran.stdout)
            if ran.returncode:
                failed += 1
                print(f"{name}: {command}\n{ran.stderr.decode()[-2000:]}", file=sys.stderr)
        print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)
    return failed


def _text() -> tuple[str, str]:
    from babelscope.lab.grammar.corpus import generate

    pairs = list(generate(30, 99))
    return "".join(f"{p.source}\n" for p in pairs), "".join(f"{p.target}\n" for p in pairs)


def compare(old: Path, new: Path) -> int:
    """Print what differs; the number of files that do."""
    wrong = 0
    for path in sorted(old.rglob("*")):
        place = path.relative_to(old)
        if (
            path.suffix in (".html", ".sqlite")
            or not path.is_file()
            or path.name.startswith((".", "manifest"))
        ):
            continue
        if not (new / place).is_file():
            print(f"{place}: is not there any more")
            wrong += 1
            continue
        found = list(_differences(path, new / place))
        wrong += bool(found)
        for each in found[:3]:
            print(f"{place}: {each}")
        if len(found) > 3:
            print(f"{place}: and {len(found) - 3} more")
    print(f"{wrong} files differ")
    return wrong


# What methods were called before.
_NAMES = {"conditioning": "condition", "hypothesis_space": "space"}


def _differences(old: Path, new: Path) -> Iterator[str]:
    texts = [_without_commit(path.read_text()) for path in (old, new)]
    if old.suffix == ".json":
        before, after = map(json.loads, texts)
        if "rows" in before:
            rows = [found["rows"] + found.get("comparisons", []) for found in (before, after)]
            yield from _rows(*rows)
        else:
            yield from _leaves(before, after)
        return
    olds, news = (text.split("\n") for text in texts)
    if old.name.startswith("out") and olds[0].startswith("{") and '"name"' in olds[0]:
        yield from _rows(*([json.loads(line) for line in lines if line] for lines in (olds, news)))
        return
    if len(olds) != len(news):
        yield f"{len(olds)} lines before, {len(news)} after"
    for number, (before, after) in enumerate(zip(olds, news, strict=False), 1):
        if before == after:
            continue
        try:
            yield from (f"line {number}: {each}" for each in _leaves(json.loads(before), json.loads(after)))
        except ValueError:
            yield f"line {number}: {before[:80]!r} before, {after[:80]!r} after"


def _rows(olds: list[dict[str, Any]], news: list[dict[str, Any]]) -> Iterator[str]:
    """Rows are found by their name and labels, whatever their order; further rows and counts are not told."""
    known: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in news:
        known.setdefault(_key(row), []).append(row)
    for row in olds:
        found = known.get(_key(row))
        if not found:
            yield f"no row {_key(row)}"
            continue
        yield from (
            f"{_key(row)}{each}"
            for each in _leaves({**row, "signature": ""}, {**found.pop(0), "signature": ""})
        )


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    labels = {
        name: value
        for name, value in row.items()
        if isinstance(value, str) and name not in ("signature", "folder")
    }
    labels |= {name: row[name] for name in ("k", "distance", "sentences") if name in row}
    return tuple(
        sorted(
            {**labels, "method": _NAMES.get(str(row.get("method")), str(row.get("method")))}.items(), key=str
        )
    )


def _without_commit(text: str) -> str:
    """Signatures without the version, which names the commit, and the hash, of which it is part."""
    return re.sub(r"\|v:[^|\s]+\|sha:[0-9a-f]+", "", text)


def _leaves(old: object, new: object, where: str = "") -> Iterator[str]:
    """What is other than before; what is new is not told."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name, value in old.items():
            if (
                name in ("folder", "signature")
                or (name == "sha256" and "signature" in old)
                or f"{where}.{name}".endswith(_COMMIT)
            ) or (name == "method" and _NAMES.get(str(value)) == new.get(name)):
                continue
            if name not in new:
                yield f"{where}.{name} is gone"
            else:
                yield from _leaves(value, new[name], f"{where}.{name}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _leaves(one, other, f"{where}[{number}]")
    elif old != new or type(old) is not type(new):
        yield f"{where}: {str(old)[:60]} before, {str(new)[:60]} after"


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    if what == "make":
        sys.exit(make(Path(arguments[0]).absolute(), arguments[1:]))
    sys.exit(1 if compare(*map(Path, arguments)) else 0)
