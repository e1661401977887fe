"""One SQLite store of answers and finished parts: the cache, and what unfinished commands resume from."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import hashlib
import json
import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

import platformdirs

from babelscope.core.system import (
    Budget,
    Drawing,
    Reply,
    Scored,
    System,
    as_question,
    properties,
)
from babelscope.systems.contract import (
    ASK,
    Wrapper,
    renumber_errors,
    scored_as_json,
    scored_from_json,
    top_k_as_json,
    top_k_from_json,
)
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.files import open_regular
from babelscope.util.version import __version__

ANSWERS_VERSION = 1
"""Raised when a fix changes what a system of ours answers, so that no stored answer from before is used."""

# In the file's header, so that another program's database is not taken for ours, nor one of another form.
_APPLICATION, _FORMAT = 0x42534341, 3
_TABLE = "answers (key TEXT PRIMARY KEY, request TEXT, answer TEXT, digest TEXT, at REAL)"
_NAMES = {"answers", "sqlite_autoindex_answers_1"}
_DELETE = "DELETE FROM answers WHERE key = ?"
_WAIT_SECONDS = 30.0
_STALE_SECONDS = 30 * 24 * 3600.0

_Value = TypeVar("_Value")


class Store:
    """JSON values by request (a text), in a file that several processes may use, or without a path in memory.

    `owner` is part of each key: the system whose answers these are, or the work whose parts they are. What a
    `temporary` store finds and keeps is removed by `forget`.
    """

    def __init__(self, path: Path | None, owner: str, *, temporary: bool = False) -> None:
        self.path, self._owner, self._temporary = path, owner, temporary
        self._lock = threading.Lock()
        self._warned: set[str] = set()
        self._found: set[str] = set()
        self._kept: set[str] = set()
        self._database = self._open()

    def find(self, requests: Iterable[str]) -> dict[str, Any]:
        """Stored values of those of `requests` that have one; damaged ones are dropped."""
        found: dict[str, Any] = {}
        damaged = []
        for request in dict.fromkeys(requests):
            key = self._key(request)
            try:
                with self._lock:
                    query = "SELECT answer, digest FROM answers WHERE key = ?"
                    row = self._database.execute(query, [key]).fetchone()
            except sqlite3.Error as error:
                self._fail(error)
            if row is None:
                continue
            try:
                if row[1] != _digest(key, row[0]):
                    raise ValueError("damaged")
                found[request] = json.loads(row[0])
            except (ValueError, RecursionError):
                damaged.append(request)
        if damaged:
            self.drop(damaged)
        if self._temporary:
            self._found.update(map(self._key, found))
        return found

    def keep(self, values: Mapping[str, Any]) -> None:
        """Store values, all in one transaction; if the disk refuses, warn once and continue without."""
        rows = []
        for request, value in values.items():
            key, answer = self._key(request), json.dumps(value)
            rows.append((key, request, answer, _digest(key, answer), time.time()))
        if self._temporary:
            self._kept.update(row[0] for row in rows)
        # Another process may have asked the same meanwhile; either answer will do.
        self._change("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?)", rows)

    def part(self, request: str, make: Callable[[], _Value]) -> _Value:
        """The stored value, or what `make` returns, which is then stored; either way as JSON returns it."""
        found = self.find([request])
        if request not in found:
            found[request] = json.loads(json.dumps(make()))
            self.keep(found)
        value: _Value = found[request]
        return value

    def drop(self, requests: Sequence[str]) -> None:
        """Remove values that do not fit their requests, and warn once."""
        self._warn(
            f"{self.path}: {len(requests)} answers there do not fit their questions; they are asked again",
            kind="dropped",
        )
        self.remove(requests)

    def remove(self, requests: Iterable[str]) -> None:
        """Remove values."""
        self._change(_DELETE, [(self._key(request),) for request in requests])

    def forget(self, others: Sequence[Store] = ()) -> int:
        """Remove all that this store and others of the same file found or kept; the number only found."""
        stores = [self, *others]
        try:
            # In one transaction: a kill leaves all of it or nothing.
            self._change(_DELETE, [(key,) for each in stores for key in each._found | each._kept])
        except BabelscopeError as error:  # the command has ended well all the same
            self._warn(str(error), kind="damaged")
        return sum(len(each._found - each._kept) for each in stores)

    def _change(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        with self._lock:
            try:
                self._database.execute("BEGIN IMMEDIATE")
                self._database.executemany(statement, rows)
                self._database.execute("COMMIT")
            except sqlite3.Error as error:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                if _is_damage(error):
                    self._fail(error)
                self._warn(f"{self.path} cannot be written ({error}); continuing without it", kind="full")

    def _warn(self, message: str, *, kind: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(message, RuntimeWarning, stacklevel=3)

    def _key(self, request: str) -> str:
        return digest_json([self._owner, request])

    def _open(self) -> sqlite3.Connection:
        """Open the file, or set it up if it is new; two processes may do so at the same moment."""
        if self.path is not None:
            _make_private(self.path)
        # SQLite's own name for a temporary file that goes with the connection is "".
        name = self.path or ""
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                database = sqlite3.connect(
                    name, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
                )
                # Text that is not UTF-8 then differs from its digest, and is dropped.
                database.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
                self._set_up(database)
                return database
            except (sqlite3.Error, UnicodeDecodeError) as error:
                # Changing to WAL does not wait for others, whatever the timeout.
                if not _is(error, "SQLITE_BUSY") or time.monotonic() > deadline:
                    self._fail(error)
                time.sleep(0.02)

    def _set_up(self, database: sqlite3.Connection) -> None:
        # Before anything is changed: another program's file, or one with views and triggers, is left alone.
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("BEGIN")  # so that no other process sets it up between the checks
        names = {name for (name,) in database.execute("SELECT name FROM sqlite_master").fetchall()}
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (form,) = database.execute("PRAGMA user_version").fetchone()
        database.execute("COMMIT")
        if (application != _APPLICATION and names) or not names <= _NAMES:
            raise BabelscopeError(f"{self.path} is a database of something else; give the cache another file")
        if names and form != _FORMAT:
            raise BabelscopeError(
                f"{self.path} was made by {'an older' if form < _FORMAT else 'a newer'} version; delete it, and "
                "its answers will be asked again"
            )
        # What is removed neither takes space nor stays readable in the file.
        database.execute("PRAGMA auto_vacuum = FULL")
        database.execute("PRAGMA secure_delete = ON")
        # In WAL mode this survives any kill; only a power cut can lose the last answers.
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("BEGIN IMMEDIATE")
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute(f"PRAGMA user_version = {_FORMAT}")
        database.execute(f"CREATE TABLE IF NOT EXISTS {_TABLE}")
        database.execute("COMMIT")

    def _fail(self, error: sqlite3.Error | UnicodeDecodeError) -> NoReturn:
        if _is_damage(error):
            raise BabelscopeError(
                f"{self.path} is damaged ({error}); move it away or delete it, and its answers will be asked again"
            ) from error
        if _is(error, "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM"):
            raise BabelscopeError(f"{self.path} cannot be used as a cache: {error}") from error
        raise SystemFailure(f"{self.path} failed: {error}") from error


def _is(error: Exception, *names: str) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(names)


def _is_damage(error: Exception) -> bool:
    # Python's own error, without a name of SQLite: the file's text is not UTF-8.
    return not hasattr(error, "sqlite_errorname") or _is(error, "SQLITE_CORRUPT", "SQLITE_NOTADB")


def _digest(key: str, answer: str) -> str:
    return hashlib.sha256(f"{key}{answer}".encode("utf-8", "surrogateescape")).hexdigest()


def _make_private(path: Path) -> None:
    """Create the file for its owner only; in the user's own folders, restrict an existing file and folder too."""
    own = path.parent in (_cache_folder(), _state_folder())
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open_regular(path, create=True, private=True) as file:
            if own:
                path.parent.chmod(0o700)
                os.fchmod(file.fileno(), 0o600)
    except (OSError, BabelscopeError) as error:
        reason = getattr(error, "strerror", error)
        raise BabelscopeError(f"{path} cannot be used as a cache: {reason}") from error


