"""Likelihood of references under a system: log-probability a token, and perplexity."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from babelscope.core.answers import Scores
from babelscope.core.comparable import Comparable
from babelscope.core.notes import told_counts
from babelscope.core.results import Record, Row
from babelscope.methods.base import Method
from babelscope.methods.likelihood.settings import LikelihoodSettings
from babelscope.stats.intervals import perplexity, ratio_of_sums
from babelscope.systems.asking import ask_score, scored_as_json
from babelscope.testsets.items import ParallelSentence


def ask(
    systems: Mapping[str, Scores], items: Sequence[ParallelSentence], settings: LikelihoodSettings, _seed: int
) -> list[Record]:
    """A record an item: its source, and each reference with its tokens and their log-probabilities."""
    chosen = [item.references[: 1 if settings.references == "first" else None] for item in items]
    pairs = [
        (item.question, text) for item, references in zip(items, chosen, strict=True) for text in references
    ]
    answers = iter(ask_score(systems["system"], pairs))
    return [
        {
            "source": item.source,
            "references": [scored_as_json(next(answers)) for _ in references],
        }
        for item, references in zip(items, chosen, strict=True)
    ]


def judge(records: Sequence[Record], _settings: LikelihoodSettings) -> list[Record]:
    """Each record with `logprob`, nats a token over its references; null if one has an impossible token."""
    judged = []
    for record in records:
        logs = [each for reference in record["references"] for each in reference["logprobs"]]
        judged.append({**record, "logprob": None if None in logs else math.fsum(logs) / len(logs)})
    return judged


def summarise(records: Sequence[Record], _settings: LikelihoodSettings, _seed: int) -> list[Row]:
    """Log-probability a token over all references, in nats with EOS counted, and the perplexity it makes.

    A reference with an impossible token (probability 0) has no finite score: it is left out and counted
    as `infinite`, since with it every mean would be minus infinity.
    """
    totals: list[float] = []
    lengths: list[int] = []
    counts: Counter[str] = Counter()
    asked: Counter[str] = Counter()  # by item, however many references it has
    for record in records:
        finite = [each for each in record["references"] if None not in each["logprobs"]]
        counts["infinite"] += len(record["references"]) - len(finite)
        counts.update(note for each in record["references"] for note in each["notes"])
        asked.update({note for each in record["references"] for note in each["notes"]})
        if finite:
            totals.append(math.fsum(x for each in finite for x in each["logprobs"]))
            lengths.append(sum(len(each["logprobs"]) for each in finite))
    mean = ratio_of_sums(totals, lengths, within=(-math.inf, 0.0))  # no probability is above 1
    shown = {
        "tokens": sum(lengths),
        "infinite": counts["infinite"],
        "truncated": counts["truncated"],
        "changed": counts["changed"],
        **told_counts(asked),
    }
    return [Row("logprob", mean, counts=shown), Row("perplexity", perplexity(mean), counts=shown)]


METHOD = Method(
    name="likelihood",
    version=3,
    summary="log-probability a token, and perplexity, of the references",
    kind=ParallelSentence,
    settings=LikelihoodSettings,
    ask=ask,
    judge=judge,
    summarise=summarise,
    asks=frozenset({"references"}),
    needs={"system": ("score",)},
    comparable=lambda _settings: [Comparable("logprob", "nats a token", "logprob")],
    view="babelscope.methods.likelihood.view:VIEW",
)
