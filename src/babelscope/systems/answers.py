"""Answers kept by question in an SQLite file, which several processes may use at once."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import stat
import threading
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError, SystemFailure

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
        self._change("DELETE FROM answers WHERE key = ?", [(self._key(request),) for request in requests])

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
