"""Tiny random-weight checkpoints of every family, built on the spot; real folders, loaded by the real code."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import sentencepiece
import torch

SOURCES = (
    "the old man reads a long letter",
    "a woman who sings opens the door",
    "two dogs run",
    "the small child does not see the red ball under the table",
    "she asked him to wait",
)
TARGETS = (
    "der alte Mann liest einen langen Brief",
    "eine Frau, die singt, öffnet die Tür",
    "zwei Hunde laufen",
    "das kleine Kind sieht den roten Ball unter dem Tisch nicht",
    "sie bat ihn zu warten",
)
CHAT = (
    "{% for message in messages %}<|user|>{{ message['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
FAMILIES = ("marian", "fsmt", "m2m100", "nllb", "mbart50", "t5", "mt5")
OPTIONS = {
    "m2m100": "source=en&target=de",
    "nllb": "source=eng_Latn&target=deu_Latn",
    "mbart50": "source=en_XX&target=de_DE",
    "t5": "prefix=translate English to German: ",
    "mt5": "prefix=<2de> ",
}


def spec(family: str, folder: Path, **more: object) -> str:
    """The name by which a family's folder is opened, with the options that it needs."""
    options = [OPTIONS[family]] if family in OPTIONS else []
    options += [f"{name}={value}" for name, value in {"max_length": 48, **more}.items()]
    return f"hf:{folder}?{'&'.join(options)}"


def build(family: str, folder: Path, *, seed: int = 1, masked_pad: bool = False) -> Path:
    """A tiny model of `family` with random weights, large enough that its distributions are far from uniform."""
    folder.mkdir(parents=True, exist_ok=True)
    config, tokenizer_size = _tokenizer(family, folder)
    torch.manual_seed(seed)
    model = _network(family, tokenizer_size, config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad and parameter.dim() > 1 and "position" not in name:
                parameter.normal_(0, 0.35)
        if family == "marian":
            pad = model.config.pad_token_id
            model.get_input_embeddings().weight[pad] = 0
            # As in OPUS-MT, pad's logit is 0 unless the checkpoint masks it itself.
            model.final_logits_bias[0, pad] = -1e9 if masked_pad else 0.0
    model.save_pretrained(folder)
    return folder


def _network(family: str, size: int, config: dict[str, int]) -> Any:
    """A network of transformers, whose own types mypy does not follow."""
    import transformers as t

    shape = {
        "d_model": 16,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 24,
        "decoder_ffn_dim": 24,
        "max_position_embeddings": 64,
        "dropout": 0.0,
    }
    if family == "marian":
        pad = size - 1
        return t.MarianMTModel(
            t.MarianConfig(
                vocab_size=size, decoder_vocab_size=size, **shape, pad_token_id=pad, eos_token_id=0,
                decoder_start_token_id=pad, forced_eos_token_id=None, scale_embedding=True,
                share_encoder_decoder_embeddings=True, activation_function="swish",
            )
        )  # fmt: skip
    if family == "fsmt":
        return t.FSMTForConditionalGeneration(
            t.FSMTConfig(
                langs=["en", "de"], src_vocab_size=config["src"], tgt_vocab_size=config["tgt"], **shape,
                bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2,
                forced_eos_token_id=None, tie_word_embeddings=False,
            )
        )  # fmt: skip
    if family in ("m2m100", "nllb"):
        return t.M2M100ForConditionalGeneration(
            t.M2M100Config(
                vocab_size=size, **shape, bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2,
                encoder_layerdrop=0.0, decoder_layerdrop=0.0,
            )
        )  # fmt: skip
    if family == "mbart50":
        return t.MBartForConditionalGeneration(
            t.MBartConfig(
                vocab_size=size, **shape, bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2,
                forced_eos_token_id=None,
            )
        )  # fmt: skip
    kind, configuration = (
        (t.T5ForConditionalGeneration, t.T5Config)
        if family == "t5"
        else (t.MT5ForConditionalGeneration, t.MT5Config)
    )
    return kind(
        configuration(
            vocab_size=size, d_model=16, d_kv=8, d_ff=24, num_layers=2, num_heads=2, pad_token_id=0,
            eos_token_id=1, decoder_start_token_id=0, dropout_rate=0.0, tie_word_embeddings=family == "t5",
            feed_forward_proj="relu" if family == "t5" else "gated-gelu",
        )
    )  # fmt: skip


def train_sentencepiece(folder: Path, name: str, *, kind: str = "unigram", **ids: int) -> Path:
    corpus = folder / "corpus.txt"
    lines = [*SOURCES, *TARGETS, "translate English to German: <2de>"] * 30
    random.Random(1).shuffle(lines)
    corpus.write_text("\n".join(lines), encoding="utf-8")
    numbers: dict[str, Any] = {f"{key}_id": value for key, value in ids.items()}
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus), model_prefix=str(folder / name), vocab_size=90, model_type=kind,
        hard_vocab_limit=False, minloglevel=2, **numbers,
    )  # fmt: skip
    corpus.unlink()
    (folder / f"{name}.vocab").unlink()
    return folder / f"{name}.model"


