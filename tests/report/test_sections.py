"""Sections as data: stored and read again they are the same, and a page can be made of them without the method."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from babelscope.core.comparison import Comparison
from babelscope.core.page import Section
from babelscope.methods.view import find_view, sections_of
from babelscope.report import page, sections
from babelscope.report.charts import as_svg
from babelscope.report.page import Report, collect, render
from babelscope.runs.compare import group_runs
from babelscope.runs.reading import Run, read_run
from babelscope.util.errors import BabelscopeError
from tests.report.synthetic import contrast_run


def keeping(path: Path) -> Run:
    run = read_run(path)
    return dataclasses.replace(run, sections=through_a_file(sections_of(group_runs([run]))))


def through_a_file(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


@pytest.fixture
def uninstalled(monkeypatch: pytest.MonkeyPatch) -> None:
    """No method has a view."""
    monkeypatch.setattr(sections, "find_view", lambda _kind: None)


def test_a_page_of_stored_sections_is_the_same_page(
    lab_run: Path, lab_page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every kind of chart is in it."""

    def stored(group: Comparison) -> tuple[Section, Any]:
        section, view = sections.shown_by(group)
        return Section.from_json(through_a_file(section.as_json())), view

    monkeypatch.setattr(page, "shown_by", stored)
    text = render(collect([read_run(lab_run)]))
    assert text.encode() == lab_page.read_bytes()


@pytest.mark.usefixtures("uninstalled")
def test_without_the_method_its_stored_section_is_shown_and_its_records_as_they_are(lab_run: Path) -> None:
    report = collect([keeping(lab_run)])
    titles = [section.title.partition(":")[0] for section in report.sections]
    assert titles == ["Minimal pairs", "Disambiguation", "Hypothesis space", "Challenge sets", "Likelihood"]
    assert all(section.parts[0].charts for section in report.sections)
    assert report.findings["student"]
    verdicts = {answer["v"] for item in report.sections[0].items["items"] for answer in item["a"]}
    assert verdicts <= {"correct", "wrong", "tie"}, "the words of the records, not of the view"
    assert render(report)


@pytest.mark.usefixtures("uninstalled")
def test_without_method_and_section_figures_are_shown(tmp_path: Path) -> None:
    report = collect([read_run(contrast_run(tmp_path / "run", 12))])
    (section,) = report.sections
    assert section.title == "Contrast"
    assert section.parts[0].tables[0].table.title == "Figures: pairs"


def systems_of(report: Report) -> set[str]:
    return {key.system for section in report.sections for key in section.findings} | set(report.series)


@pytest.mark.usefixtures("uninstalled")
def test_stored_sections_of_several_runs_stand_together_under_the_names_of_the_page(tmp_path: Path) -> None:
    """Two systems of one name: the page tells them apart, what the runs have stored does not."""
    paths = [contrast_run(tmp_path / part, 30, systems=["one"], salt=part) for part in "ab"]
    runs = [keeping(path) for path in paths]
    report = collect(runs)
    assert systems_of(report) == {"one (a)", "one (b)"}
    (section,) = report.sections
    titles = [drawn.chart.title for drawn in section.parts[0].charts]
    assert titles.count("Accuracy against discrepancy") == 2
    for finding in section.findings:
        assert finding.query["system"] == finding.system
    assert "var(--s1)" in section.parts[0].charts[2].svg
    # One run without a section: figures, not half of the findings.
    assert not collect([runs[0], dataclasses.replace(runs[1], sections=())]).sections[0].findings


def test_what_a_method_without_view_shows_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = group_runs([read_run(contrast_run(tmp_path / "run", 6))])
    assert [(each["method"], each["tests"]) for each in sections_of(groups)] == [("contrast", "pairs")]
    assert find_view("no_such_method") is None
    monkeypatch.setattr("babelscope.methods.view.find_view", lambda _kind: None)
    assert sections_of(groups) == []


def test_a_place_with_something_else_than_a_view_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from babelscope.methods import view
    from babelscope.methods.contrast.method import METHOD

    method = dataclasses.replace(METHOD, view="babelscope.methods.contrast.method:METHOD")
    monkeypatch.setattr(view, "find_method", lambda _name: method)
    with pytest.raises(BabelscopeError, match="not a View"):
        find_view("contrast")


# -- edited by hand --------------------------------------------------------------------------------------

WRONG: list[Any] = [None, "x", -1, 1e308, 10**400, [[]], {"a": [1]}, ["x"], True, {}, [], "forest"]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in JSON; of lists, only in the first element."""
    found = [path]
    if isinstance(value, dict):
        found += [each for name in value for each in places(value[name], (*path, name))]
    elif isinstance(value, list) and value:
        found += places(value[0], (*path, 0))
    return found


def edited(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = edited(value[path[0]], path[1:], new)
    return copy


@pytest.mark.usefixtures("uninstalled")
def test_a_section_edited_by_hand_is_shown_as_text_or_refused_in_a_sentence(lab_run: Path) -> None:
    run = keeping(lab_run)
    series = {"teacher": 0, "student": 1}
    told = 0
    for number, entry in enumerate(run.sections):
        whole = Section.from_json(entry["section"]).pictures
        for place, path in enumerate(places(entry["section"])):
            for new in (WRONG[(place + number) % len(WRONG)], WRONG[(place * 7 + number + 5) % len(WRONG)]):
                stored = edited(entry["section"], path, new)
                try:
                    shown = Section.from_json(stored)
                except BabelscopeError:
                    told += 1
                    continue
                # The others are as they were; drawing them again would take minutes.
                for chart in (each for each in shown.pictures if each not in whole):
                    try:
                        as_svg(chart, series)
                    except (KeyError, ArithmeticError, ValueError):
                        told += 1  # `collect` says of these that the files were changed
    assert told > 200


@pytest.mark.usefixtures("uninstalled")
@pytest.mark.parametrize("entries", [5, [5], [{}], [{"method": "contrast", "tests": "pairs", "section": 5}]])
def test_sections_that_are_none_end_in_a_sentence(tmp_path: Path, entries: Any) -> None:
    run = dataclasses.replace(keeping(contrast_run(tmp_path / "run", 6)), sections=entries)
    with pytest.raises(BabelscopeError, match="damaged"):
        collect([run])


@pytest.mark.usefixtures("uninstalled")
def test_a_finding_about_a_system_that_was_not_asked_ends_in_a_sentence(tmp_path: Path) -> None:
    run = keeping(contrast_run(tmp_path / "run", 6))
    stored = json.loads(json.dumps(run.sections))
    stored[0]["section"]["findings"][0]["system"] = "nobody"
    with pytest.raises(BabelscopeError, match="nobody"):
        collect([dataclasses.replace(run, sections=stored)])
