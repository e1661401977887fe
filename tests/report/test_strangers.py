"""Reports of what strangers wrote: names that are alike, characters that steer, records that are none."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from babelscope.report.page import collect, embedded, render, write_report
from babelscope.runs.reading import read_run
from babelscope.util.errors import BabelscopeError
from tests.report.synthetic import contrast_run
from tests.report.test_building import Page
from tests.support.sealing import seal

TRICKY = "abc \u202edef\u2066 \u2060ghi\x1b[31m"
SHOWN = "abc ⟦U+202E⟧def⟦U+2066⟧ ⟦U+2060⟧ghi⟦U+001B⟧[31m"


def change(folder: Path, name: str, how: Callable[[Any], Any]) -> None:
    """A file of a run folder edited by hand."""
    path = folder / name
    if name.endswith("l"):
        records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        path.write_text("".join(json.dumps(each) + "\n" for each in how(records)), encoding="utf-8")
        seal(folder)
    else:
        path.write_text(json.dumps(how(json.loads(path.read_text("utf-8")))), encoding="utf-8")


def relabeled(folder: Path, labels: list[str], count: int = 8) -> Path:
    """A run with one method under several labels, each with sentences of its own."""
    parts = [
        contrast_run(folder.parent / f"{folder.name}-{n}", count, systems=["one"]) for n in range(len(labels))
    ]
    manifest = json.loads((parts[0] / "manifest.json").read_text("utf-8"))
    manifest["config"]["methods"] *= len(labels)
    manifest["methods"] = dict.fromkeys(labels, manifest["methods"]["contrast"])
    manifest["jobs"] = [{**manifest["jobs"][0], "method": label} for label in labels]
    records, rows = [], []
    for number, (part, label) in enumerate(zip(parts, labels, strict=True)):
        for line in (part / "records.jsonl").read_text("utf-8").splitlines():
            record = json.loads(line)
            records.append({**record, "method": label, "source": f"{record['source']} of section {number}"})
        for row in json.loads((part / "summary.json").read_text("utf-8"))["rows"]:
            rows.append({**row, "method": label})
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (folder / "summary.json").write_text(json.dumps({"signature": "", "rows": rows}), encoding="utf-8")
    (folder / "records.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in records), encoding="utf-8"
    )
    seal(folder)
    return folder


LABELS = ["対照", "صحيح", "Ä", "a b", "a_b", "A-b", "!", "summary", "items-a-b", "a-b-title"]
LABELS += ["__proto__", "constructor"]


def test_every_id_is_there_once_and_links_lead_to_their_own(tmp_path):
    text = render(collect([read_run(relabeled(tmp_path / "run", LABELS))]))
    page = Page(text)
    ids = Counter(page.attributes("id"))
    assert [name for name, count in ids.items() if count > 1] == []
    for link in page.attributes("href"):
        if link.startswith("#"):
            assert link[1:].partition("?")[0] in ids
    report = collect([read_run(tmp_path / "run")])
    assert len({section.key for section in report.sections}) == len(LABELS)
    data = [json.loads(each) for each in page.texts["application/json"]]
    named = [own["id"] for tag, own in page.elements if tag == "script" and own.get("type")]
    assert named == [f"data-{section.key}" for section in report.sections]
    for section, own in zip(report.sections, data, strict=True):
        number = next(n for n, label in enumerate(LABELS) if section.title.endswith(f"({label})"))
        assert all(item["s"].endswith(f"of section {number}") for item in own["items"])


def test_plain_labels_keep_their_addresses(tmp_path):
    report = collect([read_run(relabeled(tmp_path / "run", ["contrast", "Second try", "space"]))])
    assert {section.key for section in report.sections} == {"contrast", "second-try", "space"}


def test_sections_show_their_own_items_in_a_browser(tmp_path, new_page):
    labels = ["対照", "صحيح", "ab", "AB"]
    path = write_report([relabeled(tmp_path / "run", labels)], tmp_path / "page.html")
    page = new_page(offline=True)
    page.goto(f"file://{path}")
    boxes = page.locator(".explorer")
    assert boxes.count() == len(labels)
    for place in range(len(labels)):
        box = boxes.nth(place)
        box.scroll_into_view_if_needed()
        box.locator(".item").first.wait_for()
        number = next(
            n for n, label in enumerate(labels) if f"({label})" in str(box.locator("h3").text_content())
        )
        texts = box.locator(".item .texts").all_inner_texts()
        assert texts
        assert all(f"of section {number}" in text for text in texts)


def test_two_runs_of_one_name_are_told_apart(tmp_path):
    """The same folder name, the same system's name, other weights."""
    one, two = (contrast_run(tmp_path / part / "run", 30, systems=["one"], salt=part) for part in "ab")
    report = collect([read_run(one), read_run(two)])
    assert list(report.series) == [f"one ({one})", f"one ({two})"]
    (section,) = report.sections
    assert section.is_compared
    assert all(len({answer["s"] for answer in item["a"]}) == 2 for item in section.items["items"])
    assert len(section.parts[0].tables[0].signatures) == 2
    text = render(report)
    assert f"Run <bdi>{one}</bdi>" in text
    assert f"Run <bdi>{two}</bdi>" in text


