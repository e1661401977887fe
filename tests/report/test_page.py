"""The report in a real browser: complete without a network, usable by keyboard, safe with hostile text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from babelscope.core.tables import Table, as_shown, escape_latex, render, tabular
from babelscope.report.items import count_shown
from babelscope.report.page import collect, write_report
from babelscope.runs.reading import read_run
from tests.report.synthetic import HOSTILE, contrast_run
from tests.support.browser import NewPage, accessibility_faults

if TYPE_CHECKING:
    from playwright.sync_api import Page

PICTURES = (
    "Accuracy against discrepancy",
    "Errors in forced choice, and in its own translations",
    "Accuracy by category: he and she",
    "How sure the evaluator is: teacher, he and she",
    "How sure the evaluator is: student, he and she",
    "Quality of what can be drawn from the model",
    "How well probability ranks the k most probable translations (kRG)",
    "How well probability ranks k samples (kRG)",
    "Log-probability against quality: the k most probable translations",
    "Log-probability against quality: samples",
    "Quality by phenomenon",
    "Quality by distance: particle",
    "Perplexity of the references: sentences",
    "Female, male: from data to distilled to student",
)


def open_page(new_page: NewPage, path: Path, fragment: str = "", **options: Any) -> Page:
    page = new_page(offline=True, **options)
    page.on("console", lambda message: _refuse(message.text) if message.type == "error" else None)
    page.goto(f"file://{path}{fragment}")
    return page


def _refuse(text: str) -> None:
    raise AssertionError(f"on the console: {text}")


def margins(page: Page, section: str) -> list[float]:
    shown = page.locator(f"#items-{section} .margin").all_text_contents()
    return [float(text.replace("−", "-")) for text in shown]


def test_every_picture_is_there_without_a_network(new_page, lab_page):
    page = open_page(new_page, lab_page)
    captions = page.locator("figcaption strong").all_text_contents()
    assert {f"{title}." for title in PICTURES} <= set(captions)
    assert any(caption.startswith("Difference between systems") for caption in captions)
    boxes = [figure.locator("svg").bounding_box() for figure in page.locator("figure").all()]
    assert len(boxes) == len(captions)
    assert all(box and box["width"] > 200 and box["height"] > 40 for box in boxes)


def test_a_claim_leads_to_the_items_behind_it(new_page, lab_page, lab_run):
    report = collect([read_run(lab_run)])
    findings = [each for own in report.findings.values() for each in own[:12]]
    items = {section.key: section.items for section in report.sections}
    page = open_page(new_page, lab_page)
    links = page.locator("article:not(.wide) .finding a")
    assert links.count() == len(findings)
    for number, finding in enumerate(findings):
        links.nth(number).click()
        box = page.locator(f"#items-{finding.section}")
        box.locator(".item").first.wait_for()
        shown = int(re.match(r"\d+", box.locator(".count").inner_text())[0])  # type: ignore[index]
        assert shown == (finding.behind or count_shown(items[finding.section], finding.link[0]))
        assert box.locator("[name=system]").input_value() == finding.system


def test_items_can_be_searched_filtered_sorted_and_paged(new_page, lab_page):
    page = open_page(new_page, lab_page, "#items-contrast?sort=least")
    box = page.locator("#items-contrast")
    box.locator(".item").first.wait_for()
    assert box.locator(".item").count() == 20
    assert box.locator(".count").inner_text() == "24 of 24 items"
    rising = margins(page, "contrast")
    leasts = [min(pair) for pair in zip(rising[::2], rising[1::2], strict=True)]
    assert leasts == sorted(leasts)
    box.get_by_role("button", name="Next").click()
    assert box.locator(".item").count() == 4
    assert box.locator(".page").inner_text() == "page 2 of 2"
    box.locator("[name=system]").select_option("student")
    box.locator("[name=sort]").select_option("greatest first")
    falling = margins(page, "contrast")
    assert len(falling) == 20
    assert falling == sorted(falling, reverse=True)
    box.locator("[name=group]").select_option("np_agreement")
    assert box.locator(".count").inner_text() == "3 of 24 items"
    word = box.locator(".item dd").first.inner_text().split()[1]
    box.get_by_label("Search").fill(word.upper())
    assert 1 <= box.locator(".item").count() <= 3
    box.get_by_label("Search").fill("no such words in it")
    assert box.locator(".count").inner_text() == "0 of 24 items"
    # The translations that part are underlined, and colored by what that is worth.
    box.get_by_label("Search").fill("")
    assert (
        box.locator(".tok.parted[class*=' p']").count() + box.locator(".tok.parted[class*=' m']").count() > 2
    )


def as_tabular(table: Table) -> str:
    title, headings, rows = as_shown(table)
    cells = [[escape_latex(cell) for cell in row] for row in (headings, *rows)]
    return f"% {title}\n{tabular(cells[0], cells[1:], table.labels)}"


def as_markdown(table: Table) -> str:
    return render([table], "markdown")


@pytest.mark.parametrize(("name", "python"), [("Markdown", as_markdown), ("LaTeX", as_tabular)])
def test_a_copied_table_is_the_one_that_the_terminal_gives(new_page, lab_page, lab_run, name, python):
    shown = [
        table for s in collect([read_run(lab_run)]).sections for part in s.parts for table in part.tables
    ]
    page = open_page(new_page, lab_page)
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    buttons = page.locator(f"[data-copy={name}]")
    assert buttons.count() == len(shown)
    for number in (0, 1):
        buttons.nth(number).click()
        copied = str(page.evaluate("window.copied"))
        assert copied.startswith(python(shown[number].table))
        assert shown[number].signatures[0] in copied


def test_hostile_text_is_shown_as_text(new_page, tmp_path):
    folder = contrast_run(
        tmp_path / "run", 12, texts=HOSTILE, systems=HOSTILE[:2], phenomena=HOSTILE, tests=HOSTILE[0]
    )
    page = open_page(new_page, write_report([folder], tmp_path / "page.html"), "#items-contrast?")
    page.locator(".item").first.wait_for()
    texts = page.locator(".item").all_inner_texts()
    assert "owned" not in page.title()[:5]
    assert page.locator("main img, main b.bold, .item script").count() == 0
    for number, hostile in enumerate(HOSTILE):
        assert any(f"{hostile} {number}" in text for text in texts), hostile
    assert page.title().startswith("What </script>")
    hebrew = page.locator(".item dd", has_text="שלום").first
    assert hebrew.evaluate("element => getComputedStyle(element).direction") == "rtl"


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 740}}]
)
def test_it_is_accessible_and_never_wider_than_the_screen(new_page, lab_page, options):
    page = open_page(new_page, lab_page, "#items-contrast?", **options)
    page.locator("#items-contrast .item").first.wait_for()
    # What is folded is not looked at; one of the long tables stands for all.
    for details in (*page.locator("details.reading").all(), page.locator("#likelihood details.all")):
        details.evaluate("element => { element.open = true; }")
    wide, screen = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= screen
    assert accessibility_faults(page) == []


def test_a_page_of_very_many_items_opens_at_once(new_page, tmp_path):
    """Of 50,000 items as of 6,000 there are 5,000 in the page; processor time, since the machine may be busy."""
    folder = contrast_run(tmp_path / "run", 6000, systems=["one"])
    path = write_report([folder], tmp_path / "page.html")
    page = new_page(offline=True)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(f"file://{path}#items-contrast?verdict=wrong&sort=least")
    page.locator(".item").first.wait_for()
    metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    assert metrics["TaskDuration"] < 3
    assert page.locator("*").count() < 5000
    assert page.locator(".sampled").inner_text().startswith("This page has 5,000 of 6,000 items")
    data = json.loads(str(page.locator("#data-contrast").text_content()))
    assert len(data["items"]) == 5000
