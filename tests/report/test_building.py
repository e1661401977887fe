"""Reports without a browser: all figures are there, everything is escaped, and nothing is asked of a network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from babelscope import Study, run_study
from babelscope.core.charts import Chart, Cloud
from babelscope.core.results import Estimate, Result, Row, number
from babelscope.methods.registry import METHODS
from babelscope.report.page import TAGS, collect, embedded, named_charts, render, write_report
from babelscope.runs.reading import read_run
from babelscope.util.errors import BabelscopeError
from tests.report.synthetic import HOSTILE, contrast_run
from tests.support.sealing import seal


class Page(HTMLParser):
    """What a browser would make of the page: elements, tables, and the texts of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.tables: list[list[list[str]]] = []
        self.captions: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)
        if tag == "table":
            self.tables.append([])
            self.captions.append("")
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag in ("script", "style"):
            self.texts.setdefault(str(dict(attrs).get("type") or tag), []).append("")

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in ("script", "style"):
            kind = str(self.elements[-1][1].get("type") or self._open[-1])
            self.texts[kind][-1] += data
        elif "caption" in self._open:
            self.captions[-1] += data
        elif {"td", "th"} & set(self._open):
            self.tables[-1][-1][-1] += data

    def attributes(self, name: str) -> Iterator[str]:
        return (value for _, own in self.elements for key, value in own.items() if key == name and value)


def page_of(folder: Path, **options: Any) -> Page:
    return Page(render(collect([read_run(folder)], **options)))


def test_every_row_of_the_summary_is_in_a_table(lab_run, lab_page):
    page = Page(lab_page.read_text("utf-8"))
    found = [
        # n is in the title where all figures have the same; marks of footnotes follow a figure.
        {"n": caption.partition("n = ")[2].rstrip(")")}
        | {name: cell.rstrip("†‡§¶") for name, cell in zip(table[0], line, strict=True)}
        for table, caption in zip(page.tables, page.captions, strict=True)
        if caption.startswith("All figures")
        for line in table[1:]
    ]
    rows = json.loads((lab_run / "summary.json").read_text("utf-8"))["rows"]
    assert len(found) == len(rows) > 400
    for row in rows:
        if row["n"] and None not in (row["value"], row["low"], row["high"]):
            interval = f"[{number(row['low'])}, {number(row['high'])}]"
            shown = {"value": f"{number(row['value'])} {interval}", "n": f"{row['n']:,}"}
            told = {name: str(row[name]) for name in ("system", "phenomenon", "category", "k") if name in row}
            assert any({**shown, **told}.items() <= line.items() for line in found), row


def test_each_table_has_its_signature(lab_run, lab_page):
    signature = json.loads((lab_run / "manifest.json").read_text("utf-8"))["signature"]
    text = lab_page.read_text("utf-8")
    sheets = text.split("<table>")[1:]
    assert len(sheets) > 10
    for sheet in sheets:
        assert signature in sheet.split("</table>")[1].split("<table>")[0]


def test_nothing_is_asked_of_a_network(lab_page):
    page = Page(lab_page.read_text("utf-8"))
    links = [*page.attributes("href"), *page.attributes("src")]
    assert links
    assert all(link.startswith("#") or link == "data:," for link in links)
    assert not re.search(
        r"url\(|@import|fetch\(|XMLHttpRequest|import\(", "".join(page.texts["style"] + page.texts["script"])
    )
    assert not any("style" in own for _, own in page.elements)  # the policy would refuse them
    assert not any(name.startswith("on") for _, own in page.elements for name in own)


def test_the_policy_knows_the_one_script_and_the_one_style_by_their_hashes(lab_page):
    page = Page(lab_page.read_text("utf-8"))
    policy = next(
        own["content"] for _, own in page.elements if own.get("http-equiv") == "Content-Security-Policy"
    )
    assert len(page.texts["script"]) == len(page.texts["style"]) == 1
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.texts[kind][0].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in str(policy)
    assert str(policy).startswith("default-src 'none'")
    assert "unsafe" not in str(policy)


def test_the_page_is_small_and_says_the_same_every_time(lab_run, lab_page, tmp_path):
    assert lab_page.stat().st_size < 5_000_000
    assert write_report([lab_run], tmp_path / "again.html").read_bytes() == lab_page.read_bytes()


