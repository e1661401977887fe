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

from babelscope.systems.model_folders import ModelFolder, TokenizerFolder
from babelscope.util.errors import BabelscopeError

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor
    from torch import Tensor

    from babelscope.decoding.families.bart import Weights

_WEIGHTS = "model.safetensors"
_COUNTS = frozenset(
    (
        "d_model",
        "decoder_attention_heads",
        "decoder_ffn_dim",
        "decoder_layers",
        "encoder_attention_heads",
        "encoder_ffn_dim",
        "encoder_layers",
        "max_position_embeddings",
        "vocab_size",
    )
)
_IDS = frozenset({"decoder_start_token_id", "eos_token_id", "pad_token_id"})
# Settings of any value: of training, of other classes, or of the file itself.
_RATES = frozenset(
    (
        "activation_dropout",
        "attention_dropout",
        "classif_dropout",
        "classifier_dropout",
        "decoder_layerdrop",
        "dropout",
        "encoder_layerdrop",
        "init_std",
    )
)
_ANY = frozenset(
    (
        "_name_or_path",
        "add_bias_logits",
        "add_final_layer_norm",
        "bos_token_id",
        "dtype",
        "forced_eos_token_id",
        "gradient_checkpointing",
        "id2label",
        "label2id",
        "normalize_before",
        "normalize_embedding",
        "static_position_embeddings",
        "torch_dtype",
        "transformers_version",
    )
)
# What each of these must be; those that may be absent have this value then.
_FIXED: dict[str, Any] = {
    "model_type": "marian",
    "architectures": ["MarianMTModel"],
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
    "is_encoder_decoder": True,
    "is_decoder": False,
    "use_cache": True,
}
_MAY_BE_ABSENT = frozenset({"tie_word_embeddings", "is_decoder", "use_cache"})
_ACTIVATIONS = ("swish", "relu")
_GENERATION_IDS = frozenset({"decoder_start_token_id", "eos_token_id", "forced_bos_token_id"})
_GENERATION_ANY = frozenset(
    (
        "_from_model_config",
        "bad_words_ids",
        "bos_token_id",
        "forced_eos_token_id",
        "max_length",
        "num_beams",
        "output_attentions",
        "output_hidden_states",
        "pad_token_id",
        "renormalize_logits",
        "transformers_version",
        "use_cache",
    )
)
# Positions times width that are computed; more is left to the check that `load_model` makes.
_MOST_POSITIONS = 10_000_000
_DTYPES = ("F32", "F16", "BF16")
# Of one layer.
_ENCODER_TENSORS, _DECODER_TENSORS = 16, 26

_TOKENIZER_FILES = {"source.spm", "target.spm", "vocab.json", "tokenizer_config.json"}
_SPECIAL = ("eos_token", "unk_token", "pad_token")
_TOKENIZER_ANY = frozenset({"backend", "model_max_length", "source_lang", "target_lang"})
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
    files = model.files
    if "generation_config.json" not in files.paths or model.weights != [_WEIGHTS]:
        return None
    config = files.read_json("config.json", most=_MOST_JSON)
    generation = files.read_json("generation_config.json", most=_MOST_JSON)
    if not (_is_plain(config) and _is_plain_generation(generation)):
        return None
    # Counted first, so that a configuration of many layers is not written out as names.
    layers = config["encoder_layers"], config["decoder_layers"]
    if model.held().tensors != 2 + _ENCODER_TENSORS * layers[0] + _DECODER_TENSORS * layers[1]:
        return None
    from safetensors import SafetensorError

    try:
        tensors = _read_tensors(str(files.paths[_WEIGHTS]), config, device)
    except (SafetensorError, OSError, RuntimeError, ValueError):
        return None
    files.check()
    if tensors is None:
        return None
    from babelscope.decoding.families.bart import Weights

    weights = Weights(
        tensors,
        layers,
        (config["encoder_attention_heads"], config["decoder_attention_heads"]),
        config["scale_embedding"],
        config["activation_function"],
    )
    stated = {"length_penalty": None, **dict.fromkeys(_GENERATION_IDS), **generation}
    return MarianFolder(weights, SimpleNamespace(**config), SimpleNamespace(**stated))


