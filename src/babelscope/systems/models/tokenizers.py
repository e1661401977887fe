"""Text to token ids and back, the same for every backend that needs a Hugging Face tokenizer."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from babelscope.core.system import Scored
from babelscope.systems.models.folders import TokenizerFolder, one_line
from babelscope.systems.models.gguf import GgufFile, find_gguf
from babelscope.systems.models.marian import MarianPieces, pieces_of, read_marian_pieces
from babelscope.util.digests import SealedFiles
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import shorten

_VIEW = re.compile(r"[^\s'\"]*/babelscope-\w+/model\b")
_UNNAMED = re.compile(r"<id ([0-9]{1,9})>")
_LANGUAGE_CODE = re.compile("[a-z]{3}_[A-Z][a-z]{3}")


class Tokens:
    """A tokenizer with a source and a target side; ids come with the end-of-sentence token the model expects."""

    def __init__(
        self,
        folder: str | Path,
        *,
        source: str = "",
        target: str = "",
        remote_code: bool = False,
        beside_model: bool = False,
    ) -> None:
        """`beside_model`: the folder is that of the model itself, whose digest covers config.json."""
        self.folder = Path(folder)
        gguf = find_gguf(str(folder))
        self._loaded_from = files = gguf or TokenizerFolder(self.folder, remote_code=remote_code)
        self._remote_code = remote_code
        self.files = files.files
        self._digested = files.names if beside_model else set(self.files.paths)
        self.target_language_id: int | None = None
        self._marian = None if remote_code or isinstance(files, GgufFile) else read_marian_pieces(files)
        if self._marian is None:
            self._set_languages(source, target)
            if type(self.tokenizer).__name__ == "MarianTokenizer":
                self._marian = pieces_of(self.tokenizer)

    @functools.cached_property
    def tokenizer(self) -> Any:
        """The tokenizer of transformers; a plain Marian one is loaded only for texts with special tokens."""
        return load_tokenizer(self._loaded_from, remote_code=self._remote_code)

    @property
    def end(self) -> tuple[str, int]:
        """Name and id of the token that ends a text."""
        return str(self.tokenizer.eos_token), int(self.tokenizer.eos_token_id)

    @functools.cached_property
    def vocabulary(self) -> Mapping[str, int]:
        """Ids of tokens by name; of a plain Marian tokenizer without transformers."""
        if self._marian and self._marian.names:
            return self._marian.target_ids
        found: Mapping[str, int] = self.tokenizer.get_vocab()
        return found

    @functools.cached_property
    def _target_side(self) -> Any:
        # FSMT reads text as source language whatever it is asked, so its target side is the same files swapped.
        swapped = type(self.tokenizer).__name__ == "FSMTTokenizer"
        return _swap_fsmt(self.tokenizer) if swapped else self.tokenizer

    def _set_languages(self, source: str, target: str) -> None:
        """Set the languages of tokenizers that mark them by tokens (NLLB, M2M100, mBART50)."""
        tokenizer = self.tokenizer
        if isinstance(by_code := getattr(tokenizer, "lang_code_to_id", None), dict):
            known = {str(code): int(number) for code, number in by_code.items()}  # M2M100, mBART50
        elif hasattr(tokenizer, "set_tgt_lang_special_tokens"):
            added = tokenizer.get_added_vocab()
            known = {code: number for code, number in added.items() if _LANGUAGE_CODE.fullmatch(code)}  # NLLB
        else:
            return
        for option, value in (("source", source), ("target", target)):
            if value not in known:
                problem = f"{option}={value} is not one of them" if value else f"set ?{option}=..."
                raise BabelscopeError(
                    f"{self.folder}: this model needs a source and a target language; {problem}: "
                    f"{', '.join(sorted(known)[:12])}{', ...' if len(known) > 12 else ''}"
                )
        tokenizer.src_lang, tokenizer.tgt_lang = source, target
        self.target_language_id = known[target]

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the files the tokenizer is made of."""
        return self.files.digest(self._digested)

    def encode_sources(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of source texts, ready for the encoder."""
        with library_errors(f"{self.folder}: its tokenizer fails"):
            if self._marian:
                return self._encode_marian(self._marian, texts, target=False)
            return self.tokenizer(list(texts))["input_ids"] if texts else []

    def encode_targets(self, texts: Sequence[str], *, eos: int) -> list[list[int]]:
        """Ids of target texts, without language tokens, ending in `eos`."""
        with library_errors(f"{self.folder}: its tokenizer fails"):
            if self._marian:
                return self._encode_marian(self._marian, texts, target=True)
            if not texts:
                return []
            rows = self._target_side(text_target=list(texts), add_special_tokens=False)["input_ids"]
            return [[*row, eos] for row in rows]

    def _encode_marian(self, marian: MarianPieces, texts: Sequence[str], *, target: bool) -> list[list[int]]:
        """Raw sentencepiece, many times faster than MarianTokenizer, which is asked where the ids could differ."""
        pieces = (marian.spm_target if target else marian.spm_source).encode(list(texts), out_type=str)
        vocabulary = marian.target_ids if target else marian.source_ids
        unknown = vocabulary[marian.unknown]
        rows = [[vocabulary.get(piece, unknown) for piece in row] + [marian.eos] for row in pieces]
        for number, text in enumerate(texts):
            if text.startswith(">>") or any(token in text for token in marian.special):
                key = "text_target" if target else "text"
                rows[number] = self.tokenizer(**{key: text})["input_ids"]
        return rows

    def source_tokens(self, ids: Sequence[int]) -> list[str]:
        """The tokens of source ids."""
        if self._marian and not self._marian.joint:
            names = {number: piece for piece, number in self._marian.source_ids.items()}
            return [names[number] for number in ids]
        if not self._marian and self._target_side is not self.tokenizer:
            return [str(name) for name in self._target_side.convert_ids_to_tokens(list(ids))]
        return [self._names[number] for number in ids]

    def tokens(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The vocabulary's names of target ids, `<id N>` where it has none; `ids_of` is the way back."""
        return tuple(map(self._names.__getitem__, ids))

    def has_unnamed(self, ids: Sequence[int]) -> bool:
        """Whether an id has no name: a network may have more output rows than the vocabulary has tokens."""
        self.tokens(ids)
        return not self._names.unnamed.isdisjoint(ids)

    @property
    def special_ids(self) -> Collection[int]:
        """Ids of tokens that are no part of a text."""
        if self._marian:
            return self._marian.special_ids
        found: Collection[int] = self.tokenizer.all_special_ids
        return found

    def surfaces(self, size: int) -> dict[int, bytes]:
        """What tokens below `size` stand for: one after the other, they are a text as the vocabulary writes it.

        Special tokens stand for bytes that are in no text.
        """
        names = self.tokens(range(size))
        marked = [sum(has(name) for name in names) for has in (_is_joined_left, _is_joined_right)]
        if max(marked) > len(names) / 20:
            raise BabelscopeError(
                f"{self.folder}: its tokens mark cuts by ## or @@; segmentations into them are not summed"
            )
        as_bytes = {f"<0x{byte:02X}>": bytes([byte]) for byte in range(256)}
        as_bytes = as_bytes if as_bytes.keys() <= set(names) else {}
        special = self.special_ids
        found = {}
        for number, name in enumerate(names):
            whole = number in special or number in self._names.unnamed
            found[number] = b"\xff%d;" % number if whole else as_bytes.get(name, name.encode())
        return found

    @functools.cached_property
    def _names(self) -> _Names:
        if self._marian and self._marian.names:
            return _Names(self._marian.names, lambda _: None)
        return _Names({}, self._ask_name)

    def _ask_name(self, number: int) -> str | None:
        """What transformers calls an id; None if it has no name, which tokenizers say in different ways."""
        tokenizer = self.tokenizer
        try:
            name = tokenizer.convert_ids_to_tokens(number)
        except (LookupError, ValueError, TypeError, OverflowError):
            return None
        beyond = name is None or (name == tokenizer.unk_token and number != tokenizer.unk_token_id)
        return None if beyond else str(name)

    def ids_of(self, scored: Scored) -> list[int]:
        """The ids behind an earlier answer's tokens, or an error if they are not of this vocabulary."""
        if not scored.tokens:
            raise BabelscopeError(f"{shorten(scored.text)} has no tokens; score its text instead")
        ids = []
        for number, token in zip(self._target_ids(list(scored.tokens)), scored.tokens, strict=True):
            unnamed = _UNNAMED.fullmatch(token)
            meant = {number, int(unnamed[1]) if unnamed else None}
            found = [each for each in meant if each is not None and self._names[each] == token]
            if len(found) != 1:
                raise BabelscopeError(
                    f"token {token!r} of {shorten(scored.text)} is not in the vocabulary of {self.folder}: "
                    "tokens can be scored by a model with the same vocabulary only; score the text instead"
                )
            ids += found
        return ids

    def _target_ids(self, tokens: list[str]) -> list[int | None]:
        if (marian := self._marian) and (marian.names or not marian.joint):
            vocabulary = marian.target_ids
            return [vocabulary.get(token, vocabulary[marian.unknown]) for token in tokens]
        return list(self._target_side.convert_tokens_to_ids(tokens))

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Texts of target ids; special tokens, and ids without a name, are left out."""
        rows = [
            [number for number in row if number not in self._names.unnamed] if self.has_unnamed(row) else row
            for row in rows
        ]
        if (marian := self._marian) and marian.joint:
            special = marian.special_ids
            pieces = [[self._names[number] for number in row if number not in special] for row in rows]
            # As MarianTokenizer does it: with a joint vocabulary through the source model.
            return [marian.spm_source.decode(row).replace("▁", " ").strip() for row in pieces]
        return [
            self.tokenizer.decode(
                list(row), skip_special_tokens=True, clean_up_tokenization_spaces=False
            ).strip()
            for row in rows
        ]

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to another process: transformers' tokenizer too, since its files may change meanwhile."""
        _ = self.tokenizer
        return {key: value for key, value in self.__dict__.items() if key != "_names"}


class SentencePieceTokens(Tokens):
    """The tokenizer of a folder that has SentencePiece models alone, whose ids are those of the network."""

    tokenizer = None
    target_language_id = None

    def __init__(
        self, files: SealedFiles, source: str, target: str
    ) -> None:  # not Tokens's, of Hugging Face's files
        from sentencepiece import SentencePieceProcessor

        self.folder, self.files, self._marian = files.folder, files, None
        with library_errors(f"{files.folder}: its vocabulary cannot be loaded"):
            self._source, self._target = (
                SentencePieceProcessor(model_file=str(files.paths[name])) for name in (source, target)
            )
        if min(self._source.eos_id(), self._target.eos_id()) < 0:
            raise BabelscopeError(f"{files.folder}: its vocabulary has no token for the end of sentences")
        self.sizes = len(self._source), len(self._target)
        self.vocabulary = {self._target.id_to_piece(number): number for number in range(len(self._target))}

    @property
    def end(self) -> tuple[str, int]:
        """Name and id of the token that ends a text."""
        return self._target.id_to_piece(self._target.eos_id()), self._target.eos_id()

    @property
    def special_ids(self) -> Collection[int]:
        """Ids of tokens that are no part of a text."""
        model = self._target
        return [each for each in range(self.sizes[1]) if model.is_control(each) or model.is_unknown(each)]

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the vocabularies."""
        return self.files.digest()

    @functools.cached_property
    def _names(self) -> _Names:
        return _Names({number: piece for piece, number in self.vocabulary.items()}, lambda _: None)

    def encode_sources(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of source texts, ready for the encoder."""
        return [[*row, self._source.eos_id()] for row in self._source.encode(list(texts))]

    def encode_targets(self, texts: Sequence[str], *, eos: int) -> list[list[int]]:
        """Ids of target texts, ending in `eos`."""
        return [[*row, eos] for row in self._target.encode(list(texts))]

    def source_tokens(self, ids: Sequence[int]) -> list[str]:
        """The tokens of source ids."""
        return [self._source.id_to_piece(number) for number in ids]

    def _target_ids(self, tokens: list[str]) -> list[int | None]:
        return [self.vocabulary.get(token) for token in tokens]

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Texts of target ids; the end, and ids without a name, are left out."""
        kept = [
            [number for number in row if number < self.sizes[1] and number != self.end[1]] for row in rows
        ]
        return [str(text).strip() for text in self._target.decode(kept)] if kept else []


def _is_joined_left(name: str) -> bool:
    """As in WordPiece."""
    return name.startswith("##") and len(name) > 2


def _is_joined_right(name: str) -> bool:
    """As in subword-nmt."""
    return name.endswith("@@") and len(name) > 2


def load_tokenizer(files: TokenizerFolder | GgufFile, *, remote_code: bool = False) -> Any:
    """The tokenizer of a folder; its files are read here, and its paths then lead to where they really lie."""
    from transformers import AutoTokenizer

    with library_errors(f"{files.folder}: its tokenizer cannot be loaded"), warnings.catch_warnings():
        # MarianTokenizer recommends sacremoses, which it then does not call.
        warnings.simplefilter("ignore")
        gguf = {"gguf_file": files.name} if isinstance(files, GgufFile) else {}
        with files.view() as folder:
            tokenizer = AutoTokenizer.from_pretrained(
                str(folder), local_files_only=True, trust_remote_code=remote_code, **gguf
            )
        _check_vocabulary(tokenizer)
    for values in (vars(tokenizer), getattr(tokenizer, "init_kwargs", {})):
        for name, value in values.items():
            if isinstance(value, str):
                values[name] = value.replace(str(folder), str(files.folder))
            elif isinstance(value, list) and all(isinstance(each, str) for each in value):
                values[name] = [each.replace(str(folder), str(files.folder)) for each in value]
    return tokenizer


def _check_vocabulary(tokenizer: Any) -> None:
    """Tokenizers in Python believe their vocabulary files; those in Rust check them."""
    if tokenizer.is_fast:
        return
    for name in ("encoder", "target_encoder", "decoder"):
        vocabulary = getattr(tokenizer, name, None)
        if isinstance(vocabulary, dict):
            turned = name == "decoder"
            for token, number in ((v, k) for k, v in vocabulary.items()) if turned else vocabulary.items():
                if type(number) is not int or number < 0 or not isinstance(token, str):
                    raise ValueError(f"its vocabulary has {number!r} as the id of {token!r}")


@contextmanager
def library_errors(what: str) -> Iterator[None]:
    """Whatever a library raises on a bad file, as one sentence; a panic in Rust is not even an Exception."""
    try:
        yield
    except (BabelscopeError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        reason = _VIEW.sub("its folder", one_line(error))
        raise BabelscopeError(f"{what}: {reason}") from error


class _Names(dict[int, str]):
    """Names of ids: known ones, others asked of a tokenizer once each; `<id N>` where it has no name."""

    def __init__(self, known: dict[int, str], ask: Callable[[int], str | None]) -> None:
        super().__init__(known)
        self._ask = ask
        self.unnamed: set[int] = set()

    def __missing__(self, number: int) -> str:
        name = self._ask(number)
        if name is None:
            self.unnamed.add(number)
            name = f"<id {number}>"
        self[number] = name
        return name


def _swap_fsmt(tokenizer: Any) -> Any:
    """An FSMT tokenizer that reads the target language into the target vocabulary."""
    return type(tokenizer)(
        langs=[tokenizer.tgt_lang, tokenizer.src_lang],
        src_vocab_file=tokenizer.tgt_vocab_file,
        tgt_vocab_file=tokenizer.src_vocab_file,
        merges_file=tokenizer.merges_file,
        do_lower_case=tokenizer.do_lower_case,
    )
