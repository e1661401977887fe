"""Pattern matching says when translations are not in the language that it knows."""

from __future__ import annotations

from typing import Any

import pytest

from babelscope.core.results import Record
from babelscope.methods.patterns.mucow import Mucow, MucowSettings
from babelscope.methods.patterns.winomt import Winomt, WinomtSettings
from babelscope.util.errors import BabelscopeError

pytest.importorskip("HanTa")

GERMAN = "Die Köchin hat gestern lange geschlafen, weil sie sehr müde war."
ITALIAN = "La cuoca ieri ha dormito a lungo perché era davvero molto stanca."
PUBLISHED = Winomt(
    WinomtSettings.model_construct(
        target="de", gender_rules="published", intermediate_rounding="exact", alignments=None
    )
)


def sentences(*translations: str, links: Any = ((0, 0), (1, 1))) -> list[Record]:
    return [
        {
            "source": "The cook slept because she was tired.",
            "occupation": "cook",
            "index": 1,
            "gold": "female",
            "stereotype": "none",
            "translation": text,
            "links": [list(each) for each in links],
        }
        for text in translations
    ]


def test_genders_are_not_told_in_another_language() -> None:
    with pytest.raises(BabelscopeError, match="the translations are in the language it, but the morphology"):
        PUBLISHED.judge(sentences(*[ITALIAN] * 3))
    judged = PUBLISHED.judge(sentences(*[GERMAN] * 5, ITALIAN))
    assert [record.get("other_language") for record in judged] == [None] * 5 + ["it"]
    rows = PUBLISHED.summarize(judged, 0)
    assert {row.counts["other_language"] for row in rows} == {1}
    assert not any("other_language" in row.counts for row in PUBLISHED.summarize(judged[:5], 0))
    # Judged again, with the field already there.
    assert PUBLISHED.judge(judged) == judged


def test_occupations_without_a_link_are_not_all_male() -> None:
    with pytest.raises(BabelscopeError, match="links 0 of 20 words"):
        PUBLISHED.judge(sentences(*[GERMAN] * 20, links=()))
    assert len(PUBLISHED.judge(sentences(*[GERMAN] * 20))) == 20


def test_lemmas_are_not_made_in_another_language() -> None:
    mucow = Mucow(MucowSettings.model_construct(lemmatize="de", word_matching="mucow", compound_mark=""))
    record = {
        "given_lemmas": None, "folded": False, "category": "c", "domain": None,
        "right_words": ["köchin"], "wrong_words": ["koch"],
    }  # fmt: skip
    with pytest.raises(BabelscopeError, match="in the language it, but the lemmatizer can judge de only"):
        mucow.judge([{**record, "translation": ITALIAN}] * 3)
    judged = mucow.judge([{**record, "translation": text} for text in (*[GERMAN] * 5, ITALIAN)])
    assert [each.get("other_language") for each in judged] == [None] * 5 + ["it"]
    assert {row.counts["other_language"] for row in mucow.summarize(judged, 0)} == {1}
