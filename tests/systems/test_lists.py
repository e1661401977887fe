"""Lists made elsewhere: formats recognised or refused, sentences found by number, hostile archives bounded."""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path

import pytest

from babelscope.core.answers import Regions
from babelscope.systems import list_files
from babelscope.systems.list_specs import lists_spec
from babelscope.systems.lists import RegionLists
from babelscope.systems.opening import open_system
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope

MOSES = "0 ||| ein Hund ||| -1.5\n0 |||  ||| -1.0\n1 ||| eine Katze </s> ||| 4 5 2 ||| -2.0\n"
FAIRSEQ = (
    "S-1\ta cat\nH-1\t-0.5\teine Kat@@ ze\nD-1\t-0.5\teine Katze\nP-1\t-1.0 -1.0\n"
    "H-1\t-0.9\tKatze\nD-1\t-0.9\tKatze\nP-1\t-3.0\n"
)


def regions(path: Path, text: str, *, count: int = 2, region: str = "top", **options: str) -> list[Regions]:
    path.write_text(text)
    query = "".join(f"&{name}={value}" for name, value in options.items())
    system = open_system(f"lists:?{region}={path}{query}")
    assert isinstance(system, RegionLists)
    return system.regions([f"s{number}" for number in range(count)], k=10)


def texts(found: Regions) -> list[tuple[str, float]] | None:
    return None if found.top is None else [(each.text, each.total) for each in found.top]


def test_moses_lists_are_sorted_and_their_end_symbol_is_dropped(tmp_path: Path) -> None:
    first, second, third = regions(tmp_path / "out", MOSES, count=3)
    assert texts(first) == [("", -1.0), ("ein Hund", -1.5)]
    assert texts(second) == [("eine Katze", -2.0)]
    assert third == Regions()  # no list of this sentence
    assert first.exact


def test_exact_is_what_the_caller_states(tmp_path: Path) -> None:
    assert not regions(tmp_path / "out", MOSES, exact="no")[0].exact


def test_json_lines_by_the_ids_of_the_items(tmp_path: Path) -> None:
    lines = [{"id": "s1", "text": "b", "logprob": -2}, {"id": "s1", "text": "a", "logprob": -1}]
    first, second = regions(tmp_path / "out", "".join(json.dumps(each) + "\n" for each in lines))
    assert (texts(first), texts(second)) == (None, [("a", -1.0), ("b", -2.0)])


def test_fairseq_scores_come_from_its_tokens_to_base_2(tmp_path: Path) -> None:
    _, second = regions(tmp_path / "out", FAIRSEQ)
    assert texts(second) == [
        ("eine Katze", pytest.approx(-2 * math.log(2))),
        ("Katze", pytest.approx(-3 * math.log(2))),
    ]


def test_vllm_outputs(tmp_path: Path) -> None:
    outputs = [{"text": " a", "cumulative_logprob": -1.0}, {"text": "b", "cumulative_logprob": -0.5}]
    found = regions(tmp_path / "out", json.dumps({"outputs": outputs}) + "\n")
    assert texts(found[0]) == [("b", -0.5), ("a", -1.0)]


def test_ctranslate2_needs_to_know_that_scores_are_totals(tmp_path: Path) -> None:
    line = json.dumps({"hypotheses": ["a", "b"], "scores": [-1.0, -2.0]}) + "\n"
    with pytest.raises(BabelscopeError, match="length_penalty=0"):
        regions(tmp_path / "out", line)
    assert texts(regions(tmp_path / "out", line, scores="total")[0]) == [("a", -1.0), ("b", -2.0)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ein Hund\n", "no format of lists"),
        ('{"id": 0, "text": "a", "logprob": -1, "outputs": []}\n', "could be jsonl or vllm"),
        ("0 ||| a ||| 0.5\n", "no log-probability"),
        ("0 ||| a ||| nan\n", "no log-probability"),
        ("0 ||| a\n", "no log-probability"),
        ("0 ||| a ||| LM0= -3 ||| -3\n", "weighted sum"),
        ("7 ||| a ||| -1\n", "sentence 7"),
        ('{"id": "x", "text": "a", "logprob": -1}\n', "no item has that id"),
        ('{"id": "x", "text": "a", "logprob": -1}\n{"id": 0, "text": "a", "logprob": -1}\n', "one kind"),
        ("H-0\t-0.5\ta\nH-0\t-0.5\tb\nP-0\t-1\n", "no P- line"),
        ("H-0\t-0.5\ta\nP-1\t-1\n", "does not follow"),
        ("", "no lists"),
    ],
)
def test_what_cannot_be_trusted_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(BabelscopeError, match=told):
        regions(tmp_path / "out", text)


