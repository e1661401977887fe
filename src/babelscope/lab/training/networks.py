"""Creates, saves and packs networks: Transformers of four families of transformers, and plain ones of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from babelscope.lab.training.decoder_only import FILES as PROMPT_FILES
from babelscope.lab.training.decoder_only import llama_states, new_llama
from babelscope.lab.training.plain import PlainNetwork, new_plain, save_plain
from babelscope.lab.training.shapes import Shape
from babelscope.lab.training.tokenizer import EOS, FILES, Pieces, copy_tokenizer
from babelscope.util.digests import digest_files
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream

POSITIONS = 512
"""Most tokens on either side."""

_NO_PAD = -1e9


def torch_seed(seed: int, name: str) -> int:
    """The seed of torch's generator for the purpose `name`."""
    return int(stream(seed, name).integers(2**63))


def new_network(shape: Shape, pieces: Pieces, *, dropout: float, seed: int) -> Any:
    """An untrained network, with weights as in fairseq: from transformers' own (std 0.02) it learns slowly.

    A Transformer is of the family of transformers that has its norm and positions.
    """
    target_size = pieces.size if shape.vocabularies == "joint" else pieces.target_side.size
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(seed, "lab/weights"))
        if shape.architecture == "llama":
            return new_llama(shape, pieces, dropout=dropout)
        if shape.architecture != "transformer":
            return new_plain(shape, (pieces.size, target_size), dropout=dropout, longest=POSITIONS)
        network = _new_transformer(shape, pieces, target_size, dropout)
        for module in network.modules():
            if isinstance(module, nn.Linear) and module is not network.lm_head:
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
        embeddings = {
            id(table): table for table in (network.get_input_embeddings(), _target_embedding(network))
        }
        for table in embeddings.values():
            nn.init.normal_(table.weight, std=shape.width**-0.5)
        if shape.positions == "learned":
            for side in (network.model.encoder, network.model.decoder):
                nn.init.normal_(side.embed_positions.weight, std=shape.width**-0.5)
    with torch.no_grad():
        for table in embeddings.values():
            table.weight[pieces.pad] = 0
        network.final_logits_bias[0, pieces.pad] = _NO_PAD
    return network


# The families of transformers by norm and positions; all have the weights of a BART under the same names.
_FAMILIES = {
    ("post", "sinusoidal"): "Marian",
    ("post", "learned"): "Bart",
    ("pre", "sinusoidal"): "Pegasus",
    ("pre", "learned"): "MBart",
}


def _new_transformer(shape: Shape, pieces: Pieces, target_size: int, dropout: float) -> Any:
    import transformers

    family = _FAMILIES[shape.norm, shape.positions]
    joint = shape.vocabularies == "joint"
    own: dict[str, Any] = {}
    if family == "Marian":
        own = {"decoder_vocab_size": target_size, "share_encoder_decoder_embeddings": joint}
    config = getattr(transformers, f"{family}Config")(
        vocab_size=pieces.size,
        d_model=shape.width,
        encoder_ffn_dim=shape.encoder_ffn,
        decoder_ffn_dim=shape.decoder_ffn,
        encoder_layers=shape.encoder_layers,
        decoder_layers=shape.decoder_layers,
        encoder_attention_heads=shape.heads,
        decoder_attention_heads=shape.heads,
        activation_function=shape.activation,
        dropout=dropout,
        attention_dropout=0.0,
        activation_dropout=0.0,
        max_position_embeddings=POSITIONS,
        scale_embedding=True,
        tie_word_embeddings=True,
        eos_token_id=EOS,
        pad_token_id=pieces.pad,
        bos_token_id=None,
        decoder_start_token_id=pieces.pad,
        forced_eos_token_id=None,
        **own,
    )
    kind = "MTModel" if family == "Marian" else "ForConditionalGeneration"
    return getattr(transformers, family + kind)(config)


