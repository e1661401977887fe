"""Translations made elsewhere, found by source or by line, and n-best lists; a clear error or a counted skip."""

from __future__ import annotations

import io
import json
import math
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from babelscope import condition
from babelscope.core.system import ItemChoice, ItemScores, Regions, Unanswered, capabilities, properties
from babelscope.systems.registry import open_system
from babelscope.systems.stored import nbest as lists
from babelscope.systems.stored.nbest import RegionLists
from babelscope.systems.stored.scores import ScoresFile
from babelscope.testsets import AmbiguousSource, TestSet
from babelscope.util.errors import BabelscopeError
from tests.support.toys import ToySystem


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def texts(spec: str, *sources: str, **how: Any) -> list[str]:
    return [answer[0].text for answer in open_system(spec).translate(list(sources), **how)]


def test_translations_are_found_by_source():
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
    assert list(caught.value.reasons) == [1]
    with pytest.raises(BabelscopeError, match="leave source= out"):
        open_system("file:t.txt?format=pairs&source=t.txt")


def test_translations_are_read_from_standard_input(monkeypatch):
    def given(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    given("aa\nba\n")
    assert texts("file:-", "a", "b") == ["aa", "ba"]
    given("a ||| aa\n")
    assert texts("file:-?format=pairs", "a") == ["aa"]
    given("0 ||| aa ||| -1\n")
    assert texts("lists:-", "a") == ["aa"]
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(BabelscopeError, match="standard input is closed"):
        open_system("file:-")


def test_a_format_is_guessed_only_where_it_is_said_to_be():
    Path("t.txt").write_text("a ||| aa\n")
    assert texts("file:t.txt", "x") == ["a ||| aa"]
    Path("plain").write_text("eins\tzwei\n")
    assert texts("file:plain?format=auto", "x") == ["eins\tzwei"]
    assert properties(open_system("file:plain?format=auto")).asked_as_a_whole
    Path("empty").write_text("")
    with pytest.raises(BabelscopeError, match="empty has no translations"):
        open_system("file:empty?format=auto")


def test_repeated_sources_are_found_in_order_or_refused():
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


def test_moses_lists_have_scores_if_that_is_said():
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


def test_json_lists_are_grouped_by_id():
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


def test_items_have_translations_of_their_own():
    items = [
        AmbiguousSource("1", "a", ("b",), ("c",), "x", "ab"),
        AmbiguousSource("2", "b", ("b",), ("c",), "x"),
    ]
    system = open_system("items:translations?missing=skip")
    result = condition(system, items, evaluator=ToySystem())
    assert [record["translation"] for record in result.records] == ["ab"]
    assert [(record["id"], "no translation" in record["unanswered"]) for record in result.unanswered] == [
        ("2", True)
    ]
    with pytest.raises(
        BabelscopeError, match="item 2: the source has no translation, and there is no system"
    ):
        condition(open_system("items:translations"), items, evaluator=ToySystem())
    with pytest.raises(BabelscopeError, match="use items:translations"):
        open_system("items:else")


SUITE = [ItemChoice(str(number), variants) for number, variants in enumerate((2, 2, 1, 1))]


def test_scores_are_matched_with_items_and_turned():
    Path("scores").write_text("1\t2\t3\n2\t2\t3\t1\n3\t1\n1\tinf\n")
    system = open_system("scores:scores?direction=lower")
    assert system.item_scores(SUITE) == [
        ItemScores(-1, (-2, -3)),
        ItemScores(-2, (-2, -3), -1),
        ItemScores(-3, (-1,)),
        ItemScores(-1, (-float("inf"),)),
    ]
    assert (system.name, capabilities(system)) == ("scores", {"item_scores"})
    assert properties(system).asked_as_a_whole
    assert properties(system).stored


def test_a_file_may_leave_out_what_no_system_can_be_asked():
    items = [ItemChoice("a"), ItemChoice("b", 0, empty=True), ItemChoice("c", empty=True), ItemChoice("d")]
    Path("all").write_text("1\n2\n3\n4\n5\n6\n7\n")
    assert open_system("scores:all?layout=blocks").item_scores(items) == [
        ItemScores(1, (5,)),
        ItemScores(2, ()),
        ItemScores(3, (6,)),
        ItemScores(4, (7,)),
    ]
    Path("fewer").write_text("1\n2\n3\n4\n")
    found = open_system("scores:fewer?layout=interleaved").item_scores(items)
    assert found == [ItemScores(1, (2,)), None, None, ItemScores(3, (4,))]


def test_a_layout_is_not_guessed_without_tabs():
    for name in ("a", "b"):
        Path(name).write_text("1\n2\n")
    with pytest.raises(BabelscopeError, match=r"no tabs; set layout=blocks .* or layout=interleaved"):
        open_system("scores:a")
    with pytest.raises(BabelscopeError, match="layout=rows is not one of"):
        open_system("scores:a?layout=rows")
    assert open_system("scores:a?lines=blocks").item_scores([ItemChoice("a")]) == [ItemScores(1, (2,))]
    specs = ("a?layout=blocks", "b?layout=blocks", "a?layout=interleaved", "a?layout=blocks&direction=lower")
    digests = [open_system(f"scores:{spec}").fingerprint.digest for spec in specs]
    assert digests[0] == digests[1], "a fingerprint is content, direction and layout"
    assert len(set(digests)) == 3


@pytest.mark.parametrize(
    ("lines", "chosen", "told"),
    [
        (
            ["1"] * 9,
            {},
            "scores has 9 lines; the test set has 4 items: 10 lines in the layout blocks, 10 lines in the layout "
            "interleaved, 4 lines in the layout columns",
        ),
        (["1\t2\t3"] * 3, {}, "scores has 3 lines; the test set has 4 items: 4 lines in the layout columns"),
        (
            ["1\t2"] * 4,
            {},
            "scores:1 has 2 columns; it must have 3 (correct, contrastive) or 4 (and the 1-best)",
        ),
        (["1"] * 9 + ["1\t2"], {}, "scores:10 has 2 columns; the layout interleaved has one"),
        (["1"] * 4 + ["one"] + ["1"] * 5, {}, "scores:5: 'one' is not a number"),
        (["1"] * 2 + ["nan"] + ["1"] * 7, {}, "scores:3: 'nan' is no score"),
        (["1"] * 9 + ["-inf"], {}, "scores:10: '-inf' is better than any score; is the direction right?"),
        (["1"] * 9 + ["inf"], {"direction": "higher"}, "scores:10: 'inf' is better than any score"),
    ],
)
def test_bad_files_are_told(lines, chosen, told):
    Path("scores").write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(BabelscopeError) as error:
        ScoresFile("scores", **{"direction": "lower", "lines": "interleaved", **chosen}).item_scores(SUITE)
    assert told in str(error.value)


# --- the best score of either side, as conditioning has it: two columns, or three that begin with an id


@pytest.mark.parametrize("text", ["-1\t-2\n-3\t-inf\n", "i1\t-3\t-inf\ni0\t-1\t-2\n"])
def test_scores_are_read_by_line_or_by_id(text):
    Path("scores.tsv").write_text(text)
    tests = set_of("a", "b")
    result = condition("items:translations", tests, evaluator=open_system("scores:scores.tsv"))
    assert [record["score"] for record in result.records] == [pytest.approx(1 / (1 + math.exp(-1))), 1.0]
    assert [record["weight"] for record in result.records] == [1, 2]
    Path("other.tsv").write_text("-1\t-2\n-3\t-9\n")
    assert (
        condition("items:translations", tests, evaluator=open_system("scores:other.tsv")).signature
        != result.signature
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("-1\t-2\n", "scores.tsv has 1 lines; the test set t has 2 items"),
        ("-1\t-2\n-1\tnan\n", "scores.tsv:2: 'nan' is no score"),
        ("0.79\t0.74\n0.6\t0.5\n", "scores.tsv:1: 0.79 is no log-probability"),
        ("i1\t-1\t-2\ni0\t-1\t0.5\n", "scores.tsv:2: 0.5 is no log-probability"),
        ("-1\t-2\n-1\n", "scores.tsv:2 has 1 columns"),
        ("i0\t-1\t-2\ni1\t-1\n", "scores.tsv:2 has 1 columns; it must have 2 .* after the item's id"),
        ("i0\t-1\t-2\ni0\t-1\t-2\n", "scores.tsv:2: the item 'i0' stands there twice"),
        ("i0\t-1\t-2\n", "no scores of item i1"),
        ("i0\t-1\t-2\ni1\t-1\t-2\ni2\t-1\t-2\n", "scores of 'i2', which the test set does not have"),
        ("", "scores.tsv has 0"),
    ],
)
def test_faulty_scores_of_two_sides_are_told(text, told):
    Path("scores.tsv").write_text(text)
    with pytest.raises(BabelscopeError, match=told):
        condition(
            "items:translations", set_of("a", "b"), evaluator=open_system("scores:scores.tsv?layout=columns")
        )


