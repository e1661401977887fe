"""Odd command lines, a grid over all commands of the registry: no traceback, and no success with less than asked.

The grid is generated from the commands, so that new ones, of plug-ins too, are in it.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest
from typer.main import get_command

from babelscope.cli import app
from babelscope.methods.registry import find_method, method_names
from babelscope.testsets import MinimalPair
from tests.support.toy_fixtures import Babelscope, Ran

PAIR = {"id": "1", "source": "a", "correct": "ab", "contrastive": ["ba"], "phenomenon": "p"}
CUED: Mapping[str, Any] = {
    "id": "1",
    "source": "a",
    "correct_sources": ["b"],
    "incorrect_sources": ["c"],
    "category": "male",
    "gold": "male",
}
FILES: dict[str, bytes | str] = {
    "a.en": "a\nb\n",
    "a.de": "ab\nba\n",
    "one.txt": "ab\n",
    "picture.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "empty": "",
    "table.tsv": "system\tbleu\nx\t1\n",
    "study.toml": '[[systems]]\nspec = "toy:1"\n[[tests]]\nspec = "pairs.jsonl"\n[[methods]]\nname = "contrast"\n',
    "pairs.jsonl": json.dumps({**PAIR, "reference": "human"}) + "\n",
    "cued.jsonl": json.dumps(CUED) + "\n",
    "translated.jsonl": json.dumps({**CUED, "translation": "ab"}) + "\n",
    "sentences.jsonl": json.dumps({"id": "1", "source": "a", "reference": "ab"}) + "\n",
    "scores": "-1\t-2\n",
    "human.jsonl": "".join(
        json.dumps({"system": s, "id": i, "score": i}) + "\n" for s in "ab" for i in (1, 2)
    ),
    "words.json": '{"a": {"src_forms": ["a"], "tgt_forms_male": ["ab"], "tgt_forms_female": ["ba"]}}',
    "a.conllu": "".join(f"# text = {w}\n1\t{w}\t{w}\tNOUN\t_\t_\t0\troot\t_\t_\n\n" for w in "ab"),
    "links": "0-0\n0-0\n",
    "candidates.json": "{}",
}
KINDS = {"MinimalPair": "pairs.jsonl", "AmbiguousSource": "cued.jsonl", "ParallelSentence": "sentences.jsonl"}


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if hasattr(command, "commands"):
        for name in list(command.commands):
            yield from leaves(command.commands[name], (*path, name))
    else:
        yield path, command


LEAVES = dict(leaves(get_command(app)))
# Command -> its method.
JUDGING = {
    f"condition --judge {name[9:]}" if name.startswith("patterns") else name.replace("_", "-"): find_method(
        name
    )
    for name in method_names()
}
# Trains or starts something for minutes where nothing is wrong with its options.
_LONG = {("demo",), ("annotate",)}


def is_option(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "option") and parameter.name not in ("help", "version")


def repeats(path: tuple[str, ...]) -> Iterator[list[str]]:
    """The command with each option that takes one value given twice, once as --name=value."""
    for each in filter(is_option, LEAVES[path].params):
        if each.multiple or each.count:
            continue
        flag = max(each.opts, key=len)
        if each.secondary_opts:
            yield [*path, flag, each.secondary_opts[0]]
        elif not each.is_flag:
            yield [*path, flag, "1", f"{flag}=2"]


def wrong_files(path: tuple[str, ...]) -> Iterator[list[str]]:
    """The command with all that it must read being of a wrong kind."""
    required = [each for each in LEAVES[path].params if each.required or not is_option(each)]
    written = ("to", "out")
    if path in _LONG or all(each.name in written for each in required):
        return
    for wrong in ("missing", "folder", "picture.png", "empty"):
        line = list(path)
        for each in required:
            value = "folder/no/such/out" if each.name in written else wrong
            line += [max(each.opts, key=len), value] if is_option(each) else [value]
        yield line


def wrong_tests() -> Iterator[list[str]]:
    """Each judging command on test sets of other kinds than its own, and on files that are no test sets."""
    for command, method in JUDGING.items():
        taken = {kind.__name__ for kind in method.items}
        others = [name for own, name in KINDS.items() if own not in taken]
        for tests in (
            *others,
            "a.en",
            "study.toml",
            "picture.png",
            "empty",
            "folder",
            "missing",
            "lab:nothing",
        ):
            evaluator = ["--evaluator", "toy:1"] if command == "condition" else []
            target = ["--target", "de"] if command == "condition --judge winomt" else []
            yield [*command.split(), "--system", "toy:1", "--tests", tests, *evaluator, *target]


def with_rejudge() -> Iterator[list[str]]:
    """Each judging command with a finished run, and what would have an effect on systems only."""
    for command, method in JUDGING.items():
        pairs = ["--machine-references"] if method.items == (MinimalPair,) else []
        roles = [f"--{role}" for role in method.requires if role != "system"]
        for option in ("--tests x", "--system x", "--set prompt=x", "--set seed_group=x", "--no-cache"):
            yield [*command.split(), "--rejudge", "folder", *option.split()]
        for option in (*roles, *pairs):
            yield [*command.split(), "--rejudge", "folder", option, "x"]
        yield [*command.split(), "--rejudge", "folder", "--seed", "3"]


CONTRAST = "contrast --tests pairs.jsonl --set detect_in_output=no"
CONDITION = "condition --evaluator toy:2"
ALIGNED = "make challenge --source a.en --reference a.de --set alignments=links"
CUES = "make cues --tests cued.jsonl --evaluator toy:1 --candidates candidates.json"
# What is contradictory or without effect -> a part of what is said.
TOLD = {
    f"{CONTRAST} --system scores:scores --score total": "score has no effect on scores",
    f"{CONTRAST} --system scores:scores --beam 3": "the beam size has no effect on scores:scores",
    f"{CONTRAST} --system toy:1 --set without_variants=correct": "?empty=yes",
    f"{CONTRAST} --system toy:1 --table paper --json": "--table has no effect with --json",
    f"{CONTRAST} --system toy:1 --format latex --json": "--format is given 2 times",
    f"{CONTRAST} --system toy:1 --system toy:1": "two systems",
    f"{CONTRAST} --system toy:1 --set prompt=lines": "--set prompt only applies to",
    f"{CONTRAST} --system toy:1 --ties wrong": "--ties is a setting: --set ties=VALUE",
    f"{CONTRAST} --system toy:1 --set tied=wrong": "unknown setting 'tied'; did you mean ties?",
    f"{CONTRAST} --system toy:1 --set ties": "--set ties needs a value: --set ties=VALUE",
    f"{CONTRAST} --system toy:1 --set beam=3": "beam is not a setting but an option: --beam",
    f"{CONTRAST} --system toy:1 --set ties=half --set ties=wrong": "--set ties is given 2 times",
    f"{CONTRAST} --system toy:1 --set": "--set: unknown setting ''",
    "space --tests sentences.jsonl --system toy:1 --set curves=3": "--set curves is yes or no, not '3'",
    f"{CONDITION} --tests cued.jsonl --system toy:1 --judge winomt": "evaluator has no effect with --judge winomt",
    f"{CONDITION} --tests cued.jsonl --system toy:1 --target de": "target has no effect with --judge evaluator",
    f"{CONDITION} --tests translated.jsonl --system toy:1": "1 of 1 items have a translation",
    f"{CONDITION} --tests translated.jsonl --system file:one.txt": "1 of 1 items have a translation",
    f"{CONDITION} --tests translated.jsonl --system items:translations --set beam=3": "the beam size has no effect",
    f"{CONDITION} --tests cued.jsonl --system file:one.txt --set beam=3": "the beam size has no effect",
    f"{CONDITION} --tests cued.jsonl": "condition needs --system",
    "condition --tests cued.jsonl --system toy:1": "condition needs evaluator",
    "condition --tests cued.jsonl --system toy:1 --evaluator scores:scores": "that translates now",
    "challenge --tests sentences.jsonl --system file:one.txt --set beam=3": "the beam size has no effect",
    "challenge --tests sentences.jsonl --system toy:1 --set target_language=de": "without target_parser",
    "translate a.en --system file:a.de --beam 3": "the beam size has no effect",
    "translate a.en --system cmd:cat --beam 3": "the beam size has no effect",
    "translate a.en --system toy:1 --beam 2 --n 3": "has no 3 best",
    "translate a.en --system toy:1 --to a.en": "a.en",
    "score --system toy:1 a.en --target one.txt": "equally many",
    "compare --factors table.tsv --seed-group x": "--seed-group has no effect",
    "compare --factors table.tsv --summary": "--summary has no effect",
    "compare folder --json --format latex": "--format is given 2 times",
    "agreement human.jsonl --human human.jsonl --metric chrf --set field=score": "--set field has no effect",
    "agreement human.jsonl --task winomt --set field=score": "--set field has no effect",
    "agreement human.jsonl --human human.jsonl --task winomt": "--task has no effect",
    "agreement human.jsonl --metric chrf": "--metric has no effect",
    "annotate human.jsonl --overlap 3": "--overlap has no effect",
    "annotate human.jsonl --sample": "needs --queue FILE",
    "annotate human.jsonl --sample --queue out --port 3": "--port has no effect",
    "annotate cued.jsonl --sample --set translations=one.txt --tests x --queue out": "only apply to a run",
    "annotate human.jsonl --queue-size 3": "only applies to a run folder",
    "run study.toml --set workers=2": "workers only applies with --ray",
    "run study.toml other.toml": "run takes one study",
    "run study.toml --system toy:1": "--system has no effect",
    "run new.toml --init --ray": "--ray has no effect",
    "run --merge folder": "needs --out FOLDER",
    "run --merge folder --out out --shard 1/2": "--shard has no effect",
    "run study.toml --shard 1/2 --all": "--table has no effect",
    "run study.toml --shard 1/2 --report": "--report/--no-report has no effect",
    "make pairs --type x --language de --source a.en --reference a.de": "--language has no effect",
    "make pairs --type all --type nothing --source a.en --reference a.de": "nothing",
    "make pairs --type all --language xx --source a.en --reference a.de": "no error types",
    "make pairs --type all --set mode=nothing --source a.en --reference a.de": "has no mode",
    "make pairs --type all --source a.en --reference one.txt": "equally many",
    "make pairs --type all": "needs --type, --source and --reference",
    "make pairs --list-types --type all": "--type has no effect",
    "make pairs --type a --type b --audit 3 --source a.en --reference a.de": "exactly one --type",
    "make pairs --type a --audit 3 --all --source a.en --reference a.de": "--all has no effect",
    "make counts --source a.en --target a.de": "needs --lexicon",
    "make counts --lexicon tests.tsv --words words.json": "needs --lexicon",
    "make counts --words words.json --source a.en": "need --source and --target",
    "make counts --words words.json --source a.en --target a.de --lemmatize de": "--lemmatize has no effect",
    "make challenge --parses a.conllu --to out": "needs --source and --reference",
    "make challenge --parses a.conllu --set only_found=yes": "--set only_found has no effect",
    "make challenge --parses a.conllu --set max_tau=0.5": "--set max_tau has no effect",
    f"{ALIGNED} --set language=de": "--set language has no effect",
    f"{CUES} --model x": "either --model",
    f"{CUES} --protocol paper --set share=0.3": "no effect",
    "make machine-references --tests pairs.jsonl --system file:one.txt --to out --set beam=3": "has no effect on",
    "flow --source a.en --target a.de --words words.json --svg out": "needs --distilled",
    "flow --source a.en --target a.de --words words.json --student a.de": "0 --distilled",
}
OFFLINE = [
    "translate a.en --system hf:nobody/nothing",
    "translate a.en --system llm:nobody/nothing?source=English&target=German",
    "translate a.en --system http://127.0.0.1:9/translate",
    "translate a.en --system openai:http://127.0.0.1:9/v1#m?source=English&target=German",
    "score a.en --target a.de --system hf:nobody/nothing",
    "translate --decode sample a.en --system hf:nobody/nothing",
    f"{CONTRAST} --system hf:nobody/nothing",
    "condition --tests cued.jsonl --system toy:1 --evaluator hf:nobody/nothing",
    "likelihood --tests sentences.jsonl --system hf:nobody/nothing",
    "contrast --tests distil-lingeval/np_agreement --system toy:1",
    "data get distil-lingeval/np_agreement",
    "run --init --tests distil-lingeval/np_agreement new.toml",
]
GENERATED = {
    "repeated": [line for path in LEAVES for line in repeats(path)],
    "wrong files": [line for path in LEAVES for line in wrong_files(path)],
    "wrong tests": list(wrong_tests()),
    "rejudge": list(with_rejudge()),
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of many kinds, and no network."""

    def refuse(*_: Any) -> NoReturn:
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    monkeypatch.setenv("BABELSCOPE_DATA", str(tmp_path / "data"))
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "folder").mkdir()


