"""GGUF files: the scores of the folder that they were made from, and files that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from babelscope import BabelscopeError, open_system
from tests.support.models import SOURCES, TARGETS, build_causal

gguf = pytest.importorskip("gguf")
pytest.importorskip("accelerate")
OPTIONS = "source=English&target=German&max_length=48"
NAMES = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Qwen 2, whose weights GGUF has as they are, with its tokenizer."""
    import transformers as t

    folder = build_causal(tmp_path_factory.mktemp("gguf") / "model")
    torch.manual_seed(5)
    config = t.Qwen2Config(
        vocab_size=400, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=256, bos_token_id=None, eos_token_id=0, pad_token_id=None,
        tie_word_embeddings=False,
    )  # fmt: skip
    t.Qwen2ForCausalLM(config).save_pretrained(folder)
    return folder


def write(folder: Path, path: Path) -> Path:
    """The GGUF file of such a folder, in float32."""
    from safetensors.torch import load_file

    config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_block_count(2)
    writer.add_context_length(256)
    writer.add_embedding_length(32)
    writer.add_feed_forward_length(64)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_vocab_size(400)
    tokens = [token for token, _ in sorted(tokenizer["vocab"].items(), key=lambda each: each[1])]
    tokens += [f"<spare {number}>" for number in range(400 - len(tokens))]
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token in ("</s>", "<|user|>", "<|assistant|>") else 1 for token in tokens])
    writer.add_token_merges([" ".join(merge) for merge in tokenizer["merges"]])
    writer.add_eos_token_id(0)
    for name, tensor in load_file(folder / "model.safetensors").items():
        short = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}
        found = short.get(name, "output.weight" if name == "lm_head.weight" else "")
        if not found:
            _, _, number, rest = name.split(".", 3)
            part, _, kind = rest.rpartition(".")
            found = f"blk.{number}.{NAMES[part]}.{kind}"
        writer.add_tensor(found, tensor.float().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_scores_are_those_of_the_folder(folder: Path, tmp_path: Path) -> None:
    path = write(folder, tmp_path / "tiny.gguf")
    pairs = list(zip(SOURCES, TARGETS, strict=True))
    right = open_system(f"llm:{folder}?{OPTIONS}").score(pairs)
    for name in (path, tmp_path):
        system = open_system(f"llm:{name}?{OPTIONS}")
        for ours, theirs in zip(system.score(pairs), right, strict=True):
            assert ours.tokens == theirs.tokens
            assert ours.logprobs == pytest.approx(theirs.logprobs, abs=1e-4)
    write(folder, tmp_path / "second.gguf")
    with pytest.raises(BabelscopeError, match="several GGUF files"):
        open_system(f"llm:{tmp_path}?{OPTIONS}")


@pytest.mark.parametrize(
    "data", [b"", b"GGUF", b"GGUF" + bytes([3, 0, 0, 0]) + b"\xff" * 16, b"GGML" + bytes(40)]
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "bad.gguf").write_bytes(data)
    with pytest.raises(BabelscopeError, match="is no GGUF file"):
        open_system(f"llm:{tmp_path / 'bad.gguf'}?{OPTIONS}")
