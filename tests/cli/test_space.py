"""`babelscope space`: one JSON object per row, a run folder that goes on, and judging again without asking."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.sealing import seal
from tests.support.toy_fixtures import Babelscope, read_rows

pytestmark = pytest.mark.usefixtures("exact_toys")

TESTS = [
    {"id": str(n), "source": f"s {n}", "reference": text} for n, text in enumerate(["ab", "ba", "b", "aab"])
]
SYSTEM = "toy:1?alphabet=ab&limit=5"


@pytest.fixture
def asked(tmp_path: Path) -> list[str]:
    """Arguments for a test set."""
    tests = tmp_path / "tests.jsonl"
    tests.write_text("".join(json.dumps(each) + "\n" for each in TESTS))
    return ["space", "--tests", str(tests), "--k", "3", "--samples", "8"]


def test_a_case_by_its_id_is_shown_or_refused_before_anybody_is_asked(
    babelscope: Babelscope, asked: list[str], tmp_path: Path
) -> None:
    shown = babelscope(*asked, "--system", SYSTEM, "--cases", "id=2", "--table", "cases")
    assert (shown.code, "item 2" in shown.out, "s 2" in shown.out) == (0, True, True)
    log = tmp_path / "log"
    refused = babelscope(*asked, "--system", f"{SYSTEM}&log={log}", "--cases", "nobody")
    assert (refused.code, "no item has the id 'nobody'" in refused.err, log.exists()) == (2, True, False)


def test_segments_are_scored_elsewhere_and_come_back(
    babelscope: Babelscope, asked: list[str], tmp_path: Path
) -> None:
    run, segments, numbers = (tmp_path / name for name in ("run", "segments.jsonl", "numbers"))
    assert (
        babelscope(*asked, "--system", SYSTEM, "--out", str(run), "--set", f"segments={segments!s}").code == 0
    )
    lines = read_rows(segments)
    assert {"source", "hypothesis", "reference"} == set(lines[0])
    assert len({json.dumps(line) for line in lines}) == len(lines)
    numbers.write_text("".join(f"{len(line['hypothesis']) / 10}\n" for line in lines))
    metric = f"file:{numbers}?source={segments}&bound=10"
    rows = babelscope("space", "--rejudge", str(run), "--metric", metric, "--json").rows
    records = read_rows(run / "records.jsonl")
    lengths = [len(record["best"]["text"]) / 10 for record in records]
    (found,) = [row for row in rows if row["name"] == "quality" and row["decoding"] == "beam"]
    assert found["value"] == pytest.approx(sum(lengths) / len(lengths))


def test_a_run_folder_starts_no_program_and_reads_no_file_that_it_names(
    babelscope: Babelscope, asked: list[str], tmp_path: Path
) -> None:
    run, segments, mark = tmp_path / "run", tmp_path / "segments.jsonl", tmp_path / "ran"
    assert babelscope(*asked, "--system", SYSTEM, "--out", str(run)).code == 0
    manifest, records = (run / name for name in ("manifest.json", "records.jsonl"))
    told, complete = json.loads(manifest.read_text()), records.read_text()
    again = ("space", "--rejudge", str(run), "--set", f"segments={segments!s}")
    for named in (f"cmd:touch {mark}?shell=yes", f"cmd:touch {mark}", "file:/no/such?source=/no/such"):
        told["config"]["methods"][0]["settings"]["metric"] = [named]
        told["methods"]["space"]["settings"]["metric"] = [named]
        manifest.write_text(json.dumps(told))
        records.write_text(complete)
        # Its records were judged by another metric, or do not have what they should.
        for changed in (complete, complete.replace('"quality":', '"other":')):
            records.write_text(changed)
            seal(run)
            refused = babelscope(*again)
            assert (refused.code, named in refused.err, "use --metric" in refused.err) == (2, True, True)
        records.write_text(complete.replace('"chrf":', f"{json.dumps(named)}:"))
        seal(run)
        used = babelscope(*again, "--json")
        assert (used.code, named in used.err, "use --metric" in used.err) == (0, True, True)
        anew = babelscope(*again, "--metric", "bleu")
        assert (anew.code, named in anew.err) == (0, False)
    assert not mark.exists()


def test_a_shard_starts_no_program_that_it_names(
    babelscope: Babelscope, asked: list[str], tmp_path: Path
) -> None:
    mark, named = tmp_path / "ran", f"cmd:touch {tmp_path / 'ran'}?shell=yes"
    (tmp_path / "study.toml").write_text(
        f'[[systems]]\nspec = "{SYSTEM}"\n[[tests]]\nspec = "{asked[2]}"\n'
        '[[methods]]\nname = "space"\nk = 3\nsamples = 8\n[run]\nchunk = 2\n'
    )
    for number in (1, 2):
        assert babelscope("run", "study.toml", "--shard", f"{number}/2", "--out", f"s{number}").code == 0
        manifest = tmp_path / f"s{number}" / "manifest.json"
        told = json.loads(manifest.read_text())
        told["methods"]["space"]["settings"]["metric"] = [named]
        told["config"]["methods"][0]["settings"]["metric"] = [named]
        for part in (*told["systems"].values(), *told["tests"].values()):
            part["spec"] = named
        manifest.write_text(json.dumps(told))
    assert babelscope("run", "--merge", "s1", "s2", "--out", "merged").code == 0
    assert babelscope("report", "merged", "-o", "page.html").code == 0
    assert babelscope("compare", "merged").code == 0
    assert babelscope("space", "--rejudge", "merged").code == 2
    assert not mark.exists()


def test_qualities_from_outside_are_used_again_without_the_program(
    babelscope: Babelscope, asked: list[str], tmp_path: Path
) -> None:
    run, log = tmp_path / "run", tmp_path / "log"
    judge = tmp_path / "judge.sh"
    judge.write_text(f"#!/bin/sh\necho asked >> {log}\nawk '{{ print length($0) }}'\n")
    judge.chmod(0o755)
    quality = ("--metric", f"cmd:{judge}?bound=100")
    first = babelscope(*asked, "--system", SYSTEM, *quality, "--out", str(run), "--json").rows
    before = log.read_text()
    assert babelscope("space", "--rejudge", str(run), "--json").rows == first
    assert log.read_text() == before
    assert babelscope("space", "--rejudge", str(run), *quality, "--json").rows == first
    assert log.read_text() != before


def test_what_is_wrong_is_told(babelscope: Babelscope, asked: list[str], tmp_path: Path) -> None:
    for arguments, message in [
        (["space", "--system", SYSTEM], "space needs --tests, or --rejudge and a finished run"),
        ([*asked, "--system", SYSTEM, "--rejudge", str(tmp_path)], "--tests has no effect with --rejudge"),
        (
            [*asked, "--system", SYSTEM, "--metric", "cmd:cat"],
            "kQRG needs the highest quality that cmd:cat can",
        ),
        (["space", "--rejudge", str(tmp_path)], "no manifest.json"),
        ([*asked, "--system", SYSTEM, "--metric", "chff"], "did you mean chrf?"),
        ([*asked, "--system", "cmd:cat"], "space needs a system that"),
    ]:
        ran = babelscope(*arguments)
        assert ran.code == 2
        assert message in ran.err
        assert ran.out == ""
