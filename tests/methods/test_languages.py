"""Translations in another language than their references: said where it is clear, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

import babelscope as bs
from babelscope.methods.languages import language_mismatch
from babelscope.report.summary import summarise

ENGLISH = [
    "The dog sleeps on the floor.",
    "My sister does not read books.",
    "We will see them tomorrow morning.",
]
SPANISH = ["El perro duerme en el suelo.", "Mi hermana no lee libros.", "Los veremos mañana por la mañana."]
OTHER_SPANISH = [
    "La ventana está abierta todavía.",
    "Nunca quisieron vender la casa.",
    "Hace mucho frío aquí.",
]


@pytest.mark.parametrize(
    ("translations", "references", "found"),
    [
        (ENGLISH, SPANISH, ("en", "es")),
        (OTHER_SPANISH, SPANISH, None),
        (["ok", "no"], SPANISH, None),
        (["", ""], SPANISH, None),
        ([], [], None),
    ],
)
def test_both_must_be_clearly_in_another_language(
    translations: list[str], references: list[str], found: tuple[str, str] | None
) -> None:
    assert language_mismatch(translations, references) == found


@pytest.mark.parametrize(("written", "told"), [(ENGLISH, True), (OTHER_SPANISH, False)])
def test_a_summary_of_quality_says_it(tmp_path: Path, written: list[str], told: bool) -> None:
    for name, lines in (("in", ENGLISH), ("ref", SPANISH), ("out", written)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    result = bs.quality(
        bs.open_system(f"file:{tmp_path}/out"), bs.load(f"parallel:{tmp_path}/in,{tmp_path}/ref")
    )
    kept = " ".join(summarise(result, width=200).split())
    assert ("its translations are in the language en, the references in es" in kept) == told
