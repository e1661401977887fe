"""Pictures: well-formed, escaped, in scale, and told in words for those who do not see them."""

from __future__ import annotations

import itertools
import math
import re
from xml.etree import ElementTree

import pytest
from babelscope.report.against import Mark, draw_against
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from babelscope.core.charts import (
    Band,
    Bar,
    Chart,
    Cloud,
    Curve,
    Dot,
    Dots,
    Forest,
    Histogram,
    Key,
    Lines,
    Point,
    Scatter,
)
from babelscope.report.charts import draw, extent
from babelscope.report.flows import sankey
from babelscope.util.errors import BabelscopeError
from tests.report.synthetic import HOSTILE

numbers = st.floats(-1e6, 1e6, allow_nan=False)


def drawn(chart: Chart, title: str = "t", systems: tuple[str, ...] = ("s",)) -> Markup:
    return draw(Chart(title, chart, ""), {name: place for place, name in enumerate(systems)}).svg


def parsed(svg: Markup) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def every_kind(name: str) -> dict[str, Markup]:
    """A picture of each kind, with a name wherever one can stand."""
    point = Point(0.5, 0.2, math.inf)
    charts: dict[str, Chart] = {
        "forest": Forest(
            [(name, [Bar(name, point, name), Bar("b", Point(math.nan), name)])], name, [Key(name, name)]
        ),
        "bars": Forest([(name, [Bar(name, Point(0.5, 0.2, 0.8))])], name, bars=True),
        "scatter": Scatter([Dot(name, point, point, 0, name, name)], name, name, [Key(name, name)]),
        "histogram": Histogram(name, [("0-1", 3, 1), ("1-2", 0, 0)], name),
        "lines": Lines(
            [Curve(name, name, [(1, point), (2, point)]), Curve("b", name, [(1, Point(0.4))], dashed=True)],
            name,
            name,
            bands=[Band(name, name, [(1, 0.1, 0.2), (2, 0.1, 0.3)])],
        ),
        "cloud": Cloud([Dots(name, [(-1.0, 0.5), (-0.5, 0.7)])], name, name, -2),
    }
    return {kind: drawn(chart, name, (name, "b")) for kind, chart in charts.items()}


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text_and_the_picture_is_told_in_words(name: str) -> None:
    for svg in every_kind(name).values():
        picture = parsed(svg)
        assert not {each.tag for each in picture.iter()} & {"script", "img", "b"}
        assert not re.search(r"[\s\"(]-?(nan|inf)", re.sub(r"<(title|desc|text).*?</\1>", "", svg))
        assert picture.find("title").text == name  # type: ignore[union-attr]
        assert picture.find("desc").text  # type: ignore[union-attr]
        ids = {each.get("id") for each in picture.iter()}
        assert set(str(picture.get("aria-labelledby")).split()) <= ids


@given(
    values=st.lists(numbers, min_size=1, max_size=5),
    least=st.one_of(st.just(math.inf), numbers),
)
def test_an_axis_holds_every_interval(values: list[float], least: float) -> None:
    points = [Point(value, value - 1, math.inf) for value in values]
    low, high = extent(points, least=least)
    assert low < high
    assert all(low <= end <= high for point in points for end in (point.value, point.low))
    assert math.isinf(least) or low <= least


def test_an_axis_of_nothing_is_still_an_axis() -> None:
    assert extent([]) == (0.0, 1.0)
    assert extent([Point(math.nan)]) == (0.0, 1.0)
    low, high = extent([Point(0.0)])
    assert low < 0 < high


def test_marks_and_whiskers_stand_where_the_numbers_are() -> None:
    bars = [Bar("s", Point(value, value - 0.1, value + 0.1)) for value in (0.2, 0.5, 0.8)]
    picture = parsed(drawn(Forest([("name", bars)], "l", domain=(0.0, 1.0))))
    marks = [each for each in picture.iter("path") if str(each.get("class")).startswith("mark")]
    whiskers = [each for each in picture.iter("path") if str(each.get("class")).startswith("whisker")]
    across = [float(re.findall(r"[-\d.]+", str(each.get("transform")))[0]) for each in marks]
    assert across[1] - across[0] == pytest.approx(across[2] - across[1], abs=0.2)
    for x, whisker in zip(across, whiskers, strict=True):
        start, _, end, _ = (float(each) for each in re.findall(r"[-\d.]+", str(whisker.get("d"))))
        assert (start + end) / 2 == pytest.approx(x, abs=0.2)
        assert (end - start) / (across[2] - across[0]) == pytest.approx(0.2 / 0.6, abs=0.01)


