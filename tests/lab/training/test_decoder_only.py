"""Decoder-only translators: what they learn is what `llm:` asks of them, to the token."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import babelscope as bs
from babelscope.lab.training.decoder_only import END, PromptPieces, Prompts
from babelscope.lab.training.settings import TrainingSettings, settings_for
from babelscope.lab.training.text import Pieces, train_pieces
from babelscope.lab.training.train import train
from babelscope.report.summary import summarize
from babelscope.systems.prompting.prompts import shipped_names
from babelscope.systems.registry import open_system
from babelscope.util.errors import BabelscopeError
from tests.lab.training.test_training import PAIRS, write_pairs
from tests.support.toy_fixtures import Babelscope


def recipe(**given: Any) -> TrainingSettings:
    usual = {"vocabulary": 90, "label_smoothing": 0.0, "dev_every": 100, "languages": "English-German"}
    return settings_for("tiny", architecture="llama", **{**usual, **given})


@pytest.fixture(scope="module")
def memorized(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("llama")
    files = write_pairs(folder)
    made = recipe(steps=400, width=24, decoder_layers=2, half=False, learning_rate=6e-3)
    return folder / "model", train(*files, folder / "model", made, dev=files, threads=1, quiet=True)


def test_it_is_opened_as_a_language_model_and_knows_its_text(memorized: tuple[Path, dict[str, Any]]) -> None:
    folder, card = memorized
    assert card["dev_loss"] < 0.1
    sources, targets = zip(*PAIRS[::9], strict=True)
    system = open_system(f"llm:{folder}?source=English&target=German")
    answers = [group[0] for group in system.translate(sources, beam=2)]
    right = sum(answer.text == target for answer, target in zip(answers, targets, strict=True))
    assert right >= 0.9 * len(targets)
    assert not any(answer.notes for answer in answers)
    assert all(answer.tokens[-1] == END for answer in answers)


@pytest.mark.parametrize(
    "spec", ["llm:{}?source=English&target=German", "lab:{}", "lab:{}?forward=transformers"]
)
def test_the_loss_is_that_of_its_answers_alone(memorized: tuple[Path, dict[str, Any]], spec: str) -> None:
    """The development loss of training is the mean over the tokens that the system scores: target and end."""
    folder, card = memorized
    scored = open_system(spec.format(folder)).score(PAIRS)
    tokens = [value for each in scored for value in each.logprobs]
    assert -math.fsum(tokens) / len(tokens) == pytest.approx(card["dev_loss"], abs=1e-4)


def test_the_card_says_how_to_open_it(memorized: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = memorized
    assert "llm:FOLDER?source=English&target=German" in (folder / "README.md").read_text(encoding="utf-8")
    (folder / "card.json").rename(folder / "kept.json")
    try:
        with pytest.raises(BabelscopeError, match="does not say the languages"):
            open_system(f"lab:{folder}")
    finally:
        (folder / "kept.json").rename(folder / "card.json")


def test_pieces_are_those_of_sentencepiece(tmp_path: Path) -> None:
    texts = [text for pair in PAIRS for text in pair]
    plain = train_pieces(iter(texts), 90)
    prompts = PromptPieces(plain.proto, Prompts("English-German"))
    for text in [*texts, "Die  Katze \u00fcber\tx.", "ﬁne"]:
        assert prompts.ids([text]) == [row[:-1] for row in plain.encode([text])], text
    assert prompts.target_side.encode(["Die Kuh."]) == [[*plain.encode(["Die Kuh."])[0][:-1], prompts.end]]
    assert prompts.size == Pieces(plain.proto).size
    assert prompts.pad == prompts.size
    (row,) = prompts.encode(["the cat."])
    assert row.count(prompts.end) == 1
    prompts.save(tmp_path)
    from transformers import AutoTokenizer

    opened = AutoTokenizer.from_pretrained(str(tmp_path))
    assert opened("English: the cat.\nGerman:")["input_ids"] == row


def test_what_cannot_be_trained_is_refused(tmp_path: Path, babelscope: Babelscope) -> None:
    files = write_pairs(tmp_path)
    for given, message in (
        ({"vocabularies": "separate"}, "joint vocabulary of its own"),
        ({"norm": "pre"}, "leave norm, positions"),
        ({"width": 18, "heads": 6}, "heads have an even width"),
    ):
        with pytest.raises(BabelscopeError, match=message):
            recipe(**given)
    with pytest.raises(BabelscopeError, match="languages=English-German"):
        train(*files, tmp_path / "out", recipe(languages=""), threads=1, quiet=True)
    words = f"lab train --source {files[0]} --target {files[1]} --out no --set architecture=gpt --shape tiny"
    ran = babelscope(*words.split())
    assert ran.code == 2
    assert "architecture is 'gpt'" in ran.err


LANGUAGES = "English-German"
SEVERAL = "question,instruction,lines"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("prompts")
    files = write_pairs(folder)
    made = recipe(vocabulary=150, prompts=SEVERAL, steps=30, half=False)
    return folder / "model", train(*files, folder / "model", made, dev=files, threads=1, quiet=True)


def test_each_source_has_one_prompt_and_all_are_asked_about_equally_often() -> None:
    prompts = Prompts(LANGUAGES, SEVERAL)
    sources = [f"sentence {number}." for number in range(3000)]
    asked = [prompts.text(source) for source in sources]
    assert asked == [Prompts(LANGUAGES, SEVERAL).text(source) for source in sources]
    first = Counter(text.split()[0] for text in asked)
    assert set(first) == {"How", "Translate", "English:"}
    assert min(first.values()) > 900  # 1,000 expected, standard deviation 26
    assert not any("{" in text for text in asked)


def test_without_a_word_of_prompts_it_is_the_prompt_that_llm_asks() -> None:
    assert Prompts(LANGUAGES).text("A {text} dog.") == "English: A {text} dog.\nGerman:"


def test_the_loss_is_that_of_each_source_under_its_prompt(trained: tuple[Path, dict[str, Any]]) -> None:
    """Systems under the three prompts, each asked about its own sources alone, have the development loss together."""
    folder, card = trained
    prompts = Prompts(LANGUAGES, SEVERAL)
    logprobs: list[float] = []
    for name in SEVERAL.split(","):
        alone = Prompts(LANGUAGES, name)
        own = [pair for pair in PAIRS if prompts.text(pair[0]) == alone.text(pair[0])]
        assert own
        scored = open_system(f"llm:{folder}?source=English&target=German&prompt={name}").score(own)
        logprobs += [value for each in scored for value in each.logprobs]
    assert -math.fsum(logprobs) / len(logprobs) == pytest.approx(card["dev_loss"], abs=1e-4)


def test_the_lab_asks_it_by_its_first_prompt(trained: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = trained
    pair = [PAIRS[0]]
    (own,) = open_system(f"lab:{folder}").score(pair)
    (first,) = open_system(f"llm:{folder}?source=English&target=German&prompt=question").score(pair)
    (other,) = open_system(f"lab:{folder}?prompt=lines").score(pair)
    assert own == first
    assert own.logprobs != other.logprobs
    assert "source=English&target=German&prompt=question" in (folder / "README.md").read_text()


def test_no_file_that_a_card_names_is_opened(trained: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    folder = shutil.copytree(trained[0], tmp_path / "stranger")
    card = json.loads((folder / "card.json").read_text())
    card["configuration"]["settings"]["prompts"] = f"question,{tmp_path / 'secret.toml'}"
    (folder / "card.json").write_text(json.dumps(card))
    with pytest.raises(BabelscopeError, match=r"trained with a prompt of a file, .*; say \?prompt=FILE"):
        open_system(f"lab:{folder}")
    assert open_system(f"lab:{folder}?prompt=question").score([PAIRS[0]])


def test_the_card_has_the_prompts_themselves_and_the_command(trained: tuple[Path, dict[str, Any]]) -> None:
    _, card = trained
    told = card["configuration"]["prompts"]
    assert [each["name"] for each in told] == SEVERAL.split(",")
    assert all("{text}" in each["template"] and each["digest"] for each in told)
    assert f"prompts={SEVERAL}" in card["command"]


def test_the_vocabulary_has_the_words_of_the_prompts(trained: tuple[Path, dict[str, Any]]) -> None:
    """In that of the text alone a prompt has characters that are unknown, and words in pieces of a letter."""
    folder, _ = trained
    known = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    pieces = {piece for piece, _ in known}
    assert {"?", '"'} <= {character for piece in pieces for character in piece}
    alone = PromptPieces(
        train_pieces(iter([text for pair in PAIRS for text in pair]), 150).proto,
        Prompts(LANGUAGES, "question"),
    )
    system: Any = open_system(f"llm:{folder}?source=English&target=German&prompt=question")
    (ids,) = system._prompts([PAIRS[0][0]])
    assert len(ids) < len(alone.encode([PAIRS[0][0]])[0])


def test_a_changed_prompt_is_another_model(tmp_path: Path) -> None:
    files = write_pairs(tmp_path)
    own = tmp_path / "own.toml"
    own.write_text('template = "{text} ="\n')
    made = recipe(prompts=str(own), steps=2)
    train(*files, tmp_path / "model", made, threads=1, quiet=True)
    own.write_text('template = "{text} ->"\n')
    with pytest.raises(BabelscopeError, match="another configuration"):
        train(*files, tmp_path / "model", made, threads=1, quiet=True)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("lines,question,lines", "names a prompt twice"),
        ("lines,sonnet", "known: instruction, lines, question"),
        ("chat.toml", "for a chat"),
    ],
)
def test_prompts_that_cannot_be_learned_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chat.toml").write_text('kind = "chat"\ntemplate = "{text}"\n')
    with pytest.raises(BabelscopeError, match=message):
        Prompts(LANGUAGES, said)


def test_an_encoder_has_no_prompt() -> None:
    with pytest.raises(BabelscopeError, match="for --set architecture=llama"):
        settings_for("tiny", prompts="lines")


SOURCE = "The dog sees the cat."


def notes_of(system: Any) -> set[str]:
    """The notes on a score, a translation, a sample and a hypothesis, all of which have `other_prompt` or none."""
    answers = [
        system.score([(SOURCE, "Der Hund.")])[0],
        system.translate([SOURCE], beam=1)[0][0],
        system.sample([SOURCE], n=1, seed=1)[0][0],
    ]
    found = {"other_prompt" in each.notes for each in answers}
    assert len(found) == 1
    return {"other_prompt"} if found == {True} else set()


@pytest.mark.parametrize("prompt", [*shipped_names(), "{text}"])
def test_each_shipped_prompt(prompt: str) -> None:
    system = bs.open_system(f"lab:llm?prompt={prompt}")
    assert notes_of(system) == (set() if prompt == "lines" else {"other_prompt"})


def test_its_own_prompt_in_a_file_is_its_own(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('name = "mine"\ntemplate = "{source}: {text}\\n{target}:"\n', encoding="utf-8")
    own = bs.open_system(f"lab:llm?prompt={path}")
    assert notes_of(own) == set()
    assert "noted" not in own.fingerprint.settings
    assert own.fingerprint.model == bs.open_system("lab:llm").fingerprint.model


def test_examples_and_another_language_are_another_prompt(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("A dog.\tEin Hund.\n", encoding="utf-8")
    path = tmp_path / "shots.toml"
    path.write_text('template = "{source}: {text}\\n{target}:"\nexamples = "pairs.tsv"\n', encoding="utf-8")
    assert notes_of(bs.open_system(f"lab:llm?prompt={path}")) == {"other_prompt"}
    assert notes_of(bs.open_system("lab:llm?target=French")) == {"other_prompt"}
    scored = bs.open_system("lab:llm?prompt=none").score([("", "Der Hund.")])[0]
    assert "other_prompt" in scored.notes


def test_a_summary_says_it_first() -> None:
    pairs = bs.load("lab:pairs?n=1")
    how: dict[str, Any] = {"detect_in_output": "no", "spread": 0}
    result = bs.contrast(bs.open_system("lab:llm?prompt=question"), pairs, **how)
    row = next(row for row in result.rows if row.name == "all")
    assert row.counts["other_prompt"] == row.estimate.n
    told = " ".join(summarize(result, width=80).split())
    kept = told.partition("Warnings: ")[2]
    assert kept.startswith(f"lab:llm: {row.estimate.n} items were asked with a prompt other than the one")
    assert not any(
        "other_prompt" in row.counts for row in bs.contrast(bs.open_system("lab:llm"), pairs, **how).rows
    )