def test_test_sets_and_systems_of_one_name_that_are_not_the_same(tmp_path):
    """Runs that cannot be compared: neither their systems nor their test sets are one because of their names."""
    one = contrast_run(tmp_path / "a", 30, systems=["one"], salt="a")
    two = contrast_run(tmp_path / "b", 20, systems=["one"], salt="b")
    report = collect([read_run(one), read_run(two)])
    assert list(report.series) == ["one (a)", "one (b)"]
    (section,) = report.sections
    assert section.items["tests"] == ["pairs (a)", "pairs (b)"]
    assert [part.title for part in section.parts] == ["pairs (a)", "pairs (b)"]
    for name, findings in report.findings.items():
        assert {finding.query["tests"] for finding in findings} == {f"pairs {name[-3:]}"}


def test_what_would_steer_or_hide_text_is_nowhere_in_the_page(tmp_path):
    folder = contrast_run(
        tmp_path / "run", 12, texts=[TRICKY], systems=[TRICKY, "two"], phenomena=[TRICKY], tests=TRICKY
    )
    text = write_report([folder], tmp_path / "page.html").read_text("utf-8")
    assert not set(text) & set("\u202e\u2066\u2060\x1b")
    page = Page(text)
    assert any(SHOWN in cell for table in page.tables for line in table for cell in line)
    data = json.loads(page.texts["application/json"][0])
    assert data["items"][0]["s"] == f"{TRICKY} 0", "items are data: the script shows them"
    assert json.loads(embedded({"a": "\ud800\u202e\U000e0041<"})) == {"a": "\ud800\u202e\U000e0041<"}


def test_it_is_shown_in_a_browser(tmp_path, new_page):
    texts = [TRICKY, "שלום, abc 12!", "می\u200cخواهم"]
    folder = contrast_run(
        tmp_path / "run", 12, texts=texts, systems=[TRICKY, "two"], phenomena=[TRICKY, "ab"], tests=TRICKY
    )
    page = new_page(offline=True)
    page.goto(f"file://{write_report([folder], tmp_path / 'page.html')}#items-contrast?")
    page.locator(".item").first.wait_for()
    shown = str(page.evaluate("document.body.innerText"))
    assert not set(shown) & set("\u202e\u2066\u2060\x1b")
    assert not set(page.title()) & set("\u202e\u2066\u2060\x1b")
    sources = page.locator(".item .texts dd").all_text_contents()
    assert f"{SHOWN} 0" in sources
    assert "می\u200cخواهم 2" in sources
    assert page.locator(".steering").first.evaluate("e => getComputedStyle(e).borderStyle") == "dashed"
    hebrew = page.locator(".item dd", has_text="שלום").first
    assert hebrew.evaluate("e => getComputedStyle(e).direction") == "rtl"
    # What is chosen in a filter is the name itself, however it is shown.
    box = page.locator("#items-contrast")
    box.locator("[name=group]").select_option(label=SHOWN)
    assert box.locator(".count").inner_text() == "6 of 12 items"
    box.locator("[name=system]").select_option(label=SHOWN)
    assert box.locator(".answer").count() == 6


