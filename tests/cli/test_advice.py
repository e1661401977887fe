"""What commands advise must be possible, and must help."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from tests.support.toy_fixtures import Babelscope

SPANISH = "El jardinero no ha cortado el viejo manzano que está detrás de la casa número {}."
GERMAN = "Der Gärtner hat den alten Apfelbaum hinter dem Haus Nummer {} nicht gefällt."
ENGLISH = "The gardener did not cut the old apple tree behind house number {}."


def write(path: str, sentence: str) -> None:
    Path(path).write_text("".join(sentence.format(number) + "\n" for number in range(30)))


@pytest.mark.parametrize("installed", [True, False])
def test_errors_in_spanish_need_no_german_packages(
    babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    if not installed:
        find = importlib.metadata.Distribution.from_name

        def lack(name: str) -> importlib.metadata.Distribution:
            if name.lower() == "hanta":
                raise importlib.metadata.PackageNotFoundError(name)
            return find(name)

        monkeypatch.setattr(importlib.metadata.Distribution, "from_name", lack)
    elif not importlib.metadata.packages_distributions().get("HanTa"):
        pytest.skip("needs HanTa")
    for path, sentence in (("en", ENGLISH), ("es", SPANISH), ("de", GERMAN)):
        write(path, sentence)
    ran = babelscope("errors", "--tests", "parallel:en,es", "--system", "file:es?source=en")
    assert ran.code == 2
    assert (
        "the references are in the language es, but detectors of German errors can judge de only" in ran.err
    )
    assert "needs" not in ran.err
    ran = babelscope(
        "errors", "--tests", "parallel:en,es", "--system", "file:es?source=en", "--language", "es"
    )
    assert "there is no detector of errors in es; there are detectors for German (de)" in ran.err
    ran = babelscope("errors", "--tests", "parallel:en,de", "--system", "file:de?source=en")
    assert ("German analysis needs HanTa and german-nouns: pip install" in ran.err) == (not installed), (
        ran.err
    )