def test_items_that_are_neither_right_nor_wrong_stand_on_top_of_the_others() -> None:
    picture = parsed(drawn(Histogram("s", [("0-1", 10, 3)], "l", [5])))
    bars = [each for each in picture.iter("rect") if each.find("title") is not None]
    heights = [float(str(each.get("height"))) for each in bars]
    assert [height / sum((heights[0], heights[2])) for height in heights] == pytest.approx(
        [0.5, 0.2, 0.5], abs=0.01
    )
    assert "undecided or tied" in "".join(picture.itertext())


def test_names_find_a_place_however_many_stand_at_one_spot() -> None:
    """Two names a system, of twenty systems that are equally good."""
    dots = [Dot("s", Point(0.1), Point(0.5), name=f"name {number}") for number in range(40)]
    assert drawn(Scatter(dots, "x", "y")).count(">name ") == 40


def test_the_seventh_system_has_a_color_and_a_shape_of_its_own() -> None:
    """The style sheet has six colors: a class beyond them would leave a line black."""
    systems = tuple(f"s{number}" for number in range(9))
    point = Point(0.5, 0.4, 0.6)
    charts: list[Chart] = [
        Lines(
            [Curve(name, name, [(1, point), (2, point)]) for name in systems],
            "x",
            "y",
            bands=[Band(name, name, [(1, 0.1, 0.2), (2, 0.1, 0.3)]) for name in systems],
        ),
        Forest([("a", [Bar(name, point) for name in systems])], "x", bars=True),
        Histogram("s8", [("0-1", 3, 1)], "x"),
        Cloud([Dots(name, [(-0.1 * n, 0.5) for n in range(20)]) for name in systems], "x", "y", -3.0),
    ]
    for chart in charts:
        colors = re.findall(
            r"\bs(\d+)\b", " ".join(re.findall(r'class="([^"]*)"', drawn(chart, systems=systems)))
        )
        assert set(colors) <= set("012345")
    marks = re.findall(
        r'<path d="([^"]*)" transform="[^"]*" class="mark (s\d)', drawn(charts[0], systems=systems)
    )
    assert len(set(marks)) == len(systems)


def test_values_of_x_are_written_whole_and_do_not_touch() -> None:
    points = [(1000000.0 + number, Point(0.5, 0.4, 0.6, 12)) for number in range(40)]
    found = drawn(Lines([Curve("s", "s", points)], "parameters", "y"))
    ticks = [
        (float(each.get("x", "")), each.text or "")
        for each in parsed(found).iter()
        if each.tag.endswith("text") and each.get("text-anchor") == "middle"
    ]
    assert len({name for _, name in ticks}) == len(ticks) > 3
    assert all(name.startswith("10000") for _, name in ticks)
    assert all(b - a > 6 * len(name) for (a, name), (b, _) in itertools.pairwise(ticks))
    assert "1000000: 0.5 [0.4, 0.6], n = 12" in found


@pytest.mark.parametrize("number", [1, 12, 40])
def test_marks_stay_between_the_axis_and_the_edge_however_many_lines_there_are(number: int) -> None:
    points = [(1.0, Point(0.5, 0.4, 0.6)), (2.0, Point(0.6))]
    curves = [
        Curve("s", f"{place}{dashed}", points, dashed=dashed)
        for place in range(number)
        for dashed in (False, True)
    ]
    found = drawn(Lines(curves, "x", "y"))
    places = [float(x) for x in re.findall(r'transform="translate\(([\d.]+) [\d.]+\)"[^>]*><title>', found)]
    assert len(places) == 2 * number
    assert min(places) > 58
    assert max(places) <= 520
    middle = [
        float(each) for each in re.findall(r'<text x="([\d.]+)" [^>]*text-anchor="middle">[12]<', found)
    ]
    assert [sum(places[0::2]) / number, sum(places[1::2]) / number] == pytest.approx(middle, abs=0.1)