def _pieces(model: Path) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    return [processor.id_to_piece(i) for i in range(processor.get_piece_size())]


def _tokenizer(family: str, folder: Path) -> tuple[dict[str, int], int]:
    import transformers as t

    if family == "marian":
        model = train_sentencepiece(folder, "joint", bos=-1, eos=0, unk=1, pad=-1)
        pieces = [*_pieces(model), "<pad>"]
        (folder / "vocab.json").write_text(json.dumps({p: i for i, p in enumerate(pieces)}), encoding="utf-8")
        for side in ("source", "target"):
            (folder / f"{side}.spm").write_bytes(model.read_bytes())
        model.unlink()
        _write(folder, tokenizer_class="MarianTokenizer", source_lang="en", target_lang="de")
        return {}, len(pieces)
    if family == "fsmt":
        sizes = {}
        for side, lines in (("src", SOURCES), ("tgt", TARGETS)):
            letters = sorted(set("".join(lines)) - {" "})
            last = [f"{letter}</w>" for letter in letters]
            names = ["<s>", "<pad>", "</s>", "<unk>", *letters, *last, "th", "de"]
            # Target ids are in another order, so that a mix-up of the two vocabularies shows.
            names = names if side == "src" else [*names[:4], *reversed(names[4:])]
            (folder / f"vocab-{side}.json").write_text(
                json.dumps({name: i for i, name in enumerate(names)}), encoding="utf-8"
            )
            sizes[side] = len(names)
        (folder / "merges.txt").write_text("t h 9\nd e 8\n", encoding="utf-8")
        _write(folder, tokenizer_class="FSMTTokenizer", langs=["en", "de"])
        return sizes, sizes["tgt"]
    if family == "m2m100":
        model = train_sentencepiece(folder, "sentencepiece.bpe", bos=0, pad=1, eos=2, unk=3)
        vocabulary = {piece: i for i, piece in enumerate(_pieces(model))}
        (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
        tokenizer = t.M2M100Tokenizer(str(folder / "vocab.json"), str(model))
        tokenizer.save_pretrained(folder)
        return {}, max(tokenizer.lang_code_to_id.values()) + 9
    if family in ("nllb", "mbart50"):
        kind = "bpe" if family == "nllb" else "unigram"
        train_sentencepiece(folder, "sentencepiece.bpe", kind=kind, bos=1, eos=2, unk=0, pad=-1)
        name = "NllbTokenizer" if family == "nllb" else "MBart50Tokenizer"
        _write(folder, tokenizer_class=name)
        codes = {"extra_special_tokens": ["eng_Latn", "deu_Latn", "fra_Latn"]} if family == "nllb" else {}
        tokenizer = getattr(t, name).from_pretrained(folder, **codes)
        tokenizer.save_pretrained(folder)
        return {}, len(tokenizer)
    train_sentencepiece(folder, "spiece", bos=-1, pad=0, eos=1, unk=2)
    _write(folder, tokenizer_class="T5Tokenizer", extra_ids=4)
    tokenizer = t.T5Tokenizer.from_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return {}, len(tokenizer)


def _write(folder: Path, **config: object) -> None:
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")


def toy_network(family: str, seed: int) -> tuple[Any, int, int, int]:
    """A network with a vocabulary of 5 and random weights, with its start, end and padding ids."""
    torch.manual_seed(seed)
    network = _network(family, 5, {"src": 5, "tgt": 5}).eval()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if parameter.requires_grad and parameter.dim() > 1 and "position" not in name:
                parameter.normal_(0, 0.5)
    config = network.config
    return network, config.decoder_start_token_id, config.eos_token_id, config.pad_token_id


def build_causal(folder: Path, *, chat: bool = False, kind: str = "llama") -> Path:
    """A tiny causal model with a byte-level tokenizer of its own."""
    import transformers as t
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["</s>", "<|user|>", "<|assistant|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator([*SOURCES, *TARGETS, "English: German:\n"] * 20, trainer)
    fast = t.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>")
    if chat:
        fast.chat_template = CHAT
    fast.save_pretrained(folder)
    torch.manual_seed(3)
    size = {"vocab_size": len(fast), "bos_token_id": None, "eos_token_id": 0, "pad_token_id": None}
    if kind == "llama":
        config = t.LlamaConfig(
            hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
            max_position_embeddings=256, **size,
        )  # fmt: skip
        model = t.LlamaForCausalLM(config)
    else:
        model = t.GPT2LMHeadModel(t.GPT2Config(n_embd=16, n_layer=2, n_head=2, n_positions=256, **size))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.3)
    model.save_pretrained(folder)
    return folder
