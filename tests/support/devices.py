"""A processor that pretends to be a GPU: tensors must be made on a stated device and moved before they meet."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode, resolve_name

_MAKERS = frozenset(
    (
        *(torch.tensor, torch.as_tensor, torch.zeros, torch.ones, torch.empty, torch.full, torch.arange),
        *(torch.linspace, torch.eye, torch.rand, torch.randn, torch.randint),
    )
)


class PretendedDevice(TorchFunctionMode):
    """Fails where our code would fail on a GPU, or compute beside it.

    A `torch.device` stands for the GPU, the text "cpu" for the host. Tensors from NumPy, of `.cpu()` and of
    `device="cpu"` are the host's; a tensor of the host must be moved before it meets one of the GPU, and NumPy sees
    the host's only. What transformers makes within itself is its own affair, but not what it is given.
    """

    def __init__(self) -> None:
        super().__init__()
        self._host: dict[int, Tensor] = {}
        """Kept alive, so that no other tensor gets the number."""
        self._from_numpy = torch.from_numpy

    def __enter__(self) -> PretendedDevice:
        super().__enter__()  # type: ignore[no-untyped-call]
        torch.from_numpy = self._of_numpy  # type: ignore[assignment]  # which modes do not see
        return self

    def __exit__(self, *raised: Any) -> None:
        torch.from_numpy = self._from_numpy
        super().__exit__(*raised)  # type: ignore[no-untyped-call]

    def _of_numpy(self, array: Any) -> Tensor:
        found = self._from_numpy(array)
        self._place(found, host=True)
        return found

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = dict(kwargs or {})
        device = given.get("device")
        caller = _caller()
        if caller.startswith("torch.nn.utils"):  # packs rows by lengths of the host, wherever the rows are
            return func(*args, **given)
        if func in _MAKERS and device is None and caller.startswith("babelscope"):
            raise AssertionError(f"{func.__name__} makes a tensor without saying on which device")
        found = func(*args, **given)
        seen = list(_tensors([args, given]))
        from_host = [each for each in seen if id(each) in self._host]
        if func is Tensor.numpy and not from_host:
            raise AssertionError("NumPy is given a tensor of the device; say .cpu() first")
        if func in (Tensor.to, Tensor.cpu):
            moved: Tensor = found.view_as(
                found
            )  # a processor gives the same tensor, another device a new one
            self._place(moved, host=func is Tensor.cpu or (not _moves(args, given) and bool(from_host)))
            return moved
        if 0 < len(from_host) < len([each for each in seen if each.dim() or id(each) in self._host]):
            raise AssertionError(
                f"{resolve_name(func) or func} is given tensors of the host and of the device"
            )
        if isinstance(found, (Tensor, tuple, list)):
            for each in _tensors(found):
                self._place(each, host=device == "cpu" or bool(from_host))
        return found

    def _place(self, tensor: Tensor, *, host: bool) -> None:
        if host:
            self._host[id(tensor)] = tensor
        else:
            self._host.pop(id(tensor), None)


def _caller() -> str:
    """The module that called torch."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__") in (__name__, "torch.overrides"):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "")) if frame else ""


def _moves(args: tuple[Any, ...], given: Mapping[str, Any]) -> bool:
    """Whether `.to` is given a device, or a tensor to be like."""
    return any(isinstance(each, (torch.device, Tensor)) for each in (*args[1:], *given.values()))


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _tensors(each)
