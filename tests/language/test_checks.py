"""Checks of translations: what each finds and what it must not find, and `errors` on sources without references."""

from __future__ import annotations

import json
import random
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from babelscope.language.checks.glossary import read_glossary
from babelscope.language.checks.registry import CHECKS, FALSE_ALARMS, Setting, run_checks, usual_length
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope

SPANISH = Setting("en", "es")
LONG = "The committee met in the old town hall and talked about the new budget for many hours."
CASES = [
    # check, source, translation, whether it is an alarm (None: it does not apply)
    ("negation", "He does not come.", "Viene.", True),
    ("negation", "He doesn’t come.", "No viene.", False),
    ("negation", "He does not come and did not call.", "No viene y llamó.", True),
    ("negation", "Not only he came.", "Vino.", None),
    ("negation", "He comes.", "Viene.", None),
    ("number", "In 1984 it cost 3.50.", "En 1985 costó 3,50.", True),
    ("number", "In 1984 it cost 3.50.", "En 1984 costó 3,50.", False),
    ("number", "It has two and 7 legs.", "Tiene dos y siete patas.", False),
    ("number", "At 7:45 pm.", "A las 19:45.", False),
    ("number", "1.5 million", "1 500 000", False),
    ("number", "No number.", "Ninguno.", None),
    ("unit", "It costs $5.", "Cuesta 5 €.", True),
    ("unit", "It costs 5 €.", "Cuesta 5 euros.", False),
    ("name", "We met Ada Lovelace there.", "Allí vimos a Ada Babbage.", True),
    ("name", "We met Ada Lovelace there.", "Allí vimos a Ada Lovelace.", False),
    ("name", "They crossed the Potomac River.", "Cruzaron el río Potomac ayer.", False),
    ("copy", "Write to me@here.org.", "Escriba a yo@here.org.", True),
    ("copy", "See https://a.org/b?c=1, and {name}!", "Véase https://a.org/b?c=1, y ¡{name}!", False),
    ("copy", "Call run_all() %s 🙂", "Llame a run_all() %s", True),
    ("copy", "Nothing here.", "Nada.", None),
    ("untranslated", LONG, LONG, True),
    ("untranslated", LONG, "El comité se reunió en el viejo ayuntamiento y habló del presupuesto.", False),
    (
        "language",
        LONG,
        "Der Ausschuss traf sich im alten Rathaus und sprach stundenlang über den Haushalt.",
        True,
    ),
    ("language", LONG, "El comité se reunió en el viejo ayuntamiento y habló del presupuesto.", False),
    ("repetition", "A dog.", "Un perro perro perro perro.", True),
    ("repetition", "No, no, no.", "No, no, no.", False),
    ("repetition", LONG, "se reunió en la ciudad, se reunió en la ciudad, y habló", True),
    ("omission", LONG, "Habló.", True),
    ("omission", "A dog.", "Sí.", False),
    ("addition", LONG, LONG * 3, True),
    ("truncation", LONG, "El comité se reunió en el", True),
    ("truncation", "A “dog.”", "Un «perro.»", False),
    ("empty", LONG, " – ", True),
    ("punctuation", "A (dog).", "Un (perro.", True),
    ("punctuation", "“A dog”", "„Un perro“", False),
    ("punctuation", "“A dog”", "Un perro”", True),
]


@pytest.mark.parametrize(("name", "source", "translation", "alarm"), CASES)
def test_a_check_finds_its_error_and_no_other(
    name: str, source: str, translation: str, alarm: bool | None
) -> None:
    found = run_checks(source, translation, SPANISH, [name])
    assert (found[name] is not None if name in found else None) is alarm


def test_an_empty_translation_has_no_other_error() -> None:
    assert run_checks(LONG, "", SPANISH) == {"empty": "empty"}
    assert set(run_checks(LONG, "Habló.", SPANISH)) >= {"omission", "truncation", "repetition"}
    assert set(FALSE_ALARMS) < set(CHECKS)


def test_the_usual_length_is_that_of_most_texts() -> None:
    pairs = [("a" * 10, "b" * 5)] * 10 + [("a" * 10, "b" * 100)]
    assert usual_length(pairs) == 0.5
    assert usual_length(pairs[-2:]) == 1.0


def test_words_that_negate_are_valid_and_are_negations_of_their_own_language() -> None:
    table = tomllib.loads((files("babelscope.language.checks") / "negation.toml").read_text("utf-8"))
    assert len(table) > 15
    for code, source in (
        ("en", "not"),
        ("de", "nicht"),
        ("fr", "ne vient pas"),
        ("ru", "не"),
        ("tr", "değil"),
    ):
        other = Setting(code, "es")
        assert run_checks(f"x {source} y", "nada", other, ["negation"]) == {"negation": None}
        assert run_checks(f"x {source} y", "mucho", other, ["negation"])["negation"]
    assert "negation" not in run_checks("x not y", "z", Setting("en", "xx"))


