"""What is shown of verdicts: nothing of an evaluator that failed its test, and the undecided apart from the wrong."""

from __future__ import annotations

from babelscope import condition
from babelscope.core.page import Histogram
from babelscope.methods.condition.view import section
from babelscope.report.summary import summarise
from tests.methods.condition.test_preflight import Judge, Translator, items

BLIND = Judge(lambda _source: "nothing that a translation has")


def test_figures_of_an_evaluator_that_failed_head_no_summary() -> None:
    result = condition(Translator(), BLIND, items())
    told = summarise(result, width=200)
    assert "the evaluator failed: " in told
    assert "worst case" not in told
    assert "95 % interval" not in told


def test_undecided_items_are_not_drawn_as_wrong() -> None:
    result = condition(Translator(), BLIND, items(), protocol="strict")
    assert {record["verdict"] for record in result.records} == {"undecided"}
    charts = [picture.chart for picture in section(result.groups[0]).pictures]
    histogram = next(chart for chart in charts if isinstance(chart, Histogram))
    assert sum(items for _, items, _ in histogram.bins) == sum(histogram.neither) == len(result.records)
