"""Parallel text of one's own for the locality experiment: pairs whose sources have one length, in words or pieces."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from babelscope.core.tokenisers import require_spaces
from babelscope.lab.experiments.locality import Pair, Plan, quick_plan
from babelscope.lab.training.parallel import read_parallel
from babelscope.lab.training.tokenizer import train_pieces
from babelscope.util.errors import BabelscopeError

DEV, TEST = 500, 1000
_LEAST = 100  # pairs to train on
_WORDS = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")

Split = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class OwnText:
    """Pairs of the wanted length, no sentence twice on either side, and what they were split with."""

    pairs: list[Pair]
    digest: str
    models: tuple[bytes, ...] = ()
    """Two sentencepiece models, source and target; none where words are the tokens."""


def splitter(model: bytes | None) -> Split:
    """A function from a text to its tokens: the pieces of a sentencepiece model, or words and marks."""
    if model is None:
        return _WORDS.findall
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    def split(text: str) -> list[str]:
        pieces: list[str] = processor.encode(text, out_type=str)
        return pieces

    return split


def read_own_text(source: Path, target: Path, *, length: int, pieces: int = 0) -> OwnText:
    """Read two line-parallel files; with `pieces`, each side gets a BPE vocabulary of that size."""
    text = read_parallel(source, target)
    require_spaces(text.target, what=f"the lines of {target}")  # for BLEU, if not for the network
    if not pieces:
        require_spaces(text.source, what=f"the lines of {source}", todo="set words apart, or say --pieces N")
    models: tuple[bytes, ...] = ()
    if pieces:
        sides = (text.source, text.target)
        models = tuple(train_pieces(iter(side), pieces, kind="bpe").proto for side in sides)
    cut = [splitter(model) for model in (models or (None, None))]
    lengths: Counter[int] = Counter()
    seen: set[str] = set()
    pairs: list[Pair] = []
    for one, other in zip(text.source, text.target, strict=True):
        words = cut[0](one)
        lengths[len(words)] += 1
        if len(words) == length and seen.isdisjoint((f"s{one}", f"t{other}")):
            seen |= {f"s{one}", f"t{other}"}
            pairs.append((words, cut[1](other)))
    if len(pairs) < _LEAST + 2:
        commonest = ", ".join(f"{size} ({count:,} pairs)" for size, count in lengths.most_common(3))
        raise BabelscopeError(
            f"{source} has {len(pairs):,} different pairs with {length} source tokens, too few to learn from; the "
            f"commonest lengths are {commonest}: choose one with --length"
        )
    digest = hashlib.sha256("".join(text.files[f"{side}_sha256"] for side in ("source", "target")).encode())
    return OwnText(pairs, digest.hexdigest(), models)


def plan_for(own: OwnText, *, pieces: int, quick: bool, given: dict[str, Any]) -> Plan:
    """A plan for this text: what is said, else all pairs but a tenth each, 500 and 1,000 at most, held out."""
    count = len(own.pairs)
    held = {"dev": max(1, min(DEV, count // 10)), "test": max(1, min(TEST, count // 10))}
    held |= {name: given[name] for name in held if name in given}
    sentences = given.get("sentences", count - held["dev"] - held["test"])
    needed = sentences + held["dev"] + held["test"]
    if sentences < 1 or needed > count:
        raise BabelscopeError(
            f"there are {count:,} pairs of this length, too few for {sentences:,} to train on, {held['dev']:,} to "
            f"choose the epoch by and {held['test']:,} to test, {needed:,} in all"
        )
    make = quick_plan if quick else Plan
    return make(**{**given, **held, "sentences": sentences, "text": own.digest, "pieces": pieces})


def joined(tokens: Sequence[str], pieces: int) -> str:
    """Tokens as text, as sacreBLEU expects it."""
    if pieces:
        return "".join(tokens).replace("▁", " ").strip()
    return re.sub(r" (?=[.,;:])", "", " ".join(tokens))
