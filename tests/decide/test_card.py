"""The report card: what applies is found out, budgets are kept, and planted errors are on the screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from babelscope.language.base import Language
from babelscope.testsets import load
from tests.support.toy_fixtures import Babelscope

# A translator into Spanish that a test can judge: no negation, no numbers.
BROKEN = r"""cmd:sed -u -e 's/\bnot\b//g; s/[0-9]/7/g; s/the /el /g; s/ is / es /g; s/ and / y /g'"""


def test_planted_errors_are_found(babelscope: Babelscope) -> None:
    (card,) = babelscope("check", BROKEN, "--source-language", "en", "--target-language", "es", "--json").rows
    verdicts = {each["check"]: each["verdict"] for each in card["checks"]}
    assert verdicts["negation"] == verdicts["number"] == "error"
    assert verdicts["unanswered"] == verdicts["empty"] == "not significant"
    negation = next(each for each in card["checks"] if each["check"] == "negation")
    assert len(negation["worst"]) == 3
    assert negation["error_rate"]["n"] >= 10
    assert "glossary" in card["not_tested"]


def test_the_screen_has_80_columns_and_says_what_was_not_tested(babelscope: Babelscope) -> None:
    ran = babelscope("check", BROKEN, "--target-language", "es")
    assert ran.code == 0
    assert max(map(len, ran.out.split("\n"))) <= 80
    assert "loses a negation" in ran.out.split("\n\n")[0].replace("\n ", "")
    assert "Not tested, because there are no minimal pairs" in ran.out


def test_files_and_texts_of_ones_own(babelscope: Babelscope, tmp_path: Path) -> None:
    sources = [item.source for item in load("probes:en").items[:30]]  # type: ignore[union-attr]
    (tmp_path / "text.en").write_text("".join(f"{text}\n" for text in sources), "utf-8")
    (tmp_path / "out.ru").write_text("Кошка не спит.\n" * 30, "utf-8")
    languages = ["--source-language", "en", "--target-language", "ru"]
    (card,) = babelscope(
        "check", f"file:{tmp_path}/out.ru", "--text", str(tmp_path / "text.en"), *languages, "--json"
    ).rows
    assert {each["error_rate"]["n"] for each in card["checks"] if each["check"] == "empty"} == {30}


def test_a_system_that_searches_is_asked_for_its_mode(babelscope: Babelscope, tmp_path: Path) -> None:
    (card,) = babelscope(
        "check",
        "lab:student",
        "--tests",
        "lab:parallel?n=12",
        "--budget-calls",
        "6",
        "--out",
        str(tmp_path / "run"),
        "--json",
    ).rows
    assert {each["method"] for each in card["checks"]} >= {"errors", "space"}
    assert card["notes"] == ["6 of 12 items asked, within the budget"]
    assert babelscope("report", str(tmp_path / "run"), "--to", str(tmp_path / "page.html")).code == 0


@pytest.mark.parametrize("references", [True, False])
def test_checks_run_without_the_packages_of_the_target_language(
    references: bool, babelscope: Babelscope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Language, "analysis_version", lambda _self: "")
    texts = {"en": "They saw 1{} cats.\n", "de": "Sie sahen 1{} Katzen.\n", "out": "Sie sahen 7{} Katzen.\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text("".join(text.format(20 + n) for n in range(60)), "utf-8")
    asked = f"parallel:{tmp_path}/en,{tmp_path}/de" if references else f"sources:{tmp_path}/en"
    asked_in = ["--tests", asked, "--source-language", "en", "--target-language", "de"]
    system = f"file:{tmp_path}/out"
    (card,) = babelscope("check", system, *asked_in, "--out", str(tmp_path / "run"), "--json").rows
    (wrong,) = [each["check"] for each in card["checks"] if each["verdict"] == "error"]
    why = "German analysis needs" if references else "they need references"
    assert (wrong, why in card["not_tested"]["np_agreement"]) == ("number", True)
    assert babelscope("report", str(tmp_path / "run"), "--to", str(tmp_path / "page.html")).code == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert f"Not tested, because {why}" in page
    assert "no sentence has it: loses a negation" in page
    gated = babelscope("gate", f"file:{tmp_path}/de", system, *asked_in)
    assert gated.code == 3
    assert "Not tested, because " + why in gated.out.replace("\n  ", " ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cmd:cat", "--source-language", "fi", "--target-language", "es"], "name --text FILE in fi"),
        (["cmd:cat", "--source-language", "en"], "checks need the languages"),
        (["nothing:x"], "names no system"),
    ],
)
def test_what_is_refused(arguments: list[str], message: str, babelscope: Babelscope) -> None:
    ran = babelscope("check", *arguments)
    assert ran.code == 2
    assert message in ran.err


def test_translations_beside_their_sources_are_not_taken_for_plain_text(
    babelscope: Babelscope, tmp_path: Path
) -> None:
    texts = [f"They saw {100 + n} cats." for n in range(3)]
    (tmp_path / "in").write_text("".join(f"{text}\n" for text in texts), "utf-8")
    (tmp_path / "out").write_text("".join(f"{text} ||| Vieron gatos.\n" for text in texts), "utf-8")
    asked = ["--text", str(tmp_path / "in"), "--source-language", "en", "--target-language", "es"]
    ran = babelscope("check", f"file:{tmp_path}/out", *asked)
    assert (ran.code, "set ?format=pairs" in ran.err) == (2, True)
    assert babelscope("check", f"file:{tmp_path}/out?format=pairs", *asked).code == 0
