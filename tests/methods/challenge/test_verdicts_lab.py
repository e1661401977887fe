"""Verdicts against the grammar, which knows what each translation keeps and loses; the table of docs/challenge.md."""

from __future__ import annotations

from collections import Counter

import pytest

from babelscope.methods.challenge.verdicts import judge_dependencies
from tests.support.lost_dependencies import PHENOMENA, lab_records

pytest.importorskip("thot")
pytest.importorskip("ufal.udpipe")

Counts = Counter[tuple[bool, str]]
"""(whether the dependency is kept, verdict) -> dependencies."""


def held_against_the_grammar(n: int, seed: int) -> dict[str, Counts]:
    """The counts by phenomenon."""
    records, truths = lab_records(n, seed)
    said = [each["verdict"] for own in judge_dependencies(records, "udpipe:lab-de", "de") for each in own]
    counts: dict[str, Counts] = {name: Counter() for name in PHENOMENA}
    for (_, phenomenon, kept), verdict in zip(truths, said, strict=True):
        counts[phenomenon][kept, verdict] += 1
    return counts


def share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def figures(own: Counts) -> dict[str, float]:
    """Share decided, and precision and recall of both verdicts where decided."""
    right = {True: own[True, "kept"], False: own[False, "lost"]}
    wrong = {True: own[True, "lost"], False: own[False, "kept"]}  # by the truth
    total = own.total()
    return {
        "n": total,
        "lost": sum(count for (kept, _), count in own.items() if not kept),
        "decided": share(total - own[True, "undecided"] - own[False, "undecided"], total),
        "kept precision": share(right[True], right[True] + wrong[False]),
        "kept recall": share(right[True], right[True] + wrong[True]),
        "lost precision": share(right[False], right[False] + wrong[True]),
        "lost recall": share(right[False], right[False] + wrong[False]),
    }


@pytest.mark.slow
def test_verdicts_agree_with_the_grammar() -> None:
    for name, own in held_against_the_grammar(1500, 2024).items():
        found = figures(own)
        assert found.pop("n") >= 100, name
        assert found.pop("lost") >= 30, name
        assert found.pop("decided") >= 0.6, (name, own)
        assert min(found.values()) >= 0.97, (name, found, own)


if __name__ == "__main__":
    for phenomenon, row in held_against_the_grammar(2000, 31).items():
        found = figures(row)
        shares = " | ".join(
            f"{100 * value:.1f}" for name, value in found.items() if name not in ("n", "lost")
        )
        print(f"| `{phenomenon}` | {found['n']:.0f} | {found['lost']:.0f} | {shares} |")
