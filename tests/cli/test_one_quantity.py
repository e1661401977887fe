"""One quantity has one name and one direction, however it is asked for, and a difference is that of two figures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from babelscope.core.system import Asked, Reply, Scored, sources_of
from babelscope.runs import study
from babelscope.testsets import AmbiguousSource, MinimalPair, TestSet
from tests.support import toys
from tests.support.toy_fixtures import Babelscope


@pytest.mark.parametrize("tests", ["t.jsonl", "tsv:t.tsv", "parallel:a.en,a.de"])
def test_the_name_of_a_test_set_does_not_depend_on_out(
    tests: str, babelscope: Babelscope, tmp_path: Path
) -> None:
    (tmp_path / "t.jsonl").write_text('{"id": "1", "source": "a", "reference": "b"}\n')
    (tmp_path / "t.tsv").write_text("a\tb\n")
    (tmp_path / "a.en").write_text("a\n")
    (tmp_path / "a.de").write_text("b\n")
    (tmp_path / "mine.txt").write_text("b\n")
    asked = ("quality", "--tests", tests, "--system", "file:mine.txt", "--json")
    plain, stored = babelscope(*asked).rows, babelscope(*asked, "--out", "run").rows
    assert plain
    assert plain == stored


def test_a_summary_by_a_field_says_that_it_counts_errors(babelscope: Babelscope, tmp_path: Path) -> None:
    pairs = [
        MinimalPair(
            str(n), f"s {n}", "ab", ("ba",), "swap", "human", extra={"domain": "news" if n % 2 else "chat"}
        )
        for n in range(12)
    ]
    TestSet("t", tuple(pairs)).write(tmp_path / "t.jsonl")
    # Right in a quarter of the pairs of each domain.
    (tmp_path / "scores").write_text("".join(f"1\t{2 - 2 * (n // 2 % 3 == 0)}\n" for n in range(12)))
    asked = ("contrast --tests t.jsonl --system scores:scores --group-by domain",)
    rows = [row for row in babelscope(*asked, "--json").rows if row["name"] == "swap"]
    accuracies = {row["domain"]: row["value"] for row in rows if "domain" in row}
    assert accuracies == {"chat": pytest.approx(1 / 3), "news": pytest.approx(1 / 3)}
    told = babelscope(*asked).out
    for domain in accuracies:
        table = told.partition(f"domain {domain}: ")[2].partition("\n\n")[0]
        assert "The model prefers the error (1 - accuracy)" in " ".join(table.split())
        assert "66.7 [" in table


# -- a difference is that of the two figures it names ---------------------------------------------------

_SIDES = {"system", "against", "run", "evaluator"}
_NOT_OF_THE_FIGURE = _SIDES | {"name", "method", "tests", "table", "better", "lowest"}
_CHOSEN = {"weighting", "rules", "alignment", "rounding", "metric", "k", "view", "beam"}
_OF_THE_SYSTEM = _CHOSEN | {"control", "note", "target"}


def labels_of(row: dict[str, Any]) -> dict[str, Any]:
    """What stands before the value of a row, but for what does not tell figures apart."""
    before = list(row)[: list(row).index("value")]
    return {name: row[name] for name in before if name not in _NOT_OF_THE_FIGURE}


def figure(rows: list[dict[str, Any]], difference: dict[str, Any], system: str) -> dict[str, Any]:
    """The row that a difference names as its figure, of one of its systems."""
    name, *more = difference["of"].split(",")
    wanted = {**labels_of(difference), **dict(each.split("=") for each in more)}
    found = []
    for row in rows:
        own = labels_of(row)
        if (row["name"], row["system"]) == (name, system) and "against" not in row:
            unknown = own.keys() - wanted.keys() - _OF_THE_SYSTEM
            if not unknown and all(str(own.get(key, value)) == str(value) for key, value in wanted.items()):
                found.append(row)
    assert found, f"no figure {difference['of']} of {system} in {sorted({row['name'] for row in rows})}"
    return max(found, key=lambda row: len(labels_of(row).keys() & wanted.keys()))


def check_differences(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every difference with a value, each compared with the figures that it names."""
    found = [row for row in rows if row["name"] == "difference" and row["n"]]
    for row in found:
        one, other = (figure(rows, row, row[side]) for side in ("system", "against"))
        assert row["value"] == pytest.approx(one["value"] - other["value"], abs=1e-9), (row, one, other)
        assert row.get("better") == one.get("better", row.get("better"))
        if "over" not in row:  # the worst categories of two systems may be different items
            assert row["n"] == one["n"] == other["n"], (row, one, other)
        assert 0 <= row["p"] <= row["p_holm"] <= 1
        if row["low"] is not None:
            assert (row["low"] > 0 or row["high"] < 0) == (row["p"] < 0.05), row
    assert any(row["value"] for row in found), "nothing was compared"
    return found


