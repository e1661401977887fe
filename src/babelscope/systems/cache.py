"""Answers kept by question in an SQLite file, which several processes may use at once."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import sqlite3
import stat
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from babelscope.core.system import (
    Asked,
    Budget,
    Capability,
    Drawing,
    LengthRule,
    Reply,
    Scored,
    System,
    Target,
    TopK,
    as_question,
    capabilities,
    properties,
)
from babelscope.systems.contract import (
    ASK,
    renumber_errors,
    scored_as_json,
    scored_from_json,
    top_k_as_json,
    top_k_from_json,
)
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.journal import Keep

# Written into the file's header, so that no other program's database is taken for ours.
_APPLICATION = 0x42534341
# Raised when the file changes its form. Files from before 0.2.0 have 0.
_FORMAT = 2
_WAIT_SECONDS = 30.0
_KEYS_A_QUERY = 500
_OURS = {"answers", "sqlite_autoindex_answers_1"}


class AnswerStore:
    """The answers (JSON) of one system, by request (a text), in a file or, without a path, for this process only."""

    def __init__(self, path: Path | None, identity: str) -> None:
        self.path = path
        self._identity = identity
        self._lock = threading.Lock()
        self._warned: set[str] = set()
        self._database = self._open()

    def find(self, requests: Iterable[str]) -> dict[str, Any]:
        """The answers to those of `requests` that were answered before; a damaged one is dropped."""
        asked = {self._key(request): request for request in requests}
        keys = list(asked)
        found: dict[str, Any] = {}
        damaged: list[str] = []
        for start in range(0, len(keys), _KEYS_A_QUERY):
            some = keys[start : start + _KEYS_A_QUERY]
            marks = ",".join("?" * len(some))
            query = f"SELECT key, fingerprint, request, answer, digest FROM answers WHERE key IN ({marks})"
            try:
                with self._lock:
                    rows = self._database.execute(query, some).fetchall()
            except (sqlite3.Error, UnicodeDecodeError) as error:
                self._fail(error)
            for key, identity, request, answer, check in rows:
                # The key should do; but a damaged row, or two requests of one hash, must never pass.
                if (identity, request) != (self._identity, asked.get(key)) or check != _check(key, answer):
                    damaged += [asked[key]] if key in asked else []
                    continue
                try:
                    found[request] = json.loads(answer)
                except (ValueError, RecursionError):
                    damaged.append(request)
        if damaged:
            self.drop(damaged)
        return found

    def keep(self, answers: Mapping[str, Any]) -> None:
        """Remember answers, all in one transaction; if the disk refuses, warn once and go on without."""
        rows = []
        for request, content in answers.items():
            key, answer = self._key(request), json.dumps(content)
            rows.append((key, self._identity, request, answer, _check(key, answer)))
        # Another process may have asked the same meanwhile; either answer will do.
        self._change("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?)", rows)

    def drop(self, requests: Sequence[str]) -> None:
        """Forget answers that cannot be used, so that they are asked again, and warn of them once."""
        self._warn(
            "dropped",
            f"{self.path}: {len(requests)} answers there do not fit their questions; they are asked again",
        )
        self.remove(requests)

    def remove(self, requests: Iterable[str]) -> None:
        """Forget answers that turned out to be unusable, so that a later command asks again."""
        self._change("DELETE FROM answers WHERE key = ?", [(self._key(request),) for request in requests])

    def _change(self, statement: str, rows: Sequence[tuple[str, ...]]) -> None:
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
                self._warn(
                    "full", f"{self.path} cannot be written ({error}); going on without remembering answers"
                )

    def _warn(self, kind: str, message: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(message, RuntimeWarning, stacklevel=3)

    def _key(self, request: str) -> str:
        return digest_json([self._identity, request])

    def _open(self) -> sqlite3.Connection:
        """Open the file, or set it up if it is new; two processes may do so at the same moment."""
        if self.path is not None:
            _make_private(self.path)
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                database = sqlite3.connect(
                    # SQLite's own name for a temporary file that goes with the connection.
                    self.path or "",
                    timeout=_WAIT_SECONDS,
                    isolation_level=None,
                    check_same_thread=False,
                )
                # Text that is not UTF-8 then differs from what its row says, and is dropped.
                database.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
            except sqlite3.Error as error:
                self._fail(error)
            try:
                self._set_up(database)
                return database
            except BaseException as error:
                database.close()
                if not isinstance(error, sqlite3.Error | UnicodeDecodeError):
                    raise
                # Changing to WAL does not wait for others, whatever the timeout.
                if (
                    not getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")
                    or time.monotonic() > deadline
                ):
                    self._fail(error)
                time.sleep(0.02)

    def _set_up(self, database: sqlite3.Connection) -> None:
        # Before anything is changed: another program's file, or one with views and triggers, is left alone.
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("BEGIN")  # so that no other process sets it up between the two checks
        names = {name for (name,) in database.execute("SELECT name FROM sqlite_master").fetchall()}
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (stated,) = database.execute("PRAGMA user_version").fetchone()
        database.execute("COMMIT")
        if (application != _APPLICATION and names) or not names <= _OURS:
            raise BabelscopeError(f"{self.path} is a database of something else; give the cache another file")
        if names and stated != _FORMAT:
            made = "a version before 0.2.0" if stated < _FORMAT else "a newer version"
            raise BabelscopeError(
                f"{self.path}, the cache, was made by {made}; delete it, and its answers will be asked again"
            )
        database.execute("PRAGMA journal_mode = WAL")
        # In WAL mode this survives any kill; only a power cut can lose the last answers.
        database.execute("PRAGMA synchronous = NORMAL")
        # What is forgotten must not stay readable in the file's free pages.
        database.execute("PRAGMA secure_delete = ON")
        database.execute("BEGIN IMMEDIATE")
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute(f"PRAGMA user_version = {_FORMAT}")
        database.execute(
            "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, "
            "request TEXT NOT NULL, answer TEXT NOT NULL, digest TEXT NOT NULL)"
        )
        database.execute("COMMIT")

    def _fail(self, error: sqlite3.Error | UnicodeDecodeError) -> NoReturn:
        if _is_damage(error):
            raise BabelscopeError(
                f"{self.path}, the cache, is damaged ({error}); move it away or delete it, and its answers "
                "will be asked again"
            ) from error
        if getattr(error, "sqlite_errorname", "").startswith(
            ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM")
        ):
            raise BabelscopeError(f"{self.path} cannot be used as a cache: {error}") from error
        raise SystemFailure(f"{self.path}, the cache, failed: {error}") from error


class UntilDone(AnswerStore):
    """Answers of a command that has not ended well yet: kept as they come, forgotten when it has."""

    def __init__(self, path: Path, identity: str) -> None:
        super().__init__(path, identity)
        self._used: set[str] = set()
        self._own: set[str] = set()

    def find(self, requests: Iterable[str]) -> dict[str, Any]:
        found = super().find(requests)
        self._used.update(map(self._key, found))
        return found

    def keep(self, answers: Mapping[str, Any]) -> None:
        self._own.update(map(self._key, answers))
        super().keep(answers)

    def forget(self) -> int:
        """Delete what this process used; the number of answers that an earlier one had kept."""
        earlier = len(self._used - self._own)
        try:
            self._change("DELETE FROM answers WHERE key = ?", [(key,) for key in self._used | self._own])
        except BabelscopeError as error:  # the command has ended well all the same
            self._warn("damaged", str(error))
        self._used, self._own = set(), set()
        return earlier


_until_done: list[UntilDone] = []


def store_until_done(identity: str) -> AnswerStore:
    """Where the answers of a costly system are kept until `forget_unfinished`; in memory if no file can be had."""
    import platformdirs

    path = platformdirs.user_state_path("babelscope") / "unfinished.sqlite"
    try:
        _until_done.append(UntilDone(path, identity))
    except BabelscopeError as error:
        warnings.warn(f"{error}; answers are not kept should this command fail", RuntimeWarning, stacklevel=2)
        return AnswerStore(None, identity)
    return _until_done[-1]


def forget_unfinished() -> None:
    """Delete the answers kept for resuming, after the command has ended well."""
    earlier = sum(each.forget() for each in _until_done)
    _until_done.clear()
    if earlier:
        warnings.warn(
            f"{earlier} answers kept from an earlier command that did not end were used again; "
            "--no-cache asks anew",
            RuntimeWarning,
            stacklevel=2,
        )


def _make_private(path: Path) -> None:
    """A new file is its owner's only, and so is a new folder; in the user's own folders, old ones become so."""
    import platformdirs

    own = path.parent in (
        platformdirs.user_cache_path("babelscope"),
        platformdirs.user_state_path("babelscope"),
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if own:
            path.parent.chmod(0o700)
    except OSError as error:
        raise BabelscopeError(f"{path.parent} cannot hold a cache: {error.strerror}") from error
    try:
        descriptor = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600
        )
    except OSError as error:
        raise BabelscopeError(f"{path} cannot be used as a cache: {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise BabelscopeError(f"{path} cannot be used as a cache: it is no regular file")
        if own:
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def _is_damage(error: sqlite3.Error | UnicodeDecodeError) -> bool:
    # Without SQLite's name for it, it is Python's: SQLite's message has what is damaged in it, which is no UTF-8.
    name = getattr(error, "sqlite_errorname", "SQLITE_CORRUPT")
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def _check(key: str, answer: str) -> str:
    return hashlib.sha256(f"{key}{answer}".encode("utf-8", "surrogateescape")).hexdigest()


class Decorator(abc.ABC):
    """A system all of whose calls come together in one: `_ask`."""

    @abc.abstractmethod
    def _ask(self, method: str, asked: Sequence[Any], how: Mapping[str, Any]) -> list[Any]:
        """The answers to questions, or to pairs of them and targets: what `asking.ASK[method]` gives."""

    def translate(
        self,
        questions: Sequence[Asked],
        *,
        beam: int = 5,
        n_best: int = 1,
        length_penalty: float | None = None,
    ) -> list[list[Scored]]:
        # Only what is said is part of a request, so that answers stored before are found.
        said = {} if length_penalty is None else {"length_penalty": length_penalty}
        return self._ask("translate", questions, {"beam": beam, "n_best": n_best, **said})

    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        return self._ask("score", pairs, {})

    def sample(
        self, questions: Sequence[Asked], *, n: int, seed: int, drawing: Drawing | None = None
    ) -> list[list[Scored]]:
        return self._ask("sample", questions, {"n": n, "seed": seed, "drawing": drawing})

    def top_k(
        self,
        questions: Sequence[Asked],
        *,
        k: int,
        budget: Budget | None = None,
        lengths: LengthRule | None = None,
    ) -> list[TopK]:
        said = {} if lengths is None else {"lengths": lengths}
        return self._ask("top_k", questions, {"k": k, "budget": budget, **said})

    def reply(self, prompts: Sequence[str]) -> list[Reply]:
        return self._ask("reply", prompts, {})


@dataclass(frozen=True, slots=True)
class Form:
    """An answer as JSON and back; `read` raises what wrong JSON makes it raise."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


