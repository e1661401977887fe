"""Muon: singular values made one, and the steps of torch's own."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from babelscope.lab.training.muon import Muon, orthogonal


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    rows=st.integers(2, 20),
    columns=st.integers(2, 20),
    scale=st.floats(1e-4, 1e4),
)
def test_directions_stay_and_their_lengths_become_one(
    seed: int, rows: int, columns: int, scale: float
) -> None:
    random = torch.Generator().manual_seed(seed)
    matrices = torch.randn(3, rows, columns, generator=random)
    u, values, v = torch.linalg.svd(matrices, full_matrices=False)
    # What is next to nothing stays below 1; a tenth of the longest does not.
    values = values.clamp(min=0.1 * float(values.max()))
    made = u.mT @ orthogonal(scale * (u * values[:, None]) @ v) @ v.mT
    lengths = made.diagonal(dim1=1, dim2=2)
    assert torch.all((lengths > 0.6) & (lengths < 1.3)), lengths
    assert float((made - torch.diag_embed(lengths)).abs().max()) < 1e-3


def test_steps_are_those_of_torch() -> None:
    torch.manual_seed(1)
    start = [torch.randn(6, 8), torch.randn(12, 5), torch.randn(6, 8)]
    moved = []
    for kind in ("ours", "torch"):
        weights = [torch.nn.Parameter(weight.clone()) for weight in start]
        optimizer: torch.optim.Optimizer = Muon(weights)
        if kind == "torch":
            optimizer = torch.optim.Muon(weights, weight_decay=0, adjust_lr_fn="match_rms_adamw", ns_steps=3)
        random = torch.Generator().manual_seed(2)
        for step in range(5):
            for weight in weights:
                weight.grad = torch.randn(weight.shape, generator=random)
            optimizer.param_groups[0]["lr"] = 0.1 / (1 + step)
            optimizer.step()
        moved.append([weight.detach() - first for weight, first in zip(weights, start, strict=True)])
    for ours, theirs in zip(*moved, strict=True):
        assert float((ours - theirs).norm() / theirs.norm()) < 0.03  # theirs is computed in bfloat16