@pytest.mark.parametrize("size", [50_000, pytest.param(500_000, marks=pytest.mark.slow)])
def test_large_items_are_shown_in_bounded_time(size, tmp_path, new_page):
    folder = contrast_run(tmp_path / "run", 1, systems=["one"])
    words = ["▁x", "▁y"] * (size // 4)
    text = "".join(words).replace("▁", " ")

    def large(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        found = {"text": text, "tokens": words, "logprobs": [-0.5] * len(words), "notes": []}
        other = {**found, "tokens": words[::-1], "at": 0}
        return [{**each, "source": text, "correct": found, "contrastive": [other]} for each in records]

    change(folder, "records.jsonl", large)
    start = time.process_time()
    path = write_report([folder], tmp_path / "page.html")
    assert time.process_time() - start < 30
    page = new_page(offline=True)
    page.goto(f"file://{path}#items-contrast?")
    page.locator(".item").first.wait_for()
    assert "too long: tokens are not colored or marked" in str(page.locator(".item").first.text_content())
    assert page.locator("*").count() < 3000


def test_how_many_were_skipped_is_shown(tmp_path):
    folder = contrast_run(tmp_path / "run", 12, systems=["one"])
    change(
        folder,
        "summary.json",
        lambda found: {**found, "rows": [{**row, "skipped": 3} for row in found["rows"]]},
    )
    report = collect([read_run(folder)])
    tables = [shown.table for part in report.sections[0].parts for shown in part.tables]
    everything = tables[-1]
    column = everything.headings.index("skipped")
    assert {line.cells[column] for line in everything.lines} == {3}
    assert any("3 items were skipped" in warning for warning in report.sections[0].warnings)


def test_flows_without_number_are_refused(tmp_path):
    folder = contrast_run(tmp_path / "run", 4, systems=["one"])
    flows = [[f"word_data_{n}", f"word_student_{n}", 1] for n in range(1001)]
    (folder / "flows.json").write_text(json.dumps(flows), encoding="utf-8")
    with pytest.raises(BabelscopeError, match="1,001 flows; a diagram shows 1,000 at most"):
        write_report([folder], tmp_path / "page.html")


# -- edited by hand --------------------------------------------------------------------------------------

WRONG: list[Any] = [None, "x", -1, 1e308, 10**400, [[]], {"a": [1]}, ["x"], "\ud800", True]


def test_records_and_manifests_edited_by_hand_end_in_a_sentence(tmp_path):
    """Every field of a record, of a figure and of the manifest, with values of other kinds, and left out."""
    folder = contrast_run(tmp_path / "run", 3, systems=["one"])
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    record = json.loads(kept["records.jsonl"].split(b"\n")[0])
    edits: list[tuple[str, Callable[[Any], Any]]] = []
    for number, field in enumerate(record):
        for value in (WRONG[number % len(WRONG)], WRONG[(number + 3) % len(WRONG)]):
            edits.append(("records.jsonl", lambda all_, f=field, v=value: [{**each, f: v} for each in all_]))  # type: ignore[misc]
        edits.append(
            ("records.jsonl", lambda all_, f=field: [{k: v for k, v in e.items() if k != f} for e in all_])  # type: ignore[misc]
        )
    for number, field in enumerate(json.loads(kept["summary.json"])["rows"][0]):
        value = WRONG[number % len(WRONG)]
        edits.append(
            (
                "summary.json",
                lambda all_, f=field, v=value: {**all_, "rows": [{**e, f: v} for e in all_["rows"]]},  # type: ignore[misc]
            )
        )
    for number, field in enumerate(json.loads(kept["manifest.json"])):
        edits.append(("manifest.json", lambda all_, f=field, n=number: {**all_, f: WRONG[n % len(WRONG)]}))  # type: ignore[misc]
    edits.append(("manifest.json", lambda all_: {**all_, "jobs": [{**all_["jobs"][0], "system": "nobody"}]}))
    edits.append(("manifest.json", lambda all_: {**all_, "jobs": [{**all_["jobs"][0], "items": "many"}]}))
    told = 0
    for name, how in edits:
        for each, data in kept.items():
            (folder / each).write_bytes(data)
        change(folder, name, how)
        try:
            write_report([folder], tmp_path / "page.html")
        except BabelscopeError:
            told += 1
    assert told > len(edits) / 3


@pytest.mark.parametrize("command", ["report", "compare"])
@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("records.jsonl", lambda records: [{**each, "verdict": [], "source": {}} for each in records]),
        ("records.jsonl", lambda records: [{k: v for k, v in e.items() if k != "id"} for e in records]),
        ("summary.json", lambda found: {**found, "rows": [{**row, "value": "x"} for row in found["rows"]]}),
        (
            "manifest.json",
            lambda found: {**found, "signature": {}, "jobs": [{**found["jobs"][0], "system": []}]},
        ),
    ],
    ids=["types", "no ids", "figures", "jobs"],
)
def test_a_command_says_where_and_what_to_do(tmp_path, babelscope, command, name, how):
    folder = contrast_run(tmp_path / "run", 6)
    change(folder, name, how)
    ran = babelscope(command, str(folder), "--to", str(tmp_path / "out"))
    errors = ran.err.splitlines()
    assert (ran.code, ran.out, len(errors)) == (2, "", 1)
    assert str(folder) in errors[0]
    assert "damaged" in ran.err
    assert not (tmp_path / "out").exists()
