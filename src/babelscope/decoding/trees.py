"""Targets of one source as a tree: a shared beginning is computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TargetTree:
    """A trie of target sequences as the decoder reads it.

    `tokens[i]` is fed at node i, whose parent is `parents[i]` (-1 for the first); parents come before children.
    Edge e asks for the probability of `edge_tokens[e]` after node `edge_nodes[e]`; `paths[t]` are target t's edges.
    """

    tokens: list[int]
    parents: list[int]
    depths: list[int]
    edge_nodes: list[int]
    edge_tokens: list[int]
    paths: list[list[int]]


def target_tree(prefix: Sequence[int], targets: Sequence[Sequence[int]]) -> TargetTree:
    """The tree of `targets` (ids, each ending in EOS) below the decoder's fixed `prefix`."""
    tokens = list(prefix)
    parents = list(range(-1, len(prefix) - 1))
    depths = list(range(len(prefix)))
    edge_nodes: list[int] = []
    edge_tokens: list[int] = []
    edges: dict[tuple[int, int], int] = {}
    below: list[int] = []  # the node that an edge leads to, -1 until some target goes on from there
    paths: list[list[int]] = []
    for target in targets:
        path: list[int] = []
        node, fed = len(prefix) - 1, True
        for token in target:  # as far as the tree goes already
            edge = edges.get((node, token)) if fed else None
            if edge is None:
                break
            path.append(edge)
            node, fed = (below[edge], True) if below[edge] >= 0 else (node, False)
        if rest := list(target[len(path) :]):  # what is new is one branch, added as a whole
            first = len(tokens)
            new = rest[:-1] if fed else [target[len(path) - 1], *rest[:-1]]
            if not fed:
                below[path[-1]] = first
            branch = list(range(first, first + len(new)))
            tokens += new
            parents += [node, *branch[:-1]][: len(new)]
            depths += range(depths[node] + 1, depths[node] + 1 + len(new))
            nodes = [node, *branch] if fed else branch
            start = len(edge_nodes)
            edges.update(zip(zip(nodes, rest, strict=True), range(start, start + len(rest)), strict=True))
            edge_nodes += nodes
            edge_tokens += rest
            below += [*nodes[1:], -1]
            path += range(start, start + len(rest))
        paths.append(path)
    return TargetTree(tokens, parents, depths, edge_nodes, edge_tokens, paths)
