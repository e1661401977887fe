"""Training for a GPU, tried without one: every tensor has a device, and no operation mixes two.

No GPU was at hand. torch's `meta` device, whose tensors have no values, stands in for it: it is not the processor,
so that a tensor left on the processor is found by the first operation that reads both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from babelscope.lab.training.loop import (
    find_device,
)
from babelscope.util.errors import BabelscopeError
from tests.lab.training.test_loop import new_run
from tests.lab.training.test_training import learn, quick
from tests.support.devices import PretendedDevice

_COPIES = (torch.ops.aten.copy_.default, torch.ops.aten._to_copy.default)


class StandIn(TorchDispatchMode):
    """Fails on an operation that mixes devices; what is read from the stand-in is 1, since it has no values."""

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        # A GPU's operations read single numbers of the processor, too.
        kinds = {each.device.type for each in tensors if each.dim()}
        assert len(kinds) < 2 or func in _COPIES, f"{func} mixes {kinds}"
        if func is torch.ops.aten._local_scalar_dense.default and tensors[0].device.type == "meta":
            return tensors[0].dtype == torch.bool or 1.0
        device = (kwargs or {}).get("device")
        if func is _COPIES[1] and device is not None and device.type == "cpu" and "meta" in kinds:
            return torch.ones(tensors[0].shape, dtype=tensors[0].dtype, device=device)
        return func(*args, **(kwargs or {}))


DROPPED = {"dropout": 0.1, "label_smoothing": 0.1}


def test_no_tensor_is_made_without_a_device() -> None:
    """Translation for training makes no tensor of its own; tests/decoding has that of searches."""
    mixed = {"precision": "bfloat16", "accumulate": 2, "average": 2, "optimizer": "muon"}
    run = new_run(
        "cpu", steps=4, dev_every=2, **mixed, **DROPPED
    )  # networks are made on the processor, then moved
    with PretendedDevice():
        groups = run._groups()
        for _ in range(2):
            run._learn(next(groups))
            run._measure()
        run.restore(run.state())
    assert run.step == 2


def test_mixed_devices_are_found() -> None:
    with StandIn(), pytest.raises(AssertionError, match="mixes"):
        torch.zeros(2, 2, device="meta") @ torch.zeros(2, 2, device="cpu")


@pytest.mark.parametrize("architecture", ["transformer", "convolutional"])  # an LSTM packs by values
def test_a_step_elsewhere_than_on_the_processor_mixes_no_devices(architecture: str) -> None:
    with StandIn():
        run = new_run("meta", architecture=architecture, accumulate=2, optimizer="muon", **DROPPED)
        # The fused Adam knows no stand-in; another Adam reads and writes the same tensors.
        rest = [weight for group in run.optimizers[0].param_groups for weight in group["params"]]
        run.optimizers[0] = torch.optim.Adam(rest)
        groups = run._groups()
        run._learn(next(groups))
        run._learn(next(groups))
        run.measure_loss()
    # A network on the stand-in loses the ties between its embeddings, and those that nothing reads have no gradient.
    moved = [weight.grad for weight in run.weights if weight.grad is not None]
    assert len(moved) >= len(run.weights) - 2
    assert {gradient.device.type for gradient in moved} == {"meta"}


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "cpu:1", "mps", ""])
def test_a_device_that_does_not_exist_is_refused(name: str) -> None:
    with pytest.raises(BabelscopeError, match="there are cpu, cuda and cuda:NUMBER"):
        find_device(name)


def test_a_gpu_that_is_not_here_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(
        BabelscopeError, match="finds 0 CUDA devices here, so there is no cuda; leave device out"
    ):
        learn(tmp_path, tmp_path / "model", quick(steps=2), device="cuda")
    assert not (tmp_path / "model").exists()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_model_is_memorized_on_a_gpu(tmp_path: Path) -> None:
    card = learn(tmp_path, tmp_path / "model", quick(steps=200, precision="bfloat16"), device="cuda")
    assert card["dev_loss"] < 0.2
