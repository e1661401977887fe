"""Metrics of translation quality: what every metric has, and how one is found by name.

BLEU, chrF, chrF++ and TER come from sacreBLEU, RIBES is our own. COMET runs in an environment of its own (comet.py),
BLEURT and others as programs that the user names (external.py).
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from babelscope.core.registry import Registry, did_you_mean, resolve
from babelscope.core.tokenizers import Tokenizer, find_tokenizer, require_split
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import shorten

Array = np.ndarray[Any, Any]
Texts = Sequence[str]
References = Sequence[Sequence[str]]
"""For each hypothesis its references, [hypotheses][references]; their number may differ."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale of a metric: bounds, direction and unit."""

    low: float | None
    high: float | None
    """Bounds by definition or by convention (COMET: 1); None if there is none."""
    better: Literal["higher", "lower"] = "higher"
    unit: Literal["percent", "share", ""] = ""
    """percent: 0 to 100. share: 0 to 1. Empty: a unit of its own."""
    note: str = ""
    """What else a reader must know to compare its numbers with published ones."""

    def describe(self) -> str:
        """The scale in words: bounds, direction, and what else must be known."""
        low, high = (None if end is None else f"{end:g}" for end in (self.low, self.high))
        bounds = (
            f"{low} to {high}" if low and high else f"from {low}" if low else f"to {high}" if high else ""
        )
        parts = [bounds or "no bounds are known", f"{self.better} is better", self.note]
        return "; ".join(part for part in parts if part)

    def quality(self, value: float) -> float:
        """Turn a value into a quality: higher is better, and percentages become shares (100 becomes 1)."""
        share = value / 100 if self.unit == "percent" else value
        if self.better == "higher":
            return share
        return 1 - share if self.unit else -share

    @property
    def best_quality(self) -> float | None:
        """The quality of a perfect translation; None if the scale has no bound on that side."""
        best = self.high if self.better == "higher" else self.low
        return None if best is None else self.quality(best)


@dataclass(frozen=True)
class Metric(ABC):
    """A metric. Scores are on its `scale`; a corpus score is the mean over sentences unless overridden."""

    name: str
    scale: Scale
    version: int = field(default=1, kw_only=True)
    """Raised when its numbers change."""
    reads_references: bool = field(default=True, kw_only=True)
    """False for a metric that judges a translation by its source alone; references may then be missing."""
    reads_sources: bool = field(default=False, kw_only=True)
    """Whether its scores may depend on the sources, which must then be known."""
    words_by: str = field(default="", kw_only=True)
    """Name of the tokenizer by which it splits words if it is told no other; empty if it splits none."""
    takes_tokenizer: bool = field(default=True, kw_only=True)
    """False for a metric that always splits words by `words_by`."""
    tokenizer: Tokenizer | None = field(default=None, kw_only=True)
    """By which it splits words, in the place of `words_by`."""
    checked: bool = field(default=False, kw_only=True)
    """Whether somebody has made sure, of all texts together, that their words can be split."""

    @abstractmethod
    def sentence(self, hypotheses: Texts, references: References, sources: Texts = ()) -> list[float]:
        """The score of each hypothesis against its references; only some metrics read the sources."""

    def statistics(self, hypotheses: Texts, references: References, sources: Texts = ()) -> Array:
        """Sufficient statistics [sentences, columns]; a corpus score is computed from their sum over sentences."""
        if self.reads_references:
            check_corpus(hypotheses, references)
        return np.array([[score, 1.0] for score in self.sentence(hypotheses, references, sources)])

    def corpus(self, sums: Array) -> float:
        """The corpus score from the sum of its sentences' statistics [columns]; NaN for no sentences."""
        return float(sums[0] / sums[1]) if sums[1] else math.nan

    def of_statistics(self, statistics: Array) -> float:
        """The score of one sentence from its statistics [columns]."""
        return self.corpus(statistics)

    def pairwise(self, candidates: Texts, references: Texts, source: str = "") -> Array:
        """The score of each candidate against each reference alone [candidates, references]."""
        pairs = [(candidate, [reference]) for candidate in candidates for reference in references]
        scores = self.sentence(
            [candidate for candidate, _ in pairs], [own for _, own in pairs], [source] * len(pairs)
        )
        return np.asarray(scores, dtype=float).reshape(len(candidates), len(references))

    def tokenized(self, tokenizer: Tokenizer | None, *, checked: bool = False) -> Self:
        """The same metric with words split by another tokenizer; None for its own."""
        if not self.words_by:
            return self
        return dataclasses.replace(
            self, tokenizer=tokenizer if self.takes_tokenizer else None, checked=checked or self.checked
        )

    @property
    def is_tokenized(self) -> bool:
        """Whether it splits words by a tokenizer that can be chosen."""
        return bool(self.words_by) and self.takes_tokenizer

    @property
    def splitter(self) -> Tokenizer:
        """What splits words for it, if anything does: the tokenizer it was told, or its own."""
        return self.tokenizer or find_tokenizer(self.words_by)

    def require_words(self, references: Iterable[str], todo: str = "") -> None:
        """Refuse references in a script whose words the metric cannot split; translations are not checked."""
        if not self.words_by:
            return
        if not self.takes_tokenizer:
            todo = "take chrf, which counts characters"
        require_split(
            self.splitter,
            list(dict.fromkeys(references)),
            what=f"references for {self.name}",
            todo=todo
            or "name another tokenizer, such as zh (Chinese), ja-mecab (Japanese), char or spm:FILE",
        )

    def check_words(self, references: References) -> None:
        """Refuse references in whose script it cannot split words, unless they are checked."""
        if not self.checked:
            self.require_words(text for own in references for text in own)

    def prepare(self, *, yes: bool = False) -> None:  # noqa: B027 (most metrics need nothing)
        """Make ready what it runs in; what would be downloaded is told first, and allowed by the user or by `yes`."""

    @property
    def identity(self) -> str:
        """What goes into a signature: the name, the version if it is above 1, and a tokenizer if one was named."""
        version = "" if self.version == 1 else f" {self.version}"
        return self.name + version + (f" {self.tokenizer.signed}" if self.tokenizer else "")


