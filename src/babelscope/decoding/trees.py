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
    below: list[int] = []  # the node an edge leads to, -1 until some target goes on from there
    paths: list[list[int]] = []
    for target in targets:
        node = len(prefix) - 1
        path: list[int] = []
        for position, token in enumerate(target):
            if position:
                edge = path[-1]
                if below[edge] < 0:
                    below[edge] = len(tokens)
                    tokens.append(edge_tokens[edge])
                    parents.append(node)
                    depths.append(depths[node] + 1)
                node = below[edge]
            found = edges.get((node, token))
            if found is None:
                found = edges[node, token] = len(edge_nodes)
                edge_nodes.append(node)
                edge_tokens.append(token)
                below.append(-1)
            path.append(found)
        paths.append(path)
    return TargetTree(tokens, parents, depths, edge_nodes, edge_tokens, paths)
