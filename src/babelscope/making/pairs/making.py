"""From sources and references to minimal pairs, one sentence at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from babelscope.errors import BabelscopeError
from babelscope.language.german import Analyzer, default_analyzer
from babelscope.making.pairs.base import ErrorType, Variant
from babelscope.making.pairs.registry import error_type
from babelscope.seeds import stream
from babelscope.testsets.items import MinimalPair


def make_pairs(
    type: str | ErrorType,
    sources: Iterable[str],
    references: Iterable[str],
    *,
    kind: Literal["human", "machine"] = "human",
    seed: int = 0,
    choose: Literal["one", "all"] = "one",
    mode: str | None = None,
    analyzer: Analyzer | None = None,
) -> Iterator[MinimalPair]:
    """Minimal pairs of the references that have the phenomenon, one of the variants chosen by the seed, or all.

    Pairs are made while the texts are read; pairs without a source are left out.
    """
    made = error_type(type) if isinstance(type, str) else type
    if choose not in ("one", "all"):
        raise BabelscopeError(f"choose one variant or all, not {choose!r}")
    if mode is not None and mode not in made.modes:
        known = f"; it has {', '.join(made.modes)}" if made.modes else ""
        raise BabelscopeError(f"error type {made.name} has no mode {mode!r}{known}")
    analyzer = analyzer or default_analyzer()
    for number, (source, reference) in enumerate(zip(sources, references, strict=True), 1):
        if not source.strip() or not reference.strip():
            continue
        found = made.variants(analyzer.analyse(reference), **({"mode": mode} if mode else {}))
        if choose == "one" and found:
            # Each sentence has its own stream, so that leaving out a sentence changes no other's choice.
            found = [found[int(stream(seed, f"pairs/{made.name}/{number}").integers(len(found)))]]
        for place, variant in enumerate(found, 1):
            name = f"{made.name}/{number}" + (f"/{place}" if choose == "all" else "")
            yield _pair(name, source, reference, variant, made.name, kind)


def _pair(
    name: str,
    source: str,
    reference: str,
    variant: Variant,
    phenomenon: str,
    kind: Literal["human", "machine"],
) -> MinimalPair:
    changed = {"word": variant.word, "changed": variant.changed, "position": variant.start}
    return MinimalPair(name, source, reference, (variant.text,), phenomenon, kind, extra=changed)
