"""Requests that must not get through, over raw sockets to the real server: none reads or writes anything."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.annotate.annotating import Server, item, write_items

MARK = "A sentence that only annotators may read."


@dataclass
class Target:
    """A running server with two annotators, of whom anna has answered, and what an attacker may know."""

    server: Server
    port: int
    anna: str
    bert: str
    old: str
    """Anna's token of an earlier start."""
    key: str
    answers: Path

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def request(
        self,
        *,
        method: str = "GET",
        path: str = "",
        host: str | None = None,
        origin: str | None = None,
        headers: str = "",
        body: str | bytes = b"",
        length: int | str | None = None,
        version: str = "HTTP/1.1",
    ) -> bytes:
        """A request that is right but for what is given; `path` is of anna's session unless said."""
        body = body.encode() if isinstance(body, str) else body
        lines = [f"{method} {path or f'/{self.anna}/session'} {version}"]
        if host != "":
            lines.append(f"Host: {host or self.host}")
        if origin != "":
            lines.append(f"Origin: {origin or f'http://{self.host}'}")
        if body or length is not None:
            lines.append(f"Content-Length: {len(body) if length is None else length}")
        head = "\r\n".join(lines) + "\r\n" + headers + "\r\n"
        return head.encode("latin-1") + body

    def answer(self, label: str = "Female", **more: str) -> str:
        return json.dumps({"item": self.key, "answer": {"label": label}, **more})

    def post(
        self, *, path: str = "", kind: str = "application/json", headers: str = "", **given: object
    ) -> bytes:
        """An answer for anna that is right but for what is given."""
        given = {"body": self.answer(), **given}
        return self.request(
            method="POST",
            path=path or f"/{self.anna}/answers",
            headers=f"Content-Type: {kind}\r\n{headers}",
            **given,  # type: ignore[arg-type]
        )

    def ask(self, data: bytes, responses: int = 1, wait: float = 10) -> list[tuple[int, str]]:
        """What is answered: statuses and bodies, until there are so many, or silence."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(data)
            connection.settimeout(wait)
            got = b""
            while len(split(got)) < responses:
                try:
                    more = connection.recv(65536)
                except (TimeoutError, ConnectionResetError):
                    break
                if not more:
                    break
                got += more
        return split(got, last=True)

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.answers.parent.iterdir()}


def split(data: bytes, *, last: bool = False) -> list[tuple[int, str]]:
    """Complete responses; the rest counts as one if it is the last there is."""
    found = []
    while data:
        head, end, rest = data.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        size = int(length[1]) if length else len(rest)
        if not last and (not end or not length or len(rest) < size):
            break
        status = re.match(rb"HTTP/1\.1 (\d{3})", head)
        found.append((int(status[1]) if status else 0, (head + end + rest[:size]).decode("utf-8", "replace")))
        data = rest[size:]
    return found


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    items = write_items(
        tmp_path_factory.mktemp("queue") / "queue.jsonl", [item("winomt", 1, source=f"{MARK} baker")]
    )
    first = Server(items, "anna")
    first.kill()
    server = Server(items, "anna", "--annotator", "bert")
    assert server.process.stdout is not None
    urls = [server.url, json.loads(server.process.stdout.readline())["url"]]
    tokens = [url.split("/")[3] for url in urls]
    port = int(server.url.split(":")[2].split("/")[0])
    found = Target(
        server, port, *tokens, first.url.split("/")[3], "", items.with_name("queue.answers.anna.jsonl")
    )
    ((status, body),) = found.ask(found.request(), wait=5)
    assert status == 200, "the right request is let through"
    found.key = json.loads(body.partition("\r\n\r\n")[2])["items"][0]["key"]
    ((status, _),) = found.ask(found.post(body=found.answer("Male")), wait=5)
    assert status == 200
    yield found
    server.kill()


Case = Callable[[Target], bytes]
HOSTS = [
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1",
    "127.0.0.1:80",
    "127.0.0.1:{port}0",
    "127.0.0.1:0{port}",
    "localhost",
    "localhost.:{port}",
    "127.0.0.1.:{port}",
    "127.0.0.1.evil.example:{port}",
    "evil.example#127.0.0.1:{port}",
    "evil@127.0.0.1:{port}",
    "[::1]:{port}",
    "[::ffff:127.0.0.1]:{port}",
    "0.0.0.0:{port}",
    "127.1:{port}",
    "2130706433:{port}",
    "0x7f.0.0.1:{port}",
    "127.0.0.1:{port}, evil.example",
    "127.0.0.1:{port}/",
    "http://127.0.0.1:{port}",
    "LOCALHOST:{port}",
    "lоcalhost:{port}".encode().decode("latin-1"),
    "127.0.0.1:{port}\x00",
    " ",
]
ORIGINS = [
    "null",
    "http://evil.example",
    "http://evil.example:{port}",
    "https://127.0.0.1:{port}",
    "http://127.0.0.1",
    "http://127.0.0.1:{port}0",
    "http://127.0.0.1:1",
    "http://localhost:{port}",
    "http://127.0.0.1:{port}.evil.example",
    "http://evil.example/http://127.0.0.1:{port}",
    "http://evil@127.0.0.1:{port}",
    "http://127.0.0.1:{port}/",
    "HTTP://127.0.0.1:{port}",
    "http://127.0.0.1:{port} http://evil.example",
    "file://",
    "*",
    "127.0.0.1:{port}",
]
PATHS = [
    "/",
    "*",
    "//session",
    "/session",
    "/%20/session",
    "/../{anna}/session",
    "/./{anna}/session",
    "//{anna}/session",
    "/%2f{anna}/session",
    "/{anna_less}/session",
    "/{anna}x/session",
    "/{anna}%00/session",
    "/{anna_swapped}/session",
    "/{anna}{bert}/session",
    "/{old}/session",
    "/x/{anna}/session",
    "/session?token={anna}",
    "/?{anna}",
    "/{anna};/session",
    "/{anna}\\session",
    "/{anna}/../../queue.jsonl",
    "/{anna}/..%2f..%2fqueue.jsonl",
    "/{anna}/%2e%2e/%2e%2e/etc/passwd",
    "/{anna}/queue.answers.anna.jsonl",
    "/{anna}/session/",
    "/{anna}/session%00",
    "/{anna}/SESSION",
    "/{anna}/session?annotator=bert",
    "/{bert}/session?annotator=anna",
    "/{anna}/%c0%ae%c0%ae/session",
    "http://evil.example/{anna}/session",
    "http://127.0.0.1:{port}/{anna}/session",
    "evil.example:{port}",
]


def fill(text: str, t: Target) -> str:
    names = {"port": t.port, "anna": t.anna, "bert": t.bert, "old": t.old}
    names |= {"anna_less": t.anna[:-1], "anna_swapped": t.anna.swapcase()}
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def hosts(form: str) -> dict[str, Case]:
    def read(t: Target) -> bytes:
        host = fill(form, t)
        return t.request(host=host, origin=f"http://{host}".strip())

    def write(t: Target) -> bytes:
        host = fill(form, t)
        return t.post(host=host, origin=f"http://{host}".strip())

    return {f"host {form!r} read": read, f"host {form!r} write": write}


def origins(form: str) -> dict[str, Case]:
    return {
        f"origin {form} read": lambda t: t.request(origin=fill(form, t)),
        f"origin {form} write": lambda t: t.post(origin=fill(form, t)),
    }


def chunked(t: Target, headers: str, **given: object) -> bytes:
    body = t.answer().encode()
    framed = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    return t.post(headers=headers, body=framed, **given)


OTHERS: dict[str, Case] = {
    # Who is asked
    "no host": lambda t: t.request(host=""),
    "no host, HTTP/1.0": lambda t: t.request(host="", version="HTTP/1.0"),
    "two hosts": lambda t: t.request(headers=f"Host: {t.host}\r\n"),
    "two hosts, one foreign": lambda t: t.request(headers="Host: evil.example\r\n"),
    "foreign host first": lambda t: t.request(host="evil.example", headers=f"Host: {t.host}\r\n"),
    "forwarded host": lambda t: t.request(host="evil.example", headers=f"X-Forwarded-Host: {t.host}\r\n"),
    "forwarded": lambda t: t.request(host="evil.example", headers=f"Forwarded: host={t.host}\r\n"),
    "folded host": lambda t: t.request(host=f"evil.example\r\n {t.host}", origin=""),
    "host with a space before its colon": lambda t: t.request(host="", headers=f"Host : {t.host}\r\n"),
    "absolute target, foreign host": lambda t: t.request(
        path=f"http://{t.host}/{t.anna}/session", host="evil.example"
    ),
    # Who asks
    "an answer without origin": lambda t: t.post(origin=""),
    "an answer with a referer only": lambda t: t.post(origin="", headers=f"Referer: http://{t.host}/\r\n"),
    "two origins": lambda t: t.post(headers="Origin: http://evil.example\r\n"),
    "preflight": lambda t: t.request(
        method="OPTIONS", origin="http://evil.example", headers="Access-Control-Request-Method: POST\r\n"
    ),
    "token as bearer": lambda t: t.request(path="/x/session", headers=f"Authorization: Bearer {t.anna}\r\n"),
    "token as cookie": lambda t: t.request(path="/x/session", headers=f"Cookie: token={t.anna}\r\n"),
    "bert for anna": lambda t: t.post(path=f"/{t.bert}/answers", body=t.answer(annotator="anna")),
    "bert for anna by parameter": lambda t: t.post(path=f"/{t.bert}/answers?annotator=anna"),
    "anna for bert": lambda t: t.post(body=t.answer(annotator="bert")),
    "an old token": lambda t: t.post(path=f"/{t.old}/answers"),
    # How it is asked
    **{
        f"method {method}": lambda t, method=method: t.post(path=f"/{t.anna}/session").replace(
            b"POST", method.encode(), 1
        )
        for method in ("PUT", "DELETE", "PATCH", "POST", "TRACE", "CONNECT", "OPTIONS", "post", "G\x00T")
    },
    "override": lambda t: t.request(
        path=f"/{t.anna}/answers", headers="X-HTTP-Method-Override: POST\r\n", body=t.answer()
    ),
    "upgrade": lambda t: t.request(
        path="/x/session",
        headers="Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n",
    ),
    "HTTP/2": lambda _: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/0.9": lambda t: f"GET /{t.anna}/session\r\n".encode(),
    "not HTTP": lambda _: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100,
    # What is sent
    **{
        f"content type {kind}": lambda t, kind=kind: t.post(kind=kind)
        for kind in (
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "",
            "application/json; x",
        )
    },
    "two content types": lambda t: t.post(kind="text/plain", headers="Content-Type: application/json\r\n"),
    "oversized": lambda t: t.post(body=t.answer(x="y" * 70_000)),
    "oversized by its header": lambda t: t.post(length=10**12),
    "a length of many digits": lambda t: t.post(length="9" * 5000),
    "a negative length": lambda t: t.post(length=-5),
    "a length with a sign": lambda t: t.post(length=f"+{len(t.answer())}"),
    "two lengths": lambda t: t.post(headers="Content-Length: 5\r\n"),
    "a list of lengths": lambda t: t.post(length=f"{len(t.answer())}, 5"),
    "long headers": lambda t: t.request(path="/x/session", headers=f"X: {'y' * 100_000}\r\n"),
    "many headers": lambda t: t.request(path="/x/session", headers="X: y\r\n" * 10_000),
    "half an answer": lambda t: t.post(length=10_000),
    "nested without end": lambda t: t.post(body="[" * 60_000),
    "a number without end": lambda t: t.post(body=f'{{"item": {"9" * 50_000}, "answer": 1}}'),
    "NUL in the body": lambda t: t.post(body=t.answer()[:-1] + "\0}"),
    "not UTF-8": lambda t: t.post(body=b'{"item": "\xff", "answer": {}}'),
    "a lone surrogate": lambda t: t.post(body='{"item": "\\ud800", "answer": {}}'),
    "a name of objects": lambda t: t.post(body='{"item": "__proto__", "answer": {"label": "Male"}}'),
    # Where one request ends and the next begins
    "chunked": lambda t: chunked(t, "Transfer-Encoding: chunked\r\n", length=""),
    "length and chunked": lambda t: chunked(t, "Transfer-Encoding: chunked\r\n"),
    "short length and chunked": lambda t: chunked(t, "Transfer-Encoding: chunked\r\n", length=4),
    "chunked twice": lambda t: chunked(t, "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"),
    "chunked in disguise": lambda t: chunked(t, "Transfer-Encoding: xchunked\r\n"),
    "chunked, folded": lambda t: chunked(t, "Transfer-Encoding:\r\n chunked\r\n"),
    "chunked with a tab": lambda t: chunked(t, "Transfer-Encoding:\tchunked\r\n"),
    "chunked with a vertical tab": lambda t: chunked(t, "Transfer-Encoding: \x0bchunked\r\n"),
    "bare LF": lambda t: t.request(path="/x/session").replace(b"\r\n", b"\n"),
    "bare LF hides a host": lambda t: t.request(host=f"evil.example\nHost: {t.host}"),
    "bare CR hides a host": lambda t: t.request(host=f"evil.example\rHost: {t.host}"),
    "NUL in a header": lambda t: t.request(headers="X: a\0b\r\n", path="/x/session"),
    "NUL in a header's name": lambda t: t.request(headers="X\0: a\r\n"),
    "not ASCII in a header's name": lambda t: t.request(headers="Hö: a\r\n"),
    "not ASCII in the path": lambda t: t.request(path=f"/{t.anna}/sessiön"),
    "a header before the first": lambda t: t.request().replace(b"\r\nHost", b"\r\n X: y\r\nHost"),
    "a space in the path": lambda t: t.request(path=f"/{t.anna}/session x"),
    "an empty line first, no token": lambda t: b"\r\n" + t.request(path="/x/session"),
}
CASES: dict[str, Case] = {
    **{name: case for form in HOSTS for name, case in hosts(form).items()},
    **{name: case for form in ORIGINS for name, case in origins(form).items()},
    **{f"path {form}": lambda t, form=form: t.request(path=fill(form, t)) for form in PATHS},
    **OTHERS,
}


# These leave the server waiting for the rest.
UNFINISHED = {"HTTP/0.9", "half an answer"}


def test_there_are_many() -> None:
    assert len(CASES) >= 83


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_read_or_written(target: Target, name: str) -> None:
    before = target.files()
    found = target.ask(CASES[name](target), wait=0.5 if name in UNFINISHED else 10)
    assert found or name in UNFINISHED
    for status, text in found:
        assert status not in (101, 200, 201, 204, 301, 302, 307, 308), text
        assert status < 500, text
        assert MARK not in text
        assert "Male" not in text
        assert target.anna not in text
        assert "access-control" not in text.lower()
    assert target.files() == before


FOLLOWED: dict[str, Case] = {
    "a foreign host": lambda t: t.request(host="evil.example", origin="http://evil.example"),
    "another origin": lambda t: t.post(origin="http://evil.example"),
    "no token": lambda t: t.request(path="/x/session"),
    "bert's token with a parameter": lambda t: t.request(path=f"/{t.bert}/session?annotator=anna"),
    "no origin": lambda t: t.post(origin=""),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_second_request_is_judged_for_itself(target: Target, name: str) -> None:
    """What follows a good request on its connection, or stands in its body, has no share in its rights."""
    before = target.files()
    page = target.request(path=f"/{target.bert}/page.css")
    evil = FOLLOWED[name](target)
    first, second = target.ask(page + evil, responses=2)
    assert (first[0], second[0]) == (200, 403)
    # In the body of a request that has one: read as its body, or refused, but never obeyed.
    found = target.ask(target.post(path=f"/{target.bert}/answers", body=evil), responses=2, wait=1)
    assert [status for status, _ in found] == [400]
    # After a request that says it has none.
    found = target.ask(target.post(path=f"/{target.bert}/answers", body=evil, length=0), responses=2)
    assert {status for status, _ in found} <= {400, 403}
    assert MARK not in str(found)
    assert target.files() == before


def test_the_server_survives_and_the_right_client_still_works(target: Target) -> None:
    """After all of the above, in this order of the file."""
    assert target.server.process.poll() is None
    ((status, text),) = target.ask(target.request(), wait=5)
    assert (status, MARK in text, "Male" in text) == (200, True, True)
    ((status, text),) = target.ask(target.request(path=f"/{target.bert}/session"), wait=5)
    session = json.loads(text.partition("\r\n\r\n")[2])
    assert (status, session["annotator"], session["answers"]) == (200, "bert", {})
    ((status, _),) = target.ask(target.post(), wait=5)
    assert status == 200
    assert target.answers.read_bytes().count(b"\n") == 2
    assert b"Female" in target.answers.read_bytes()
