"""One's own guidelines on the page, in a real browser: shown as they are meant, and never as HTML."""

from __future__ import annotations

from pathlib import Path

import pytest

from babelscope.annotate.items import read_tasks
from babelscope.annotate.server import Desk
from babelscope.util.errors import BabelscopeError
from tests.annotate.annotating import HOSTILE, Server, item, write_items
from tests.support.browser import NewPage, accessibility_faults

OWN = f"# Our **rules**\n\n- look at one word\n- {HOSTILE}\n\n[a link](javascript:alert(1))\n\n> quoted\n"


def test_markdown_becomes_text(tmp_path: Path, new_page: NewPage) -> None:
    items = write_items(tmp_path / "queue.jsonl", [item("winomt", n) for n in range(2)])
    (tmp_path / "queue.guidelines.md").write_text(OWN, encoding="utf-8")
    server = Server(items)
    try:
        page = new_page()
        page.goto(server.url)
        page.wait_for_selector(".choice")
        assert page.inner_text("#guidelines-text h3") == "Our rules"
        assert page.inner_text("#guidelines-text h3 b") == "rules"
        assert page.inner_text("#guidelines-text .bullet") == "• look at one word"
        assert page.inner_text("#guidelines-text blockquote") == "quoted"
        assert "<script>" in page.inner_text("#guidelines-text")
        assert "[a link](javascript:" in page.inner_text("#guidelines-text")
        assert (
            page.query_selector_all("#guidelines-text a, #guidelines-text script, #guidelines-text img") == []
        )
        assert page.title() == "Babelscope: annotate"
        assert accessibility_faults(page) == []
    finally:
        server.kill()


def test_each_annotator_has_their_own_items(tmp_path: Path) -> None:
    records = [
        item("winomt", 1),
        item("winomt", 2, annotators=["anna"]),
        item("winomt", 3, annotators=["bert"]),
        item("winomt", 4, annotators=["anna", "bert"]),
    ]
    path = write_items(tmp_path / "queue.jsonl", records)
    tasks = read_tasks(path)
    desk = Desk(path, tasks, ["anna", "bert"], seed=0)
    try:
        assert [len(desk.session(name)["items"]) for name in ("anna", "bert")] == [3, 3]
        key = next(
            each["key"] for each in desk.session("bert")["items"] if each["key"] not in _keys(desk, "anna")
        )
        desk.save("bert", key, {"label": "Male"})
        with pytest.raises(BabelscopeError, match="no such item"):
            desk.save("anna", key, {"label": "Male"})
    finally:
        desk.close()
    with pytest.raises(BabelscopeError, match="no item is for 'carl'; they are for anna, bert"):
        Desk(path, tasks[1:], ["carl"], seed=0)
    write_items(path, [item("winomt", 1, annotators="anna")])
    with pytest.raises(BabelscopeError, match="field 'annotators' must be a list of names"):
        read_tasks(path)


def _keys(desk: Desk, annotator: str) -> set[str]:
    return {each["key"] for each in desk.session(annotator)["items"]}
