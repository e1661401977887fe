"""Ray workers that answer for systems: a worker that dies is replaced, and its call is given to another.

One thread per worker takes calls from a shared queue. A worker for which the cluster has no room yet takes none, and
begins when a machine with room joins.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import socket
import threading
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from babelscope.core.answers import Capability, Fingerprint, Properties, capabilities, properties
from babelscope.core.results import differences
from babelscope.systems.asking import ASK
from babelscope.systems.clusters import connect, disconnect, import_ray, reason
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.version import __version__

# A call that kills so many workers in a row is taken to be the cause.
_DEATHS = 3
_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a worker gets a system from: its name, or an object sent to Ray's store under a name."""

    name: str
    sent: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Description:
    """What a worker tells of the system that it opened."""

    name: str
    fingerprint: Fingerprint
    capabilities: frozenset[Capability]
    properties: Properties


@dataclass(frozen=True, slots=True)
class Call:
    """A question to a worker about the system from `origin`; without a method, for its description."""

    origin: Origin
    what: str
    """The call in words, for the error message if workers die of it."""
    method: str = ""
    questions: Sequence[Any] = ()
    how: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: Fingerprint | None = None
    """The fingerprint that the worker's system must have."""


class Worker:
    """The inside of a Ray process: opens a system when first asked about it, and keeps it."""

    def __init__(self, folder: str) -> None:
        # Names of systems may have paths in them, relative to where the study is.
        if os.path.isdir(folder):
            os.chdir(folder)
        self._systems: dict[str, Any] = {}

    def version(self) -> tuple[str, str]:
        return __version__, socket.gethostname()

    def ask(self, call: Call) -> tuple[Any, list[str]]:
        """The answer, or the BabelscopeError that was raised instead; and the warnings that were given."""
        answer: Any
        with warnings.catch_warnings(record=True) as heard:
            try:
                answer = self._answer(call)
            except BabelscopeError as error:
                answer = error
        return answer, [str(warning.message) for warning in heard]

    def _answer(self, call: Call) -> Any:
        if call.origin.name not in self._systems:
            self._systems[call.origin.name] = _open(call.origin)
        system = self._systems[call.origin.name]
        if not call.method:
            return Description(system.name, system.fingerprint, capabilities(system), properties(system))
        if system.fingerprint != call.fingerprint:
            assert call.fingerprint is not None
            found = differences(call.fingerprint.as_json(), system.fingerprint.as_json(), "fingerprint")
            raise BabelscopeError(
                f"{system.name} on {socket.gethostname()} is not what the first worker opened "
                f"({'; '.join(found[:3])}); give all workers the same files and versions"
            )
        return ASK[call.method](system, call.questions, **call.how)


def _open(origin: Origin) -> Any:
    if origin.sent:
        return import_ray().get(origin.sent[0])
    from babelscope.systems.opening import open_system

    return open_system(origin.name)


@dataclass(slots=True)
class _Task:
    call: Call
    number: int
    answer: Future[tuple[Any, list[str]]] = field(default_factory=Future)
    deaths: int = 0

    @property
    def lost(self) -> str:
        return f"a worker died, and another was asked to {self.call.what}"