def _cache_folder() -> Path:
    return platformdirs.user_cache_path("babelscope")


def _state_folder() -> Path:
    return platformdirs.user_state_path("babelscope")


# --- Unfinished work: stored as it comes, removed when the command has ended well --------------------------------

_unfinished: list[Store] = []


def _open_unfinished(owner: str) -> Store:
    """The store in the user's state folder; one in memory, with a warning, if the file cannot be used."""
    try:
        store = Store(_state_folder() / "unfinished.sqlite", owner, temporary=True)
        store._change("DELETE FROM answers WHERE at < ?", [(time.time() - _STALE_SECONDS,)])
        return store
    except BabelscopeError as error:
        warnings.warn(f"{error}; nothing is kept should this command fail", RuntimeWarning, stacklevel=3)
        return Store(None, owner)


def _until_done(owner: str) -> Store:
    """A store whose values are kept until `forget_unfinished`."""
    _unfinished.append(_open_unfinished(owner))
    return _unfinished[-1]


def forget_unfinished() -> None:
    """Remove the answers of servers that were kept for resuming, after the command has ended well."""
    earlier = sum(store.forget() for store in _unfinished)
    _unfinished.clear()
    if earlier:
        warnings.warn(
            f"{earlier} answers kept from an earlier command that did not end were used again; "
            "--no-cache asks anew",
            RuntimeWarning,
            stacklevel=2,
        )


