"""The annotation page in a real browser, by keyboard, as a person would use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from babelscope.util.terminal import mark_hidden
from tests.annotate.annotating import HOSTILE, ITEMS, Server, item, lines, write_items
from tests.support.browser import NewPage, accessibility_faults

if TYPE_CHECKING:
    from playwright.sync_api import Page

COUNT = 20
Serve = Callable[..., Server]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts servers, and ends those that are still there."""
    started: list[Server] = []

    def start(items: Path, annotator: str = "anna", *options: str) -> Server:
        started.append(Server(items, annotator, *options))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.kill()


def until(page: Page, condition: str, value: object) -> None:
    # Frames of a page that is not in front are drawn rarely: ask by the clock instead.
    page.wait_for_function(condition, arg=value, polling=20)


def judged(page: Page, count: int) -> None:
    """Wait until the page says that so many are judged, and saved."""
    until(page, "n => document.getElementById('judged').textContent === String(n)", count)


def at_item(page: Page) -> str:
    return page.inner_text("#blocks .source p")


def press(page: Page, key: str, count: int) -> tuple[str, str]:
    """Answer the item shown; gives it with the label, once it is saved."""
    source = at_item(page)
    label = page.inner_text(f".choice:nth-child({key}) .label")
    page.keyboard.press(key)
    judged(page, count)
    until(
        page,
        "source => document.querySelector('#blocks .source p').textContent !== source"
        " || !document.getElementById('done').hidden",
        source,
    )
    return source, label


def test_twenty_items_by_keyboard_through_a_reload_and_a_kill(
    tmp_path: Path, new_page: NewPage, serve: Serve
) -> None:
    records = [item("winomt", n, source=f"The baker number {n} was late.") for n in range(COUNT)]
    items = write_items(tmp_path / "queue.jsonl", records)
    server = serve(items)
    page = new_page()
    page.goto(server.url)
    page.wait_for_selector(".choice")
    said: list[tuple[str, str]] = []
    for count in range(1, 8):
        said.append(press(page, str(1 + count % 4), count))
    page.reload()
    page.wait_for_selector(".choice")
    judged(page, 7)
    assert at_item(page) not in dict(said)
    for count in range(8, 12):
        said.append(press(page, "2", count))
    # Killed without warning; an answer given after that is not taken for saved.
    server.kill()
    page.keyboard.press("1")
    page.wait_for_selector("#status.bad")
    assert page.inner_text("#judged") == "11"
    page.close()
    server = serve(items)
    assert server.start["judged"] == 11
    page = new_page()
    page.goto(server.url)
    page.wait_for_selector(".choice")
    for count in range(12, COUNT):
        said.append(press(page, "1", count))
    # Back with the arrow, a change, and the last one with arrows and Enter.
    last = at_item(page)
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector('.choice[aria-pressed="true"]')
    changed = at_item(page)
    page.keyboard.press("3")
    until(page, "source => document.querySelector('#blocks .source p').textContent === source", last)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("#done:not([hidden])")
    told = {**dict(said), changed: "Both / Neutral / Ambiguous", last: "Female"}

    stored = lines(items.with_name("queue.answers.anna.jsonl"))
    sources = {record["id"]: record["source"] for record in records}
    assert len(stored) == COUNT + 1  # one answer each, and the one that was changed
    assert len(told) == COUNT
    assert {sources[line["id"]]: line["answer"]["label"] for line in stored} == told


