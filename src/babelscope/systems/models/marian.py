"""Marian models read without transformers, whose import takes several times as long as scoring a sentence.

Only a folder as `save_pretrained` writes it is read here: every setting known, every tensor there with the expected
shape. Anything else is left to transformers, which then loads or refuses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from babelscope.systems.models.folders import ModelFolder, TokenizerFolder
from babelscope.util.errors import BabelscopeError

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor
    from torch import Tensor

    from babelscope.decoding.families.encoder_decoder import Weights

_WEIGHTS = "model.safetensors"
_SIZES = {
    "d_model",
    "decoder_attention_heads",
    "decoder_ffn_dim",
    "decoder_layers",
    "encoder_attention_heads",
    "encoder_ffn_dim",
    "encoder_layers",
    "max_position_embeddings",
    "vocab_size",
}
# Checked where they are used; where absent, transformers would put numbers of its own.
_IDS = {"decoder_start_token_id", "eos_token_id", "pad_token_id"}
# Of training, or of the file itself.
_OTHERS = {
    "activation_dropout",
    "activation_function",
    "attention_dropout",
    "bos_token_id",
    "decoder_layerdrop",
    "decoder_vocab_size",
    "dropout",
    "dtype",
    "encoder_layerdrop",
    "forced_eos_token_id",
    "init_std",
    "scale_embedding",
    "transformers_version",
    "use_cache",
}
_FIXED: dict[str, Any] = {
    "model_type": "marian",
    "architectures": ["MarianMTModel"],
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
    "is_encoder_decoder": True,
    "is_decoder": False,
}
# Positions times width that are computed; more is left to the check that `load_model` makes.
_MOST_POSITIONS = 10_000_000
_DTYPES = ("F32", "F16", "BF16")

_TOKENIZER_FILES = {"source.spm", "target.spm", "vocab.json", "tokenizer_config.json"}
_SPECIAL = ("eos_token", "unk_token", "pad_token")
_TOKENIZER_OTHERS = {"backend", "model_max_length", "source_lang", "target_lang"}
_TOKENIZER_FIXED: dict[str, Any] = {
    "tokenizer_class": "MarianTokenizer",
    "separate_vocabs": False,
    "sp_model_kwargs": {},
}
_ADDED_TOKEN = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
_MOST_JSON = 128_000_000


@dataclass(frozen=True, slots=True)
class MarianFolder:
    """A Marian model as read: weights in float32, settings as attributes under transformers' names."""

    weights: Weights
    config: SimpleNamespace
    generation: SimpleNamespace


def read_marian(model: ModelFolder, *, device: str) -> MarianFolder | None:
    """A model as its folder has it, its weights in float32 on `device`; None if transformers must load it."""
    from safetensors import SafetensorError

    from babelscope.decoding.families.encoder_decoder import Weights

    files = model.files
    if "generation_config.json" not in files.paths or model.weights != [_WEIGHTS]:
        return None
    config = files.read_json("config.json", most=_MOST_JSON)
    generation = files.read_json("generation_config.json", most=_MOST_JSON)
    if not _is_plain(config):
        return None
    model.held()  # refuses a file whose header is false
    try:
        tensors = _read_tensors(str(files.paths[_WEIGHTS]), config, device)
    except (SafetensorError, OSError, RuntimeError, ValueError):
        return None
    files.check()
    if tensors is None:
        return None
    weights = Weights(
        tensors,
        (config["encoder_layers"], config["decoder_layers"]),
        (config["encoder_attention_heads"], config["decoder_attention_heads"]),
        config["scale_embedding"],
        config["activation_function"],
    )
    return MarianFolder(weights, SimpleNamespace(**config), SimpleNamespace(**generation))


def _is_plain(config: Mapping[str, Any]) -> bool:
    """Whether a config.json has all that a network is made of, and nothing that is not known here."""
    return (
        _IDS | {"model_type"} <= set(config) <= _SIZES | _IDS | _OTHERS | set(_FIXED)
        and all(type(config.get(key)) is int and config[key] > 0 for key in _SIZES)
        and all(config.get(key, value) == value for key, value in _FIXED.items())
        and config.get("activation_function") in ("swish", "relu")
        and type(config.get("scale_embedding")) is bool
        and config.get("decoder_vocab_size", config["vocab_size"]) == config["vocab_size"]
        and not any(config["d_model"] % config[f"{side}_attention_heads"] for side in ("encoder", "decoder"))
        and config["d_model"] * config["max_position_embeddings"] <= _MOST_POSITIONS
    )


def _read_tensors(path: str, config: Mapping[str, Any], device: str) -> dict[str, Tensor] | None:
    """All tensors of a MarianMTModel's state_dict, tied and computed ones too; None if the file has others."""
    import torch
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        names = set(file.keys())
        if config["encoder_layers"] + config["decoder_layers"] > len(names):
            return None
        expected = dict(_shapes(config))
        if names != set(expected) or (file.metadata() or {}).get("format") != "pt":
            return None
        stored = {name: file.get_slice(name) for name in expected}
        if any(
            tuple(each.get_shape()) != expected[name] or each.get_dtype() not in _DTYPES
            for name, each in stored.items()
        ):
            return None
        tensors = {name: each[...].to(torch.device(device), torch.float32) for name, each in stored.items()}
    positions = torch.from_numpy(position_table(config["max_position_embeddings"], config["d_model"]))
    for side in ("encoder", "decoder"):
        tensors[f"model.{side}.embed_tokens.weight"] = tensors["model.shared.weight"]
        tensors[f"model.{side}.embed_positions.weight"] = positions.to(torch.device(device))
    tensors["lm_head.weight"] = tensors["model.shared.weight"]
    return tensors


