"""The Sankey diagram: well-formed, escaped, as wide as what flows, and readable without a picture."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.report.sankey import sankey
from babelscope.util.errors import BabelscopeError

SVG = "{http://www.w3.org/2000/svg}"


def drawn(flows: list[tuple[str, str, float]], **options: object) -> ElementTree.Element:
    made = sankey(flows, title="t", description="d", **options)  # type: ignore[arg-type]
    return ElementTree.fromstring(made)


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
    picture = drawn(once)
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
    picture = drawn([("a", "b", 2), ("b", "c", 1), ("a", "c", 1)])
    xs = [float(str(rect.get("x"))) for rect in picture.findall(f"{SVG}rect")]
    assert xs == sorted(xs)
    assert len(set(xs)) == 3
    with pytest.raises(BabelscopeError, match="cannot have flows in a circle"):
        drawn([("a", "b", 2), ("b", "a", 1)])


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
        colours={text: text},
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
            drawn(flows)