def _target_embedding(network: Any) -> Any:
    if isinstance(network, PlainNetwork):
        return network.target
    return (
        network.model.decoder.embed_tokens
        if hasattr(network.model, "decoder")
        else network.model.embed_tokens
    )


def output_weight(network: Any) -> Tensor:
    """The output layer [vocabulary, width], which is the target embedding."""
    weight: Tensor = _target_embedding(network).weight
    return weight


def hidden_states(network: Any, source: Tensor, real: Tensor, shifted: Tensor) -> Tensor:
    """Decoder states [rows, time, width] of whole targets, for sources [rows, length] of which some ids are real."""
    if isinstance(network, PlainNetwork):
        found = network(source, real, shifted)
    elif network.config.model_type == "llama":
        found = llama_states(network, source, real, shifted)
    else:
        mask = None if bool(real.all()) else real.long()
        asked = {"input_ids": source, "attention_mask": mask, "decoder_input_ids": shifted}
        found = network.model(**asked, use_cache=False).last_hidden_state
    states: Tensor = found
    return states


def network_weights(network: Any, *, half: bool) -> dict[str, Tensor]:
    """The tensors to save, each once: tied embeddings under one name, of a Marian without positions."""
    weights = {}
    seen = set()
    # Other families' files must have their positions, even those that are computed.
    marian = not isinstance(network, PlainNetwork) and network.config.model_type == "marian"
    for name, tensor in network.state_dict().items():
        if (marian and "embed_positions" in name) or tensor.data_ptr() in seen:
            continue
        seen.add(tensor.data_ptr())
        # The bias of pad is outside the range of float16, so it stays float32.
        narrow = half and name != "final_logits_bias"
        weights[name] = (tensor.to(torch.float16) if narrow else tensor).cpu().contiguous()
    return weights


def save_network(network: Any, folder: Path, *, half: bool) -> None:
    """Write what AutoModelForSeq2SeqLM opens, or for a plain network what `lab:FOLDER` does.

    With `half` the weights take two bytes each; config.json still says float32, so that whoever loads them
    computes in float32 (transformers would otherwise follow the file into float16).
    """
    from safetensors.torch import save
    from transformers import GenerationConfig

    weights = network_weights(network, half=half)
    if isinstance(network, PlainNetwork):
        save_plain(network, weights, folder)
        return
    (folder / "model.safetensors").write_bytes(save(weights, metadata={"format": "pt"}))
    config = network.config
    config.dtype = "float32"
    config.architectures = [type(network).__name__]
    config.save_pretrained(folder)
    GenerationConfig(
        eos_token_id=config.eos_token_id,
        pad_token_id=config.pad_token_id,
        **({"decoder_start_token_id": config.decoder_start_token_id} if config.is_encoder_decoder else {}),
        forced_eos_token_id=None,
        num_beams=5,
        max_length=POSITIONS,
    ).save_pretrained(folder)


def pack_models(folders: dict[str, Path], out: Path) -> None:
    """Copy models that share one tokenizer to `out/NAME`, and the tokenizer once to `out/tokenizer`.

    Decoder-only ones have the same vocabulary in files of their own, beside their weights.
    """
    import shutil

    prompted = {name for name, folder in folders.items() if (folder / PROMPT_FILES[0]).exists()}
    tokenizers = {
        name: digest_files([folder / file for file in FILES])
        for name, folder in folders.items()
        if name not in prompted
    }
    if len(set(tokenizers.values())) > 1:
        raise BabelscopeError(f"these models do not share one tokenizer: {', '.join(folders)}")
    (out / "tokenizer").mkdir(parents=True, exist_ok=True)
    copy_tokenizer(folders[next(iter(tokenizers))], out / "tokenizer")
    for name, folder in folders.items():
        (out / name).mkdir(exist_ok=True)
        own = PROMPT_FILES if name in prompted else ()
        for file in ("config.json", "generation_config.json", "model.safetensors", "card.json", *own):
            shutil.copy(folder / file, out / name)
