"""A decoder-only model that learns several prompts: which source has which, and how it is opened and asked."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from babelscope.lab.training.decoder_only import PromptPieces, Prompts
from babelscope.lab.training.settings import settings_for
from babelscope.lab.training.tokenizer import train_pieces
from babelscope.lab.training.train import train
from babelscope.systems.opening import open_system
from babelscope.util.errors import BabelscopeError
from tests.lab.training.test_training import PAIRS, write_pairs

LANGUAGES = "English-German"
SEVERAL = "question,instruction,lines"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("prompts")
    files = write_pairs(folder)
    made = settings_for(
        "tiny",
        architecture="llama",
        vocabulary=150,
        languages=LANGUAGES,
        prompts=SEVERAL,
        steps=30,
        half=False,
    )
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
    made = settings_for(
        "tiny", architecture="llama", vocabulary=90, languages=LANGUAGES, prompts=str(own), steps=2
    )
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
    with pytest.raises(BabelscopeError, match="for --family llama"):
        settings_for("tiny", prompts="lines")
