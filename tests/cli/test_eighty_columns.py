"""What every command prints for people fits a terminal of 80 columns, and judging ends in a summary."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from babelscope.cli.commands import COMMANDS, built
from tests.support.toy_fixtures import Babelscope

WIDTH = 80
ONE_LINE = ("babelscope: error: ", "babelscope: warning: ")
PAIR = {
    "source": "He does not come.",
    "correct": "Er kommt nicht.",
    "contrastive": "Er kommt.",
    "phenomenon": "polarity_particle_nicht_del",
    "reference": "human",
}
CONLLU = """\
1\tEr\ter\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tgibt\tgeben\tVERB\t_\t_\t0\troot\t_\t_
3\tnie\tnie\tADV\t_\t_\t2\tadvmod\t_\t_
4\tauf\tauf\tADP\t_\t_\t2\tcompound:prt\t_\t_

"""


def lines_of(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def annotated(item: int, label: str) -> dict[str, Any]:
    gold = {"Gold Gender": "male", "Source Sentence": "The cook slept because he was tired."}
    return {"label": [label], "Sample ID": str(item), "Index": str(item), **gold}


SCORES = [{"system": system, "id": item, "score": item * 0.2} for system in "ab" for item in (1, 2, 3)]
FILES = {
    "a.en": "He does not come.\nShe sings.\n",
    "a.de": "Er kommt nicht.\nSie singt.\n",
    "pairs.jsonl": lines_of(*({"id": str(number), **PAIR} for number in range(3))),
    "a.conllu": CONLLU,
    "parsed.de": "Er gibt nie auf\n",
    "parsed.en": "He never gives up\n",
    "doctors.en": "The doctor sleeps.\n",
    "doctors.de": "Der Arzt schläft.\n",
    "lexicon.tsv": "come\tkommt\ncome\tgeht\n",
    "wino.tsv": "male\t1\tThe cook slept because he was tired.\tcook\tpro\n",
    "wino.de": "Der Koch schlief, weil er müde war.\n",
    "mucow.text.txt": "My pen.\nA pig in its pen.\n",
    "mucow.key.tsv": "1\tted\tpen\tstift\tgehege\n2\tted\tpen\tgehege\tstift\n",
    "terms.tsv": "source\trequire\nHe does not come.\tnicht\nShe sings.\tsingt\n",
    "mucow.de": "Meine Stifte.\nEin Schwein mit Stift.\n",
    "candidates.json": json.dumps({
        "bank": {"bank/frequent": ["private", "modern", "rich"], "bank/rare": ["muddy", "sandy", "steep"]}
    }),
    "scores.jsonl": lines_of(*SCORES),
    "one.jsonl": lines_of(*(annotated(item, "Male") for item in (0, 1))),
    "two.jsonl": lines_of(annotated(0, "Male"), annotated(1, "Female")),
    "study.toml": '[[systems]]\nspec = "lab:teacher"\n[[systems]]\nspec = "lab:student"\n'
    '[[tests]]\nspec = "lab:pairs?n=4&seed=3"\n[[methods]]\nname = "contrast"\n',
}  # fmt: skip
# A letter says what is on stdout: t text for people, d data (stderr is for people); h: only the help is looked at,
# since the command needs a browser, a network or hours.
CASES = """
d translate --system lab:teacher a.en
d translate --decode sample --system lab:teacher a.en --n 2
d translate --decode mbr --system lab:teacher a.en --n 2
d translate --decode exact --system lab:teacher --system lab:student a.en --n 2 --budget-expansions 50
d translate --decode exact --system lab:teacher a.en --set length=1..20 --set length_penalty=1 --budget-expansions 5
d score --system lab:teacher a.en --target a.de
t contrast --system lab:teacher --system lab:student --tests lab:pairs?n=3&seed=1 --out contrast-run
t contrast --system lab:teacher --system lab:student --tests lab:pairs?n=3&seed=1 --all
t errors --system lab:teacher --tests lab:pairs?n=3&seed=1
t contrast --rejudge contrast-run --set ties=wrong
t likelihood --system lab:student --tests lab:parallel?n=10&seed=1 --group-by length
t quality --system lab:student --system lab:teacher --tests lab:parallel?n=10&seed=1
t condition --tests lab:gender?n=6&seed=1 --system lab:student --evaluator lab:teacher --set least_certain=2 --all
t condition --tests lab:senses?n=40&seed=1 --system lab:student --evaluator lab:teacher
t rules --system lab:student --tests rules:terms.tsv
t prompted-choice --system lab:llm --tests lab:pairs?n=1&seed=1
t space --system lab:student --tests lab:parallel?n=3&seed=1 --k 2 --samples 2 --set mbr_samples=2 --cases 1 --all
t space --system lab:student --tests lab:parallel?n=3&seed=1 --k 2 --samples 2 --set mbr_samples=2
t challenge --tests lab:challenge?n=30&seed=1 --system lab:student --set matched_corpora=2 --all
t challenge --tests lab:challenge?n=60 --system lab:student --set matched_corpora=10 --min-sentences 10
t condition --judge winomt --tests winomt:wino.tsv?neutral=yes --system file:wino.de?format=auto --target de
t condition --judge winomt --tests winomt:wino.tsv?neutral=yes --system file:wino.de?format=auto --target de --all
t condition --judge mucow --tests mucow:mucow?all=yes --system file:mucow.de?format=auto --lemmatize de
t flow --source doctors.en --target doctors.de --words lab:occupations
t run study.toml --out whole
t run study.toml --out whole --all
t run study.toml --out shard-1 --shard 1/2
t run study.toml --out shard-2 --shard 2/2
t run --merge shard-1 shard-2 --out merged
t compare whole
t report whole -o page.html
t check cmd:cat --text a.en --source-language en --target-language de
t gate old=file:a.de new=file:a.de --source a.en --source-language en --target-language de --margin 99%
t plan --margin 2%
t demo --n 10 --out demo-run
t run --init --system lab:student --tests pairs.jsonl --method contrast init.toml
t systems
t doctor lab:student
h annotate
t annotate --sample winomt:wino.tsv --set translations=wino.de --queue queue.jsonl
t agreement one.jsonl two.jsonl --task winomt
t agreement scores.jsonl --human scores.jsonl
t data list
t data show distil-lingeval/clause_omission.mt
h data echo
h data publish
t judged --system lab:student --judge lab:llm --tests lab:parallel?n=4&seed=1 --error omission
h data get
t data get chrf
t make cues --tests lab:senses?n=60 --evaluator lab:teacher --candidates candidates.json --to cued.jsonl
t make challenge --parses a.conllu --source parsed.de --reference parsed.en --to made.jsonl
t make machine-references --tests pairs.jsonl --system lab:teacher --to machine.jsonl --set score_with=lab:student
t make counts --source a.en --target a.de --lexicon lexicon.tsv
t make counts --source doctors.en --target doctors.de --words lab:occupations
t make pairs --list-types
t make pairs --type np_agreement --source a.en --reference a.de --to np.jsonl
d make pairs --audit 2 --type polarity_particle_nicht_del --source a.en --reference a.de
t lab evaluate --evaluator lab:teacher --system lab:student --n 24 --tests senses-other
h lab locality
t lab corpus --n 200 --out corpus --stats
t lab prepare --source corpus/corpus.en --target corpus/corpus.de --languages en-de --out prepared
t lab train --source corpus/corpus.en --target corpus/corpus.de --out trained --shape tiny --steps 2 --vocabulary 300
t lab prepare --source corpus/corpus.en --target corpus/corpus.de --forward trained --set beam=1 --out augmented
t lab evaluate --system lab:student --n 10
""".strip().split("\n")


def leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """A command, or those of a group, by what is typed."""
    if hasattr(command, "commands"):
        for each, own in command.commands.items():
            yield from leaves(own, f"{name} {each}")
    else:
        yield name, command


def all_commands() -> dict[str, Any]:
    return dict(leaf for name in COMMANDS.names() for leaf in leaves(built(COMMANDS.find(name)), name))


def is_judging(command: Any) -> bool:
    """Whether it prints a result: made of a description, or runs a study."""
    names = {parameter.name for parameter in command.params}
    return bool({"rejudge", "every"} & names) or {"table", "report"} <= names


def faults(text: str) -> list[str]:
    """Lines that a terminal of 80 columns would fold, or that end in the middle of something.

    A word that cannot be broken, such as an address, may stand alone on a line; an error is always one line.
    """
    lines = [line for line in text.split("\n") if not line.startswith(ONE_LINE)]
    too_long = [line for line in lines if cell_len(line) > WIDTH and len(line.split()) > 1]
    return [*too_long, *(line for line in lines if line.endswith("…"))]


def case_of(words: list[str], commands: dict[str, Any]) -> str:
    return next(name for name in (" ".join(words[:2]), words[0]) if name in commands)


def test_every_command_has_a_case() -> None:
    commands = all_commands()
    assert {case_of(case.split()[1:], commands) for case in CASES} == set(commands)
    judging = {name for name, command in commands.items() if is_judging(command)}
    assert judging >= {"contrast", "condition", "run", "demo"}
    shown = {case_of(case.split()[1:], commands) for case in CASES if case.startswith("t ")}
    assert judging <= shown, "judging commands are run, not only asked for help"


@pytest.mark.parametrize("name", all_commands())
def test_help_fits(babelscope: Babelscope, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    assert not faults(babelscope(*name.split(), "--help").out)


@pytest.mark.slow
def test_what_is_printed_for_people_fits(
    babelscope: Babelscope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    commands = all_commands()
    wrong: dict[str, Any] = {}
    for case in CASES:
        form, *words = case.split()
        if form == "h":
            continue
        ran = babelscope(*words)
        found: list[Any] = faults(ran.err if form == "d" else ran.out + ran.err)
        if ran.code:
            found.append((ran.code, ran.err))
        if is_judging(commands[case_of(words, commands)]) and not {"--shard", "--init"} & {*words}:
            # The demo says what to look at in the place of a summary.
            is_demo = words[0] == "demo"
            found += (
                unsummarized(ran.out, everything="--all" in words) if not is_demo else not_looked_at(ran.out)
            )
        if found:
            wrong[" ".join(words)] = found
    assert not wrong, "\n".join(f"{case}\n{chr(10).join(map(str, found))}" for case, found in wrong.items())


def not_looked_at(text: str) -> list[str]:
    """What is missing of what the demo says."""
    found = [
        each for each in (" judged\n", "What to look at", "\n4. ", "\nsignature: seed:") if each not in text
    ]
    return [*found, *([] if text.count("\n") <= 64 else [f"{text.count(chr(10))} lines"])]


def unsummarized(text: str, *, everything: bool) -> list[str]:
    """What is missing of a summary."""
    found = [each for each in ("95 % interval", "\nsignature: seed:", " (whole: ") if each not in text]
    if not everything:
        summary = text[text.rindex(" judged") :] if " judged\n" in text else ""
        found += [] if summary else ["what was judged"]
        found += [] if "──" in summary else ["a table"]
        tables = summary.partition("\nWarnings:\n")[0]
        found += [] if tables.count("\n") <= 40 else [f"{tables.count(chr(10))} lines"]
    return found
