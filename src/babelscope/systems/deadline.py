"""HTTP requests that end in time as a whole: httpx bounds each read, and a server may drip bytes for ever."""

from __future__ import annotations

import contextlib
import ssl
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpcore
import httpx


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, clock: Deadlines) -> None:
        self._inner, self._clock = inner, clock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._clock.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._clock.left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        secure = self._inner.start_tls(ssl_context, server_hostname, self._clock.left(timeout))
        return _Stream(secure, self._clock)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class Deadlines(httpcore.SyncBackend):
    """Connections on which nothing lasts longer than the calling thread has time."""

    def __init__(self) -> None:
        self._thread = threading.local()

    @contextlib.contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """All that this thread does on its connections in the block, bounded in sum."""
        self._thread.end = time.monotonic() + seconds
        try:
            yield
        finally:
            del self._thread.end

    def left(self, timeout: float | None) -> float | None:
        """Seconds that an operation may take; an error if there are none."""
        end: float | None = getattr(self._thread, "end", None)
        if end is None:
            return timeout
        if (left := end - time.monotonic()) <= 0:
            raise httpcore.ReadTimeout("the answer took too long")
        return left if timeout is None else min(left, timeout)

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *args: Any, **kwargs: Any
    ) -> httpcore.NetworkStream:
        return _Stream(super().connect_tcp(host, port, self.left(timeout), *args, **kwargs), self)

    def guard(self, client: httpx.Client) -> None:
        """Make `client`'s connections these; httpx has no public way, so tests hold that this one works."""
        for transport in (client._transport, *client._mounts.values()):
            if isinstance(transport, httpx.HTTPTransport):
                transport._pool._network_backend = self