def test_hostile_text_stays_text_wherever_it_stands(tmp_path):
    """In items, in ids, in the names of systems, test sets and phenomena."""
    folder = contrast_run(
        tmp_path / "run", 12, texts=HOSTILE, systems=HOSTILE[:2], phenomena=HOSTILE, tests=HOSTILE[0]
    )
    page = page_of(folder)
    plain = page_of(contrast_run(tmp_path / "plain", 12, texts=["a b"] * 6, phenomena=list("abcdef")))
    kinds = {name for name, _ in page.elements}
    assert kinds == {name for name, _ in plain.elements}
    assert "img" not in kinds
    assert [name for name, _ in page.elements].count("script") == 2  # items, and ours
    assert not any(key.startswith("on") for _, own in page.elements for key in own)
    (data,) = page.texts["application/json"]
    items = json.loads(data)["items"]
    assert {item["s"].rsplit(" ", 1)[0] for item in items} == set(HOSTILE)
    cells = {cell for table in page.tables for line in table for cell in line}
    assert set(HOSTILE) <= cells


@pytest.mark.parametrize("text", HOSTILE)
def test_embedded_json_cannot_end_its_element(text):
    made = embedded({"text": text})
    assert "<" not in made
    assert json.loads(made) == {"text": text}


def test_of_very_many_items_a_sample_is_taken_and_that_is_said(tmp_path):
    folder = contrast_run(tmp_path / "run", 400, systems=["one"])
    page = page_of(folder, cap=100)
    items = json.loads(page.texts["application/json"][0])
    lines = (folder / "records.jsonl").read_text("utf-8").splitlines()
    wrong = sum(json.loads(line)["verdict"] == "wrong" for line in lines)
    shown = sum(item["a"][0]["v"] == "wrong" for item in items["items"])
    assert len(items["items"]) == 100
    assert shown == min(wrong, 60)
    assert f"This page has 100 of 400 items: all {wrong} with an error" in items["note"]
    assert page_of(folder, cap=100).texts == page.texts
    assert page_of(folder, cap=100, seed=1).texts != page.texts
    assert json.loads(page_of(folder, cap=400).texts["application/json"][0])["note"] == ""


def test_runs_of_other_tests_stand_beside_each_other_and_the_reason_is_told(tmp_path):
    one = contrast_run(tmp_path / "one", 40, systems=["one"])
    two = contrast_run(tmp_path / "two", 30, systems=["two"])
    report = collect([read_run(one), read_run(two)])
    assert report.apart.endswith("pairs has 40 items there, 30 here"), "without the hint of `compare`"
    assert not report.compared
    assert "Runs are not compared with each other" in render(report)


def test_findings_are_worst_first_with_figure_and_items(lab_run):
    report = collect([read_run(lab_run)])
    for system, findings in report.findings.items():
        assert findings
        tags = [TAGS.index(each.tag) for each in findings]
        assert tags == sorted(tags)
        for each in findings:
            assert (each.system, bool(re.fullmatch(r"n\s=\s[\d,]+", each.size))) == (system, True)
            assert each.section in {section.key for section in report.sections}


def test_a_finding_says_which_of_several_test_sets_it_is_of(tmp_path):
    for name, text in (("in", "a b\nc d\n"), ("news", "e f\ng h\n"), ("law", "i j\nk l\n")):
        (tmp_path / name).write_text(text)
    tests = [{"name": name, "spec": f"parallel:{tmp_path}/in,{tmp_path}/{name}"} for name in ("news", "law")]
    study: dict[str, Any] = {
        "systems": [{"name": "copy", "spec": f"file:{tmp_path}/in?source={tmp_path}/in"}],
        "tests": tests,
        "methods": [{"name": "quality", "metric": ["chrf"]}],
    }
    for count in (1, 2):
        run_study(Study(**study | {"tests": tests[:count]}), out=tmp_path / f"run{count}")
    one, two = (collect([read_run(tmp_path / f"run{count}")]).findings["copy"] for count in (1, 2))
    claim = one[0].claim
    assert "news" not in claim
    assert [each.claim for each in two] == [f"{claim} (news)", f"{claim} (law)"]


def test_an_error_rate_is_called_an_error_only_if_it_is_certain(tmp_path):
    """Random verdicts: about one in eleven is wrong. Without controls, forced choice shows no error of the system."""
    few, many = (collect([read_run(contrast_run(tmp_path / str(n), n, systems=["one"]))]) for n in (12, 1200))
    assert many.findings["one"][0].tag == "Unknown"
    assert {each.tag for each in few.findings["one"]} <= {"Not significant", "Too few items"}


