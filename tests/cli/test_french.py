"""French from raw parallel text to a report: a real UDPipe model, our aligner, any system."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path

import pytest

from tests.support.toy_fixtures import Babelscope, read_rows

OWN = """
[reflexive]
definition = "a reflexive pronoun and its verb"
languages = ["fr"]
dependent = { upos = "PRON", lemma = "se" }
head = { upos = "VERB" }
"""


@pytest.fixture
def captions(shared: Path, tmp_path: Path) -> Path:
    """300 image captions, French and English, of which some have *se*."""
    for code in ("fr", "en"):
        with gzip.open(shared / "data" / "multi30k" / f"val.{code}.gz", "rt", encoding="utf-8") as file:
            (tmp_path / f"a.{code}").write_text("".join(itertools.islice(file, 300)), encoding="utf-8")
    return tmp_path


def test_french_from_raw_text_to_a_report(captions: Path, shared: Path, babelscope: Babelscope) -> None:
    pytest.importorskip("ufal.udpipe")
    pytest.importorskip("thot")
    model = shared / "models" / "udpipe" / "french-partut-ud-2.5-191206.udpipe"
    (captions / "own.toml").write_text(OWN)
    make = ["make", "challenge", "--source", "a.fr", "--reference", "a.en", "--parser", f"udpipe:{model}"]
    made = babelscope(*make, "--own-rules", "own.toml", "--to", "set.jsonl", "--json")
    assert made.code == 0, made.err
    # The model's license is named, and nothing is wrong with its counts.
    assert [line for line in made.err.split("\n") if "warning" in line and "license" not in line] == []
    rows = made.rows
    # The last row of a phenomenon that is put in is that of all its sentences.
    found = {row["phenomenon"]: row["sentences"] for row in reversed(rows) if row["name"] == "share"}
    texts = (captions / "a.fr").read_text(encoding="utf-8").lower().split("\n")
    with_se = sum(" se " in text or " s'" in text for text in texts)
    assert 0.8 * with_se <= found["reflexive"] <= 1.2 * with_se
    assert found["reordering"] > 0
    items = read_rows(captions / "set.jsonl")
    assert len(items) == 300
    for item in items:
        for each in item["dependencies"]:
            if each["phenomenon"] == "reflexive":
                start, end = each["dependent_at"]
                assert item["source"][start:end].lower() in ("se", "s'")
    # Any system: here one that gives the reference of the line before.
    references = (captions / "a.en").read_text(encoding="utf-8").split("\n")[:-1]
    (captions / "out.en").write_text("".join(f"{line}\n" for line in (references[-1], *references[:-1])))
    scored = babelscope("challenge --tests set.jsonl --system file:out.en --out run")
    assert scored.code == 0, scored.err
    assert babelscope("report run --to report.html").code == 0
    assert "reflexive" in (captions / "report.html").read_text(encoding="utf-8")


def test_a_feature_that_the_parser_does_not_give_is_told(
    captions: Path, shared: Path, babelscope: Babelscope
) -> None:
    """This model tags no Reflex, so that the rule finds nothing where *se* stands in many sentences."""
    pytest.importorskip("ufal.udpipe")
    model = shared / "models" / "udpipe" / "french-partut-ud-2.5-191206.udpipe"
    for code in ("fr", "en"):
        lines = (captions / f"a.{code}").read_text(encoding="utf-8").split("\n")[:120]
        (captions / f"b.{code}").write_text("".join(f"{line}\n" for line in lines))
    made = babelscope(
        *("make", "challenge", "--source", "b.fr", "--reference", "b.en", "--parser", f"udpipe:{model}"),
        *("--phenomenon", "reflexive", "--json"),
    )
    assert "reflexive was found in none of 120 parses; it needs words with Reflex=Yes" in made.err
    assert all(json.loads(line).get("sentences", 0) in (0, 120) for line in made.out.splitlines())