@contextlib.contextmanager
def resuming(work: Mapping[str, Any], systems: Sequence[Any] = ()) -> Iterator[tuple[Store, list[Any]]]:
    """A store for parts of `work`, and `systems` with their answers stored call by call.

    Only the same work by the same version finds its parts. All is removed when the block ends without an error, so
    the block must write all output.
    """
    parts = _open_unfinished(digest_json([__version__, work]))
    others: list[Store] = []

    def store(owner: str) -> Store:
        others.append(_open_unfinished(owner))
        return others[-1]

    yield parts, [_with_store(system, store, by_call=True) for system in systems]
    parts.forget(others)


# --- Systems whose answers are stored ----------------------------------------------------------------------------


def cached(system: System, path: str | Path | None = None) -> Any:
    """`system` with its answers stored in a file: by default one for all systems, see `default_path`."""
    where = Path(path) if path is not None else default_path()
    return _with_store(system, functools.partial(Store, where))


def default_path() -> Path:
    """$BABELSCOPE_CACHE, or `answers.sqlite` in the user's cache folder."""
    stated = os.environ.get("BABELSCOPE_CACHE")
    return Path(stated) if stated else _cache_folder() / "answers.sqlite"


def with_store(system: System, cache: bool | Path | None) -> Any:
    """`system` as a command asks it: cached in a file, or in the default one (True).

    None stores the answers of a `costly` system (a server) until `forget_unfinished`; False stores nothing.
    """
    if cache:
        return cached(system, cache if isinstance(cache, Path) else None)
    if cache is None and properties(system).costly:
        return _with_store(system, _until_done)
    return system


def _with_store(system: Any, store: Callable[[str], Store], *, by_call: bool = False) -> Any:
    """A server stores raw answers itself (`use_store`); what others answer is stored as JSON."""
    stated = properties(system)
    if stated.stored or isinstance(system, Cached) or (stated.asked_as_a_whole and not by_call):
        return system
    if not hasattr(system, "use_store"):
        return Cached(system, store, by_call=by_call)
    if not by_call:  # whether a server's answers are stored was decided when it was opened
        system.use_store(store)
    return system


