"""Items: to JSON and back without loss, and every fault told in one sentence."""

from __future__ import annotations

import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelscope.core.system import Question
from babelscope.testsets import (
    AmbiguousSource,
    Dependency,
    Item,
    MinimalPair,
    ParallelSentence,
    TestSet,
    read_items,
)
from babelscope.testsets.items import kind_of
from babelscope.util.errors import BabelscopeError

PAIR: dict[str, Any] = {
    "id": "1",
    "source": "No dogs.",
    "correct": "Keine Hunde.",
    "contrastive": "Hunde.",
    "phenomenon": "polarity",
    "reference": "human",
}

# Any text an item may hold: one line, no NUL, no lone surrogates, not blank. U+2028 and the like are in.
texts = st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), min_size=1).filter(
    lambda text: bool(text.strip())
)
unicode_texts = st.text(st.characters(exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | unicode_texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(unicode_texts, inner, max_size=3),
    max_leaves=5,
)
OWN = {field.name for kind in get_args(Item) for field in dataclasses.fields(kind)}
extras = st.dictionaries(unicode_texts.filter(lambda name: name not in OWN), json_values, max_size=3)
several = st.lists(texts, min_size=1, max_size=3).map(tuple)
counts = st.integers(0, 10**9)
items = st.one_of(
    st.builds(
        lambda wrong, right, **more: MinimalPair(
            correct=right, contrastive=tuple(f"{text}{right}" for text in wrong), **more
        ),
        several,
        texts,
        id=texts,
        source=texts,
        phenomenon=texts,
        reference=st.sampled_from(["human", "machine"]),
        extra=extras,
    ),
    st.builds(
        AmbiguousSource,
        texts,
        texts,
        st.lists(texts, max_size=2).map(tuple),
        st.lists(texts, max_size=2).map(tuple),
        texts,
        st.none() | texts,
        st.none() | texts,
        extra=extras,
    ),
    st.builds(ParallelSentence, texts, texts, several, extra=extras),
    st.builds(Dependency, texts, texts, counts, st.integers(1, 10**9), counts, extra=extras),
)


@settings(deadline=None)
@given(items)
def test_an_item_survives_json(item: Item) -> None:
    line = json.dumps(item.as_json(), ensure_ascii=False).encode()
    record = json.loads(line)
    back = kind_of(record).from_json(record)
    assert back == item
    assert back.as_json() == item.as_json()
    assert json.dumps(back.as_json(), ensure_ascii=False).encode() == line
    assert pickle.loads(pickle.dumps(item)) == item


def test_one_text_and_a_list_of_it_are_the_same() -> None:
    assert MinimalPair.from_json(PAIR) == MinimalPair.from_json({**PAIR, "contrastive": ["Hunde."]})
    assert MinimalPair.from_json(PAIR).as_json() == PAIR
    several = {**PAIR, "contrastive": ["Hunde.", "Katzen."]}
    assert MinimalPair.from_json(several).as_json() == several


DEPENDENCY = {"id": "1", "phenomenon": "particle", "head": 0, "dependent": 3, "distance": 3}
AMBIGUOUS = {"id": "1", "source": "a", "correct_sources": [], "incorrect_sources": [], "category": "c"}


@pytest.mark.parametrize(
    ("record", "change", "sentence"),
    [
        (PAIR, {"correct": 7}, "field 'correct' must be text, not a number"),
        (PAIR, {"correct": None}, "field 'correct' must be text, not null"),
        (PAIR, {"source": ["a"]}, "field 'source' must be text, not a list"),
        (PAIR, {"source": {}}, "field 'source' must be text, not an object"),
        (PAIR, {"id": True}, "field 'id' must be text, not true or false"),
        (PAIR, {"contrastive": 1}, "field 'contrastive' must be text or a list of texts, not a number"),
        (PAIR, {"contrastive": ["a", 1]}, "field 'contrastive' must be a list of texts only, not a number"),
        (PAIR, {"contrastive": []}, "field 'contrastive' is empty"),
        (PAIR, {"source": " \t"}, "field 'source' is empty"),
        (PAIR, {"source": "a\nb"}, "field 'source' has a line break inside: 'a\\nb'"),
        (PAIR, {"correct": "a\0b"}, "field 'correct' has a NUL character: 'a\\x00b'"),
        (PAIR, {"correct": "\ud800"}, "field 'correct' has a lone surrogate, which is not valid Unicode"),
        (PAIR, {"reference": "robot"}, "field 'reference' must be human or machine, not 'robot'"),
        (PAIR, {"note": "\ud800"}, "cannot be kept as JSON: it has a lone surrogate"),
        (PAIR, {"note": float("inf")}, "cannot be kept as JSON"),
        (PAIR, {"context_source": "Cats."}, "field 'context_source' must be a list of texts, not text"),
        (PAIR, {"context_target": ["a\nb"]}, "field 'context_target' has a line break inside"),
        (PAIR, {"source_language": 3}, "field 'source_language' must be text, not a number"),
        (AMBIGUOUS, {"incorrect_sources": "b"}, "'incorrect_sources' must be a list of texts, not text"),
        (DEPENDENCY, {"head": 1.5}, "field 'head' must be a whole number, not a number"),
        (DEPENDENCY, {"head": True}, "field 'head' must be a whole number, not true or false"),
        (DEPENDENCY, {"dependent": 0}, "field 'dependent' must be at least 1, not 0"),
    ],
)
def test_a_wrong_value_is_told(record: dict[str, Any], change: dict[str, Any], sentence: str) -> None:
    kind = kind_of(record)
    assert kind.from_json(record).as_json() == record
    with pytest.raises(BabelscopeError) as caught:
        kind.from_json({**record, **change})
    assert sentence in str(caught.value)


@pytest.mark.parametrize("name", list(PAIR))
def test_a_missing_field_is_told(name: str) -> None:
    record = {key: value for key, value in PAIR.items() if key != name}
    with pytest.raises(BabelscopeError, match=f"^field '{name}' is missing$"):
        MinimalPair.from_json(record)


def test_extra_cannot_hide_a_field() -> None:
    with pytest.raises(BabelscopeError, match="own field 'reference'"):
        ParallelSentence("1", "a", ("b",), extra={"reference": "c"})


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b'{"id": "2", "source": ', "not JSON: Expecting value at column "),
        (b"", "an empty line"),
        (b"[1]", "each line must be a JSON object, not '[1]'"),
        (b'{"id": NaN}', "NaN is not a JSON value"),
        (b'{"id": "2", "id": "3"}', "the name 'id' occurs twice in an object"),
        (b'{"id": "2\xff"}', "not UTF-8 (invalid start byte at byte 9)"),
        (b"[" * 100_000, "not JSON that can be read"),
        (b'{"n": ' + b"1" * 5000 + b"}", "not JSON that can be read"),
        (json.dumps({**PAIR, "id": "1"}).encode(), "id '1' is already used at {path}:1"),
        (json.dumps({**PAIR, "id": "2", "source": ""}).encode(), "field 'source' is empty"),
        (json.dumps({"id": "2", "source": "a", "reference": "b"}).encode(), "field 'correct' is missing"),
    ],
)
def test_a_fault_in_a_file_is_told_with_its_line(tmp_path: Path, line: bytes, sentence: str) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(json.dumps(PAIR).encode() + b"\n" + line + b"\n")
    with pytest.raises(BabelscopeError) as caught:
        list(read_items(path))
    assert str(caught.value).startswith(f"{path}:2: ")
    assert sentence.format(path=path) in str(caught.value)


