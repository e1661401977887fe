"""Sizes of weight files, checked before a network is built from them; nothing in them is trusted."""

from __future__ import annotations

import math
import re
import struct
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from babelscope.util.text import shorten

# Headers of published checkpoints have kilobytes, those of hundreds of thousands of tensors some megabytes.
_LONGEST_HEADER = 32_000_000
# A checkpoint lacks copies that are tied, position tables that are computed, and packs several numbers in a byte.
_NUMBERS_A_BYTE = 8
_SPARE_NUMBERS = 10_000_000
_PARTS_A_TENSOR = 16
_SPARE_PARTS = 2_000
_HEADS = re.compile(rb"num_heads(_kv)?\0?$")
_CTRANSLATE2_SIZES = {0: 4, 1: 1, 2: 2, 3: 4, 4: 2, 5: 2}


@dataclass(frozen=True, slots=True)
class WeightsSize:
    """How much some files of weights hold."""

    tensors: int = 0
    size: int = 0

    def __add__(self, other: WeightsSize) -> WeightsSize:
        return WeightsSize(self.tensors + other.tensors, self.size + other.size)


def read_safetensors(path: Path) -> WeightsSize:
    """What a safetensors file holds; ValueError if its header does not fit its length."""
    from safetensors import SafetensorError, safe_open

    size = path.stat().st_size
    with open(path, "rb") as file:
        start = file.read(8)
    header = int.from_bytes(start, "little")
    if len(start) < 8 or header > size - 8:
        raise ValueError("is cut off, or no safetensors file: its header does not fit into it")
    if header > _LONGEST_HEADER:
        raise ValueError(f"has a header of {header:,} bytes, more than any model needs")
    try:
        with safe_open(path, framework="pt") as opened:
            return WeightsSize(len(opened.keys()), size)
    except (SafetensorError, OSError) as error:
        raise ValueError(f"is no good safetensors file: {one_line(error)}") from error


def read_pickled(path: Path) -> WeightsSize:
    """What a file of torch holds; ValueError unless it is tensors by name, none larger than what is stored."""
    import torch

    options: dict[str, Any] = {}
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as listed:
                packed = [entry.filename for entry in listed.infolist() if entry.compress_type]
            if packed:
                raise ValueError(f"it is compressed ({packed[0]}), as torch never saves weights")
            options["mmap"] = True
        state = torch.load(path, map_location="cpu", weights_only=True, **options)
    except Exception as error:  # zipfile, pickle and torch each raise kinds of their own
        raise ValueError(f"is no good file of weights: {one_line(error)}") from error
    if not isinstance(state, dict):
        raise ValueError("holds no tensors by name")
    for name, tensor in state.items():
        if not isinstance(name, str) or not isinstance(tensor, torch.Tensor):
            raise ValueError(f"holds {shorten(str(name))}, which is not a tensor")
        # A view can repeat one number without end, and would be written out when it is converted.
        if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
            raise ValueError(f"holds {shorten(name)}, which is larger than what is stored of it")
    return WeightsSize(len(state), path.stat().st_size)


def check_ctranslate2(path: Path) -> None:
    """ValueError if the variables of a model.bin do not fit into it; CTranslate2 itself believes their sizes."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        try:
            version = _number(file, "I")
            _text(file)
            _number(file, "I")
            for _ in range(_number(file, "I")):
                name = _text(file)
                shape = [_number(file, "I") for _ in range(_number(file, "B"))]
                # Before version 4 the size of an element was written in place of its type.
                kind = _number(file, "B")
                wide = _CTRANSLATE2_SIZES[kind] if version >= 4 else kind
                count = _number(file, "I")
                stored = count if version >= 4 else count * wide
                if stored != math.prod(shape) * wide or file.tell() + stored > size:
                    raise ValueError
                start = file.tell()
                if _HEADS.search(name) and int.from_bytes(file.read(stored), "little", signed=True) < 1:
                    raise ValueError  # CTranslate2 would divide by it, and end the process
                file.seek(start + stored)
        except (struct.error, KeyError, ValueError):
            raise ValueError(
                f"{path.name} holds variables that do not fit into it, or into a network"
            ) from None


def _number(file: BinaryIO, kind: str) -> int:
    number: int = struct.unpack(f"<{kind}", file.read(struct.calcsize(f"<{kind}")))[0]
    return number


def _text(file: BinaryIO) -> bytes:
    return file.read(_number(file, "H"))


@contextmanager
def bounded(held: WeightsSize) -> Iterator[None]:
    """While a network is built in this thread: stop when it exceeds by far what the weights hold."""
    from torch.nn.modules import module

    most_numbers = _NUMBERS_A_BYTE * held.size + _SPARE_NUMBERS
    most_parts = _PARTS_A_TENSOR * held.tensors + _SPARE_PARTS
    here, numbers, parts = threading.get_ident(), 0, 0

    def count(_: Any, __: str, part: Any) -> None:
        nonlocal numbers, parts
        if threading.get_ident() != here:
            return
        parts += 1
        numbers += part.numel() if hasattr(part, "numel") else 0
        if numbers > most_numbers or parts > most_parts:
            raise ValueError(
                "its configuration asks for a network much larger than its weights, "
                f"which are {held.tensors:,} tensors in {held.size:,} bytes"
            )

    hooks = [
        module.register_module_parameter_registration_hook(count),
        module.register_module_buffer_registration_hook(count),
        module.register_module_module_registration_hook(count),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def one_line(error: BaseException) -> str:
    """What a library said, in one line that is not too long."""
    return " ".join(str(error).split())[:300] or type(error).__name__
