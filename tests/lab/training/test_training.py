"""Training: the loss, a model that memorizes its text, kills, and input that cannot be trained on."""

from __future__ import annotations

import json
import random
import shutil
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from babelscope.lab.training.checkpoints import load_checkpoint
from babelscope.lab.training.loop import smoothed_cross_entropy
from babelscope.lab.training.networks import new_network, pack_models
from babelscope.lab.training.settings import SHAPES, TrainingSettings, settings_for, train_seeds
from babelscope.lab.training.text import (
    LEAST_PAIRS,
    Corpus,
    ParallelText,
    Pieces,
    load_pieces,
    read_parallel,
    train_pieces,
)
from babelscope.lab.training.train import train
from babelscope.util.errors import BabelscopeError
from tests.support.killing import Killer

NOUNS = {"cat": "Katze", "cow": "Kuh", "mouse": "Maus", "goat": "Ziege"}
VERBS = {"sees": "sieht", "likes": "mag", "hears": "hört"}
ADVERBS = {"": "", " today": " heute", " often": " oft", " now": " jetzt"}
PAIRS = [
    (f"the {a} {verb} the {b}{when}.", f"Die {NOUNS[a]} {VERBS[verb]}{ADVERBS[when]} die {NOUNS[b]}.")
    for a in NOUNS
    for verb in VERBS
    for b in NOUNS
    for when in ADVERBS
]


def write_pairs(folder: Path, pairs: list[tuple[str, str]] = PAIRS) -> tuple[Path, Path]:
    """Two line-parallel files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = folder / "source", folder / "target"
    for side, path in enumerate(files):
        path.write_text("".join(pair[side] + "\n" for pair in pairs), encoding="utf-8")
    return files


def quick(**given_settings: Any) -> TrainingSettings:
    """Settings of a run that takes seconds."""
    defaults = {"vocabulary": 90, "label_smoothing": 0.0, "dev_every": 25, "languages": "en-de"}
    return settings_for("tiny", **{**defaults, **given_settings})


def learn(folder: Path, out: Path, recipe: TrainingSettings, **more: Any) -> dict[str, Any]:
    """Train on the toy pairs; they are the development text as well, since memorizing them is the aim."""
    files = write_pairs(folder)
    return train(*files, out, recipe, dev=files, threads=1, quiet=True, **more)


@pytest.fixture(scope="module")
def memorized(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A model that knows the toy pairs by heart, and its card."""
    folder = tmp_path_factory.mktemp("memorized")
    return folder / "model", learn(folder, folder / "model", quick(steps=200, dev_every=100))


def test_a_small_text_is_memorized(memorized: tuple[Path, dict[str, Any]]) -> None:
    _, card = memorized
    assert card["dev_loss"] < 0.05
    assert card["history"][0][2] > card["history"][-1][2]
    assert card["best_step"] == min(card["history"], key=lambda look: look[2])[0]


def test_the_folder_opens_as_any_marian_model_does(memorized: tuple[Path, dict[str, Any]]) -> None:
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    folder, card = memorized
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    network = AutoModelForSeq2SeqLM.from_pretrained(str(folder))
    # Half the bytes on disk, but no one computes in float16 unasked.
    assert network.dtype == torch.float32
    assert (folder / "model.safetensors").stat().st_size < 2.2 * card["parameters"] + 20_000
    sources, targets = zip(*random.Random(1).sample(PAIRS, 20), strict=True)
    output = network.generate(**tokenizer(list(sources), return_tensors="pt", padding=True))
    assert tokenizer.batch_decode(output, skip_special_tokens=True) == list(targets)


