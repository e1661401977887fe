"""Decoder-only translators: what they learn is what `llm:` asks of them, to the token."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from babelscope.lab.training.decoder_only import END, PromptPieces, Prompts
from babelscope.lab.training.loop import TrainingRun
from babelscope.lab.training.settings import TrainingSettings, settings_for
from babelscope.lab.training.tokenizer import Pieces, train_pieces
from babelscope.lab.training.train import train
from babelscope.systems.opening import open_system
from babelscope.util.errors import BabelscopeError
from tests.lab.training.test_training import PAIRS, write_pairs
from tests.support.toy_fixtures import Babelscope


def recipe(**given: Any) -> TrainingSettings:
    usual = {"vocabulary": 90, "label_smoothing": 0.0, "dev_every": 100, "languages": "English-German"}
    return settings_for("tiny", architecture="llama", **{**usual, **given})


@pytest.fixture(scope="module")
def memorised(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("llama")
    files = write_pairs(folder)
    made = recipe(steps=400, width=24, decoder_layers=2, half=False, learning_rate=6e-3)
    return folder / "model", train(*files, folder / "model", made, dev=files, threads=1, quiet=True)


def test_it_is_opened_as_a_language_model_and_knows_its_text(memorised: tuple[Path, dict[str, Any]]) -> None:
    folder, card = memorised
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
def test_the_loss_is_that_of_its_answers_alone(memorised: tuple[Path, dict[str, Any]], spec: str) -> None:
    """The development loss of training is the mean over the tokens that the system scores: target and end."""
    folder, card = memorised
    scored = open_system(spec.format(folder)).score(PAIRS)
    tokens = [value for each in scored for value in each.logprobs]
    assert -math.fsum(tokens) / len(tokens) == pytest.approx(card["dev_loss"], abs=1e-4)


def test_the_card_says_how_to_open_it(memorised: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = memorised
    assert "llm:FOLDER?source=English&target=German" in (folder / "README.md").read_text(encoding="utf-8")
    (folder / "card.json").rename(folder / "kept.json")
    try:
        with pytest.raises(BabelscopeError, match="does not say the languages"):
            open_system(f"lab:{folder}")
    finally:
        (folder / "kept.json").rename(folder / "card.json")


def test_cut_off_and_gone_on_with_it_ends_in_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write_pairs(tmp_path)
    made = recipe(steps=12, dropout=0.1, optimizer="muon")
    options: dict[str, Any] = {"dev": files, "threads": 1, "quiet": True, "checkpoint_seconds": 0}
    train(*files, tmp_path / "whole", made, **options)
    learn = TrainingRun._learn

    def cut(run: TrainingRun, batch: Any) -> float:
        if run.step == 7:
            raise KeyboardInterrupt
        return learn(run, batch)

    monkeypatch.setattr(TrainingRun, "_learn", cut)
    with pytest.raises(KeyboardInterrupt):
        train(*files, tmp_path / "cut", made, **options)
    monkeypatch.setattr(TrainingRun, "_learn", learn)
    train(*files, tmp_path / "cut", made, **options)
    for name in ("model.safetensors", "tokenizer.json", "tokenizer_config.json", "config.json"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


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
    ran = babelscope(
        *(
            "lab",
            "train",
            "--source",
            str(files[0]),
            "--target",
            str(files[1]),
            "--out",
            str(tmp_path / "no"),
        ),
        *("--family", "gpt", "--shape", "tiny"),
    )
    assert ran.code == 2
    assert "architecture is 'gpt'" in ran.err
