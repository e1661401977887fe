"""Any system, spread over Ray workers: the same answers in the same order, from many processes."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import os
import queue
import socket
import threading
import uuid
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from babelscope.core.results import differences
from babelscope.core.system import Asked, Fingerprint, System, as_question, capabilities, properties
from babelscope.systems.clusters import connected, describe, import_ray, reason, room_for
from babelscope.systems.contract import ASK, Decorator, renumber_errors
from babelscope.systems.registry import open_system
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.text import shorten
from babelscope.util.version import __version__

# A call that kills so many workers in a row is taken to be the cause.
_DEATHS = 3
_PATIENCE_SECONDS = 60.0
_PART = 64


@dataclass(frozen=True, slots=True)
class Call:
    """What a worker is asked about a system; without a method, for its description."""

    system: str
    """Its name: what to open, unless it was sent."""
    sent: tuple[Any, ...] = ()
    """A reference to the system in Ray's object store."""
    method: str = ""
    asked: Sequence[Any] = ()
    how: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: Fingerprint | None = None
    """The fingerprint that the worker's system must have."""


class Worker:
    """The inside of a Ray process: opens a system when first asked about it, and keeps it."""

    def __init__(self, folder: str) -> None:
        # Names of systems may have paths in them, relative to where the study is.
        if os.path.isdir(folder):
            os.chdir(folder)
        self._id = uuid.uuid4().hex
        self._systems: dict[str, Any] = {}

    def introduce(self) -> tuple[str, str, str]:
        """The worker's id, which changes when Ray restarts it, its host and its version."""
        return self._id, socket.gethostname(), __version__

    def ask(self, call: Call) -> tuple[str, list[str], Any]:
        """The worker's id, the warnings that were given, and the answer or the BabelscopeError in its place."""
        with warnings.catch_warnings(record=True) as warned:
            try:
                answer = self._answer(call)
            except BabelscopeError as error:
                answer = error
        return self._id, [str(warning.message) for warning in warned], answer

    def _answer(self, call: Call) -> Any:
        system = self._systems.get(call.system)
        if system is None:
            system = import_ray().get(call.sent[0]) if call.sent else open_system(call.system)
            self._systems[call.system] = system
        if call.fingerprint is None:
            return system.name, system.fingerprint, capabilities(system), properties(system)
        if system.fingerprint != call.fingerprint:
            found = differences(call.fingerprint.as_json(), system.fingerprint.as_json(), "fingerprint")
            raise BabelscopeError(
                f"{system.name} on {socket.gethostname()} is not what the first worker opened "
                f"({'; '.join(found[:3])}); give all workers the same files and versions"
            )
        return ASK[call.method](system, call.asked, **call.how)


class Pool(contextlib.ExitStack):
    """Ray workers that answer the oldest call first; closed, it stops them and the Ray that it started for them."""

    def __init__(
        self, workers: int | None = None, *, address: str | None = None, cpus: float = 1, gpus: float = 0
    ) -> None:
        """Start `workers` workers, or as many as fit; each has `cpus` CPUs and `gpus` GPUs.

        They run on the Ray cluster at `address`; without one, on one that is started here and ends with the pool.
        """
        if workers is not None and workers < 1:
            raise BabelscopeError(f"{workers} workers: at least one is needed")
        if cpus <= 0 or gpus < 0:
            raise BabelscopeError(f"a worker cannot have {cpus:g} CPUs and {gpus:g} GPUs")
        super().__init__()
        self._needs = {name: count for name, count in (("CPU", cpus), ("GPU", gpus)) if count}
        with contextlib.ExitStack() as stack:
            self._ray = stack.enter_context(connected(workers, address, cpus))
            self.workers = workers or room_for(self._needs)
            self.push(stack.pop_all())
        actor = self._ray.remote(Worker).options(
            num_cpus=cpus,
            num_gpus=gpus,
            max_restarts=-1,
            max_task_retries=_DEATHS - 1,
            scheduling_strategy="SPREAD",
        )
        self._actors = [actor.remote(os.getcwd()) for _ in range(self.workers)]
        # Actors without work, each with the id of its process.
        self._idle: queue.SimpleQueue[tuple[Any, str]] = queue.SimpleQueue()
        self._ready = threading.Event()
        self._ended: BabelscopeError | None = None
        self._threads = ThreadPoolExecutor(self.workers)
        self._starting = threading.Thread(target=self._await_actors, args=[[*self._actors]], daemon=True)
        self._starting.start()
        self.callback(self._stop)

    def _await_actors(self, actors: list[Any]) -> None:
        """Give work to each actor as soon as its process has started."""
        import ray.exceptions

        starting = {actor.introduce.remote(): actor for actor in actors}
        while starting and not self._ended:
            try:
                [started], _ = ray.wait(list(starting))
                worker, host, version = ray.get(started)
            except ray.exceptions.RayError as error:
                self._end(SystemFailure(f"Ray workers cannot be started: {reason(error)}"))
                return
            if version != __version__:
                why = f"the Ray worker on {host} has Babelscope {version}, not {__version__}"
                self._end(BabelscopeError(why))
            self._idle.put((starting.pop(started), worker))
            self._ready.set()

    def submit(self, call: Call, what: str) -> Future[tuple[list[str], Any]]:
        """Have a worker answer, with its warnings; `what` is the call in words, for warnings and errors."""
        if self._ended:
            raise self._ended
        answer = self._threads.submit(self._ask, call, what)
        if not self._ready.wait(_PATIENCE_SECONDS):
            warnings.warn(
                f"still waiting for a first worker, which needs {describe(self._needs)}; free in the Ray cluster: "
                f"{describe(self._ray.available_resources())}",
                RuntimeWarning,
                stacklevel=2,
            )
        return answer

    def _ask(self, call: Call, what: str) -> tuple[list[str], Any]:
        import ray.exceptions

        idle = self._idle.get()
        if self._ended:
            self._idle.put(idle)
            raise self._ended
        actor, worker = idle
        try:
            answering, warned, answer = ray.get(actor.ask.remote(call))
        except ray.exceptions.RayTaskError as error:
            # A fault in the system's own code, as it would be raised here.
            raise error.cause from None
        except ray.exceptions.RayError as error:
            worker = ""
            raise self._ended or SystemFailure(
                f"{_DEATHS} workers in a row died when asked to {what} ({reason(error)})"
            ) from error
        else:
            if worker not in ("", answering):
                warned = [f"a worker died, and another was asked to {what}", *warned]
            worker = answering
            return warned, answer
        finally:
            self._idle.put((actor, worker))

    def _end(self, why: BabelscopeError) -> None:
        """Answer no more calls, nor those that wait for a worker."""
        self._ended = self._ended or why
        self._idle.put((None, ""))  # to wake who waits
        self._ready.set()

    def _stop(self) -> None:
        self._end(SystemFailure("the Ray workers were stopped"))
        while self._actors:
            self._ray.kill(self._actors.pop())
        self._threads.shutdown(cancel_futures=True)
        self._starting.join(timeout=10)