def test_hf_systems_read_it_and_pad_has_no_probability(memorized: tuple[Path, dict[str, Any]]) -> None:
    from babelscope.systems.registry import open_system

    folder, card = memorized
    system = open_system(f"hf:{folder}")
    (translations,) = system.translate([PAIRS[0][0]])
    assert translations[0].text == PAIRS[0][1]
    scored = system.score(PAIRS)
    nll = -sum(sum(one.logprobs) for one in scored) / sum(len(one.logprobs) for one in scored)
    assert nll == pytest.approx(card["dev_loss"], abs=1e-4)
    logs = system.step(system.encode([PAIRS[0][0]]), [0], [system.vocabulary.prefix[0]])
    assert logs[0, -1] == -torch.inf
    assert logs.exp().sum().item() == pytest.approx(1, abs=1e-5)
    embedding = system.network.model.shared.weight
    assert not embedding[-1].any()


@settings(max_examples=150, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40))
def test_sentencepiece_gives_the_ids_of_marian_tokenizer(
    memorized: tuple[Path, dict[str, Any]], text: str
) -> None:
    marian, pieces = _tokenizers(str(memorized[0]))
    for sentence in (text, f"the {text} sees", f"Die {text}.", PAIRS[len(text)][1] + text):
        if "<" not in sentence:  # special tokens and language codes are refused in training text
            assert pieces.encode([sentence]) == marian([sentence])["input_ids"]


_CACHE: dict[str, tuple[Any, Pieces]] = {}


def _tokenizers(folder: str) -> tuple[Any, Pieces]:
    from transformers import AutoTokenizer

    if folder not in _CACHE:
        _CACHE[folder] = AutoTokenizer.from_pretrained(folder), load_pieces(Path(folder))
    return _CACHE[folder]


