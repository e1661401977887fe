"""The page's server: on this machine only, for those who have the secret address only."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from babelscope.annotate.answers import AnswerFile, check_answer, check_name, is_complete
from babelscope.annotate.guidelines import GUIDES
from babelscope.annotate.items import Task
from babelscope.errors import BabelscopeError, SystemFailure
from babelscope.seeds import stream

LOOPBACK = "127.0.0.1"
LARGEST_ANSWER = 64 * 1024  # bytes

HEADERS = {
    # Script and style from our own files only: what stands in a sentence can never run.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",  # the address is the secret
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Lets through requests to this very server, with its secret, from its own page."""

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app = app
        self._token = token
        # A foreign name that was made to point here (DNS rebinding) is refused by its Host.
        self._hosts = {f"{LOOPBACK}:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *own]}
            await send(message)

        refused = self._refusal(scope)
        answer = self._app if refused is None else PlainTextResponse(refused, status_code=403)
        await answer(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> str | None:
        request = Request(scope)
        host, origin = (request.headers.getlist(name) for name in ("host", "origin"))
        if len(host) != 1 or host[0] not in self._hosts:
            return "refused: this server answers to its own address only"
        # Browsers name the origin of whatever is not a plain visit.
        if (origin or request.method not in ("GET", "HEAD")) and origin != [f"http://{host[0]}"]:
            return "refused: the request comes from another page"
        token = scope["path"].split("/")[1] if scope["path"].startswith("/") else ""
        if not secrets.compare_digest(token.encode("utf-8", "replace"), self._token.encode()):
            return "refused: open the address that `babelscope annotate` has printed last"
        return None


class Desk:
    """The items, and the answer files of those who are judging them."""

    def __init__(self, path: Path, tasks: Sequence[Task], *, seed: int) -> None:
        self._path = path
        self.tasks = tasks
        self._by_key = {_key(task): task for task in tasks}
        self._seed = seed
        self._files: dict[str, AnswerFile] = {}

    def file_of(self, annotator: str) -> AnswerFile:
        """The annotator's answers, opened when first asked for."""
        if annotator not in self._files:
            self._files[annotator] = AnswerFile(self._path, annotator, self.tasks)
        return self._files[annotator]

    def judged(self, annotator: str) -> int:
        """How many items the annotator has finished."""
        return sum(map(is_complete, self.file_of(annotator).answers.values()))

    def session(self, annotator: str) -> dict[str, Any]:
        """All the page needs. Of an item it has the texts to show: no id, no system, nobody's verdict."""
        answers = self.file_of(check_name(annotator)).answers
        # Each annotator has an order of their own, so that tiredness does not hit the same items.
        order = stream(self._seed, f"annotate {annotator}").permutation(len(self.tasks))
        tasks = [self.tasks[number] for number in order]
        return {
            "annotator": annotator,
            "kinds": {kind: asdict(GUIDES[kind]) for kind in {task.kind for task in tasks}},
            "items": [self._shown(task, annotator) for task in tasks],
            "answers": {_key(task): answers[task.digest] for task in tasks if task.digest in answers},
        }

    def _shown(self, task: Task, annotator: str) -> dict[str, Any]:
        shuffled = stream(self._seed, f"annotate {annotator} {task.digest}").permutation(
            len(task.translations)
        )
        return {
            "key": _key(task),
            "kind": task.kind,
            "question": task.question,
            "blocks": [asdict(block) for block in task.blocks],
            "labels": [asdict(label) for label in task.labels],
            "suggestion": task.suggestion,
            "translations": list(task.translations),
            "shuffled": [int(number) for number in shuffled],
        }

    def save(self, annotator: str, key: Any, answer: Any) -> None:
        """Check an answer and put it on disk."""
        task = self._by_key.get(key) if isinstance(key, str) else None
        if task is None:
            raise BabelscopeError("there is no such item: the file has changed; load the page again")
        self.file_of(check_name(annotator)).save(task, check_answer(task, answer))

    def close(self) -> None:
        for each in self._files.values():
            each.close()


def _key(task: Task) -> str:
    """What the page calls an item: its id might tell whose translation it is."""
    return task.digest[:20]


def build_app(desk: Desk, *, token: str, port: int, annotator: str) -> ASGIApp:
    """The application: a page, its style and script, what to judge, and where answers go."""

    def page_file(name: str, kind: str) -> Callable[[Request], Response]:
        content = (files("babelscope.annotate") / name).read_bytes()
        return lambda _: Response(content, media_type=kind)

    # Not async with a pool of threads: answers are written one after another.
    async def session(request: Request) -> Response:
        try:
            return JSONResponse(desk.session(request.query_params.get("annotator", annotator)))
        except BabelscopeError as error:
            return _told(error)

    async def answers(request: Request) -> Response:
        try:
            sent = await _read_json(request)
            desk.save(str(sent.get("annotator")), sent.get("item"), sent.get("answer"))
        except BabelscopeError as error:
            return _told(error)
        return JSONResponse({"saved": True})

    app = Starlette(
        routes=[
            Route("/{token}/", page_file("page.html", "text/html")),
            Route("/{token}/page.css", page_file("page.css", "text/css")),
            Route("/{token}/page.js", page_file("page.js", "text/javascript")),
            Route("/{token}/session", session),
            Route("/{token}/answers", answers, methods=["POST"]),
        ]
    )
    app.router.redirect_slashes = False
    return Guard(app, token=token, port=port)


def _told(error: BabelscopeError) -> Response:
    return JSONResponse({"error": str(error)}, status_code=500 if isinstance(error, SystemFailure) else 400)


async def _read_json(request: Request) -> dict[str, Any]:
    if request.headers.get("content-type") != "application/json":
        raise BabelscopeError("an answer must be sent as application/json")
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_ANSWER:
            raise BabelscopeError("the answer is too long")
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        raise BabelscopeError("the answer is not JSON") from None
    if not isinstance(sent, dict):
        raise BabelscopeError("an answer must be a JSON object")
    return sent


@contextmanager
def listening(port: int) -> Iterator[socket.socket]:
    """A socket that only this machine can reach; port 0 takes a free one."""
    try:
        made = socket.create_server((LOOPBACK, port))
    except (OSError, OverflowError) as error:
        raise BabelscopeError(f"port {port} cannot be used ({error}); choose another with --port") from error
    with made:
        yield made


def serve(app: ASGIApp, listener: socket.socket) -> None:
    """Answer requests until the process is stopped."""
    import uvicorn

    config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off", server_header=False)
    uvicorn.Server(config).run(sockets=[listener])