class Spread(Decorator, contextlib.ExitStack):
    """A system that asks copies of another in Ray workers, which end when it is closed, unless others share them."""

    def __init__(
        self,
        system: System | str,
        workers: int | None = None,
        address: str | None = None,
        *,
        cpus: float = 1,
        gpus: float = 0,
        part: int | None = _PART,
        pool: Pool | None = None,
    ) -> None:
        """`system` may be a name (`hf:...`): then each worker opens it, and there is no copy here.

        What is asked at once goes to the workers in parts of at most `part` different sources, or as a whole where
        it is None. Several systems can share the workers of one `pool`; else see `Pool` for the other arguments.
        """
        if part is not None and part < 1:
            raise BabelscopeError(f"{part} sources at once: a worker needs at least one")
        super().__init__()
        with contextlib.ExitStack() as stack:
            self._pool = pool or stack.enter_context(Pool(workers, address=address, cpus=cpus, gpus=gpus))
            call = Call(system) if isinstance(system, str) else _send(system)
            opened = self._pool.submit(call, f"open {call.system}").result()
            self.name, self.fingerprint, capabilities, stated = _unwrap(*opened)
            self.push(stack.pop_all())
        self._call = dataclasses.replace(call, fingerprint=self.fingerprint)
        self.capabilities = capabilities - {"next_tokens"}  # these stay where the model is
        for name in ("asked_as_a_whole", "reads_context", "reads_source", "reproducible", "length_penalty"):
            setattr(self, name, getattr(stated, name))
        self._part = None if stated.asked_as_a_whole else part
        self.at_once = 2 * self._pool.workers
        """Calls from so many threads keep all workers busy, while half of the threads judge answers."""

    def _ask(self, method: str, asked: Sequence[Any], how: Mapping[str, Any]) -> list[Any]:
        """Answers to all questions, in order, however the workers shared them."""
        pairs = asked if method == "score" else [(each, "") for each in asked]
        questions = [as_question(question) for question, _ in pairs]
        texts = [target if isinstance(target, str) else target.text for _, target in pairs]
        sizes = [len(question.source) + len(text) for question, text in zip(questions, texts, strict=True)]
        parts: list[Sequence[int]] = [range(len(questions))]
        if self._part is not None:
            parts = balanced_parts(questions, sizes, self._part)
        waiting = []
        for numbers in parts:
            some = [asked[number] for number in numbers]
            call = dataclasses.replace(self._call, method=method, asked=some, how=how)
            ends = dict.fromkeys(shorten(questions[each].source) for each in (*numbers[:1], *numbers[-1:]))
            what = (
                f"{method} {len(some)} source{'s' * (len(some) != 1)} with {self.name}, {' to '.join(ends)}"
            )
            waiting.append((numbers, self._pool.submit(call, what)))
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


spread = Spread
_sent = itertools.count()


def _send(system: System) -> Call:
    """Put a system into Ray's object store, from which each worker gets a copy."""
    try:
        return Call(f"{system.name} #{next(_sent)}", (import_ray().put(system),))
    except Exception as error:
        raise BabelscopeError(
            f"{system.name} cannot be sent to other processes ({error}); give its name (SCHEME:...) instead, and put "
            "a cache around the spread system, not inside"
        ) from error


def balanced_parts(questions: Sequence[Asked], sizes: Sequence[int], most: int) -> list[Sequence[int]]:
    """Numbers of calls in parts of at most `most` different questions, sizes within one question of each other.

    Sizes are in characters. Parts depend on the questions only, so that batches and floats do not depend on workers.
    """
    groups: dict[Asked, list[int]] = {}
    for number, question in enumerate(questions):
        groups.setdefault(question, []).append(number)
    # Dealt out from the largest to the smallest; sorting is stable, so that equal ones keep their order.
    order = sorted(groups.values(), key=lambda group: -sum(sizes[number] for number in group))
    count = max(1, math.ceil(len(order) / most))
    return [sorted(itertools.chain.from_iterable(order[part::count])) for part in range(count)]


def _unwrap(warned: Sequence[str], answer: Any) -> Any:
    """A worker's answer; repeat its warnings and raise its error in this process."""
    for message in warned:
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    if isinstance(answer, BabelscopeError):
        raise answer
    return answer
