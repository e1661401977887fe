"""Systems against what is known of them: each group of seeds has a mark of its own."""

from __future__ import annotations

import re

from babelscope.core.page import Point
from babelscope.report.against import Mark, draw_against


def test_more_groups_than_colours_differ_in_shape() -> None:
    marks = [Mark(f"s{each}", Point(each), Point(each), f"s{each}") for each in range(9)]
    found = draw_against(marks, title="t", x_label="x", y_label="y")
    shapes = re.findall(r'<path d="([^"]*)" transform="[^"]*" fill="([^"]*)"><title>(s\d)<', found)
    assert len({(shape, colour) for shape, colour, _ in shapes}) == 9