def test_more_groups_than_colors_differ_in_shape() -> None:
    marks = [Mark(f"s{each}", Point(each), Point(each), f"s{each}") for each in range(9)]
    found = draw_against(marks, title="t", x_label="x", y_label="y")
    shapes = re.findall(r'<path d="([^"]*)" transform="[^"]*" fill="([^"]*)"><title>(s\d)<', found)
    assert len({(shape, color) for shape, color, _ in shapes}) == 9


# -- Sankey diagrams -----------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def drawn_flows(flows: list[tuple[str, str, float]]) -> ElementTree.Element:
    return ElementTree.fromstring(sankey(flows, title="t", description="d"))


def thickness(path: ElementTree.Element) -> tuple[float, float]:
    """How thick a ribbon is where it starts and where it ends."""
    numbers = [float(each) for each in re.findall(r"-?[\d.]+", str(path.get("d")))]
    start, end, below_end, below_start = numbers[1], numbers[7], numbers[8], numbers[14]
    return below_start - start, below_end - end


counts = st.integers(0, 50)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), counts), min_size=1, max_size=9))
def test_ribbons_are_as_thick_as_what_flows(flows: list[tuple[str, str, float]]) -> None:
    once = [(a, b, c) for (a, b), c in {(a, b): c for a, b, c in flows}.items()]
    if not sum(c for *_, c in once):
        return
    picture = drawn_flows(once)
    paths = picture.findall(f"{SVG}path")
    positive = [flow for flow in once if flow[2]]
    assert len(paths) == len(positive)
    scales = []
    for path, (_, _, count) in zip(paths, positive, strict=True):
        start, end = thickness(path)
        assert start == pytest.approx(end, abs=0.03)
        scales.append(start / count)
    assert max(scales) == pytest.approx(min(scales), abs=0.05)
    height = float(str(picture.get("height")))
    for rect in picture.findall(f"{SVG}rect"):
        assert 0 <= float(str(rect.get("y"))) <= height
        assert float(str(rect.get("y"))) + float(str(rect.get("height"))) <= height


def test_columns_follow_the_longest_way() -> None:
    picture = drawn_flows([("a", "b", 2), ("b", "c", 1), ("a", "c", 1)])
    xs = [float(str(rect.get("x"))) for rect in picture.findall(f"{SVG}rect")]
    assert xs == sorted(xs)
    assert len(set(xs)) == 3
    with pytest.raises(BabelscopeError, match="cannot have flows in a circle"):
        drawn_flows([("a", "b", 2), ("b", "a", 1)])


def test_it_can_be_read_aloud_and_in_the_dark() -> None:
    made = sankey([("a", "b", 1234)], title="Genders", description="All stay.", headings=["data", "student"])
    picture = ElementTree.fromstring(made)
    title, desc = picture.find(f"{SVG}title"), picture.find(f"{SVG}desc")
    assert title is not None
    assert desc is not None
    assert (title.text, desc.text) == ("Genders", "All stay.")
    assert picture.get("role") == "img"
    assert picture.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
    assert picture.get("fill") == "currentColor"
    assert "style=" not in made, "a strict content security policy forbids it"
    texts = [each.text for each in picture.findall(f"{SVG}text")]
    assert texts == ["data", "student", "a 1,234", "b 1,234"]
    (ribbon,) = picture.findall(f"{SVG}path/{SVG}title")
    assert ribbon.text == "a → b: 1,234"


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "a\"b'c & <d>", "\x00\x1b[31m\u202e", "]]>"])
def test_hostile_text_stays_text(text: str) -> None:
    made = sankey(
        [(text, "b", 1)],
        title=text,
        description=text,
        labels={"b": text},
        colors={text: text},
        headings=[text],
    )
    picture = ElementTree.fromstring(made)
    known = ("svg", "title", "desc", "text", "path", "rect")
    assert {each.tag for each in picture.iter()} <= {f"{SVG}{tag}" for tag in known}
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    assert str(picture.findtext(f"{SVG}title")) == shown


def test_what_cannot_be_drawn() -> None:
    for flows in ([], [("a", "b", -1.0)], [("a", "b", float("nan"))], [("a", "b", 0.0)]):
        with pytest.raises(BabelscopeError, match="needs flows, none of them negative"):
            drawn_flows(flows)
