"""One sentencepiece vocabulary for both languages, or one for each, in the files that MarianTokenizer reads.

Ids are sentencepiece's own: `</s>` 0, `<unk>` 1, the pieces, and after them `<pad>`, which sentencepiece does
not know. So text can be encoded without MarianTokenizer, which gives the same ids 15 times more slowly.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from babelscope.lab.training.checkpoints import write_json
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.seeds import stream
from babelscope.util.text import parse_lines, read_bytes, read_line_bytes, require_equal_counts, shorten

EOS, UNKNOWN = 0, 1
FILES = ("source.spm", "target.spm", "vocab.json", "tokenizer_config.json")
TARGET_VOCABULARY = "target_vocab.json"
"""Beside FILES where the target has a vocabulary of its own."""

TAGS = {"forward": "<FT>", "backward": "<BT>"}
"""What the source of a machine-made pair may begin with, by where the pair comes from."""

# MarianTokenizer does not treat these as text: special tokens anywhere, a language code at the start.
_SPECIAL = re.compile(r"</s>|<unk>|<pad>|^>>.*<<")

_REQUIRED = re.compile(r"smaller than required_chars\. \d+ vs (\d+)")

# sentencepiece samples this many sentences from larger texts; more do not improve a vocabulary.
_MOST_SENTENCES = 5_000_000


class Pieces:
    """A trained vocabulary: text to ids and back; `target_side` is the target's, where it has one of its own."""

    def __init__(self, proto: bytes, own_target: Pieces | None = None) -> None:
        import sentencepiece

        self.proto = proto
        self.own_target = own_target
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=proto)
        self.pad: int = self._processor.get_piece_size()
        self.size = self.pad + 1

    @property
    def target_side(self) -> Pieces:
        return self.own_target or self

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, EOS at the end."""
        rows: list[list[int]] = self._processor.encode(list(texts), add_eos=True)
        return rows

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The text of each row of ids, without special tokens."""
        kept = [[i for i in row if i not in (EOS, self.pad)] for row in rows]
        texts: list[str] = self._processor.decode(kept)
        return texts

    def protos(self) -> list[bytes]:
        """The sentencepiece models: one, or the source's and the target's."""
        return [self.proto, *([self.own_target.proto] if self.own_target else [])]

    def pieces(self) -> list[str]:
        """All pieces in the order of their ids, `<pad>` last."""
        return [*map(self._processor.id_to_piece, range(self.pad)), "<pad>"]


def find_special_token(text: str) -> str | None:
    """The first special token that a Marian tokenizer would see in `text`, or None."""
    found = _SPECIAL.search(text)
    return found.group() if found else None


def find_tags(sources: Iterable[str]) -> tuple[str, ...]:
    """The tags of `TAGS` that sources begin with."""
    known = {f"{tag} ": tag for tag in TAGS.values()}
    longest = max(map(len, known))
    heads = {source[:longest] for source in sources if source.startswith("<")}
    return tuple(sorted(tag for head, tag in known.items() if any(each.startswith(head) for each in heads)))


def train_pieces(
    texts: Iterator[str],
    size: int,
    kind: Literal["unigram", "bpe"] = "unigram",
    *,
    tags: Sequence[str] = (),
) -> Pieces:
    """A vocabulary of `size` pieces (fewer where the text has no more), every character and tag among them."""
    import sentencepiece

    sentencepiece.set_random_generator_seed(0)
    proto = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=texts,
            model_writer=proto,
            model_type=kind,
            vocab_size=size,
            hard_vocab_limit=False,
            character_coverage=1.0,
            eos_id=EOS,
            unk_id=UNKNOWN,
            bos_id=-1,
            pad_id=-1,
            input_sentence_size=_MOST_SENTENCES,
            user_defined_symbols=[f"\u2581{tag}" for tag in tags],
            num_threads=1,  # several threads would change the last bits of sums
            minloglevel=2,
        )
    except RuntimeError as error:
        reason = str(error).strip().split("\n")[-1]
        if fewest := _REQUIRED.search(reason):
            reason = f"every character needs one, so that at least {fewest[1]} are needed"
        raise BabelscopeError(f"no vocabulary of {size} pieces can be made of this text: {reason}") from error
    return Pieces(proto.getvalue())


def train_both(
    source: Callable[[], Iterator[str]],
    target: Callable[[], Iterator[str]],
    size: int,
    *,
    tags: Sequence[str] = (),
) -> Pieces:
    """A vocabulary for each language, of `size` pieces or of as many as the poorer text has.

    They have equally many, since MarianTokenizer takes the number of `<pad>` on both sides from the source's.
    """
    sides = [train_pieces(source(), size, tags=tags), train_pieces(target(), size)]
    fewest = min(side.pad for side in sides)
    ours, theirs = (
        side if side.pad == fewest else train_pieces(texts(), fewest, tags=own)
        for side, texts, own in zip(sides, (source, target), (tags, ()), strict=True)
    )
    if ours.size != theirs.size:
        raise BabelscopeError(
            f"the vocabularies have {ours.pad} and {theirs.pad} pieces, but must have equally many; ask for fewer"
        )
    return Pieces(ours.proto, theirs)