def set_of(*sources: str) -> TestSet:
    items = [AmbiguousSource(f"i{n}", s, (f"r {s}",), (f"w {s}",), "m") for n, s in enumerate(sources)]
    return TestSet("t", tuple(items))


MOSES = "0 ||| ein Hund ||| -1.5\n0 |||  ||| -1.0\n1 ||| eine Katze </s> ||| 4 5 2 ||| -2.0\n"
FAIRSEQ = (
    "S-1\ta cat\nH-1\t-0.5\teine Kat@@ ze\nD-1\t-0.5\teine Katze\nP-1\t-1.0 -1.0\n"
    "H-1\t-0.9\tKatze\nD-1\t-0.9\tKatze\nP-1\t-3.0\n"
)
JSON = '{"id": "s1", "text": "b", "logprob": -2}\n{"id": "s1", "text": " a", "logprob": -1}\n'
VLLM = (
    '{"outputs": [{"text": " a", "cumulative_logprob": -1.0}, {"text": "b", "cumulative_logprob": -0.5}]}\n'
)
CT2 = '{"hypotheses": ["a", "b"], "scores": [-1.0, -2.0]}\n'
FOUND: dict[str, list[Any]] = {
    MOSES: [[("", -1.0), ("ein Hund", -1.5)], [("eine Katze", -2.0)], None],  # sorted, without end symbols
    FAIRSEQ: [None, [("eine Katze", -2 * math.log(2)), ("Katze", -3 * math.log(2))], None],
    JSON: [None, [("a", -1.0), ("b", -2.0)], None],
    VLLM: [[("b", -0.5), ("a", -1.0)], None, None],
    CT2: [[("a", -1.0), ("b", -2.0)], None, None],
}


