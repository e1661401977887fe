"""The files that transformers reads of a model folder: found, bounded and hashed before it sees any of them.

transformers is given a temporary folder with these files only, so nothing that is not hashed can be loaded.
"""

from __future__ import annotations

import json
import math
import re
import struct
import threading
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

from babelscope.util.digests import SealedFiles
from babelscope.util.errors import BabelscopeError
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


class WeightsSize(NamedTuple):
    """How much some files of weights hold: tensors, and bytes."""

    tensors: int
    size: int


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
                raise ValueError(f"it is compressed ({packed[0]}), and torch never compresses weights")
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
            raise ValueError(f"{path.name} has values that do not fit into it or into a network") from None


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
    """The message of a library's error, in one line of at most 300 characters."""
    return " ".join(str(error).split())[:300] or type(error).__name__


TOKENIZER_FILES = (
    "*.spm",
    "*.model",
    "tokenizer*.json",
    "vocab*",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
    "target_vocab.json",
    "chat_template.*",
    "additional_chat_templates/*.jinja",
    # Of the few families that name their vocabulary in a way of their own.
    "bpe.codes",
    "dict.txt",
    "prophetnet.tokenizer",
    "entity_vocab.json",
    "normalizer.json",
    "byte_maps.json",
    "emoji.json",
    "word_*.json",
    "tekken.json",
)
_CONFIG, _GENERATION, _ADAPTER = "config.json", "generation_config.json", "adapter_config.json"
_TOKENIZER_CONFIG, _SPECIAL_TOKENS = "tokenizer_config.json", "special_tokens_map.json"
# In the order in which transformers looks for them.
_WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
_OTHER_WEIGHTS = {".safetensors", ".bin", ".h5", ".msgpack", ".onnx", ".gguf", ".pt", ".pth", ".ot", ".ckpt"}
_MOST_CONFIG, _MOST_INDEX, _MOST_TOKENIZER = 8_000_000, 64_000_000, 128_000_000
_POINTER = re.compile("_(file|path|dir|object|proto)$|^(init_inputs|subfolder)$")


class ModelFolder:
    """A network's files: its weights as transformers resolves them, and its configuration."""

    def __init__(self, folder: Path, *, remote_code: bool = False) -> None:
        self.folder = folder
        if not _there(folder / _CONFIG):
            raise BabelscopeError(f"{folder} is no model: it has no {_CONFIG}")
        if _there(folder / _ADAPTER):
            raise BabelscopeError(
                f"{folder} has an adapter ({_ADAPTER}), which is loaded with some installations and not with others; "
                "merge it into the weights, or take it out of the folder"
            )
        config = check_config(_seal(folder, [_CONFIG]), remote_code=remote_code)
        self.weights = _find_weights(folder, config)
        names = {path.name for path in folder.glob("*config.json")} - {_TOKENIZER_CONFIG}
        others = _code(folder) if remote_code else set()
        self.files = _seal(folder, names | others | set(self.weights))
        if _GENERATION in names:
            self.files.read_json(_GENERATION, most=_MOST_CONFIG)

    def held(self) -> WeightsSize:
        """Number of tensors and bytes of the weights; refuses files whose headers are false."""
        found = []
        for name in self.weights:
            if name.endswith(".json"):
                continue
            read = read_safetensors if name.endswith(".safetensors") else read_pickled
            try:
                found.append(read(self.files.paths[name]))
            except ValueError as error:
                raise BabelscopeError(f"{self.folder} cannot be loaded as a model: {name} {error}") from error
        return WeightsSize(*map(sum, zip(*found, strict=True)))