def test_fields_that_tell_no_kind_are_told(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text('{"id": "1", "text": "a"}\n')
    with pytest.raises(BabelscopeError, match=r"odd\.jsonl:1: not an item: its fields match no kind"):
        list(read_items(path))


def test_windows_line_ends_and_line_separators_in_json_are_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(json.dumps({**PAIR, "source": "a\u2028b"}, ensure_ascii=False).encode() + b"\r\n")
    (item,) = read_items(path)
    assert isinstance(item, MinimalPair)
    assert item.source == "a\u2028b"


def test_the_digest_is_of_the_items() -> None:
    pair = MinimalPair.from_json(PAIR)
    digest = TestSet("a", (pair,)).digest
    assert digest == TestSet("b", (pair,), {"empty source": 1}).digest
    for name in PAIR:
        changed = {**PAIR, name: "machine" if name == "reference" else "other"}
        assert TestSet("a", (MinimalPair.from_json(changed),)).digest != digest
    assert TestSet("a", (MinimalPair.from_json({**PAIR, "note": 1}),)).digest != digest


def test_a_set_checks_itself() -> None:
    pair = MinimalPair.from_json(PAIR)
    with pytest.raises(BabelscopeError, match="mine has no items; 3 left out: empty source"):
        TestSet("mine", (), {"empty source": 3})
    with pytest.raises(BabelscopeError, match="mine has the id '1' twice"):
        TestSet("mine", (pair, pair))
    with pytest.raises(BabelscopeError, match="mine mixes MinimalPair and ParallelSentence"):
        TestSet("mine", (pair, ParallelSentence("2", "a", ("b",))))
    with pytest.raises(BabelscopeError, match="kRG needs ParallelSentence items, but mine has MinimalPair"):
        TestSet("mine", (pair,)).items_of(ParallelSentence, what_for="kRG")
    assert TestSet("mine", (pair,)).items_of(MinimalPair, what_for="contrast") == (pair,)


ABOUT: dict[str, Any] = {
    "source_language": "en",
    "target_language": "de",
    "context_source": ["Cats.", ""],
    "context_target": [],
}
KINDS: list[dict[str, Any]] = [
    PAIR,
    AMBIGUOUS,
    {"id": "1", "source": "a", "reference": "b"},
]


@pytest.mark.parametrize("plain", KINDS)
def test_languages_and_context_are_read_asked_and_carried(plain: dict[str, Any]) -> None:
    record = {**plain, **ABOUT, "more": 1}
    item = kind_of(record).from_json(record)
    assert not isinstance(item, Dependency)
    assert item.question == Question(plain["source"], ("Cats.", ""), (), "en", "de")
    assert item.carried == {**ABOUT, "more": 1}
    assert item.as_json() == record
