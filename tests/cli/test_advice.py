"""What commands advise must be possible, and must help."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pytest

import babelscope as bs
from babelscope.testsets import MinimalPair
from tests.support.toy_fixtures import Babelscope
from tests.support.toys import ToySystem

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
    ran = babelscope("errors --tests parallel:en,es --system file:es?source=en")
    assert ran.code == 2
    assert (
        "the references are in the language es, but detectors of German errors can judge de only" in ran.err
    )
    assert "needs" not in ran.err
    spanish = "--source-language en --target-language es"
    ran = babelscope(f"errors --tests parallel:en,es --system file:es?source=en {spanish} --json")
    assert {row["error"] for row in ran.rows if row["name"] == "checked_errors"} >= {"number", "empty"}
    ran = babelscope("errors --tests parallel:en,de --system file:de?source=en")
    assert ("German analysis needs HanTa and german-nouns: pip install" in ran.err) == (not installed), (
        ran.err
    )


def test_quality_takes_sources_alone_if_no_metric_reads_references(babelscope: Babelscope) -> None:
    write("en", ENGLISH)
    write("de", GERMAN)
    Path("length.py").write_text("import sys\nfor line in sys.stdin:\n    print(len(line))\n")
    system = ("--system", "file:de?source=en")
    metric = f"cmd:{sys.executable} length.py?reference=no"
    for tests in ("sources:en", "parallel:en,de"):
        ran = babelscope("quality --tests", tests, *system, "--metric", metric)
        assert ran.code == 0, ran.err
        assert "against references" not in " ".join(ran.out.split())
    ran = babelscope("quality --tests sources:en", *system)
    assert (ran.code, "chrf needs references, and item" in ran.err) == (2, True), ran.err
    assert "choose a metric that reads none" in ran.err


class OtherScore(ToySystem):
    def score(self, sources: list[str], targets: list[str]) -> list[float]:  # type: ignore[override]
        return [-1.0 for _ in zip(sources, targets, strict=True)]


class Numbers(ToySystem):
    def score(self, pairs: object) -> list[float]:  # type: ignore[override]
        return [-1.0 for _ in pairs]  # type: ignore[attr-defined]


class OtherTranslate(ToySystem):
    def translate(self, sources: list[str]) -> list[str]:  # type: ignore[override]
        return sources


class Texts(ToySystem):
    def translate(self, questions: list[str], *, beam: int = 5, n_best: int = 1) -> list[str]:  # type: ignore[override] # noqa: ARG002
        return ["ab" for _ in questions]


@pytest.mark.parametrize(
    ("system", "told"),
    [
        (OtherScore("mine"), r"mine: score\(sources.*\) cannot be called as score\(a list\): .*extending.md"),
        (Numbers("mine"), r"mine gave '-1.0' where a Scored was asked; .*extending.md"),
        (
            OtherTranslate("mine"),
            r"mine: translate\(.*\) cannot be called as translate\(a list, beam=, n_best=\)",
        ),
        (Texts("mine"), "mine gave \"'a'\" where a Scored was asked"),
    ],
)
def test_a_plug_in_with_other_methods_is_told_what_they_must_be(system: ToySystem, told: str) -> None:
    pair = MinimalPair("1", "a", "ab", ("ba",), "order", "human")
    with pytest.raises(bs.BabelscopeError, match=told):
        bs.contrast(system, [pair])