_Ask = Callable[[Sequence[Any]], list[Any]]
_Requests = Sequence[dict[str, Any]]


class Stored(Decorator):
    """Asks another system what it has no stored answer to."""

    def __init__(self, inner: System) -> None:
        self.inner: Any = inner
        self.name = inner.name
        self.fingerprint = inner.fingerprint
        self.capabilities: frozenset[Capability] = capabilities(inner)

    @abc.abstractmethod
    def _answers(self, requests: _Requests, asked: Sequence[Any], ask: _Ask, form: Form) -> list[Any]:
        """Answers to all requests, stored or from `ask`; a request holds all that its answer depends on."""

    def _ask(self, method: str, asked: Sequence[Any], how: Mapping[str, Any]) -> list[Any]:
        requests = [_request(method, each, how) for each in asked]
        return self._answers(
            requests, asked, functools.partial(ASK[method], self.inner, **how), _form(method, how)
        )


def _request(method: str, asked: Any, how: Mapping[str, Any]) -> dict[str, Any]:
    """A call about one question as JSON; the whole question counts, so that another context is another request."""
    question, target = asked if method == "score" else (asked, "")
    request = {"ask": method, "source": as_question(question).as_json(), **how}
    if method == "score":
        request["target"] = _target(target)
    if method == "sample":
        request |= dataclasses.asdict(request.pop("drawing") or Drawing())
    if method == "top_k":
        request |= dataclasses.asdict(request.pop("budget") or Budget())
        if lengths := request.pop("lengths", None):
            request["lengths"] = dataclasses.asdict(lengths)
    return request


