"""Any system, spread over Ray workers: the same answers in the same order, from many processes."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import ipaddress
import itertools
import logging
import math
import os
import queue
import secrets
import shutil
import socket
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from babelscope.core.results import differences
from babelscope.core.system import (
    Asked,
    Capability,
    Fingerprint,
    Properties,
    System,
    as_question,
    capabilities,
    properties,
    sources_of,
)
from babelscope.systems.contract import ASK, Decorator, renumber_errors
from babelscope.util.errors import BabelscopeError, SystemFailure, install_hint
from babelscope.util.files import open_regular
from babelscope.util.text import shorten
from babelscope.util.version import __version__

# Answers pass through shared memory, of which a container often has little.
_STORE_BYTES = 128 * 2**20
# Ray's sockets have names of up to 65 characters in its folder, and a socket's path at most 107.
_LONGEST_FOLDER = 40
_QUIET = {"log_to_driver": False, "logging_level": logging.ERROR}

_cleanups: list[contextlib.ExitStack] = []
"""Clean-up for the cluster that this process started."""


def import_ray() -> Any:
    try:
        import ray
    except ModuleNotFoundError as error:
        raise BabelscopeError(
            f"spreading work over processes needs Ray; install it with: {install_hint('ray')}"
        ) from error
    return ray


def connect(workers: int | None, address: str | None, cpus: float) -> None:
    """Join the cluster at `address` ("auto": this user's own on this machine), or start one for ourselves."""
    ray = import_ray()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if not ray.is_initialized():
        _clean_up()  # somebody else has ended what was started here before
    # Ray puts the working folder on the import path of its workers; code in a study's folder must not get there.
    with contextlib.chdir(Path(__file__).parents[2]):
        if address:
            _join_cluster(ray, address)
        else:
            _start(ray, math.ceil(workers * cpus) if workers else len(os.sched_getaffinity(0)))
    # A worker's death is announced on stdout, where only results belong, and there is no public switch.
    ray._private.worker._worker_logs_enabled = False


def disconnect() -> None:
    """Leave the cluster; one that was started here ends, and its files are removed."""
    import_ray().shutdown()
    _clean_up()


def _clean_up() -> None:
    while _cleanups:
        _cleanups.pop().close()


def reason(error: Exception) -> str:
    """The first line of what Ray says, which goes on for many."""
    lines = [line.strip() for line in str(error).split("\n") if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__


def _join_cluster(ray: Any, address: str) -> None:
    found = _own_cluster(ray) if address == "auto" else address
    try:
        _check_reachable(found)
        ray.init(address=found, **_QUIET)
    except (OSError, RuntimeError, ValueError) as error:
        raise BabelscopeError(
            f"no Ray cluster can be joined at {found} ({reason(error)}); start one with: ray start --head; where it "
            "has a token, set RAY_AUTH_MODE=token"
        ) from error


def _own_cluster(ray: Any) -> str:
    """Where this user's cluster on this machine is: as RAY_ADDRESS says, or what `ray start` noted.

    Ray would take any note, and any process that looks like its own; but everybody can write into its folder.
    """
    if stated := os.environ.get("RAY_ADDRESS"):
        return stated
    note = Path(ray._common.utils.get_ray_address_file(None))
    try:
        with open_regular(note) as file:
            owner, found = os.fstat(file.fileno()).st_uid, file.read(1000).decode("utf-8", "replace").strip()
    except BabelscopeError:
        raise BabelscopeError(
            "auto: no Ray cluster of yours is known on this machine; start one with: ray start --head, or give its "
            "address (HOST:PORT)"
        ) from None
    if owner not in (os.getuid(), 0):
        raise BabelscopeError(
            f"{note} was written by another user of this machine (number {owner}), so the cluster that it names is "
            "not joined; if you trust it, give its address (HOST:PORT)"
        )
    # As Ray does for a cluster that it found by itself.
    with contextlib.suppress(ImportError, AttributeError):
        ray._private.authentication.authentication_token_setup.maybe_enable_token_auth_if_token_available(
            warn_if_disabled=False
        )
    return found


def _start(ray: Any, cores: int) -> None:
    with contextlib.ExitStack() as stack:
        folder = _private_folder()
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        token = folder / "token"
        with open_regular(token, create=True, private=True) as file:
            file.write(secrets.token_hex(32).encode())
        stack.enter_context(_loopback_only(ray, token))
        try:
            ray.init(
                address="local",  # and nothing that a file or the environment names
                _node_ip_address="127.0.0.1",
                _temp_dir=str(folder / "r"),  # Ray gives its folder mode 0777, so it lies in ours
                num_cpus=cores,
                include_dashboard=False,
                object_store_memory=_STORE_BYTES,
                **_QUIET,
            )
        except (OSError, RuntimeError, ValueError) as error:
            raise SystemFailure(f"Ray cannot be started here: {reason(error)}") from error
        _cleanups.append(stack.pop_all())
    host = ray.get_runtime_context().gcs_address.rpartition(":")[0].strip("[]")
    if not ipaddress.ip_address(host).is_loopback:
        warnings.warn(
            f"this version of Ray ({ray.__version__}) listens on {host}, which other machines may reach; only its "
            "token keeps them out",
            RuntimeWarning,
            stacklevel=2,
        )


def _private_folder() -> Path:
    """A new folder with mode 0700, with a path that is short enough for sockets."""
    prefix = "babelscope-ray-"
    above = tempfile.gettempdir()
    if len(above) + 1 + len(prefix) + 8 > _LONGEST_FOLDER:
        above = "/tmp"
    return Path(tempfile.mkdtemp(prefix=prefix, dir=above))


@contextlib.contextmanager
def _loopback_only(ray: Any, token: Path) -> Iterator[None]:
    """Environment and switches under which Ray binds to loopback and asks for our token, until the block ends."""
    # The constant does more than its name says: when False, Ray binds nodes to the loopback address.
    constants = ray._private.ray_constants
    clusters = constants.ENABLE_RAY_CLUSTER
    stated = {
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_AUTH_TOKEN": None,
        "RAY_ADDRESS": None,
    }
    before = {name: os.environ.get(name) for name in stated}
    try:
        constants.ENABLE_RAY_CLUSTER = False
        _set_environment(stated)
        _read_environment_again()
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = clusters
        _set_environment(before)
        _read_environment_again()


def _set_environment(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _read_environment_again() -> None:
    """Ray remembers how it authenticates from when it was imported."""
    with contextlib.suppress(ImportError, AttributeError):
        raylet: Any = importlib.import_module("ray._raylet")
        raylet.Config.initialize("")
        raylet.AuthenticationTokenLoader.instance().reset_cache()


def _check_reachable(address: str) -> None:
    """Raise OSError at once if nothing listens at `address`; Ray would retry for minutes."""
    host, colon, port = address.rpartition("//")[2].rpartition(":")
    if colon:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


@atexit.register
def _disconnect_at_exit() -> None:
    if _cleanups:
        disconnect()


# --- Ray workers that answer for systems: a worker that dies is replaced -------------------------------------------


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
    from babelscope.systems.registry import open_system

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
