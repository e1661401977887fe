"""Charts: well-formed, escaped, to scale, the same bytes, and described in words."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.core.charts import (
    Band,
    Bar,
    Chart,
    Cloud,
    Curve,
    Dot,
    Dots,
    Drawing,
    Flow,
    Forest,
    Histogram,
    Key,
    Lines,
    Point,
    Scatter,
    slug,
)
from babelscope.report import charts
from babelscope.report.charts import VARIABLES, as_file, as_svg, extent, figure, swatch
from babelscope.util.errors import BabelscopeError
from tests.report.synthetic import HOSTILE

numbers = st.floats(-1e6, 1e6, allow_nan=False)
STRANGE = [*HOSTILE, "$x$ \\frac{a}{b} $", "a\nb\tc", "]]> -- <style>*{}</style>"]
SVG = "{http://www.w3.org/2000/svg}"


def drawn(drawing: Drawing, title: str = "t", systems: tuple[str, ...] = ("s",)) -> Element:
    series = {name: place for place, name in enumerate(systems)}
    return ElementTree.fromstring(as_svg(Chart(title, drawing, ""), series))


def every_kind(name: str) -> dict[str, Drawing]:
    """A drawing of each kind, with a name wherever one can stand."""
    point = Point(0.5, 0.2, math.inf)
    return {
        "forest": Forest(
            [(name, [Bar(name, point, name), Bar("b", Point(math.nan), name)])], name, [Key(name, name)]
        ),
        "bars": Forest([(name, [Bar(name, Point(0.5, 0.2, 0.8))])], name, bars=True),
        "scatter": Scatter(
            [Dot(name, point, point, 0, name, name)], name, name, [Key(name, name)], lines=[(name, [(0, 1)])]
        ),
        "histogram": Histogram(name, [("0-1", 3, 1), ("1-2", 0, 0)], name),
        "lines": Lines(
            [Curve(name, name, [(1, point), (2, point)]), Curve("b", name, [(1, Point(0.4))], dashed=True)],
            name,
            name,
            bands=[Band(name, name, [(1, 0.1, 0.2), (2, 0.1, 0.3)])],
        ),
        "cloud": Cloud([Dots(name, [(-1.0 + each / 50, 0.5) for each in range(40)])], name, name, -2),
        "flow": Flow([(name, "b", 12)], {"b": name}, {name: 0}, [name, name]),
    }


def marks(chart: Element) -> list[tuple[str, float, float]]:
    """Tooltip and place of each mark."""
    found = []
    for group in chart.iter("g"):
        for path in group.findall("path[@transform]"):
            x, y = re.findall(r"[-\d.]+", str(path.get("transform")))
            found.append((str(group.findtext("title")), float(x), float(y)))
    return found


def points(path: Element) -> list[tuple[float, float]]:
    """The points of a path of straight lines."""
    found = [float(each) for each in re.findall(r"-?[\d.]+", str(path.get("d")))]
    return list(zip(found[0::2], found[1::2], strict=True))


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("kind", every_kind(""))
def test_names_are_text_and_the_chart_is_described_in_words(kind, name):
    chart = drawn(every_kind(name)[kind], name, (name, "b"))
    assert {each.tag for each in chart.iter()} <= {"svg", "title", "desc", "g", "path", "text"}
    attributes = {attribute for each in chart.iter() for attribute in each.attrib}
    assert not attributes & {"style", "href", "onload", "onerror"}
    assert not {name for name in attributes if "{" in name}, "no references"
    for each in chart.iter():
        values = " ".join(each.get(attribute, "") for attribute in ("d", "x", "y", "transform"))
        assert not re.search("nan|inf|url", values)
    one_line = " ".join(name.split())
    assert chart.findtext("title") == one_line
    assert one_line in str(chart.findtext("desc")) or kind == "histogram"
    assert chart.get("role") == "img"
    assert str(chart.get("aria-labelledby")).split() == [each.get("id") for each in chart if each.get("id")]
    assert any(one_line[:8] in str(each.text) for each in chart.iter("text")), "not parsed as mathematics"


@pytest.mark.parametrize("kind", every_kind(""))
def test_the_same_chart_is_the_same_bytes(kind):
    chart, series = Chart("t", every_kind("s")[kind], ""), {"s": 0, "b": 1}
    assert as_svg(chart, series) == as_svg(chart, series)
    assert as_svg(chart, series, "other") != as_svg(chart, series)
    for form, start in (("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<svg")):
        data = as_file(chart, series, form)  # type: ignore[arg-type]
        assert data == as_file(chart, series, form)  # type: ignore[arg-type]
        assert data.startswith(start)
        assert not re.search(rb"CreationDate|matplotlib|Matplotlib|style=|<style|<script|metadata", data)


def test_charts_are_as_wide_as_columns_of_papers():
    series = {"s": 0, "b": 1}
    widths = {
        kind: figure(Chart("t", each, ""), series, width="paper").get_size_inches()[0]
        for kind, each in every_kind("s").items()
    }
    assert widths.pop("flow") == pytest.approx(6.9)
    assert list(widths.values()) == [pytest.approx(3.3)] * len(widths)


def test_colors_are_those_of_the_style_sheet():
    style = (Path(charts.__file__).parent / "page.css").read_text("utf-8")
    for color, variable in VARIABLES.items():
        name = variable.removeprefix("var(").removesuffix(")")
        assert f"{name}: {color};" in style or name == "--paper", (
            "paper is white, and the page a little darker"
        )
    for kind, drawing in every_kind("s").items():
        found = as_svg(Chart("t", drawing, ""), {"s": 0, "b": 1})
        assert not re.findall(r'"#\w+"', found), f"{kind} has colors that dark mode does not change"
        assert "var(--" in found
    assert "var(--s1)" in swatch(7)


def test_settings_of_the_user_change_nothing():
    import matplotlib

    chart = Chart("t", every_kind("s")["lines"], "")
    plain = as_svg(chart, {"s": 0, "b": 1})
    with matplotlib.rc_context({"font.size": 30, "axes.spines.left": True, "text.usetex": True}):
        assert as_svg(chart, {"s": 0, "b": 1}) == plain
        assert matplotlib.rcParams["font.size"] == 30


@given(values=st.lists(numbers, min_size=1, max_size=5), least=st.one_of(st.none(), numbers))
def test_an_axis_holds_every_interval(values, least):
    found = [Point(value, value - 1, math.inf) for value in values]
    low, high = extent(found, least=least)
    assert low < high
    assert all(low <= end <= high for point in found for end in (point.value, point.low))
    assert least is None or low <= least


def test_an_axis_of_nothing_is_still_an_axis():
    assert extent([]) == (0.0, 1.0)
    assert extent([Point(math.nan)]) == (0.0, 1.0)
    low, high = extent([Point(0.0)])
    assert low < 0 < high


def test_marks_and_intervals_stand_where_the_numbers_are():
    bars = [Bar("s", Point(value, value - 0.1, value + 0.1)) for value in (0.2, 0.5, 0.8)]
    chart = drawn(Forest([("name", bars)], "l", domain=(0.0, 1.0)))
    across = [x for _, x, _ in marks(chart)]
    intervals = [points(each) for each in chart.findall("path[@stroke-opacity='0.55']")]
    assert [title for title, *_ in marks(chart)] == [f"name, s: {value} %" for value in (20, 50, 80)]
    assert across[1] - across[0] == pytest.approx(across[2] - across[1], abs=0.02)
    for x, ((start, _), (end, _)) in zip(across, intervals, strict=True):
        assert (start + end) / 2 == pytest.approx(x, abs=0.02)
        assert (end - start) / (across[2] - across[0]) == pytest.approx(0.2 / 0.6, abs=0.001)


def test_items_that_are_neither_right_nor_wrong_stand_on_top_of_the_others():
    chart = drawn(Histogram("s", [("0-1", 10, 3)], "l", [5]))
    bars = [[y for _, y in points(path)] for group in chart.iter("g") for path in group.findall("path")]
    heights = [max(own) - min(own) for own in bars]
    assert [height / sum(heights) for height in heights] == pytest.approx([0.2, 0.3, 0.5], abs=0.001)
    assert max(bars[2]) == pytest.approx(min(bars[1]), abs=0.02)
    assert {group.findtext("title") for group in chart.iter("g")} == {
        "0-1: 10 items, 3 right, 5 undecided or tied"
    }
    assert "undecided or tied" in {each.text for each in chart.iter("text")}


def test_names_find_a_place_however_many_stand_at_one_spot():
    """Two names a system, of twenty systems that are equally good."""
    dots = [Dot("s", Point(0.1), Point(0.5), name=f"name {number}") for number in range(40)]
    names = [each.text for each in drawn(Scatter(dots, "x", "y")).iter("text")]
    assert sum(str(name).startswith("name ") for name in names) == 40


def test_the_seventh_system_has_a_shape_of_its_own():
    systems = tuple(f"s{number}" for number in range(9))
    curves = [Curve(name, name, [(1, Point(0.5, 0.4, 0.6)), (2, Point(0.5))]) for name in systems]
    chart = drawn(Lines(curves, "x", "y"), systems=systems)
    shapes = {
        (path.get("d"), path.get("fill"))
        for group in chart.iter("g")
        for path in group.findall("path[@transform]")
    }
    assert len(shapes) == len(systems)
    assert len({fill for _, fill in shapes}) == 6


def test_values_of_x_are_written_whole_and_do_not_touch():
    values = [(1000000.0 + number, Point(0.5, 0.4, 0.6, 12)) for number in range(40)]
    chart = drawn(Lines([Curve("s", "s", values)], "parameters", "y"))
    ticks = [
        (float(each.get("x", "")), each.text or "")
        for each in chart.iter("text")
        if each.get("text-anchor") == "middle"
    ]
    assert len({name for _, name in ticks}) == len(ticks) > 3
    assert all(name.startswith("10000") for _, name in ticks)
    assert all(b - a > 6 * len(name) for (a, name), (b, _) in itertools.pairwise(ticks))
    assert "1000000: 0.5 [0.4, 0.6], n = 12" in str(chart.findtext("desc"))


@pytest.mark.parametrize("number", [1, 12, 40])
def test_marks_stay_between_the_axis_and_the_edge_however_many_lines_there_are(number):
    values = [(1.0, Point(0.5, 0.4, 0.6)), (2.0, Point(0.6))]
    curves = [
        Curve("s", f"{place}{dashed}", values, dashed=dashed)
        for place in range(number)
        for dashed in (False, True)
    ]
    chart = drawn(Lines(curves, "x", "y"))
    places = [x for _, x, _ in marks(chart)]
    assert len(places) == 2 * number
    axis = min(x for each in chart.findall("path[@stroke='var(--grid)']") for x, _ in points(each))
    assert axis + 5 < min(places) < max(places) <= 520
    middle = [float(each.get("x", "")) for each in chart.iter("text") if each.text in ("1", "2")]
    assert [sum(places[0::2]) / number, sum(places[1::2]) / number] == pytest.approx(middle, abs=0.1)


def test_names_of_files_are_short_words():
    assert slug("Errors, in its own translations (kRG)") == "errors-in-its-own-translations-krg"
    assert slug("../../a_b/対照") == "a-b-対照"
    assert slug("w" * 100) == slug("...") == "chart"
    assert len(slug("many words " * 20)) <= 48
    assert Chart("A title", Cloud([], "x", "y", -1), "").slug == "a-title"
    assert Chart("A title", Cloud([], "x", "y", -1), "", "short").slug == "short"


# -- Sankey diagrams -----------------------------------------------------------------------------------

counts = st.integers(0, 50)


def ribbons(chart: Element) -> list[tuple[float, float]]:
    """How thick each ribbon is where it starts and where it ends."""
    found = []
    for path in chart.findall("g/path"):
        heights = [y for _, y in points(path)]
        found.append((heights[7] - heights[0], heights[4] - heights[3]))
    return found


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), counts), min_size=1, max_size=9))
def test_ribbons_are_as_thick_as_what_flows(flows):
    once = [(a, b, c) for (a, b), c in {(a, b): c for a, b, c in flows}.items()]
    if not sum(c for *_, c in once):
        return
    chart = drawn(Flow(once))
    positive = [count for *_, count in once if count]
    thick = ribbons(chart)
    assert len(thick) == len(positive)
    for start, end in thick:
        assert start == pytest.approx(end, abs=0.03)
    scales = [start / count for (start, _), count in zip(thick, positive, strict=True)]
    assert max(scales) == pytest.approx(min(scales), abs=0.05)
    height = float(str(chart.get("viewBox")).split()[-1])
    assert all(0 <= y <= height for path in chart.iter("path") for _, y in points(path))


def test_columns_follow_the_longest_way():
    chart = drawn(Flow([("a", "b", 2), ("b", "c", 1), ("a", "c", 1)]))
    nodes = [min(x for x, _ in points(path)) for path in chart.findall("path")]
    assert nodes == sorted(nodes)
    assert len(set(nodes)) == 3
    with pytest.raises(BabelscopeError, match="cannot have flows in a circle"):
        drawn(Flow([("a", "b", 2), ("b", "a", 1)]))


def test_a_diagram_names_nodes_and_flows():
    chart = drawn(Flow([("a", "b", 1234)], headings=["data", "student", "more"]), "Genders")
    assert {each.text for each in chart.iter("text")} == {"data", "student", "a 1,234", "b 1,234"}
    assert [group.findtext("title") for group in chart.findall("g")] == ["a → b: 1,234"]
    assert (chart.findtext("title"), chart.findtext("desc")) == ("Genders", "a → b: 1,234")


def test_what_cannot_be_drawn():
    for flows in ([], [("a", "b", -1.0)], [("a", "b", float("nan"))], [("a", "b", 0.0)]):
        with pytest.raises(BabelscopeError, match="needs flows, none of them negative"):
            drawn(Flow(flows))
