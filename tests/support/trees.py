"""Trees written by hand."""

from __future__ import annotations

from babelscope.language.ud import Tree, parse_tree


def tree(text: str) -> Tree:
    """A tree of words `form lemma upos feats head relation`, one per line."""
    rows = []
    for number, line in enumerate(text.strip().split("\n"), 1):
        form, lemma, upos, feats, head, relation = line.split()
        rows.append(f"{number}\t{form}\t{lemma}\t{upos}\t_\t{feats}\t{head}\t{relation}\t_\t_")
    return parse_tree(rows, "toy")