def save_tokenizer(pieces: Pieces, folder: Path, *, languages: str = "") -> None:
    """Write the files of a MarianTokenizer; `languages` such as en-de go into its configuration."""
    other = pieces.target_side
    for name, own in (("source.spm", pieces), ("target.spm", other)):
        (folder / name).write_bytes(own.proto)
    for name, own in (("vocab.json", pieces), *([(TARGET_VOCABULARY, other)] if pieces.own_target else [])):
        vocabulary = {piece: number for number, piece in enumerate(own.pieces())}
        if len(vocabulary) != own.size:
            raise BabelscopeError("the vocabulary has a piece twice; is <pad> a word of the training text?")
        write_json(folder / name, vocabulary)
    source, _, target = languages.partition("-")
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "MarianTokenizer",
            "eos_token": "</s>",
            "unk_token": "<unk>",
            "pad_token": "<pad>",
            "model_max_length": 512,
            "separate_vocabs": pieces.own_target is not None,
            "source_lang": source or None,
            "target_lang": target or None,
        },
    )


def copy_tokenizer(folder: Path, to: Path) -> None:
    """Copy the tokenizer's files from one model folder to another."""
    for name in (*FILES, TARGET_VOCABULARY):
        if name in FILES or (folder / name).exists():
            shutil.copyfile(folder / name, to / name)


def load_pieces(folder: Path) -> Pieces:
    """The vocabulary of a model folder that `save_tokenizer` wrote."""
    separate = (folder / TARGET_VOCABULARY).exists()
    target = _load_side(folder, "target.spm", TARGET_VOCABULARY) if separate else None
    pieces = _load_side(folder, "source.spm", "vocab.json")
    fits = target.size == pieces.size if target else pieces.proto == read_bytes(folder / "target.spm")
    if not fits:
        raise _no_vocabulary(folder)
    return Pieces(pieces.proto, target)


def _load_side(folder: Path, model: str, vocabulary: str) -> Pieces:
    try:
        known = json.loads(read_bytes(folder / vocabulary))
    except ValueError:
        raise BabelscopeError(f"{folder / vocabulary} is not JSON") from None
    try:
        pieces = Pieces(read_bytes(folder / model))
    except RuntimeError:
        raise BabelscopeError(f"{folder / model} is not a sentencepiece model") from None
    if known != {piece: number for number, piece in enumerate(pieces.pieces())}:
        raise _no_vocabulary(folder)
    return pieces


def _no_vocabulary(folder: Path) -> BabelscopeError:
    return BabelscopeError(
        f"{folder}: its tokenizer is not a vocabulary in sentencepiece's order with <pad> last, joint, or separate "
        "and of one size, which a new model needs; give a vocabulary size instead, to train a new one"
    )


# --- Parallel text for training: read and checked, encoded, and grouped into batches of similar length -------------


Array = np.ndarray[Any, Any]

LEAST_PAIRS = 100
"""Fewest sentence pairs to train on."""

_CHUNK = 10_000


@dataclass(frozen=True, slots=True)
class ParallelText:
    """Line-parallel text and where it came from."""

    source: list[str]
    target: list[str]
    files: dict[str, str]
    """Path of the source and target file, and the SHA-256 of each."""

    def __len__(self) -> int:
        return len(self.source)


def read_parallel(source: Path, target: Path, *, least: int = LEAST_PAIRS) -> ParallelText:
    """Read two line-parallel files; errors name file and line."""
    sources, source_digest = read_side(source)
    targets, target_digest = read_side(target)
    require_equal_counts({str(source): len(sources), str(target): len(targets)})
    _require_lines(source, len(sources), least)
    if source_digest == target_digest:
        raise BabelscopeError(f"{source} and {target} are the same text, so there is no translation to learn")
    files = {"source": str(source), "source_sha256": source_digest}
    return ParallelText(sources, targets, files | {"target": str(target), "target_sha256": target_digest})


def read_side(path: Path, *, least: int = 0) -> tuple[list[str], str]:
    """The lines of a file, none of them empty, and the file's SHA-256."""
    data = read_line_bytes(path)
    lines = parse_lines(data, path)
    empty = [number for number, line in enumerate(lines, 1) if not line.strip()]
    if empty:
        more = f" (and {len(empty) - 1} more lines are)" if len(empty) > 1 else ""
        raise BabelscopeError(f"{at(path, empty[0])} is empty{more}; a sentence has no empty translation")
    for number, line in enumerate(lines, 1):
        if found := find_special_token(line):
            raise BabelscopeError(f"{at(path, number)} has {found!r}, a special token, in {shorten(line)}")
    _require_lines(path, len(lines), least)
    return lines, hashlib.sha256(data).hexdigest()


