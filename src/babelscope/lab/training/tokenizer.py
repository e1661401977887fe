"""One sentencepiece vocabulary for both languages, or one for each, in the files that MarianTokenizer reads.

Ids are sentencepiece's own: `</s>` 0, `<unk>` 1, the pieces, and after them `<pad>`, which sentencepiece does
not know. So text can be encoded without MarianTokenizer, which gives the same ids 15 times more slowly.
"""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from babelscope.lab.training.checkpoints import write_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import read_bytes

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