def compared(babelscope: Babelscope, *asked: str) -> list[dict[str, Any]]:
    """The differences of a command with two systems, which are also those that `compare` and the run folder have."""
    own = check_differences(babelscope(*asked, "--out", "run", "--json").rows)
    theirs = check_differences(babelscope("compare run --json").rows)
    told = [
        {name: value for name, value in row.items() if name not in ("table", "signature")}
        for row in (*own, *theirs)
    ]
    assert told[: len(own)] == told[len(own) :]
    assert babelscope("report run --to page.html").code == 0
    return own


TOYS = ("--system", "toy:1", "--system", "toy:2")


def write_parallel(folder: Path, n: int = 12) -> None:
    """Sentences of very different lengths, so that a mean over sentences is not one over the corpus."""
    lines = [{"id": str(i), "source": f"s {i // 2}", "reference": "ab ca " * (1 + i % 5)} for i in range(n)]
    (folder / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_quality(babelscope: Babelscope, tmp_path: Path) -> None:
    write_parallel(tmp_path)
    for name, cut in (("one", 3), ("two", 5)):
        texts = [" ".join(["ab ca", *["x"] * (i % cut), "ab ca " * (i % 4)]) for i in range(12)]
        (tmp_path / name).write_text("".join(f"{text}\n" for text in texts))
    metrics = [part for name in ("bleu", "chrf", "ter") for part in ("--metric", name)]
    systems = ("--system", "file:one", "--system", "file:two")
    found = compared(babelscope, "quality", "--tests", "t.jsonl", *systems, *metrics)
    assert [(row["of"], row.get("better")) for row in found] == [
        ("bleu", None),
        ("chrf", None),
        ("ter", "lower"),
    ]


def test_likelihood(babelscope: Babelscope, tmp_path: Path) -> None:
    write_parallel(tmp_path)
    (row,) = compared(babelscope, "likelihood", "--tests", "t.jsonl", *TOYS)
    assert (row["of"], row["n"]) == ("logprob", 12)


def test_contrast(babelscope: Babelscope, tmp_path: Path) -> None:
    pairs = [MinimalPair(str(n), f"s {n}", "ab", ("ba",), f"p{n % 2}", "human") for n in range(20)]
    TestSet("t", tuple(pairs)).write(tmp_path / "t.jsonl")
    assert len(compared(babelscope, "contrast", "--tests", "t.jsonl", *TOYS)) == 2


@pytest.mark.parametrize("protocol", ["paper"])
def test_condition(protocol: str, babelscope: Babelscope, tmp_path: Path) -> None:
    items = [
        AmbiguousSource(f"i{n}", f"a {n}", (f"r {n}",), (f"w {n}",), "female" if n % 2 else "male")
        for n in range(20)
    ]
    TestSet("t", tuple(items)).write(tmp_path / "t.jsonl")
    asked = ("condition", "--tests", "t.jsonl", *TOYS, "--evaluator", "toy:e", "--protocol", protocol)
    assert {row["of"] for row in compared(babelscope, *asked)} >= {"minimum", "all"}


@pytest.mark.usefixtures("exact_toys")
def test_space(babelscope: Babelscope, tmp_path: Path) -> None:
    lines = [
        {"id": str(n), "source": f"s {n}", "reference": text}
        for n, text in enumerate(["ab", "ba", "b", "aab"])
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    systems = [part for n in (1, 2) for part in ("--system", f"toy:{n}?alphabet=ab&limit=5")]
    found = compared(babelscope, "space", "--tests", "t.jsonl", "--k", "3", "--samples", "8", *systems)
    assert {row["of"].partition(",")[0] for row in found} == {"krg", "kqrg", "empty_mode", "search_error"}


def test_challenge(babelscope: Babelscope, tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = []
    translations = []
    for n in range(12):
        source = " ".join(["Er", "gab", *["es"] * (n % 4), "auf", "."])
        far = {
            "phenomenon": "particle",
            "side": "source",
            "head": 2,
            "dependent": 3 + n % 4,
            "distance": n % 4,
        }
        far |= {"head_form": "gab", "dependent_form": "auf"}
        lines.append({"id": str(n), "source": f"{source} {n}", "reference": f"He gave it up {n} times ."})
        lines[-1]["dependencies"] = [far] if n % 3 else []
        translations.append(f"He gave {'up' if n % 2 else 'it'} {n} times .")
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "one.en").write_text("".join(f"{text}\n" for text in translations))
    (tmp_path / "two.en").write_text("".join(f"{text[3:]}\n" for text in reversed(translations)))
    asked = ("challenge", "--tests", "t.jsonl", "--set", "matched_corpora=5")
    found = compared(babelscope, *asked, "--system", "file:one.en", "--system", "file:two.en")
    assert {row["phenomenon"] for row in found} == {"all", "particle"}


def test_errors(babelscope: Babelscope, tmp_path: Path) -> None:
    """The rate of a detector that misses some errors is corrected, and so is the difference of two rates."""
    pytest.importorskip("HanTa")
    pytest.importorskip("german_nouns.config")
    pairs, outputs = [], {"good": list[str](), "bad": list[str]()}
    for n, name in enumerate(["Anna", "Peter", "Maria", "Paul", "Eva", "Karl", "Lena", "Otto", "Ida", "Max"]):
        source, right = f"{name} does not come home today.", f"{name} kommt heute nicht nach Hause."
        # The detector finds six of the ten errors that are put in.
        lost = f"{name} kommt heute {'' if n % 3 else 'nie '}nach Hause."
        pairs.append(MinimalPair(str(n), source, right, (lost,), "polarity_particle_nicht_del", "human"))
        source, other = f"{name} does not see the dog.", f"{name} sieht den Hund nicht."
        wrong = f"{name} sieht den Ding nicht."
        pairs.append(MinimalPair(f"d{n}", source, other, (wrong,), "placeholder_ding", "human"))
        outputs["good"] += [right, other]
        outputs["bad"] += [f"{name} kommt heute nach Hause." if n % 2 else right, other]
    TestSet("t", tuple(pairs)).write(tmp_path / "t.jsonl")
    for system, own in outputs.items():
        (tmp_path / system).write_text("".join(f"{text}\n" for text in own))
    systems = ("--system", "file:bad", "--system", "file:good")
    found = compared(babelscope, "errors", "--tests", "t.jsonl", *systems)
    row = next(row for row in found if row["phenomenon"] == "polarity_particle_nicht_del")
    assert (row["of"], row["better"], row["losses"], row["ties"]) == ("generated_errors", "lower", 5, 5)
    assert row["value"] == pytest.approx(0.5 / 0.6), "of alarms it is 0.5"


def test_pattern_matching(babelscope: Babelscope, tmp_path: Path) -> None:
    sources = ["The cook slept because he was tired.", "The cook slept because she was tired."]
    german = ["Der Koch schlief, weil er müde war.", "Die Köchin schlief, weil sie müde war."]
    (tmp_path / "t.tsv").write_text(
        f"male\t1\t{sources[0]}\tcook\tpro\nfemale\t1\t{sources[1]}\tcook\tanti\n"
    )
    (tmp_path / "en-de.text.txt").write_text("My pen.\nA pig in its pen.\n")
    (tmp_path / "en-de.key.tsv").write_text("1\tted\tpen\tstift\tgehege\n2\tted\tpen\tgehege\tstift\n")
    for name, some, pens in (("one", german, "Stift Stift"), ("two", german[:1] * 2, "Stift Gehege")):
        lines = [f"{source} ||| {text}\n" for source, text in zip(sources, some, strict=True)]
        (tmp_path / f"{name}.txt").write_text("".join(lines))
        (tmp_path / f"{name}.align").write_text("1-1\n1-1\n")
        (tmp_path / f"{name}.de").write_text("".join(f"Ein {pen}.\n" for pen in pens.split()))
        wino = (
            "condition --judge winomt --tests winomt:t.tsv --target de --system",
            f"file:{name}.txt?format=auto",
        )
        ran = babelscope(*wino, "--set", f"alignments={name}.align", "--out", f"winomt-{name}")
        assert ran.code == 0, ran.err
        mucow = (
            "condition --judge mucow --tests mucow:en-de?all=yes --system",
            f"file:{name}.de?format=auto",
        )
        assert babelscope(*mucow, "--out", f"mucow-{name}").code == 0
    for method in ("winomt", "mucow"):
        check_differences(babelscope("compare", f"{method}-one", f"{method}-two", "--json").rows)


class Talker(toys.ToySystem):
    """A toy that answers prompts with A or B, by a hash of its name and the prompt."""

    def reply(self, prompts: Sequence[str]) -> list[Reply]:
        told = [hashlib.sha256(f"{self.name}, {each}".encode()).digest()[0] for each in prompts]
        return [Reply("AB"[each % 2]) for each in told]

    def translate(self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:
        del beam, n_best
        return [[Scored(f"{self.name} {source}")] for source in sources_of(questions)]


@pytest.mark.parametrize("kind", ["pairs", "senses"])
def test_by_answer(
    kind: str, babelscope: Babelscope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "open_system", lambda spec, **_: Talker(spec, salt=spec))
    items: Any = (
        [MinimalPair(f"p{n}", f"s {n}", "ab ca", ("ab",), "cut", "human") for n in range(20)]
        if kind == "pairs"
        else [AmbiguousSource(f"a{n}", f"a {n}", (f"r {n}",), (f"w {n}",), f"c{n % 2}") for n in range(20)]
    )
    TestSet("t", tuple(items)).write(tmp_path / "t.jsonl")
    evaluator = ["--evaluator", "judge"] if kind == "senses" else []
    systems = ("--system", "one", "--system", "two")
    compared(babelscope, "prompted-choice", *systems, *evaluator, "--tests", "t.jsonl")