class Pool:
    """Ray workers that answer calls, each one at a time, the oldest call first."""

    def __init__(
        self, workers: int | None = None, *, address: str | None = None, cpus: float = 1, gpus: float = 0
    ) -> None:
        """As many workers as there is room for, unless `workers` says how many; each has so many CPUs and GPUs.

        They run on the Ray cluster at `address`; without one, on one that is started here and ends with the pool.
        """
        if workers is not None and workers < 1:
            raise BabelscopeError(f"there cannot be {workers} workers; at least one is needed")
        if cpus <= 0 or gpus < 0:
            raise BabelscopeError(f"a worker cannot have {cpus:g} CPUs and {gpus:g} GPUs")
        ray = import_ray()
        self.folder = os.getcwd()
        self._needs = {name: count for name, count in (("CPU", cpus), ("GPU", gpus)) if count}
        _join(self, workers, address, cpus)
        try:
            self.workers = workers or _room(self._needs)
        except BaseException:
            _leave(self)
            raise
        self._queue: queue.PriorityQueue[tuple[int, _Task | None]] = queue.PriorityQueue()
        self._numbers, self._last = itertools.count(), itertools.count(-1, -1)
        self._lock = threading.Lock()
        self._ended: BabelscopeError | None = None
        self._ready = threading.Event()
        self._actors: set[Any] = set()
        self._new_actor = ray.remote(Worker).options(
            num_cpus=cpus, num_gpus=gpus, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD"
        )
        self._threads = [threading.Thread(target=self._feed, daemon=True) for _ in range(self.workers)]
        for thread in self._threads:
            thread.start()

    def submit(self, call: Call) -> Future[tuple[Any, list[str]]]:
        task = _Task(call, next(self._numbers))
        self._put(task)
        if not self._ready.wait(_PATIENCE_SECONDS):
            warnings.warn(
                f"still waiting for a first worker, which needs {_describe(self._needs)}; free in the Ray cluster: "
                f"{_describe(import_ray().available_resources())}",
                RuntimeWarning,
                stacklevel=2,
            )
        return task.answer

    def _put(self, task: _Task) -> None:
        with self._lock:
            if self._ended is None:
                self._queue.put((task.number, task))
            else:
                task.answer.set_exception(self._ended)

    def _feed(self) -> None:
        """Feed tasks to one worker, and to its replacements, until the pool ends."""
        import ray.exceptions

        worker = self._start()
        while worker is not None:
            _, task = self._queue.get()
            if task is None:
                break
            if not (task.deaths or task.answer.set_running_or_notify_cancel()):
                continue
            try:
                answer, warned = ray.get(worker.ask.remote(task.call))
            except ray.exceptions.RayTaskError as error:
                # A fault in the system's own code, as it would be raised here.
                task.answer.set_exception(error.cause)
            except ray.exceptions.RayError as error:
                self._drop(worker)
                self._retry_or_fail(task, error)
                worker = self._start()
            except Exception as error:  # such as a question that cannot be sent
                task.answer.set_exception(error)
            else:
                task.answer.set_result((answer, [*([task.lost] if task.deaths else []), *warned]))
        if worker is not None:
            self._drop(worker)

    def _start(self) -> Any:
        """Start a worker and wait until it is ready; None if the pool has ended or none can be started."""
        import ray.exceptions

        why = ""
        for _ in range(_DEATHS):
            if self._ended is not None:
                return None
            worker = self._new_actor.remote(self.folder)
            self._actors.add(worker)
            try:
                version, host = ray.get(worker.version.remote())
            except ray.exceptions.RayError as error:
                self._drop(worker)
                why = reason(error)
                continue
            if version != __version__:
                self._end(
                    BabelscopeError(f"the Ray worker on {host} has Babelscope {version}, not {__version__}")
                )
                return None
            self._ready.set()
            return worker
        self._end(SystemFailure(f"Ray workers cannot be started: {why}"))
        return None

    def _retry_or_fail(self, task: _Task, error: Exception) -> None:
        """Put a dead worker's task back into the queue, or fail it after `_DEATHS` deaths."""
        task.deaths += 1
        if task.deaths >= _DEATHS and self._ended is None:
            task.answer.set_exception(
                SystemFailure(
                    f"{_DEATHS} workers in a row died when asked to {task.call.what} ({reason(error)})"
                )
            )
            return
        self._put(task)

    def _drop(self, worker: Any) -> None:
        self._actors.discard(worker)
        import_ray().kill(worker)

    def _end(self, why: BabelscopeError) -> None:
        """Accept no more work; waiting tasks fail with `why`."""
        with self._lock:
            self._ended = self._ended or why
            with contextlib.suppress(queue.Empty):
                while True:
                    _, task = self._queue.get_nowait()
                    if task is not None and (task.deaths or task.answer.set_running_or_notify_cancel()):
                        task.answer.set_exception(self._ended)
            for _ in range(self.workers):
                self._queue.put((next(self._last), None))
            self._ready.set()

    def close(self) -> None:
        """Stop the workers at once, and the Ray that was started for them."""
        self._end(SystemFailure("the Ray workers were stopped"))
        for worker in list(self._actors):
            self._drop(worker)
        for thread in self._threads:
            thread.join(timeout=10)
        _leave(self)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def send(system: object, name: str) -> Origin:
    """Put a system into Ray's object store, from which each worker gets a copy."""
    try:
        return Origin(name, (import_ray().put(system),))
    except Exception as error:
        raise BabelscopeError(
            f"{name} cannot be sent to other processes ({error}); give its name (SCHEME:...) instead, and put a "
            "cache around the spread system, not inside"
        ) from error


# Pools of this process share one connection to Ray; the last pool closes it, if a pool has opened it.
_joined: set[Pool] = set()


def _join(pool: Pool, workers: int | None, address: str | None, cpus: float) -> None:
    ray = import_ray()
    if not ray.is_initialized():
        connect(workers, address, cpus)
        _joined.add(pool)
        return
    here = ray.get_runtime_context().gcs_address
    if address not in (None, "auto", here):
        raise BabelscopeError(f"this process uses the Ray cluster at {here}, so it cannot join {address} too")
    if _joined:
        _joined.add(pool)


def _leave(pool: Pool) -> None:
    if pool in _joined:
        _joined.remove(pool)
        if not _joined:
            disconnect()


def _room(needs: Mapping[str, float]) -> int:
    """How many workers the cluster could hold at this moment."""
    nodes = [node["Resources"] for node in import_ray().nodes() if node["Alive"]]
    room = sum(int(min(node.get(name, 0) // count for name, count in needs.items())) for node in nodes)
    if not room:
        raise BabelscopeError(
            f"a worker needs {_describe(needs)}, which no machine of the Ray cluster has; ask for less, or say how "
            "many workers there will be when machines have joined"
        )
    return room


def _describe(resources: Mapping[str, float]) -> str:
    known = [f"{resources[name]:g} {name}" for name in ("CPU", "GPU") if name in resources]
    return " and ".join(known) or "nothing"
