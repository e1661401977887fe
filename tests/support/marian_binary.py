"""A tiny model in Marian's binary format: a folder as Firefox has them, with random weights."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tests.support.models import train_sentencepiece

WIDTH, INNER = 16, 24
FLOAT, TEXT, INT8 = 0x404, 0x101, 0x4101
CONFIG = {
    "dec-cell": "ssru",
    "dec-depth": "2",
    "enc-depth": "2",
    "tied-embeddings-all": "true",
    "transformer-decoder-autoreg": "rnn",
    "transformer-dim-ffn": str(INNER),
    "transformer-ffn-activation": "relu",
    "transformer-heads": "4",
    "transformer-postprocess": "dan",
    "transformer-preprocess": '""',
    "transformer-tied-layers": "[]",
    "type": "transformer",
}
Stored = tuple[int, tuple[int, ...], bytes]


def numbers(found: np.ndarray) -> Stored:
    return FLOAT, found.shape, found.astype("<f4").tobytes()


def rounded(found: np.ndarray, multiplier: float, *, turned: bool = True) -> Stored:
    """A matrix [in, out] in int8; embeddings are not turned."""
    whole = np.round(found * multiplier).clip(-127, 127).astype(np.int8)
    data = (whole.T if turned else whole).tobytes()
    return INT8, found.shape, data + struct.pack("<f", multiplier) + bytes(20)


def tensors(size: int, *, int8: bool = True, seed: int = 1) -> dict[str, Stored]:
    """All of a model, its matrices of whole numbers over 64 whether they are stored as int8 or not."""
    random = np.random.default_rng(seed)
    found: dict[str, Stored] = {}

    def matrix(name: str, rows: int, columns: int) -> None:
        made = random.integers(-40, 40, (rows, columns)) / np.float32(64)
        found[name] = rounded(made, 64.0, turned=name != "Wemb") if int8 else numbers(made)
        found[f"{name}_QuantMultA"] = numbers(np.ones((1, 1)))

    def row(name: str, columns: int, middle: float = 0.0) -> None:
        found[name] = numbers(random.normal(middle, 0.3, (1, columns)))

    def norm(name: str) -> None:
        row(f"{name}_ln_scale", WIDTH, 1.0)
        row(f"{name}_ln_bias", WIDTH)

    def attention(name: str) -> None:
        for letter in "qkvo":
            matrix(f"{name}_W{letter}", WIDTH, WIDTH)
            row(f"{name}_b{letter}", WIDTH)
        norm(f"{name}_Wo")

    matrix("Wemb", size, WIDTH)
    row("decoder_ff_logit_out_b", size)
    for side, look in (("encoder", "self"), ("decoder", "context")):
        for layer in (f"{side}_l{number}" for number in (1, 2)):
            attention(f"{layer}_{look}")
            for number, shape in (("1", (WIDTH, INNER)), ("2", (INNER, WIDTH))):
                matrix(f"{layer}_ffn_W{number}", *shape)
                row(f"{layer}_ffn_b{number}", shape[1])
            norm(f"{layer}_ffn_ffn")
            if side == "decoder":
                matrix(f"{layer}_rnn_W", WIDTH, WIDTH)
                matrix(f"{layer}_rnn_Wf", WIDTH, WIDTH)
                row(f"{layer}_rnn_bf", WIDTH)
                norm(f"{layer}_rnn_ffn")
    return found


def written(found: Mapping[str, Stored], config: Mapping[str, str]) -> bytes:
    """The bytes of a model file."""
    text = "".join(f"{key}: {value}\n" for key, value in config.items()).encode() + b"\0"
    items = {**found, "special:model.yml": (TEXT, (len(text),), text)}
    names = [name.encode() + b"\0" for name in items]
    head = struct.pack("<QQ", 1, len(items))
    for name, (kind, shape, data) in zip(names, items.values(), strict=True):
        head += struct.pack("<QQQQ", len(name), kind, len(shape), len(data))
    head += b"".join(names)
    head += b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, shape, _ in items.values())
    return head + struct.pack("<Q", 8) + bytes(8) + b"".join(data for *_, data in items.values())


def shortlist(first: int, targets: Sequence[Sequence[int]]) -> bytes:
    """The bytes of a shortlist: the target ids of each source id, beside the first ones."""
    starts = np.cumsum([0, *map(len, targets)]).astype("<u8")
    flat = np.concatenate([np.asarray(row, dtype="<u4") for row in targets])
    magic = 0xF11A48D5013417F5
    return struct.pack("<6Q", magic, 0, first, 3, len(starts), len(flat)) + starts.tobytes() + flat.tobytes()


def build(folder: Path, *, int8: bool = True, seed: int = 1) -> Path:
    """A folder with a model, its vocabulary and a shortlist."""
    folder.mkdir(parents=True, exist_ok=True)
    model = train_sentencepiece(folder, "vocab", bos=-1, eos=0, unk=1, pad=-1)
    spm = model.rename(folder / "vocab.spm")
    from sentencepiece import SentencePieceProcessor

    size = len(SentencePieceProcessor(model_file=str(spm)))
    (folder / "model.bin").write_bytes(written(tensors(size, int8=int8, seed=seed), CONFIG))
    (folder / "lex.bin").write_bytes(shortlist(3, [[number, (7 * number) % size] for number in range(size)]))
    return folder
