"""Pseudo-parallel text: what is in it, where each line is from, tags, kills, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from babelscope.lab.training import augmenting
from babelscope.lab.training.augmenting import Augmentation, Decoding, augment, open_teacher, why_unusable
from babelscope.lab.training.text import find_tags, load_pieces, train_both
from babelscope.lab.training.train import train
from babelscope.util.errors import BabelscopeError
from tests.lab.training.test_training import PAIRS, quick, write_pairs

BEAM = Decoding(beam=2)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Parallel text, a model for each direction of it, and one that has learned nothing."""
    folder = tmp_path_factory.mktemp("augmenting")
    source, target = write_pairs(folder / "text")
    given: dict[str, Any] = {"threads": 1, "quiet": True}
    train(source, target, folder / "forward", quick(steps=120, dev_every=120), dev=(source, target), **given)
    train(target, source, folder / "backward", quick(steps=120, dev_every=120), dev=(target, source), **given)
    return {name: folder / name for name in ("forward", "backward")} | {"source": source, "target": target}


def lines(path: Path) -> list[str]:
    return path.read_text().split("\n")[:-1]


def rows(folder: Path) -> list[tuple[str, str, str]]:
    """The source, target and origin of each pair."""
    columns = [lines(folder / f"train.{name}") for name in ("source", "target", "origin")]
    return list(zip(*columns, strict=True))


def both(made: Mapping[str, Path | None], **more: Any) -> Augmentation:
    given: dict[str, Any] = {**made, "decoding": BEAM, **more}
    return Augmentation(**given)


def test_each_line_is_what_its_origin_says(made: dict[str, Path], tmp_path: Path) -> None:
    card = augment(both(made), tmp_path / "data", threads=1, quiet=True)
    found = rows(tmp_path / "data")
    forward, backward = (open_teacher(made[name]) for name in ("forward", "backward"))
    said = {
        "forward": [group[0].text for group in forward.translate([one for one, _ in PAIRS], beam=2)],
        "backward": [group[0].text for group in backward.translate([two for _, two in PAIRS], beam=2)],
    }
    for source, target, origin in found:
        kind, number = origin.split()
        real = PAIRS[int(number) - 1]
        expected = {
            "real": real,
            "forward": (real[0], said["forward"][int(number) - 1]),
            "backward": (said["backward"][int(number) - 1], real[1]),
        }
        assert (source, target) == expected[kind]
    counts = {kind: [each[2].split()[0] for each in found].count(kind) for kind in card["origins"]}
    assert counts == {kind: count["pairs"] for kind, count in card["origins"].items()}
    assert counts["real"] == len(PAIRS)
    for kind in ("forward", "backward"):
        told = card["origins"][kind]
        assert told["pairs"] + sum(told["left_out"].values()) == len(PAIRS)
    assert card["pairs"] == len(found)
    assert {path.name for path in (tmp_path / "data").iterdir()} == {
        *("train.source", "train.target", "train.origin", "card.json")
    }


def test_other_text_is_translated_instead(made: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "more").write_text("die kuh sieht die maus.\n" * 3)
    plan = both({**made, "forward": None}, more_target=tmp_path / "more")
    card = augment(plan, tmp_path / "data", threads=1, quiet=True)
    assert card["configuration"]["backward"]["lines"] == 3
    backward = [row for row in rows(tmp_path / "data") if row[2].startswith("backward")]
    assert {target for _, target, _ in backward} <= {"die kuh sieht die maus."}
    assert len({source for source, _, _ in backward}) <= 1


def test_samples_differ_by_seed_and_stay_the_same_for_one(made: dict[str, Path], tmp_path: Path) -> None:
    texts = {}
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        plan = both({**made, "backward": None}, decoding=Decoding(sampling_seed=seed))
        augment(plan, tmp_path / name, threads=1, quiet=True)
        texts[name] = (tmp_path / name / "train.target").read_bytes()
    assert texts["a"] == texts["b"] != texts["c"]


