"""Real servers on loopback that answer as a test says."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

App = Callable[["Request"], Any]
"""What a server answers."""


class Server(ThreadingHTTPServer):
    """Answers POST with `app(request)`, a JSON value or (status, headers, bytes), and keeps what it saw."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, app: App) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.app, self.lock, self.closing = app, threading.Lock(), threading.Event()
        self.seen: list[Request] = []
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def handle_error(self, *_: object) -> None:
        pass  # clients that hang up are part of these tests


@dataclass
class Request:
    """What a server was asked, as its number since it was started, and when."""

    server: Server
    path: str
    headers: Message
    body: Any
    number: int
    at: float = field(default_factory=time.monotonic)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server
    disable_nagle_algorithm = True  # or every answer waits 40 ms for an acknowledgment

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "null")
        with self.server.lock:
            request = Request(self.server, self.path, self.headers, body, len(self.server.seen) + 1)
            self.server.seen.append(request)
        answer = self.server.app(request)
        status, headers, data = (
            answer if isinstance(answer, tuple) else (200, {}, json.dumps(answer).encode())
        )
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(data))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        for start in range(0, len(data), 20) if "Drip" in headers else [None]:
            self.wfile.write(data if start is None else data[start : start + 20])
            if start is not None and self.server.closing.wait(0.1):
                break
        if int(headers.get("Content-Length", 0)) > len(data):
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[App], Server]]:
    """Starts servers, which end with the test."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    servers: list[Server] = []

    def start(app: App) -> Server:
        servers.append(Server(app))
        return servers[-1]

    yield start
    for server in servers:
        server.closing.set()
        server.shutdown()
        server.server_close()
