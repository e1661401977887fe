"""What a summary says of figures: no more than they show, and the worst first."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from babelscope.core.system import Fingerprint, Reply
from babelscope.methods.reporting import complement
from babelscope.report.summary import summarize
from babelscope.runs.execute import run_method
from babelscope.testsets import MinimalPair
from tests.support.toy_fixtures import Babelscope


def lines_of(out: str) -> list[list[str]]:
    """The cells of the first table of a summary."""
    table = out.partition("─\n")[2].partition("\n\n")[0]
    return [re.split(r"\s{2,}", line.strip()) for line in table.split("\n") if not line.startswith("…")]


def write_scores(folder: Path, types: Mapping[str, tuple[int, int]]) -> tuple[str, ...]:
    """Minimal pairs, and stored scores that prefer the error in so many of so many pairs of each type."""
    pairs, scores = [], []
    for name, (wrong, n) in types.items():
        for number in range(n):
            item = {"id": f"{name} {number}", "source": f"{name} {number}", "correct": "right"}
            pairs.append({**item, "contrastive": "wrong", "phenomenon": name, "reference": "human"})
            scores.append("-2\t-1" if number < wrong else "-1\t-2")
    (folder / "pairs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in pairs))
    (folder / "scores.tsv").write_text("".join(f"{line}\n" for line in scores))
    return ("contrast", "--tests", "pairs.jsonl", "--system", "scores:scores.tsv")


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")


@pytest.mark.parametrize(
    ("wrong", "n", "controls", "verdict"),
    [(2, 10, 10, "unknown"), (4, 400, 400, "not significant"), (60, 100, 400, "error")],
)
def test_too_few_controls_are_no_evidence_either_way(
    babelscope: Babelscope, tmp_path: Path, wrong: int, n: int, controls: int, verdict: str
) -> None:
    types = {"np_agreement": (wrong, n), "placeholder_ding": (controls // 100, controls)}
    ran = babelscope(*write_scores(tmp_path, types))
    assert (ran.code, ran.err) == (0, "")
    assert [line[-1] for line in lines_of(ran.out)] == [verdict, "control"]


def test_own_output_and_discrepancies_are_marked_in_tables_for_papers(
    babelscope: Babelscope, tmp_path: Path
) -> None:
    """A system that is judged on its own output, beside one that is not."""
    pairs = [
        {"id": str(n), "source": "a" * n, "correct": "ab", "contrastive": "ba", "phenomenon": "swap"}
        | {"reference": "machine", "system": "toy:1"}
        for n in range(1, 12)
    ]
    write_pairs(tmp_path, pairs)
    asked = ("contrast --system toy:1 --system toy:2 --tests pairs.jsonl --format",)
    markdown = babelscope(*asked, "markdown").out
    marked = [line for line in markdown.split("\n") if line.startswith("|") and "†" in line]
    assert [line.split(" | ")[0] for line in marked] == ["| toy:1"]
    assert "† on references that are its own output" in markdown
    assert "compare test sets under one model, not models" in markdown
    assert babelscope(*asked, "latex").out.count(r"\dag{}") == 2, "at the figure, and in the note"
    alone = babelscope("contrast --system toy:2 --tests pairs.jsonl --format markdown").out
    assert "†" not in alone
    assert "not models" not in alone


def write_pairs(folder: Path, pairs: list[dict[str, str]]) -> None:
    (folder / "pairs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in pairs))


NOUNS = [
    "Hund",
    "Koch",
    "Mann",
    "Lehrer",
    "Arzt",
    "Bauer",
    "Vater",
    "Bruder",
    "Freund",
    "Junge",
    "König",
    "Pilot",
]


@pytest.mark.parametrize("share", ["below 0", "over 100 %"])
def test_a_corrected_share_is_a_share(babelscope: Babelscope, tmp_path: Path, share: str) -> None:
    """A detector with more alarms on references than on translations, or that finds few of the errors put in."""
    pytest.importorskip("HanTa")
    pytest.importorskip("german_nouns.config")
    pairs, written = [], []
    for number, noun in enumerate(NOUNS):
        right = f"Der {noun} schläft."
        if share == "below 0":
            written.append(right)
            right = right if number % 3 else f"Das Ding und der {noun} schlafen."
            wrong = right.replace(noun, "Ding")
        else:
            written.append("Das Ding schläft.")
            wrong = "Das Ding schläft." if number % 3 else f"Die {noun} schläft."
        item = {
            "id": str(number),
            "source": f"Animal {number} sleeps.",
            "correct": right,
            "contrastive": wrong,
        }
        pairs.append({**item, "phenomenon": "placeholder_ding", "reference": "human"})
    write_pairs(tmp_path, pairs)
    (tmp_path / "out.de").write_text("".join(f"{line}\n" for line in written))
    (row,) = babelscope("errors --system file:out.de --tests pairs.jsonl --json").rows
    assert share in row["note"]
    assert 0 <= row["low"] <= row["value"] <= row["high"] <= 1
    shown = babelscope("errors --system file:out.de --tests pairs.jsonl").out
    assert not re.search(r"[-−]\d|1\d\d\.\d* %", shown.partition("signature")[0].replace("100.0 %", ""))


def test_controls_that_were_not_answered_are_not_denied(babelscope: Babelscope, tmp_path: Path) -> None:
    """No system can be asked about an empty text."""
    for name, line in (("swap.human", "ab\n"), ("placeholder_ding.human", "\n")):
        (tmp_path / "sets" / name).mkdir(parents=True)
        for file, text in {
            "src.en": "a b\nb a\n",
            "tgt.correct.de": line * 2,
            "tgt.incorrect.de": "ba\n" * 2,
        }.items():
            (tmp_path / "sets" / name / file).write_text(text)
    command = ("contrast --system toy:1 --tests",)
    ran = babelscope(*command, "distil-lingeval:sets?empty=yes")
    assert (ran.code, ran.err) == (0, "")
    assert "no controls among the items answered" in ran.out
    assert "no controls: " in babelscope(*command, "distil-lingeval:sets/swap.human").out


def test_the_highest_error_rate_leads_and_controls_come_last(babelscope: Babelscope, tmp_path: Path) -> None:
    """Controls are preferred in every pair, so that nothing is more than they explain: they still do not lead."""
    types = {
        "fine": (0, 60),
        "placeholder_ding": (60, 60),
        "anaphora": (12, 60),
        "number": (24, 60),
        "tense": (3, 60),
    }
    found = lines_of(babelscope(*write_scores(tmp_path, types)).out)
    assert [line[0] for line in found] == ["number", "anaphora", "tense", "fine", "placeholder_ding"]
    # Nobody looked at what it writes, and controls alone clear nothing.
    assert [line[-1] for line in found[:-1]] == ["unknown", "unknown", "not significant", "not significant"]


def test_wrong_genders_are_told_on_the_page(babelscope: Babelscope, tmp_path: Path) -> None:
    lines = [
        f"{gender}\t1\tThe cook slept {n} hours because {pronoun} was tired.\tcook\tpro"
        for n in range(15)
        for gender, pronoun in (("male", "he"), ("female", "she"))
    ]
    (tmp_path / "test.tsv").write_text("".join(f"{line}\n" for line in lines))
    sources = [line.split("\t")[2] for line in lines]
    (tmp_path / "out.txt").write_text("".join(f"{source} ||| Der Koch schlief.\n" for source in sources))
    (tmp_path / "out.align").write_text("0-0 1-1\n" * len(lines))
    asked = (
        "--system",
        "file:out.txt?format=auto",
        "--alignments",
        "out.align",
        "--target",
        "de",
        "--out",
        "run",
    )
    ran = babelscope("patterns winomt --tests winomt:test.tsv", *asked)
    assert (ran.code, ran.err) == (0, "")
    first, *_ = lines_of(ran.out)
    assert "female" in first[0]
    assert (first[-2].split()[0], first[-1]) == ("100", "error")
    assert babelscope("report run --to page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    assert re.search(r'class="finding errors">(.|\n)*?female', page)


class Chooser:
    """Names the translation that is called right, else the one that is bad."""

    name = "chooser"
    fingerprint = Fingerprint("chooser", "chooser")

    def reply(self, prompts: Sequence[str]) -> list[Reply]:
        return [Reply("A" if "A: right" in each or "B: ill" in each else "B") for each in prompts]


def test_the_worst_phenomenon_leads_where_answers_are_pooled() -> None:
    """7 of 24 negations and none of 66 others are wrong: 7.8 % in all hide 29 %."""
    types = {"negation": (7, 24), "number": (0, 66)}
    pairs = [
        MinimalPair(f"{name} {n}", f"{name} {n}", "right" if n >= wrong else "ill", ("bad",), name, "human")
        for name, (wrong, size) in types.items()
        for n in range(size)
    ]
    result = run_method("prompted_choice", Chooser(), pairs)
    assert complement(next(row.estimate for row in result.rows if row.name == "answer_accuracy")).value < 0.08
    shown = summarize(result, width=200)
    first, *_ = lines_of(shown)
    assert "negation" in first[0]
    assert "29.2 [" in " ".join(first)
    assert first[-1] == "error"
