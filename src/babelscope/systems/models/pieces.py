"""Tokenizers of CTranslate2 folders that come from OpenNMT, Argos or fairseq: pieces, BPE codes, words, characters.

Such a folder lists its tokens, and texts are cut into them by SentencePiece models, by BPE codes (`th@@ e`), at
spaces, or into characters. No Hugging Face tokenizer is needed.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from babelscope.core.system import Scored
from babelscope.util.digests import SealedFiles, digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import parse_lines, read_bytes, shorten

KINDS = ("words", "characters")
"""Tokenizers without a file."""
_MOST = 128_000_000
# A joint model has nearly all pieces of the target vocabulary; that of the source alone about half of them.
_JOINT = 0.9
_SPACE = "▁"
_JOINER = "@@"
_END_OF_WORD = "</w>"
_LONGEST_WORD = 500
_SIDES = (("source", "src"), ("target", "tgt", "trg"))


class Cutter(ABC):
    """Cuts texts into tokens, and joins tokens to a text."""

    @abstractmethod
    def cut(self, text: str) -> list[str]:
        """The tokens of a text."""

    @abstractmethod
    def join(self, tokens: Sequence[str]) -> str:
        """The text of tokens."""

    def covers(self, tokens: Sequence[str]) -> float:  # noqa: ARG002
        """The share of a vocabulary's tokens that it can produce."""
        return 1.0


class Words(Cutter):
    """Texts that are tokenized already: tokens stand between spaces."""

    def cut(self, text: str) -> list[str]:
        return text.split()

    def join(self, tokens: Sequence[str]) -> str:
        return " ".join(tokens)


class Characters(Cutter):
    """Each character is a token; a space is `▁`."""

    def cut(self, text: str) -> list[str]:
        return [_SPACE if letter.isspace() else letter for letter in text]

    def join(self, tokens: Sequence[str]) -> str:
        return "".join(tokens).replace(_SPACE, " ")


class SentencePiece(Cutter):
    """The pieces of a SentencePiece model."""

    def __init__(self, path: Path) -> None:
        from sentencepiece import SentencePieceProcessor

        try:
            self._model = SentencePieceProcessor(model_file=str(path))
        except (OSError, RuntimeError) as error:
            raise BabelscopeError(f"{path} cannot be read as a SentencePiece model: {error}") from None

    def cut(self, text: str) -> list[str]:
        return list(self._model.encode(text, out_type=str))

    def join(self, tokens: Sequence[str]) -> str:
        return str(self._model.decode(list(tokens))).replace(_SPACE, " ").strip()

    def covers(self, tokens: Sequence[str]) -> float:
        known = {self._model.id_to_piece(number) for number in range(len(self._model))}
        return sum(token in known for token in tokens) / max(1, len(tokens))


