"""A Marian folder read directly gives what transformers gives of it; any other folder is left to transformers."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from babelscope.decoding.families.encoder_decoder import weights_of
from babelscope.systems.models.checkpoints import load_model
from babelscope.systems.models.folders import ModelFolder, TokenizerFolder
from babelscope.systems.models.hf import HuggingFace
from babelscope.systems.models.marian import read_marian, read_marian_pieces
from babelscope.systems.models.tokenizers import Tokens, load_tokenizer
from babelscope.systems.registry import open_system

Build = Callable[..., Path]
LAB = Path(__file__).parents[2] / "src" / "babelscope" / "lab" / "models"


@pytest.fixture
def folder(checkpoint: Build, tmp_path: Path) -> Path:
    """A small Marian folder of one's own."""
    return shutil.copytree(checkpoint("marian"), tmp_path / "model")


def change(folder: Path, name: str, **values: Any) -> None:
    """Set keys of a JSON file, or take them out (None)."""
    found = {**json.loads((folder / name).read_text(encoding="utf-8")), **values}
    kept = {key: value for key, value in found.items() if value is not None or key not in values}
    (folder / name).write_text(json.dumps(kept), encoding="utf-8")


def assert_same(folder: Path) -> None:
    """Every tensor and setting is the same, bit by bit, as in a network that transformers loaded."""
    model = ModelFolder(folder)
    read = read_marian(model, device="cpu")
    assert read is not None
    network = load_model("AutoModelForSeq2SeqLM", model, device="cpu", dtype="float32", remote_code=False)
    expected = weights_of(network)
    missing = set(expected.tensors) - set(read.weights.tensors)
    assert not missing
    for name, tensor in expected.tensors.items():
        assert tensor.dtype == read.weights.tensors[name].dtype
        assert torch.equal(tensor, read.weights.tensors[name]), name
    for name in ("layers", "heads", "scale_embedding", "activation"):
        assert getattr(read.weights, name) == getattr(expected, name)
    for name in ("decoder_start_token_id", "eos_token_id", "pad_token_id", "max_position_embeddings"):
        assert getattr(read.config, name) == getattr(network.config, name)
    for name in ("decoder_start_token_id", "eos_token_id", "forced_bos_token_id", "length_penalty"):
        usual = 1.0 if name == "length_penalty" else None
        ours, theirs = (getattr(each, name, None) for each in (read.generation, network.generation_config))
        assert (usual if ours is None else ours) == (usual if theirs is None else theirs)
    assert network.model.encoder.layers[0].final_layer_norm.eps == 1e-5


@pytest.mark.parametrize("name", ["teacher", "student", "unsmoothed-2"])
def test_the_labs_models_are_read_as_transformers_reads_them(name):
    assert_same(LAB / name)


@pytest.mark.parametrize(
    ("config", "generation"),
    [
        ({"activation_function": "relu", "scale_embedding": False}, {"length_penalty": 0.6}),
        ({"tie_word_embeddings": None, "decoder_vocab_size": None}, {"length_penalty": 2}),
    ],
)
def test_settings_are_read_as_transformers_reads_them(config, generation, folder):
    change(folder, "config.json", **config)
    change(folder, "generation_config.json", **generation)
    assert_same(folder)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_widened(dtype, folder):
    path = folder / "model.safetensors"
    halved = {name: tensor.to(dtype) for name, tensor in load_file(path).items()}
    save_file(halved, path, metadata={"format": "pt"})
    assert_same(folder)


@pytest.mark.parametrize(
    "values",
    [
        {"quantization_config": {}},
        {"encoder_layers": 3},
        {"encoder_ffn_dim": 25},
        {"activation_function": "gelu"},
        {"share_encoder_decoder_embeddings": False},
        {"max_position_embeddings": 10**9},
        {"pad_token_id": None},
    ],
    ids=str,
)
def test_an_unusual_configuration_is_left_to_transformers(values, folder):
    change(folder, "config.json", **values)
    assert read_marian(ModelFolder(folder), device="cpu") is None


