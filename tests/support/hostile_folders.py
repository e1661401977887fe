"""Model folders that somebody made to harm whoever opens them; each is a tiny checkpoint with one thing changed."""

from __future__ import annotations

import json
import os
import shutil
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

CASES: dict[str, Case] = {}
OUTSIDE = "outside"
"""A folder beside, to which nothing of a hostile one may lead."""


@dataclass(frozen=True)
class Case:
    """How a folder is changed, what kind it is, and what is said of it; "" if it is opened all the same."""

    spoil: Callable[[Path], None]
    kind: str
    said: str


def case(kind: str, said: str) -> Callable[[Callable[[Path], None]], None]:
    """Register a function that spoils a folder."""

    def keep(spoil: Callable[[Path], None]) -> None:
        CASES[spoil.__name__] = Case(spoil, kind, said)

    return keep


def change(path: Path, **settings: Any) -> None:
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps({**found, **settings}), encoding="utf-8")


def configured(name: str, kind: str, said: str, **settings: Any) -> None:
    CASES[name] = Case(lambda folder: change(folder / "config.json", **settings), kind, said)


configured("a_billion_layers", "hf", "a network much larger than its weights", encoder_layers=10**9)
configured("many_layers", "hf", "a network much larger than its weights", decoder_layers=90_000)
configured("a_layer_too_many", "hf", r"lack .model.decoder.layers.2", decoder_layers=3)
configured("infinite_layers", "hf", "cannot be loaded", encoder_layers=float("inf"))
configured("a_vocabulary_of_10_to_12", "hf", "a network much larger than its weights", vocab_size=10**12)
configured("a_width_of_10_to_12", "hf", "cannot be loaded as a model", d_model=10**12)
configured(
    "10_to_12_positions", "hf", "a network much larger than its weights", max_position_embeddings=10**12
)
configured("no_positions", "hf", "cannot be loaded as a model|max_position", max_position_embeddings=0)
configured("fewer_than_no_layers", "hf", "which its configuration has no place for", decoder_layers=-5)
configured("an_end_beyond_the_vocabulary", "hf", "eos_token_id is 1000000", eos_token_id=10**6)
configured("other_configuration", "hf", "configuration_files", configuration_files=["../config.5.0.0.json"])
configured("weights_elsewhere", "hf", "outside of its folder", transformers_weights="../model.safetensors")
configured("a_kernel_of_the_hub", "hf", "code of another place", _attn_implementation="evil/kernel")
configured("a_billion_layers_llm", "llm", "much larger than its weights", num_hidden_layers=10**9)


@case("hf", "levels of lists|cannot be read as JSON")
def nested_configuration(folder: Path) -> None:
    (folder / "config.json").write_text('{"a":' + "[" * 100_000 + "]" * 100_000 + "}")


@case("hf", "has 20,000,002 bytes")
def huge_configuration(folder: Path) -> None:
    (folder / "config.json").write_text("{" + " " * 20_000_000 + "}")


@case("llm", "not a JSON object")
def generation_configuration_of_another_kind(folder: Path) -> None:
    (folder / "generation_config.json").write_text("[]")


@case("hf", "header does not fit")
def header_without_end(folder: Path) -> None:
    with open(folder / "model.safetensors", "r+b") as file:
        file.write(struct.pack("<Q", 2**60))


@case("hf", "a header of 3,000,000,000 bytes")
def header_of_gigabytes(folder: Path) -> None:
    with open(folder / "model.safetensors", "r+b") as file:
        file.write(struct.pack("<Q", 3_000_000_000))
        file.truncate(4_000_000_000)


@case("hf", "no good safetensors file")
def tensors_beyond_the_file(folder: Path) -> None:
    header = b'{"a": {"dtype": "F32", "shape": [1099511627776], "data_offsets": [0, 4398046511104]}}'
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 16)


def _pickled(folder: Path, state: object) -> None:
    (folder / "model.safetensors").unlink()
    torch.save(state, folder / "pytorch_model.bin")