def _is_plain(config: Mapping[str, Any]) -> bool:
    """True of a config.json that has all that a network is made of, and nothing that is not known here."""
    known = _COUNTS | _IDS | _RATES | _ANY | set(_FIXED)
    others = {"activation_function", "scale_embedding", "decoder_vocab_size", "num_hidden_layers"}
    return (
        set(config) <= known | others
        and all(type(config.get(key)) is int and config[key] > 0 for key in _COUNTS)
        and all(type(config.get(key)) is int and 0 <= config[key] < config["vocab_size"] for key in _IDS)
        and all(type(config[key]) in (int, float) for key in _RATES & set(config))
        and all(_is_fixed(config, key, value, key in _MAY_BE_ABSENT) for key, value in _FIXED.items())
        and config.get("activation_function") in _ACTIVATIONS
        and type(config.get("scale_embedding")) is bool
        and config.get("decoder_vocab_size", config["vocab_size"]) == config["vocab_size"]
        and config.get("num_hidden_layers", config["encoder_layers"]) == config["encoder_layers"]
        and not any(config["d_model"] % config[f"{side}_attention_heads"] for side in ("encoder", "decoder"))
        and config["d_model"] * config["max_position_embeddings"] <= _MOST_POSITIONS
    )


def _is_plain_generation(generation: Mapping[str, Any]) -> bool:
    penalty = generation.get("length_penalty", 1.0)
    return (
        set(generation) <= _GENERATION_IDS | _GENERATION_ANY | {"length_penalty"}
        and all(generation.get(key) is None or type(generation[key]) is int for key in _GENERATION_IDS)
        and type(penalty) in (int, float)
    )


def _is_fixed(settings: Mapping[str, Any], key: str, value: Any, may_be_absent: bool) -> bool:
    """1 is not True here, since transformers checks types."""
    if key not in settings:
        return may_be_absent
    return type(settings[key]) is type(value) and bool(settings[key] == value)


def _read_tensors(path: str, config: Mapping[str, Any], device: str) -> dict[str, Tensor] | None:
    """All tensors of a MarianMTModel's state_dict, tied and computed ones too; None if the file has others."""
    import torch
    from safetensors import safe_open

    expected = dict(_shapes(config))
    with safe_open(path, framework="pt") as file:
        if set(file.keys()) != set(expected) or (file.metadata() or {}).get("format") != "pt":
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
    """What Marian tokenises ordinary text with: two sentencepiece models and the ids of their pieces."""

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

    try:
        settings = files.read_json("tokenizer_config.json", most=_MOST_JSON)
        vocabulary = files.read_json("vocab.json", most=_MOST_JSON)
        model = files.read_json("config.json", most=_MOST_JSON) if "config.json" in files.paths else {}
        if model.get("model_type", "marian") != "marian" or not _is_plain_tokenizer(settings, vocabulary):
            return None
        source, target = (
            SentencePieceProcessor(model_file=str(files.paths[f"{side}.spm"]))
            for side in ("source", "target")
        )
    except (BabelscopeError, OSError, RuntimeError):
        return None
    files.check()
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
    if not set(settings) <= {*_SPECIAL, *_TOKENIZER_ANY, *_TOKENIZER_FIXED, "added_tokens_decoder"}:
        return False
    special = [settings.get(key) for key in _SPECIAL]
    if not all(isinstance(token, str) and token.strip() == token != "" for token in special):
        return False
    added = settings.get("added_tokens_decoder", {})
    return (
        len(set(special)) == len(special)
        and set(special) <= set(vocabulary)
        and all(type(number) is int and number >= 0 for number in vocabulary.values())
        and len(set(vocabulary.values())) == len(vocabulary)
        and all(
            _is_fixed(settings, key, value, key != "tokenizer_class")
            for key, value in _TOKENIZER_FIXED.items()
        )
        and isinstance(added, dict)
        and all(
            isinstance(token, dict)
            and token.get("content") in special
            and str(vocabulary[token["content"]]) == number
            and token == {**_ADDED_TOKEN, "content": token["content"]}
            for number, token in added.items()
        )
    )
