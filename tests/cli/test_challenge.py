"""`babelscope challenge`: rows, tables, run folders, the queue for annotators and its answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.toy_fixtures import Babelscope, read_rows

SENTENCES = [
    ("Er gab es gestern auf .", "He gave it up yesterday .", [("particle", 2), ("particle", 0)]),
    ("Sie freut sich sehr .", "She is very glad .", [("reflexive", 0)]),
    ("Das ist gut so .", "That is fine .", []),
    ("Er lud alle seine Gäste ein .", "He invited all his guests .", [("particle", 3)]),
    ("Wir gehen jetzt .", "We go now .", []),
    ("Wir gehen jetzt .", "We are leaving now .", []),
]
RUN = ("challenge", "--tests", "tests.jsonl", "--matched-corpora", "5")


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    lines = []
    for number, (source, reference, found) in enumerate(SENTENCES, 1):
        dependencies = [
            {
                "phenomenon": phenomenon,
                "side": "source",
                "head": 2,
                "dependent": 3 + distance,
                "distance": distance,
                "head_form": source.split()[1],
                "dependent_form": source.split()[2 + distance],
            }
            for phenomenon, distance in found
        ]
        lines.append(
            {"id": str(number), "source": source, "reference": reference, "dependencies": dependencies}
        )
    (tmp_path / "tests.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "good.en").write_text("".join(f"{reference}\n" for _, reference, _ in SENTENCES))
    (tmp_path / "bad.en").write_text("".join(f"He {source}\n" for source, _, _ in SENTENCES))


def test_latex_has_the_named_tables_and_nothing_else(babelscope: Babelscope) -> None:
    both = ("--system", "file:good.en", "--system", "file:bad.en", "--metric", "bleu")
    ran = babelscope(*RUN, *both, "--format", "latex", "--table", "quality-bleu", "--table", "paper-4")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.count("\\toprule") == ran.out.count("\\end{tabular}") == 2
    assert "& $\\geq$ 3 words between &" in ran.out


def test_the_table_has_one_line_a_set_that_differs(babelscope: Babelscope) -> None:
    both = ("--system", "file:good.en", "--system", "file:bad.en")
    names = ("--table", "quality-bleu", "--format", "csv")
    lines = babelscope(*RUN, *both, *names).out.split("\n")
    particles = [line for line in lines if line.startswith("file:good.en,particle")]
    assert sum("≥ 2" in line for line in particles) == 1
    assert not any("≥ 1" in line for line in lines), "the same two sentences"
    assert any("BLEU" in line and "equally long" in line for line in lines)


def test_the_queue_is_written_answered_and_read_back(babelscope: Babelscope) -> None:
    systems = ("--system", "file:good.en", "--system", "file:bad.en")
    assert babelscope(*RUN, *systems, "--annotate", "queue.jsonl", "--queue-per-group", "2").code == 0
    entries = read_rows("queue.jsonl")
    assert len(entries) == 6, "two particles and a reflexive, by two systems"
    for entry in entries:
        entry["answer"] = "Translated wrong" if "gab" in entry["translation"] else "Translated right"
    Path("me.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    rows = babelscope(*RUN, *systems, "--answer", "me.jsonl", "--json").rows
    good = [
        r for r in rows if r["name"] == "right" and r["system"] == "file:good.en" and r["phenomenon"] == "all"
    ]
    assert [(row["value"], row["n"], row["annotator"]) for row in good] == [(1.0, 3, "me")]
    assert "Annotators’ answers" in babelscope(*RUN, *systems, "--answer", "me.jsonl", "--all").out
    again = babelscope(*RUN, *systems, "--annotate", "queue.jsonl")
    assert again.code == 2
    assert "queue.jsonl exists, and may have answers" in again.err


def test_a_file_without_answers_is_no_fault(babelscope: Babelscope) -> None:
    assert babelscope(*RUN, "--system", "file:good.en", "--answer", "tests.jsonl").code == 0


def test_what_make_challenge_writes_is_scored(babelscope: Babelscope) -> None:
    from babelscope.lab.grammar.corpus import make_corpus

    make_corpus(Path(), 40, 3, "train")
    made = ("--source", "corpus.en", "--reference", "corpus.de", "--language", "en", "--to", "made.jsonl")
    given = ("--parses", "corpus.en.conllu", "--alignments", "corpus.align")
    assert babelscope("make", "challenge", *made, *given).code == 0
    run = ("challenge", "--tests", "made.jsonl", "--system", "file:corpus.de")
    rows = [row for row in babelscope(*run, "--json").rows if row["name"] == "bleu"]
    assert [row["value"] for row in rows] == [pytest.approx(100)] * len(rows)
    assert {"all", "particle", "reordering"} <= {row["phenomenon"] for row in rows}
    assert rows[0]["n"] == 40
