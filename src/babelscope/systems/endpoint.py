"""`http:` and `https:` a server that takes sources as JSON and answers their translations."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from babelscope.errors import BabelscopeError
from babelscope.systems.base import Fingerprint, Scored
from babelscope.systems.blackbox import best
from babelscope.systems.client import Client, checked_url, line_of
from babelscope.systems.opening import Options
from babelscope.text import check_texts, shorten


class JsonEndpoint:
    """A server that takes a JSON object with sources and answers one with their translations."""

    def __init__(
        self,
        url: str,
        client: Client,
        *,
        batch: int,
        newlines: str,
        languages: tuple[str, str] | None,
        name: str,
    ) -> None:
        self.name = name
        self._url = url
        self._client = client
        self._batch = batch
        self._newlines = newlines
        self._languages = languages
        settings = {"newlines": newlines, "languages": languages}
        self.fingerprint = Fingerprint("libretranslate" if languages else "http", url, settings=settings)

    def translate(self, sources: Sequence[str], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:
        """The server's translations, asked for in batches."""
        check_texts(sources, what="source")
        if self._languages and n_best > 1:
            raise BabelscopeError(
                f"format=libretranslate gives one translation, but n_best={n_best} was asked"
            )

        def ask(part: Sequence[str], stop: threading.Event) -> list[list[Scored]]:
            return self._ask(part, beam, n_best, stop)

        parts = [sources[start : start + self._batch] for start in range(0, len(sources), self._batch)]
        return [answer for answers in self._client.ask_all(ask, parts) for answer in answers]

    def _ask(
        self, sources: Sequence[str], beam: int, n_best: int, stop: threading.Event
    ) -> list[list[Scored]]:
        body: dict[str, object] = {"sources": list(sources), "n_best": n_best, "beam": beam}
        if self._languages:
            source, target = self._languages
            # Servers like LibreTranslate may know a single text only, which batch=1 sends.
            text = sources[0] if self._batch == 1 else list(sources)
            body = {"q": text, "source": source, "target": target, "format": "text"}
            body |= {"api_key": self._client.token} if self._client.token else {}
        field = "translatedText" if self._languages else "translations"
        answer = self._client.post(self._url, body, stop)
        found = [answer[field]] if isinstance(answer.get(field), str) else answer.get(field)
        if not isinstance(found, list):
            raise self._client.fault(self._url, f"answered without a list {field!r}", answer)
        if len(found) != len(sources):
            raise self._client.fault(
                self._url, f"was asked {len(sources)} sources but gave translations of {len(found)}", answer
            )
        answers = []
        for translations, source in zip(found, sources, strict=True):
            several = translations if isinstance(translations, list) else [translations]
            what = f"a translation that {self._url} gave of {shorten(source)}"
            texts = [line_of(text, what=what, newlines=self._newlines) for text in several[:n_best]]
            answers.append(best(texts, n_best, source=source, where=f"the answer of {self._url}"))
        return answers


def _open_json(url: str, options: Options) -> JsonEndpoint:
    url = checked_url(url, options)
    languages = None
    if options.choice("format", ("babelscope", "libretranslate"), "babelscope") == "libretranslate":
        languages = options.text("source", "auto"), options.text("target")
        if not languages[1]:
            raise BabelscopeError(f"{options.spec}: format=libretranslate needs target=LANGUAGE")
    return JsonEndpoint(
        url,
        Client(options),
        batch=options.integer("batch", 32),
        newlines=options.choice("newlines", ("error", "space"), "error"),
        languages=languages,
        name=options.spec,
    )


def open_http(rest: str, options: Options) -> JsonEndpoint:
    """`http://HOST:PORT/PATH?batch=N&concurrency=N&timeout=SECONDS&retries=N&token_env=NAME...`."""
    return _open_json(f"http:{rest}", options)


def open_https(rest: str, options: Options) -> JsonEndpoint:
    """The same over TLS."""
    return _open_json(f"https:{rest}", options)