@pytest.fixture
def politeness(tmp_path: Path) -> Path:
    """A run of a plug-in's method."""
    folder = contrast_run(tmp_path / "run", 20)
    for name in ("manifest.json", "records.jsonl", "summary.json"):
        path = folder / name
        path.write_text(path.read_text("utf-8").replace('"contrast"', '"politeness"'), encoding="utf-8")
    seal(folder)
    return folder


@pytest.mark.parametrize("installed", [False, True])
def test_a_method_of_another_package_is_shown_by_its_figures_and_records(politeness, monkeypatch, installed):
    """Not installed, or without tables of its own."""
    if installed:
        entry = EntryPoint("politeness", "tests.report.synthetic:Plain", METHODS.group)
        monkeypatch.setattr(metadata, "entry_points", lambda group, name="politeness": [entry])  # noqa: ARG005
    report = collect([read_run(politeness)])
    assert report.sections[0].parts[0].tables[0].table.title == "Figures: pairs"
    assert report.compared
    page = Page(render(report))
    items = json.loads(page.texts["application/json"][0])["items"]
    assert items[0]["a"][0]["v"] in ("correct", "wrong")
    assert any("np_agreement" in line for table in page.tables for line in table)


def test_a_folder_that_is_no_finished_run_is_refused(tmp_path):
    with pytest.raises(BabelscopeError, match="not a run folder"):
        write_report([tmp_path], tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_a_result_shows_itself_in_a_notebook():
    config = {"methods": [], "systems": [], "tests": [], "seed": 0, "version": "0"}
    row = Row("all", Estimate(0.5, 0.25, 0.75, 8), {"phenomenon": HOSTILE[1]})
    html = Result(config, [row])._repr_html_()
    shown = Page(html)
    line = [HOSTILE[1], "0.5 [0.25, 0.75]"]
    assert shown.tables == [[["phenomenon", "value"], line]]
    assert "<caption>Figures: all ([95 % interval]; n = 8)</caption>" in html
    assert "|seed:0|" in html
    assert "img" not in {name for name, _ in shown.elements}


def test_every_chart_becomes_a_file_for_papers(lab_run, tmp_path):
    report = collect([read_run(lab_run)])
    for name in ("1", "2"):
        write_report([lab_run], tmp_path / "page.html", figures=tmp_path / name)
    files = sorted((tmp_path / "1").iterdir())
    assert {path.stem for path in files} == set(report.charts)
    assert len(files) == len(report.flows) + sum(
        len(part.charts) for section in report.sections for part in section.parts
    )
    assert "contrast-pairs-discrepancy.pdf" in {path.name for path in files}
    assert "flows-data-distilled-student.pdf" in {path.name for path in files}
    for path in files:
        assert path.read_bytes() == (tmp_path / "2" / path.name).read_bytes()
        assert path.read_bytes().startswith(b"%PDF")


def test_charts_of_one_name_are_numbered():
    chart, other = (Chart("Accuracy", Cloud([], "x", "y", -1), each) for each in "ab")
    found = named_charts([("a b", [chart, other]), ("a_b", [chart]), ("c", [other])])
    assert list(found) == ["a-b-accuracy", "a-b-accuracy-2", "a-b-accuracy-3", "c-accuracy"]


def test_a_result_plots_its_charts(tmp_path):
    result = run_study(
        Study.model_validate(
            {
                "systems": [{"name": name, "spec": f"lab:{name}"} for name in ("teacher", "student")],
                "tests": [{"name": name, "spec": f"lab:parallel?n=4&seed={name}"} for name in ("1", "2")],
                "methods": [{"name": "likelihood"}],
            }
        ),
        out=tmp_path / "run",
    )
    first = result.plot()
    assert first.get_size_inches()[0] == pytest.approx(520 / 72)
    assert (
        result.plot("likelihood-2-perplexity-of-the-references-2")
        .axes[0]
        .get_xlabel()
        .startswith("perplexity")
    )
    assert first._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    with pytest.raises(BabelscopeError, match="no chart is called 'x': likelihood-1-perplexity"):
        result.plot("x")
    with pytest.raises(BabelscopeError, match="several charts are called 'difference-"):
        result.plot("difference-between-systems-logprob-teacher")
