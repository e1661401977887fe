"""The server of the annotation page: reachable from this machine only, with a secret address only."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from babelscope.annotate.answers import AnswerFile, check_answer, check_names, is_complete
from babelscope.annotate.queue import GUIDES, Task
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.seeds import stream
from babelscope.util.text import read_lines, shorten

LARGEST = 256 * 1024
"""Characters of guidelines; more is no page that an annotator reads."""

# Links, images and HTML are not enabled: they stay text.
_MARKDOWN = MarkdownIt("zero").enable(
    ["heading", "list", "blockquote", "fence", "hr", "emphasis", "backticks"]
)
_KINDS = {
    "heading_open": "heading",
    "bullet_list_open": "bullet",
    "ordered_list_open": "number",
    "blockquote_open": "quote",
}
_STYLES = {"strong": "bold", "em": "italic", "code": "code"}


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """A heading, a paragraph, an item of a list (bullet, number), a quote, or lines of code."""

    kind: str
    pieces: list[tuple[str, str]]
    """Text, each piece with its style: bold, italic, code, or empty."""
    mark: str = ""
    """The bullet or number of an item."""
    depth: int = 0
    """How deep an item is in a list of lists: 0, 1 or 2."""


def guidelines_path(queue: Path) -> Path:
    """The path of a queue's guidelines: in the same folder."""
    return queue.with_name(f"{queue.name.removesuffix('.jsonl')}.guidelines.md")


def read_markdown(path: str | Path) -> list[MarkdownBlock]:
    """The blocks of a file of guidelines."""
    text = "\n".join(read_lines(path, keep_separators=True))
    if len(text) > LARGEST:
        raise BabelscopeError(f"{path} has {len(text):,} characters; guidelines have {LARGEST:,} at most")
    blocks = parse_markdown(text)
    if not blocks:
        raise BabelscopeError(f"{path} has no guidelines: it is empty")
    return blocks


def parse_markdown(text: str) -> list[MarkdownBlock]:
    """Headings, paragraphs, lists, quotes, code, bold and italics; all else stays text."""
    blocks: list[MarkdownBlock] = []
    open_kinds: list[str] = []
    mark = ""
    for token in _MARKDOWN.parse(text):
        if token.nesting == 1:
            open_kinds.append(_KINDS.get(token.type, ""))
        elif token.nesting == -1:
            open_kinds.pop()
        if token.type == "list_item_open":
            mark = f"{token.info}." if token.info else "•"
        elif token.type == "list_item_close":
            mark = ""
        elif token.type == "fence":
            blocks.append(MarkdownBlock("code", [(token.content.rstrip("\n"), "")]))
        elif token.type == "inline" and token.children:
            kind = next((kind for kind in reversed(open_kinds) if kind), "paragraph")
            depth = sum(each in ("bullet", "number") for each in open_kinds) - 1
            blocks.append(MarkdownBlock(kind, _pieces(token.children), mark, min(max(depth, 0), 2)))
            mark = ""  # only the first paragraph of an item has it
    return blocks


