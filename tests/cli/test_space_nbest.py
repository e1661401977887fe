"""`babelscope space --system lists:`: lists made elsewhere; the paper's own where they are here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from babelscope.metrics.ranking import kqrg, krg, random_krg
from babelscope.testsets.registry import find_download, find_set
from babelscope.util.digests import digest_file
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope

REFERENCES = ["ein Hund", "eine Katze", "es regnet"]
TOP = {
    0: [("", -1.0), ("ein Hund", -1.5), ("Hund", -3.0)],
    1: [("eine Katze", -0.5), ("Katze", -1.0), ("ein Hund", -2.0)],
}
BEAM = {
    0: [("ein Hund", -1.5), ("Hund", -3.0), ("der Hund", -4.0)],
    1: [("Katze", -1.0), ("eine Katze", -0.5), ("<unk>", -2.0)],
    2: [("es regnet", -0.1), ("regnet", -0.2), ("", -0.3)],
}
Lists = dict[int, list[tuple[str, float]]]


LISTS = ("--k", "3", "--samples", "0")


def moses(path: Path, lists: Lists) -> Path:
    lines = [f"{number} ||| {text} ||| {score}\n" for number, own in lists.items() for text, score in own]
    path.write_text("".join(lines))
    return path


@pytest.fixture
def asked(tmp_path: Path) -> list[str]:
    reference = tmp_path / "test.de"
    reference.write_text("".join(f"{each}\n" for each in REFERENCES))
    top, beam = moses(tmp_path / "top", TOP), moses(tmp_path / "beam", BEAM)
    lists = f"lists:?top={top}&beam={beam}"
    return ["space", "--system", lists, "--tests", f"references:{reference}", *LISTS]


def row(rows: list[dict[str, Any]], name: str, **labels: str) -> dict[str, Any]:
    whole = [each for each in rows if "by" not in each]
    (found,) = [each for each in whole if each["name"] == name and labels.items() <= each.items()]
    return found


def qualities(number: int, lists: Lists) -> tuple[list[float], list[float]]:
    from babelscope.metrics.base import Segment, sentence_qualities

    own = lists[number]
    segments = [Segment("", text, (REFERENCES[number],)) for text, _ in own]
    return sentence_qualities("chrf", segments), [score for _, score in own]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_figures_are_those_of_the_lists(babelscope: Babelscope, asked: list[str]) -> None:
    rows = babelscope(*asked, "--json").rows
    for region, lists in (("top", TOP), ("beam", BEAM)):
        own = [qualities(number, lists) for number in lists]
        for name, measure in (("krg", krg), ("kqrg", kqrg)):
            found = row(rows, name, region=region, view="tokens")
            assert found["value"] == pytest.approx(mean([measure(*each) for each in own]))
            assert (found["n"], found["k"]) == (len(lists), 3)
        chance = row(rows, "krg_random", region=region, view="tokens")
        assert chance["value"] == pytest.approx(mean([random_krg(each) for each, _ in own]))
    assert row(rows, "krg", region="top", view="tokens")["missing"] == 1
    assert row(rows, "empty_mode", region="top", view="tokens")["value"] == 0.5
    assert row(rows, "empty_mode", region="beam", view="tokens")["value"] == 0
    both = row(rows, "beam_minus_exact", measure="kqrg")
    differences = [kqrg(*qualities(number, BEAM)) - kqrg(*qualities(number, TOP)) for number in TOP]
    assert (both["value"], both["n"], both["missing"]) == (pytest.approx(mean(differences)), 2, 1)
    # The first of each of beam search's lists is its translation: the mode of neither sentence.
    assert row(rows, "search_error", decoding="beam")["missed"] == 2
    assert row(rows, "search_error", decoding="beam-list")["missed"] == 1
    assert "expansions" not in {each["name"] for each in rows}


def test_the_empty_hypothesis_apart(babelscope: Babelscope, asked: list[str]) -> None:
    rows = babelscope(*asked, "--json").rows
    (first, scores), second = qualities(0, TOP), qualities(1, TOP)
    without = [krg(first[1:], scores[1:]), krg(*second)]
    assert row(rows, "krg", region="top", view="without-empty")["value"] == pytest.approx(mean(without))
    apart = {view: row(rows, "krg", region="top", view=f"lists-{view}-empty") for view in ("with", "without")}
    assert apart["with"]["value"] == pytest.approx(krg(first, scores))
    assert apart["without"]["value"] == pytest.approx(krg(*second))
    assert [each["n"] for each in apart.values()] == [1, 1]
    # <unk> is a text: of the beam's lists only the last has an empty hypothesis.
    assert row(rows, "krg", region="beam", view="lists-with-empty")["n"] == 1


def test_what_is_not_stated_exact_is_not_counted_as_such(babelscope: Babelscope, asked: list[str]) -> None:
    asked[2] += "&top_exact=no"
    left_out = babelscope(*asked, "--json", "--unresolved", "leave-out").rows
    assert row(left_out, "kqrg", region="top", view="tokens")["n"] == 0
    kept = row(babelscope(*asked, "--json").rows, "kqrg", region="top", view="tokens")
    assert (kept["n"], kept["unresolved"]) == (2, 2)
    assert "leaving out unresolved searches changes" in " ".join(babelscope(*asked).out.split())


def test_a_run_is_kept_judged_again_and_reported(
    babelscope: Babelscope, asked: list[str], tmp_path: Path
) -> None:
    refused = babelscope(*asked, "--group-by", "length")
    assert (refused.code, "parallel:SOURCES,REFERENCES" in refused.err) == (2, True)
    source = tmp_path / "test.en"
    source.write_text("a dog\na cat\nit is raining\n")
    asked[4] = f"parallel:{source},{tmp_path / 'test.de'}"
    run = str(tmp_path / "run")
    first = babelscope(*asked, "--out", run, "--json", "--group-by", "length").rows
    assert any("by" in each for each in first)
    assert babelscope(*asked, "--out", run, "--json", "--group-by", "length").rows == first
    again = babelscope("space --rejudge", run, "--metric", "bleu", "--json").rows
    assert row(again, "kqrg", region="top", view="tokens")["n"] == 2
    assert babelscope("report", run).code == 0


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--confidence"], "no token probabilities"),
        (["--beams", "1,4"], "name their own beam sizes"),
        (["--metric", "cmd:cat?bound=1"], "parallel:SOURCES,REFERENCES"),
        (["--system", "lists:?middle=x"], "middle"),
    ],
)
def test_what_does_not_go_together_is_refused(
    babelscope: Babelscope, asked: list[str], more: list[str], told: str
) -> None:
    ran = babelscope(*asked, *more)
    assert ran.code == 2
    assert told in ran.err


@pytest.fixture(scope="module")
def released() -> Path:
    shared = Path(os.environ.get("BABELSCOPE_SHARED") or Path(__file__).parents[3] / "shared")
    folder = shared / "data" / "hypothesis-space"
    if not folder.is_dir():
        pytest.skip(f"needs the paper's lists, which are not at {folder} (see BABELSCOPE_SHARED)")
    pytest.importorskip("sacremoses", reason="detokenize= needs sacremoses")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "per_file", "empty", "top", "beam", "bias", "ranked"),
    [
        ("transformer_new", 5, 64.70, 31.67, 55.37, 23.70, 74.11),
        ("transformer.nolb", 10, 34.85, 41.64, 54.80, 13.24, 77.33),
        ("transformer.para_ft", 10, 0.93, 55.55, 56.11, 0.56, 82.28),
    ],
)
def test_table_8_of_the_paper(
    babelscope: Babelscope,
    released: Path,
    model: str,
    per_file: int,
    empty: float,
    top: float,
    beam: float,
    bias: float,
    ranked: float,
) -> None:
    """Empty modes and kQRG of the top region are published; the others are as we found them."""
    names = {"top": f"ende_dfstopk_wmt14.en-de.{model}", "beam": f"ende_beam_wmt14.en-de.{model}"}
    files = "&".join(f"{region}={released / name}.zip" for region, name in names.items())
    lists = f"lists:?{files}&per_file={per_file}&detokenize=de"
    tests = f"references:{released / 'newstest2014.de'}"
    rows = babelscope("space", "--system", lists, "--tests", tests, "--samples", "0", "--json").rows
    found = [
        row(rows, "empty_mode", region="top", view="tokens"),
        row(rows, "kqrg", region="top", view="tokens"),
        row(rows, "kqrg", region="beam", view="tokens"),
        row(rows, "beam_minus_exact", measure="kqrg"),
        row(rows, "krg", region="top", view="tokens"),
    ]
    assert [round(100 * each["value"], 2) for each in found] == [empty, top, beam, bias, ranked]
    assert all(each["low"] < each["value"] < each["high"] for each in found)
    assert round(100 * row(rows, "krg_random", region="top", view="tokens")["value"], 1) == 80.5


def test_lists_in_a_study(babelscope: Babelscope, asked: list[str], tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        '[[systems]]\nspec = "lists:?top=top&beam=beam&format=moses"\nname = "theirs"\n'
        '[[tests]]\nspec = "references:test.de"\n[[methods]]\nname = "space"\nk = 3\nsamples = 0\n'
    )
    found = babelscope("run", str(tmp_path / "study.toml"), "--json").rows
    typed = babelscope(*asked, "--json").rows
    values = [[(each["name"], each["value"]) for each in rows if "value" in each] for rows in (found, typed)]
    assert values[0] == values[1]


def test_released_lists_can_be_had_by_name(shared: Path) -> None:
    named = find_download("digging-errors")
    assert len(named.files) == 29
    folder = shared / "data" / "hypothesis-space"
    known = {Path(file.local).name: file for file in named.files}
    here = list(folder.glob("*.zip"))
    assert len(here) == 6
    for path in here:
        file = known[path.name]
        assert (path.stat().st_size, digest_file(path)) == (file.bytes, file.sha256)
    with pytest.raises(BabelscopeError, match="a folder of lists, for --system lists:"):
        find_set("digging-errors")
