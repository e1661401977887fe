"""Variants to be read: a sample of each German error type on newstest references, for docs/measured/checks.md."""

from __future__ import annotations

import argparse
import random
import re
from pathlib import Path

from babelscope.language.registry import error_types
from babelscope.making.pairs import make_pairs
from babelscope.testsets.items import MinimalPair
from babelscope.util.text import read_lines
from benchmarks.common import shared

# The lines in one order for all readings, so that a second one can take lines that the first did not.
_ORDER = 11


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--newstest", type=Path, default=shared("data", "newstest", "text"))
    parser.add_argument(
        "--set", action="append", default=[], help="wmt08, may be repeated; else all wmt sets"
    )
    parser.add_argument("--type", action="append", default=[], help="may be repeated; else all types")
    parser.add_argument("--skip", type=int, default=0, help="lines that were read before")
    parser.add_argument(
        "--unread", type=int, default=0, help="leave out so many lines of the order over all wmt sets"
    )
    parser.add_argument("--lines", type=int, default=3000)
    parser.add_argument("--matching", default="", help="only references with this regular expression")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-n", type=int, default=20, help="pairs of each type")
    options = parser.parse_args()
    read = set(_lines(options.newstest, [])[: options.unread])
    rows = [row for row in _lines(options.newstest, options.set) if row not in read]
    rows = rows[options.skip : options.skip + options.lines]
    rows = [row for row in rows if re.search(options.matching, row[1])]
    types = options.type or [name for name, made in error_types().items() if made.language == "de"]
    found: dict[str, list[MinimalPair]] = {name: [] for name in types}
    sources, references = zip(*rows, strict=True)
    for pair in make_pairs(types, sources, references, seed=options.seed):
        found[pair.phenomenon].append(pair)
    for name, pairs in found.items():
        print(f"\n{name}: {len(pairs)} pairs of {len(rows)} references")
        drawn = random.Random(f"{options.seed}/{name}").sample(pairs, min(options.n, len(pairs)))
        for number, pair in enumerate(drawn, 1):
            change = f"{pair.extra['word']} -> {pair.extra['changed'] or '-'}"
            print(f"{number}. {change}\n   {pair.source}\n   {pair.correct}\n   {pair.contrastive[0]}")


def _lines(folder: Path, sets: list[str]) -> list[tuple[str, str]]:
    """All source and reference lines of the sets, shuffled."""
    rows: list[tuple[str, str]] = []
    for source in sorted(path for name in sets or ["wmt*"] for path in folder.glob(f"{name}.en*")):
        reference = source.with_name(source.name.replace(".en", ".de"))
        both = (read_lines(path, keep_separators=True) for path in (source, reference))
        rows += zip(*both, strict=True)
    random.Random(_ORDER).shuffle(rows)
    return rows


if __name__ == "__main__":
    main()
