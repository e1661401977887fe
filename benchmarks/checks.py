"""How often checks raise an alarm on human references: parallel treebanks with the sentences in the same order.

    python benchmarks/checks.py FOLDER SOURCE TARGET...

FOLDER has `SOURCE_pud-ud-test.conllu` and the same of each target language.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from babelscope.language.checks.registry import CHECKS, Setting, run_checks, usual_length
from babelscope.language.general.sentence import Sentence
from babelscope.language.ud import read_trees


def main(folder: str, source: str, *targets: str) -> None:
    """Print alarms and sentences by check, for each language and for all."""
    total: Counter[tuple[str, str]] = Counter()
    for target in targets:
        sources, references = (_texts(Path(folder), code) for code in (source, target))
        pairs = list(zip(sources, references, strict=True))
        counts: Counter[tuple[str, str]] = Counter()
        for one, other in pairs:
            found = run_checks(one, other, Setting(source, target, usual_length(pairs)))
            counts.update((name, "of") for name in found)
            counts.update((name, "alarms") for name, what in found.items() if what is not None)
        total += counts
        print(target, _shown(counts))
    print("all", _shown(total))


def _texts(folder: Path, code: str) -> list[str]:
    trees = read_trees(folder / f"{code}_pud-ud-test.conllu")
    return [Sentence(tree).text for tree in trees if tree is not None]


def _shown(counts: Counter[tuple[str, str]]) -> str:
    return " ".join(f"{name} {counts[name, 'alarms']}/{counts[name, 'of']}" for name in CHECKS)


if __name__ == "__main__":
    main(*sys.argv[1:])
