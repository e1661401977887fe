"""Against the released sets and a gold treebank: the bars of our design, on subsamples."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("HanTa")
pytest.importorskip("german_nouns.config")

from benchmarks.pairs import folder_row
from benchmarks.pairs_ud import ud_rows

# Least recall, most variants a sentence or (where it says so) a position. A subsample varies by about 1 %.
BARS = {
    "clause_omission": (0.98, "variants_per_sentence", 3.3),
    "hypercorrect_genitive": (0.97, "variants_per_sentence", 1.8),
    "np_agreement": (0.97, "variants_per_position", 2.1),
    "placeholder_ding": (0.97, "variants_per_sentence", 5.0),
    "polarity_affix_del": (0.98, "variants_per_sentence", 1.2),
    "polarity_particle_kein_del": (0.97, "variants_per_position", 1.0),
    "polarity_particle_nicht_del": (0.995, "variants_per_position", 1.0),
    "subj_verb_agreement": (0.97, "variants_per_position", 1.05),
}


@pytest.mark.parametrize("type", BARS)
def test_released_variants_are_among_ours(shared: Path, type: str) -> None:
    folders = sorted((shared / "data" / "distil-lingeval").glob(f"{type}.*"))
    if not folders:
        pytest.skip(f"no released sets of {type} in {shared}")
    recall, measure, most = BARS[type]
    row = folder_row(folders[-1], limit=130)
    assert row["recall"] >= recall
    assert row[measure] <= most
    if type == "clause_omission":
        assert row["clean_recall"] >= 0.98
        assert row["clean_variants_per_sentence"] <= 2.6


def test_quality_on_a_treebank(shared: Path) -> None:
    folder = shared / "data" / "ud"
    if not folder.is_dir():
        pytest.skip(f"no treebanks at {folder}")
    figures = {row["name"].removeprefix("UD German-GSD: "): row["value"] for row in ud_rows(folder, step=8)}
    assert figures["noun precision"] >= 0.94
    assert figures["article singular precision"] >= 0.95
    assert figures["article case kept"] >= 0.83
    assert figures["finite-verb precision"] >= 0.95
    assert figures["finite-verb recall"] >= 0.96
    assert figures["clause accidents (clean)"] <= 0.02
