"""CTranslate2 folders without a Hugging Face tokenizer: the same scores, by whatever files cut the texts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from babelscope import BabelscopeError, open_system
from babelscope.systems.models.pieces import Codes
from tests.support.models import SOURCES, TARGETS

ctranslate2 = pytest.importorskip("ctranslate2")
PAIRS = list(zip(SOURCES, TARGETS, strict=True))


@pytest.fixture(scope="module")
def folders(checkpoint: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A tiny Marian folder, and its conversion as Argos publishes one: CTranslate2 adds the end of sources."""
    marian, place = checkpoint("marian"), tmp_path_factory.mktemp("ct2") / "model"
    ctranslate2.converters.TransformersConverter(str(marian)).convert(str(place))
    config = json.loads((place / "config.json").read_text(encoding="utf-8"))
    (place / "config.json").write_text(json.dumps({**config, "add_source_eos": True}), encoding="utf-8")
    return marian, place


@pytest.mark.parametrize("layout", ["joint", "sides", "above", "named", "named sides"])
def test_scores_are_those_of_the_hugging_face_tokenizer(
    folders: tuple[Path, Path], tmp_path: Path, layout: str
) -> None:
    marian, converted = folders
    place = shutil.copytree(converted, tmp_path / "package" / "model")
    option = ""
    if layout == "joint":
        shutil.copy(marian / "source.spm", place / "sentencepiece.model")
    elif layout == "sides":
        for side in ("source", "target"):
            shutil.copy(marian / f"{side}.spm", place / f"{side}.spm")
    elif layout == "above":  # an Argos package
        shutil.copy(marian / "source.spm", place.parent / "sentencepiece.model")
        (place.parent / "metadata.json").write_text("{}")
    else:
        files = (
            [marian / "source.spm"]
            if layout == "named"
            else [marian / f"{side}.spm" for side in ("source", "target")]
        )
        option = f"&tokenizer={','.join(map(str, files))}"
    system = open_system(f"ct2:{place}?max_length=48{option}")
    asked = [*PAIRS, (SOURCES[0], "")]
    for ours, theirs in zip(system.score(asked), open_system(f"hf:{marian}").score(asked), strict=True):
        assert ours.tokens == theirs.tokens
        assert ours.notes == theirs.notes
        assert ours.logprobs == pytest.approx(theirs.logprobs, abs=1e-3)
    (made,) = system.translate(SOURCES[:1], beam=2)
    assert made[0].logprobs == pytest.approx(system.score([(SOURCES[0], made[0])])[0].logprobs, abs=1e-4)


def test_characters_and_words(folders: tuple[Path, Path], tmp_path: Path) -> None:
    place = shutil.copytree(folders[1], tmp_path / "model")
    (row,) = open_system(f"ct2:{place}?tokenizer=characters").score([(SOURCES[0], "an a")])
    assert row.tokens == ("a", "n", "▁", "a", "</s>")
    assert row.text == "an a"
    (row,) = open_system(f"ct2:{place}?tokenizer=words").score([(SOURCES[0], "▁der zebra")])
    assert row.tokens[1:] == ("<unk>", "</s>")
    assert "changed" in row.notes


@pytest.mark.parametrize(
    ("codes", "text", "tokens"),
    [
        ("#version: 0.2\nl o\nlo w\ne r</w>\nn e\n", "low lower new", "lo@@ w low@@ er ne@@ w"),
        ("l o 9\nlo w</w> 8\n", "low slow", "low s@@ low"),
        ("l o\nlo w\nlow </w>\n", "low lows", "low low@@ s"),
    ],
)
def test_codes_cut_words_as_they_were_learned(tmp_path: Path, codes: str, text: str, tokens: str) -> None:
    path = tmp_path / "bpe.codes"
    path.write_text(codes, encoding="utf-8")
    cutter = Codes(path)
    assert " ".join(cutter.cut(text)) == tokens
    assert cutter.join(tokens.split()) == text


def test_what_cannot_be_is_refused(folders: tuple[Path, Path], tmp_path: Path) -> None:
    marian, converted = folders
    place = shutil.copytree(converted, tmp_path / "model")
    with pytest.raises(BabelscopeError, match=r"has no tokenizer; name it with \?tokenizer="):
        open_system(f"ct2:{place}")
    for name in ("one.model", "two.model"):
        shutil.copy(marian / "source.spm", place / name)
    with pytest.raises(BabelscopeError, match=r"several tokenizers \(one.model, two.model\)"):
        open_system(f"ct2:{place}")
    (place / "two.model").unlink()
    with pytest.raises(BabelscopeError, match="language tokens need the Hugging Face tokenizer"):
        open_system(f"ct2:{place}?target=de")
    (place / "one.model").write_bytes(b"\n" + bytes(range(256)) * 40)
    with pytest.raises(BabelscopeError, match="cannot be read as a SentencePiece model"):
        open_system(f"ct2:{place}")
    (place / "one.model").write_text("a b c d\n")
    with pytest.raises(BabelscopeError, match="has no BPE codes"):
        open_system(f"ct2:{place}")


def test_a_model_of_the_source_alone_cuts_no_targets(folders: tuple[Path, Path], tmp_path: Path) -> None:
    marian, converted = folders
    place = shutil.copytree(converted, tmp_path / "model")
    shutil.copy(marian / "source.spm", place / "sentencepiece.model")
    path = next(place.glob("*vocabulary.json"))
    known = json.loads(path.read_text(encoding="utf-8"))
    changed = [
        token if token in ("</s>", "<unk>") or number % 2 else f"{token}·"
        for number, token in enumerate(known)
    ]
    path.write_text(json.dumps(changed), encoding="utf-8")
    system = open_system(f"ct2:{place}?max_length=20")
    (made,) = system.translate(SOURCES[:1], beam=1)
    assert made[0].logprobs
    with pytest.raises(BabelscopeError, match="it is of the source alone"):
        system.score(PAIRS[:1])


def test_another_type_that_changes_scores_is_reported(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("babelscope.systems.models.ct2._MOST_APART", 1e-5)  # int8 is off by 0.01 here
    place = shutil.copytree(folders[1], tmp_path / "model")
    shutil.copy(folders[0] / "source.spm", place / "sentencepiece.model")
    with pytest.warns(RuntimeWarning, match=r"compute_type=int8 gives .* the model's own type \(float32\)"):
        open_system(f"ct2:{place}?compute_type=int8&max_length=48")
