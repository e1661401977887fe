"""Any system, spread over Ray workers: the same answers in the same order, from many processes."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.answers import System
from babelscope.core.question import Asked, as_question, sources_of
from babelscope.systems.asking import renumber_errors
from babelscope.systems.decorators import Decorator
from babelscope.systems.workers import Call, Description, Origin, Pool, send
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import shorten

_PART = 64
_sent = itertools.count()


def spread(
    system: System | str,
    workers: int | None = None,
    address: str | None = None,
    *,
    cpus: float = 1,
    gpus: float = 0,
    part: int | None = _PART,
    pool: Pool | None = None,
) -> Spread:
    """A system in several processes, each with a copy of its own; by name (`hf:...`), none of them is here.

    What is asked at once goes to the workers in parts of at most `part` different sources, or as a whole where it
    is None. Several systems can share the workers of one `pool`; else see `Pool` for the other arguments.
    """
    if part is not None and part < 1:
        raise BabelscopeError(f"a worker cannot be given {part} sources at once; at least one is needed")
    own = pool is None
    pool = pool or Pool(workers, address=address, cpus=cpus, gpus=gpus)
    try:
        origin = Origin(system) if isinstance(system, str) else send(system, f"{system.name} #{next(_sent)}")
        return Spread(origin, pool, part, own_pool=own)
    except BaseException:
        if own:
            pool.close()
        raise


class Spread(Decorator):
    """A system that asks copies of another in Ray workers; next-token distributions stay where the model is."""

    def __init__(self, origin: Origin, pool: Pool, part: int | None, *, own_pool: bool) -> None:
        self._origin, self._pool, self._own_pool = origin, pool, own_pool
        said: Description = _unwrap(*pool.submit(Call(origin, f"open {origin.name}")).result())
        self.name = said.name
        self.fingerprint = said.fingerprint
        self.capabilities = said.capabilities - {"next_tokens"}
        self.asked_as_a_whole = said.properties.asked_as_a_whole
        self.reads_context = said.properties.reads_context
        self.reproducible = said.properties.reproducible
        self.length_penalty = said.properties.length_penalty
        self.reads_source = said.properties.reads_source
        self._part = None if self.asked_as_a_whole else part
        self.at_once = 2 * pool.workers
        """Calls from so many threads keep all workers busy, while half of the threads judge answers."""

    def _ask(self, method: str, asked: Sequence[Any], how: Mapping[str, Any]) -> list[Any]:
        """Answers to all questions, in order, however the workers shared them."""
        questions = [as_question(each[0] if method == "score" else each) for each in asked]
        sources = sources_of(questions)
        targets = [each[1] for each in asked] if method == "score" else []
        texts = [target if isinstance(target, str) else target.text for target in targets]
        sizes = [
            len(source) + len(target)
            for source, target in itertools.zip_longest(sources, texts, fillvalue="")
        ]
        parts = (
            [range(len(questions))] if self._part is None else balanced_parts(questions, sizes, self._part)
        )
        waiting = []
        for numbers in parts:
            some = [asked[number] for number in numbers]
            what = self._what(method, [sources[number] for number in numbers])
            call = Call(self._origin, what, method, some, how, self.fingerprint)
            waiting.append((numbers, self._pool.submit(call)))
        answers: list[Any] = [None] * len(asked)
        try:
            for numbers, answer in waiting:
                with renumber_errors([number + 1 for number in numbers]):
                    found = _unwrap(*answer.result())
                for number, each in zip(numbers, found, strict=True):
                    answers[number] = each
        finally:
            for _, answer in waiting:
                answer.cancel()
        return answers

    def _what(self, method: str, sources: Sequence[str]) -> str:
        if not sources:
            return f"{method} nothing with {self.name}"
        ends = dict.fromkeys((shorten(sources[0]), shorten(sources[-1])))
        many = f"{len(sources)} source{'s' if len(sources) > 1 else ''}"
        return f"{method} {many} with {self.name}, {' to '.join(ends)}"

    def close(self) -> None:
        """Stop the workers, unless others share them."""
        if self._own_pool:
            self._pool.close()

    def __enter__(self) -> Spread:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def balanced_parts(questions: Sequence[Asked], sizes: Sequence[int], most: int) -> list[Sequence[int]]:
    """Numbers of calls in parts of at most `most` different questions, sizes within one question of each other.

    A size is in characters, since tokenizers are where the models are. What is asked about one question stays
    together. Parts depend on the questions only, not on who answers, so that batches and floats do not either.
    """
    groups: dict[Asked, list[int]] = {}
    for number, question in enumerate(questions):
        groups.setdefault(question, []).append(number)
    # Dealt out from the largest to the smallest; sorting is stable, so that equal ones keep their order.
    order = sorted(groups.values(), key=lambda group: -sum(sizes[number] for number in group))
    count = max(1, math.ceil(len(order) / most))
    return [sorted(itertools.chain.from_iterable(order[part::count])) for part in range(count)]


def _unwrap(answer: Any, warned: Sequence[str]) -> Any:
    """Return a worker's answer; repeat its warnings and raise its error in this process."""
    for message in warned:
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    if isinstance(answer, BabelscopeError):
        raise answer
    return answer
