"""Decoder-only translators: the Llama of transformers, trained on plain prompts of `llm:`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from babelscope.lab.training.checkpoints import write_json
from babelscope.lab.training.settings import Shape
from babelscope.lab.training.text import UNKNOWN, Pieces
from babelscope.systems.models.llm import PLAIN
from babelscope.systems.prompting.prompts import find_prompt
from babelscope.util.errors import BabelscopeError

FILES = ("tokenizer.json", "tokenizer_config.json")
END = "\n"
"""Ends a translation, as it ends a line of the prompt; the only piece that sentencepiece does not know."""
POSITIONS = 1024
"""Most tokens of a prompt and its translation."""


class Prompts:
    """The prompts that a model learns; each source is asked by one of them, always the same one."""

    def __init__(self, languages: str, said: str = "") -> None:
        """`said` has names of shipped prompts and TOML files, with commas between them; none: that of `llm:`."""
        source, _, target = languages.partition("-")
        if not (source and target):
            raise BabelscopeError(
                "a prompt names both languages; say them as in --set languages=English-German"
            )
        self.named = [find_prompt(each) for each in said.split(",")] if said else [PLAIN]
        if chat := next((each.name for each in self.named if each.kind == "chat"), None):
            raise BabelscopeError(
                f"prompts={said}: {chat} is for a chat, and a model trained here has no chat template; "
                "say a prompt of the kind plain or auto"
            )
        if len({each.digest for each in self.named}) < len(self.named):
            raise BabelscopeError(
                f"prompts={said} names a prompt twice; each is asked equally often, so say it once"
            )
        filled = {"source": source, "target": target}
        self._filled = [each.filled(filled, "lab train") for each in self.named]

    def text(self, source: str) -> str:
        """A source in its prompt, which a digest of the source chooses: the same for every seed, epoch and file."""
        number = int.from_bytes(hashlib.sha256(source.encode()).digest()[:8], "big")
        return self._filled[number % len(self._filled)].text(source)

    def as_json(self) -> list[dict[str, Any]]:
        """What a model's card says of them."""
        return [{"name": each.name, **each.as_json()} for each in self.named]


class PromptPieces(Pieces):
    """A vocabulary whose sources are prompts, and whose targets follow them up to the end of the line.

    `pad` is an id that the network does not have: it only fills rows.
    """

    def __init__(self, proto: bytes, prompts: Prompts) -> None:
        super().__init__(proto)
        self._prompts = prompts
        self.end = self.pad
        self.pad = self.size
        self._tokenizer = _tokenizer(self._processor)

    @property
    def target_side(self) -> Pieces:
        return _Answers(self)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of the prompt for each source."""
        return self.ids([self._prompts.text(text) for text in texts])

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        rows = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [row.ids for row in rows]

    def save(self, folder: Path) -> None:
        """Write what AutoTokenizer reads; sources and targets are of one vocabulary."""
        write_json(folder / FILES[0], json.loads(self._tokenizer.to_str()))
        told = {"eos_token": END, "unk_token": "<unk>", "model_max_length": POSITIONS}
        write_json(folder / FILES[1], {"tokenizer_class": "PreTrainedTokenizerFast", **told})


class _Answers(Pieces):
    """Targets as they follow a prompt: after a space, and with the end of the line."""

    def __init__(self, prompts: PromptPieces) -> None:
        self._prompts = prompts
        self.pad, self.size = prompts.pad, prompts.size

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [[*row, self._prompts.end] for row in self._prompts.ids([f" {text}" for text in texts])]


def _tokenizer(processor: Any) -> Any:
    """A sentencepiece model as a fast tokenizer: the same pieces with the same ids, then the end of a line."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    pieces = range(processor.get_piece_size())
    scored = [(processor.id_to_piece(number), processor.get_score(number)) for number in pieces]
    tokenizer = Tokenizer(models.Unigram(scored, unk_id=UNKNOWN))
    # What sentencepiece does to a text by default, but for a few rare characters.
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens([AddedToken(END, normalized=False)])
    return tokenizer


def new_llama(shape: Shape, pieces: Pieces, *, dropout: float) -> Any:
    """An untrained LlamaForCausalLM; of the shape it has the decoder's layers."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=pieces.size,
        hidden_size=shape.width,
        intermediate_size=shape.decoder_ffn,
        num_hidden_layers=shape.decoder_layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        hidden_act="silu" if shape.activation == "swish" else shape.activation,
        max_position_embeddings=POSITIONS,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=pieces.size - 1,
        pad_token_id=None,
    )
    network = LlamaForCausalLM(config)
    for name, weight in network.named_parameters():
        if name == "model.embed_tokens.weight":
            nn.init.normal_(weight, std=shape.width**-0.5)
        elif weight.ndim == 2:
            nn.init.xavier_uniform_(weight)
    if dropout:
        _add_dropout(network, dropout)
    return network


def _add_dropout(network: Any, rate: float) -> None:
    """Dropout of embeddings and of what each sublayer adds, which Llama has not; no checkpoint shows a hook."""

    def drop(module: nn.Module, _: Any, output: Tensor) -> Tensor:
        return F.dropout(output, rate, module.training)

    network.model.embed_tokens.register_forward_hook(drop)
    for layer in network.model.layers:
        layer.self_attn.o_proj.register_forward_hook(drop)
        layer.mlp.down_proj.register_forward_hook(drop)


def llama_states(network: Any, source: Tensor, real: Tensor, shifted: Tensor) -> Tensor:
    """States [rows, time, width] after which each target token comes: of a prompt's last token, then of the target's.

    Rows are padded at their ends, where causal attention sees nothing of it.
    """
    lengths = real.sum(1, keepdim=True)
    vocabulary = network.config.vocab_size
    fed = shifted[:, 1:]
    ids = source.new_zeros((len(source), source.shape[1] + fed.shape[1]))
    steps = torch.arange(shifted.shape[1], device=source.device)
    ids.scatter_(1, lengths + steps[:-1], torch.where(fed < vocabulary, fed, 0))
    ids[:, : source.shape[1]] = torch.where(real, source, ids[:, : source.shape[1]])
    states: Tensor = network.model(input_ids=ids, use_cache=False).last_hidden_state
    places = (lengths - 1 + steps)[..., None].expand(-1, -1, states.shape[-1])
    return states.gather(1, places)
