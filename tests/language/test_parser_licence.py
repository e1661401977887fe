"""The licence of a published parser model is named when the model is used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.toy_fixtures import Babelscope

pytest.importorskip("ufal.udpipe")

SHARED = Path(os.environ.get("BABELSCOPE_SHARED") or Path(__file__).parents[3] / "shared")
MODEL = SHARED / "models" / "udpipe" / "french-partut-ud-2.5-191206.udpipe"


def make(babelscope: Babelscope, parser: str) -> str:
    Path("fr").write_text("Le chien que tu as vu dort.\n")
    Path("en").write_text("The dog that you saw sleeps.\n")
    ran = babelscope(
        *("make", "challenge", "--source", "fr", "--reference", "en", "--source-language", "fr"),
        *("--target-language", "en", "--parser", parser, "--to", f"out-{len(parser)}.jsonl"),
    )
    assert ran.code == 0, ran.err
    return " ".join(ran.err.split())


def test_a_model_that_is_not_for_commercial_use_is_named(babelscope: Babelscope) -> None:
    if not MODEL.exists():
        pytest.skip(f"needs a UDPipe model, which is not at {MODEL} (see BABELSCOPE_SHARED)")
    Path("renamed.udpipe").write_bytes(MODEL.read_bytes())
    told = make(babelscope, "udpipe:renamed.udpipe")
    assert (
        "the parser udpipe:renamed.udpipe has the licence CC BY-NC-SA 4.0: it is not for commercial use"
        in told
    )
    assert told.count("CC BY-NC-SA") == 1
