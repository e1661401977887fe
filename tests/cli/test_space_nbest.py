"""`babelscope space --system lists:`: lists made elsewhere; the paper's own where they are here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--set", "confidence=yes"], "no token probabilities"),
        (["--set", "beams=1,4"], "name their own beam sizes"),
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
    assert len(named.files) == 36
    folder = shared / "data" / "hypothesis-space"
    known = {Path(file.local).name: file for file in named.files}
    here = list(folder.glob("*.zip"))
    assert len(here) == 6
    for path in here:
        file = known[path.name]
        assert (path.stat().st_size, digest_file(path)) == (file.bytes, file.sha256)
    with pytest.raises(BabelscopeError, match="a release, not a test set; it has no sets"):
        find_set("digging-errors")
