"""Any system, remembered on disk: what was answered once is not asked again."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from babelscope.digests import digest_json
from babelscope.errors import BabelscopeError, SystemFailure
from babelscope.systems.asking import (
    ask_sample,
    ask_score,
    ask_top_k,
    ask_translate,
    places,
    scored_as_json,
    scored_from_json,
    top_k_as_json,
    top_k_from_json,
)
from babelscope.systems.base import Budget, Capability, Drawing, Scored, System, Target, TopK, capabilities

# Written into the file's header, so that no other program's database is taken for a cache.
_APPLICATION = 0x42534341
_WAIT_SECONDS = 30.0
_KEYS_A_QUERY = 500

_Question = TypeVar("_Question")
_Answer = TypeVar("_Answer")


def cached(system: System, path: str | Path | None = None) -> Any:
    """`system`, with its answers kept in a file: by default one for all systems, see `default_path`."""
    if not getattr(system, "cacheable", True):
        return system
    return Cached(system, Path(path) if path is not None else default_path())


def default_path() -> Path:
    """$BABELSCOPE_CACHE, or `answers.sqlite` in the user's cache folder."""
    import platformdirs

    stated = os.environ.get("BABELSCOPE_CACHE")
    return Path(stated) if stated else platformdirs.user_cache_path("babelscope") / "answers.sqlite"