def regions(path: Path, text: str, *, count: int = 2, **options: str) -> list[Regions]:
    path.write_text(text)
    query = "".join(f"&{name}={value}" for name, value in options.items())
    system = open_system(f"lists:?top={path}{query}")
    assert isinstance(system, RegionLists)
    return system.regions([f"s{number}" for number in range(count)], k=10)


@pytest.mark.parametrize("text", FOUND)
def test_lists_of_every_format(tmp_path, text):
    found = regions(tmp_path / "out", text, count=3, scores="total")
    for own, expected in zip(found, FOUND[text], strict=True):
        assert own.exact == (expected is not None)
        if expected is None:
            assert own == Regions()
        else:
            assert own.top is not None
            assert [each.text for each in own.top] == [each for each, _ in expected]
            assert [each.total for each in own.top] == pytest.approx([total for _, total in expected])
    assert not any(own.exact for own in regions(tmp_path / "out", text, scores="total", exact="no"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ein Hund\n", "no format of lists"),
        ('{"id": 0, "text": "a", "logprob": -1, "outputs": []}\n', "could be jsonl or vllm"),
        ("0 ||| a ||| 0.5\n", "no log-probability"),
        ("0 ||| a ||| nan\n", "no log-probability"),
        ("0 ||| a\n", "no log-probability"),
        ("0 ||| a ||| -inf\n", "no log-probability"),
        ("0 ||| a ||| LM0= -3 ||| -3\n", "weighted sum"),
        (CT2, "length_penalty=0"),
        ('{"outputs": [{"text": "a", "finish_reason": "length"}]}\n', "cut at its length limit"),
        ("7 ||| a ||| -1\n", "sentence 7"),
        ('{"id": "x", "text": "a", "logprob": -1}\n', "no item has that id"),
        ('{"id": "x", "text": "a", "logprob": -1}\n{"id": 0, "text": "a", "logprob": -1}\n', "one kind"),
        ("H-0\t-0.5\ta\nH-0\t-0.5\tb\nP-0\t-1\n", "no P- line"),
        ("H-0\t-0.5\ta\nP-1\t-1\n", "does not follow"),
        ("", "no lists"),
    ],
)
def test_what_cannot_be_trusted_is_refused(tmp_path, text, told):
    with pytest.raises(BabelscopeError, match=told):
        regions(tmp_path / "out", text)