def test_every_task_by_keyboard_hostile_text_and_accessibility(
    tmp_path: Path, new_page: NewPage, serve: Serve
) -> None:
    hostile = {"source": f"{HOSTILE} baker", "translation": HOSTILE, "question": f"Q {HOSTILE}"}
    records = [item(kind, kind, **hostile) for kind in ITEMS]
    items = write_items(tmp_path / "queue.jsonl", records)
    server = serve(items)
    page = new_page(color_scheme="dark", viewport={"width": 1280, "height": 900})
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    page.goto(server.url)
    page.wait_for_selector(".choice, input")
    titles = set()
    for count in range(1, len(records) + 1):
        title = page.inner_text("#title")
        titles.add(title)
        assert page.evaluate("document.querySelector('#blocks .source p').textContent") == mark_hidden(
            f"{HOSTILE} baker"
        )
        assert page.locator("main img, main script").count() == 0
        # Wide and dark, narrow as a phone and light, in turn.
        page.emulate_media(color_scheme="dark" if count % 2 else "light")
        page.set_viewport_size({"width": 1280 if count % 2 else 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert accessibility_faults(page) == []
        if page.locator("#answer input[type=range]").count():
            page.keyboard.type("73")
            page.keyboard.press("Enter")
        elif page.locator("#answer input").count():
            for score in ("90", "0", "40"):
                page.keyboard.type(score)
                page.keyboard.press("Enter")
            page.wait_for_selector(".choices.row .choice:focus")
            assert accessibility_faults(page) == []
            page.keyboard.press("4")
        elif "machine translation" in title:
            page.keyboard.press("2")
            page.wait_for_selector("textarea:focus")
            assert page.input_value("textarea") == "Der unbeliebte Plan wurde beibehalten."
            assert accessibility_faults(page) == []
            page.keyboard.press("Control+a")
            page.keyboard.type("Der unbeliebte Plan <b>.")
            page.keyboard.press("Enter")
        else:
            page.keyboard.press("1")
        judged(page, count)
        until(page, "title => document.getElementById('title').textContent !== title", title)
    assert page.title() == "Babelscope: annotate"
    assert (len(titles), dialogs) == (len(records), [])
    assert accessibility_faults(page) == []
    last = {line["task"]: line["answer"] for line in lines(items.with_name("queue.answers.anna.jsonl"))}
    scores = last["ranking"].pop("scores")
    assert sorted(scores) == [0, 40, 90]
    assert last == {
        "machine-reference": {"label": "Wrong", "correction": "Der unbeliebte Plan <b>."},
        "mucow": {"label": "Correct Sense"},
        "winomt": {"label": "Male"},
        "challenge": {"label": "Translated right"},
        "extraction": {"label": "Real"},
        "assessment": {"score": 73},
        "ranking": {"overall": 4},
        "choice": {"label": "A"},
    }


def test_what_would_steer_or_hide_text_is_shown_and_not_obeyed(
    tmp_path: Path, new_page: NewPage, serve: Serve
) -> None:
    tricky = "abc \u202edef\u2066 \u2060ghi\x1b[31m"
    hebrew = "שלום, abc 12!"
    records = [
        item(
            "mucow",
            1,
            source=f"{tricky} plate",
            word="plate",
            translation=hebrew,
            question=f"Q\u202e {hebrew}?",
        ),
        item("ranking", 2, source="\u200f" * 9, translations=[tricky, "می\u200cخواهم"]),
        item("machine-reference", 3, translation=tricky, correction=tricky),
    ]
    server = serve(write_items(tmp_path / "queue.jsonl", records))
    page = new_page()
    page.goto(server.url)
    page.wait_for_selector("#blocks .source")
    shown: dict[str, str] = {}
    for _ in records:
        shown[page.inner_text("#title")] = page.inner_text("#item")
        text = page.evaluate("document.getElementById('item').textContent")
        assert not set(text) & set("\u202e\u2066\u2060\x1b\u200f")
        if "⟦U+200F⟧" in text:
            assert "⟦U+200F⟧⟦U+200F⟧⟦U+200F⟧⟦U+200F⟧⟦5 more⟧" in text
            assert "می\u200cخواهم" in text, "what Persian needs stays"
        elif "שלום" in text:
            assert "abc ⟦U+202E⟧def⟦U+2066⟧ ⟦U+2060⟧ghi⟦U+001B⟧[31m plate" in text
            assert "Q⟦U+202E⟧" in text
            judged = page.locator(".block.judged p")
            assert judged.evaluate("e => getComputedStyle(e).direction") == "rtl"
            assert page.locator(".block.source p").evaluate("e => getComputedStyle(e).direction") == "ltr"
            # Letters stand in the order in which they are written: d is left of e, e left of f.
            places = page.locator(".block.source p").evaluate(LEFT_OF, "def")
            assert places == sorted(places)
            assert (
                page.locator(".steering").first.evaluate("e => getComputedStyle(e).borderStyle") == "dashed"
            )
        assert accessibility_faults(page) == []
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(50)
    assert len(shown) == len(records)
    # In a field to write in they are left out.
    while "Machine translation" not in page.inner_text("#blocks"):
        page.keyboard.press("ArrowLeft")
        page.wait_for_timeout(50)
    page.keyboard.press("2")
    page.wait_for_selector("textarea:focus")
    assert page.input_value("textarea") == "abc def ghi[31m"


LEFT_OF = """(element, letters) => {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()); ) {
    const start = node.textContent.indexOf(letters);
    if (start < 0) continue;
    return [...letters].map((_, place) => {
      const range = document.createRange();
      range.setStart(node, start + place);
      range.setEnd(node, start + place + 1);
      return range.getBoundingClientRect().left;
    });
  }
}"""


def test_own_guidelines_are_shown_and_never_as_html(tmp_path: Path, new_page: NewPage, serve: Serve) -> None:
    items = write_items(tmp_path / "queue.jsonl", [item("winomt", n) for n in range(2)])
    (tmp_path / "queue.guidelines.md").write_text(
        f"# Our **rules**\n\n- look at one word\n- {HOSTILE}\n\n[a link](javascript:alert(1))\n\n> quoted\n",
        encoding="utf-8",
    )
    page = new_page()
    page.goto(serve(items).url)
    page.wait_for_selector(".choice")
    assert page.inner_text("#guidelines-text h3") == "Our rules"
    assert page.inner_text("#guidelines-text h3 b") == "rules"
    assert page.inner_text("#guidelines-text .bullet") == "• look at one word"
    assert page.inner_text("#guidelines-text blockquote") == "quoted"
    assert "<script>" in page.inner_text("#guidelines-text")
    assert "[a link](javascript:" in page.inner_text("#guidelines-text")
    assert page.locator("#guidelines-text").locator("a, script, img").count() == 0
    assert page.title() == "Babelscope: annotate"
    assert accessibility_faults(page) == []
