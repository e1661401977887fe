"""A tree of targets says the same as the targets, with shared beginnings once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from babelscope.decoding.trees import target_tree

EOS = 0
words = st.lists(st.integers(1, 3), max_size=5)


@given(
    targets=st.lists(words, min_size=1, max_size=6),
    ended=st.booleans(),
    prefix=st.sampled_from([(9,), (9, 8)]),
)
def test_every_target_can_be_read_off(targets: list[list[int]], ended: bool, prefix: tuple[int, ...]) -> None:
    targets = [[*target, EOS] if ended else [*target, 1] for target in targets]
    tree = target_tree(prefix, targets)
    for target, path in zip(targets, tree.paths, strict=True):
        assert [tree.edge_tokens[edge] for edge in path] == target
        for position, edge in enumerate(path):
            fed, node = [], tree.edge_nodes[edge]
            while node >= 0:
                fed.append(tree.tokens[node])
                assert tree.parents[node] < node, "parents come first"
                node = tree.parents[node]
            assert fed[::-1] == [*prefix, *target[:position]]
            assert tree.depths[tree.edge_nodes[edge]] == len(fed) - 1
    beginnings = {tuple(target[:n]) for target in targets for n in range(len(target))}
    assert len(tree.tokens) == len(prefix) - 1 + len(beginnings), "each beginning is fed once"
    assert len(tree.edge_tokens) == len({tuple(t[: n + 1]) for t in targets for n in range(len(t))})
