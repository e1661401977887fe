"""Training for a GPU, tried without one: every tensor has a device, and no operation mixes two.

No GPU was at hand. torch's `meta` device, whose tensors have no values, stands in for it: it is not the processor,
so that a tensor left on the processor is found by the first operation that reads both.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from babelscope.lab.training.augmenting import Augmentation, augment
from babelscope.lab.training.devices import find_device, random_states, restore_random_states
from babelscope.lab.training.loop import TrainingRun
from babelscope.lab.training.loss import smoothed_cross_entropy
from babelscope.lab.training.parallel import ParallelText
from babelscope.lab.training.tokenizer import train_pieces
from babelscope.lab.training.translating import Decoding
from babelscope.util.errors import BabelscopeError
from tests.lab.training.test_training import PAIRS, learn, quick, write_pairs

_COPIES = (torch.ops.aten.copy_.default, torch.ops.aten._to_copy.default)


class ExplicitDevices(TorchFunctionMode):
    """Notes where the lab makes a tensor without saying on which device; tests/decoding has the same for searches."""

    def __init__(self) -> None:
        self.watched = 0
        self.without: list[str] = []

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        frame = sys._getframe(1)
        while frame.f_back and "/torch/" in frame.f_code.co_filename:
            frame = frame.f_back
        if "/babelscope/lab/" in frame.f_code.co_filename:
            self.watched += 1
            if func in _device_constructors() and (kwargs or {}).get("device") is None:
                self.without.append(f"{frame.f_code.co_filename}:{frame.f_lineno} {func.__name__}")
        return func(*args, **(kwargs or {}))


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


def new_run(device: str, **given: Any) -> TrainingRun:
    """A run on the toy pairs, not begun."""
    text, few = (
        ParallelText([one for one, _ in some], [two for _, two in some], {}) for some in (PAIRS, PAIRS[::9])
    )
    pieces = train_pieces(iter([*text.source, *text.target]), 90)
    recipe = quick(dropout=0.1, label_smoothing=0.1, **given)
    return TrainingRun(recipe, pieces, text, few, device=torch.device(device))


def test_no_tensor_is_made_without_a_device(tmp_path: Path) -> None:
    mixed = {"precision": "bfloat16", "accumulate": 2, "select": "bleu", "average": 2, "optimizer": "muon"}
    source, target = write_pairs(tmp_path / "text")
    run = new_run(
        "cpu", steps=4, dev_every=2, dev_beam=2, **mixed
    )  # networks are made on the processor, then moved
    with ExplicitDevices() as seen:
        groups = run._groups()
        for _ in range(2):
            run._learn(next(groups))
            run._measure()
        run.restore(run.state())
        run.finish()
    assert run.dev_score is not None
    learn(tmp_path, tmp_path / "teacher", quick(steps=60, label_smoothing=0.1, dev_every=60))
    plan = Augmentation(
        source=source, target=target, forward=tmp_path / "teacher", decoding=Decoding(sampling_seed=1)
    )
    with ExplicitDevices() as later:
        augment(plan, tmp_path / "data", threads=1, quiet=True)
    assert sorted({*seen.without, *later.without}) == []
    assert seen.watched > 100, "nothing was watched"


def test_a_tensor_without_a_device_is_found() -> None:
    with ExplicitDevices() as seen:
        exec(compile("import torch; torch.zeros(2)", "/babelscope/lab/planted.py", "exec"), {})
    assert seen.without == ["/babelscope/lab/planted.py:1 zeros"]
    with StandIn(), pytest.raises(AssertionError, match="mixes"):
        torch.zeros(2, 2, device="meta") @ torch.zeros(2, 2, device="cpu")


@pytest.mark.parametrize("architecture", ["transformer", "convolutional"])  # an LSTM packs by values
def test_a_step_elsewhere_than_on_the_processor_mixes_no_devices(architecture: str) -> None:
    with StandIn():
        run = new_run("meta", architecture=architecture, accumulate=2, optimizer="muon")
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


def test_the_loss_on_a_stand_in() -> None:
    hidden, weight = (torch.zeros(rows, 4, device="meta", requires_grad=True) for rows in (5000, 9))
    labels = torch.zeros(5000, dtype=torch.long, device="meta")
    with StandIn():
        smoothed_cross_entropy(hidden, weight, labels, 0.1, torch.bfloat16).backward()
    assert weight.grad is not None
    assert weight.grad.device.type == "meta"


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "cpu:1", "mps", ""])
def test_a_device_that_does_not_exist_is_refused(name: str) -> None:
    with pytest.raises(BabelscopeError, match="there are cpu, cuda and cuda:NUMBER"):
        find_device(name)


def test_a_gpu_that_is_not_here_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(
        BabelscopeError, match="finds 0 CUDA devices here, so there is no cuda; leave --device"
    ):
        learn(tmp_path, tmp_path / "model", quick(steps=2), device="cuda")
    assert not (tmp_path / "model").exists()


def test_random_states_go_on() -> None:
    device = find_device("cpu")
    saved = random_states(device)
    first = torch.rand(3)
    restore_random_states(device, saved)
    assert torch.equal(torch.rand(3), first)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_model_is_memorised_on_a_gpu(tmp_path: Path) -> None:
    card = learn(tmp_path, tmp_path / "model", quick(steps=200, precision="bfloat16"), device="cuda")
    assert card["dev_loss"] < 0.2
