"""Translations made elsewhere, found by source or by line, and n-best lists; a clear error or a counted skip."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from babelscope import condition
from babelscope.core.answers import Unanswered, properties
from babelscope.systems.opening import open_system
from babelscope.testsets import AmbiguousSource
from babelscope.util.errors import BabelscopeError
from tests.support.toys import ToySystem


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def texts(spec: str, *sources: str, **how: Any) -> list[str]:
    return [answer[0].text for answer in open_system(spec).translate(list(sources), **how)]


def test_translations_are_found_by_source() -> None:
    Path("t.txt").write_text("b ||| ba\na ||| aa\nc |||\n")
    Path("t.jsonl").write_text(
        '{"sentence": "b", "translation": "ba"}\n{"source": "a", "translation": "aa"}\n'
    )
    assert texts("file:t.txt?format=pairs", "a", " b ", "c", "a") == ["aa", "ba", "", "aa"]
    assert texts("file:t.txt?format=auto", "a") == texts("file:t.jsonl?format=log", "a") == ["aa"]
    assert not properties(open_system("file:t.txt?format=pairs")).asked_as_a_whole
    with pytest.raises(
        BabelscopeError, match=r"source 2 is missing: t.txt has no translation of 'd' \(1 of 2"
    ):
        texts("file:t.txt?format=pairs", "a", "d")
    with pytest.raises(Unanswered) as caught:
        texts("file:t.txt?format=pairs&missing=skip", "a", "d")
    assert [question.source for question, _ in caught.value.reasons] == ["d"]
    with pytest.raises(BabelscopeError, match="leave source= out"):
        open_system("file:t.txt?format=pairs&source=t.txt")


def test_a_format_is_guessed_only_where_it_is_said_to_be() -> None:
    Path("t.txt").write_text("a ||| aa\n")
    assert texts("file:t.txt", "x") == ["a ||| aa"]
    Path("plain").write_text("eins\tzwei\n")
    assert texts("file:plain?format=auto", "x") == ["eins\tzwei"]
    assert properties(open_system("file:plain?format=auto")).asked_as_a_whole
    Path("empty").write_text("")
    with pytest.raises(BabelscopeError, match="empty has no translations"):
        open_system("file:empty?format=auto")


def test_repeated_sources_are_found_in_order_or_refused() -> None:
    Path("t.txt").write_text("a ||| one\nb ||| ba\na ||| two\n")
    spec = "file:t.txt?format=pairs"
    assert texts(spec, "a", "a", "b") == ["one", "two", "ba"]
    assert properties(open_system(spec)).asked_as_a_whole
    with pytest.raises(
        BabelscopeError, match=r"'a' in lines 1 and 3, which .* translates differently: .*2 times"
    ):
        texts(spec, "a", "b")
    assert texts(spec, "b") == ["ba"]
    Path("t.txt").write_text("a ||| one\nb ||| ba\na ||| one\n")
    assert texts(spec, "a", "b") == ["one", "ba"]


def test_moses_lists_have_scores_if_that_is_said() -> None:
    Path("out.nbest").write_text(
        "0 ||| eins ||| F= -1 ||| -0.5\n0 ||| ein ||| F= -2 ||| -2\n1 ||| zwei ||| -1\n"
    )
    Path("in.en").write_text("one\ntwo\n")
    scored = open_system("lists:out.nbest?scores=yes&source=in.en")
    (first,) = scored.translate(["one"], n_best=2)
    assert [(each.text, each.total, each.notes) for each in first] == [
        ("eins", -0.5, ("whole",)),
        ("ein", -2, ("whole",)),
    ]
    plain = open_system("lists:out.nbest?source=in.en")
    assert not plain.translate(["two"])[0][0].has_scores
    assert plain.fingerprint != scored.fingerprint
    assert open_system("lists:out.nbest").translate(["a", "b"])[1][0].text == "zwei"
    with pytest.raises(BabelscopeError, match="has 1 translation of 'two', but n_best=2"):
        scored.translate(["two"], n_best=2)
    Path("out.nbest").write_text("0 ||| eins ||| 0.5\n")
    with pytest.raises(BabelscopeError, match=r"'0.5' is no log-probability of 'eins'"):
        open_system("lists:out.nbest?scores=yes")


def test_json_lists_are_grouped_by_id() -> None:
    rows: list[dict[str, Any]] = [
        {"id": "x", "text": "eins", "logprob": -1.5},
        {"id": 7, "text": "zwei", "logprob": -math.log(2)},
        {"id": "x", "text": "ein", "logprob": -3},
    ]
    path = Path("lists.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = open_system("lists:lists.jsonl").translate(["one", "two"])
    assert [(own[0].text, own[0].total) for own in found] == [("eins", -1.5), ("zwei", -math.log(2))]
    assert [s.text for s in open_system("lists:lists.jsonl").translate(["one", "two"], n_best=1)[0]] == [
        "eins"
    ]
    path.write_text('{"id": 1, "text": "a"}\n')
    assert not open_system("lists:lists.jsonl").translate(["x"])[0][0].has_scores
    for text, told in (
        ('{"id": 1, "text": "a"}\n{"id": 1, "text": "b", "logprob": -1}\n', "jsonl:2: all translations"),
        ('{"text": "a"}\n', "jsonl:1 has no id and text"),
        ('{"id": 1, "text": "a", "logprob": "x"}\n', "jsonl:1: logprob must be a number, not"),
    ):
        path.write_text(text)
        with pytest.raises(BabelscopeError, match=told):
            open_system("lists:lists.jsonl")


def test_items_have_translations_of_their_own() -> None:
    items = [
        AmbiguousSource("1", "a", ("b",), ("c",), "x", "ab"),
        AmbiguousSource("2", "b", ("b",), ("c",), "x"),
    ]
    system = open_system("items:translations?missing=skip")
    result = condition(system, ToySystem(), items)
    assert [record["translation"] for record in result.records] == ["ab"]
    assert [(record["id"], "no translation" in record["unanswered"]) for record in result.unanswered] == [
        ("2", True)
    ]
    with pytest.raises(
        BabelscopeError, match="item 2: the source has no translation, and there is no system"
    ):
        condition(open_system("items:translations"), ToySystem(), items)
    with pytest.raises(BabelscopeError, match="say items:translations"):
        open_system("items:else")