def test_the_card_says_how_to_make_the_model_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shlex

    from babelscope.cli.lab import app

    folder = tmp_path / "model"
    card = learn(tmp_path, folder, quick(steps=12, dropout=0.1, half=False))
    assert json.loads((folder / "card.json").read_text()) == card
    assert card["command"] in (folder / "README.md").read_text()
    assert set(card["versions"]) == {"babelscope", "torch", "transformers"}
    monkeypatch.chdir(tmp_path)
    words = shlex.split(card["command"])
    assert words[:3] == ["babelscope", "lab", "train"]
    result = CliRunner().invoke(app, [*words[2:], "--set", "quiet=yes", "--json"])
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert figures["value"] == card["dev_loss"]
    again = tmp_path / "NEW_FOLDER"
    assert (again / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("tokens", [1, 511, 1300])
def test_gradient_is_that_of_autograd(tokens: int, smoothing: float) -> None:
    random_numbers = torch.Generator().manual_seed(tokens)
    hidden = torch.randn(tokens, 8, generator=random_numbers, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(30, 8, generator=random_numbers, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(30, (tokens,), generator=random_numbers)
    ours = smoothed_cross_entropy(hidden, weight, labels, smoothing)
    theirs = torch.nn.functional.cross_entropy(hidden @ weight.t(), labels, label_smoothing=smoothing)
    torch.testing.assert_close(ours, theirs)
    for mine, autograd in zip(
        torch.autograd.grad(3 * ours, (hidden, weight)),
        torch.autograd.grad(3 * theirs, (hidden, weight)),
        strict=True,
    ):
        torch.testing.assert_close(mine, autograd)


def test_batches_hold_every_pair_once_and_keep_to_their_size() -> None:
    lengths = random.Random(3)
    words = [lengths.randint(1, 27) for _ in range(500)]
    source, target = (["a " * (count + lengths.randint(0, 3)) for count in words] for _ in range(2))
    pieces = train_pieces(iter([*source, "b c d e f g h"] * 5), 20)
    corpus = Corpus(ParallelText(source, target, {}), pieces, longest=25)
    assert corpus.dropped == len(source) - len(corpus.kept) > 0
    found = corpus.batches(200, np.random.default_rng(1))
    assert sorted(np.concatenate(found)) == sorted(corpus.kept)
    padding = tokens = 0
    for numbers in found:
        batch = corpus.batch(numbers)
        assert max(batch.source.size, batch.target.size) <= 200
        assert (batch.shifted[:, 0] == pieces.pad).all()
        assert (batch.shifted[:, 1:] == batch.target[:, :-1]).all()
        for row, number in zip(batch.target, numbers, strict=True):
            assert [i for i in row if i != pieces.pad] == pieces.encode([target[number]])[0]
        padding += (batch.source == pieces.pad).sum() + (batch.target == pieces.pad).sum()
        tokens += batch.source.size + batch.target.size
    assert padding / tokens < 0.1
    again = corpus.batches(200, np.random.default_rng(1))
    assert all(np.array_equal(a, b) for a, b in zip(found, again, strict=True))
    assert not np.array_equal(found[0], corpus.batches(200, np.random.default_rng(2))[0])


@pytest.mark.parametrize(("name", "millions"), [("big", 269.7), ("small", 50.9), ("mini", 18.1)])
def test_the_papers_shapes_have_their_papers_parameters(name: str, millions: float) -> None:
    class Vocabulary:  # of the papers' joint BPE
        size, pad = 42_024, 42_023

    with torch.device("meta"):
        network = new_network(SHAPES[name], Vocabulary(), dropout=0.3, seed=1)  # type: ignore[arg-type]
    count = sum(weight.numel() for weight in network.parameters() if weight.requires_grad)
    assert count / 1e6 == pytest.approx(millions, abs=0.15)


@pytest.mark.parametrize(("schedule", "later"), [("linear", 0.1), ("inverse-sqrt", (10 / 91) ** 0.5)])
def test_learning_rate(schedule: Any, later: float) -> None:
    recipe = quick(schedule=schedule, warmup=10, steps=100, learning_rate=1.0)
    assert [recipe.rate(step) for step in (1, 5, 10)] == pytest.approx([0.1, 0.5, 1.0])
    assert recipe.rate(91) == pytest.approx(later, rel=0.11)
    assert recipe.rate(100) > 0


def killable(folder: str, out: str) -> None:
    """What the kill test runs in a child process."""
    torch.set_num_threads(1)
    learn(Path(folder), Path(out), _KILLED, checkpoint_seconds=0)


_KILLED = quick(steps=120, dropout=0.1, label_smoothing=0.1, optimizer="muon")


@pytest.mark.slow
def test_killed_at_any_moment_it_ends_with_the_same_weights(tmp_path: Path) -> None:
    learn(tmp_path, tmp_path / "never killed", _KILLED)
    out, moment, reached = tmp_path / "killed", random.Random(7), [0]
    # Else each child imports them anew.
    preload = ["transformers.models.marian.modeling_marian", "torch._dynamo"]
    with Killer(
        "tests.lab.training.test_training:killable", [str(Path(__file__).parents[3])], preload=preload
    ) as killer:
        for attempt in range(20):
            # Later and later, so that a slow machine gets to its first checkpoint too.
            if killer.run(str(tmp_path), str(out), kill_after=moment.uniform(0.3, 0.8) * (1 + attempt / 4)):
                break
            state = load_checkpoint(out)
            reached.append(state["step"] if state else 0)
            if len(set(reached)) > 2:
                break
        killer.run(str(tmp_path), str(out))
    assert len(set(reached)) > 1, "never killed between its first step and its last"
    assert reached == sorted(reached)
    expected = (tmp_path / "never killed" / "model.safetensors").read_bytes()
    assert (out / "model.safetensors").read_bytes() == expected
    assert not (out / "checkpoint.pt").exists()


def test_early_stopping_keeps_the_best(tmp_path: Path) -> None:
    # So high a rate that the loss soon goes up again.
    card = learn(
        tmp_path, tmp_path / "model", quick(steps=4000, patience=2, dev_every=5, learning_rate=0.5, warmup=0)
    )
    assert card["stopped_by"] == "patience"
    assert card["steps"] == card["best_step"] + 10


def test_models_with_one_tokenizer_are_packed_with_one(
    memorized: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    folder, _ = memorized
    learn(tmp_path, tmp_path / "second", settings_for("tiny", steps=3), tokenizer=folder)
    pack_models({"teacher": folder, "teacher-2": tmp_path / "second"}, tmp_path / "packed")
    packed = sorted(path.name for path in (tmp_path / "packed").iterdir())
    assert packed == ["teacher", "teacher-2", "tokenizer"]
    assert not list((tmp_path / "packed").glob("teacher*/*.spm"))
    learn(tmp_path, tmp_path / "third", quick(vocabulary=45, steps=3))
    with pytest.raises(BabelscopeError, match="do not share one tokenizer"):
        pack_models({"a": folder, "b": tmp_path / "third"}, tmp_path / "other")


def bad(name: str, folder: Path) -> tuple[Path, Path]:
    """Training files with one thing wrong."""
    source, target = write_pairs(folder)
    lines = source.read_bytes().split(b"\n")
    if name == "missing":
        source.unlink()
    elif name == "empty line":
        source.write_bytes(b"\n".join([*lines[:41], b"  ", *lines[42:60], b"", *lines[61:]]))
    elif name == "unequal":
        source.write_bytes(b"\n".join(lines[1:]))
    elif name == "one pair":
        write_pairs(folder, PAIRS[:1])
    elif name == "not UTF-8":
        source.write_bytes(b"\n".join([*lines[:6], b"caf\xe9", *lines[7:]]))
    elif name == "same":
        shutil.copy(source, target)
    elif name == "special":
        source.write_bytes(b"\n".join([*lines[:2], b"the <pad> sees", *lines[3:]]))
    elif name == "empty file":
        write_pairs(folder, [])
    return source, target


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("missing", "source: no such file"),
        ("empty line", r"source:42 is empty \(and 1 more"),
        ("unequal", r"source has 191, .*target has 192"),
        ("one pair", f"source has 1 of at least {LEAST_PAIRS} sentences"),
        ("not UTF-8", "source:7: not UTF-8"),
        ("same", "are the same text"),
        ("special", "source:3 has '<pad>', a special token"),
        ("empty file", f"source has 0 of at least {LEAST_PAIRS} sentences"),
    ],
)
def test_bad_text_is_refused_before_anything_is_made(name: str, told: str, tmp_path: Path) -> None:
    source, target = bad(name, tmp_path / "text")
    with pytest.raises(BabelscopeError, match=told):
        train(source, target, tmp_path / "model", quick())
    assert not (tmp_path / "model").exists()
    good = write_pairs(tmp_path / "good")
    if name not in ("one pair", "empty file"):
        with pytest.raises(BabelscopeError, match=told):
            train(*good, tmp_path / "model", quick(), dev=(source, target))
        assert not (tmp_path / "model").exists()


def test_an_out_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    files = write_pairs(tmp_path / "text")
    (tmp_path / "file").touch()
    with pytest.raises(BabelscopeError, match="is a file, not a folder"):
        train(*files, tmp_path / "file", quick())
    with pytest.raises(BabelscopeError, match="cannot be written"):
        train(*files, Path("/proc/model"), quick())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    with pytest.raises(BabelscopeError, match=r"is not empty \(thesis.tex"):
        train(*files, tmp_path / "full", quick())
    learn(tmp_path, tmp_path / "model", quick(steps=2))
    with pytest.raises(BabelscopeError, match=r"another configuration: settings.seed: 1 there, 2 here"):
        learn(tmp_path, tmp_path / "model", quick(steps=2, seed=2))
    before = (tmp_path / "model" / "card.json").stat().st_mtime_ns
    learn(tmp_path, tmp_path / "model", quick(steps=2))  # the same again: nothing to do
    assert (tmp_path / "model" / "card.json").stat().st_mtime_ns == before


def test_the_command_refuses_what_cannot_be_set(tmp_path: Path) -> None:
    from babelscope.cli.lab import app

    source, target = write_pairs(tmp_path)
    words = ["train", "--source", str(source), "--target", str(target), "--out", str(tmp_path / "model")]
    for more, told in (
        (["--set", "droput=1"], "sets nothing"),
        (["--set", "dropout=much"], "dropout is 'much'"),
        (["--dev-source", str(source)], "both --dev-source and --dev-target"),
        (
            ["--vocabulary", "50", "--tokenizer", str(tmp_path)],
            "--vocabulary and --tokenizer exclude each other",
        ),
    ):
        result = CliRunner().invoke(app, [*words, *more])
        assert isinstance(result.exception, BabelscopeError)
        assert told in str(result.exception)


def test_text_of_another_vocabulary_is_dropped_only_where_too_long(tmp_path: Path) -> None:
    text = read_parallel(*write_pairs(tmp_path))
    pieces = train_pieces(iter(text.source), 60)
    with pytest.raises(BabelscopeError, match="every sentence pair is longer than 2 pieces"):
        Corpus(text, pieces, longest=2)


def command(folder: Path, *more: str) -> Any:
    from babelscope.cli.lab import app

    source, target = map(str, write_pairs(folder / "text"))
    words = ["train", "--source", source, "--target", target, "--shape", "tiny", "--steps", "4"]
    words += [
        "--vocabulary",
        "90",
        "--set",
        "threads=1",
        "--set",
        "quiet=yes",
        "--out",
        str(folder / "models"),
        *more,
    ]
    return CliRunner().invoke(app, [*words, "--dev-source", source, "--dev-target", target])


def test_several_seeds_are_trained_and_averaged(tmp_path: Path) -> None:
    result = command(tmp_path, "--seeds", "3", "--seed", "4", "--json", "--set", "select=chrf")
    assert result.exit_code == 0, result.exception
    told = [json.loads(line) for line in result.stdout.split("\n")[:-1]]
    cards = [
        json.loads((tmp_path / "models" / f"seed-{seed}" / "card.json").read_text()) for seed in (4, 5, 6)
    ]
    assert [card["seed"] for card in cards] == [4, 5, 6]
    rows = {(row["name"], row.get("figure")): row for row in told}
    for figure, values in (
        ("dev_loss", [card["dev_loss"] for card in cards]),
        ("dev_chrf", [card["dev_score"]["value"] for card in cards]),
    ):
        assert len(set(values)) == 3
        mean, sd = rows["mean", figure], rows["sd", figure]
        assert mean["value"] == pytest.approx(statistics.mean(values))
        assert sd["value"] == pytest.approx(statistics.stdev(values))
        assert mean["n"] == 3
        assert mean["low"] < mean["value"] < mean["high"]
        assert mean["seeds"] == [4, 5, 6]
    recipe = quick(steps=4, seed=5, label_smoothing=0.1, dev_every=250, languages="")
    alone = learn(tmp_path, tmp_path / "alone", recipe)
    assert alone["dev_loss"] == cards[1]["dev_loss"], "a seed of several is the same model as that seed alone"
    shown = command(
        tmp_path, "--seeds", "3", "--seed", "4", "--set", "select=chrf"
    )  # nothing is trained again
    assert "dev_chrf" in shown.stdout


def test_seeds_need_one_development_text(tmp_path: Path) -> None:
    from babelscope.cli.lab import app

    source, target = map(str, write_pairs(tmp_path))
    words = ["train", "--source", source, "--target", target, "--out", str(tmp_path / "m"), "--seeds", "2"]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, BabelscopeError)
    assert "each seed holds out other sentences" in str(result.exception)
    assert not (tmp_path / "m").exists()


def test_time_that_is_up_ends_all_seeds(tmp_path: Path) -> None:
    asked = []

    def train(folder: Path, settings: Any, *, max_minutes: float | None) -> dict[str, Any]:
        asked.append((settings.seed, folder.name, max_minutes))
        return {"stopped_by": "steps" if settings.seed < 3 else "time", "dev_loss": 1.0 * settings.seed}

    cards = train_seeds(train, quick(seed=1), tmp_path, 5, max_minutes=7)
    assert list(cards) == [1, 2]
    assert [(seed, name) for seed, name, _ in asked] == [(1, "seed-1"), (2, "seed-2"), (3, "seed-3")]
    left = [minutes for *_, minutes in asked if minutes is not None]
    assert all(6 < minutes <= 7 for minutes in left)
    assert left == sorted(left, reverse=True)
    assert len(left) == 3
