"""Label-smoothed cross-entropy of a tied output layer, with its gradient, in one pass."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

# Rows of logits computed together: few enough to stay in the processor's cache.
_ROWS = 512


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Computes the gradient in `forward`, because loss and gradient need the same probabilities.

    With probabilities p = softmax(hidden @ weight.T) and the smoothed truth
    q = (1 - smoothing) * one_hot(label) + smoothing / vocabulary,
    the loss of a token is -sum(q * log p), and its gradient with respect to the logits is p - q.
    """

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, labels: Tensor, smoothing: float) -> Tensor:
        count, vocabulary = len(hidden), len(weight)
        hidden_gradient, weight_gradient = torch.empty_like(hidden), torch.zeros_like(weight)
        buffer = hidden.new_empty((min(_ROWS, count), vocabulary))
        mean_weight = weight.mean(0)
        total = hidden.new_zeros(())
        for start in range(0, count, _ROWS):
            rows, label = hidden[start : start + _ROWS], labels[start : start + _ROWS, None]
            logits = torch.mm(rows, weight.t(), out=buffer[: len(rows)])
            right, mean = logits.gather(1, label), (rows @ mean_weight)[:, None]
            top = logits.amax(1, keepdim=True)
            p = logits.sub_(top).exp_()
            norm = p.sum(1, keepdim=True)
            total += (norm.log() + top - (1 - smoothing) * right - smoothing * mean).sum()
            difference = p.div_(norm).sub_(smoothing / vocabulary)
            difference.scatter_add_(1, label, torch.full_like(right, smoothing - 1))
            torch.mm(difference, weight, out=hidden_gradient[start : start + _ROWS])
            weight_gradient.addmm_(difference.t(), rows)
        ctx.save_for_backward(hidden_gradient.div_(count), weight_gradient.div_(count))
        return total / count

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        (gradient,) = gradients
        hidden_gradient, weight_gradient = ctx.saved_tensors
        return hidden_gradient * gradient, weight_gradient * gradient, None, None


def smoothed_cross_entropy(hidden: Tensor, weight: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    """Mean loss in nats a token of hidden states [tokens, width] under output rows [vocabulary, width].

    Leave padding out of all three tensors, so that pad is no output and smoothing gives it no probability.
    """
    return _SmoothedCrossEntropy.apply(hidden, weight, labels, smoothing)  # type: ignore[no-any-return,no-untyped-call]