class Cached:
    """A system that asks another only what it has not been asked before."""

    def __init__(self, inner: System, path: Path) -> None:
        self.inner = inner
        self.name = inner.name
        self.fingerprint = inner.fingerprint
        self.capabilities: frozenset[Capability] = capabilities(inner)
        self._answers = _Answers(path, self.fingerprint.digest)

    def __getattr__(self, name: str) -> Any:
        """Whatever is not remembered is asked of the system itself."""
        if name == "inner":  # not set yet, as while being copied
            raise AttributeError(name)
        return getattr(self.inner, name)

    def translate(self, sources: Sequence[str], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:
        return self._ask(
            [{"ask": "translate", "source": source, "beam": beam, "n_best": n_best} for source in sources],
            sources,
            lambda missing: ask_translate(self.inner, missing, beam=beam, n_best=n_best),  # type: ignore[arg-type]
        )

    def score(self, pairs: Sequence[tuple[str, Target]]) -> list[Scored]:
        answers = self._ask(
            [{"ask": "score", "source": source, "target": _target(target)} for source, target in pairs],
            pairs,
            lambda missing: [[each] for each in ask_score(self.inner, missing)],  # type: ignore[arg-type]
        )
        return [only for (only,) in answers]

    def sample(
        self, sources: Sequence[str], *, n: int, seed: int, drawing: Drawing | None = None
    ) -> list[list[Scored]]:
        how = dataclasses.asdict(drawing or Drawing())
        return self._ask(
            [{"ask": "sample", "source": source, "n": n, "seed": seed, **how} for source in sources],
            sources,
            lambda missing: ask_sample(self.inner, missing, n=n, seed=seed, drawing=drawing),  # type: ignore[arg-type]
        )

    def top_k(self, sources: Sequence[str], *, k: int, budget: Budget | None = None) -> list[TopK]:
        limits = dataclasses.asdict(budget or Budget())
        return self._remember(
            [{"ask": "top_k", "source": source, "k": k, **limits} for source in sources],
            sources,
            lambda missing: ask_top_k(self.inner, missing, k=k, budget=budget),  # type: ignore[arg-type]
            top_k_as_json,
            top_k_from_json,
        )

    def _ask(
        self,
        requests: Sequence[dict[str, Any]],
        questions: Sequence[_Question],
        ask: Callable[[list[_Question]], list[list[Scored]]],
    ) -> list[list[Scored]]:
        return self._remember(
            requests,
            questions,
            ask,
            lambda answer: [scored_as_json(each) for each in answer],
            lambda answer: [scored_from_json(each) for each in answer],
        )

    def _remember(
        self,
        requests: Sequence[dict[str, Any]],
        questions: Sequence[_Question],
        ask: Callable[[list[_Question]], list[_Answer]],
        write: Callable[[_Answer], Any],
        read: Callable[[Any], _Answer],
    ) -> list[_Answer]:
        """Answers to all questions: remembered ones, and new ones to each different question asked once."""
        written = [json.dumps(request, sort_keys=True) for request in requests]
        known = self._answers.find(written)
        missing = {
            request: question
            for request, question in zip(written, questions, strict=True)
            if request not in known
        }
        if missing:
            asked = list(missing)
            with places(lambda what, number: f"{what} {written.index(asked[number - 1]) + 1}"):
                answers = ask(list(missing.values()))
            new = {request: write(answer) for request, answer in zip(asked, answers, strict=True)}
            self._answers.keep(new)
            known |= new
        # Each is read anew, lest changing one answer change that to the same question elsewhere.
        return [read(known[request]) for request in written]


class _Answers:
    """The answers of one system in an SQLite file that several processes may use at once."""

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path = path
        self._fingerprint = fingerprint
        self._lock = threading.Lock()
        self._warned = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BabelscopeError(f"{path.parent} cannot hold a cache: {error.strerror}") from error
        self._database = self._open()

    def find(self, requests: Sequence[str]) -> dict[str, Any]:
        """The answers, as JSON, to those of `requests` that were answered before."""
        asked = {self._key(request): request for request in requests}
        keys = list(asked)
        found: dict[str, Any] = {}
        for start in range(0, len(keys), _KEYS_A_QUERY):
            some = keys[start : start + _KEYS_A_QUERY]
            query = f"SELECT * FROM answers WHERE key IN ({','.join('?' * len(some))})"
            try:
                with self._lock:
                    rows = self._database.execute(query, some).fetchall()
            except (sqlite3.Error, UnicodeDecodeError) as error:
                self._fail(error)
            for key, fingerprint, request, answer, check in rows:
                # The key should do; but a damaged row, or two requests of one hash, must never pass.
                if (fingerprint, request) != (self._fingerprint, asked.get(key)) or check != _check(
                    key, answer
                ):
                    raise BabelscopeError(self._damaged("a row does not belong to its key"))
                found[request] = json.loads(answer)
        return found

    def keep(self, answers: dict[str, Any]) -> None:
        """Remember answers (JSON), all in one transaction; if the disk refuses, warn once and go on without."""
        rows = []
        for request, content in answers.items():
            key, answer = self._key(request), json.dumps(content)
            rows.append((key, self._fingerprint, request, answer, _check(key, answer)))
        with self._lock:
            try:
                self._database.execute("BEGIN IMMEDIATE")
                # Another process may have asked the same meanwhile; either answer will do.
                self._database.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?)", rows)
                self._database.execute("COMMIT")
            except sqlite3.Error as error:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                if _is_damage(error):
                    self._fail(error)
                if not self._warned:
                    self._warned = True
                    warnings.warn(
                        f"{self.path} cannot be written ({error}); going on without remembering answers",
                        RuntimeWarning,
                        stacklevel=2,
                    )

    def _key(self, request: str) -> str:
        return digest_json([self._fingerprint, request])

    def _open(self) -> sqlite3.Connection:
        """Open the file, or set it up if it is new; two processes may do so at the same moment."""
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                database = sqlite3.connect(
                    self.path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
                )
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
                if getattr(error, "sqlite_errorname", "") != "SQLITE_BUSY" or time.monotonic() > deadline:
                    self._fail(error)
                time.sleep(0.02)

    def _set_up(self, database: sqlite3.Connection) -> None:
        database.execute("PRAGMA journal_mode = WAL")
        # In WAL mode this survives any kill; only a power cut can lose the last answers.
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("BEGIN IMMEDIATE")
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != _APPLICATION and tables:
            raise BabelscopeError(f"{self.path} is a database of something else; give the cache another file")
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute(
            "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, "
            "request TEXT NOT NULL, answer TEXT NOT NULL, digest TEXT NOT NULL)"
        )
        database.execute("COMMIT")

    def _fail(self, error: sqlite3.Error | UnicodeDecodeError) -> NoReturn:
        if isinstance(error, UnicodeDecodeError) or _is_damage(
            error
        ):  # SQLite's message has what is damaged in it
            raise BabelscopeError(self._damaged(str(error))) from error
        if error.sqlite_errorname.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM")):
            raise BabelscopeError(f"{self.path} cannot be used as a cache: {error}") from error
        raise SystemFailure(f"{self.path}, the cache, failed: {error}") from error

    def _damaged(self, reason: str) -> str:
        return (
            f"{self.path}, the cache, is damaged ({reason}); move it away or delete it, and its answers "
            "will be asked again"
        )


def _is_damage(error: sqlite3.Error) -> bool:
    # An error without SQLite's name for it is Python's: text that cannot be decoded.
    name = getattr(error, "sqlite_errorname", "SQLITE_CORRUPT")
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def _check(key: str, answer: str) -> str:
    return hashlib.sha256(f"{key}{answer}".encode()).hexdigest()


def _target(target: Target) -> Any:
    """A target as part of a request; an earlier answer counts by its tokens, which its text may not give."""
    if isinstance(target, str):
        return target
    return {"text": target.text, "tokens": list(target.tokens), "notes": list(target.notes)}
