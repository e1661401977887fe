"""A server of files on loopback."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator

import pytest

Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


class Server:
    """Answers GET with the next of `answers`, the last one for good; remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers: list[Answer] = []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append(self.path)
                answer = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
                answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    @staticmethod
    def body(content: bytes, *, promised: int | None = None) -> Answer:
        """200 with `content`; with `promised` another Content-Length, as of a connection that breaks."""

        def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(content) if promised is None else promised))
            handler.end_headers()
            handler.wfile.write(content)

        return answer

    @staticmethod
    def status(code: int) -> Answer:
        """An error without content."""
        return lambda handler: handler.send_error(code)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    made = Server()
    monkeypatch.setenv("BABELSCOPE_MIRROR", made.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("pooch.core.time.sleep", lambda _: None)
    thread = threading.Thread(target=lambda: made.http.serve_forever(poll_interval=0.01))
    thread.start()
    yield made
    made.http.shutdown()
    thread.join()
    made.http.server_close()
