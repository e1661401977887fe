"""Pattern matching refuses translations whose words it cannot see, and takes them once they are split."""

from __future__ import annotations

from typing import Any

import pytest

from babelscope.core.results import Record
from babelscope.core.tokenisers import find_tokeniser
from babelscope.methods.patterns.mucow.judge import judge
from babelscope.methods.patterns.mucow.settings import MucowSettings
from babelscope.methods.patterns.winomt.ask import ask
from babelscope.methods.patterns.winomt.settings import WinomtSettings
from babelscope.testsets.items import AmbiguousSource
from babelscope.util.errors import BabelscopeError
from tests.support.toys import ToySystem

MUCOW = MucowSettings(word_matching="mucow")


def sense(translation: str, lemmas: str | None = None) -> Record:
    return {
        "translation": translation,
        "right_words": ["城"],
        "wrong_words": ["书"],
        "given_lemmas": lemmas,
        "folded": False,
    }


def test_senses_are_looked_for_in_words() -> None:
    text = "他在老城买了一本地图。"
    with pytest.raises(
        BabelscopeError, match=r"the translations are in a script .*; give them as --lemmas FILE"
    ):
        judge([sense(text)], MUCOW)
    split = " ".join(find_tokeniser("zh").split(text))
    assert judge([sense(split)], MUCOW)[0]["correct"] is True
    assert judge([sense(text, lemmas=split)], MUCOW)[0]["correct"] is True


def test_a_system_that_answers_in_another_script_has_no_known_word() -> None:
    german = {**sense("他在老城买了一本地图。"), "right_words": ["Stadt"], "wrong_words": ["Buch"]}
    assert judge([german], MUCOW)[0]["correct"] is None


def test_genders_are_looked_for_in_words() -> None:
    item = AmbiguousSource(
        "1",
        "The cook slept.",
        (),
        (),
        "female",
        gold="female",
        extra={"index": 1, "occupation": "cook"},
    )
    settings: Any = WinomtSettings.model_construct(
        target="de", alignments=None, stereotypical=None, anti_stereotypical=None, beam=5, translations=None
    )
    system = ToySystem(alphabet="他在城书")
    with pytest.raises(BabelscopeError, match="the translations are in a script without spaces"):
        ask({"system": system}, [item] * 3, settings, 0)