def packed(path: Path, members: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def test_sentences_of_a_zip_are_numbered_by_file(tmp_path):
    members = {
        "lists/out.0": "1 ||| b ||| -1\n",
        "lists/out.1": "0 ||| c ||| -1\n1 ||| padding ||| -1\n",
        "__MACOSX/out.9": "no list",
        "lists/.hidden": "no list",
    }
    path = packed(tmp_path / "lists.zip", members)
    found = open_system(f"lists:?beam={path}&per_file=2").regions(["1", "2", "3"], k=10)
    assert [each.beam and each.beam[0].text for each in found] == [None, "b", "c"]
    with pytest.raises(BabelscopeError, match="counted from 0"):
        open_system(f"lists:?beam={path}&per_file=2").regions(["1", "2"], k=10)
    with pytest.raises(BabelscopeError, match="per_file=N"):
        open_system(f"lists:?beam={path}")


def test_a_folder_and_a_zip_of_the_same_lists_are_the_same_system(tmp_path):
    members = {"out.0": "0 ||| a ||| -1\n", "out.1": "0 ||| b ||| -1\n"}
    (tmp_path / "folder").mkdir()
    for name, text in members.items():
        (tmp_path / "folder" / name).write_text(text)
    path = packed(tmp_path / "lists.zip", members)
    one, other = (open_system(f"lists:?top={each}&per_file=1") for each in (path, tmp_path / "folder"))
    assert one.fingerprint == other.fingerprint


def zipped(method=zipfile.ZIP_DEFLATED, data=bytes(10**6)):
    with io.BytesIO() as made:
        with zipfile.ZipFile(made, "w", method) as archive:
            archive.writestr("out.0", data)
        return bytearray(made.getvalue())


def broken():
    data = zipped(data="0 ||| a ||| -1\n" * 50)
    data[40:60] = bytes(20)
    return data


def flagged_as_utf8():
    """The name of the zip's member is said to be UTF-8, and is not."""
    data = zipped(zipfile.ZIP_STORED).replace(b"out.0", b"\xffut.0")
    data[data.index(b"PK\x01\x02") + 9] |= 0x08
    return data


METHOD, NO_ZIP = r"l\.zip/out\.0 is compressed by another method", r"l\.zip cannot be read as a zip"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (zipped(zipfile.ZIP_BZIP2), METHOD),
        (zipped(zipfile.ZIP_LZMA), METHOD),
        (flagged_as_utf8(), NO_ZIP),
        (broken(), NO_ZIP),
        (zipped(data="0 ||| a ||| -1\n" * 100_000), "more than"),
    ],
    ids=["bzip2", "lzma", "flagged", "broken", "bomb"],
)
def test_a_zip_is_read_or_refused_before_it_is_unpacked(tmp_path, monkeypatch, data, told):
    (tmp_path / "l.zip").write_bytes(data)
    monkeypatch.setattr(lists, "LARGEST_LISTS", 1000)
    if told == METHOD:
        monkeypatch.setattr(lists, "bounded_lines", lambda *_, **__: pytest.fail("it was unpacked"))
    with pytest.raises(BabelscopeError, match=told):
        open_system(f"lists:?top={tmp_path / 'l.zip'}")


def test_detokenized_on_request(tmp_path):
    pytest.importorskip("sacremoses", reason="detokenize= needs sacremoses")
    found = regions(tmp_path / "out", "0 ||| Das ist &quot; gut &quot; , ja . ||| -1\n", detokenize="de")
    assert [each.text for each in found[0].top or ()] == ['Das ist "gut", ja.']
