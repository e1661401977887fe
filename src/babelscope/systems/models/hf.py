"""`hf:` encoder-decoder checkpoints of transformers, from a hub name or a local folder."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from babelscope.core.registry import Options
from babelscope.core.system import Asked, Fingerprint, Note, Target, sources_of
from babelscope.decoding.families.encoder_decoder import EncoderDecoder
from babelscope.decoding.model import OpenModel, Vocabulary
from babelscope.systems.models.base import LocalModel, SourceIds
from babelscope.systems.models.checkpoints import (
    check_ids,
    fetch,
    fingerprint,
    load_model,
    position_limit,
    read_length_penalty,
    stated_penalty,
    token_id,
    usual_device,
)
from babelscope.systems.models.folders import ModelFolder
from babelscope.systems.models.marian import MarianFolder, read_marian
from babelscope.systems.models.tokenizers import Tokens
from babelscope.util.errors import BabelscopeError, RefusedText, Side
from babelscope.util.text import check_texts, shorten

# Decoder tokens in one batch: enough to fill a processor's vector units, few enough to stay in its cache.
_BUDGET = {"cpu": 1024, "cuda": 16384, "mps": 8192}
# A translation this long has run away, where the model's own limit is further or absent (T5).
_LONGEST = 512


class HuggingFace(LocalModel):
    """An encoder-decoder model that translates, samples, searches, scores and gives next-token distributions."""

    def __init__(
        self,
        name: str,
        folder: Path,
        *,
        source: str = "",
        target: str = "",
        prefix: str = "",
        device: str = "auto",
        dtype: str = "float32",
        budget: int = 0,
        max_length: int = 0,
        length_penalty: float | None = None,
        truncate: bool = False,
        remote_code: bool = False,
        lean: bool = True,
        tokenizer: Path | None = None,
    ) -> None:
        self.name = name
        self.folder = folder
        model = ModelFolder(folder, remote_code=remote_code)
        self.files = model.files
        self.tokens = Tokens(
            tokenizer or folder,
            source=source,
            target=target,
            remote_code=remote_code,
            beside_model=tokenizer is None,
        )
        self._load_network = functools.partial(
            load_model, "AutoModelForSeq2SeqLM", model, device=device, dtype=dtype, remote_code=remote_code
        )
        marian = None
        if lean and dtype == "float32" and not remote_code:
            marian = read_marian(model, device=usual_device(device))
        if marian:
            self.config, self.generation = marian.config, marian.generation
            embeddings = outputs = marian.weights.tensors["model.shared.weight"]
        else:
            network = self.network
            self.config, self.generation = network.config, network.generation_config
            embeddings = network.get_input_embeddings().weight
            outputs = network.get_output_embeddings().weight
        self._source_size = len(embeddings)
        self.prefix = prefix.replace("{source}", source).replace("{target}", target)
        if (source or target) and self.tokens.target_language_id is None and self.prefix == prefix:
            raise BabelscopeError(f"{name}: this model has no language tokens; leave source= and target= out")
        self.truncate = truncate
        self._settings = {"source": source, "target": target, "prefix": self.prefix, "truncate": truncate}
        # Batches can change the last bits of scores: a run must not be resumed with other ones.
        self._settings |= {"budget": budget} if budget else {}
        self._settings |= {} if lean else {"forward": "transformers"}
        self._dtype = dtype
        self._budget = budget or _BUDGET.get(embeddings.device.type, 1024)
        self.vocabulary = self._vocabulary(len(outputs), max_length)
        self._settings["max_length"] = self.vocabulary.target_limit
        self.length_penalty = self._penalty(length_penalty)
        self.model = self._open_model(marian, lean)

    @functools.cached_property
    def network(self) -> Any:
        """The network of transformers, loaded again where the lean pass works without it."""
        return self._load_network()

    def _vocabulary(self, size: int, max_length: int) -> Vocabulary:
        config, generation = self.config, self.generation

        def stated(name: str, *places: Any) -> int | None:
            found = (token_id(getattr(place, name, None), size, name, self.folder) for place in places)
            return next((number for number in found if number is not None), None)

        start = stated("decoder_start_token_id", config, generation)
        eos = stated("eos_token_id", config, generation)
        if start is None or eos is None:
            raise BabelscopeError(
                f"{self.name}: config.json has no decoder_start_token_id or no eos_token_id"
            )
        forced = self.tokens.target_language_id
        if forced is None:
            forced = stated("forced_bos_token_id", generation)
        prefix = (start,) if forced is None else (start, forced)
        positions = position_limit(config, self.folder)
        limit = None if positions is None else positions - len(prefix) + 1
        pad = config.pad_token_id
        if pad is not None and not (isinstance(pad, int) and pad >= size):
            pad = stated("pad_token_id", config)
        return Vocabulary(
            size=size,
            prefix=prefix,
            eos=eos,
            masked=() if pad is None or pad == eos or pad >= size else (pad,),
            source_limit=positions,
            target_limit=min(filter(None, (limit, max_length or None)), default=None),
        )

    def _penalty(self, given: float | None) -> float:
        """The length penalty, added to the settings unless it is the checkpoint's own."""
        own, penalty = (stated_penalty(each, self.generation, self.folder) for each in (None, given))
        if penalty != own:  # the checkpoint's own is in the digest of its files
            self._settings["length_penalty"] = penalty
        return penalty

    def _open_model(self, marian: MarianFolder | None, lean: bool) -> OpenModel:
        if marian:
            return EncoderDecoder(marian.weights, self.vocabulary)
        from babelscope.decoding.generic import Generic, open_transformer

        model = (open_transformer if lean else Generic)(self.network, self.vocabulary)
        if isinstance(model, EncoderDecoder):
            # It has joined matrices of its own; those that they were made of need not stay in memory.
            del self.network
        return model

    @property
    def fingerprint(self) -> Fingerprint:
        self.check_files()
        return fingerprint(self.files, self.tokens, dtype=self._dtype, settings=self._settings)

    def _longest(self, asked: int = 0) -> int:
        """The most tokens that a generated translation may have."""
        return min(filter(None, (asked, self.vocabulary.target_limit, _LONGEST)))

    def _texts(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return self.tokens.decode(rows)

    def _text_ids(self, texts: Sequence[str]) -> list[list[int]]:
        return self.tokens.encode_targets(texts, eos=self.vocabulary.eos)

    def _source_ids(self, asked: Sequence[Asked]) -> SourceIds:
        sources = sources_of(asked)
        check_texts(sources, what="source")
        distinct = list(dict.fromkeys(sources))
        rows = self.tokens.encode_sources([self.prefix + source for source in distinct])
        check_ids(rows, self._source_size, self.name)
        encoded = dict(zip(distinct, rows, strict=True))
        return self._cut(
            [encoded[source] for source in sources], sources, self.vocabulary.source_limit, "source"
        )

    def _limited(self, rows: list[list[int]], targets: Sequence[Target]) -> SourceIds:
        texts = [target if isinstance(target, str) else target.text for target in targets]
        return self._cut(rows, texts, self.vocabulary.target_limit, "target")

    def _cut(self, rows: list[list[int]], texts: Sequence[str], limit: int | None, what: Side) -> SourceIds:
        """Refuse rows over `limit`, or cut them, keeping the end of sentence, where that was asked for."""
        kept: list[tuple[int, ...]] = []
        notes: list[tuple[Note, ...]] = []
        for number, (row, text) in enumerate(zip(rows, texts, strict=True), 1):
            if limit is None or len(row) <= limit:
                kept.append(tuple(row))
                notes.append(())
                continue
            if not self.truncate:
                reason = f"has {len(row)} tokens, but {self.name} takes {limit}: {shorten(text)}"
                raise RefusedText(what, number, f"{reason}; shorten it, or allow cutting with ?truncate=yes")
            kept.append((*row[: limit - 1], row[-1]))
            notes.append(("truncated",))
        return kept, notes


def read_options(options: Options) -> dict[str, Any]:
    """The options that every `hf:` model takes, as arguments of HuggingFace."""
    return {
        "source": options.text("source"),
        "target": options.text("target"),
        "prefix": options.text("prefix"),
        "device": options.text("device", "auto"),
        "dtype": options.choice("dtype", ("float32", "float16", "bfloat16", "float64"), "float32"),
        "budget": options.integer("budget", 0, least=0),
        "max_length": options.integer("max_length", 0, least=0),
        "length_penalty": read_length_penalty(options),
        "truncate": options.flag("truncate"),
        "lean": options.choice("forward", ("lean", "transformers"), "lean") == "lean",
    }


def open_huggingface(rest: str, options: Options) -> HuggingFace:
    arguments, remote_code = read_options(options), options.flag("remote_code")
    revision = options.text("revision")
    options.refuse_unused()
    folder = fetch(rest, revision=revision, remote_code=remote_code)
    return HuggingFace(options.spec, folder, remote_code=remote_code, **arguments)
