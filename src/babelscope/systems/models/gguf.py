"""GGUF files: one file with a language model's settings, tokenizer and weights, read by transformers."""

from __future__ import annotations

import struct
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path

from babelscope.systems.models.folders import WeightsSize
from babelscope.util.digests import SealedFiles
from babelscope.util.errors import BabelscopeError, install_hint

_HEADER = "<4sIQQ"
_VERSIONS = (2, 3)
# Bytes that the shortest entries of the two tables take.
_LEAST_TENSOR, _LEAST_SETTING = 24, 13


class GgufFile:
    """A GGUF file as `ModelFolder` and `TokenizerFolder` describe a folder; its weights are made float32."""

    def __init__(self, path: Path) -> None:
        self.folder, self.name = path.parent, path.name
        self.names = {path.name}
        self.files = SealedFiles(path.parent, [path.name])
        if not find_spec("gguf") or not find_spec("accelerate"):
            raise BabelscopeError(f"{path} needs gguf and accelerate: {install_hint('gguf')}")

    def held(self) -> WeightsSize:
        """Number of tensors and bytes; refuses a file whose header is false."""
        path = self.files.paths[self.name]
        size = path.stat().st_size
        with open(path, "rb") as file:
            start = file.read(struct.calcsize(_HEADER))
        if len(start) == struct.calcsize(_HEADER):
            magic, version, tensors, settings = struct.unpack(_HEADER, start)
            fits = tensors * _LEAST_TENSOR + settings * _LEAST_SETTING <= size
            if magic == b"GGUF" and version in _VERSIONS and fits:
                return WeightsSize(tensors, size)
        raise BabelscopeError(f"{path} is no GGUF file of version 2 or 3, or is cut off")

    def view(self) -> AbstractContextManager[Path]:
        """A folder for transformers to read."""
        return self.files.view()


def find_gguf(name: str) -> GgufFile | None:
    """The GGUF file that `name` is, or that its folder has in place of config.json; None for other models."""
    path = Path(name).expanduser()
    if path.suffix == ".gguf" and path.is_file():
        return GgufFile(path)
    if not path.is_dir() or (path / "config.json").exists():
        return None
    found = sorted(path.glob("*.gguf"))
    if len(found) > 1:
        raise BabelscopeError(
            f"{path} has several GGUF files ({', '.join(each.name for each in found[:4])}); name one of them"
        )
    return GgufFile(found[0]) if found else None