class Codes(Cutter):
    """BPE codes of subword-nmt or fastBPE on words between spaces; a token that a word goes on after ends in `@@`."""

    def __init__(self, path: Path) -> None:
        lines = [line.split() for line in parse_lines(read_bytes(path, most=_MOST), path) if line.strip()]
        old = lines[:1] != [["#version:", "0.2"]] and not any(len(line) == 3 for line in lines[:1])
        merges = [line for line in lines if line[0] != "#version:"]
        if not merges or not all(len(line) == 2 or (len(line) == 3 and line[2].isdigit()) for line in merges):
            raise BabelscopeError(f"{path} has no BPE codes: a line is two symbols, with or without a count")
        # The oldest form (no version, no counts) has the end of a word as a symbol of its own.
        self._end_is_apart = old and not any(_END_OF_WORD in line[1] != _END_OF_WORD for line in merges)
        self._ranks: dict[tuple[str, str], int] = {}
        for rank, line in enumerate(merges):
            self._ranks.setdefault((line[0], line[1]), rank)
        self._of_word = functools.lru_cache(maxsize=100_000)(self._merged)

    def _merged(self, word: str) -> tuple[str, ...]:
        """The pieces of a word, merged in the order of the codes."""
        symbols = [*word, _END_OF_WORD] if self._end_is_apart else [*word[:-1], word[-1] + _END_OF_WORD]
        never = len(self._ranks)
        while len(symbols) > 1:
            pairs = list(itertools.pairwise(symbols))
            best = min(pairs, key=lambda pair: self._ranks.get(pair, never))
            if best not in self._ranks:
                break
            joined: list[str] = []
            place = 0
            while place < len(symbols):
                found = tuple(symbols[place : place + 2]) == best
                joined.append("".join(best) if found else symbols[place])
                place += 2 if found else 1
            symbols = joined
        symbols[-1] = symbols[-1].removesuffix(_END_OF_WORD)
        pieces = [symbol for symbol in symbols if symbol]
        return (*(f"{piece}{_JOINER}" for piece in pieces[:-1]), pieces[-1])

    def cut(self, text: str) -> list[str]:
        # Time grows with the square of a word's length: what is longer than any word is no word.
        words = (
            word[start : start + _LONGEST_WORD]
            for word in text.split()
            for start in range(0, len(word), _LONGEST_WORD)
        )
        return [piece for word in words for piece in self._of_word(word)]

    def join(self, tokens: Sequence[str]) -> str:
        return " ".join(tokens).replace(f"{_JOINER} ", "").removesuffix(_JOINER)


