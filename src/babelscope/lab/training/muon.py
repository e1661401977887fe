"""The optimizer Muon (Jordan et al., 2024), which needs fewer steps than Adam for weight matrices."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor

# Coefficients of a polynomial of degree 5 that drives singular values towards 1, and how often it is applied. Five
# rounds are usual; with three a control learned about as well (one run each), and steps are faster.
_A, _B, _C = 3.4445, -4.7750, 2.0315
_ROUNDS = 3


def orthogonal(matrices: Tensor) -> Tensor:
    """Matrices [many, rows, columns] with all but the smallest singular values moved near 1, by Newton-Schulz."""
    if matrices.shape[1] > matrices.shape[2]:
        return orthogonal(matrices.mT).mT
    x: Tensor = matrices / (matrices.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(_ROUNDS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=_B, alpha=_C), x, beta=_A)
    return x


class Muon(torch.optim.Optimizer):
    """Nesterov momentum with orthogonalised steps, scaled to the usual size of Adam's steps at the same rate.

    As torch.optim.Muon with `adjust_lr_fn="match_rms_adamw"` and without decay; but that computes in bfloat16, one
    matrix after the other, which is slow on a processor.
    """

    def __init__(self, weights: Iterable[Tensor], *, momentum: float = 0.95) -> None:
        super().__init__(weights, {"lr": 0.0, "momentum": momentum})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Update every matrix; those of one shape together, their averages in the state of the first."""
        for group in self.param_groups:
            by_shape = defaultdict(list)
            for weight in group["params"]:
                by_shape[weight.shape].append(weight)
            for shape, weights in by_shape.items():
                gradients = torch.stack([weight.grad for weight in weights])
                state = self.state[weights[0]]
                if not state:
                    state["averages"] = torch.zeros_like(gradients)
                averages = state["averages"].lerp_(gradients, 1 - group["momentum"])
                steps = orthogonal(gradients.lerp_(averages, group["momentum"]))
                torch._foreach_add_(weights, steps.unbind(), alpha=-group["lr"] * 0.2 * math.sqrt(max(shape)))
