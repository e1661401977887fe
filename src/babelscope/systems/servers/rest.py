"""`http:`, `https:` and `rest:` servers that are asked for translations by a template of a request."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import httpx
import pydantic

from babelscope.core.registry import Options
from babelscope.core.system import Asked, Fingerprint, Scored, as_question, sources_of
from babelscope.systems.cache import Store
from babelscope.systems.command import best
from babelscope.systems.servers.client import (
    BEARER,
    Client,
    Request,
    checked_url,
    each_or_unanswered,
    line_of,
)
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.text import check_texts, parse_toml, read_bytes, shorten

_LARGEST = 1 << 16  # bytes of a template
_PLACE = re.compile(r"\{([A-Za-z_]+)\}")


class AwsSignature(httpx.Auth):
    """Signs requests as AWS demands (Signature Version 4), with a key ID:SECRET, of which only the ID is sent."""

    requires_request_body = True

    def __init__(self, key: str, service: str, region: str) -> None:
        self._id, _, self._secret = key.partition(":")
        self._scope = f"{region}/{service}/aws4_request"

    def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override]
        self.sign(request, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()))
        yield request

    def sign(self, request: httpx.Request, moment: str) -> None:
        """Set the headers that sign a request without parameters, or with sorted and encoded ones."""
        request.headers["X-Amz-Date"] = moment
        signed = {
            name: value
            for name, value in sorted(request.headers.items())
            if name in ("host", "content-type") or name.startswith("x-amz-")
        }
        lines = [f"{name}:{' '.join(value.split())}" for name, value in signed.items()]
        names = ";".join(signed)
        digest = hashlib.sha256(request.content).hexdigest()
        url = request.url
        text = "\n".join([request.method, url.path, url.query.decode(), *lines, "", names, digest])
        scope = f"{moment[:8]}/{self._scope}"
        signed_text = "\n".join(
            ["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(text.encode()).hexdigest()]
        )
        key = f"AWS4{self._secret}".encode()
        for part in (*scope.split("/"), signed_text):
            key = hmac.digest(key, part.encode(), "sha256")
        request.headers["Authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={self._id}/{scope}, SignedHeaders={names}, Signature={key.hex()}"
        )


class _Aws(pydantic.BaseModel, frozen=True, extra="forbid", strict=True):
    service: str
    region: str


class Template(pydantic.BaseModel, frozen=True, extra="forbid", strict=True):
    """A request for the translations of up to `batch` sources, and where its answer has them.

    `{text}`, `{source}`, `{target}` (languages), `{token}` and `{context}` (the sentences before the source, with
    `?context=N`) are filled in; a list whose only element has `{text}` gets one such element per source.
    """

    url: str
    answers: str
    """Names and numbers with dots between them, `*` for every element of a list."""
    method: Literal["POST", "GET"] = "POST"
    headers: dict[str, str] = {}
    query: dict[str, str] = {}
    body: Any = None
    batch: int = pydantic.Field(1, ge=1, le=1000)
    aws: _Aws | None = None
    """Requests are signed for this service and region with the key, which is ID:SECRET."""

    @pydantic.model_validator(mode="after")
    def _check(self) -> Template:
        # Not in the query: proxies and servers log it.
        everywhere = {"source": "", "target": "", "context": ""}
        _fill(self.headers, [], {**everywhere, "token": ""})
        sources = ["a", "b"][: self.batch]
        filled = [
            _fill(self.query, sources, everywhere),
            _fill(self.body, sources, {**everywhere, "token": ""}),
        ]
        json.dumps(filled, allow_nan=False)
        if "{text}" not in json.dumps([self.query, self.body]):
            raise ValueError("neither body nor query has {text}, where a source goes")
        if self.batch > 1 and self.takes_context:
            raise ValueError("{context} is that of one source: leave batch out")
        if self.batch > 1 and "*" not in self.answers.split("."):
            raise ValueError("with batch above 1, answers needs a * for the list of translations")
        if self.aws and (self.query or "{token}" in json.dumps([self.headers, self.body])):
            raise ValueError("a signed request has neither a query nor {token}")
        if not all(each.isascii() and each.isprintable() for pair in self.headers.items() for each in pair):
            raise ValueError("headers must be printable ASCII")
        return self

    @property
    def takes_context(self) -> bool:
        """Whether a place is for the sentences before the source."""
        return "{context}" in json.dumps([self.query, self.body])

    def message(self, sources: Sequence[str], values: Mapping[str, Any]) -> dict[str, Any]:
        """What httpx sends: query and JSON body."""
        public = {name: value for name, value in values.items() if name != "token"}
        body = {} if self.body is None else {"json": _fill(self.body, sources, values)}
        return {"params": _fill(self.query, sources, public), **body}

    def translations(self, answer: Any) -> list[Any]:
        """What stands where `answers` points to; raises LookupError or TypeError if nothing does."""
        found = [answer]
        for step in self.answers.split("."):
            if step == "*":
                found = [each for one in found for each in _listed(one)]
            else:
                found = [one[int(step) if isinstance(one, list) else step] for one in found]
        return found


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def _fill(value: Any, sources: Sequence[str], values: Mapping[str, Any]) -> Any:
    """A part of a template with its places filled in, once: braces in a source are no places."""
    if isinstance(value, dict):
        return {name: _fill(each, sources, values) for name, each in value.items()}
    if isinstance(value, list):
        if len(value) == 1 and "{text}" in json.dumps(value):
            return [_fill(value[0], [source], values) for source in sources]
        return [_fill(each, sources, values) for each in value]
    if not isinstance(value, str):
        return value
    if "{text}" in value:
        if len(sources) != 1:
            raise ValueError(
                "{text} stands for one source: put it into a list of its own, or leave batch out"
            )
        values = {**values, "text": sources[0]}
    if unknown := [name for name in _PLACE.findall(value) if name not in values]:
        known = ", ".join(f"{{{name}}}" for name in ("text", *values))
        raise ValueError(f"{{{unknown[0]}}} is not filled in there, only {known}")
    if place := _PLACE.fullmatch(value):
        return values[place[1]]
    return _PLACE.sub(lambda place: str(values[place[1]]), value)


def read_template(path: str) -> Template:
    """The template in a TOML file."""
    values = parse_toml(read_bytes(path, most=_LARGEST), path)
    try:
        return Template(**values)
    except (pydantic.ValidationError, TypeError) as error:
        if not isinstance(error, pydantic.ValidationError):
            raise BabelscopeError(f"{path}: {error}") from None
        first = error.errors()[0]
        parts = [path, ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")]
        raise BabelscopeError(": ".join(filter(None, parts))) from None


def open_template(rest: str, options: Options) -> Endpoint:
    """`rest:TEMPLATE.toml?source=LANGUAGE&target=LANGUAGE&token_env=NAME...`."""
    template = read_template(rest)
    needed = set(_PLACE.findall(json.dumps([template.headers, template.query, template.body])))
    needed |= {"token"} if template.aws else set()
    languages = {name: options.text(name) for name in ("source", "target") if name in needed}
    for name, language in languages.items():
        if not language:
            raise BabelscopeError(f"{options.spec}: set {name}=LANGUAGE, which the template needs")
    # Somebody else's template says where a key goes, but only the user which key is sent.
    if ("token" in needed) != bool(options.text("token_env")):
        raise BabelscopeError(
            f"{options.spec}: set token_env=NAME, the environment variable with the key that the template sends"
            if "token" in needed
            else f"{options.spec}: token_env= has no effect, since the template has no {{token}}"
        )
    settings = {"languages": languages, "template": digest_json(template.model_dump())}
    return Endpoint("rest", template, options, languages, settings)


def open_endpoint(rest: str, options: Options) -> Endpoint:
    """`http://HOST:PORT/PATH?batch=N&concurrency=N&timeout=SECONDS&retries=N&token_env=NAME...`."""
    url = f"{options.spec.partition(':')[0]}:{rest}"
    batch = options.integer("batch", 32)
    if options.choice("format", ("babelscope", "libretranslate"), "babelscope") == "babelscope":
        template = Template.model_construct(
            url=url,
            answers="translations.*",
            headers=BEARER,
            body={"sources": ["{text}"], "n_best": "{n_best}", "beam": "{beam}"},
            batch=batch,
        )
        return Endpoint("http", template, options, {}, {"languages": None})
    languages = {"source": options.text("source", "auto"), "target": options.text("target")}
    if not languages["target"]:
        raise BabelscopeError(f"{options.spec}: format=libretranslate needs target=LANGUAGE")
    # Servers like LibreTranslate may know a single text only, which batch=1 sends.
    body: dict[str, Any] = {"q": "{text}" if batch == 1 else ["{text}"]}
    body |= {"source": "{source}", "target": "{target}", "format": "text"}
    template = Template.model_construct(
        url=url,
        answers="translatedText" if batch == 1 else "translatedText.*",
        headers=BEARER,
        body=body | ({"api_key": "{token}"} if options.text("token_env") else {}),
        batch=batch,
    )
    return Endpoint("libretranslate", template, options, languages, {"languages": tuple(languages.values())})


class Endpoint:
    """A server that is asked for translations as a template says."""

    costly = True
    reproducible = False
    reads_context = False
    """Set by `?context=`: requests then have the sentences before each source."""

    def __init__(
        self,
        backend: str,
        template: Template,
        options: Options,
        languages: Mapping[str, str],
        settings: Mapping[str, Any],
    ) -> None:
        self.name = options.spec
        self._url = checked_url(template.url, options)
        self._template, self._languages = template, languages
        self._several = backend == "http"
        self.takes_context = self._several or template.takes_context
        if template.takes_context and "context" not in options.names:
            raise BabelscopeError(
                f"{options.spec}: the template has {{context}}; set context=N, a number of sentences"
            )
        headers = _fill(template.headers, [], {**languages, "token": "{token}"})
        self._client = Client(options, method=template.method, headers=headers, arrays=backend == "rest")
        if template.aws:
            self._client.auth = AwsSignature(self._client.token, **template.aws.model_dump())
        self._newlines = options.choice("newlines", ("error", "space"), "error")
        self.fingerprint = Fingerprint(backend, self._url, settings={"newlines": self._newlines, **settings})
        # What an answer depends on besides the URL; it is part of what answers are stored under.
        self._how = dict(settings)

    def use_store(self, store: Callable[[str], Store]) -> None:
        self._client.use_store(store)

    def translate(self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:
        """The server's translations, asked for in batches."""
        sources = sources_of(questions)
        check_texts(sources, what="source")
        if n_best > 1 and not self._several:
            raise BabelscopeError(f"{self.name} gives one translation, but n_best={n_best} was asked")
        how = {"beam": beam, "n_best": n_best} if self._several else self._how
        requests: list[dict[str, Any]] = [{"text": source, **how} for source in sources]
        if self.reads_context:
            for request, each in zip(requests, map(as_question, questions), strict=True):
                request["context"] = [list(each.context_source), list(each.context_target)]
        found = self._client.ask(
            self._url, requests, message=self._message, split=self._split, batch=self._template.batch
        )
        pairs = [((as_question(asked), None), raw) for asked, raw in zip(questions, found, strict=True)]
        return each_or_unanswered(pairs, lambda asked, raw: self._read(asked[0].source, raw, n_best))

    def _message(self, requests: Sequence[Request]) -> dict[str, Any]:
        before, _ = requests[0].get("context", ([], []))
        values = {"token": self._client.token, **self._languages, **requests[0], "context": " ".join(before)}
        message = self._template.message([each["text"] for each in requests], values)
        if self.reads_context and self._several:
            sides = zip(*(each["context"] for each in requests), strict=True)
            message["json"] |= dict(
                zip(("context_sources", "context_targets"), map(list, sides), strict=True)
            )
        return message

    def _split(self, answer: Any, requests: Sequence[Request]) -> list[Any]:
        """What the server gave for each source, whatever that is."""
        path = self._template.answers
        try:
            found = self._template.translations(answer)
        except (LookupError, TypeError, ValueError):
            raise self._client.fault(self._url, f"answered without {path!r}", answer) from None
        if len(found) != len(requests):
            raise self._client.fault(
                self._url, f"was asked {len(requests)} sources but gave translations of {len(found)}", answer
            )
        for translations, request in zip(found, requests, strict=True):
            for text in translations if self._several and isinstance(translations, list) else [translations]:
                if not isinstance(text, str):
                    what = f"a translation that {self._url} gave of {shorten(request['text'])}"
                    raise SystemFailure(
                        f"{what} is not a text: {shorten(json.dumps(text, ensure_ascii=False))}"
                    )
        return found

    def _read(self, source: str, raw: str | list[str], n_best: int) -> list[Scored]:
        several = raw if isinstance(raw, list) else [raw]
        what = f"a translation that {self._url} gave of {shorten(source)}"
        texts = [line_of(text, what=what, newlines=self._newlines) for text in several[:n_best]]
        found = best(texts, n_best, source=source, where=f"the answer of {self._url}")
        return [Scored(text, notes=() if text else ("empty",)) for text in found]