def _pieces(tokens: Sequence[Token]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    styles = [""]
    for token in tokens:
        if token.nesting == 1:
            styles.append(_STYLES[token.tag])
        elif token.nesting == -1:
            styles.pop()
        elif token.content:
            found.append((token.content.replace("\n", " "), _STYLES.get(token.tag, styles[-1])))
    return found


LOOPBACK = "127.0.0.1"
LARGEST_ANSWER = 64 * 1024  # bytes

HEADERS = {
    # Allow script and style from our own files only, so that text in a sentence can never run.
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
    """Passes on only requests with the right Host, an annotator's secret, and our own page as origin."""

    def __init__(self, app: ASGIApp, *, tokens: Mapping[str, str], port: int) -> None:
        """`tokens` maps annotators to their secrets."""
        self._app = app
        self._annotators = {token: name for name, token in tokens.items()}
        # Checking Host refuses a foreign name that points here (DNS rebinding).
        self._hosts = {f"{LOOPBACK}:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
        # Browsers send Origin with everything but plain navigation.
        if (origin or request.method not in ("GET", "HEAD")) and origin != [f"http://{host[0]}"]:
            return "refused: the request comes from another page"
        _, _, rest = scope["path"].partition("/")
        annotator = self._annotators.get(rest.partition("/")[0])
        if annotator is None:
            return "refused: open the address that `babelscope annotate` has printed last"
        # The secret alone decides who judges; a request with another name must not count under this one.
        if scope["query_string"]:
            return "refused: an address has no parameters; every annotator has an address of their own"
        scope["annotator"] = annotator
        return None


class Desk:
    """The items to judge, and the open answer file of each annotator."""

    def __init__(
        self,
        path: Path,
        tasks: Sequence[Task],
        annotators: Sequence[str],
        *,
        seed: int,
        guidelines: Sequence[MarkdownBlock] = (),
    ) -> None:
        """`guidelines`, if there are any, replace those of the tasks."""
        check_names(annotators)
        self.tasks = {name: _tasks_of(name, tasks) for name in annotators}
        """Annotator -> the items that they judge."""
        self._by_key = {_key(task): task for task in tasks}
        self._seed = seed
        self._guidelines = [asdict(block) for block in guidelines]
        self.files: dict[str, AnswerFile] = {}
        """Annotator -> answer file, open and locked until `close`."""
        try:
            for name in annotators:
                self.files[name] = AnswerFile(path, name, self.tasks[name])
        except BaseException:
            self.close()
            raise

    def judged(self, annotator: str) -> int:
        """Number of items that the annotator has completed."""
        return sum(map(is_complete, self.files[annotator].answers.values()))

    def session(self, annotator: str) -> dict[str, Any]:
        """The page's data. Items have only the texts to show: no id, no system, no verdict."""
        answers = self.files[annotator].answers
        # Each annotator has their own order, so that fatigue does not hit the same items.
        own = self.tasks[annotator]
        order = stream(self._seed, f"annotate {annotator}").permutation(len(own))
        tasks = [own[number] for number in order]
        return {
            "annotator": annotator,
            "kinds": {kind: asdict(GUIDES[kind]) for kind in {task.kind for task in tasks}},
            "guidelines": self._guidelines,
            "items": [self._shown(task, annotator) for task in tasks],
            "answers": {_key(task): answers[task.digest] for task in tasks if task.digest in answers},
        }

    def _shown(self, task: Task, annotator: str) -> dict[str, Any]:
        rng = stream(self._seed, f"annotate {annotator} {task.digest}")
        return {
            "key": _key(task),
            "kind": task.kind,
            "question": task.question,
            "blocks": [asdict(block) for block in task.blocks],
            "labels": [asdict(label) for label in task.labels],
            "suggestion": task.suggestion,
            "translations": list(task.translations),
            "shuffled": rng.permutation(len(task.translations)).tolist(),
        }

    def save(self, annotator: str, key: Any, answer: Any) -> None:
        """Check an answer and store it on disk."""
        task = self._by_key.get(key) if isinstance(key, str) else None
        if task is None or not task.is_for(annotator):
            raise BabelscopeError("there is no such item: the file has changed; load the page again")
        self.files[annotator].save(task, check_answer(task, answer))

    def close(self) -> None:
        """Release the answer files."""
        for each in self.files.values():
            each.close()


def _tasks_of(annotator: str, tasks: Sequence[Task]) -> list[Task]:
    own = [task for task in tasks if task.is_for(annotator)]
    if not own:
        known = sorted({name for task in tasks for name in task.record["annotators"]})
        raise BabelscopeError(f"no item is for {shorten(annotator)}; they are for {', '.join(known[:10])}")
    return own


def _key(task: Task) -> str:
    """The item's name on the page; its id could reveal the system."""
    return task.digest[:20]


def build_app(desk: Desk, *, tokens: Mapping[str, str], port: int) -> ASGIApp:
    """The web application: the page with its style and script, `session` to read, `answers` to write."""

    def page_file(name: str, kind: str, package: str = "annotate") -> Callable[[Request], Response]:
        content = (files(f"babelscope.{package}") / name).read_bytes()
        return lambda _: Response(content, media_type=kind)

    # Async handlers, not threads: answers are written one after another.
    async def session(request: Request) -> Response:
        return JSONResponse(desk.session(request.scope["annotator"]))

    async def answers(request: Request) -> Response:
        try:
            sent = await _read_json(request)
            desk.save(request.scope["annotator"], sent["item"], sent["answer"])
        except BabelscopeError as error:
            code = 500 if isinstance(error, SystemFailure) else 400
            return JSONResponse({"error": str(error)}, status_code=code)
        return JSONResponse({"saved": True})

    app = Starlette(
        routes=[
            Route("/{token}/", page_file("page.html", "text/html")),
            Route("/{token}/page.css", page_file("page.css", "text/css")),
            Route("/{token}/page.js", page_file("page.js", "text/javascript")),
            Route("/{token}/visible.js", page_file("visible.js", "text/javascript", "util")),
            Route("/{token}/session", session),
            Route("/{token}/answers", answers, methods=["POST"]),
        ]
    )
    app.router.redirect_slashes = False
    return Guard(app, tokens=tokens, port=port)


async def _read_json(request: Request) -> dict[str, Any]:
    if request.headers.get("content-type") != "application/json":
        raise BabelscopeError("an answer must be sent as application/json")
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST_ANSWER:
                raise BabelscopeError("the answer is too long")
    except ClientDisconnect:
        raise BabelscopeError("the answer was cut off") from None
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        raise BabelscopeError("the answer is not JSON") from None
    if not isinstance(sent, dict) or sent.keys() != {"item", "answer"}:
        raise BabelscopeError("an answer must be a JSON object with `item` and `answer`, and nothing else")
    return sent


def listen_locally(port: int) -> socket.socket:
    """A socket that listens on the loopback address only; port 0 picks a free port."""
    try:
        return socket.create_server((LOOPBACK, port))
    except (OSError, OverflowError) as error:
        raise BabelscopeError(f"port {port} cannot be used ({error}); choose another with --port") from error


def serve(app: ASGIApp, listener: socket.socket) -> None:
    """Answer requests until the process is stopped."""
    import uvicorn

    config = uvicorn.Config(
        app,
        http="h11",  # the stricter of uvicorn's two HTTP parsers
        ws="none",
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        proxy_headers=False,
    )
    uvicorn.Server(config).run(sockets=[listener])