def _shapes(config: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes of the tensors that a file of weights has."""
    size, width = config["vocab_size"], config["d_model"]
    yield "model.shared.weight", (size, width)
    yield "final_logits_bias", (1, size)
    for side, attentions in (("encoder", ("self_attn",)), ("decoder", ("self_attn", "encoder_attn"))):
        inner = config[f"{side}_ffn_dim"]
        for number in range(config[f"{side}_layers"]):
            layer = f"model.{side}.layers.{number}"
            linear = {"fc1": (inner, width), "fc2": (width, inner)}
            for attention in attentions:
                linear |= {f"{attention}.{part}_proj": (width, width) for part in ("q", "k", "v", "out")}
            for name, shape in linear.items():
                yield f"{layer}.{name}.weight", shape
                yield f"{layer}.{name}.bias", shape[:1]
            for norm in (*(f"{attention}_layer_norm" for attention in attentions), "final_layer_norm"):
                yield f"{layer}.{norm}.weight", (width,)
                yield f"{layer}.{norm}.bias", (width,)


def position_table(positions: int, width: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Sinusoids [positions, width] in float32: the sines of all frequencies, then their cosines."""
    frequency = np.arange(width) // 2
    angles = np.arange(positions)[:, None] / np.power(10000, 2 * frequency / width)
    return np.concatenate([np.sin(angles[:, 0::2]), np.cos(angles[:, 1::2])], axis=1).astype(np.float32)


@dataclass(frozen=True, slots=True)
class MarianPieces:
    """What Marian tokenizes ordinary text with: two sentencepiece models and the ids of their pieces."""

    spm_source: SentencePieceProcessor
    spm_target: SentencePieceProcessor
    source_ids: dict[str, int]
    target_ids: dict[str, int]
    """The same as `source_ids` unless source and target have vocabularies of their own."""
    names: dict[int, str]
    """Of target ids, as far as known without transformers."""
    unknown: str
    eos: int
    special: frozenset[str]
    """Special tokens: a text that has one of them is left to transformers."""
    special_ids: frozenset[int]

    @property
    def joint(self) -> bool:
        """True if source and target share one vocabulary."""
        return self.source_ids is self.target_ids


def pieces_of(tokenizer: Any) -> MarianPieces:
    """The same of a MarianTokenizer of transformers."""
    return MarianPieces(
        tokenizer.spm_source,
        tokenizer.spm_target,
        tokenizer.encoder,
        tokenizer.target_encoder if tokenizer.separate_vocabs else tokenizer.encoder,
        {},
        str(tokenizer.unk_token),
        tokenizer.eos_token_id,
        frozenset(map(str, tokenizer.get_added_vocab())),
        frozenset(tokenizer.all_special_ids),
    )


def read_marian_pieces(folder: TokenizerFolder) -> MarianPieces | None:
    """A tokenizer as its folder has it; None if transformers must load it."""
    files = folder.files
    if folder.names != _TOKENIZER_FILES:
        return None
    from sentencepiece import SentencePieceProcessor

    settings = files.read_json("tokenizer_config.json", most=_MOST_JSON)
    model = files.read_json("config.json", most=_MOST_JSON) if "config.json" in files.paths else {}
    if model.get("model_type", "marian") != "marian":
        return None
    try:
        vocabulary = files.read_json("vocab.json", most=_MOST_JSON)
        source, target = (
            SentencePieceProcessor(model_file=str(files.paths[f"{side}.spm"]))
            for side in ("source", "target")
        )
    except (BabelscopeError, OSError, RuntimeError):
        return None  # transformers says what is wrong
    files.check()
    if not _is_plain_tokenizer(settings, vocabulary):
        return None
    special = [settings[key] for key in _SPECIAL]
    return MarianPieces(
        source,
        target,
        vocabulary,
        vocabulary,
        {number: token for token, number in vocabulary.items()},
        settings["unk_token"],
        vocabulary[settings["eos_token"]],
        frozenset(special),
        frozenset(vocabulary[token] for token in special),
    )


def _is_plain_tokenizer(settings: Mapping[str, Any], vocabulary: Mapping[str, Any]) -> bool:
    special = [settings.get(key) for key in _SPECIAL]
    known = all(isinstance(token, str) and token in vocabulary for token in special)
    numbers = list(vocabulary.values())
    if not known or not all(type(number) is int and number >= 0 for number in numbers):
        return False
    added = {str(vocabulary[str(token)]): {**_ADDED_TOKEN, "content": token} for token in special}
    fixed = {**_TOKENIZER_FIXED, "added_tokens_decoder": added}
    return (
        set(settings) <= {*_SPECIAL, *_TOKENIZER_OTHERS, *fixed}
        and "tokenizer_class" in settings
        and all(settings.get(key, value) == value for key, value in fixed.items())
        and len(set(special)) == len(special)
        and len(set(numbers)) == len(numbers)
    )
