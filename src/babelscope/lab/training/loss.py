"""Label-smoothed cross-entropy of a tied output layer, with its gradient, in one pass."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

# Rows of logits computed together: few enough to stay in the processor's cache, or to leave room in a GPU's memory.
_ROWS = {"cpu": 512, "cuda": 4096}


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Computes the gradient in `forward`, because loss and gradient need the same probabilities.

    With probabilities p = softmax(hidden @ weight.T) and the smoothed truth
    q = (1 - smoothing) * one_hot(label) + smoothing / vocabulary,
    the loss of a token is -sum(q * log p), and its gradient with respect to the logits is p - q.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, labels: Tensor, smoothing: float, narrow: torch.dtype
    ) -> Tensor:
        count, vocabulary = len(hidden), len(weight)
        most = _ROWS.get(hidden.device.type, 512)
        hidden_gradient, weight_gradient = torch.empty_like(hidden), torch.zeros_like(weight)
        buffer = hidden.new_empty((min(most, count), vocabulary))
        mean_weight = weight.mean(0)
        total = hidden.new_zeros(())
        for start in range(0, count, most):
            rows, label = hidden[start : start + most], labels[start : start + most, None]
            logits = _product(rows, weight.t(), buffer[: len(rows)], narrow)
            right, mean = logits.gather(1, label), (rows @ mean_weight)[:, None]
            top = logits.amax(1, keepdim=True)
            p = logits.sub_(top).exp_()
            norm = p.sum(1, keepdim=True)
            total += (norm.log() + top - (1 - smoothing) * right - smoothing * mean).sum()
            difference = p.div_(norm).sub_(smoothing / vocabulary)
            difference.scatter_add_(1, label, torch.full_like(right, smoothing - 1))
            _product(difference, weight, hidden_gradient[start : start + most], narrow)
            if narrow == rows.dtype:
                weight_gradient.addmm_(difference.t(), rows)
            else:
                weight_gradient += difference.t().to(narrow) @ rows.to(narrow)
        ctx.save_for_backward(hidden_gradient.div_(count), weight_gradient.div_(count))
        return total / count

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        (gradient,) = gradients
        hidden_gradient, weight_gradient = ctx.saved_tensors
        return hidden_gradient * gradient, weight_gradient * gradient, None, None, None


def _product(one: Tensor, other: Tensor, out: Tensor, narrow: torch.dtype) -> Tensor:
    """The matrix product in `out`, computed from factors in `narrow`."""
    if narrow == one.dtype:
        return torch.mm(one, other, out=out)
    return out.copy_(one.to(narrow) @ other.to(narrow))


def smoothed_cross_entropy(
    hidden: Tensor, weight: Tensor, labels: Tensor, smoothing: float, narrow: torch.dtype | None = None
) -> Tensor:
    """Mean loss in nats a token of hidden states [tokens, width] under output rows [vocabulary, width].

    Matrix products are of factors rounded to `narrow`; probabilities and sums are in the type of `hidden`. Leave
    padding out of all three tensors, so that pad is no output and smoothing gives it no probability.
    """
    return _SmoothedCrossEntropy.apply(hidden, weight, labels, smoothing, narrow or hidden.dtype)  # type: ignore[no-any-return,no-untyped-call]
