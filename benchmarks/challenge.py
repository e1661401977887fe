"""Making challenge sets: speed and memory of extraction, and how much a parser and an aligner lose of the truth.

The corpus is the lab's, with its gold parses and alignments. Its pairs are written again and again to make up the
number, since extraction does not care.
"""

from __future__ import annotations

import importlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from babelscope.lab.grammar import corpus as lab
from babelscope.lab.grammar.sentences import SentencePair
from babelscope.making.challenge import RULES, Corpus, Finder, Limits, Search, measure_order
from benchmarks.common import arguments, show

PAIRS = 50_000
SIDES = {"en": "source", "de": "target"}
Row = dict[str, Any]


def main() -> None:
    options = arguments(__doc__)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n = 1000 if options.quick else 5000
        lab.make_corpus(folder, n, seed=7, split="test", name="lab")
        pairs = list(lab.generate(n, seed=7, split="test"))
        speed, ratios = speed_rows(folder, repeats=10 if options.quick else 25)
        parsed, aligned = parser_rows(pairs), aligner_rows(pairs)
    if options.json:
        show([*speed, *parsed, *aligned], ratios, as_json=True)
        return
    for rows in filter(None, (parsed, aligned)):
        show(rows, {}, as_json=False)
    show(speed, ratios, as_json=False)


def speed_rows(folder: Path, *, repeats: int) -> tuple[list[Row], Row]:
    """Seconds of processor time on one core and peak memory for 50,000 pairs; and what twice the input costs.

    For the latter small inputs take turns, and each is compared with its neighbours, so that a machine's slow
    moments hit both alike; the median over all turns counts.
    """
    sizes = {"single": PAIRS // 25, "double": PAIRS * 2 // 25, "whole": PAIRS}
    for name, size in sizes.items():
        for ending in ("en", "de", "en.conllu", "align"):
            repeat(folder / f"lab.{ending}", folder / f"{name}.{ending}", size)
    turns = in_own_process(folder, [*["single", "double"] * repeats, "single"])
    (whole,) = in_own_process(folder, ["whole"])
    seconds = [turn["value"] for turn in turns]
    ratios = [2 * seconds[turn] / (seconds[turn - 1] + seconds[turn + 1]) for turn in range(1, len(turns), 2)]
    return [*turns[:2], whole], {
        "seconds_for_50000": whole["value"],
        "ratio_for_twice_the_input": statistics.median(ratios),
        "memory_mb": whole["memory_mb"],
    }


def repeat(path: Path, to: Path, size: int) -> None:
    """Write the sentences of a file again and again until there are so many."""
    ending = "\n\n" if path.suffix == ".conllu" else "\n"
    units = path.read_text(encoding="utf-8").removesuffix(ending).split(ending)
    with open(to, "w", encoding="utf-8", newline="\n") as file:
        for start in range(0, size, len(units)):
            file.write(ending.join(units[: size - start]) + ending)


def in_own_process(folder: Path, names: Sequence[str]) -> list[Row]:
    code = "import sys; from benchmarks.challenge import extract; extract(sys.argv[1], sys.argv[2:])"
    asked = [sys.executable, "-c", code, str(folder), *names]
    done = subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=True, cwd=Path(__file__).parents[1])
    return [json.loads(line) for line in done.stdout.splitlines()]


def extract(folder: str, names: Sequence[str]) -> None:
    """Make and write challenge sets of these corpora; print what each took."""
    import resource

    for base in (Path(folder) / name for name in names):
        source, reference, parses, alignments = (
            Path(f"{base}.{ending}") for ending in ("en", "de", "en.conllu", "align")
        )
        corpus = Corpus(source, reference, parses, alignments=alignments)
        began, wall = time.process_time(), time.perf_counter()
        search = Search(corpus)
        words = 0
        with open(f"{base}.jsonl", "w", encoding="utf-8") as file:
            for item in search.items():
                words += sum(item.extra["words"])
                file.write(json.dumps(item.as_json(), ensure_ascii=False) + "\n")
        row: Row = {
            "name": "extraction, seconds of one core",
            "n": search.tally.sentences,
            "value": time.process_time() - began,
            "wall_seconds": time.perf_counter() - wall,
            "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "words": words,
            "instances": search.tally.instances,
        }
        print(json.dumps(row))


def parser_rows(pairs: Sequence[SentencePair]) -> list[Row]:
    """Precision and recall of every phenomenon, from gold trees and from the lab's own UDPipe models."""
    from babelscope.lab.grammar.words import conllu
    from babelscope.language.parsers import open_parser
    from babelscope.language.ud import Tree, parse_tree

    rows = []
    finder = Finder(RULES)
    for code, side in SIDES.items():
        texts = [pair.source if code == "en" else pair.target for pair in pairs]
        gold_trees = [pair.english if code == "en" else pair.german for pair in pairs]
        gold = [
            {(one.name, one.head, one.dependent) for one in pair.labels.phenomena if one.side == code}
            for pair in pairs
        ]
        made: dict[str, Sequence[Tree | None]] = {
            "gold trees": [parse_tree(conllu(tree, "1").rstrip().split("\n"), "lab") for tree in gold_trees]
        }
        if _installed("ufal.udpipe"):
            made[f"udpipe:lab-{code}"] = open_parser(f"udpipe:lab-{code}")(texts)
        for parser, trees in made.items():
            ours = [
                {(one.phenomenon, one.head, one.dependent) for one in finder(tree, side)} if tree else set()
                for tree in trees
            ]
            for rule in RULES:
                rows += _agreement(
                    [{one for one in found if one[0] == rule.name} for found in ours],
                    [{one for one in found if one[0] == rule.name} for found in gold],
                    {"name": rule.name, "language": code, "from": parser},
                )
    return rows


def aligner_rows(pairs: Sequence[SentencePair]) -> list[Row]:
    """The same for pairs that count as reordered, from our aligner; it sees these pairs and no others."""
    from babelscope.language.align import align

    words = [
        ([t.form.lower() for t in pair.english], [t.form.lower() for t in pair.german]) for pair in pairs
    ]
    rows: list[Row] = []
    if not _installed("thot"):
        return rows
    for how in ("forward", "intersection", "grow-diag-final-and"):
        found: list[list[set[str]]] = []
        for links in (align(words, how), [pair.alignment for pair in pairs]):
            orders = [
                measure_order(own, len(en), len(de)) for own, (en, de) in zip(links, words, strict=True)
            ]
            found.append(
                [
                    {one.phenomenon for one in Limits().instances(order, *both)}
                    for order, both in zip(orders, words, strict=True)
                ]
            )
        for name in sorted({each for own in found[1] for each in own}):
            ours, gold = ([own & {name} for own in side] for side in found)
            rows += _agreement(ours, gold, {"name": name, "language": "en-de", "from": how})
    return rows


def _installed(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        print(f"{module} is not installed, so its figures are left out", file=sys.stderr)
        return False
    return True


def _agreement(ours: Sequence[set[Any]], gold: Sequence[set[Any]], labels: Row) -> list[Row]:
    counts = Counter(
        {
            "both": sum(len(a & b) for a, b in zip(ours, gold, strict=True)),
            "ours": sum(map(len, ours)),
            "gold": sum(map(len, gold)),
        }
    )
    if not counts["gold"]:
        return []
    precision = counts["both"] / counts["ours"] if counts["ours"] else None
    return [{**labels, "precision": precision, "recall": counts["both"] / counts["gold"], **counts}]


if __name__ == "__main__":
    main()