class _Form(NamedTuple):
    """An answer as JSON and back; `read` raises what wrong JSON makes it raise."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


class Cached(Wrapper):
    """Asks another system only what is not stored.

    Answers are stored by question, or by call: then a batch is asked as a whole, so that floats stay the same.
    """

    def __init__(self, inner: System, store: Callable[[str], Store], *, by_call: bool = False) -> None:
        super().__init__(inner)
        self.fingerprint = inner.fingerprint
        self._by_call = by_call
        self._store = store(digest_json([self.fingerprint.digest, ANSWERS_VERSION]))

    def _ask(self, method: str, asked: Sequence[Any], how: Mapping[str, Any]) -> list[Any]:
        ask = functools.partial(ASK[method], self.inner, **how)
        form = _form(method, how)
        requests = [json.dumps(_request(method, each, how), sort_keys=True) for each in asked]
        if not self._by_call:
            return self._answers(requests, asked, ask, form)
        whole = _Form(lambda call: list(map(form.write, call)), lambda call: list(map(form.read, call)))
        call = f"{method} {len(asked)} {digest_json(requests)}"
        answers: list[Any] = self._answers([call], [asked], lambda calls: [ask(calls[0])], whole)[0]
        return answers

    def _answers(
        self,
        requests: Sequence[str],
        asked: Sequence[Any],
        ask: Callable[[Sequence[Any]], list[Any]],
        form: _Form,
    ) -> list[Any]:
        """Stored answers, and new ones to each different request asked once."""
        ready: dict[str, Any] = {}
        unfit = []
        for request, answer in self._store.find(requests).items():
            # A stored answer that cannot be read is asked again, whoever wrote it.
            try:
                ready[request] = form.read(answer)
            except (BabelscopeError, LookupError, TypeError, ValueError, AttributeError):
                unfit.append(request)
        if unfit:
            self._store.drop(unfit)
        missing = {name: each for name, each in zip(requests, asked, strict=True) if name not in ready}
        if missing:
            first = {name: number for number, name in reversed(list(enumerate(requests, 1)))}
            places = [first[name] for name in missing]
            with contextlib.nullcontext() if self._by_call else renumber_errors(places):
                answers = ask(list(missing.values()))
            new = {name: form.write(answer) for name, answer in zip(missing, answers, strict=True)}
            self._store.keep(new)
            ready |= {name: form.read(answer) for name, answer in new.items()}
        # Repeated questions get lists of their own, so that changing one changes no other.
        return [copy.copy(ready[name]) for name in requests]


def _request(method: str, asked: Any, how: Mapping[str, Any]) -> dict[str, Any]:
    """A call about one question as JSON; the whole question counts, so that another context is another request."""
    question, target = asked if method == "score" else (asked, "")
    request = {"ask": method, "source": as_question(question).as_json(), **how}
    if method == "score":
        # An earlier answer counts by its tokens, which its text may not give.
        request["target"] = target
        if isinstance(target, Scored):
            request["target"] = {**scored_as_json(target), "logprobs": None}
    if method == "sample":
        request |= dataclasses.asdict(request.pop("drawing") or Drawing())
    if method == "top_k":
        request |= dataclasses.asdict(request.pop("budget") or Budget())
    for name in ("lengths", "diversity"):
        if given := request.pop(name, None):
            request[name] = dataclasses.asdict(given)
    return request


def _form(method: str, how: Mapping[str, Any]) -> _Form:
    if method == "top_k":
        return _Form(top_k_as_json, top_k_from_json)
    if method == "reply":
        return _Form(dataclasses.asdict, lambda stored: Reply(**stored))
    if method == "score":
        return _Form(scored_as_json, scored_from_json)
    counts = range(how["n"], how["n"] + 1) if method == "sample" else range(1, how["n_best"] + 1)

    def read(stored: Any) -> list[Scored]:
        if len(stored) not in counts:
            raise ValueError(f"{len(stored)} answers")
        return list(map(scored_from_json, stored))

    return _Form(lambda answers: list(map(scored_as_json, answers)), read)
