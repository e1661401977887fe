"""Languages and error types by name: ours are what they say, and a plug-in's language works like ours."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from babelscope.language import base, registry
from babelscope.language.base import Analyzed, ErrorType, Language, Token, Variant, replace_word
from babelscope.language.registry import (
    ERROR_TYPES,
    LANGUAGES,
    controls,
    error_label,
    error_type,
    error_types,
    language,
    lemmatize,
)
from babelscope.making.pairs import make_pairs
from babelscope.methods.contrast.settings import ContrastSettings
from babelscope.methods.errors.method import detect_in_pairs
from babelscope.methods.patterns.winomt import open_morphology
from babelscope.util.errors import BabelscopeError
from benchmarks.pairs import measure_detector

_CACHED = (
    registry.language,
    registry.error_type,
    registry.error_types,
    registry.controls,
    registry.detectors,
)


class Shouting:
    """Analyses a language whose words have no tags."""

    def analyze(self, text: str) -> Analyzed[Shouting]:
        spans = base.words_and_marks(text)
        tokens = (Token(text[a:b], a, b, "", text[a:b].lower()) for a, b in spans)
        return Analyzed(text, tuple(tokens), self)


def _whispered(sentence: Analyzed[Shouting]) -> list[Variant]:
    return [replace_word(sentence, token, "hush") for token in sentence.tokens if token.text == "SHOUT"]


def _hears_none(source: str, translation: Analyzed[Shouting]) -> bool:
    return "!" in source and all(token.text != "SHOUT" for token in translation.tokens)


LANGUAGE = Language(
    "xs",
    "Shoutish",
    packages=("pytest",),
    install="shoutish",
    opener=Shouting,
    lemmatizer=lambda: lambda words: [word.lower() for word in words],
)
ERROR = ErrorType(
    "whisper",
    "xs",
    "A shout is whispered.",
    _whispered,
    _hears_none,
    looks_for=lambda source: "!" in source,
    plausible=False,
    label="shouts that are whispered",
)


@pytest.fixture
def shoutish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A distribution with a language and an error type as entry points."""
    info = tmp_path / "shoutish-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shoutish\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        f"[babelscope.languages]\nxs = {__name__}:LANGUAGE\n\n[babelscope.error_types]\nwhisper = {__name__}:ERROR\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    _forget()
    yield
    monkeypatch.undo()
    _forget()


def _forget() -> None:
    for each in _CACHED:
        each.cache_clear()


def test_every_error_type_is_the_one_of_its_name_and_of_a_known_language() -> None:
    for name, found in error_types().items():
        assert (found.name, error_type(name)) == (name, found)
        assert language(found.language).opener is not None
        assert found.version >= 1
        # What it looks for in the source says nothing without a detector.
        assert found.detect is not None or found.looks_for is None
    assert set(error_types("de")) == set(error_types())
    assert error_types("uk") == {}


def test_every_language_has_its_own_code() -> None:
    assert all(code == each.code for code, each in LANGUAGES.all().items())
    with pytest.raises(
        BabelscopeError, match=r"no language 'da'; did you mean de\?|no language 'da'; known: ar, cs, de"
    ):
        language("da")
    with pytest.raises(BabelscopeError, match="no analyzer of Russian"):
        language("ru").analyzer()


def test_an_analysis_says_what_is_missing() -> None:
    lacking = Language("xx", "Lacking", packages=("no-such-package",), extra="lacking")
    assert lacking.analysis_version() == ""
    told = "Lacking analysis needs no-such-package: pip install '.[lacking]' (in the clone of Babelscope)"
    assert str(lacking.missing()) == told
    assert str(lacking.missing("a tagger")).startswith("Lacking analysis needs a tagger: pip")


@pytest.mark.usefixtures("shoutish")
def test_a_language_of_a_plug_in_is_used_like_ours() -> None:
    assert error_types("xs") == {"whisper": ERROR}
    assert ERROR_TYPES.find("whisper") is ERROR
    assert (error_label("whisper"), error_label("no_type")) == ("shouts that are whispered", "no type")
    pairs = list(make_pairs("whisper", ["a!", "b"], ["ein SHOUT", "nix"]))
    assert [pair.contrastive for pair in pairs] == [("ein Hush",)]
    assert measure_detector("whisper", ["a!", "b"], ["ein SHOUT", "nix"]).found == 1
    assert lemmatize(["EIN SHOUT!"], "xs") == [["ein", "shout", "!"]]
    with pytest.raises(BabelscopeError, match="known: de, ar, cs, es"):
        open_morphology("xs")


def test_the_one_file_of_the_page_on_adding_a_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "add-language.md").read_text()
    blocks = re.findall(r"```(?:python|toml)[^\n]*\n(.*?)```", page, re.DOTALL)
    code, project = blocks
    (tmp_path / "babelscope_galician.py").write_text(code)
    groups = tomllib.loads(project)["project"]["entry-points"]
    entries = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in own.items())
        for group, own in groups.items()
    )
    info = tmp_path / "babelscope_galician-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: babelscope-galician\nVersion: 1\n")
    (info / "entry_points.txt").write_text(entries)
    monkeypatch.syspath_prepend(str(tmp_path))
    _forget()
    try:
        name = "galician_negation_deleted"
        (pair,) = make_pairs(name, ["She does not sing.", "She sings."], ["Ela non canta.", "Ela canta."])
        assert pair.contrastive == ("Ela canta.",)
        measured = measure_detector(name, ["She does not sing."] * 2, ["Ela non canta.", "Ela nunca canta."])
        assert (measured.alarms, measured.found) == (0, 1)
        assert open_morphology("gl").gender([0, 1], ["A", "doutora", "canta"], "doctor") == "female"
    finally:
        monkeypatch.undo()
        _forget()


@pytest.mark.usefixtures("shoutish")
def test_implausible_types_are_controls_whoever_brings_them() -> None:
    assert controls() == ("garbled_word", "hypercorrect_genitive", "placeholder_ding", "whisper")
    assert ContrastSettings().controls == (*controls(), "misspelled_word")
    assert ContrastSettings(controls=("mine",)).controls == ("mine",)


@pytest.mark.usefixtures("shoutish")
def test_an_item_is_asked_about_in_the_language_of_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "pytest " in registry.analysis_version()
    records = [
        {"source": source, "phenomenon": name, "texts": texts, "best": {"text": "sh"}}
        for source, name, texts in (
            ("Go!", "whisper", {"correct": "SHOUT", "contrastive": ["hush"]}),
            ("a", "mine", {"correct": "b", "contrastive": ["c"]}),
        )
    ]
    # No German detector is asked about Shoutish, so German need not be installed.
    monkeypatch.setattr(Language, "analyzer", _only_shoutish)
    assert detect_in_pairs(records) == [
        {"detected": {"reference": {"whisper": False}, "best": True, "contrastive": [True]}},
        {},
    ]
    monkeypatch.setattr(Language, "analysis_version", lambda _self: "")
    assert detect_in_pairs(records) == [{}, {}]


def _only_shoutish(self: Language) -> Shouting:
    assert self.code == "xs"
    return Shouting()


def test_every_error_type_of_ours_has_a_label_of_its_own() -> None:
    labels = [error_types()[name].label for name in ERROR_TYPES.built_in]
    assert all(labels)
    assert len(set(labels)) == len(labels)
    assert error_label("polarity_particle_nicht_del") == "‘nicht’ (not) left out"
