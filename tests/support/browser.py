"""A real browser for tests: Debian's chromium, driven by playwright, and axe-core for accessibility.

Where there is none, tests that ask for it are skipped, or fail if BABELSCOPE_REQUIRE_BROWSER=1 (as in CI).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

NewPage = Callable[..., "Page"]


def _missing(what: str) -> NoReturn:
    if os.environ.get("BABELSCOPE_REQUIRE_BROWSER") == "1":
        pytest.fail(f"{what}, but BABELSCOPE_REQUIRE_BROWSER=1")
    pytest.skip(what)


# A module at a time: while playwright is at work, nothing else in its thread can run an event loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, without a window."""
    path = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
    if path is None:
        _missing("no chromium was found (Debian: apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("playwright is not installed")
    # Chromium's own sandbox does not work for root.
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"] if root else [], timeout=60_000
        )
        yield launched
        launched.close()


@pytest.fixture
def new_page(browser: Browser) -> Iterator[NewPage]:
    """Opens pages, each in a profile of its own; options are those of playwright's `new_context`.

    In the end, no page may have had an uncaught error, a breach of its content security policy, or have
    asked for anything that is not on this machine.
    """
    contexts = []
    faults: list[str] = []

    def told(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            faults.append(message.text)

    def asked(request: Request) -> None:
        if not _is_here(request.url):
            faults.append(f"asked for {request.url}")

    def open_page(**options: Any) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)  # the machine may be busy
        page.on("pageerror", lambda error: faults.append(f"uncaught: {error}"))
        page.on("console", told)
        page.on("request", asked)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not faults


def _is_here(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in ("file", "data", "blob", "about") or parts.hostname in ("127.0.0.1", "localhost")


def accessibility_faults(page: Page) -> list[str]:
    """What axe-core finds serious or critical on the page as it is now."""
    script = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
    page.evaluate(script)
    found = page.evaluate("axe.run().then(({violations}) => violations)")
    return [
        f"{each['id']}: {each['help']}: {node['target']} {node.get('failureSummary', '')}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]