def refused(ran: Ran, line: list[str]) -> str:
    """What was said, which must be a sentence and no success."""
    told = f"{' '.join(line)}: exit {ran.code}: {ran.err[-600:]}"
    assert ran.code in (1, 2), told
    assert "Traceback" not in ran.err, told
    assert ran.err.strip(), told
    return ran.err


def test_there_are_enough_and_every_command_is_in_the_grid() -> None:
    assert sum(map(len, GENERATED.values())) + len(TOLD) + len(OFFLINE) >= 200
    for path, command in LEAVES.items():
        if any(is_option(each) and not each.is_flag and not each.multiple for each in command.params):
            assert list(repeats(path)), path


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_an_option_that_takes_one_value_refuses_a_second(
    babelscope: Babelscope, path: tuple[str, ...]
) -> None:
    for line in repeats(path):
        assert "is given 2 times; it can be given once" in refused(babelscope(*line), line), line


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_wrong_kinds_of_file_are_refused(babelscope: Babelscope, path: tuple[str, ...]) -> None:
    if path == ("doctor",):
        pytest.skip("that a system cannot be opened is what `doctor` reports, on stdout")
    for line in wrong_files(path):
        refused(babelscope(*line), line)


@pytest.mark.parametrize("line", GENERATED["wrong tests"], ids=" ".join)
def test_wrong_kinds_of_test_set_are_refused(babelscope: Babelscope, line: list[str]) -> None:
    refused(babelscope(*line), line)