class PieceTokens:
    """The tokenizer of a CTranslate2 folder: its vocabularies, and what cuts texts into them on each side."""

    target_language_id = None

    def __init__(self, model: SealedFiles, named: str) -> None:
        """`model` are the converted folder's files; `named` is the option `tokenizer`, empty to find it there."""
        self.folder = model.folder
        self._kind, paths = _tokenizer_of(self.folder, named)
        base = Path(os.path.commonpath([path.absolute().parent for path in paths])) if paths else self.folder
        self.files = SealedFiles(base, [str(path.absolute().relative_to(base)) for path in paths])
        self._config = model.read_json("config.json", most=_MOST) if "config.json" in model.paths else {}
        self._sources, self._targets = (_read_vocabulary(model, side) for side in ("source", "target"))
        self._source_ids = {token: number for number, token in enumerate(self._sources)}
        self._target_ids = {token: number for number, token in enumerate(self._targets)}
        self._unknown, eos = self._special("unk_token", "<unk>"), self._special("eos_token", "</s>")
        if self._unknown not in self._source_ids or not {self._unknown, eos} <= self._target_ids.keys():
            raise BabelscopeError(
                f"{self.folder}: its vocabulary lacks {self._unknown} or {eos}, which its config.json names"
            )
        self.end = eos, self._target_ids[eos]
        self._hidden = {eos, self._unknown, self._special("bos_token", "<s>"), "<pad>", "<blank>"}
        cutters = [_cutter(self._kind, path) for path in paths or [Path()]]
        self._source, self._target = cutters[0], cutters[-1]
        share = self._target.covers([token for token in self._targets if token not in self._hidden])
        self.no_targets = ""
        if len(paths) == 1 and share < _JOINT:
            self.no_targets = (
                f"{paths[0].name} has {share:.0%} of the pieces of the target vocabulary: it is of the source alone, "
                "so that given texts cannot be cut into tokens; name both with ?tokenizer=SOURCE,TARGET"
            )
        """Why given target texts cannot be cut into tokens; empty if they can."""

    def _special(self, name: str, usual: str) -> str:
        said = self._config.get(name, usual)
        return said if isinstance(said, str) else usual

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the kind of tokenizer and its files."""
        return digest_json([self._kind, self.files.digest()])

    def encode_sources(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of source texts; CTranslate2 adds what its config.json says."""
        unknown = self._source_ids[self._unknown]
        return [[self._source_ids.get(token, unknown) for token in self._source.cut(text)] for text in texts]

    def encode_targets(self, texts: Sequence[str], *, eos: int) -> list[list[int]]:
        """Ids of target texts, ending in `eos`."""
        if self.no_targets and texts:
            raise BabelscopeError(f"{self.folder}: {self.no_targets}")
        unknown = self._target_ids[self._unknown]
        rows = [[self._target_ids.get(token, unknown) for token in self._target.cut(text)] for text in texts]
        return [[*row, eos] for row in rows]

    def source_tokens(self, ids: Sequence[int]) -> list[str]:
        """The vocabulary's names of source ids."""
        return [self._sources[number] for number in ids]

    def tokens(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The vocabulary's names of target ids."""
        return tuple(self._targets[number] for number in ids)

    def ids_of(self, scored: Scored) -> list[int]:
        """The ids behind an earlier answer's tokens, or an error if they are not of this vocabulary."""
        if not scored.tokens or not set(scored.tokens) <= self._target_ids.keys():
            raise BabelscopeError(
                f"{shorten(scored.text)} has tokens that are not in the vocabulary of {self.folder}; score its text"
            )
        return [self._target_ids[token] for token in scored.tokens]

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Texts of target ids without special tokens."""
        kept = [[self._targets[number] for number in row] for row in rows]
        return [self._target.join([token for token in row if token not in self._hidden]) for row in kept]


def _read_vocabulary(model: SealedFiles, side: str) -> list[str]:
    """The tokens of one side, by their ids."""
    for name in (f"{side}_vocabulary", "shared_vocabulary", "vocabulary"):
        for ending in (".json", ".txt"):
            path = model.paths.get(name + ending)
            if path is None:
                continue
            data = read_bytes(path, most=_MOST)
            try:
                found = json.loads(data) if ending == ".json" else data.decode().rstrip("\n").split("\n")
            except (ValueError, RecursionError) as error:
                raise BabelscopeError(f"{path} cannot be read as a vocabulary: {error}") from None
            if not isinstance(found, list) or not all(isinstance(token, str) for token in found):
                raise BabelscopeError(f"{path} is no list of tokens")
            return found
    raise BabelscopeError(f"{model.folder} has no {side} vocabulary (shared_vocabulary.json...)")


def _tokenizer_of(folder: Path, named: str) -> tuple[str, list[Path]]:
    """The kind of tokenizer, and its files: one for both sides, or those of source and target."""
    if named in KINDS:
        return named, []
    names = named.split(",") if named else []
    if len(names) > 2:
        raise BabelscopeError(
            f"tokenizer={named} names more than two files: one for both sides, or SOURCE,TARGET"
        )
    if names and not (len(names) == 1 and Path(names[0]).expanduser().is_dir()):
        places = [[Path(name).expanduser(), folder / name] for name in names]
        paths = [next((path for path in place if path.is_file()), place[0]) for place in places]
        if missing := [path for path in paths if not path.is_file()]:
            raise BabelscopeError(f"{missing[0]}: no such file; tokenizer= names files, words or characters")
        return "", paths
    place = Path(names[0]).expanduser() if names else folder
    found = _candidates(place)
    if not found and (place.parent / "metadata.json").is_file():  # of an Argos package
        found = _candidates(place.parent)
    sides = [[path for path in found if any(word in path.name.lower() for word in side)] for side in _SIDES]
    if len(found) == 1:
        return "", found
    if len(found) == 2 and all(len(side) == 1 for side in sides):
        return "", [side[0] for side in sides]
    said = f"several tokenizers ({', '.join(path.name for path in found)})" if found else "no tokenizer"
    raise BabelscopeError(
        f"{place} has {said}; name it with ?tokenizer=FILE (a SentencePiece model or BPE codes), SOURCE,TARGET, "
        "words, characters, or the Hugging Face model that it was converted from"
    )


def _candidates(folder: Path) -> list[Path]:
    patterns = ("*.spm", "*.model", "*codes*")
    return sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})


def _cutter(kind: str, path: Path) -> Cutter:
    if kind:
        return Words() if kind == "words" else Characters()
    with open(path, "rb") as file:
        start = file.read(2)
    # A SentencePiece model is a protocol buffer, whose first field is a piece.
    return SentencePiece(path) if start[:1] == b"\n" and path.stat().st_size > 2 else Codes(path)