METRICS: Registry[Metric] = Registry(
    "metric",
    "babelscope.metrics.base:Metric",
    "babelscope.metrics",
    {
        "bleu": "babelscope.metrics.sacre:BLEU",
        "bleu-lc": "babelscope.metrics.sacre:LOWERCASE",
        "multi-bleu": "babelscope.metrics.sacre:MULTI",
        "multi-bleu-lc": "babelscope.metrics.sacre:MULTI_LOWERCASE",
        "chrf": "babelscope.metrics.chrf:METRIC",
        "chrf++": "babelscope.metrics.chrf:PLUS_PLUS",
        "ter": "babelscope.metrics.sacre:TER",
        "ribes": "babelscope.metrics.ribes:METRIC",
        "comet": "babelscope.metrics.comet:COMET",
        "cometkiwi": "babelscope.metrics.comet:KIWI",
    },
)
OUT_OF_PROCESS = frozenset({"comet", "cometkiwi"})
"""Registered metrics that start a program."""
_EXTERNAL = {
    "cmd": "babelscope.metrics.external:open_command",
    "file": "babelscope.metrics.external:open_file",
    "comet": "babelscope.metrics.comet:open_comet",
}


def find_metric(metric: str | Metric) -> Metric:
    """A metric by its name: a registered one, `comet:MODEL`, `cmd:COMMAND` or `file:NUMBERS?source=SEGMENTS`."""
    if isinstance(metric, Metric):
        return metric
    scheme, colon, rest = metric.partition(":")
    if colon and scheme in _EXTERNAL:
        if not is_allowed(metric):
            raise BabelscopeError(
                f"{shorten(metric, 300)}, by which a run was judged, is not run because only a run folder names it; "
                "use --metric to have hypotheses judged again"
            )
        found: Metric = resolve(_EXTERNAL[scheme])(metric, rest)
        return found
    return _registered(metric)


@functools.cache  # since reading the entry points takes longer than scoring a sentence
def _registered(name: str) -> Metric:
    known = METRICS.names()
    if name not in known:
        near = did_you_mean(name, known, "")
        raise BabelscopeError(
            f"there is no metric {name!r}; known: {', '.join(known)}; {f'{near} ' if near else ''}BLEURT, MetricX "
            "and others are asked by cmd:COMMAND, see docs/howto/metrics.md"
        )
    return METRICS.find(name)


@contextlib.contextmanager
def allow_only(metrics: Iterable[str]) -> Iterator[None]:
    """Allow only these `cmd:` and `file:` metrics in the block: others are named by a run, maybe a stranger's."""
    token = _ALLOWED.set(frozenset(metrics))
    try:
        yield
    finally:
        _ALLOWED.reset(token)


_ALLOWED: ContextVar[frozenset[str] | None] = ContextVar("metrics that the caller names", default=None)


def is_allowed(metric: str) -> bool:
    """Whether a metric may be asked here: one that starts no program, or one that `allow_only` permits."""
    allowed = _ALLOWED.get()
    starts = ":" in metric or metric in OUT_OF_PROCESS
    return not starts or allowed is None or metric in allowed


def warn_stored_quality(metric: str, option: str = "--metric") -> None:
    """Warn that the qualities by an external metric are those stored in the run, not computed again."""
    warnings.warn(
        f"the qualities by {shorten(metric, 300)} are those stored in the run; use {option} to have them "
        "judged again",
        RuntimeWarning,
        stacklevel=3,
    )


def check_corpus(hypotheses: Texts, references: References) -> None:
    """Refuse a corpus without sentences, and sentences without references."""
    if len(hypotheses) != len(references):
        raise BabelscopeError(
            f"{len(hypotheses)} translations cannot be compared with {len(references)} references"
        )
    if not references or not all(references):
        raise BabelscopeError("a corpus score needs sentences, and at least one reference of each")


@dataclass(frozen=True, slots=True)
class Segment:
    """A hypothesis with its source and its references."""

    source: str
    hypothesis: str
    references: tuple[str, ...]

    def as_line(self) -> str:
        """The line that a command reads: a JSON object in ASCII; `reference` is a list if there are several.

        Without references it has no `reference`.
        """
        known = {"source": self.source, "hypothesis": self.hypothesis}
        if self.references:
            known["reference"] = self.references[0] if len(self.references) == 1 else list(self.references)  # type: ignore[assignment]
        return json.dumps(known)


def sentence_qualities(metric: str | Metric, segments: Sequence[Segment]) -> list[float]:
    """The quality of each segment, higher is better; equal segments are scored once.

    Our own metrics give 0 to 1, but 1 - TER is below 0 if there are more edits than words in the reference.
    External metrics keep their own scale.
    """
    found = find_metric(metric)
    once = list(dict.fromkeys(segments))
    if found.reads_references and not all(each.references for each in once):
        raise BabelscopeError(f"{found.name} needs references, and there are sentences without")
    scores = found.sentence(
        [each.hypothesis for each in once], [each.references for each in once], [each.source for each in once]
    )
    qualities = dict(zip(once, map(found.scale.quality, scores), strict=True))
    return [qualities[each] for each in segments]