def _target(target: Target) -> Any:
    """An earlier answer counts by its tokens, which its text may not give."""
    if isinstance(target, str):
        return target
    return {"text": target.text, "tokens": list(target.tokens), "notes": list(target.notes)}


def _form(method: str, how: Mapping[str, Any]) -> Form:
    if method == "top_k":
        return Form(top_k_as_json, top_k_from_json)
    if method == "reply":
        return Form(dataclasses.asdict, lambda stored: Reply(stored["text"], stored["ended"]))
    if method == "score":
        return Form(lambda answer: [scored_as_json(answer)], lambda stored: _several(stored, range(1, 2))[0])
    counts = range(how["n"], how["n"] + 1) if method == "sample" else range(1, how["n_best"] + 1)
    return Form(
        lambda answers: [scored_as_json(each) for each in answers], lambda stored: _several(stored, counts)
    )


def _several(stored: Any, counts: range) -> list[Scored]:
    if len(stored) not in counts:
        raise ValueError(f"{len(stored)} answers")
    return [scored_from_json(each) for each in stored]


# --- Any system with its answers cached on disk: no question is asked twice ----------------------------------------


ANSWERS_VERSION = 1
"""Raised when a fix changes what a system of ours answers, so that no cache serves what it answered before."""


def cached(system: System, path: str | Path | None = None) -> Any:
    """`system`, with its answers kept in a file: by default one for all systems, see `default_path`."""
    where = Path(path) if path is not None else default_path()
    return _with_store(system, lambda identity: AnswerStore(where, identity))