def packed(path: Path, members: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def test_sentences_of_a_zip_are_numbered_by_file(tmp_path: Path) -> None:
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


def test_a_folder_and_a_zip_of_the_same_lists_are_the_same_system(tmp_path: Path) -> None:
    members = {"out.0": "0 ||| a ||| -1\n", "out.1": "0 ||| b ||| -1\n"}
    (tmp_path / "folder").mkdir()
    for name, text in members.items():
        (tmp_path / "folder" / name).write_text(text)
    path = packed(tmp_path / "lists.zip", members)
    one, other = (open_system(f"lists:?top={each}&per_file=1") for each in (path, tmp_path / "folder"))
    assert one.fingerprint == other.fingerprint


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_files, "LARGEST_LISTS", 1000)
    path = packed(tmp_path / "lists.zip", {"out.0": "0 ||| a ||| -1\n" * 100_000})
    with pytest.raises(BabelscopeError, match="more than"):
        open_system(f"lists:?top={path}")


def test_a_broken_zip_is_told(tmp_path: Path) -> None:
    path = packed(tmp_path / "lists.zip", {"out.0": MOSES * 50})
    data = bytearray(path.read_bytes())
    data[40:60] = bytes(20)
    path.write_bytes(data)
    with pytest.raises(BabelscopeError, match="cannot be read as a zip"):
        open_system(f"lists:?top={path}")


SPACE = (
    *("space", "--system", "lists:?top=l.zip", "--tests", "references:a.de"),
    *("--k", "2", "--samples", "0"),
)


def flagged_as_utf8(data: bytes) -> bytes:
    """The name of the zip's member is said to be UTF-8, and is not."""
    changed = bytearray(data.replace(b"out.0", b"\xffut.0"))
    changed[changed.index(b"PK\x01\x02") + 9] |= 0x08
    return bytes(changed)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_plain_zip_is_read(babelscope: Babelscope, tmp_path: Path, method: int) -> None:
    (tmp_path / "a.de").write_text("a\n")
    with zipfile.ZipFile(tmp_path / "l.zip", "w", method) as archive:
        archive.writestr("out.0", "0 ||| a ||| -1\n")
    assert babelscope(*SPACE).code == 0


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_bomb_of_another_method_is_refused_before_it_is_unpacked(
    babelscope: Babelscope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: int
) -> None:
    (tmp_path / "a.de").write_text("a\n")
    with zipfile.ZipFile(tmp_path / "l.zip", "w", method) as archive:
        archive.writestr("out.0", bytes(10**6))
    unpack = "babelscope.systems.list_files.bounded_lines"
    monkeypatch.setattr(unpack, lambda *_, **__: pytest.fail("it was unpacked"))
    ran = babelscope(*SPACE)
    assert (ran.code, ran.out) == (2, "")
    assert "l.zip/out.0 is compressed by another method than deflate" in ran.err


def test_a_zip_whose_names_are_no_text_ends_in_a_sentence(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "a.de").write_text("a\n")
    path = packed(tmp_path / "l.zip", {"out.0": "0 ||| a ||| -1\n"})
    path.write_bytes(flagged_as_utf8(path.read_bytes()))
    ran = babelscope(*SPACE)
    assert (ran.code, ran.out) == (2, "")
    assert "l.zip cannot be read as a zip" in ran.err


def test_options_of_a_command_line() -> None:
    spec, name, k = lists_spec(["top=a b&c.zip?per_file=5&k=4", "beam=d.zip?detokenize=de"])
    assert spec == "lists:?top=a%20b%26c.zip&top_per_file=5&beam=d.zip&beam_detokenize=de"
    assert (name, k) == ("top=a b&c.zip, beam=d.zip", 4)
    for wrong in (["middle=a"], ["top="], ["top=a", "top=b"], ["top=a?k=3", "beam=b?k=4"], ["top=a?k=1"]):
        with pytest.raises(BabelscopeError):
            lists_spec(wrong)


def test_detokenised_on_request(tmp_path: Path) -> None:
    pytest.importorskip("sacremoses", reason="detokenize= needs sacremoses")
    found = regions(tmp_path / "out", "0 ||| Das ist &quot; gut &quot; , ja . ||| -1\n", detokenize="de")
    assert texts(found[0]) == [('Das ist "gut", ja.', -1.0)]