@pytest.mark.parametrize("line", GENERATED["rejudge"], ids=" ".join)
def test_options_without_effect_on_a_finished_run_are_refused(
    babelscope: Babelscope, line: list[str]
) -> None:
    assert "leave" in refused(babelscope(*line), line)


@pytest.mark.parametrize("line", TOLD)
def test_contradictions_are_told(babelscope: Babelscope, line: str) -> None:
    if line.startswith("make pairs --type all"):
        pytest.importorskip("HanTa")
    words = line.split(" ")
    assert TOLD[line] in refused(babelscope(*words), words)


@pytest.mark.parametrize("line", OFFLINE)
def test_without_a_network_a_sentence_says_so(babelscope: Babelscope, line: str) -> None:
    words = line.split(" ")
    err = refused(babelscope(*words), words)
    assert err.rstrip("\n").split("\n")[-1].startswith("babelscope: error: "), err


def test_what_is_asked_for_is_done(babelscope: Babelscope) -> None:
    asked = ["condition", "--tests", "translated.jsonl", "--evaluator", "toy:2", "--json"]
    assert babelscope(*asked, "--system", "items:translations").code == 0
    assert babelscope(*asked, "--system", "toy:1", "--translations", "system", "--set", "beam=3").code == 0
    assert babelscope(*asked, "--system", "toy:1", "--translations", "given").code == 0
    assert babelscope("translate --system file:a.de a.en --json --json").code == 0