def remembering(system: System, cache: bool | Path | None) -> Any:
    """`system` as a command asks it: its answers cached where that is said, in a file or in the default one.

    Unless it is said not to (False), the answers of a system that costs something to ask (`costly`: servers) are at
    least kept until the command has ended well, see `forget_unfinished`.
    """
    if cache:
        return cached(system, cache if isinstance(cache, Path) else None)
    if cache is None and properties(system).costly:
        return _with_store(system, store_until_done)
    return system


def _with_store(system: Any, store: Callable[[str], AnswerStore]) -> Any:
    """A server's answers are kept as they came, by itself; those of others as what was made of them."""
    if properties(system).asked_as_a_whole or properties(system).stored:
        return system
    if hasattr(system, "remember"):
        system.remember(store)
        return system
    return Cached(system, store)


def default_path() -> Path:
    """$BABELSCOPE_CACHE, or `answers.sqlite` in the user's cache folder."""
    import platformdirs

    stated = os.environ.get("BABELSCOPE_CACHE")
    return Path(stated) if stated else platformdirs.user_cache_path("babelscope") / "answers.sqlite"


class Cached(Stored):
    """A system that asks another only what it has not been asked before."""

    def __init__(self, inner: System, store: Callable[[str], AnswerStore]) -> None:
        super().__init__(inner)
        self._store = store(digest_json([self.fingerprint.digest, ANSWERS_VERSION]))

    def __getattr__(self, name: str) -> Any:
        """Whatever is not remembered is asked of the system itself."""
        if name == "inner":  # not set yet, as while being copied
            raise AttributeError(name)
        return getattr(self.inner, name)

    def _answers(self, requests: _Requests, asked: Sequence[Any], ask: _Ask, form: Form) -> list[Any]:
        """Answers to all questions: remembered ones, and new ones to each different question asked once."""
        written = [json.dumps(request, sort_keys=True) for request in requests]
        known = self._store.find(written)
        ready: dict[str, Any] = {}
        for request, answer in known.items():
            # A stored answer that cannot be read is asked again, whoever wrote it.
            with contextlib.suppress(BabelscopeError, LookupError, TypeError, ValueError, AttributeError):
                ready[request] = form.read(answer)
        if unfit := [request for request in known if request not in ready]:
            self._store.drop(unfit)
        missing = {
            request: question
            for request, question in zip(written, asked, strict=True)
            if request not in ready
        }
        if missing:
            first = {request: number for number, request in reversed(list(enumerate(written, 1)))}
            with renumber_errors([first[request] for request in missing]):
                answers = ask(list(missing.values()))
            new = {request: form.write(answer) for request, answer in zip(missing, answers, strict=True)}
            self._store.keep(new)
            known |= new
        # Repeated questions get answers of their own, so that changing one changes no other.
        return [ready.pop(request) if request in ready else form.read(known[request]) for request in written]


class Kept(Stored):
    """Asked in the same order each time the work is begun; one call is one part of the journal."""

    def __init__(self, inner: System, keep: Keep) -> None:
        super().__init__(inner)
        self._keep = keep
        self.capabilities -= {"next_tokens"}
        # Not `at_once`: calls from several threads would come in any order.
        said = properties(inner)
        self.asked_as_a_whole, self.reads_context = said.asked_as_a_whole, said.reads_context
        self.length_penalty = said.length_penalty
        self.reads_source, self.reproducible = said.reads_source, said.reproducible

    def _answers(self, requests: _Requests, asked: Sequence[Any], ask: _Ask, form: Form) -> list[Any]:
        method = requests[0]["ask"] if requests else "ask"
        stored = self._keep(
            f"{method} {len(asked)} with {self.name} {digest_json(requests)[:16]}",
            lambda: [form.write(each) for each in ask(asked)],
        )
        return [form.read(each) for each in stored]
