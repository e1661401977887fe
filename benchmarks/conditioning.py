"""Conditioning: translations under six cued sources each, in one call against one pair at a time, in one run."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from babelscope.core.answers import Scored, Target
from babelscope.core.question import Question
from babelscope.runs.judging import condition
from babelscope.systems.huggingface import HuggingFace
from babelscope.testsets.items import AmbiguousSource
from benchmarks.common import arguments, ratio, rounds, show
from benchmarks.scoring import lab_material, multi30k_material, transformers_batched

CUES = 3  # a side, as in the paper (section 3.3)


def cued(sources: list[str], translations: list[str], seed: int = 1) -> list[AmbiguousSource]:
    """Items whose sources have a word of the corpus inserted somewhere, three times for each side."""
    random_ = random.Random(seed)
    words = sorted({word for source in sources for word in source.split()})
    items = []
    for number, (source, translation) in enumerate(zip(sources, translations, strict=True)):
        tokens = source.split()
        variants = []
        for _ in range(2 * CUES):
            place = random_.randrange(len(tokens))
            variants.append(" ".join([*tokens[:place], random_.choice(words), *tokens[place:]]))
        category = ("frequent", "rare")[number % 2]
        items.append(
            AmbiguousSource(
                str(number), source, tuple(variants[:CUES]), tuple(variants[CUES:]), category, translation
            )
        )
    return items


class Counted:
    """An evaluator that counts what it is asked, and what its model reads for that."""

    def __init__(self, inner: HuggingFace) -> None:
        self.name, self.fingerprint, self.inner = inner.name, inner.fingerprint, inner
        self.calls = self.encoded = self.decoded = self.batches = 0
        force: Callable[..., Any] = inner.model.force

        def counting(sources: Sequence[Any], trees: Sequence[Any]) -> Any:
            self.batches += 1
            self.encoded += len(sources)
            self.decoded += sum(len(tree.paths) for tree in trees)
            return force(sources, trees)

        inner.model.force = counting  # type: ignore[method-assign]

    def score(self, pairs: Sequence[tuple[Question, Target]]) -> list[Scored]:
        self.calls += 1
        return self.inner.score(pairs)


def main() -> None:
    options = arguments(__doc__ or "")
    n = 60 if options.quick else 600
    # The real model where it is at hand, else the lab's.
    evaluator, sources, targets = multi30k_material(n) or lab_material(n)
    items = cued(sources, targets)
    pairs = [
        (source, str(item.translation))
        for item in items
        for source in (*item.correct_sources, *item.incorrect_sources)
    ]
    few = pairs[: len(pairs) // 10]
    answers: dict[str, list[list[float]]] = {}
    evaluator.score(few)  # warms up

    def logprobs(scored: Sequence[Scored]) -> list[list[float]]:
        return [list(each.logprobs) for each in scored]

    sides: dict[str, Callable[[], object]] = {
        "one call": lambda: answers.update(all=logprobs(evaluator.score(pairs))),
        "one pair at a time": lambda: answers.update(
            own=[row for pair in few for row in logprobs(evaluator.score([pair]))]
        ),
        "transformers, one pair at a time": lambda: answers.update(
            hf=transformers_batched(evaluator, few, 1)
        ),
    }
    seconds = rounds(sides, repeats=5)
    # Of one pair at a time only some are asked; their time is scaled up to all.
    seconds = {
        side: [second * (1 if side == "one call" else len(pairs) / len(few)) for second in seconds[side]]
        for side in sides
    }
    difference = max(
        abs(x - y)
        for other in ("own", "hf")
        for row, peer in zip(answers["all"], answers[other], strict=False)
        for x, y in zip(row, peer, strict=True)
    )
    counted = Counted(evaluator)
    result = condition(None, counted, items, chunk=len(items))
    assert result.rows[0].estimate.n == len(items)
    rows = [
        {"side": side, "pairs/s": round(len(pairs) / statistics.median(each), 1)}
        for side, each in seconds.items()
    ]
    ratios = {
        # As the released code does it: a forward pass a pair.
        "vs_one_by_one": ratio(seconds["transformers, one pair at a time"], seconds["one call"]),
        "vs_own_one_by_one": ratio(seconds["one pair at a time"], seconds["one call"]),
        "max_difference": difference,
        "score_calls": counted.calls,
        "encoder_passes_an_item": counted.encoded / len(items),
        "decoder_passes_an_item": counted.decoded / len(items),
        "pairs_a_batch": counted.decoded / counted.batches,
        "model": evaluator.name,
    }
    show(rows, ratios, as_json=options.json)


if __name__ == "__main__":
    main()