def _require_lines(path: Path, count: int, least: int) -> None:
    if count < least:
        raise BabelscopeError(f"{path} has {count} of at least {least} sentences that are needed")


def hold_out(text: ParallelText, seed: int) -> tuple[ParallelText, ParallelText]:
    """Split off development text: one pair in 50, at most 2,000; returns (training, development)."""
    order = stream(seed, "lab/held out").permutation(len(text))
    chosen = set(order[: max(1, min(2000, len(text) // 50))].tolist())
    parts = [[i for i in range(len(text)) if (i in chosen) == held] for held in (False, True)]
    train, dev = (
        ParallelText([text.source[i] for i in p], [text.target[i] for i in p], text.files) for p in parts
    )
    return train, dev


def count_shared(training: ParallelText, development: ParallelText) -> int:
    """How many development pairs are in the training text, too."""
    known = set(zip(training.source, training.target, strict=True))
    return sum(pair in known for pair in zip(development.source, development.target, strict=True))


class EncodedLines:
    """Token ids of many lines in one flat array."""

    def __init__(self, texts: Sequence[str], pieces: Pieces) -> None:
        encoded = []
        lengths = []
        for start in range(0, len(texts), _CHUNK):
            rows = pieces.encode(texts[start : start + _CHUNK])
            lengths += [len(row) for row in rows]
            encoded.append(np.concatenate([np.asarray(row, dtype=np.int32) for row in rows]))
        self.flat = np.concatenate(encoded)
        self.lengths = np.asarray(lengths)
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])

    def ids(self, number: int) -> list[int]:
        """The ids of one line."""
        found: list[int] = self.flat[self.starts[number] : self.starts[number + 1]].tolist()
        return found

    def padded(self, numbers: Array, filler: int) -> Array:
        """Some lines as one array [rows, longest], padded at the end with `filler`."""
        lengths = self.lengths[numbers]
        columns = np.arange(lengths.max())
        real = columns < lengths[:, None]
        where = np.where(real, self.starts[numbers][:, None] + columns, 0)
        return np.where(real, self.flat[where], filler).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded ids [rows, longest]: encoder input, decoder input, and labels (pad where there is none)."""

    source: Array
    shifted: Array
    target: Array


def make_batch(source: Array, target: Array, pad: int) -> Batch:
    """A batch of padded ids; the decoder starts with pad."""
    shifted = np.concatenate([np.full((len(target), 1), pad), target[:, :-1]], axis=1)
    return Batch(source, shifted, target)


class Corpus:
    """Encoded sentence pairs, served in batches."""

    def __init__(self, text: ParallelText, pieces: Pieces, *, longest: int) -> None:
        self.text = text
        self.pad = pieces.pad
        self.source = EncodedLines(text.source, pieces)
        self.target = EncodedLines(text.target, pieces.target_side)
        size = np.maximum(self.source.lengths, self.target.lengths)
        self.kept = np.flatnonzero(size <= longest)
        self.dropped = len(size) - len(self.kept)
        if not len(self.kept):
            raise BabelscopeError(f"every sentence pair is longer than {longest} pieces; allow more")
        self.tokens = int(self.target.lengths[self.kept].sum())

    def batches(self, batch_tokens: int, random: np.random.Generator | None = None) -> list[Array]:
        """Numbers of the pairs in each batch, shuffled; without `random`, in the order of length.

        Pairs of similar length share a batch, to save padding; which ones, and the order of batches, is random.
        A batch has at most `batch_tokens` tokens on either side, padding included.
        """
        order = self.kept if random is None else random.permutation(self.kept)
        source, target = self.source.lengths[order], self.target.lengths[order]
        order = order[np.lexsort((source, target))]
        size = np.maximum(self.source.lengths[order], self.target.lengths[order])
        cuts = [0]
        longest = 0
        for position, length in enumerate(size.tolist()):
            longest = max(longest, length)
            if (position - cuts[-1] + 1) * longest > batch_tokens and position > cuts[-1]:
                cuts.append(position)
                longest = length
        found = np.split(order, cuts[1:])
        if random is not None:
            found = [found[i] for i in random.permutation(len(found))]
        return found

    def batch(self, numbers: Array) -> Batch:
        """The pairs of these numbers."""
        return make_batch(
            self.source.padded(numbers, self.pad), self.target.padded(numbers, self.pad), self.pad
        )
