"""Warnings are never cut: all of them are on the screen, equal ones once, each in two lines at most."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.support.toy_fixtures import Babelscope

_COUNTS = re.compile(r"\d[\d,]*( to \d[\d,]*)?")


def warnings(out: str) -> list[list[str]]:
    """The warnings of a summary, each as its lines."""
    part = out.partition("Keep in mind:\n")[2].partition("\n\n")[0]
    found: list[list[str]] = []
    for line in part.split("\n"):
        if line.startswith("    "):
            found[-1].append(line)
        elif line:
            found.append([line])
    return found


def check(out: str, folder: Path) -> list[str]:
    """All warnings that a run has stored are on the screen; gives those of the screen, each as one line."""
    shown = warnings(out)
    for lines in shown:
        assert len(lines) <= 2, lines
        assert all(cell_len(line) <= 80 for line in lines), lines
    joined = [" ".join(line.strip() for line in lines) for lines in shown]
    texts = [_COUNTS.sub("#", each) for each in joined]
    assert len(set(texts)) == len(texts)
    for section in json.loads((folder / "summary.json").read_text())["sections"]:
        for caveat in section["section"]["caveats"]:
            assert any(each.endswith(f": {_COUNTS.sub('#', caveat['text'])}") for each in texts), caveat
    return joined


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    items = [
        {
            "id": f"{name} {n}",
            "source": f"a{'b' * (n % 5)}",
            "correct": "ab",
            "contrastive": ["ba", "zz"][n % 2],
        }
        | {"phenomenon": name, "reference": "human"}
        for name in ("np_agreement", "clause_omission", "placeholder_ding", "hypercorrect_genitive")
        for n in range(14)
    ]
    for number in range(3):
        lines = [json.dumps(each) + "\n" for each in items[number:]]
        (tmp_path / f"pairs-{number}.jsonl").write_text("".join(lines))
    (tmp_path / "a.en").write_text("".join(f"a {'b ' * n}c\n" for n in range(12)))
    (tmp_path / "a.de").write_text("".join(f"{'b' * n}z\n" for n in range(12)))


STUDY = "".join([
    *(f'[[systems]]\nname = "a rather long name of system {n}"\nspec = "toy:{n}"\n' for n in range(8)),
    *(f'[[tests]]\nname = "test set number {n}"\nspec = "pairs-{n}.jsonl"\n' for n in range(3)),
    *(
        f'[[methods]]\nname = "contrast"\nlabel = "contrast {score}"\nscore = "{score}"\ndetect_in_output = "no"\n'
        for score in ("mean", "total")
    ),
])  # fmt: skip


def test_a_study_of_many_systems_hides_no_warning(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    ran = babelscope("run study.toml --no-report")
    assert (ran.code, ran.err) == (0, "")
    shown = check(ran.out, tmp_path / "runs" / "study")
    assert any(each.startswith("all 8 systems: ") for each in shown)
    assert len(ran.out.split("\n")) < 60
    assert "What stands out, worst first:" in ran.out
    assert "The worst " in ran.out


@pytest.mark.parametrize(
    "command",
    [
        "contrast --tests pairs-0.jsonl --system toy:1",
        "contrast --tests pairs-0.jsonl --system toy:1 --discrepancy none",
        "likelihood --tests parallel:a.en,a.de --system toy:1",
        "quality --tests parallel:a.en,a.de --system toy:1",
        "challenge --tests lab:challenge?n=12 --system file:out.de",
        "condition --tests lab:gender?n=12 --system lab:student --evaluator lab:student",
    ],
)
def test_every_method_warns_in_two_lines_at_most(
    babelscope: Babelscope, tmp_path: Path, command: str
) -> None:
    (tmp_path / "out.de").write_text("Das Haus.\n" * 12)
    ran = babelscope(*command.split(), "--out", "run")
    assert (ran.code, ran.err) == (0, "")
    assert check(ran.out, tmp_path / "run")


def test_who_is_left_out_is_a_table(babelscope: Babelscope, tmp_path: Path) -> None:
    """Searches that ended with their budget: figures with and without them stand in a table."""
    command = "space --system lab:student --tests lab:parallel?n=8 --k 3 --samples 0 --budget-expansions 60"
    ran = babelscope(*command.split(), "--out", "run")
    assert (ran.code, ran.err) == (0, "")
    (told,) = [each for each in check(ran.out, tmp_path / "run") if "who is left out matters" in each]
    assert "(table: --all)" in told
    every = babelscope("space --rejudge run --all").out
    assert "Unresolved searches left out, kept, and bounds" in every
