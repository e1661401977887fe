"""sacreBLEU's tokenizers, and sentencepiece models of the user's own."""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from babelscope.core.registry import resolve
from babelscope.core.tokenizers import EVERY_SCRIPT, Tokenizer
from babelscope.metrics.base import is_allowed
from babelscope.util.errors import BabelscopeError, install_hint
from babelscope.util.files import file_stamp
from babelscope.util.text import read_bytes, shorten

_MOST_BYTES = 1 << 26
"""Of a sentencepiece model: those of a million pieces have about 20 MB."""


def _of_sacrebleu(place: str) -> Callable[[str], list[str]]:
    """The split of one of sacreBLEU's tokenizers, which is imported when first used."""

    @functools.cache
    def loaded() -> Any:
        return resolve(f"sacrebleu.tokenizers.{place}")()

    return lambda text: str(loaded()(text)).split()


MTEVAL_13A = Tokenizer("13a", _of_sacrebleu("tokenizer_13a:Tokenizer13a"))
INTERNATIONAL = Tokenizer("intl", _of_sacrebleu("tokenizer_intl:TokenizerV14International"))
CHINESE = Tokenizer("zh", _of_sacrebleu("tokenizer_zh:TokenizerZh"), frozenset({"Han"}))
CHARACTERS = Tokenizer("char", _of_sacrebleu("tokenizer_char:TokenizerChar"), EVERY_SCRIPT)


def _by_mecab(name: str, place: str, extra: str, scripts: frozenset[str]) -> Tokenizer:
    """A tokenizer with a dictionary; refused in one sentence where its packages are not installed."""
    try:
        tagger = resolve(f"sacrebleu.tokenizers.{place}")()
    except RuntimeError:  # sacreBLEU's word for packages that are not there
        raise BabelscopeError(
            f"the tokenizer {name} needs a dictionary: {install_hint(extra)}, or choose the tokenizer char"
        ) from None
    except AssertionError as error:
        raise BabelscopeError(
            f"the tokenizer {name} has another dictionary than sacreBLEU's: {error}"
        ) from None
    lock = threading.Lock()  # a tagger is not for several threads at once

    def split(text: str) -> list[str]:
        with lock:
            return str(tagger(text)).split()

    return Tokenizer(name, split, scripts, identity=str(tagger.signature()))


def __getattr__(name: str) -> Tokenizer:
    """Japanese and Korean, made when first asked for, since they may not be installed."""
    if name == "JAPANESE":
        scripts = frozenset({"Han", "Kana"})
        return _by_mecab("ja-mecab", "tokenizer_ja_mecab:TokenizerJaMecab", "japanese", scripts)
    if name == "KOREAN":
        return _by_mecab("ko-mecab", "tokenizer_ko_mecab:TokenizerKoMecab", "korean", frozenset())
    raise AttributeError(name)


def open_sentencepiece(path: str) -> Tokenizer:
    """The tokenizer `spm:FILE`: the pieces of a sentencepiece model, as sacreBLEU splits by its own."""
    if not path:
        raise BabelscopeError("the tokenizer spm: needs a sentencepiece model: spm:FILE")
    if not is_allowed(f"spm:{path}"):
        raise BabelscopeError(
            f"spm:{shorten(path, 300)}, by which a run was judged, is not opened because only a run folder names it; "
            "name the tokenizer to have words split by it again"
        )
    return _open_sentencepiece(path, file_stamp(Path(path)))


@functools.lru_cache(maxsize=8)
def _open_sentencepiece(path: str, _stamp: object) -> Tokenizer:
    from sentencepiece import SentencePieceProcessor

    proto = read_bytes(path, most=_MOST_BYTES)
    try:
        processor = SentencePieceProcessor(model_proto=proto)
        pieces = processor.get_piece_size() if proto else 0
    except RuntimeError:
        pieces = 0
    if not pieces:
        raise BabelscopeError(f"{path} is not a sentencepiece model")
    unknown = processor.unk_id()

    def unsplit(text: str) -> str:
        pieces = processor.encode_as_pieces(text)
        return "".join(piece for piece in pieces if processor.piece_to_id(piece) == unknown)

    # Split again at spaces, as BLEU does.
    return Tokenizer(
        f"spm:{path}",
        lambda text: " ".join(processor.encode_as_pieces(text)).split(),
        identity=f"spm {hashlib.sha256(proto).hexdigest()[:16]}",
        unsplit=unsplit,
    )
