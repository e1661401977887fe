"""Every command that splits words, on Chinese, Japanese and Thai: the right tokenizer, and the wrong one refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sacrebleu

from babelscope.core.tokenizers import find_tokenizer
from babelscope.metrics.ribes import sentence_ribes
from tests.support.toy_fixtures import Babelscope, read_rows
from tests.support.unspaced import (
    BY_LANGUAGE,
    CHINESE,
    THAI,
    Lines,
    outputs,
    references,
    train_pieces,
    write_lines,
    write_tests,
)

CASES = [("zh", "zh"), ("ja", "char"), ("th", "char"), ("th", "spm:pieces.model")]
FEW = ("--set", "matched_corpora=5", "--set", "length_sizes=3", "--set", "length_corpora=4")
REFUSED = "without spaces between words"


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    for code, lines in BY_LANGUAGE.items():
        write_lines(tmp_path / f"source.{code}", [english for english, _, _ in lines])
        write_lines(tmp_path / f"reference.{code}", references(lines))
        write_lines(tmp_path / f"said.{code}", outputs(lines))
        write_tests(tmp_path / f"plain.{code}.jsonl", lines)
        write_tests(tmp_path / f"stated.{code}.jsonl", lines, language=code)
        rows = [
            f"{number} ||| {text} ||| {-1.0 - place}"
            for number, line in enumerate(lines)
            for place, text in enumerate((line[2], line[1], line[2][:-4]))
        ]
        write_lines(tmp_path / f"list.{code}", rows)
    train_pieces(tmp_path / "pieces.model", [*references(THAI), *outputs(THAI)])
    write_lines(tmp_path / "said.en", [english for english, _, _ in CHINESE])


def value(rows: Sequence[dict[str, Any]], name: str, **labels: str) -> float:
    (found,) = [row["value"] for row in rows if row["name"] == name and labels.items() <= row.items()]
    return float(found)


def words(lines: Lines, tokenizer: str) -> list[tuple[list[str], list[str]]]:
    split = find_tokenizer(tokenizer).split
    return [(split(said), split(right)) for _, right, said in lines]


def bleu(lines: Lines, tokenizer: str) -> float:
    """sacreBLEU's, on words that are split before where the tokenizer is not one of sacreBLEU's."""
    if not tokenizer.startswith("spm:"):
        return sacrebleu.corpus_bleu(outputs(lines), [references(lines)], tokenize=tokenizer).score
    split = [[" ".join(each) for each in pair] for pair in words(lines, tokenizer)]
    said, right = ([pair[n] for pair in split] for n in (0, 1))
    return sacrebleu.corpus_bleu(said, [right], tokenize="none", force=True).score


def chrf(lines: Lines) -> float:
    return sacrebleu.corpus_chrf(outputs(lines), [references(lines)]).score


@pytest.mark.parametrize(("code", "tokenizer"), CASES)
def test_quality(babelscope: Babelscope, code: str, tokenizer: str) -> None:
    asked = ("quality", "--system", f"file:said.{code}", "--tests", f"plain.{code}.jsonl", "--json")
    metrics = ("--metric", "bleu", "--metric", "chrf", "--metric", "ribes", "--metric", "ter")
    rows = babelscope(*asked, *metrics, "--tokenize", tokenizer).rows
    lines = BY_LANGUAGE[code]
    assert value(rows, "bleu") == pytest.approx(bleu(lines, tokenizer), abs=1e-9)
    assert value(rows, "chrf") == pytest.approx(chrf(lines), abs=1e-9)
    ribes = [sentence_ribes(said, [right]) for said, right in words(lines, tokenizer)]
    assert value(rows, "ribes") == pytest.approx(sum(ribes) / len(ribes), abs=1e-9)
    assert 0 < value(rows, "ter") < 100
    shown = "" if tokenizer.startswith("spm") else f"{tokenizer}|"  # a model by its digest
    assert f"|tokenize:{shown}" in rows[0]["signature"]


@pytest.mark.parametrize("code", ["zh", "ja", "th"])
@pytest.mark.parametrize("command", ["quality", "challenge", "space"])
def test_the_items_language_chooses(babelscope: Babelscope, command: str, code: str) -> None:
    if code == "ja":
        pytest.importorskip("ipadic", reason="needs pip install '.[japanese]'")
    tests = ("--tests", f"stated.{code}.jsonl", "--json")
    asked = {
        "quality": ("--system", f"file:said.{code}", "--metric", "bleu"),
        "challenge": ("--system", f"file:said.{code}", *FEW),
        "space": ("--system", f"lists:?beam=list.{code}", "--k", "3", "--samples", "0"),
    }[command]
    rows = [row for row in babelscope(command, *asked, *tests).rows if row["name"] == "bleu"]
    tokenizer = {"zh": "zh", "ja": "ja-mecab", "th": "char"}[code]
    assert rows[0]["value"] == pytest.approx(bleu(BY_LANGUAGE[code], tokenizer), abs=1e-9)
    shown = (
        "" if code == "ja" else f"{tokenizer}|"
    )  # a dictionary by its version, which is too long to be shown
    assert f"|tokenize:{shown}" in rows[0]["signature"]


def test_a_model_that_a_run_names_is_not_opened_to_judge_it_again(babelscope: Babelscope) -> None:
    asked = ("quality", "--system", "file:said.th", "--tests", "plain.th.jsonl", "--metric", "bleu")
    assert babelscope(*asked, "--tokenize", "spm:pieces.model", "--out", "run").code == 0
    refused = babelscope("quality --rejudge run")
    assert (refused.code, refused.out) == (2, "")
    assert "because only a run folder names it" in refused.err
    assert babelscope("quality --rejudge run --metric chrf").code == 0  # for which nothing is split
    again = babelscope("quality --rejudge run --tokenize spm:pieces.model --json")
    assert value(again.rows, "bleu") == pytest.approx(bleu(THAI, "spm:pieces.model"), abs=1e-9)


@pytest.mark.parametrize(("code", "tokenizer"), CASES)
def test_make_challenge(babelscope: Babelscope, tmp_path: Path, code: str, tokenizer: str) -> None:
    pytest.importorskip("thot", reason="needs sil-thot (the extra align)")
    asked = ("make", "challenge", "--source", f"source.{code}", "--reference", f"reference.{code}")
    ran = babelscope(
        *asked, "--tokenize", tokenizer, "--target-language", code, "--to", "set.jsonl", "--json"
    )
    assert all(row["tokenize"] == find_tokenizer(tokenizer).signed for row in ran.rows)
    items = read_rows(tmp_path / "set.jsonl")
    for item, (_, right) in zip(items, words(BY_LANGUAGE[code], tokenizer), strict=True):
        assert item["words"] == [
            len(item["source"].replace(".", " .").replace(",", " ,").split()),
            len(right),
        ]
        assert item["target_language"] == code
        positions = [(each["head"], each["dependent"]) for each in item["dependencies"]]
        assert all(head <= item["words"][0] and other <= item["words"][1] for head, other in positions)
        for each in item["dependencies"]:
            assert each["dependent_form"].lower() == right[each["dependent"] - 1].lower()


def test_make_challenge_and_challenge_go_together(babelscope: Babelscope) -> None:
    pytest.importorskip("thot", reason="needs sil-thot (the extra align)")
    made = ("make challenge --source source.zh --reference reference.zh --to set.jsonl",)
    assert babelscope(*made, "--source-language", "en", "--target-language", "zh").code == 0
    rows = babelscope("challenge --system file:said.zh --tests set.jsonl", *FEW, "--json").rows
    assert value(rows, "bleu", phenomenon="all") == pytest.approx(bleu(CHINESE, "zh"), abs=1e-9)


def test_utilities_split_words_by_the_tokenizer(babelscope: Babelscope) -> None:
    asked = ("translate --decode mbr source.zh --n 6 --system", "toy:1?alphabet=他在城书")
    refused = babelscope(*asked, "--metric", "bleu")
    assert refused.code == 2
    assert REFUSED in refused.err
    assert "zh" in refused.err
    by_tokenizer = [
        babelscope(*asked, "--metric", "bleu", "--set", f"tokenize={each}").out for each in ("zh", "char")
    ]
    assert by_tokenizer[0] == by_tokenizer[1]  # of Han alone both make characters
    assert by_tokenizer[0].strip()
    assert babelscope(*asked, "--metric", "chrf").code == 0


def test_mbr_takes_the_language_of_a_test_set(babelscope: Babelscope) -> None:
    asked = ("translate --decode mbr --system", "file:said.zh", "--metric", "bleu", "--json", "--tests")
    stated, named = (
        babelscope(*asked, *more)
        for more in (("stated.zh.jsonl",), ("plain.zh.jsonl", "--set", "tokenize=zh"))
    )
    for ran in (stated, named):
        assert value(ran.rows[-1:], "expected_utility") == pytest.approx(100)
    assert stated.rows[-1]["signature"].split("|tests")[0] == named.rows[-1]["signature"].split("|tests")[0]


WRONG = [("zh", ""), ("ja", "zh"), ("th", "13a"), ("th", "zh"), ("ja", "intl"), ("zh", "whitespace")]


@pytest.mark.parametrize(("code", "tokenizer"), WRONG)
@pytest.mark.parametrize("command", ["quality", "challenge", "space", "make challenge"])
def test_the_wrong_tokenizer_is_refused_before_anything_is_asked(
    babelscope: Babelscope, tmp_path: Path, command: str, code: str, tokenizer: str
) -> None:
    tests = f"--system toy:1?log=asked --tests plain.{code}.jsonl"
    asked = {
        "quality": f"{tests} --metric bleu",
        "challenge": f"{tests} --metric chrf",
        "space": f"{tests} --k 0",
        "make challenge": f"--source source.{code} --reference reference.{code} --to set.jsonl",
    }[command]
    ran = babelscope(f"{command} {asked}", *(("--tokenize", tokenizer) if tokenizer else ()))
    assert (ran.code, ran.out) == (2, "")
    assert REFUSED in ran.err
    assert ran.err.strip().count("\n") == 0  # one sentence
    assert not (tmp_path / "asked").exists()
    assert not (tmp_path / "set.jsonl").exists()


def test_what_splits_at_spaces_only_refuses_such_texts(babelscope: Babelscope, tmp_path: Path) -> None:
    write_lines(tmp_path / "senses.tsv", ["town\t城"])
    query = {"town": {"src_forms": ["town"], "tgt_forms_male": ["城"], "tgt_forms_female": ["书"]}}
    write_lines(tmp_path / "words.json", [json.dumps(query)])
    write_lines(tmp_path / "many.en", [f"{english} {n}" for n in range(40) for english, _, _ in CHINESE])
    write_lines(tmp_path / "many.zh", [f"{right}{n}" for n in range(40) for _, right, _ in CHINESE])
    for asked in (
        "make counts --source source.zh --target reference.zh --lexicon senses.tsv",
        "flow --source source.zh --target reference.zh --words words.json",
        "lab locality --source many.en --target many.zh --set length=9 --set quick=yes --out o",
    ):
        ran = babelscope(asked)
        assert (ran.code, ran.out) == (2, ""), ran.err
        assert REFUSED in ran.err, asked


def test_an_unknown_tokenizer_is_told_by_every_command(babelscope: Babelscope) -> None:
    for asked in (
        "quality --system file:said.zh --tests plain.zh.jsonl",
        "challenge --system file:said.zh --tests plain.zh.jsonl",
        "space --system toy:1 --tests plain.zh.jsonl",
        "make challenge --source source.zh --reference reference.zh",
        "translate --decode mbr --system toy:1 source.zh --metric bleu",
        "translate --system toy:1 source.zh --decode mbr --metric bleu",
        "agreement plain.zh.jsonl --human plain.zh.jsonl --metric bleu",
    ):
        is_setting = asked.startswith(("translate", "agreement"))
        ran = babelscope(f"{asked} {'--set tokenize=' if is_setting else '--tokenize '}chars")
        assert (ran.code, ran.out) == (2, "")
        assert "there is no tokenizer 'chars'; did you mean char?" in ran.err