class Payload:
    """Whoever unpickles it makes a file."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.canary,))


@case("hf", "no good file of weights")
def pickled_program(folder: Path) -> None:
    _pickled(folder, {"model.shared.weight": Payload(folder.parent / OUTSIDE / "canary")})


@case("hf", "larger than what is stored")
def one_number_a_trillion_times(folder: Path) -> None:
    state = load_file(folder / "model.safetensors")
    _pickled(folder, {**state, "lm_head.weight": torch.zeros(1).expand(10**6, 10**6)})


@case("hf", "is compressed")
def pickled_bomb(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with zipfile.ZipFile(folder / "pytorch_model.bin", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("archive/version", "3\n")
        with file.open("archive/data.pkl", "w", force_zip64=True) as record:
            for _ in range(600):
                record.write(b"\0" * 2**20)


def _index(folder: Path, shard: object) -> None:
    (folder / "model.safetensors").rename(folder / "other.safetensors")
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": {"model.shared.weight": shard}})
    )


@case("hf", "outside of its folder")
def shard_above(folder: Path) -> None:
    _index(folder, f"../{OUTSIDE}/model.safetensors")


@case("hf", "is missing")
def shard_that_is_not_there(folder: Path) -> None:
    _index(folder, "model-00001-of-00002.safetensors")


@case("hf", "names no weights")
def index_of_another_kind(folder: Path) -> None:
    _index(folder, "x")
    (folder / "model.safetensors.index.json").write_text('{"weight_map": []}')


def _link(path: Path, to: Path | str) -> None:
    path.unlink()
    path.symlink_to(to)


@case("hf", "leads out of its folder")
def linked_weights(folder: Path) -> None:
    _link(folder / "model.safetensors", folder.parent / OUTSIDE / "model.safetensors")


@case("hf", "leads out of its folder")
def tokenizer_without_end(folder: Path) -> None:
    _link(folder / "source.spm", "/dev/zero")


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@case("hf", "not a regular file")
def configuration_as_a_pipe(folder: Path) -> None:
    _fifo(folder / "config.json")


@case("llm", "has 3,000,000,000 bytes")
def tokenizer_of_gigabytes(folder: Path) -> None:
    os.truncate(folder / "tokenizer.json", 3_000_000_000)


@case("llm", "its tokenizer fails: index out of bounds")
def table_that_makes_rust_panic(folder: Path) -> None:
    normalizer = {"type": "Precompiled", "precompiled_charsmap": "BAAAAP////8A"}
    change(folder / "tokenizer.json", normalizer=normalizer)


@case("llm", "tokenizer cannot be loaded")
def merges_of_nothing(folder: Path) -> None:
    path = folder / "tokenizer.json"
    model = json.loads(path.read_text(encoding="utf-8"))["model"]
    change(path, model={**model, "merges": [["no", "such"]]})


@case("hf", "as the id of")
def vocabulary_of_words(folder: Path) -> None:
    words = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    (folder / "vocab.json").write_text(json.dumps({word: str(number) for word, number in words.items()}))


@case("hf", "do not belong together")
def vocabulary_beyond_the_network(folder: Path) -> None:
    words = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    (folder / "vocab.json").write_text(json.dumps({word: number + 10**9 for word, number in words.items()}))


@case("llm", "do not belong together")
def tokenizer_beyond_the_network(folder: Path) -> None:
    path = folder / "tokenizer.json"
    model = json.loads(path.read_text(encoding="utf-8"))["model"]
    more = {word: number + 1000 * (number > 2) for word, number in model["vocab"].items()}
    change(path, model={**model, "vocab": more})


@case("llm", "its chat template fails")
def chat_template_that_raises(folder: Path) -> None:
    (folder / "chat_template.jinja").write_text("{{ ''.__class__.__mro__[1].__subclasses__() }}{{ 1 // 0 }}")


@case("hf", "tokenizer cannot be loaded")
def sentencepiece_of_noise(folder: Path) -> None:
    (folder / "source.spm").write_bytes(bytes(range(256)) * 40)


@case("hf", "")
def tokenizer_files_elsewhere(folder: Path) -> None:
    path = str(folder.parent / OUTSIDE / "pipe")
    away = {"vocab_file": path, "tokenizer_file": path, "sp_model_kwargs": {"model_file": path}}
    change(folder / "tokenizer_config.json", **away)


@case("hf", "")
def special_tokens_elsewhere(folder: Path) -> None:
    path = str(folder.parent / OUTSIDE / "pipe")
    change(folder / "special_tokens_map.json", vocab=path, source_spm=path, target_vocab_file=path)


@case("hf", "adapter")
def adapter_of_another_model(folder: Path) -> None:
    base = str(folder.parent / OUTSIDE)
    change(folder / "adapter_config.json", base_model_name_or_path=base, peft_type="LORA")


def _own_code(folder: Path) -> None:
    outside = folder.parent / OUTSIDE
    (folder / "evil.py").write_text(f"open({str(outside / 'canary')!r}, 'w').close()\n")
    own = {name: f"evil.{name}" for name in ("AutoConfig", "AutoModelForSeq2SeqLM", "AutoModelForCausalLM")}
    change(folder / "config.json", model_type="evil", auto_map=own)
    change(
        folder / "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.T", None]}, tokenizer_class="T"
    )
    (folder / "custom_generate").mkdir()
    shutil.copy(folder / "evil.py", folder / "custom_generate" / "generate.py")


CASES["own_code"] = Case(_own_code, "hf", "trust_remote_code|cannot be loaded")
CASES["own_code_llm"] = Case(_own_code, "llm", "trust_remote_code|cannot be loaded")


@case("ct2", "do not fit into it")
def converted_sizes_that_lie(folder: Path) -> None:
    data = bytearray((folder / "model.bin").read_bytes())
    start = data.index(b"decoder/embeddings/weight\0") + len(b"decoder/embeddings/weight\0")
    struct.pack_into("<I", data, start + 1, 4_000_000_000)
    (folder / "model.bin").write_bytes(data)


@case("ct2", "do not fit into it or into a network")
def converted_without_heads(folder: Path) -> None:
    """CTranslate2 would divide by it, which ends the process."""
    data = bytearray((folder / "model.bin").read_bytes())
    start = data.index(b"encoder/num_heads\0") + len(b"encoder/num_heads\0")
    assert data[start] == 0, "a scalar"
    length = int.from_bytes(data[start + 2 : start + 6], "little")
    data[start + 6 : start + 6 + length] = bytes(length)
    (folder / "model.bin").write_bytes(data)


@case("ct2", "no CTranslate2 model here|not a regular file")
def converted_as_a_pipe(folder: Path) -> None:
    _fifo(folder / "model.bin")


@case("ct2", "leads out of its folder")
def converted_elsewhere(folder: Path) -> None:
    outside = folder.parent / OUTSIDE
    shutil.copy(folder / "model.bin", outside / "model.bin")
    _link(folder / "model.bin", outside / "model.bin")


@case("ct2", "cannot be opened by CTranslate2")
def converted_vocabulary_of_numbers(folder: Path) -> None:
    for path in folder.glob("*vocabulary.json"):
        path.write_text(json.dumps(list(range(90))))