def test_a_tag_is_one_token_of_the_model_that_is_trained(made: dict[str, Path], tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    augment(both(made, tagged=True), tmp_path / "data", threads=1, quiet=True)
    for source, _, origin in rows(tmp_path / "data"):
        tag = {"real": "", "forward": "<FT> ", "backward": "<BT> "}[origin.split()[0]]
        assert source.startswith(tag)
        assert (source[:1] == "<") == bool(tag)
    files = tmp_path / "data" / "train.source", tmp_path / "data" / "train.target"
    train(*files, tmp_path / "model", quick(steps=2, vocabulary=100), threads=1, quiet=True)
    pieces = load_pieces(tmp_path / "model")
    tagged, plain = pieces.encode(["<BT> the cat sees", "the cat sees"])
    assert tagged[1:] == plain
    tokenizer = AutoTokenizer.from_pretrained(str(tmp_path / "model"))
    assert tokenizer(["<BT> the cat sees"])["input_ids"] == [tagged]
    with pytest.raises(BabelscopeError, match=r"has no piece <BT>, which sources begin with; train a new"):
        train(*files, tmp_path / "other", quick(steps=2), tokenizer=made["forward"], quiet=True)
    assert not (tmp_path / "other").exists()


def test_tags_are_of_the_source_vocabulary_alone() -> None:
    def source() -> Iterator[str]:
        return iter([f"<BT> {one}" for one, _ in PAIRS])

    pieces = train_both(source, lambda: iter([two for _, two in PAIRS]), 45, tags=find_tags(source()))
    assert len(pieces.encode(["<BT>"])[0]) == 2
    assert "▁<BT>" not in pieces.target_side.pieces()
    assert find_tags(["<BT>x", "a <FT> b", "<b> c"]) == ()


def test_stopped_at_any_block_it_goes_on(
    made: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(augmenting, "_BLOCK", 40)
    augment(both(made), tmp_path / "whole", threads=1, quiet=True)
    asked: list[int] = []
    real = augmenting._translate_block

    def stopping(model: Any, some: Any, how: Any) -> Any:
        if len(asked) in (2, 7):  # in the midst of the forward and of the backward translations
            asked.append(0)
            raise KeyboardInterrupt
        asked.append(len(some))
        return real(model, some, how)

    monkeypatch.setattr(augmenting, "_translate_block", stopping)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            augment(both(made), tmp_path / "parts", threads=1, quiet=True)
        assert not (tmp_path / "parts" / "train.source").exists()
    augment(both(made), tmp_path / "parts", threads=1, quiet=True)
    assert sum(asked) == 2 * len(PAIRS), "a stored block was translated again"
    for name in ("train.source", "train.target", "train.origin", "card.json"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    asked.clear()
    augment(both(made), tmp_path / "parts", threads=1, quiet=True)  # finished: nothing to do
    assert asked == []
    with pytest.raises(BabelscopeError, match=r"another configuration: decoding.beam: 2 there, 3 here"):
        augment(both(made, decoding=Decoding(3)), tmp_path / "parts", threads=1)


def test_what_cannot_be_used_is_counted(
    made: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {1: None, 2: " ", 3: "a </s>", 4: "a\nb"}
    monkeypatch.setattr(
        augmenting, "translate_ids", lambda _, ids, __: [said.get(i, "gut") for i in range(len(ids))]
    )
    long = "cow " * 600
    (tmp_path / "more").write_text("".join(f"a {i}.\n" for i in range(6)) + long + "\n")
    plan = both({**made, "backward": None}, more_source=tmp_path / "more")
    with pytest.warns(UserWarning, match=r"forward: 5 of 7 translations are left out .*learned enough"):
        card = augment(plan, tmp_path / "data", threads=1, quiet=True)
    assert card["origins"]["forward"] == {
        "pairs": 2,
        "left_out": {
            "empty": 1,
            "not one line of text": 1,
            "source too long": 1,
            "special token": 1,
            "unfinished": 1,
        },
    }
    assert why_unusable("gut") == ""


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "say which model translates"),
        ({"forward": "m"}, "real pairs need --source and --target"),
        ({"forward": "m", "real": False}, "m needs text to translate: --source or --set more_source"),
        (
            {"forward": "m", "real": False, "source": "s", "more_target": "t"},
            "--set more_target needs --backward",
        ),
    ],
)
def test_a_plan_that_lacks_something_is_refused(given: dict[str, Any], told: str) -> None:
    paths: dict[str, Any] = {name: value if name == "real" else Path(value) for name, value in given.items()}
    with pytest.raises(BabelscopeError, match=told):
        Augmentation(**paths, decoding=BEAM)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", r"text:193 is empty; a sentence"),
        ("a <pad> b", r"text:193 has '<pad>', a special token"),
        ("<BT> a cow", r"text:193 begins with a tag of machine-made text \(<BT>\)"),
    ],
)
def test_bad_text_is_refused_before_any_translation(
    made: dict[str, Path], tmp_path: Path, line: str, told: str
) -> None:
    (tmp_path / "text").write_text(made["source"].read_text() + line + "\n")
    with pytest.raises(BabelscopeError, match=told):
        augment(both(made, more_source=tmp_path / "text"), tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_the_command_tells_the_counts(made: dict[str, Path], tmp_path: Path) -> None:
    from babelscope.cli.lab import app

    words = [
        "prepare",
        "--source",
        str(made["source"]),
        "--target",
        str(made["target"]),
        "--set",
        "quiet=yes",
    ]
    words += [
        "--backward",
        str(made["backward"]),
        "--set",
        "decode=sample",
        "--set",
        "tagged=yes",
        "--set",
        "threads=1",
    ]
    result = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "data")])
    assert result.exit_code == 0, result.exception
    assert "backward" in result.stdout
    assert "train.origin" in result.stdout
    again = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "data"), "--json"])
    told = [json.loads(line) for line in again.stdout.split("\n")[:-1]]
    assert [row["name"] for row in told] == ["real", "backward"]
    assert told[0]["value"] == told[0]["n"] == len(PAIRS)
    card = json.loads((tmp_path / "data" / "card.json").read_text())
    assert card["configuration"]["decoding"] == {"sampling_seed": 1}
    assert card["tags"] == {"backward": "<BT>"}