def test_what_must_be_copied_is_not_left_untranslated() -> None:
    source, text = (f"{each} https://www.example.com/help/start" for each in ("See", "Ver"))
    assert run_checks(source, text, Setting("en", "es"), ["untranslated"]) == {"untranslated": None}


def test_a_glossary_has_required_and_banned_terms(tmp_path: Path) -> None:
    path = tmp_path / "terms.toml"
    path.write_text(
        '[[term]]\nsource = "bank"\nrequired = ["banco", "ribera"]\n'
        '[[term]]\nbanned = "ordenador"\n'
        '[[term]]\nregex = true\nsource = "slow"\nbanned = "(a|aa)+$"\n'
    )
    glossary = read_glossary(path)
    assert glossary.check("the Bank", "la Ribera") is None
    assert glossary.check("the bank", "los bancos") == "missing: banco or ribera"
    assert glossary.check("a PC", "un ordenador") == "banned: ordenador"
    setting = Setting("en", "es", glossary=glossary)
    assert run_checks("slow", "aaaa", setting, ["glossary"]) == {"glossary": "banned: (a|aa)+$"}
    with pytest.warns(UserWarning, match="takes too much time or memory"):
        assert run_checks("slow", "a" * 60 + "!", setting, ["glossary", "empty"]) == {"empty": None}
    for text, fault in (
        ("x = 1\n", r"\[\[term\]\]"),
        ('[[term]]\nsource = "a"\n', "neither required nor banned"),
        ('[[term]]\nregex = true\nbanned = "("\n', "no regular expression"),
        ('[[term]]\nbaned = "x"\n', "term 1: Extra inputs"),
    ):
        path.write_text(text)
        with pytest.raises(BabelscopeError, match=fault):
            read_glossary(path)


def _replaced(text: str, words: dict[str, str]) -> str:
    for old, new in words.items():
        text = text.replace(old, new)
    return text


def test_errors_needs_no_references_and_no_package(
    babelscope: Babelscope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    draw = random.Random(1)
    sources = [
        f"The {n} dogs do not bark in the garden number {draw.randrange(100, 999)}." for n in range(60)
    ]
    spanish = {
        "The": "Los",
        "dogs do not bark": "perros no ladran",
        "in the garden number": "en el jardín número",
    }
    right = [_replaced(source, spanish) for source in sources]
    wrong = [text.replace(" no ", " ") if n % 3 == 0 else text for n, text in enumerate(right)]
    for name, lines in (("in.en", sources), ("right.es", right), ("wrong.es", wrong)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    asked = "errors --tests sources:in.en --system right=file:right.es --system wrong=file:wrong.es --json"
    rows = babelscope(f"{asked} --source-language en --target-language es").rows
    rates = {(row["system"], row["error"]): row for row in rows if row["name"] == "checked_errors"}
    assert rates["wrong", "negation"]["value"] == pytest.approx(1 / 3)
    assert rates["wrong", "negation"]["low"] < 1 / 3 < rates["wrong", "negation"]["high"]
    assert not any(row["value"] for (system, _), row in rates.items() if system == "right")
    different = [row["error"] for row in rows if row["name"] == "difference" and row["p_holm"] < 0.05]
    assert different == ["negation"]
    told = babelscope(asked)
    assert told.code == 2
    assert "source_language" in told.err
    only = babelscope(f"{asked} --source-language en --target-language es --check number --check empty").rows
    assert {row["error"] for row in only if row["name"] == "checked_errors"} == {"number", "empty"}
    assert "no check" in babelscope(f"{asked} --check nonsense").err


def test_checks_count_false_alarms_on_references(babelscope: Babelscope, tmp_path: Path) -> None:
    items = [
        {
            "source": f"It is not {n}.",
            "reference": f"No es {n}.",
            "source_language": "en",
            "target_language": "es",
        }
        for n in range(12, 30)
    ]
    tests, output = tmp_path / "set.jsonl", tmp_path / "out.es"
    tests.write_text("".join(f"{json.dumps({'id': str(n)} | item)}\n" for n, item in enumerate(items)))
    output.write_text("".join(f"Es {n}.\n" for n in range(12, 30)))
    rows = babelscope(f"errors --tests {tests} --system file:{output} --target-language es --json").rows
    (row,) = (each for each in rows if each.get("error") == "negation")
    assert (row["value"], row["alarms"], row["false_alarms"], row["references"]) == (1.0, 18, 0, 18)