@pytest.mark.parametrize("how", ["more", "reshaped", "integers", "other format"])
def test_unusual_weights_are_left_to_transformers(how, folder):
    path = folder / "model.safetensors"
    tensors = load_file(path)
    name = "model.encoder.layers.0.fc1.bias"
    if how == "more":
        tensors["lm_head.weight"] = tensors["model.shared.weight"].clone()
    elif how == "reshaped":
        tensors[name] = tensors[name][None]
    elif how == "integers":
        tensors[name] = tensors[name].to(torch.int8)
    save_file(tensors, path, metadata={"format": "tf" if how == "other format" else "pt"})
    assert read_marian(ModelFolder(folder), device="cpu") is None


@pytest.mark.parametrize("name", ["lab", "tiny"])
def test_answers_are_the_same_either_way(name, folder, monkeypatch):
    pairs = [("two dogs run", "zwei Hunde"), ("two dogs", ""), (">>de<< two", "<unk> </s>")]
    spec = "lab:student" if name == "lab" else f"hf:{folder}?max_length=20"
    direct = open_system(spec)
    assert "network" not in vars(direct)
    assert ("tokenizer" not in vars(direct.tokens)) == (name == "lab")
    monkeypatch.setattr("babelscope.systems.models.hf.read_marian", lambda *_, **__: None)
    monkeypatch.setattr("babelscope.systems.models.tokenizers.read_marian_pieces", lambda _: None)
    asked: list[Any] = []
    monkeypatch.setattr(
        "babelscope.systems.models.hf.load_model",
        lambda *given, **options: asked.append(given) or load_model(*given, **options),
    )
    loaded = open_system(spec)
    assert asked
    assert direct.fingerprint == loaded.fingerprint
    assert direct.vocabulary == loaded.vocabulary
    assert direct.score(pairs) == loaded.score(pairs)
    sources = [source for source, _ in pairs]
    assert direct.translate(sources, beam=3) == loaded.translate(sources, beam=3)
    assert direct.sample(sources, n=3, seed=1) == loaded.sample(sources, n=3, seed=1)
    everything = range(direct.vocabulary.size)
    assert direct.tokens.tokens(everything) == loaded.tokens.tokens(everything)


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=30))
def test_tokenizers_agree(text):
    text = text.encode("utf-8", "ignore").decode().replace("\0", "")
    tokens = Tokens(LAB / "tokenizer")
    expected = load_tokenizer(TokenizerFolder(LAB / "tokenizer"))
    ids = tokens.encode_targets([text], eos=0)
    assert ids[0] == expected(text_target=text)["input_ids"]
    assert list(tokens.tokens(ids[0])) == expected.convert_ids_to_tokens(ids[0])
    assert tokens.decode(ids)[0] == expected.decode(ids[0], skip_special_tokens=True)


@pytest.mark.parametrize(
    "values",
    [
        {"additional_special_tokens": ["<a>"]},
        {"tokenizer_class": "T5Tokenizer"},
        {"separate_vocabs": True},
        {"eos_token": "<nowhere>"},
        {"added_tokens_decoder": {"7": {"content": "</s>"}}},
    ],
    ids=str,
)
def test_an_unusual_tokenizer_is_left_to_transformers(values, folder):
    shutil.copytree(LAB / "tokenizer", folder, dirs_exist_ok=True)
    assert read_marian_pieces(TokenizerFolder(folder)) is not None
    change(folder, "tokenizer_config.json", **values)
    assert read_marian_pieces(TokenizerFolder(folder)) is None


def test_a_system_sent_to_another_process_answers_the_same():
    system = open_system("lab:student")
    pairs = [("two dogs run", "zwei Hunde"), ("<unk> a", ">>de<< b")]
    arrived: HuggingFace = pickle.loads(pickle.dumps(system))
    assert "tokenizer" in vars(arrived.tokens)
    assert arrived.score(pairs) == system.score(pairs)
