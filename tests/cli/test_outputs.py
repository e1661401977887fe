"""Every command looks at all that it will write before it asks anything, and prints figures before it writes."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from babelscope.testsets import AmbiguousSource
from tests.support.toy_fixtures import Babelscope

pytestmark = pytest.mark.usefixtures("exact_toys")

TOY = "toy:1?alphabet=ab&limit=4&log=log"
PAIR = {"source": "a", "correct": "ab", "contrastive": ["ba"], "phenomenon": "p", "reference": "human"}
CUED = AmbiguousSource("0", "a", ("r",), ("w",), "male", "male").as_json() | {
    "word": "a",
    "reference": "b",
}
DEPENDENCY = {"phenomenon": "particle", "head": 2, "dependent": 5, "distance": 2}
FILES = {
    "a.en": "a\nb\n",
    "a.de": "ab\nba\n",
    "pairs.jsonl": "".join(json.dumps({**PAIR, "id": str(n)}) + "\n" for n in range(2)),
    "cued.jsonl": json.dumps(CUED) + "\n",
    "tests.jsonl": "".join(
        json.dumps({"id": str(n), "source": "a b c d e f", "reference": "ab", "dependencies": [DEPENDENCY]})
        + "\n"
        for n in range(2)
    ),
    "human.jsonl": "".join(
        json.dumps({"system": s, "id": i, "score": i * 0.2}) + "\n" for s in "ab" for i in (1, 2)
    ),
    "words.json": '{"a": {"src_forms": ["a"], "tgt_forms_male": ["ab"], "tgt_forms_female": ["ba"]}}',
    "wino.tsv": "male\t1\tThe cook slept because he was tired.\tcook\tpro\n",
    "wino.txt": "Der Koch schlief, weil er müde war.\n",
    "wino.align": "0-0 1-1\n",
    "en-de.text.txt": "My pen.\n",
    "en-de.key.tsv": "1\tted\tpen\tstift\tgehege\n",
    "mucow.de": "Meine Stifte.\n",
    "a.conllu": "".join(f"# text = {w}\n1\t{w}\t{w}\tNOUN\t_\t_\t0\troot\t_\t_\n\n" for w in "ab"),
    "links": "0-0\n0-0\n",
    "candidates.json": "{}",
    "lexicon.tsv": "a\tab\n",
}
# Each with an option that names a file it writes: a file is put in place of OUT.
COMMANDS = f"""
translate --system {TOY} a.en --to OUT
translate --decode sample --system {TOY} a.en --n 2 --to OUT
translate --decode mbr --system {TOY} a.en --n 2 --to OUT
translate --decode exact --system {TOY} a.en --n 3 --to OUT
score --system {TOY} a.en --target a.de --to OUT
space --system {TOY} --tests tests.jsonl --k 3 --samples 4 --set segments=OUT
flow --source a.en --target a.de --words words.json --flows OUT
flow --source a.en --target a.de --distilled a.de --words words.json --svg OUT
annotate --sample winomt:wino.tsv --set translations=wino.txt --queue OUT
make counts --source a.en --target a.de --lexicon lexicon.tsv --to OUT
make counts --source a.en --target a.de --words words.json --to OUT
agreement human.jsonl --human human.jsonl --to OUT
agreement human.jsonl --task winomt --to OUT
compare --factors human.jsonl --to OUT
make challenge --source a.en --reference a.de --parses a.conllu --set alignments=links --to OUT
make pairs --type placeholder_ding --source a.en --reference a.de --to OUT
make pairs --audit 30 --type placeholder_ding --source a.en --reference a.de --to OUT
make cues --tests cued.jsonl --evaluator {TOY} --candidates candidates.json --to OUT
make cues --tests cued.jsonl --evaluator {TOY} --candidates candidates.json --set save_cues=OUT
make cues --tests cued.jsonl --evaluator {TOY} --candidates candidates.json --set save_candidates=OUT
make machine-references --system {TOY} --tests pairs.jsonl --to OUT
make machine-references --system {TOY} --tests pairs.jsonl --to o --queue OUT
lab evaluate --evaluator {TOY} --tests gender --n 24 --records OUT
report run --to OUT
""".strip().split("\n")
FOLDERS = f"""
contrast --system {TOY} --tests pairs.jsonl --set detect_in_output=no --out OUT
condition --system {TOY} --evaluator {TOY} --tests cued.jsonl --translations given --out OUT
space --system {TOY} --tests tests.jsonl --k 3 --samples 4 --out OUT
challenge --system {TOY} --tests tests.jsonl --metric chrf --set matched_corpora=2 --out OUT
""".strip().split("\n")
# With figures on stdout, and a file that is written beside them. (What a toy says, the lab's grammar cannot judge.)
FIGURES = [
    each
    for each in COMMANDS
    if "--to OUT" not in each
    and not each.startswith(("make cues", "make machine", "lab evaluate", "annotate"))
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder").mkdir()
    return tmp_path


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("out", "code", "told"),
    [
        ("folder", 2, "'folder' is a folder; choose a file"),
        ("/proc/out", 1, "/proc/out cannot be written: No such file or directory"),
        ("a.en/out", 1, "a.en/out cannot be written: Not a directory"),
    ],
)
def test_a_file_that_cannot_be_written_is_told_before_anything_is_asked(
    babelscope: Babelscope, here: Path, command: str, out: str, code: int, told: str
) -> None:
    before = names(here)
    ran = babelscope(*command.replace("OUT", out).split())
    assert (ran.code, ran.out, ran.err) == (code, "", f"babelscope: error: {told}\n")
    assert names(here) == before, "nothing was asked, nothing is left"


@pytest.mark.parametrize("command", FOLDERS)
@pytest.mark.parametrize(
    ("out", "code", "told"),
    [("a.en", 2, "a.en is a file, not a folder"), ("/proc/run", 1, "/proc/run cannot be written")],
)
def test_so_is_a_run_folder(
    babelscope: Babelscope, here: Path, command: str, out: str, code: int, told: str
) -> None:
    before = names(here)
    ran = babelscope(*command.replace("OUT", out).split())
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(f"babelscope: error: {told}")
    assert names(here) == before


@pytest.mark.parametrize("command", [each for each in COMMANDS if "a.en" in each])
def test_what_is_read_is_not_written(babelscope: Babelscope, here: Path, command: str) -> None:
    before = names(here)
    ran = babelscope(*command.replace("OUT", "a.en").split())
    assert ran.code == 2
    assert "would overwrite a file which is read" in ran.err
    assert (names(here), (here / "a.en").read_text()) == (before, FILES["a.en"])


@pytest.mark.parametrize("command", FIGURES)
def test_figures_are_printed_though_the_disk_fills_up(
    babelscope: Babelscope, here: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    right = babelscope(*command.replace("OUT", "right").split())
    assert right.code == 0, right.err
    assert (here / "right").stat().st_size

    def full(_part: Path, target: Path) -> None:
        raise OSError(28, os.strerror(28), str(target))

    monkeypatch.setattr(os, "replace", full)
    ran = babelscope(*command.replace("OUT", "full").split())
    assert (ran.code, ran.out) == (1, right.out)
    assert ran.err.endswith("babelscope: error: full cannot be written: No space left on device\n")
    assert not list(here.glob(".*.part"))


def test_out_keeps_what_it_names(babelscope: Babelscope, here: Path) -> None:
    """A link, a pipe, a device and a mode; each became a plain file of mode 644."""
    command = f"translate --system {TOY} a.en --to".split()
    right = babelscope(*command[:-1]).out
    (here / "target").write_text("old")
    (here / "target").chmod(0o600)
    (here / "link").symlink_to("target")
    assert babelscope(*command, "link").code == 0
    assert (here / "link").is_symlink()
    assert (here / "target").read_text() == right
    assert stat.S_IMODE((here / "target").stat().st_mode) == 0o600
    os.mkfifo(here / "pipe")
    reader = os.open(here / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert babelscope(*command, "pipe").code == 0
    assert os.read(reader, 1000).decode() == right
    os.close(reader)
    assert stat.S_ISFIFO((here / "pipe").stat().st_mode)
    ran = babelscope(*command, "/dev/full")
    assert (ran.code, ran.err) == (
        1,
        "babelscope: error: /dev/full cannot be written: No space left on device\n",
    )
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_an_earlier_report_is_not_replaced_unless_it_is_named(babelscope: Babelscope, here: Path) -> None:
    command = f"contrast --system {TOY} --tests pairs.jsonl --set detect_in_output=no --out run".split()
    assert babelscope(*command).code == 0
    assert babelscope("report", "run").code == 0
    earlier = here / "report.html"
    earlier.write_text("of another run")
    ran = babelscope("report", "run")
    assert (ran.code, ran.out, earlier.read_text()) == (2, "", "of another run")
    assert ran.err == (
        "babelscope: error: report.html exists; name another page with --to, or replace it with --to report.html\n"
    )
    assert babelscope("report", "run", "--to", "report.html").code == 0
    assert "<title>" in earlier.read_text()