class TokenizerFolder:
    """A tokenizer's files, and the configuration of the model that it belongs to, if that is there."""

    def __init__(self, folder: Path, *, remote_code: bool = False) -> None:
        self.folder = folder
        self.names = {
            path.relative_to(folder).as_posix()
            for pattern in TOKENIZER_FILES
            for path in folder.glob(pattern)
        }
        if remote_code:
            self.names |= _code(folder) - {_CONFIG}
        beside = {_CONFIG} if _there(folder / _CONFIG) else set()
        self.files = _seal(folder, self.names | beside)
        if beside:
            check_config(self.files, remote_code=remote_code)
        for name in self.names:
            if self.files.size(name) > _MOST_TOKENIZER:
                raise BabelscopeError(
                    f"{folder / name} has {self.files.size(name):,} bytes; a tokenizer's files have at most "
                    f"{_MOST_TOKENIZER:,}"
                )
        self._instead = dict(self._cleaned(remote_code))

    def _cleaned(self, remote_code: bool) -> Iterator[tuple[str, bytes]]:
        """The tokenizer's own settings without what would lead to files elsewhere."""
        for name in {_TOKENIZER_CONFIG, _SPECIAL_TOKENS} & self.names:
            settings = self.files.read_json(name, most=_MOST_CONFIG)
            where = self.folder / name
            _refuse_other_code(settings, where, remote_code)
            versions = settings.get("fast_tokenizer_files")
            if versions is not None and not (isinstance(versions, list) and set(versions) <= self.names):
                raise BabelscopeError(
                    f"{where} names files that its folder does not have (fast_tokenizer_files)"
                )
            kept = {
                key: _without_pointers(value)
                for key, value in settings.items()
                if not _POINTER.search(key) and (name == _TOKENIZER_CONFIG or "_token" in key)
            }
            if kept != settings:
                yield name, json.dumps(kept).encode()

    def view(self) -> AbstractContextManager[Path]:
        """A folder for transformers to read."""
        return self.files.view(self._instead)


def check_config(files: SealedFiles, *, remote_code: bool) -> dict[str, Any]:
    """Read config.json; refuse code and files of other places."""
    config = files.read_json(_CONFIG, most=_MOST_CONFIG)
    where = files.folder / _CONFIG
    if "configuration_files" in config:
        raise BabelscopeError(f"{where} names other files to be read in its place (configuration_files)")
    _refuse_other_code(config, where, remote_code)
    for key, value in config.items():
        if "_implementation" in key and "/" in str(value):
            raise BabelscopeError(f"{where} wants code of another place ({key} {shorten(str(value))})")
    return config


def _refuse_other_code(settings: dict[str, Any], where: Path, remote_code: bool) -> None:
    """Code of a model's own folder is hashed with it; a reference to another repository's cannot be."""
    if remote_code and "--" in json.dumps(settings.get("auto_map")):
        raise BabelscopeError(f"{where} wants code of another place (auto_map); copy it into the folder")


def _find_weights(folder: Path, config: dict[str, Any]) -> list[str]:
    """The files that transformers would load, an index before the shards that it names."""
    stated = config.get("transformers_weights")
    if stated is not None:
        if not isinstance(stated, str) or not stated.endswith((".safetensors", ".safetensors.index.json")):
            raise BabelscopeError(f"{folder / _CONFIG} names weights that are not safetensors: {stated!r}")
        first = _inside(stated, folder / _CONFIG)
    else:
        found = [name for name in _WEIGHTS if _there(folder / name)]
        if not found:
            raise BabelscopeError(f"{folder} has no weights (model.safetensors or pytorch_model.bin)")
        first = found[0]
    if not first.endswith(".json"):
        return [first]
    index = _seal(folder, [first]).read_json(first, most=_MOST_INDEX)
    shards = index.get("weight_map")
    if not isinstance(shards, dict) or not shards:
        raise BabelscopeError(f"{folder / first} names no weights (weight_map)")
    ending = ".safetensors" if first.endswith(".safetensors.index.json") else ".bin"
    names = sorted({_inside(name, folder / first) for name in shards.values()})
    for name in names:
        if not name.endswith(ending):
            raise BabelscopeError(f"{folder / first} names {name!r}, which is no {ending} file")
    return [first, *names]


def _inside(name: object, where: Path) -> str:
    """A relative path that goes down only, or an error."""
    parts = PurePosixPath(name).parts if isinstance(name, str) else ()
    if not parts or ".." in parts or parts[0] == "/" or "\\" in str(name) or "\0" in str(name):
        raise BabelscopeError(f"{where} names weights outside of its folder: {name!r}")
    return "/".join(parts)


def _seal(folder: Path, names: Iterable[str]) -> SealedFiles:
    """Files of a folder; in the hub's cache, links from a snapshot to the blobs beside it."""
    home = folder.resolve()
    repository = home.parent.parent
    cached = home.parent.name == "snapshots" and repository.name.startswith("models--")
    blobs = [repository / "blobs", repository.parent / "blobs"] if cached else []
    return SealedFiles(folder, names, also_inside=blobs)


def _code(folder: Path) -> set[str]:
    """All that a model's own code may read: whatever is not a checkpoint of some kind."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
        and path.suffix not in _OTHER_WEIGHTS
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }


def _there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _without_pointers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_pointers(each) for key, each in value.items() if not _POINTER.search(key)}
    return [_without_pointers(each) for each in value] if isinstance(value, list) else value
