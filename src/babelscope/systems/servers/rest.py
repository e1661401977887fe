"""`http:` and `https:` a server that takes sources as JSON and answers their translations."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from babelscope.core.registry import Options
from babelscope.core.system import Asked, Fingerprint, Scored, as_question, sources_of
from babelscope.systems.cache import Store
from babelscope.systems.command import best
from babelscope.systems.servers.client import Client, Request, checked_url, each_or_unanswered, line_of
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.text import check_texts, shorten


class JsonEndpoint:
    """A server that takes a JSON object with sources and answers one with their translations."""

    costly = True
    reproducible = False

    def __init__(self, rest: str, options: Options) -> None:
        """`http://HOST:PORT/PATH?batch=N&concurrency=N&timeout=SECONDS&retries=N&token_env=NAME...`."""
        self.name = options.spec
        self._url = checked_url(f"{options.spec.partition(':')[0]}:{rest}", options)
        self._languages: tuple[str, str] | None = None
        if options.choice("format", ("babelscope", "libretranslate"), "babelscope") == "libretranslate":
            self._languages = options.text("source", "auto"), options.text("target")
            if not self._languages[1]:
                raise BabelscopeError(f"{options.spec}: format=libretranslate needs target=LANGUAGE")
        self._client = Client(options)
        self._batch = options.integer("batch", 32)
        self._newlines = options.choice("newlines", ("error", "space"), "error")
        settings = {"newlines": self._newlines, "languages": self._languages}
        backend = "libretranslate" if self._languages else "http"
        self.fingerprint = Fingerprint(backend, self._url, settings=settings)

    def use_store(self, store: Callable[[str], Store]) -> None:
        self._client.use_store(store)

    def translate(self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:
        """The server's translations, asked for in batches."""
        sources = sources_of(questions)
        check_texts(sources, what="source")
        if self._languages and n_best > 1:
            raise BabelscopeError(
                f"format=libretranslate gives one translation, but n_best={n_best} was asked"
            )
        how = {"languages": self._languages} if self._languages else {"beam": beam, "n_best": n_best}
        requests = [{"source": source, **how} for source in sources]
        found = self._client.ask(self._url, requests, body=self._body, split=self._split, batch=self._batch)
        pairs = [((as_question(asked), None), raw) for asked, raw in zip(questions, found, strict=True)]
        return each_or_unanswered(pairs, lambda asked, raw: self._read(asked[0].source, raw, n_best))

    def _body(self, requests: Sequence[Request]) -> dict[str, object]:
        sources = [each["source"] for each in requests]
        if not self._languages:
            return {"sources": sources, "n_best": requests[0]["n_best"], "beam": requests[0]["beam"]}
        source, target = self._languages
        # Servers like LibreTranslate may know a single text only, which batch=1 sends.
        body: dict[str, object] = {"q": sources[0] if self._batch == 1 else sources}
        body |= {"source": source, "target": target, "format": "text"}
        return body | ({"api_key": self._client.token} if self._client.token else {})

    def _split(self, answer: dict[str, Any], requests: Sequence[Request]) -> list[Any]:
        """What the server gave for each source, whatever that is."""
        field = "translatedText" if self._languages else "translations"
        found = [answer[field]] if isinstance(answer.get(field), str) else answer.get(field)
        if not isinstance(found, list):
            raise self._client.fault(self._url, f"answered without a list {field!r}", answer)
        if len(found) != len(requests):
            raise self._client.fault(
                self._url, f"was asked {len(requests)} sources but gave translations of {len(found)}", answer
            )
        for translations, request in zip(found, requests, strict=True):
            for text in translations if isinstance(translations, list) else [translations]:
                if not isinstance(text, str):
                    told = f"a translation that {self._url} gave of {shorten(request['source'])}"
                    raise SystemFailure(
                        f"{told} is not a text: {shorten(json.dumps(text, ensure_ascii=False))}"
                    )
        return found

    def _read(self, source: str, raw: str | list[str], n_best: int) -> list[Scored]:
        several = raw if isinstance(raw, list) else [raw]
        what = f"a translation that {self._url} gave of {shorten(source)}"
        texts = [line_of(text, what=what, newlines=self._newlines) for text in several[:n_best]]
        found = best(texts, n_best, source=source, where=f"the answer of {self._url}")
        return [Scored(text, notes=() if text else ("empty",)) for text in found]
